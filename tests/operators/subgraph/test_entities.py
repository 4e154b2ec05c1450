"""The graph of entities: its edges and texts against plain Python, and FastInsight's operators on it."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS, corpus_index
from tests.toys import chunk_columns_of

from graphwright import Evidence, GRanker, Graph, Keep, KHop, STeX, ToPassages, VectorIndex, VectorSearch, start
from graphwright.build.merge import MergedChunks
from graphwright.errors import OptionError
from graphwright.extract.extraction import Extraction, Mention, Relation
from graphwright.graph import Kind
from graphwright.models import OverlapCrossEncoder
from graphwright.operators.control import OnGraph
from graphwright.operators.subgraph import views
from graphwright.operators.subgraph.views import EntityGraph, entity_vectors

SNAPSHOT = corpus_index().snapshot
GRAPH = SNAPSHOT.graph
NONE = np.empty((0, 2), np.int64)


def graph_of(*stated: tuple[str, str, str], described: str = "") -> Graph:
    mentions = tuple(
        Mention(name, description=described) for name in dict.fromkeys(n for h, t, _ in stated for n in (h, t))
    )
    made = Extraction(mentions, tuple(Relation(head, "r", tail, text) for head, tail, text in stated))
    return MergedChunks(chunk_columns_of([("d", "", "t", made)])).graph(NONE)


def by_hand(graph: Graph, most: int) -> list[str]:
    """The text of each node: its own, then the first distinct sentences of the edges between entities at it."""
    result = [graph.text(node) for node in range(len(graph))]
    c = graph.columns
    assert c.edge_text is not None and c.sentences is not None
    message: dict[int, set[int]] = {}
    for head, tail, text in zip(c.heads.tolist(), c.tails.tolist(), c.edge_text.tolist(), strict=True):
        if text >= 0 and {c.kinds[head], c.kinds[tail]} == {Kind.ENTITY}:
            for end in (head, tail):
                message.setdefault(end, set()).add(text)
    for node, texts in message.items():
        result[node] = "\n".join([result[node], *c.sentences.take(sorted(texts)[:most])])
    return result


@pytest.mark.parametrize("most", [0, 1, 2, 5, 100])
def test_entity_graph_text_has_edge_sentences(most: int) -> None:
    there = EntityGraph(most)(GRAPH)
    assert [there.text(node) for node in range(len(there))] == by_hand(GRAPH, most)
    kinds = there.columns.kinds[there.ends(there.edges)]
    between = [e for e in GRAPH.edges.tolist() if (GRAPH.columns.kinds[GRAPH.ends([e])] == Kind.ENTITY).all()]
    assert len(between) and (kinds == Kind.ENTITY).all()
    assert list(map(there.triple, there.edges.tolist())) == list(map(GRAPH.triple, between))
    assert [there.edge_text(e) for e in there.edges.tolist()] == [GRAPH.edge_text(e) for e in between]
    assert there.names is GRAPH.names and there.chunks_of([GRAPH.id("Teutberga")]).tolist() == (
        GRAPH.chunks_of([GRAPH.id("Teutberga")]).tolist()
    )


ends = st.sampled_from(["Ada", "Bo", "Cy", "Di"])


@given(
    st.lists(st.tuples(ends, ends, st.sampled_from(["", "One.", "Zwei ä.", "Three\n!"])), max_size=8), st.integers(0, 3)
)
def test_entity_graph_texts_equal_plain_python(stated: list[tuple[str, str, str]], most: int) -> None:
    graph = graph_of(*stated, described="Said of it.")
    there = EntityGraph(most)(graph)
    assert [there.reading(node) for node in range(len(there))] == by_hand(graph, most)


def test_entity_graph_text_equals_worked_example() -> None:
    graph = graph_of(("Ada", "Bo", "Ada wrote to Bo."), ("Bo", "Cy", "Bo met Cy."), ("Cy", "Bo", "Ada wrote to Bo."))
    there = EntityGraph(2)(graph)
    assert there.text(there.id("Bo")) == "Bo\nAda wrote to Bo.\nBo met Cy."
    assert EntityGraph(1)(graph).text(there.id("Cy")) == "Cy\nAda wrote to Bo."


def test_entity_graph_is_cached_with_snapshot() -> None:
    graph = graph_of(("Ada", "Bo", "x"))
    assert EntityGraph()(graph) is EntityGraph()(graph) is not EntityGraph(2)(graph)
    part = EntityGraph()(graph.part(graph.ids("Ada")))
    assert part.nodes.tolist() == graph.ids("Ada").tolist() and not len(part.edges)
    made = weakref.ref(EntityGraph()(graph).columns)
    del graph, part
    gc.collect()
    assert made() is None


def test_entity_graph_of_knowledge_graph_is_itself() -> None:
    club = GRAPHS["club"]
    there = EntityGraph()(club)
    assert there.edges.tolist() == club.edges.tolist() and there.text(0) == club.text(0)


def test_entity_graph_search_leads_to_passages() -> None:
    assert SNAPSHOT.names is not None
    loop = GRanker(OverlapCrossEncoder()) >> (Keep() | STeX(SNAPSHOT.names) % 3) >> GRanker(OverlapCrossEncoder())
    state = (OnGraph(EntityGraph(), VectorSearch(SNAPSHOT.names) % 3 >> loop) >> ToPassages())(
        start("Who founded Erstein?", GRAPH)
    )
    assert state.graph is GRAPH and state.evidence is not None and state.passages is not None
    assert len(state.evidence) == 6 and (GRAPH.columns.kinds[state.evidence.nodes] == Kind.ENTITY).all()
    assert set(state.passages.ids.tolist()) == set(GRAPH.chunks_of(state.evidence.nodes).tolist())
    # Two entities that only a chunk names both are no neighbours there.
    apart = start("?", GRAPH, evidence=Evidence.of_nodes([GRAPH.id("Bread")]))
    assert len(OnGraph(EntityGraph(), KHop(2))(apart).evidence) < len(KHop(2)(apart).evidence)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [-1, 1.5, True, None])
def test_entity_graph_with_invalid_sentences_raises(wrong: object) -> None:
    with pytest.raises(OptionError, match="sentences is"):
        EntityGraph(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("at_a_time", [1, 3, 4096])
def test_entity_vector_is_normalised_mean_of_passages(at_a_time, monkeypatch) -> None:
    monkeypatch.setattr(views, "_BLOCK", at_a_time)
    columns, passages = GRAPH.columns, VectorIndex(SNAPSHOT.passages.vectors, SNAPSHOT.passages.row_of)
    result = views._means(columns, passages)
    stands: dict[int, set[int]] = {}
    for head, tail, relation in zip(columns.heads, columns.tails, columns.relation, strict=True):
        if columns.relations[int(relation)] in ("about", "mentions"):
            stands.setdefault(int(tail), set()).add(int(head))
    assert result.ids.tolist() == sorted(stands) and len(stands) > 4
    for node, chunks in stands.items():
        mean = passages.of(np.array(sorted(chunks))).astype(np.float64).sum(0)
        assert np.allclose(result.of(np.array([node]))[0], mean / np.linalg.norm(mean), atol=1e-6)


def test_entity_vectors_are_cached_and_default_to_graph_vectors() -> None:
    made = entity_vectors(GRAPH, SNAPSHOT.passages)
    assert made is entity_vectors(GRAPH, SNAPSHOT.passages) and made.encoder is SNAPSHOT.passages.encoder
    plain = Graph.from_triples([("a", "r", "b")])
    own = VectorIndex.from_array([[1, 0], [0, 1]])
    assert entity_vectors(plain, own) is own
