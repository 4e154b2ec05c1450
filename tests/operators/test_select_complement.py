"""Complement against the formula of its docstring, over plain dictionaries, step by step."""

from __future__ import annotations

import math
import pickle
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.operators.plain_world import Signals, Statement, World, lucene_idf, worlds
from tests.toys import corpus_index, merged_graph

from graphwright import Evidence, VectorIndex, start
from graphwright.errors import OptionError
from graphwright.index.extraction import Extraction
from graphwright.index.inverted_index import WordIndex
from graphwright.operators import Complement
from graphwright.operators.run import Run
from graphwright.operators.state import State

DEFAULTS: dict[str, float] = {
    "about": 0.5,
    "stated": 0.4,
    "shared": 0.3,
    "own": 0.5,
    "overlap": 0.6,
    "joined": 0.1,
    "unnamed": 1.0,
    "common": 0.02,
}


def complement(w: World, **options: Any) -> Complement:
    return Complement(w.index(), w.words(), **options)


def result(state: State) -> list[tuple[int, float]]:
    assert state.passages is not None
    return list(zip(state.passages.ids.tolist(), state.passages.scores.tolist(), strict=True))


class Reference:
    """What the formula says of each passage, while passages are taken one by one."""

    def __init__(self, w: World, pool: Sequence[int], inside: Collection[int], options: dict[str, Any]) -> None:
        self.w, self.inside, self.how = w, inside, DEFAULTS | options
        self.signals = Signals.of(w, inside)
        self.h = {t: self.signals.alone(t) for t in inside}
        matched = set(w.question.split()) & {word for text in w.texts for word in text}
        self.idf = {word: lucene_idf(w.texts, word) for word in matched}
        self.first = sorted(set(pool) & set(inside))
        self.opened: list[int] = []
        self.taken: list[int] = []
        self.largest = 0.0
        self.open(self.first)

    def share(self, statement: Statement) -> float:
        total = sum(self.idf.values())
        return sum(self.idf.get(word, 0.0) for word in statement.words()) / total if total else 0.0

    def open(self, more: Sequence[int]) -> None:
        shares = [self.share(statement) for s in more for statement in self.w.stated[s]]
        self.largest = self.largest or max(shares, default=0.0)
        self.opened += more

    def statement_share(self, s: int, e: str) -> float:
        """r: what the best statement of s on e has of the question."""
        on = [statement for statement in self.w.stated[s] if {statement.head, statement.tail} & ({e} | self.w.same(e))]
        return min(max(map(self.share, on), default=0.0) / (self.largest or 1.0), 1.0)

    def connection(self, s: int, t: int) -> float | None:
        """C, None where nothing connects them."""
        w, how = self.w, self.how
        strengths = [how["about"] + how["stated"] * self.statement_share(s, e) for e in w.reach(s) if e == w.topic(t)]
        strengths += [how["about"]] * (w.topic(s) in w.reach(t))
        rare = (w.rarity(e, how["common"]) for e in w.reach(s) & w.reach(t))
        strengths += [how["shared"] * r for r in rare if r > 0]
        strengths += [0.0] * bool(self.signals.named[s] and self.signals.named[t])
        return max(strengths, default=None)

    def unnamed(self, s: int, t: int) -> float:
        """What a pair of which the question names neither's topic is worth less."""
        return self.how["unnamed"] * (1 - max(self.signals.named[s], self.signals.named[t]))

    def gains(self) -> dict[int, float]:
        """What each passage that can be taken adds."""
        gains = {}
        for t in self.inside:
            ties = {s: c for s in self.opened if s != t and (c := self.connection(s, t)) is not None}
            if t in self.taken or not (t in self.first or ties):
                continue
            together = [self.signals.together(self.w, s, t) + c - self.unnamed(s, t) for s, c in ties.items()]
            worth = max([self.h[t], *together]) + self.how["own"] * self.h[t]
            covered = [self.signals.covers[c] for c in self.taken]
            again = sum(min(own, max(col)) for own, *col in zip(self.signals.covers[t], *covered, strict=True) if col)
            joined = max([ties[c] for c in self.taken if c in ties], default=0.0)
            gains[t] = worth - self.how["overlap"] * again + self.how["joined"] * joined
        return gains

    def take(self, t: int) -> None:
        self.taken.append(t)
        if t not in self.opened:
            self.open([t])


def agree(w: World, pool: Sequence[int], state: State, inside: Collection[int], options: dict[str, Any]) -> None:
    """Each passage taken is (within rounding) the best by the reference, with its gain as score, until none is left."""
    reference = Reference(w, pool, inside, options)
    last = math.inf
    for at, score in result(state):
        gains = reference.gains()
        assert gains[at] == pytest.approx(max(gains.values()), abs=1e-4)
        last = min(last, gains[at])
        assert score == pytest.approx(last, abs=1e-4)
        reference.take(at)
    assert not reference.gains()


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "about": st.sampled_from([0.0, 1.5]),
        "stated": st.sampled_from([0.0, 1.0]),
        "shared": st.sampled_from([0.0, 2.0]),
        "own": st.sampled_from([0.0, 2.0]),
        "overlap": st.sampled_from([0.0, 1.5]),
        "joined": st.sampled_from([0.0, 1.0]),
        "unnamed": st.sampled_from([0.0, 0.5]),
        "common": st.sampled_from([0.0, 1.0]),
    },
)


@given(worlds(), OPTIONS, st.data())
@settings(deadline=None, max_examples=200)
def test_equals_the_formula_step_by_step(w: World, options: dict[str, Any], data: st.DataObject) -> None:
    every = list(range(len(w)))
    pool = data.draw(st.lists(st.sampled_from(every), unique=True), "pool")
    inside = data.draw(st.none() | st.sets(st.sampled_from(every)), "inside")
    here = every if inside is None else sorted(inside)
    agree(w, pool, complement(w, **options)(w.state(pool, inside)), here, options)


@given(worlds(), st.data())
@settings(deadline=None, max_examples=40)
def test_a_cut_is_a_prefix_and_scores_descend(w: World, data: st.DataObject) -> None:
    op, state = complement(w), w.state(data.draw(st.lists(st.sampled_from(range(len(w))), unique=True)))
    whole = result(op(state))
    assert all(a > b for (_, a), (_, b) in pairwise(whole))
    for k in (1, 2, 4, 100):
        assert result((op % k)(state)) == whole[:k]


def two(titles: list[str], mentions: list[list[str]], word: str = "zz", **more: Any) -> World:
    """Two passages of one word with cosines 0.6 and 0.8, at right angles."""
    vectors = np.array([[0.6, 0.8], [0.8, -0.6]], np.float32)
    nothing: list[list[Statement]] = [[], []]
    made = World(titles, mentions, [[word], [word]], vectors, np.array([1, 0], np.float32), "lake", [], {}, nothing)
    return replace(made, **more)


def test_a_gain_worked_by_hand() -> None:
    w = two(["Anna", "Bert"], [["Bert"], []], "lake")
    # Both have the word of the question: h = 0.75 + 1 and 1 + 1. One is about what the other mentions: C = 0.5.
    f = 1.4 / 2**0.5 / 0.8 + 1 + 0.5
    # The second is found by the first, which then comes before it; what is left is less by the word, more by C.
    expected = [(0, f + 0.875), (1, f + 1 - 0.6 * 1 + 0.3 * 0.5)]
    op = complement(w, unnamed=0, joined=0.3)
    assert result(op(w.state([1]))) == [(at, pytest.approx(gain, abs=1e-6)) for at, gain in expected]
    # The question names neither of both, so that the pair is worth 1 less, and either more alone.
    expected = [(1, 2 + 1), (0, 1.75 + 0.875 - 0.6 * 1 + 0.1 * 0.5)]
    assert result(complement(w)(w.state([1]))) == [(at, pytest.approx(gain, abs=1e-6)) for at, gain in expected]
    # What a passage states on what the other is about: r = 1 for the best of its statements, so that C = 0.5 + 0.4.
    altered = replace(w, stated=[[Statement("Anna", "saw", "Bert", "the lake")], []])
    expected = [(0, f + 0.875), (1, f + 0.4 + 1 - 1.5 * 1 + 0.3 * 0.9)]
    op = complement(altered, overlap=1.5, unnamed=0, joined=0.3)
    assert result(op(altered.state([1]))) == [(at, pytest.approx(gain, abs=1e-6)) for at, gain in expected]


def test_a_score_is_less_than_the_one_before() -> None:
    w = two(["Anna", "Bert"], [["Bert"], []])
    (first, best), (second, score) = result(complement(w, unnamed=0, joined=0.3)(w.state([1])))
    # Nothing is covered here, so that C alone counts: the gain of the second is above that of the first.
    f = 1.4 / 2**0.5 / 0.8 + 0.5
    assert (first, second) == (0, 1) and best == pytest.approx(f + 0.375, abs=1e-6)
    assert f + 0.5 + 0.15 > best and score == np.nextafter(best, -np.inf)


def test_unconnected_passages_are_left_out() -> None:
    apart = two(["Anna", "Bert"], [[], []])
    assert result(complement(apart)(apart.state([0]))) == [(0, pytest.approx(1.125))]
    assert [at for at, _ in result(complement(apart)(apart.state([0, 1])))] == [1, 0]
    # An entity in all passages connects nothing; the question connects what it names.
    everywhere = two(["Anna", "Bert"], [["Cleo"], ["Cleo"]])
    assert len(result(complement(everywhere)(everywhere.state([0])))) == 1
    asked = two(["Anna", "Bert"], [[], []], question="anna bert", anchors=["Anna", "Bert"])
    assert len(result(complement(asked)(asked.state([0])))) == 2
    assert result(complement(apart)(apart.state([]))) == []


def test_each_selected_passage_makes_those_connected_candidates() -> None:
    titles = ["Anna", "Bert", "Cleo", "Dora", "Emil"]
    chain = [["Bert"], ["Cleo"], ["Dora"], [], []]
    vectors = np.tile(np.array([[0.6, 0.8]], np.float32), (5, 1))
    w = World(titles, chain, [["zz"]] * 5, vectors, np.array([1, 0], np.float32), "lake", [], {}, [[]] * 5)
    assert [at for at, _ in result(complement(w, unnamed=0)(w.state([0])))] == [1, 0, 2, 3]
    assert {at for at, _ in result(complement(w, unnamed=0)(w.state([0], [0, 1, 3, 4])))} == {0, 1}


def test_ties_are_ordered_by_id() -> None:
    vectors = np.tile(np.array([[0.6, 0.8]], np.float32), (4, 1))
    w = World([""] * 4, [[]] * 4, [["zz"]] * 4, vectors, np.array([1, 0], np.float32), "lake", [], {}, [[]] * 4)
    assert [at for at, _ in result(complement(w)(w.state([2, 3, 1])))] == [1, 2, 3]


def test_statements_are_scaled_by_the_largest_share_of_the_first_with_any() -> None:
    # 0 begins and says nothing of the question; 1 says half of it, and has all that counts then.
    titles = ["Anna", "Bert", "Cleo"]
    vectors = np.array([[0.6, 0.8, 0], [0.6, 0, 0.8], [0.6, -0.8, 0]], np.float32)
    texts = [["stone"], ["lake"], ["lake", "stone"]]
    stated = [
        [Statement("Anna", "saw", "Bert", "nothing")],
        [Statement("Bert", "saw", "Cleo", "a lake")],
        [],
    ]
    for altered in (stated, [[], *stated[1:]]):
        query = np.array([1, 0, 0], np.float32)
        w = World(titles, [["Bert"], ["Cleo"], []], texts, vectors, query, "lake stone", [], {}, altered)
        reference = Reference(w, [0], range(3), {})
        assert reference.largest == 0
        reference.take(0), reference.take(1)
        assert reference.statement_share(1, "Cleo") == 1
        agree(w, [0], complement(w)(w.state([0])), range(3), {})


@dataclass(frozen=True)
class Rich:
    """Worlds in which each part of the formula is worth having."""

    seed: int

    def world(self) -> World:
        rng = np.random.default_rng(self.seed)
        n, names = 14, ["Anna", "Bert", "Cleo", "Dora", "Emil"]
        titles = [["", "Anna", "Bert", "Cleo (film)", "Emil"][rng.integers(5)] for _ in range(n)]
        mentions = [list(map(str, rng.choice(names, 2, replace=False))) for _ in range(n)]
        vectors = rng.random((n, 3)) + 0.01
        query = rng.random(3) + 0.1
        words = ["lake", "stone", "river", "queen", "wood", "anna"]
        return World(
            titles,
            mentions,
            [list(map(str, rng.choice(words, 3))) for _ in range(n)],
            (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32),
            (query / np.linalg.norm(query)).astype(np.float32),
            "anna lake queen",
            ["Anna", "Emil"],
            {"Cleo": {"Cleo (film)"}} if "Cleo (film)" in titles else {},
            [[Statement(a, "saw", b, str(rng.choice(["lake", "queen", ""])))] for a, b in mentions],
        )


BASE = {"unnamed": 0.0, "joined": 0.3}  # so that every connection counts
CHANGES: list[dict[str, Any]] = [
    *({name: value} for name in DEFAULTS if name not in ("common", "unnamed") for value in (0.0, 1.0)),
    {"unnamed": 1.0},
    {"common": 1.0},  # five passages are never too many, so that less is no change here
]


@pytest.mark.parametrize("changed", CHANGES, ids=str)
def test_every_option_makes_a_difference_that_the_formula_has_too(changed: dict[str, Any]) -> None:
    different = False
    for seed in range(20):
        w = Rich(seed).world()
        pool = list(range(0, 14, 2))
        state = w.state(pool)
        options = BASE | changed
        other = complement(w, **options)(state)
        agree(w, pool, other, range(14), options)
        different |= result(other) != result(complement(w, **BASE)(state))
    assert different


SNAPSHOT = corpus_index().snapshot


def test_items_without_passages_select_nothing() -> None:
    op = Complement(SNAPSHOT.passages, SNAPSHOT.words)
    state = start("Which abbey did the mother of Lothair II found?", SNAPSHOT.graph)
    graph = SNAPSHOT.graph
    entities = [graph.id("Lothair II"), graph.id("Teutberga")]
    for pieces in (Evidence.of_nodes(entities), Evidence.of_pieces([(entities, [])])):
        after = op(state.with_(evidence=pieces))
        assert after.passages is not None and len(after.passages) == 0 and after.evidence is pieces


def test_selection_begins_with_the_passages_of_any_item() -> None:
    op = Complement(SNAPSHOT.passages, SNAPSHOT.words)
    graph = SNAPSHOT.graph
    mixed = Evidence.of_pieces([([graph.id("Lothair II"), 3], []), ([1], []), ([graph.id("Teutberga")], [])])
    state = start("Which abbey did the mother of Lothair II found?", graph)
    alone = op(state.with_(evidence=Evidence.of_nodes([1, 3])))
    assert result(op(state.with_(evidence=mixed))) == result(alone) and len(result(alone)) > 2


def test_selection_begins_with_the_passages_that_state_an_edge() -> None:
    op, graph = Complement(SNAPSHOT.passages, SNAPSHOT.words), SNAPSHOT.graph
    edge = int(graph.columns.stated.values[0])
    state = start("Which abbey did the mother of Lothair II found?", graph)
    alone = op(state.with_(evidence=Evidence.of_nodes(graph.chunks_of((), [edge]))))
    assert result(op(state.with_(evidence=Evidence.of_edges([edge])))) == result(alone) != []


def test_a_graph_without_entities_has_no_connections() -> None:
    texts = ["red fox", "red hen", "tax law"]
    bare = merged_graph((f"d{i}", "", text, Extraction()) for i, text in enumerate(texts))
    vectors = VectorIndex.from_array([[0.6, 0.8], [0.8, -0.6], [0.0, 1.0]], two([""], [[]]).index().encoder)
    op = Complement(vectors, WordIndex.of(texts, np.arange(3)))
    state = start("red fox?", bare, evidence=Evidence.of_nodes([2, 0]))
    assert [at for at, _ in result(op(state))] == [0, 2]
    assert result(op(state.with_(graph=bare.part([])))) == []


def test_without_evidence_no_passage_is_selected() -> None:
    state = start("red fox?", SNAPSHOT.graph)
    passages = Complement(SNAPSHOT.passages, SNAPSHOT.words).ranked(state, Run(), None).passages
    assert passages is not None and len(passages) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"about": -0.1},
        {"stated": math.nan},
        {"shared": math.inf},
        {"own": "1"},
        {"overlap": None},
        {"joined": True},
        {"common": 1.1},
        {"common": -0.1},
    ],
    ids=str,
)
def test_invalid_options_are_refused(wrong: dict[str, Any]) -> None:
    ((name, value),) = wrong.items()
    with pytest.raises(OptionError, match=f"Complement: {name} is {value!r}; it must be a number, at least 0"):
        Complement(SNAPSHOT.passages, SNAPSHOT.words, **wrong)


def test_is_a_value() -> None:
    op = Complement(SNAPSHOT.passages, SNAPSHOT.words, about=np.float64(3), overlap=0)
    assert pickle.loads(pickle.dumps(op)) == op
    assert repr(Complement(SNAPSHOT.passages, SNAPSHOT.words, about=0.25)).endswith(", about=0.25)")
