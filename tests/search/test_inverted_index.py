"""Inverted indexes compared with BM25 worked by hand and with products of dense tables."""

import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.toys import CORPUS, GRAPHS, corpus_index

from graphwright.errors import OptionError, StoreError
from graphwright.graph.graph import Kind
from graphwright.models import HashEncoder, HashSparseEncoder
from graphwright.models.protocols import Floats
from graphwright.models.sparse import SparseRows
from graphwright.search import SparseIndex
from graphwright.search.inverted_index import WordIndex
from graphwright.text.words import words

TEXTS = ["Graz lies on the Mur", "the Mur and the Drava", "bread and water", ""]


def by_hand(query: str, k1: float = 1.2, b: float = 0.75) -> list[float]:
    """Lucene's BM25."""
    docs = [words(t) for t in TEXTS]
    mean = sum(map(len, docs)) / len(docs)
    out = []
    for doc in docs:
        score = 0.0
        for w in words(query):
            df, tf = sum(w in d for d in docs), doc.count(w)
            idf = math.log(1 + (len(docs) - df + 0.5) / (df + 0.5))
            score += idf * tf / (tf + k1 * (1 - b + b * len(doc) / mean)) if tf else 0
        out.append(score)
    return out


@pytest.mark.parametrize("query", ["Where is Graz on the Mur?", "drava water", "nothing of that"])
def test_scores_are_bm25(query: str) -> None:
    index = WordIndex.of(TEXTS, np.arange(4))
    assert index.scores(query).tolist() == pytest.approx(by_hand(query), abs=1e-5)


def test_index_comes_back_from_disk(tmp_path: Path) -> None:
    index = WordIndex.of(TEXTS, np.arange(4))
    index.save(tmp_path / "w")
    again = WordIndex.load(tmp_path / "w")
    assert again == index and again.scores("Mur").tolist() == index.scores("Mur").tolist()
    with pytest.raises(StoreError, match="is missing; build"):
        WordIndex.load(tmp_path / "none")


@pytest.mark.parametrize("texts", [[], ["", "the of"]])
def test_a_corpus_without_words_scores_nothing(texts: list[str], tmp_path: Path) -> None:
    index = WordIndex.of(texts, np.arange(len(texts)))
    index.save(tmp_path / "w")
    assert WordIndex.load(tmp_path / "w").scores("Graz").tolist() == [0] * len(texts)


@given(st.lists(st.lists(st.sampled_from(["fox", "hen", "Mur", "tax", "law"]), max_size=9), min_size=1, max_size=9))
def test_scores_are_those_of_bm25s(texts: list[list[str]]) -> None:
    model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    vocabulary = {word: at for at, word in enumerate(dict.fromkeys(words(" ".join(map(" ".join, texts)))))}
    index = WordIndex.of([" ".join(text) for text in texts], np.arange(len(texts)))
    if not vocabulary:
        assert not len(index.vocabulary)
        return
    ids = [[vocabulary[word] for word in words(" ".join(text))] for text in texts]
    tokens = bm25s.tokenization.Tokenized(ids=ids, vocab=dict(vocabulary))  # it adds to it
    model.index(tokens, show_progress=False, leave_progress=False)
    for word, at in vocabulary.items():
        part = slice(int(model.scores["indptr"][at]), int(model.scores["indptr"][at + 1]))
        wanted = dict(zip(model.scores["indices"][part].tolist(), model.scores["data"][part].tolist(), strict=True))
        rows, scores = index.postings(word)
        assert rows.tolist() == sorted(wanted)
        assert scores.tolist() == pytest.approx([wanted[row] for row in rows.tolist()], rel=1e-5)


GRAPH = corpus_index().snapshot.graph
WIDTH = 6


def rows_of(table: Floats) -> SparseRows:
    """What a table holds, some of its zeros written out."""
    selected = [np.flatnonzero((row != 0) | (np.arange(len(row)) % 3 == 0)) for row in table]
    return SparseRows.of(((some, row[some]) for some, row in zip(selected, table, strict=True)), table.shape[1])


weights = st.sampled_from([0.0, 0.0, 0.0, 0.25, 1.0, 1.5, -2.0])
lines = st.lists(weights, min_size=WIDTH, max_size=WIDTH)


@settings(deadline=None)  # the first example compiles a kernel
@given(st.lists(lines, min_size=1, max_size=60), lines)
def test_products_are_those_of_the_dense_tables(table: list[list[float]], query: list[float]) -> None:
    passages, asked = np.array(table, np.float32), np.array(query, np.float32)
    index = SparseIndex.of_rows(rows_of(passages), np.arange(len(table)))
    item = rows_of(asked[None])
    rows, scores = index.products(item.columns, item.values)
    # All these numbers and their sums are exact.
    assert rows.tolist() == np.flatnonzero(((passages != 0) & (asked != 0)).any(axis=1)).tolist()
    assert scores.dtype == np.float32 and scores.tolist() == (passages @ asked)[rows].tolist()
    assert index.dimension == WIDTH and len(index.weights) == np.count_nonzero(passages)
    assert all((np.diff(index.rows[a:b]) > 0).all() for a, b in zip(index.indptr, index.indptr[1:], strict=False))


@pytest.mark.parametrize("record", [1, 100, 1000])  # few postings are sorted, many are counted
def test_few_and_many_postings_score_alike(record: int) -> None:
    draw = np.random.default_rng(0)
    table = np.zeros((1000, 3), np.float32)
    table[draw.permutation(1000)[:record]] = draw.random((record, 3), np.float32)
    index = SparseIndex.of_rows(SparseRows.of(((np.flatnonzero(r), r[r != 0]) for r in table), 3), np.arange(1000))
    asked = draw.random(3, np.float32)
    rows, scores = index.products(np.arange(3, dtype=np.int32), asked)
    assert rows.tolist() == np.flatnonzero(table.any(axis=1)).tolist()
    np.testing.assert_allclose(scores, table[rows].astype(np.float64) @ asked, rtol=1e-6)


def test_passages_of_an_index_are_read_with_their_titles() -> None:
    encoder = HashSparseEncoder()
    index = SparseIndex.of(GRAPH, encoder)
    chunks = np.flatnonzero(GRAPH.columns.kinds == Kind.CHUNK)
    assert index.nodes.tolist() == chunks.tolist() and len(chunks) == len(CORPUS)
    table = encoder.encode_passages([GRAPH.reading(node) for node in chunks.tolist()]).dense()
    nodes, scores = index.scores("Mur (river) and bread")
    exact = table @ encoder.encode_queries(["Mur (river) and bread"]).dense()[0]
    assert dict(zip(nodes.tolist(), scores.tolist(), strict=True)) == pytest.approx(
        {node: score for node, score in zip(chunks.tolist(), exact.tolist(), strict=True) if score}
    )


def test_without_passages_nodes_are_read_by_their_triples() -> None:
    graph = GRAPHS["family"]
    nodes, scores = SparseIndex.of(graph, HashSparseEncoder()).scores("Teutberga")
    assert graph.names.take(nodes) == ["Lothair II", "Teutberga"] and scores.tolist() == [0.5, 0.5]
    part = graph.part([graph.id("Teutberga"), graph.id("Gisela")])
    assert SparseIndex.of(part, HashSparseEncoder()).nodes.tolist() == part.nodes.tolist()


def test_many_blocks_are_one_index(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = SparseIndex.of(GRAPHS["club"], HashSparseEncoder())
    monkeypatch.setattr("graphwright.search.inverted_index._BLOCK", 5)
    assert SparseIndex.of(GRAPHS["club"], HashSparseEncoder()) == whole and len(whole.nodes) == 34


def test_an_index_of_nothing_finds_nothing() -> None:
    index = SparseIndex.of(GRAPHS["line"].part([]), HashSparseEncoder(8))
    nodes, scores = index.scores("a")
    assert len(nodes) == len(scores) == 0 and repr(index).startswith("SparseIndex(0 × 0, ")
    blank = SparseIndex.of_rows(SparseRows.of([([], [])] * 2, 8), [0, 3], HashSparseEncoder(8))
    assert [len(part) for part in blank.scores("a")] == [0, 0]


def test_equality_is_by_content_and_by_who_reads_the_questions() -> None:
    rows = SparseRows.of([([0, 2], [1, 2]), ([1], [3])], 3)
    a, b = (SparseIndex.of_rows(rows, [0, 1], HashSparseEncoder(3)) for _ in range(2))
    assert a == b and hash(a) == hash(b) and pickle.loads(pickle.dumps(a)) == a
    assert a != SparseIndex.of_rows(rows, [0, 2], HashSparseEncoder(3)) and a != SparseIndex.of_rows(rows, [0, 1])
    assert a != "a" and repr(a) == f"SparseIndex(2 × 3, {a.checksum[:8]})"


@dataclass(frozen=True)
class Given:
    """A sparse encoder that gives these rows."""

    rows: SparseRows

    def encode_queries(self, texts: Sequence[str]) -> SparseRows:
        return self.rows

    def encode_passages(self, texts: Sequence[str]) -> SparseRows:
        return self.rows


@pytest.mark.parametrize(
    "rows, message",
    [
        (SparseRows.of([([0], [1])], 3), "1 rows for 2 texts"),
        (SparseRows.of([([0], [1]), ([3], [1])], 3), "column 3 is not one of the 3"),
        (SparseRows.of([([0], [1]), ([-1], [1])], 3), "column -1 is not one of the 3"),
        (SparseRows.of([([0], [np.nan]), ([1], [1])], 3), "weight nan is not finite"),
        (SparseRows(np.array([0, 1, 2]), np.int32([0]), np.float32([1]), 3), "1 columns and 1 values"),
    ],
)
def test_rows_that_are_none_are_refused(rows: SparseRows, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        SparseIndex.of_rows(rows, [0, 1])
    with pytest.raises(OptionError, match=message):
        SparseIndex.of(GRAPHS["line"].part([0, 1]), Given(rows))


def test_what_cannot_be_searched_says_so() -> None:
    rows = SparseRows.of([([0], [1])], 3)
    with pytest.raises(OptionError, match=r"HashEncoder.*encode_queries"):
        SparseIndex.of(GRAPHS["line"], HashEncoder())  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="naver/splade-v3"):
        SparseIndex.of(GRAPHS["line"], "naver/splade-v3")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="ascending"):
        SparseIndex.of_rows(SparseRows.of([([], [])] * 2, 3), [1, 1])
    with pytest.raises(OptionError, match="has no encoder"):
        SparseIndex.of_rows(rows, [0]).scores("a")
    with pytest.raises(StoreError, match=r"gives 8 columns, but .* has 3"):
        SparseIndex.of_rows(rows, [0], HashSparseEncoder(8)).scores("a")
    with pytest.raises(OptionError, match="2 rows for 1"):
        SparseIndex.of_rows(rows, [0], Given(SparseRows.of([([0], [1])] * 2, 3))).scores("a")
