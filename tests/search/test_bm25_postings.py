"""BM25 postings compared with scores worked by hand, and with those of bm25s."""

import math
from pathlib import Path

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.errors import StoreError
from graphwright.graph.columns import TextColumn
from graphwright.search.bm25_postings import WordIndex
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
def test_scores_equal_bm25_by_hand(query: str) -> None:
    index = WordIndex.of(TEXTS, np.arange(4))
    assert index.scores(query).tolist() == pytest.approx(by_hand(query), abs=1e-5)


def test_index_saved_and_loaded_is_equal(tmp_path: Path) -> None:
    index = WordIndex.of(TEXTS, np.arange(4))
    index.save(tmp_path / "w")
    again = WordIndex.load(tmp_path / "w")
    assert again == index and again.scores("Mur").tolist() == index.scores("Mur").tolist()
    with pytest.raises(StoreError, match="is missing; build"):
        WordIndex.load(tmp_path / "none")


@pytest.mark.parametrize("texts", [[], ["", "the of"]])
def test_index_without_words_scores_zero(texts: list[str], tmp_path: Path) -> None:
    index = WordIndex.of(texts, np.arange(len(texts)))
    index.save(tmp_path / "w")
    assert WordIndex.load(tmp_path / "w").scores("Graz").tolist() == [0] * len(texts)


TEXT = st.lists(st.sampled_from(["fox", "hen", "Mur", "tax", "law"]), max_size=4).map(" ".join)


@given(st.lists(TEXT, max_size=6), st.lists(st.one_of(TEXT, st.integers(0, 5)), max_size=6))
def test_changed_index_equals_index_from_scratch(before: list[str], after: list[str | int]) -> None:
    column, known = list[str](), list[int]()
    for each in after:  # a text, or the row of one that was there
        is_known = isinstance(each, int) and each < len(before) and each not in known
        known.append(int(each) if is_known else -1)
        column.append(before[int(each)] if is_known else f"{each}")
    index = WordIndex.of_words(TextColumn.of(before), np.arange(len(before)))
    texts, nodes, row = TextColumn.of(column), np.arange(len(column)), np.array(known, np.int64)
    new = texts.gather(np.flatnonzero(row < 0))
    changed, expected = index.changed(new, row, nodes), WordIndex.of_words(texts, nodes)
    assert changed == expected
    assert [array.dtype for array in changed._arrays()] == [array.dtype for array in expected._arrays()]


@given(st.lists(st.lists(st.sampled_from(["fox", "hen", "Mur", "tax", "law"]), max_size=9), min_size=1, max_size=9))
def test_postings_equal_those_of_bm25s(texts: list[list[str]]) -> None:
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
