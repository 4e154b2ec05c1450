"""Passages as plain data, and what they mention: what features of connected passages are held to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import NamedTuple

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from tests.shared import FixedEncoder
from tests.toys import merged_graph

from graphwright import Anchor, Evidence, Graph, VectorIndex, start
from graphwright.extract.extraction import Extraction, Mention, Relation
from graphwright.operators.state import State
from graphwright.search.bm25_postings import WordIndex


class Statement(NamedTuple):
    """What a passage states between two names; without a sentence it reads "head relation tail"."""

    head: str
    relation: str
    tail: str
    sentence: str


@dataclass
class World:
    """Passages: titles, the names they mention, their words and vectors, what they state; and one question."""

    titles: list[str]
    mentions: list[list[str]]
    texts: list[list[str]]
    vectors: np.ndarray
    query: np.ndarray
    question: str
    anchors: list[str]
    aliases: dict[str, set[str]] = field(default_factory=dict)  # what a shorter name may mean
    stated: list[list[Statement]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.titles)

    def topic(self, i: int) -> str:
        return self.titles[i] or next(iter(self.mentions[i]), "")

    def direct(self, i: int) -> set[str]:
        """What a passage mentions or is about."""
        return set(self.mentions[i]) | ({self.topic(i)} - {""})

    def same(self, name: str) -> set[str]:
        """What an alias joins a name with, in either direction."""
        return self.aliases.get(name, set()) | {short for short, meant in self.aliases.items() if name in meant}

    def reach(self, i: int) -> set[str]:
        """What a passage mentions, is about, or names by an alias."""
        return self.direct(i).union(*(self.same(name) for name in self.direct(i)))

    def holders(self, name: str) -> int:
        """In how many passages an entity, or one that an alias joins it with, stands."""
        return sum(other in self.direct(i) for other in {name, *self.same(name)} for i in range(len(self)))

    def graph(self) -> Graph:
        stated = self.stated or [[] for _ in self.titles]
        made = [
            Extraction(
                tuple(map(Mention, names)), tuple(Relation(s.head, s.relation, s.tail, s.sentence) for s in result)
            )
            for names, result in zip(self.mentions, stated, strict=True)
        ]
        graph = merged_graph(
            (f"d{i}", title, "", c) for i, (title, c) in enumerate(zip(self.titles, made, strict=True))
        )
        c = graph.columns
        if c.edge_text is None or c.sentences is None or "" not in c.sentences:
            return graph
        # An edge without a sentence, as of an imported graph.
        silent = c.edge_text == list(c.sentences).index("")
        return Graph(replace(c, edge_text=np.where(silent, -1, c.edge_text).astype(np.int32)))

    def index(self) -> VectorIndex:
        return VectorIndex.from_array(self.vectors, FixedEncoder(tuple(self.query.tolist())))

    def words(self) -> WordIndex:
        return WordIndex.of([" ".join(t) for t in self.texts], np.arange(len(self)))

    def state(self, pool: Sequence[int], inside: Collection[int] | None = None) -> State:
        """The state whose evidence is `pool`; `inside`: the passages of a narrowed graph, which has all entities."""
        graph = self.graph()
        anchors = [Anchor(name.lower(), graph.ids(name)) for name in self.anchors]
        narrowed = graph if inside is None else graph.part([*inside, *range(len(self), len(graph))])
        return start(self.question, narrowed, anchors=anchors, evidence=Evidence.of_nodes(list(pool)))


def lucene(texts: list[list[str]], word: str) -> list[float]:
    """BM25 of one word in each text, k1 = 1.2, b = 0.75."""
    idf = lucene_idf(texts, word)
    mean = sum(map(len, texts)) / len(texts)
    return [idf * t.count(word) / (t.count(word) + 1.2 * (0.25 + 0.75 * len(t) / mean)) for t in texts]


def lucene_idf(texts: list[list[str]], word: str) -> float:
    df = sum(word in t for t in texts)
    return log(1 + (len(texts) - df + 0.5) / (df + 0.5))


NAMES = ["Anna", "Bert", "Cleo", "Dora", "Emil", "Fritz", "Gerd"]
TITLES = ["", "", "", "Anna", "Cleo (film)", "Cleo (song)", "Dora (ship)"]
VOCABULARY = ["anna", "bert", "lake", "stone", "river", "queen", "wood"]


def aliases_in(titles: Sequence[str]) -> dict[str, set[str]]:
    """What the shorter names of titles with a qualifier may mean."""
    result = {short: {t for t in titles if t.startswith(f"{short} (")} for short in ("Cleo", "Dora")}
    return {short: meant for short, meant in result.items() if meant}


@st.composite
def worlds(draw: st.DrawFn, most: int = 9) -> World:
    """Small worlds with all that connects passages; statements are between names that the passage has."""
    n = draw(st.integers(1, most))

    def each(values: st.SearchStrategy[list[str]]) -> list[list[str]]:
        return draw(st.lists(values, min_size=n, max_size=n))

    titles = draw(st.lists(st.sampled_from(TITLES), min_size=n, max_size=n))
    mentions = each(st.lists(st.sampled_from(NAMES), max_size=3, unique=True))
    vectors = np.array([[draw(st.integers(-2, 3)), draw(st.integers(-1, 3)), 1.0] for _ in range(n)])
    query = np.array([2.0, draw(st.integers(0, 2)), draw(st.integers(-2, 2))])
    w = World(
        titles,
        mentions,
        each(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=5)),
        (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32),
        (query / np.linalg.norm(query)).astype(np.float32),
        " ".join(draw(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=4, unique=True))),
        draw(st.lists(st.sampled_from(["Anna", "Bert", "Emil", "Cleo (film)"]), max_size=2, unique=True)),
        aliases_in(titles),
    )
    # Whether anything is near must not hang on the last bit.
    assume(abs((w.vectors.astype(float) @ w.query).max()) > 1e-3)
    w.stated = [
        draw(st.lists(_statements(sorted(w.direct(i))), max_size=2)) if len(w.direct(i)) > 1 else [] for i in range(n)
    ]
    return w


def _statements(names: list[str]) -> st.SearchStrategy[Statement]:
    sentences = st.one_of(st.just(""), st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=3).map(" ".join))
    ends = st.lists(st.sampled_from(names), min_size=2, max_size=2, unique=True)
    relations = st.sampled_from(["saw", "queen", "stone wood"])
    return st.builds(lambda e, r, s: Statement(e[0], r, e[1], s), ends, relations, sentences)
