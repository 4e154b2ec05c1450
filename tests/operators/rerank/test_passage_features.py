"""Features of passages and of connected pairs, compared with plain Python over small worlds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import log, sqrt
from zlib import crc32

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.operators.plain_world import Statement, World, lucene, lucene_idf, worlds
from tests.shared import GRAPHS, corpus_index, vectors_of
from tests.toys import knowledge, merged_graph

from graphwright import Anchor, Evidence, Graph, VectorIndex, start
from graphwright.extract.extraction import Extraction
from graphwright.models import CachedEncoder, HashEncoder, MiniLM
from graphwright.operators.rerank.passage_features import ALONE, PAIR, PassageFeatures
from graphwright.operators.run import ModelMemory, Run
from graphwright.search.bm25_postings import WordIndex

MEMORY = ModelMemory()
Vector = np.ndarray


def cosine(a: Vector, b: Vector) -> float:
    a, b = a.astype(float), b.astype(float)
    return float(a @ b / sqrt(max(float(a @ a) * float(b @ b), 1e-9)))


def vector_of(triple: tuple[str, str, str]) -> Vector:
    """A vector of a triple that hangs on nothing but its names; some are zero."""
    draw = np.random.default_rng(crc32(" ".join(triple).lower().encode()))
    return (draw.normal(size=3) * draw.integers(0, 3)).astype(np.float32)


def triples_of(graph: Graph) -> VectorIndex:
    """Vectors of all edges but those without a passage; equal triples share a row."""
    triples = [graph.triple(e) for e in graph.edges.tolist()]
    distinct = sorted(set(triples))
    rows = np.array([distinct.index(triple) for triple in triples], np.int32)
    return VectorIndex(np.array([vector_of(t) for t in distinct], np.float32).reshape(-1, 3), rows)


class Reference:
    """The features by their definitions, of the passages `inside` a graph."""

    def __init__(self, w: World, inside: Sequence[int], given: Mapping[int, float], pool: int, triples: bool) -> None:
        self.w, self.inside, self.triples = w, inside, triples
        self.cosine = {i: float(w.vectors[i].astype(float) @ w.query) for i in inside}
        best = max([*self.cosine.values(), 0.0])
        self.near = {i: max(c / best, -1) if best > 1e-6 else 0.0 for i, c in self.cosine.items()}
        asked = w.question.split()
        self.asked = list(dict.fromkeys(asked))
        score = {word: lucene(w.texts, word) for word in self.asked}
        most = max(sum(score[word][i] for word in asked) for i in range(len(w))) or 1.0
        self.bm25 = {i: sum(score[word][i] for word in asked) / most for i in inside}
        self.of_word = {i: {word: asked.count(word) * score[word][i] / most for word in self.asked} for i in inside}
        self.hybrid = {i: self.near[i] + self.bm25[i] for i in inside}
        order = sorted(inside, key=lambda i: (-self.hybrid[i], i))
        self.gap = [self.hybrid[a] - self.hybrid[b] for a, b in pairwise(order)]
        self.nodes = sorted({*order[:pool], *(i for i in given if i in inside)})
        self.first = [i for i in order if i in self.nodes][:3]
        self.given = {i: given.get(i, 0.0) for i in inside}
        known = {word: lucene_idf(w.texts, word) for word in self.asked if any(word in t for t in w.texts)}
        self.idf = {word: known.get(word, 0.0) / (sum(known.values()) or 1.0) for word in self.asked}
        about = {a: [i for i in range(len(w)) if w.topic(i) == a] for a in w.anchors}
        self.topics = {
            a: 1.0 if any(w.titles[i] for i in about[a]) else 0.5
            for a in w.anchors
            if about[a] and w.holders(a) <= max(5, sqrt(len(w)))
        }
        self.left = [word for word in self.asked if word not in {a.lower() for a, v in self.topics.items() if v == 1}]

    def rarity(self, name: str) -> float:
        n = max(len(self.w), 2)
        return log(max(n / max(self.w.holders(name), 1), 1)) / log(n)

    def share(self, i: int) -> list[float]:
        return [self.idf[word] * (word in self.w.texts[i]) for word in self.asked]

    def terms(self, i: int) -> list[float]:
        return [self.of_word[i][word] for word in self.left]

    def named(self, i: int) -> list[float]:
        return [value * (self.w.topic(i) == a) for a, value in self.topics.items()]

    def stated(self, i: int, on: str | None = None) -> list[float]:
        """Cosines of the statements of a passage, of those on a name if one is given."""
        of = (s for s in self.w.stated[i] if on is None or on in self.ends(s))
        return [cosine(vector_of(s[:3]), self.w.query) if self.triples else self.cosine[i] for s in of]

    def ends(self, s: Statement) -> set[str]:
        return {s.head, s.tail} | self.w.same(s.head) | self.w.same(s.tail)

    def alone(self, i: int) -> dict[str, float]:
        w, topics = self.w, self.named(i)
        untitled = 1 - max([0.0, *(max(self.named(j), default=0.0) for j in self.nodes)])
        anchors = [a for a in w.anchors if any(a in w.reach(j) for j in range(len(w)))]
        total = sum(map(self.rarity, anchors))
        mean = sum((max(self.hybrid[j], 0) * w.vectors[j].astype(float) for j in self.first if j != i), np.zeros(3))
        share = sum(self.share(i))
        return {
            "cosine": self.cosine[i],
            "cosine_of_best": self.near[i],
            "bm25": self.bm25[i],
            "bm25_unnamed_words": sum(self.terms(i)),
            "word_share": share,
            "topic": max(topics, default=0.0),
            "topics": sum(topics),
            "anchor_share": sum(self.rarity(a) for a in anchors if a in w.reach(i)) / total if total else 0.0,
            "pagerank": log(max(self.given[i] / max([1e-12, *self.given.values()]), 1e-5)),
            "statement": max([self.cosine[i], *self.stated(i)]),
            "feedback": cosine(w.vectors[i], mean) if mean @ mean > 1e-6 else 0.0,
            "cosine_no_topic": self.near[i] * untitled,
            "bm25_no_topic": self.bm25[i] * untitled,
            "word_share_no_topic": share * untitled,
            "exact": 0.0,
        }

    def mentions(self, s: int, t: int) -> bool:
        return self.w.topic(t) in self.w.reach(s) - {""}

    def shared(self, s: int, t: int) -> list[float]:
        """Rarities of the entities that two passages share and that are not common."""
        w = self.w
        joint = [e for e in w.reach(s) & w.reach(t) if 1 < w.holders(e) <= max(5, 0.02 * len(w))]
        return [max(self.rarity(e), 1e-3) for e in joint]

    def connected(self, s: int, t: int) -> bool:
        both = any(self.named(s)) and any(self.named(t))
        return s != t and (self.mentions(s, t) or self.mentions(t, s) or bool(self.shared(s, t)) or both)

    def pair(self, s: int, t: int) -> dict[str, float]:
        u, v = (self.w.vectors[i].astype(float) for i in (s, t))
        a, b, between = self.cosine[s], self.cosine[t], float(u @ v)
        links = self.mentions(s, t)
        return {
            "mentions_topic": float(links),
            "topic_is_mentioned": float(self.mentions(t, s)),
            "topic_rarity": max(self.rarity(self.w.topic(t)), 1e-3) if links else 0.0,
            "shared_rarity": max(self.shared(s, t), default=0.0),
            "both_named": float(any(self.named(s)) and any(self.named(t))),
            "statement_on_topic": max([0.0, *self.stated(s, self.w.topic(t))]),
            "similarity": between,
            "cosine_of_pair": float((u + v) @ self.w.query) / float(np.linalg.norm(u + v)),
            "words_of_pair": sum(map(max, self.share(s), self.share(t))),
            "bm25_of_pair": sum(map(max, self.terms(s), self.terms(t))),
            "topics_of_pair": sum(map(max, self.named(s), self.named(t))),
            "cosine_uncovered": (b - a * between) / sqrt(max(1 - a * a, 1e-6)),
        }


@given(worlds(), st.data())
def test_passage_features_equal_plain_python(w: World, data: st.DataObject) -> None:
    n, graph = len(w), w.graph()
    if data.draw(st.booleans()):
        w.question += f" {w.question.split()[0]}"  # a word that counts twice
    narrowed = data.draw(st.none() | st.lists(st.integers(0, n - 1), unique=True).map(sorted))
    inside = list(range(n)) if narrowed is None else narrowed
    given = dict(data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.floats(0.01, 1)), max_size=4)))
    pool, triples = data.draw(st.integers(1, 5)), data.draw(st.booleans())
    state = w.state([], None if narrowed is None else inside)
    state = state.with_(evidence=Evidence.of_nodes(list(given), list(given.values())))
    expected = Reference(w, inside, given, pool, triples)
    # Which are the best, and whether a passage covers the question whole, must not hang on the last bit.
    assume(all(gap > 1e-5 for gap in expected.gap) and all(abs(c) < 0.999 for c in expected.cosine.values()))
    index = triples_of(graph) if triples else None
    made = PassageFeatures.of(state, Run(memory=MEMORY), w.index(), w.words(), MiniLM(), index, pool)
    assert made.nodes.tolist() == expected.nodes and made.names_topic == bool(expected.topics)
    assert made.alone.shape == (len(made.nodes), len(ALONE)) and made.pair.shape == (len(made.source), len(PAIR))
    for i, row, words in zip(expected.nodes, made.alone.tolist(), made.words.tolist(), strict=True):
        assert dict(zip(ALONE, row, strict=True)) == pytest.approx(expected.alone(i), abs=2e-5)
        assert words == pytest.approx(expected.share(i), abs=1e-6)
    ends = [(made.nodes[s], made.nodes[t]) for s, t in zip(made.source, made.target, strict=True)]
    assert ends == [(s, t) for s in expected.nodes for t in expected.nodes if expected.connected(s, t)]
    for (s, t), row in zip(ends, made.pair.tolist(), strict=True):
        assert dict(zip(PAIR, row, strict=True)) == pytest.approx(expected.pair(s, t), abs=2e-5)
    assert made.question.tolist() == MiniLM().encode([w.question])[0].tolist()
    assert made.alone.dtype == made.pair.dtype == made.words.dtype == np.float32


def test_best_pair_of_each_passage_is_found() -> None:
    none = np.zeros((3, 0), np.float32)
    source, target = np.array([0, 0, 1, 2]), np.array([1, 2, 2, 0])
    features = PassageFeatures(np.arange(3), none, source, target, none, none, none[0], False)
    assert features.best_pair(np.array([0.5, 0.1, 0.7, -1.0])).tolist() == [0.0, 0.5, 0.7]


def features_of(graph: Graph, passages: VectorIndex, words: WordIndex, **more: object) -> PassageFeatures:
    state = start("Who founded the abbey?", graph, **more)  # type: ignore[arg-type]
    return PassageFeatures.of(state, Run(memory=MEMORY), passages, words, MiniLM(), None, 5)


@pytest.mark.parametrize("evidence", [None, Evidence.of_nodes([]), Evidence.of_nodes([0, 3], [0.5, 0.1])])
@pytest.mark.parametrize("anchors", [[], [Anchor("Lothair II", [2])], [Anchor("mother", edges=[1])]])
def test_graph_without_passages_has_no_features(evidence: Evidence | None, anchors: list[Anchor]) -> None:
    ix = knowledge(GRAPHS["family"])
    made = features_of(ix.graph, ix.passages, ix.words, evidence=evidence, anchors=anchors)
    assert len(made.nodes) == len(made.source) == 0 and made.alone.shape == (0, len(ALONE))
    assert made.pair.shape == (0, len(PAIR)) and not made.names_topic and made.question.shape == (384,)


def test_imported_nodes_with_words_are_passages() -> None:
    graph = GRAPHS["family"]
    vectors, words = vectors_of(graph), WordIndex.of(list(graph.names), graph.nodes)
    made = features_of(graph, vectors, words, evidence=Evidence.of_nodes([3], [1.0]))
    assert 3 in made.nodes and len(made.nodes) <= 6 and np.isfinite(made.alone).all()


def test_features_of_empty_index_and_wordless_passages_are_defined() -> None:
    empty = merged_graph([])
    nothing = VectorIndex.from_array(np.empty((0, 64), np.float32), HashEncoder())
    assert len(features_of(empty, nothing, WordIndex.of([], empty.nodes)).nodes) == 0
    bare = merged_graph((f"d{i}", "", "", Extraction()) for i in range(3))
    zero = VectorIndex.from_array(np.zeros((3, 64), np.float32), HashEncoder())
    made = features_of(bare, zero, WordIndex.of([""] * 3, bare.nodes))
    assert made.nodes.tolist() == [0, 1, 2] and np.isfinite(made.alone).all() and len(made.source) == 0
    assert made.alone[:, ALONE.index("pagerank")].tolist() == pytest.approx([log(1e-5)] * 3)


def test_features_ignore_other_items() -> None:
    ix = corpus_index().snapshot
    entity, chunk = int(ix.graph.ids("Erstein Abbey")[0]), int(ix.words.nodes[0])
    several = Evidence.of_nodes([entity, chunk], [2.0, 1.0])
    made = features_of(ix.graph, ix.passages, ix.words, evidence=several)
    ranks = dict(zip(made.nodes.tolist(), made.alone[:, ALONE.index("pagerank")].tolist(), strict=True))
    assert ranks[chunk] == 0.0 and all(value == pytest.approx(log(1e-5)) for i, value in ranks.items() if i != chunk)


def test_features_encode_question_once() -> None:
    ix = corpus_index().snapshot
    vectors = np.zeros((len(ix.words.nodes), 384), np.float32)
    rows = np.full(len(ix.graph), -1, np.int32)
    rows[ix.words.nodes] = np.arange(len(vectors))
    for encoder in (MiniLM(), CachedEncoder(MiniLM())):
        run = Run()
        index = VectorIndex(vectors, rows, encoder)
        made = PassageFeatures.of(start("Who?", ix.graph), run, index, ix.words, MiniLM(), None, 3)
        assert run.usage.texts == 1 and made.question.tolist() == MiniLM().encode(["Who?"])[0].tolist()
