"""Leave out of the examples what needs a framework that is not installed; no deadlines in hypothesis."""

from importlib.util import find_spec

from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")

_MODULES = {"obstore": "src/graphwright/remote/bucket.py"}
_FRAMEWORKS = {
    "langchain": "langchain_core",
    "llamaindex": "llama_index",
    "haystack": "haystack",
    "pyterrier": "pyterrier",
    "dspy": "dspy",
    "networkx": "networkx",
    "igraph": "igraph",
    "pyg": "torch_geometric",
    "neo4j": "neo4j",
}
collect_ignore = [path for package, path in _MODULES.items() if find_spec(package) is None]
collect_ignore += [
    f"src/graphwright/adapters/{adapter}.py" for adapter, package in _FRAMEWORKS.items() if find_spec(package) is None
]
