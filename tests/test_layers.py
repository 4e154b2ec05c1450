"""Each layer imports only from lower ones, the product only public names; importing the package loads nothing heavy."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import graphwright

ROOT = Path(graphwright.__file__).parent
ORDER = [
    "errors",
    "files",
    "constraints",
    "engines",
    "prompts",
    "text",
    "kernels",
    "graph",
    "models",
    "data",
    "extract",
    "store",
    "search",
    "build",
    "remote",
    "operators",
    "learn",
    "generate",
    "methods",
    "streaming",
    "index_folder",
    "evaluate",
    "adapters",
    "serve",
    "cli",
    "__main__",
]
# Not a strict order: these do not see each other.
APART = {
    ("graph", "models"),
    ("graph", "data"),
    ("models", "graph"),
    ("models", "kernels"),
    ("models", "data"),
    ("data", "graph"),
    ("data", "kernels"),
    ("data", "models"),
}


# Operators may use what an index searches, but not how it is extracted, stored or built.
HIDDEN = {"operators": {"extract", "store", "build"}, "methods": {"extract", "store", "build"}}
PRODUCT = ("remote", "evaluate", "adapters", "serve", "cli")
# Modules whose names are public, or of no room: errors, declared validation, atomic writes, engines, named methods.
SHARED = {
    f"graphwright.{name}" for name in ("errors", "constraints", "files", "engines", "methods", "methods.registry")
}
# Names that the product imports although no room exports them, by the reason; `MODULE:NAME`, without the package.
EXCEPTIONS: dict[str, dict[str, str]] = {
    "remote": {
        "it writes index folders, which must be locked as the store locks them": "store.locks:hold store.locks:Lease",
        "a manifest names the formats of the files": (
            "search.snapshot_format:FORMAT store.chunk_record:RECORD_VERSION store.tables:SCHEMA"
        ),
        "objects are read as files are, up to a size": "data.formats.format:MAX_BYTES",
        "only a sound snapshot is pushed": "search.snapshot_format:damaged_files",
    },
    "adapters": {
        "graphs of other libraries become graphs as property graphs do": (
            "build.imports.assembly:graph_of "
            "data.graph_files.property_graphs:node_of data.graph_files.property_graphs:edge_of"
        ),
        "results are exported in parts": "graph.export:Part",
    },
    "serve": {
        "requests and settings use types that only signatures name": (
            "build.document_sources:Source graph.columns:Listed graph.evidence:Ints graph.graph:Columns "
            "models.protocols:Cancel models.protocols:OnText models.protocols:Schema"
        ),
        "the page sorts documents by their dates": "search.versions:versions_of search.versions:years_of",
        "the page shows neighbours and paths": (
            "kernels.csr:Csr kernels.csr:undirected kernels.paths:paths_between operators.search.nearest:nodes_near "
            "search.name_index:name_index_of"
        ),
        "uploads are bounded": "data.formats.archives:measured data.formats.format:UnreadableError",
        "originals are files as readers open them, and belong to what the index stored": (
            "data.file_documents:named_in data.formats.parsing.pdf_image:page_image "
            "data.formats.parsing.pdf_image:page_marks text.places:Places "
            "build.document_sources:storable store.chunk_record:content_hash"
        ),
        "the settings of models are those of the command line": (
            "models.registry:EMBEDDED models.openai.model:OPENAI_URL models.settings:SETTINGS "
            "models.openai.model:checked_address models.settings:read_settings"
        ),
        "failures of a model are told by their kinds": (
            "models.openai.errors:HTTPStatusError models.openai.errors:NotSent models.structured:plain_text"
        ),
        "an answer says that no model was told its instruction": "operators.run:NOT_FOLLOWED",
        "limits, locks and caches are those of the index": (
            "operators.state:MAX_QUESTION search.snapshot:SnapshotCache search.snapshot:per_snapshot "
            "store.locks:is_written"
        ),
    },
    "evaluate": {
        "documents are compared as the index compares them": (
            "build.document_sources:read_sources store.chunk_record:content_hash"
        ),
        "question sets are checked as they are read": (
            "data.decoding:existing data.question_sets.questions:Source data.question_sets.questions:Triple "
            "data.question_sets.questions:check_gold data.records.read:checked"
        ),
        "answers are judged by their sentences and citations": "generate.citations:without_markers",
        "judges and writers ask models by prompts of their own": (
            "models.protocols:Floats prompts.limits:Sentence prompts.templates:PROMPTS prompts.templates:data_line"
        ),
        "methods of a plan are names, operators or functions": "methods.method:Builder methods.method:Method",
        "the gate is fitted to the search of the default method": (
            "methods.house:POOL methods.house:scored methods.house:walk"
        ),
        "groups are listed as documents are": "graph.columns:natural",
        "metrics walk the graph": "graph.evidence:Ints kernels.csr:Csr",
    },
    "cli": {
        "it starts the server": (
            "serve.app:create_app serve.catalog:Catalog serve.catalog:is_home serve.app:DrainingServer "
            "serve.app:server_config "
            "serve.mcp.server:create_mcp serve.authentication:create_command serve.keys:Key serve.keys:expiry "
            "serve.keys:Keys serve.server:Library serve.settings:ServeSettings "
            "serve.settings:default_data_folder serve.settings:read_server_file "
            "serve.logs:configure_logging serve.logs:log"
        ),
        "feedback lies in the server's data folder": (
            "serve.feedback:FEEDBACK_FILE serve.feedback:Feedback serve.feedback:question_set"
        ),
        "a method of one's own comes from a file": "methods.method:Builder methods.method:read_method_file",
        "it shows the tables of an evaluation": (
            "evaluate.entries:entry_of evaluate.entries:split_list evaluate.tables:escaped evaluate.tables:markdown "
            "evaluate.tables:terminal"
        ),
        "it shows items and paths": (
            "graph.export:format_of graph.export:write graph.walks:shown_path "
            "graph.walks:edge_label operators.run:CUT_SHORT operators.run:NOT_FOLLOWED"
        ),
        "it divides an index into shards, and pushes them": (
            "index_folder.shards.sharding:shard_index index_folder.shards.sharded_index:folder_of "
            "index_folder.shards.storage:UNITED index_folder.shards.storage:push_shards"
        ),
        "it lists and copies prompts": (
            "prompts.templates:Prompts prompts.templates:packaged prompts.templates:prompts_of_index"
        ),
        "a source is checked before an index is made": "index_folder.sources:source_of",
        "it lists types as queries name them": "operators.query.query:OfType",
        "it reports what is installed and compiled": (
            "kernels:csr kernels:compiled learn.network:import_torch models.embedded.encoder:import_runtime "
            "store.tables:SCHEMA"
        ),
        "options are those of models and filters": (
            "learn.refine:Refiner models.budget:estimated_tokens models.settings:SETTINGS "
            "models.settings:read_settings search.filter:Range search.filter:is_bound"
        ),
    },
}


def modules() -> list[Path]:
    return [p for p in sorted(ROOT.rglob("*.py")) if p.name != "__init__.py"]


def layer(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> list[str]:
    result = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else []
        )
        result += [n.split(".")[1] for n in names if n.startswith("graphwright.")]
    return result


def test_order_has_every_room_and_module() -> None:
    rooms = {part.name.removesuffix(".py") for part in ROOT.iterdir() if part.suffix == ".py" or part.is_dir()}
    assert rooms - {"__init__", "__pycache__"} == set(ORDER)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_module_imports_only_earlier_layers(path: Path) -> None:
    own = layer(path)
    for other in imported(path):
        assert other not in HIDDEN.get(own, ()), f"{own} must not see {other}"
        assert ORDER.index(other) <= ORDER.index(own), f"{own} imports {other}, which comes later"
        assert (own, other) not in APART, f"{own} must not see {other}"


def public_names() -> set[str]:
    """Return the names that the package and its rooms export, as `MODULE:NAME` of where they are defined."""
    names = set()
    for stub in ROOT.rglob("__init__.pyi"):
        room = "graphwright" + "".join(f".{part}" for part in stub.relative_to(ROOT).parts[:-1])
        for node in ast.walk(ast.parse(stub.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                names |= {f"{room}.{node.module}:{alias.name}" for alias in node.names}
                names |= {f"{room}:{alias.asname or alias.name}" for alias in node.names}
    return names


def private_imports(room: str) -> set[str]:
    """Return the names that a room imports from other rooms, and that these do not export."""
    names = {
        f"{node.module}:{alias.name}"
        for path in (ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graphwright.")
        for alias in node.names
        if (node.module or "").split(".")[1] != room and node.module not in SHARED
    }
    return names - public_names()


@pytest.mark.parametrize("room", PRODUCT)
def test_product_imports_only_public_names_and_listed_exceptions(room: str) -> None:
    listed = {name for names in EXCEPTIONS[room].values() for name in names.split()}
    found = {name.removeprefix("graphwright.") for name in private_imports(room)}
    assert not found - listed, "use what a room exports in its __init__.pyi, or list the name with a reason"
    assert not listed - found, "these exceptions are not needed any more: delete them"


def test_kernels_and_protocols_import_errors_only() -> None:
    kernels = [name for path in (ROOT / "kernels").glob("*.py") for name in imported(path)]
    assert set(kernels) <= {"errors", "kernels"}
    assert set(imported(ROOT / "models" / "protocols.py")) == {"errors"}
    assert set(imported(ROOT / "models" / "constrained.py")) == {"errors", "models"}


def test_operators_import_model_protocols_only() -> None:
    for path in (ROOT / "operators").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graphwright.models"):
                assert (node.module or "").rpartition(".")[2] in ("protocols", "constrained"), path.name


def test_importing_package_loads_nothing_heavy() -> None:
    heavy = ["numpy", "numba", "onnxruntime", "torch", "httpx", "httpx2", "openai", "pydantic"]
    code = f"import sys, graphwright; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_asking_loads_neither_builders_nor_readers_of_files() -> None:
    unused = ["graphwright.build", "graphwright.data.documents", "rapidfuzz", "pathspec", "torch"]
    unused += ["asyncio", "duckdb", "httpx"]
    code = f"import sys, graphwright.cli.asking; print([m for m in {unused} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
