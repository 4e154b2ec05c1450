"""MultiHopRerank against its formula in plain Python, the names added to the question, and invalid options."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS, corpus_index

from graphwright import Evidence, Graph, start
from graphwright.models import OverlapCrossEncoder
from graphwright.operators import MultiHopRerank, Scorer

KIN = Graph.from_triples(
    [("Ida", "wife of", "Udo"), ("Ugo", "lived in", "Lyon"), ("Udo", "lived in", "Graz"), ("Ida", "born in", "Mur")]
)
QUESTION = "Where did the husband of Ida live?"


@dataclass(frozen=True)
class Scripted:
    """A cross-encoder with given scores by text, and by the names added to the question."""

    scores: tuple[tuple[str, tuple[float, ...]], ...]

    def latents(self, query, texts):
        rows = dict(self.scores)[query.removeprefix("q").strip()]
        at = {"a": 0, "b": 1, "c": 2, "d": 3}
        return np.array([[rows[at[text]]] for text in texts], np.float32)

    def head(self, latents):
        return latents[:, 0]


def softmax(scores: list[float], temperature: float) -> list[float]:
    parts = [math.exp(score / temperature) for score in scores]
    return [part / sum(parts) for part in parts]


SCORES = st.lists(st.integers(-20, 20).map(lambda n: n / 10), min_size=4, max_size=4)


@given(st.lists(SCORES, min_size=5, max_size=5), st.integers(0, 4), st.sampled_from([0.5, 1.0]))
def test_multi_hop_rerank_equals_formula(rows: list[list[float]], contexts: int, temperature: float) -> None:
    # a - b - c - d, a path: each names its neighbours and itself.
    graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    asked = {"": rows[0], "a b": rows[1], "b a c": rows[2], "c b d": rows[3], "d c": rows[4]}
    model = Scripted(tuple((query, tuple(row)) for query, row in asked.items()))
    state = start("q", graph, evidence=Evidence.of_nodes([3, 0, 1, 2]))
    result = MultiHopRerank(model, contexts, temperature)(state).evidence
    own = [float(np.float32(score)) for score in rows[0]]
    first = softmax(own, temperature)
    expected = list(first)
    for s in sorted(range(4), key=lambda s: (-own[s], s))[:contexts]:
        row = list(asked.values())[1 + s]
        others = [t for t in range(4) if t != s]
        for t, share in zip(others, softmax([float(np.float32(row[t])) for t in others], temperature), strict=True):
            expected[t] += first[s] * share
    assert dict(zip(result.nodes.tolist(), result.scores.tolist(), strict=True)) == pytest.approx(
        dict(enumerate(expected))
    )
    assert result.scores.tolist() == sorted(result.scores.tolist(), reverse=True)


def test_multi_hop_rerank_adds_missing_names_in_text_order() -> None:
    questions: list[str] = []

    @dataclass(frozen=True)
    class Listening(OverlapCrossEncoder):
        def latents(self, query, texts, usage=None):
            questions.append(query)
            return super().latents(query, texts, usage)

    MultiHopRerank(Listening(), contexts=1)(start(QUESTION, KIN, evidence=Evidence.of_edges([0, 1, 2])))
    # Of "Ida wife of Udo": Ida is in the question; Graz and Mur do not stand in the text, and come last.
    assert questions == [QUESTION, f"{QUESTION} Udo Graz Mur"]


def test_multi_hop_rerank_finds_second_hop() -> None:
    state = start(QUESTION, KIN, evidence=Evidence.of_edges([2, 1, 0]))
    plain, best = (
        MultiHopRerank(OverlapCrossEncoder(), contexts, 0.1)(state).evidence.texts(KIN) for contexts in (0, 1)
    )
    assert plain == ["Ida wife of Udo", "Ugo lived in Lyon", "Udo lived in Graz"]  # alike but for their ids
    assert best == ["Ida wife of Udo", "Udo lived in Graz", "Ugo lived in Lyon"]


def test_multi_hop_rerank_matches_whole_words() -> None:
    graph = Graph.from_triples([("Ur", "lies in", "Iraq"), ("Ur", "burned by", "Elam")])
    state = start("Which court burned?", graph, evidence=Evidence.of_nodes([graph.id("Ur"), graph.id("Iraq")]))
    # "court" and "burned" hold no Ur. Iraq has Ur as its only neighbour.
    notes = MultiHopRerank(OverlapCrossEncoder())(state).trace[-1].notes
    assert notes == ("read again with Ur, Elam, Iraq", "read again with Iraq, Ur")


def test_multi_hop_rerank_skips_items_without_new_name() -> None:
    state = start("Udo Ida Graz Mur Lyon Ugo", KIN, evidence=Evidence.of_edges([0, 1]))
    after = MultiHopRerank(OverlapCrossEncoder())(state)
    assert after.usage.texts == 2 and after.evidence.scores.sum() == pytest.approx(1)


def test_multi_hop_rerank_skips_neighbours_of_hub() -> None:
    hub = Graph.from_triples([("hub", "r", f"n{at}") for at in range(101)])
    state = start("q", hub, evidence=Evidence.of_nodes([hub.id("hub"), hub.id("n5")]))
    assert set(MultiHopRerank(OverlapCrossEncoder())(state).trace[-1].notes) == {
        "read again with hub",
        "read again with n5, hub",
    }


def test_multi_hop_rerank_without_finite_score_is_zero() -> None:
    @dataclass(frozen=True, repr=False)
    class Never(Scorer):
        def prepare(self, state, run):
            return lambda items: np.full(len(items), -np.inf)

    result = MultiHopRerank(Never())(start(QUESTION, KIN, evidence=Evidence.of_edges([0, 1]))).evidence
    assert result.scores.tolist() == [0.0, 0.0]


def test_multi_hop_rerank_adds_mentioned_entities() -> None:
    ix = corpus_index().snapshot
    passages = Evidence.of_nodes(ix.graph.passages.nodes)
    state = MultiHopRerank(OverlapCrossEncoder())(
        start("Who founded the abbey of Erstein?", ix.graph, evidence=passages)
    )
    names = [name for note in state.trace[-1].notes for name in note.removeprefix("read again with ").split(", ")]
    assert "Ermengarde of Tours" in names and not any(name in "Who founded the abbey of Erstein?" for name in names)


def test_multi_hop_rerank_stays_in_graph() -> None:
    part = KIN.part([KIN.id(name) for name in ("Ida", "Udo", "Graz")])
    state = start(QUESTION, part, evidence=Evidence.of_nodes([KIN.id("Ida"), KIN.id("Udo")]))
    notes = MultiHopRerank(OverlapCrossEncoder())(state).trace[-1].notes
    assert notes == ("read again with Udo", "read again with Udo, Graz")  # and not with Mur, where Ida was born


@pytest.mark.parametrize("contexts", [0, 1, 3, 50])
def test_multi_hop_rerank_reads_texts_once_per_context(contexts: int) -> None:
    evidence = Evidence.of_nodes(range(len(GRAPHS["family"])))
    state = start("Who was Gisela?", GRAPHS["family"], evidence=evidence)
    assert MultiHopRerank(OverlapCrossEncoder(), contexts)(state).usage.texts == len(evidence) * (
        1 + min(contexts, len(evidence))
    )


def test_multi_hop_rerank_of_one_item_keeps_it() -> None:
    for nodes in ([], [2]):
        result = MultiHopRerank(OverlapCrossEncoder())(start(QUESTION, KIN, evidence=Evidence.of_nodes(nodes))).evidence
        assert result.nodes.tolist() == nodes and result.scores.tolist() == [1.0] * len(nodes)
