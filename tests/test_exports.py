"""The exported names: each can be imported, and the public contract is complete."""

import ast
from pathlib import Path

import pytest

import graphwright

CONTRACT = [
    "Graph",
    "Evidence",
    "Anchor",
    "start",
    "VectorIndex",
    "VectorSearch",
    "PersonalizedPageRank",
    "KHop",
    "methods",
    "RandomWalk",
    "Keep",
    "Induce",
    "Bubble",
    "Coverage",
    "Triples",
    "Index",
    "FlowPaths",
    "Rerank",
    "ShortestPaths",
    "EnumeratedPaths",
    "BeamSearch",
    "GRanker",
    "STeX",
    "Chains",
    "MergeChains",
]
METRICS = [
    "recall_at_k",
    "capped_recall_at_k",
    "ndcg_at_k",
    "hits_at_1",
    "hit",
    "exact_match",
    "token_f1",
    "macro_f1",
    "micro_f1",
    "topological_recall",
]


@pytest.mark.parametrize("name", graphwright.__all__)
def test_exported_names_exist_and_are_documented(name: str) -> None:
    value = getattr(graphwright, name)
    assert value is not None
    assert name in dir(graphwright)
    if callable(value):
        assert value.__doc__


@pytest.mark.parametrize("name", CONTRACT + METRICS)
def test_contract_name_is_exported(name: str) -> None:
    assert name in graphwright.__all__


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Nothing"):
        graphwright.Nothing  # noqa: B018


def _documented(kind: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> set[str]:
    """The names of the documented methods of a class and of its bases in this package."""
    own = {part.name for part in kind.body if isinstance(part, ast.FunctionDef) and ast.get_docstring(part)}
    bases = [classes.get(ast.unparse(base).partition("[")[0].rpartition(".")[2]) for base in kind.bases]
    return own.union(*(_documented(base, classes) for base in bases if base is not None and base is not kind))


def test_public_methods_are_documented_or_override_documented_ones() -> None:
    files = Path(graphwright.__file__).parent.rglob("*.py")
    kinds = [node for file in files for node in ast.parse(file.read_text("utf-8")).body]
    classes = {kind.name: kind for kind in kinds if isinstance(kind, ast.ClassDef)}
    bare = {
        f"{kind.name}.{part.name}"
        for kind in kinds
        if isinstance(kind, ast.ClassDef) and not kind.name.startswith("_")
        for documented in [_documented(kind, classes)]
        for part in kind.body
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and not part.name.startswith("_")
        if not ast.get_docstring(part) and part.name not in documented
    }
    assert not bare
