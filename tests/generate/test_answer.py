"""Answers: what is cited is what stands there, and the walk that led there is in the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import pytest
from tests.toys import CORPUS, GRAPHS, as_networkx, corpus_index, family_state

from graphwright import Generate, Graph, HashEncoder, Index, OptionError, SentenceReader, start
from graphwright.generate.cite import walk_to
from graphwright.graph.evidence import Ranking
from graphwright.models.protocols import Span
from graphwright.operators.state import Anchor, State

GRAPH = corpus_index().graph


@dataclass(frozen=True)
class Scripted:
    """Finds given stretches of text, in the order given, and refuses to read more passages than it was promised."""

    sought: tuple[str, ...]
    passages: int = 8

    def read(self, question: str, passages: Sequence[str]) -> list[Span]:
        assert len(passages) <= self.passages
        places = [(text, i, p.find(text)) for text in self.sought for i, p in enumerate(passages) if text in p]
        return [Span(i, at, at + len(text), 1.0) for text, i, at in places]


def ranked(*chunks: str, **more: object) -> State:
    state = start("Which abbey did she found?", GRAPH, **more)  # type: ignore[arg-type]
    return state.with_(
        chunks=Ranking.of([GRAPH.id(f"{c}#0") for c in chunks], [1.0 / (1 + i) for i in range(len(chunks))])
    )


def test_each_citation_is_what_stands_in_the_document_and_the_text_is_all_of_them() -> None:
    sought = ("She founded the abbey of Erstein in Alsace.", "It was destroyed in 1525", "Bread is baked")
    answer = Generate(Scripted(sought))(ranked("bread", "erstein", "ermengarde")).answer
    assert answer is not None and answer.found and answer.text == " ".join(sought)
    texts = {str(d["id"]): str(d["text"]) for d in CORPUS}
    assert [(c.document, c.chunk) for c in answer.citations] == [
        (name, f"{name}#0") for name in ("ermengarde", "erstein", "bread")
    ]
    for citation, text in zip(answer.citations, sought, strict=True):
        assert citation.text == text == texts[citation.document][citation.start : citation.end]


def test_a_chunk_amid_a_document_is_cited_by_the_characters_of_the_document(tmp_path: Path) -> None:
    text = " ".join(f"Day {i} was spent in Steyr by the river, and it rained." for i in range(80))
    index = Index.create(tmp_path / "a", encoder=HashEncoder())
    index.add([{"id": "diary", "title": "Diary of a journey", "text": text}])
    passages = index.graph.passages
    assert passages is not None and len(passages) > 3
    state = start("?", index.graph).with_(passages=Ranking.of([2, 3], [2, 1]))
    for citation in Generate(SentenceReader(HashEncoder(), least=-1.0))(state).answer.citations:  # type: ignore[union-attr]
        assert citation.start >= passages.start[2] > 0 and citation.chunk in ("diary#2", "diary#3")
        assert text[citation.start : citation.end] == citation.text != ""


def test_only_the_best_passages_are_read() -> None:
    state = ranked("bread", "erstein", "ermengarde")
    answer = Generate(Scripted(("She founded", "It was destroyed"), passages=2), passages=2)(state).answer
    assert answer is not None and answer.text == "It was destroyed"
    with pytest.raises(OptionError, match="passages=0"):
        Generate(Scripted(()), passages=0)


@pytest.mark.parametrize("chunks", [(), ("bread", "erstein")])
def test_where_nothing_is_found_nothing_is_cited(chunks: tuple[str, ...]) -> None:
    answer = Generate(Scripted(("xyz",)))(ranked(*chunks)).answer
    assert answer is not None and not answer.found and answer.citations == ()
    assert answer.text == "Nothing in the documents answers this."


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
        path = walk_to(state, node)
        if distance.get(node, 99) > 4:
            assert path == ()
            continue
        assert len(path) == 2 * distance[node] + 1 and steps_hold(graph, path)
        assert (path[0], path[-1]) == (graph.names[0], graph.names[node])
        if distance[node]:
            assert walk_to(state, node, hops=distance[node] - 1) == ()


def test_walks_begin_at_the_nearest_anchor_and_stay_in_a_part() -> None:
    state = family_state()
    graph = state.graph
    assert walk_to(state, graph.id("Lothair II")) == ("Lothair II",)
    gisela = graph.id("Gisela")
    assert walk_to(state, gisela) == ("Lothair II", "spouse", "Waldrada", "mother of", "Gisela")
    bertha = Anchor("Bertha", [graph.id("Bertha")])
    both = state.with_(anchors=(*state.anchors, bertha))  # type: ignore[misc]
    assert walk_to(both, graph.id("Waldrada")) == walk_to(both.with_(anchors=both.anchors[::-1]), graph.id("Waldrada"))  # type: ignore[index]
    alone = state.with_(anchors=(bertha,))
    assert walk_to(alone, graph.id("Waldrada")) == ("Bertha", "mother of⁻¹", "Waldrada")
    without = [n for n in graph.nodes.tolist() if n != graph.id("Waldrada")]
    assert walk_to(state.with_(graph=graph.part(without)), gisela) == ()
    for anchors in (None, (), (Anchor("nobody", []),)):
        assert walk_to(state.with_(anchors=anchors), gisela) == ()


def test_a_graph_without_passages_cites_its_nodes() -> None:
    state = family_state()
    gisela = state.graph.id("Gisela")
    (citation,) = Generate(Scripted(("Gis",)))(state.with_(passages=Ranking.of([gisela], [1]))).answer.citations  # type: ignore[union-attr]
    assert (citation.document, citation.chunk, citation.text) == ("", "Gisela", "Gis")
    assert state.graph.passage(gisela)[citation.start : citation.end] == "Gis"
    assert citation.path[0] == "Lothair II" and citation.path[-1] == "Gisela"


def test_what_stands_in_the_title_only_is_not_cited_as_nothing() -> None:
    answer = Generate(Scripted(("Mur (river)",)))(ranked("mur")).answer
    assert answer is not None and all(c.text for c in answer.citations)
