"""The three signals worked by hand: cosine, BM25, and topics that the question names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from tests.toys import merged_graph

from graphwright import Anchor, Graph, VectorIndex, start
from graphwright.index.extraction import Extraction, Mention
from graphwright.index.inverted_index import WordIndex
from graphwright.models.protocols import Floats
from graphwright.operators import SupportSearch
from graphwright.operators.run import Run
from graphwright.operators.search.support import Support
from graphwright.operators.state import State


@dataclass(frozen=True)
class Fixed:
    """Gives every text one vector."""

    vector: tuple[float, ...]

    def encode(self, texts: Sequence[str]) -> Floats:
        return np.array([self.vector] * len(texts), np.float32)


def graph_of(*docs: tuple[str, list[str]]) -> Graph:
    """One chunk each of (title, mentions)."""
    made = [Extraction(tuple(Mention(m) for m in mentions)) for _, mentions in docs]
    return merged_graph((f"d{i}", title, "", c) for i, ((title, _), c) in enumerate(zip(docs, made, strict=True)))


GRAPH = graph_of(("Red Fox", []), ("", ["Mur", "Graz"]), ("Graz", []))
WORDS = WordIndex.of(["red fox red fox den", "river mur den", "graz city"], np.arange(3))
# Cosines with the question: 0.6, 0.8 and 0.
VECTORS = VectorIndex.from_array([[0.6, 0.8], [0.8, -0.6], [0.0, 1.0]], Fixed((1.0, 0.0)))


def asked(question: str, *anchors: str, graph: Graph = GRAPH) -> State:
    result = [Anchor(a, graph.ids(a)) for a in anchors]
    return start(question, graph, anchors=result)


def support(state: State) -> Support:
    return Support.of(state, Run(), VECTORS, WORDS)


def bm25(tf: int, length: int, df: int, mean: float = 10 / 3, n: int = 3) -> float:
    """The score of one word: Lucene's, with k1 = 1.2 and b = 0.75."""
    return float(np.log(1 + (n - df + 0.5) / (df + 0.5)) * tf / (tf + 1.2 * (0.25 + 0.75 * length / mean)))


def test_near_is_the_cosine_over_the_best() -> None:
    assert support(asked("den?")).near.tolist() == pytest.approx([0.75, 1, 0])


def test_terms_are_bm25_by_word_over_the_best_of_the_whole_question() -> None:
    result = support(asked("Where is the den of the Mur, the unheard den?"))
    den, mur = bm25(1, 5, 2), bm25(1, 3, 1)
    best = bm25(1, 3, 2) + mur
    # Columns in the order of the question: den, mur, unheard; a word asked twice counts once.
    assert result.terms.tolist() == [
        pytest.approx([den / best, 0, 0]),
        pytest.approx([bm25(1, 3, 2) / best, mur / best, 0]),
        [0, 0, 0],
    ]
    assert result.terms.sum(1).max() == pytest.approx(1) and result.named.shape == (3, 0)


def test_the_words_of_a_linked_title_are_consumed_and_its_passage_is_named() -> None:
    result = support(asked("Where is the den of the Red Fox?", "Red Fox"))
    assert result.named.tolist() == [[1], [0], [0]]
    best = bm25(1, 5, 2) + 2 * bm25(2, 5, 1)  # the best is still that of the whole question
    assert result.terms.tolist() == [pytest.approx([bm25(1, 5, 2) / best]), pytest.approx([bm25(1, 3, 2) / best]), [0]]


def test_an_inferred_topic_is_named_but_its_words_must_still_be_found() -> None:
    result = support(asked("Where is the Mur?", "Mur"))
    assert result.named.tolist() == [[0], [0.5], [0]]
    assert result.terms.tolist() == [[0], [1], [0]]


@pytest.mark.parametrize(("holding", "topic"), [(5, True), (6, False)])
def test_what_many_passages_hold_is_a_word_and_no_topic(holding: int, topic: bool) -> None:
    graph = graph_of(("Fox", []), *(("", ["Den", "Fox"]) for _ in range(holding - 1)), *(("", ["Den"]) for _ in "abc"))
    n = holding + 3
    index = WordIndex.of(["fox", *(["den"] * (n - 1))], np.arange(n))
    vectors = VectorIndex.from_array([[0.6, 0.8]] * n, Fixed((1.0, 0.0)))
    result = Support.of(asked("Where is the Fox?", "Fox", graph=graph), Run(), vectors, index)
    assert result.named.shape == (n, int(topic)) and result.terms.shape == (n, int(not topic))


def test_anchors_that_nothing_is_about_are_no_column_and_consume_nothing() -> None:
    state = asked("Is the den a fox?", "Red Fox").with_(anchors=(Anchor("fox", []), Anchor("den", [])))
    result = support(state)
    assert result.named.shape == (3, 0) and result.terms.shape == (3, 2)
    assert support(state.with_(anchors=None)).terms.tolist() == result.terms.tolist()


def test_a_title_that_stands_twice_is_consumed_once() -> None:
    result = support(asked("Is Red Fox a Red Fox?", "Red Fox"))
    assert result.terms.shape == (3, 2) and result.terms[0].sum() == pytest.approx(1)


def test_a_part_of_the_graph_has_the_signals_of_its_passages() -> None:
    state = asked("Where is the den of Graz?", "Graz")
    whole, part = support(state), support(state.with_(graph=GRAPH.part([0, 2, 4])))
    assert part.nodes.tolist() == [0, 2]
    assert part.near.tolist() == pytest.approx([1, 0])  # the best cosine is that of the best one here
    assert part.terms.tolist() == whole.terms[[0, 2]].tolist() and part.named.tolist() == [[0], [1]]


def test_the_search_ranks_by_the_sum_and_cuts_it() -> None:
    state = asked("Where is the den of Graz?", "Graz")
    best = bm25(1, 2, 1)
    wanted = {0: 0.75 + bm25(1, 5, 2) / best, 1: 1 + bm25(1, 3, 2) / best, 2: 1.0}
    search = SupportSearch(VECTORS, WORDS)
    result = search(state).evidence
    assert result is not None and result.scores is not None
    assert dict(zip(result.nodes.tolist(), result.scores.tolist(), strict=True)) == pytest.approx(wanted)
    cut = (search % 2)(state).evidence
    assert cut is not None and cut.nodes.tolist() == sorted(wanted, key=lambda n: -wanted[n])[:2]


def test_a_name_whose_singular_is_a_stop_word() -> None:
    words = WordIndex.of(["Bob Wills sang", "x y", "z"], np.arange(3))
    result = Support.of(asked("Who was Wills?"), Run(), VECTORS, words)
    assert result.terms.tolist() == [[1], [0], [0]]


def test_a_title_within_a_longer_word_is_not_consumed() -> None:
    words = WordIndex.of(["red fox", "graze mur", "graz city"], np.arange(3))
    result = Support.of(asked("Do cows graze in Graz?".replace("graze", "Graze"), "Graz"), Run(), VECTORS, words)
    assert result.terms[1].sum() > 0


def test_without_a_passage_that_is_near_words_decide() -> None:
    far = VectorIndex.from_array([[-0.6, 0.8], [-0.8, -0.6], [-0.7, 0.7]], Fixed((1.0, 0.0)))
    result = Support.of(asked("Where is the den of the Mur?"), Run(), far, WORDS)
    assert np.abs(result.near).max() <= 1 and result.total().argmax() == 1
