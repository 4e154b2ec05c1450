"""AnchorSearch: names by cosine, anchors in turn; by words and spelling where names have no vectors."""

from __future__ import annotations

import numpy as np
import pytest
from tests.shared import GRAPHS, corpus_index, vectors_of

from graphwright import Anchor, AnchorSearch, Graph, VectorIndex, start
from graphwright.errors import NeedsError
from graphwright.models import HashEncoder

FAMILY = GRAPHS["family"]
NOTE = (
    "the index has no vectors of names, so they were compared by words; a new index made with "
    "--embed passages,names,triples (the default) has them"
)


def result(op: AnchorSearch, graph: Graph, *anchors: Anchor, k: int = 40) -> dict[str, float]:
    evidence = (op % k)(start("?", graph, anchors=anchors)).evidence
    assert evidence is not None and evidence.scores is not None
    return dict(zip(graph.names.take(evidence.nodes), evidence.scores.tolist(), strict=True))


def test_anchor_search_ranks_names_by_cosine() -> None:
    encoder = HashEncoder()
    vectors = encoder.encode(list(FAMILY.names)) * np.linspace(0.5, 3, len(FAMILY), dtype=np.float32)[:, None]
    index = VectorIndex.from_array(vectors, encoder)
    query = encoder.encode(["Lothair of Tours"])[0]
    cosine = vectors @ query / np.linalg.norm(vectors, axis=1)
    order = np.lexsort((np.arange(len(cosine)), -cosine))
    expected = {FAMILY.names[int(node)]: 1 / rank for rank, node in enumerate(order, 1)}
    assert result(AnchorSearch(index), FAMILY, Anchor("Lothair of Tours")) == pytest.approx(expected)


def test_anchor_search_alternates_anchors_by_weight() -> None:
    graph = Graph.from_triples([("red fox", "r", "red hen"), ("blue sea", "r", "blue sky"), ("red sun", "r", "tax")])
    op = AnchorSearch(vectors_of(graph))
    red, blue = Anchor("red fox"), Anchor("blue sea")
    assert list(result(op, graph, red, blue, k=2)) == ["red fox", "blue sea"]
    both = result(op, graph, red, blue)
    assert both["red fox"] == both["blue sea"] == 1.0 and both["blue sky"] == 0.5
    half = result(op, graph, red, Anchor("blue sea", weight=0.5))
    assert half["blue sea"] == 0.5 and half["blue sky"] == 0.25
    assert "tax" not in result(op, graph, red, Anchor("tax", weight=0.0), k=3)


def test_anchor_search_returns_anchor_nodes_first() -> None:
    op = AnchorSearch(vectors_of(FAMILY))
    gisela, bertha = FAMILY.id("Gisela"), FAMILY.id("Bertha")
    meant = result(op, FAMILY, Anchor("Lothair I", nodes=[bertha]), k=2)
    assert meant == {"Bertha": 1.0, "Lothair I": 0.5}
    assert set(result(op, FAMILY, Anchor("?", edges=[5]), k=2)) == {"Waldrada", "Gisela"}
    part = FAMILY.part([n for n in FAMILY.nodes.tolist() if n != gisela])
    assert "Gisela" not in result(op, part, Anchor("Gisela", nodes=[gisela]))


def test_anchor_search_ignores_themes_and_keeps_anchors() -> None:
    op = AnchorSearch(vectors_of(FAMILY))
    assert result(op, FAMILY, Anchor("Gisela", kind="theme")) == {}
    anchors = (Anchor("Bertha"), Anchor("Gisela", kind="theme"))
    state = (op % 1)(start("?", FAMILY, anchors=anchors))
    assert state.anchors == anchors and FAMILY.names.take(state.evidence.nodes) == ["Bertha"]  # type: ignore[union-attr]
    with pytest.raises(NeedsError, match="needs 'anchors'"):
        op(start("?", FAMILY))


@pytest.mark.parametrize(
    ("text", "first"),
    [("Lothair II", "Lothair II"), ("the Ermengarde", "Ermengarde of Tours"), ("teuthberga", "Teutberga")],
)
def test_anchor_search_without_vectors_compares_words_with_note(text: str, first: str) -> None:
    state = AnchorSearch(None)(start("?", FAMILY, anchors=[Anchor(text)]))
    assert state.evidence is not None and FAMILY.names[int(state.evidence.nodes[0])] == first
    assert state.trace[-1].notes == (NOTE,)


def test_anchor_search_without_vectors_omits_unrelated_names() -> None:
    assert set(result(AnchorSearch(None), FAMILY, Anchor("Tours"))) == {"Ermengarde of Tours"}
    assert result(AnchorSearch(None), FAMILY, Anchor("xyz")) == {}
    assert result(AnchorSearch(None), FAMILY, Anchor("?")) == {}


def test_anchor_search_omits_passages() -> None:
    snapshot = corpus_index().snapshot
    names = snapshot.graph.columns.kinds
    for op in (AnchorSearch(snapshot.names), AnchorSearch(None)):
        evidence = op(start("?", snapshot.graph, anchors=[Anchor("lothair")])).evidence
        assert evidence is not None and len(evidence) and (names[evidence.nodes] == 0).all()
