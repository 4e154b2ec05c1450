"""Citations: their text is that of the document, and their path is the steps of the item that brought the passage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.shared import GRAPHS, corpus_index
from tests.toys import family_state

from graphwright import Evidence, Graph, Index, ToPassages, start
from graphwright.generate.citations import citation
from graphwright.graph import Ranking
from graphwright.graph.items import Steps
from graphwright.models import HashEncoder

GRAPH = corpus_index().graph


def test_citations_of_graph_without_passages_name_nodes() -> None:
    state = family_state()
    gisela = state.graph.id("Gisela")
    at = state.graph.passage(gisela).index("Gisela")
    cited = citation(state, gisela, at, at + 3)
    assert (cited.document, cited.chunk, cited.start, cited.text) == ("", "Gisela", at, "Gis")


def test_citation_inside_document_counts_document_characters(tmp_path: Path) -> None:
    text = " ".join(f"Day {i} was spent in Steyr by the river, and it rained." for i in range(80))
    index = Index.create(tmp_path / "a", encoder=HashEncoder())
    index.add([{"id": "diary", "title": "Diary of a journey", "text": text}])
    passages = index.graph.passages
    assert passages is not None and len(passages) > 3
    cited = citation(start("?", index.graph), 2, 5, 30)
    assert cited.start == passages.start[2] + 5 > 5 and cited.chunk == "diary#2"
    assert text[cited.start : cited.end] == cited.text == index.graph.text(2)[5:30]


class TestPath:
    """The path of a citation is the steps of the item that brought its passage."""

    def test_path_ends_at_last_edge_that_passage_states(self) -> None:
        chunk = GRAPH.id("ermengarde#0")
        edge = next(e for e in GRAPH.edges.tolist() if chunk in GRAPH.chunks_of((), [e]) and _between(e))
        head, tail = GRAPH.ends([edge]).tolist()
        others = (e for e in GRAPH.edges.tolist() if _between(e) and not _states(chunk, e))
        beyond = next(e for e in others if tail in GRAPH.ends([e]))
        far = next(node for node in GRAPH.ends([beyond]).tolist() if node != tail)
        evidence = Evidence.of_paths(GRAPH, [([head, tail, far], [edge, beyond])])
        assert path_of(GRAPH, evidence, chunk) == GRAPH.triple(edge)

    def test_path_of_best_item_counts(self) -> None:
        chunk = GRAPH.id("erstein#0")
        edges = [e for e in GRAPH.edges.tolist() if _states(chunk, e)][:2]
        assert path_of(GRAPH, Evidence.of_edges(edges), chunk) == GRAPH.triple(edges[0])

    def test_citation_path_ends_at_passage_on_path(self) -> None:
        evidence = Evidence.of_paths(GRAPHS["line"], [([0, 1, 2], [0, 1])])
        assert path_of(GRAPHS["line"], evidence, 1) == ("a", "r", "b")

    def test_citation_path_of_tree_starts_at_root(self) -> None:
        graph = Graph.from_triples([("a", "r", "b"), ("c", "s", "a"), ("c", "t", "d")])
        tree = Evidence.of_trees(graph, [([0, 1, 2, 3], [0, 1, 2])])
        assert path_of(graph, tree, graph.id("d")) == ("a", "s⁻¹", "c", "t", "d")

    def test_path_of_node_is_steps_that_led_to_it_or_empty(self) -> None:
        graph, walk = GRAPHS["line"], Steps.of([((0, True), (1, True)), ()])
        for node, path in ((2, ("a", "r", "b", "r", "c")), (3, ())):
            assert path_of(graph, Evidence.of_nodes([2, 3], steps=walk), node) == path

    def test_path_of_passage_that_no_item_brought_is_empty(self) -> None:
        state = start("?", GRAPHS["line"]).with_(passages=Ranking.of([1], [1.0]))
        assert citation(state, 1, 0, 1).path == () == citation(state.with_(passages=None), 1, 0, 1).path


def path_of(graph: Graph, evidence: Evidence, node: int) -> tuple[str, ...]:
    return citation(ToPassages()(start("?", graph, evidence=evidence)), node, 0, 1).path


def _states(chunk: int, edge: int) -> bool:
    return chunk in GRAPH.chunks_of((), [edge])


def _between(edge: int) -> bool:
    return bool(GRAPH.columns.between_entities(np.array([edge]))[0])
