"""The exported names: each can be imported, and the public contract is complete."""

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
