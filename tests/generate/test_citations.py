"""Citations: their text is that of the document, and their path is a walk in the graph."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from tests.toys import GRAPHS, as_networkx, corpus_index, family_state

from graphwright import Evidence, Graph, Index, start
from graphwright.generate.citations import citation, path_text, path_to
from graphwright.models import HashEncoder
from graphwright.operators.state import Anchor

GRAPH = corpus_index().graph


def steps_hold(graph: Graph, path: tuple[str, ...]) -> bool:
    triples = {graph.triple(int(e)) for e in graph.edges}
    walked = zip(path[::2], path[1::2], path[2::2], strict=False)
    return all((b, r[:-2], a) in triples if r.endswith("⁻¹") else (a, r, b) in triples for a, r, b in walked)


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_the_walk_is_a_shortest_one_and_in_the_graph(name: str) -> None:
    graph = GRAPHS[name]
    distance = nx.single_source_shortest_path_length(as_networkx(graph), 0)
    state = start("?", graph, anchors=[Anchor("a", [0])])
    for node in graph.nodes.tolist():
        path = path_to(state, node)
        if distance.get(node, 99) > 4:
            assert path == ()
            continue
        assert len(path) == 2 * distance[node] + 1 and steps_hold(graph, path)
        assert (path[0], path[-1]) == (graph.names[0], graph.names[node])


def test_walks_begin_at_the_nearest_anchor_and_stay_in_a_part() -> None:
    state = family_state()
    graph = state.graph
    assert path_to(state, graph.id("Lothair II")) == ("Lothair II",)
    gisela = graph.id("Gisela")
    assert path_to(state, gisela) == ("Lothair II", "spouse", "Waldrada", "mother of", "Gisela")
    bertha = Anchor("Bertha", [graph.id("Bertha")])
    both = state.with_(anchors=(*state.anchors, bertha))  # type: ignore[misc]
    assert path_to(both, graph.id("Waldrada")) == path_to(both.with_(anchors=both.anchors[::-1]), graph.id("Waldrada"))  # type: ignore[index]
    alone = state.with_(anchors=(bertha,))
    assert path_to(alone, graph.id("Waldrada")) == ("Bertha", "mother of⁻¹", "Waldrada")
    without = [n for n in graph.nodes.tolist() if n != graph.id("Waldrada")]
    assert path_to(state.with_(graph=graph.part(without)), gisela) == ()
    for anchors in (None, (), (Anchor("nobody", []),)):
        assert path_to(state.with_(anchors=anchors), gisela) == ()


def test_a_graph_without_passages_cites_its_nodes() -> None:
    state = family_state()
    gisela = state.graph.id("Gisela")
    at = state.graph.passage(gisela).index("Gisela")
    cited = citation(state, gisela, at, at + 3)
    assert (cited.document, cited.chunk, cited.start, cited.text) == ("", "Gisela", at, "Gis")
    assert cited.path[0] == "Lothair II" and cited.path[-1] == "Gisela"


def test_a_chunk_amid_a_document_is_cited_by_the_characters_of_the_document(tmp_path: Path) -> None:
    text = " ".join(f"Day {i} was spent in Steyr by the river, and it rained." for i in range(80))
    index = Index.create(tmp_path / "a", encoder=HashEncoder())
    index.add([{"id": "diary", "title": "Diary of a journey", "text": text}])
    passages = index.graph.passages
    assert passages is not None and len(passages) > 3
    cited = citation(start("?", index.graph), 2, 5, 30)
    assert cited.start == passages.start[2] + 5 > 5 and cited.chunk == "diary#2"
    assert text[cited.start : cited.end] == cited.text == index.graph.text(2)[5:30]


class TestCarriedPaths:
    """The path of a citation is the walk of the evidence item that leads to its passage."""

    def test_the_walk_of_a_path_ends_at_the_last_edge_that_the_passage_states(self) -> None:
        chunk = GRAPH.id("ermengarde#0")
        edge = next(e for e in GRAPH.edges.tolist() if chunk in GRAPH.chunks_of((), [e]) and _between(e))
        head, tail = GRAPH.ends([edge]).tolist()
        others = (e for e in GRAPH.edges.tolist() if _between(e) and not _states(chunk, e))
        beyond = next(e for e in others if tail in GRAPH.ends([e]))
        far = next(node for node in GRAPH.ends([beyond]).tolist() if node != tail)
        state = start("?", GRAPH, evidence=Evidence.of_pieces([([head, tail, far], [edge, beyond])]))
        assert path_to(state, chunk) == GRAPH.triple(edge)

    def test_a_triple_is_a_walk_and_the_best_item_counts(self) -> None:
        chunk = GRAPH.id("erstein#0")
        edges = [e for e in GRAPH.edges.tolist() if _states(chunk, e)][:2]
        state = start("?", GRAPH, evidence=Evidence.of_edges(edges))
        assert path_to(state, chunk) == GRAPH.triple(edges[0])

    def test_a_walk_to_the_passage_itself(self) -> None:
        graph = GRAPHS["line"]
        state = start("?", graph, evidence=Evidence.of_pieces([([0, 1, 2], [0, 1])]))
        path = path_to(state, 1)
        assert path == path_text(graph, np.array([0, 1]), np.array([0])) and len(path) == 3

    def test_items_that_are_no_walks_leave_the_shortest_walk_from_an_anchor(self) -> None:
        state = family_state()
        gisela = state.graph.id("Gisela")
        tree = Evidence.of_pieces([([gisela, 0, 1], [0])])
        assert path_to(state.with_(evidence=tree), gisela) == path_to(state, gisela) != ()


def _states(chunk: int, edge: int) -> bool:
    return chunk in GRAPH.chunks_of((), [edge])


def _between(edge: int) -> bool:
    return bool(GRAPH.columns.between_entities(np.array([edge]))[0])
