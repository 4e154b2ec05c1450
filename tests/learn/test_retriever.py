"""Items scored by the nodes that they lead to."""

from __future__ import annotations

import numpy as np
import pytest
from tests.toys import untrained

from graphwright import Evidence, Graph, Rerank, ShortestPaths, start
from graphwright.errors import OptionError
from graphwright.learn import LastNode
from graphwright.methods.papers.lego_systems import planned
from graphwright.methods.papers.paths import gnn_rag, subgraphrag
from graphwright.operators.run import Run

FILMS = Graph.from_triples(
    [("Heat", "by", "Mann"), ("Ali", "by", "Mann"), ("Ali", "stars", "Smith"), ("Thief", "by", "Mann")]
)
ENTITY = untrained("entity")


def test_node_scorer_scores_item_by_last_node() -> None:
    state = start("?", FILMS, entities=["Heat"])
    nodes = ENTITY.prepare(state, Run())(Evidence.of_nodes(FILMS.nodes))
    pieces = Evidence.of_trees(FILMS, [([0, 1], [0]), ([0, 1, 2], [0, 1]), ([3], []), ([], [2])])
    assert LastNode(ENTITY).prepare(state, Run())(pieces).tolist() == nodes[[1, 2, 3, 3]].tolist()


def test_node_scorer_of_no_items_is_empty() -> None:
    state = start("?", FILMS, entities=["Heat"], evidence=Evidence.of_nodes([]))
    assert len((Rerank(LastNode(ENTITY)) % 3)(state).evidence or ()) == 0


def test_node_scorer_needs_retriever() -> None:
    with pytest.raises(OptionError, match="it must be a trained retriever"):
        LastNode(3)  # type: ignore[arg-type]


def test_shortest_paths_rank_by_ends() -> None:
    result = gnn_rag(ENTITY, paths=9)(start("?", FILMS, entities=["Heat"])).evidence
    assert result is not None and result.scores is not None
    every = ShortestPaths()(start("?", FILMS, entities=["Heat"])).evidence
    assert every is not None and len(result) == len(every)
    assert np.all(np.diff(result.scores) <= 0)


def test_retriever_baselines_follow_papers() -> None:
    triple, path = untrained("triple"), untrained("path")
    ppr = "PersonalizedPageRank(each=True) % 1000 >> Induce() >> "
    assert repr(subgraphrag(triple)).startswith(f"{ppr}Triples() >> Rerank(") and repr(subgraphrag(triple)).endswith(
        " % 100"
    )
    assert repr(gnn_rag(ENTITY)).startswith(f"{ppr}ShortestPaths() >> Rerank(LastNode(")
    assert repr(planned(path, 2)).startswith("Decode(") and repr(planned(path, 2)).endswith(" % 2")
    assert planned(path)(start("?", FILMS, entities=["Heat"])).evidence is not None
