"""Pairs against the formula of its docstring, over plain dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, log
from typing import Any

import numpy as np
import pytest
from tests.toys import merged_graph

from graphwright import Anchor, Evidence, Graph, VectorIndex, start
from graphwright.index.contribution import Contribution, Mention
from graphwright.index.words import WordIndex
from graphwright.models.base import Floats
from graphwright.retrieve.pairs import Pairs
from graphwright.retrieve.state import State


@dataclass(frozen=True)
class Fixed:
    """Gives every text one vector."""

    vector: tuple[float, ...]

    def encode(self, texts: Sequence[str]) -> Floats:
        return np.array([self.vector] * len(texts), np.float32)


@dataclass
class World:
    """Passages as plain data: titles, the names they mention, their words and vectors, and one question."""

    titles: list[str]
    mentions: list[list[str]]
    texts: list[list[str]]
    vectors: np.ndarray
    query: np.ndarray
    question: str
    anchors: list[str]
    aliases: dict[str, set[str]] = field(default_factory=dict)  # what a shorter name may mean

    def topic(self, i: int) -> str:
        return self.titles[i] or next(iter(self.mentions[i]), "")

    def reach(self, i: int) -> set[str]:
        """What a passage mentions, is about, or names by an alias, in either direction."""
        direct = set(self.mentions[i]) | ({self.topic(i)} - {""})
        longer = {e for name in direct for e in self.aliases.get(name, ())}
        return direct | longer | {short for short, meant in self.aliases.items() if meant & direct}

    def holders(self, name: str) -> int:
        """In how many passages an entity or one that an alias joins it with stands."""
        same = {name, *self.aliases.get(name, ()), *(s for s, meant in self.aliases.items() if name in meant)}
        sets = [set(self.mentions[i]) | {self.topic(i)} for i in range(len(self.titles))]
        return sum(other in held for other in same for held in sets)

    def graph(self) -> Graph:
        made = [Contribution(tuple(Mention(m) for m in names)) for names in self.mentions]
        return merged_graph((f"d{i}", title, "", c) for i, (title, c) in enumerate(zip(self.titles, made, strict=True)))

    def pairs(self, **options: float) -> Pairs:
        index = VectorIndex.from_array(self.vectors, Fixed(tuple(self.query.tolist())))
        return Pairs(index, WordIndex.of([" ".join(t) for t in self.texts], np.arange(len(self.texts))), **options)

    def state(self, pool: Sequence[int]) -> State:
        graph = self.graph()
        anchors = [Anchor(name.lower(), graph.ids(name)) for name in self.anchors]
        return start(self.question, graph, anchors=anchors, evidence=Evidence.of_nodes(list(pool)))


def lucene(texts: list[list[str]], word: str) -> list[float]:
    """BM25 of one word in each text, k1 = 1.2, b = 0.75."""
    df = sum(word in t for t in texts)
    idf = log(1 + (len(texts) - df + 0.5) / (df + 0.5))
    mean = sum(map(len, texts)) / len(texts)
    return [idf * t.count(word) / (t.count(word) + 1.2 * (0.25 + 0.75 * len(t) / mean)) for t in texts]


def reference(
    w: World, pool: Sequence[int], about: float = 0.8, shared: float = 0.3, own: float = 0.5, common: float = 0.02
) -> dict[int, float]:
    """The score of each passage of the pool, pair by pair."""
    n = len(w.titles)
    cosines = [float(v @ w.query) for v in w.vectors]
    best_cosine = max(cosines)
    asked = list(dict.fromkeys(w.question.split()))
    by_word = {word: lucene(w.texts, word) for word in asked}
    best = max((sum(by_word[word][i] for word in asked) for i in range(n)), default=0) or 1
    topics = [a for a in w.anchors if any(w.topic(i) == a for i in range(n))]
    consumed = {a.lower() for a in topics if any(w.titles[i] for i in range(n) if w.topic(i) == a)}
    left = [word for word in asked if word not in consumed]
    named = [[float(w.topic(i) == a) for a in topics] for i in range(n)]
    terms = [[by_word[word][i] / best for word in left] for i in range(n)]
    alone = [cosines[i] / best_cosine + sum(terms[i]) + sum(named[i]) for i in range(n)]

    def idf(name: str) -> float:
        df = w.holders(name)
        return log(n / df) / log(n) if 1 < df <= max(5, common * n) else 0.0

    def strength(s: int, t: int) -> float:
        if w.topic(s) in w.reach(t) or w.topic(t) in w.reach(s):
            return about
        rarest = max((idf(name) for name in w.reach(s) & w.reach(t)), default=0.0)
        if rarest > 0:
            return shared * rarest
        return 0.0 if any(named[s]) and any(named[t]) else -inf

    def together(s: int, t: int) -> float:
        near = (cosines[s] + cosines[t]) / float(np.linalg.norm(w.vectors[s] + w.vectors[t])) / best_cosine
        covered = sum(map(max, terms[s], terms[t])) + sum(map(max, named[s], named[t]))
        return near + covered + strength(s, t)

    return {t: max([alone[t], *(together(s, t) for s in pool if s != t)]) + own * alone[t] for t in pool}


def scores(state: State) -> dict[int, float]:
    assert state.evidence is not None and state.evidence.scores is not None
    return dict(zip(state.evidence.nodes.tolist(), state.evidence.scores.tolist(), strict=True))


NAMES = ["Anna", "Bert", "Cleo", "Dora", "Emil", "Fritz", "Gerd"]
VOCABULARY = ["anna", "bert", "lake", "stone", "river", "queen", "wood"]


def world(seed: int, n: int = 14) -> World:
    """Some passages have titles, some of these with a qualifier, so that a shorter name means them."""
    rng = np.random.default_rng(seed)
    mentions = [list(rng.choice(NAMES, rng.integers(1, 3), replace=False)) for _ in range(n)]
    titles = [["", "", "", "Anna", "Cleo (film)", "Cleo (song)", "Dora (ship)"][rng.integers(7)] for _ in range(n)]
    aliases = {
        short: found for short in ("Cleo", "Dora") if (found := {t for t in titles if t.startswith(f"{short} (")})
    }
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
        aliases,
    )


OPTIONS: list[dict[str, float]] = [{}, {"about": 0.5, "shared": 0.4, "own": 0.0}, {"common": 0.6, "own": 2.0}]


@pytest.mark.parametrize("seed", range(30))
def test_equals_the_formula_pair_by_pair(seed: int) -> None:
    w = world(seed)
    pool = np.random.default_rng(seed).permutation(14)[: 2 + seed % 13].tolist()
    options = OPTIONS[seed % 3]
    assert scores(w.pairs(**options)(w.state(pool))) == pytest.approx(reference(w, pool, **options), abs=2e-5)


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
    assert scores(w.pairs()(w.state([0, 1]))) == pytest.approx({0: f + 0.375, 1: f + 0.5})
    # Without a connection each stands alone; an entity in all passages connects nothing, log(2/2) being 0.
    for apart in (two(["Anna", "Bert"], [[], []]), two(["Anna", "Bert"], [["Cleo"], ["Cleo"]])):
        assert scores(apart.pairs()(apart.state([0, 1]))) == pytest.approx({0: 1.125, 1: 1.5})
    # The question connects what it names, with strength 0: F has both anchors.
    named = two(["Anna", "Bert"], [[], []], ["Anna", "Bert"])
    both = 1.4 / 2**0.5 / 0.8 + 2
    assert scores(named.pairs()(named.state([0, 1]))) == pytest.approx({0: both + 0.875, 1: both + 1})


def test_passages_outside_the_evidence_and_other_nodes_do_not_count() -> None:
    w = two(["Anna", "Bert"], [["Bert"], []])
    assert scores(w.pairs()(w.state([0]))) == pytest.approx({0: 1.125})
    state = w.state([0, 1])
    with_others = state.with_(evidence=Evidence.of_nodes([3, 1, 0, 2]))
    assert scores(w.pairs()(with_others)) == scores(w.pairs()(state))
    only_entities = w.pairs()(state.with_(evidence=Evidence.of_nodes([2, 3])))
    assert only_entities.evidence is not None and len(only_entities.evidence) == 0
