"""Sparse search, against sorted products of dense tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.toys import loose

from graphwright import ToPassages, VectorSearch, start
from graphwright.models import HashSparseEncoder
from graphwright.operators import ScoreSum, SparseSearch
from graphwright.search import SparseIndex
from graphwright.testing import GRAPHS, corpus_index

texts = st.lists(st.lists(st.sampled_from(["fox", "hen", "Mur", "tax", "law"]), max_size=5), min_size=1, max_size=12)


@given(texts, st.lists(st.sampled_from(["fox", "hen", "law", "sea"]), max_size=4), st.integers(1, 14), st.data())
def test_search_equals_sorted_products(words: list[list[str]], asked: list[str], k: int, data: st.DataObject) -> None:
    encoder = HashSparseEncoder(512)
    message, question = [" ".join(some) for some in words], " ".join([*asked, "?"])
    graph = loose(message)
    search = SparseSearch(SparseIndex.of(graph, encoder))
    chosen = data.draw(st.none() | st.sets(st.integers(0, len(message) - 1)))
    space = graph if chosen is None else graph.part(sorted(chosen))
    rows, query = encoder.encode_passages(message).dense(), encoder.encode_queries([question]).dense()[0]
    exact = (rows.astype(np.float64) @ query).astype(np.float32)
    best = sorted((-score, node) for node, score in enumerate(exact.tolist()) if score and node in space)
    for cut, expected in ((search, best), (search % k, best[:k])):
        result = cut(start(question, space)).evidence
        assert result is not None and result.scores is not None
        assert result.nodes.tolist() == [node for _, node in expected]
        np.testing.assert_allclose(result.scores, [-score for score, _ in expected], rtol=1e-6)


def test_search_breaks_ties_by_id_at_cut() -> None:
    graph = GRAPHS["star"]
    result = (SparseSearch(SparseIndex.of(graph, HashSparseEncoder())) % 3)(start("leaf", graph)).evidence
    hub = graph.id("hub")
    assert result is not None and result.scores is not None
    # The hub's passage names every leaf, the others one each.
    assert result.nodes.tolist() == [hub, *[node for node in graph.nodes.tolist() if node != hub][:2]]
    assert result.scores.tolist() == pytest.approx([6 / 7, 0.5, 0.5])


def test_search_composes_and_prints_source() -> None:
    snapshot = corpus_index().snapshot
    index = SparseIndex.of(snapshot.graph, HashSparseEncoder())
    search = SparseSearch(index)
    assert repr(search % 2 >> ToPassages()) == f"SparseSearch({index!r}) % 2 >> ToPassages()"
    state = start("Who founded the abbey of Erstein?", snapshot.graph)
    after = (ScoreSum(VectorSearch(snapshot.passages), search) % 2 >> ToPassages())(state)
    assert after.passages is not None and len(after.passages) == 2
    assert {snapshot.graph.title_of(node) for node in after.passages.ids.tolist()} == {
        "Ermengarde of Tours",
        "Erstein Abbey",
    }
    nothing = search(start("zzz", snapshot.graph)).evidence
    assert nothing is not None and len(nothing) == 0
