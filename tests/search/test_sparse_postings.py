"""Sparse postings compared with products of dense tables."""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright.errors import OptionError, StoreError
from graphwright.graph.graph import Kind
from graphwright.models import HashEncoder, HashSparseEncoder
from graphwright.models.protocols import Floats
from graphwright.models.sparse import SparseRows
from graphwright.search import SparseIndex
from graphwright.testing import CORPUS, GRAPHS, corpus_index

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
def test_products_equal_those_of_dense_tables(table: list[list[float]], query: list[float]) -> None:
    passages, asked = np.array(table, np.float32), np.array(query, np.float32)
    index = SparseIndex.of_rows(rows_of(passages), np.arange(len(table)))
    item = rows_of(asked[None])
    rows, scores = index.products(item.columns, item.values)
    # All these numbers and their sums are exact.
    assert rows.tolist() == np.flatnonzero(((passages != 0) & (asked != 0)).any(axis=1)).tolist()
    assert scores.dtype == np.float32 and scores.tolist() == (passages @ asked)[rows].tolist()
    assert index.dimension == WIDTH and len(index.weights) == np.count_nonzero(passages)
    assert all((np.diff(index.rows[a:b]) > 0).all() for a, b in zip(index.indptr, index.indptr[1:], strict=False))


def test_passages_are_encoded_with_their_titles() -> None:
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


def test_nodes_without_passages_are_encoded_by_their_triples() -> None:
    graph = GRAPHS["family"]
    nodes, scores = SparseIndex.of(graph, HashSparseEncoder()).scores("Teutberga")
    assert graph.names.take(nodes) == ["Lothair II", "Teutberga"] and scores.tolist() == [0.5, 0.5]
    part = graph.part([graph.id("Teutberga"), graph.id("Gisela")])
    assert SparseIndex.of(part, HashSparseEncoder()).nodes.tolist() == part.nodes.tolist()


def test_index_of_several_blocks_equals_that_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = SparseIndex.of(GRAPHS["club"], HashSparseEncoder())
    monkeypatch.setattr("graphwright.search.sparse_postings._BLOCK", 5)
    assert SparseIndex.of(GRAPHS["club"], HashSparseEncoder()) == whole and len(whole.nodes) == 34


def test_empty_index_finds_nothing() -> None:
    index = SparseIndex.of(GRAPHS["line"].part([]), HashSparseEncoder(8))
    nodes, scores = index.scores("a")
    assert len(nodes) == len(scores) == 0 and repr(index).startswith("SparseIndex(0 × 0, ")
    blank = SparseIndex.of_rows(SparseRows.of([([], [])] * 2, 8), [0, 3], HashSparseEncoder(8))
    assert [len(part) for part in blank.scores("a")] == [0, 0]


def test_equality_compares_content_and_encoder() -> None:
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
def test_invalid_rows_raise_option_error(rows: SparseRows, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        SparseIndex.of_rows(rows, [0, 1])
    with pytest.raises(OptionError, match=message):
        SparseIndex.of(GRAPHS["line"].part([0, 1]), Given(rows))


def test_unusable_encoder_or_nodes_raise_error() -> None:
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
