"""The graph without passages: its contents, unchanged ids, and the return to the full graph."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from tests.shared import CORPUS, GRAPHS, corpus_index
from tests.toys import merged_graph

from graphwright import AnchorSearch, FlowPaths, Triples, start
from graphwright.extract.extraction import Extraction, Mention, Relation
from graphwright.graph import Kind
from graphwright.operators import NamesAndPhrases, StatementGraph
from graphwright.operators.control import OnGraph

SNAPSHOT = corpus_index().snapshot
GRAPH = SNAPSHOT.graph


def plain_edges() -> list[int]:
    kinds = GRAPH.columns.kinds
    return [e for e in GRAPH.edges.tolist() if all(kinds[v] != Kind.CHUNK for v in GRAPH.ends([e]))]


def test_statement_graph_has_entities_and_their_edges() -> None:
    part = StatementGraph()(GRAPH)
    assert part.nodes.tolist() == np.flatnonzero(GRAPH.columns.kinds != Kind.CHUNK).tolist()
    assert part.edges.tolist() == plain_edges() and 0 < len(part.edges) < len(GRAPH.edges)
    assert part.columns is GRAPH.columns
    fresh = GRAPH.part(part.nodes)
    for _ in range(2):  # as it is made, and as it is kept
        again = StatementGraph()(GRAPH)
        assert again.checksum == fresh.checksum
        assert [a.tolist() for a in again.adjacency] == [a.tolist() for a in fresh.adjacency]
    assert StatementGraph()(GRAPH).adjacency is StatementGraph()(GRAPH).adjacency


def test_statement_graph_of_part_is_part() -> None:
    some = GRAPH.part(GRAPH.nodes[::2])
    part = StatementGraph()(some)
    assert set(part.nodes.tolist()) == set(some.nodes.tolist()) & set(StatementGraph()(GRAPH).nodes.tolist())
    assert set(part.edges.tolist()) == set(some.edges.tolist()) & set(plain_edges())


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_statement_graph_without_passages_is_itself(name: str) -> None:
    assert StatementGraph()(GRAPHS[name]) is GRAPHS[name]


def test_on_graph_runs_step_on_statement_graph() -> None:
    state = start("?", GRAPH)
    after = OnGraph(StatementGraph(), Triples())(state)
    assert after.graph is GRAPH and after.evidence is not None
    assert after.evidence.edges.tolist() == plain_edges()
    assert OnGraph(StatementGraph(), Triples()).gives == ("evidence",)


def test_statement_graph_paths_avoid_passages() -> None:
    nodes = (NamesAndPhrases() >> AnchorSearch(SNAPSHOT.names) % 40)(start("Whom did Lothair II marry?", GRAPH))
    through, direct = FlowPaths()(nodes), OnGraph(StatementGraph(), FlowPaths())(nodes)
    kinds = GRAPH.columns.kinds
    assert through.evidence is not None and direct.evidence is not None and len(direct.evidence)
    assert (kinds[through.evidence.nodes] == Kind.CHUNK).any()
    assert not (kinds[direct.evidence.nodes] == Kind.CHUNK).any()
    # Edges are those of the snapshot: each path's name the two nodes that it walks.
    for walked, edges in direct.evidence:
        for a, b, edge in zip(walked.tolist(), walked[1:].tolist(), edges.tolist(), strict=False):
            assert sorted(GRAPH.ends([edge]).tolist()) == sorted([a, b])
    assert OnGraph(StatementGraph(), FlowPaths() % 2)(nodes).evidence.identities() == direct.evidence.identities()[:2]  # type: ignore[union-attr]


def test_statement_graph_is_cached_with_snapshot() -> None:
    message = Extraction((Mention("Graz"), Mention("Mur")), (Relation("Graz", "on", "Mur", "Graz lies on the Mur."),))
    graph = merged_graph([(CORPUS[0]["id"], "Graz", "Graz lies on the Mur.", message)])
    assert len(StatementGraph()(graph).edges) == 1
    columns = weakref.ref(graph.columns)
    del graph
    gc.collect()
    assert columns() is None
