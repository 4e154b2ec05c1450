"""Pairs against the formula of its docstring, over plain dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
import pytest
from tests.operators.plain_world import NAMES, TITLES, VOCABULARY, Signals, World, aliases_in

from graphwright import Evidence
from graphwright.operators.select import Pairs
from graphwright.operators.state import State


def pairs(w: World, **options: float) -> Pairs:
    return Pairs(w.index(), w.words(), **options)


def reference(
    w: World,
    pool: Sequence[int],
    about: float = 0.8,
    shared: float = 0.3,
    own: float = 0.5,
    unnamed: float = 1.0,
    common: float = 0.02,
) -> dict[int, float]:
    """The score of each passage of the pool, pair by pair."""
    signals = Signals.of(w, range(len(w)))

    def strength(s: int, t: int) -> float:
        if w.topic(s) in w.reach(t) or w.topic(t) in w.reach(s):
            return about
        rarest = max((w.rarity(name, common) for name in w.reach(s) & w.reach(t)), default=0.0)
        if rarest > 0:
            return shared * rarest
        return 0.0 if signals.named[s] and signals.named[t] else -inf

    def pair(s: int, t: int) -> float:
        return signals.together(w, s, t) + strength(s, t) - unnamed * (1 - max(signals.named[s], signals.named[t]))

    def best(t: int) -> float:
        return max([signals.alone(t), *(pair(s, t) for s in pool if s != t)])

    return {t: best(t) + own * signals.alone(t) for t in pool}


def scores(state: State) -> dict[int, float]:
    assert state.evidence is not None and state.evidence.scores is not None
    return dict(zip(state.evidence.nodes.tolist(), state.evidence.scores.tolist(), strict=True))


def world(seed: int, n: int = 14) -> World:
    """Some passages have titles, some of these with a qualifier, so that a shorter name means them."""
    rng = np.random.default_rng(seed)
    mentions = [list(rng.choice(NAMES, rng.integers(1, 3), replace=False)) for _ in range(n)]
    titles = [TITLES[rng.integers(7)] for _ in range(n)]
    vectors = rng.random((n, 3)) ** 2 + 0.01
    query = rng.random(3) + 0.1
    return World(
        titles,
        mentions,
        [list(rng.choice(VOCABULARY, rng.integers(1, 7))) for _ in range(n)],
        (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32),
        (query / np.linalg.norm(query)).astype(np.float32),
        " ".join(rng.choice(VOCABULARY, 4, replace=False)),
        list(rng.choice(["Anna", "Bert", "Emil"], rng.integers(0, 3), replace=False)),
        aliases_in(titles),
    )


OPTIONS: list[dict[str, float]] = [
    {},
    {"about": 0.5, "shared": 0.4, "own": 0.0},
    {"common": 0.6, "own": 2.0, "unnamed": 0.0},
]


@pytest.mark.parametrize("seed", range(30))
def test_equals_the_formula_pair_by_pair(seed: int) -> None:
    w = world(seed)
    pool = np.random.default_rng(seed).permutation(14)[: 2 + seed % 13].tolist()
    options = OPTIONS[seed % 3]
    assert scores(pairs(w, **options)(w.state(pool))) == pytest.approx(reference(w, pool, **options), abs=2e-5)


def test_the_worlds_hold_every_kind_of_connection() -> None:
    """The reference is worth comparing with only where each branch of it is taken."""
    worlds = [world(seed) for seed in range(30)]
    assert any(w.aliases for w in worlds) and any(w.anchors for w in worlds)
    assert any(w.holders(name) > 5 for w in worlds for name in NAMES)
    base = [reference(w, range(14)) for w in worlds]
    for change in ({"about": 0.0}, {"shared": 0.0}, {"common": 1.0}, {"about": 5.0}):
        assert any(reference(w, range(14), **change) != b for w, b in zip(worlds, base, strict=True))
    changes: list[dict[str, Any]] = [{"aliases": {}}, {"anchors": []}]
    for left_out in changes:
        other = [reference(World(**{**vars(w), **left_out}), range(14)) for w in worlds]
        assert any(o != b for o, b in zip(other, base, strict=True))


def two(titles: list[str], mentions: list[list[str]], anchors: Sequence[str] = ()) -> World:
    """Two passages with cosines 0.6 and 0.8, at right angles, without a word of the question."""
    vectors = np.array([[0.6, 0.8], [0.8, -0.6]], np.float32)
    return World(titles, mentions, [["x1"], ["y1"]], vectors, np.array([1, 0], np.float32), "zz", list(anchors))


def test_a_pair_worked_by_hand() -> None:
    # h = 0.75 and 1. Together: 1.4 / sqrt(2) / 0.8 = 1.2374; one mentions what the other is about: + 0.8.
    f = 1.4 / 2**0.5 / 0.8 + 0.8
    w = two(["Anna", "Bert"], [["Bert"], []])
    assert scores(pairs(w, unnamed=0)(w.state([0, 1]))) == pytest.approx({0: f + 0.375, 1: f + 0.5})
    # The question names neither: worth 1 less.
    assert scores(pairs(w)(w.state([0, 1]))) == pytest.approx({0: f - 1 + 0.375, 1: f - 1 + 0.5})
    # Without a connection each stands alone; an entity in all passages connects nothing, log(2/2) being 0.
    for apart in (two(["Anna", "Bert"], [[], []]), two(["Anna", "Bert"], [["Cleo"], ["Cleo"]])):
        assert scores(pairs(apart)(apart.state([0, 1]))) == pytest.approx({0: 1.125, 1: 1.5})
    # The question connects what it names, with strength 0: F has both anchors.
    named = two(["Anna", "Bert"], [[], []], ["Anna", "Bert"])
    both = 1.4 / 2**0.5 / 0.8 + 2
    assert scores(pairs(named)(named.state([0, 1]))) == pytest.approx({0: both + 0.875, 1: both + 1})


def test_passages_outside_the_evidence_and_other_nodes_do_not_count() -> None:
    w = two(["Anna", "Bert"], [["Bert"], []])
    assert scores(pairs(w)(w.state([0]))) == pytest.approx({0: 1.125})
    state = w.state([0, 1])
    with_others = state.with_(evidence=Evidence.of_nodes([3, 1, 0, 2]))
    assert scores(pairs(w)(with_others)) == scores(pairs(w)(state))
    only_entities = pairs(w)(state.with_(evidence=Evidence.of_nodes([2, 3])))
    assert only_entities.evidence is not None and len(only_entities.evidence) == 0
