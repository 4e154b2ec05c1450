"""Word index of passages: BM25 postings in memory-mapped arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn
from graphwright.graph.storage import load_array, save_array
from graphwright.kernels.strings import tokens
from graphwright.models.protocols import Floats
from graphwright.text.words import words

__all__ = ["WordIndex"]

K1, B = 1.2, 0.75


@dataclass(frozen=True, eq=False)
class WordIndex:
    """BM25 scores of passages, word by word; row i of the passages belongs to node `nodes[i]`, ascending.

    `vocabulary`: the words, sorted. Word w occurs in the rows `rows[indptr[w]:indptr[w + 1]]: int32`, ascending, and
    adds the `weights: float32` at the same positions to their scores. With N rows, df rows that contain the word, and
    tf occurrences among the dl words of a row (avgdl on average), the weight is

        ln(1 + (N - df + 1/2) / (df + 1/2)) · tf / (tf + k1 · (1 - b + b · dl / avgdl)),    k1 = 1.2, b = 0.75

    (Robertson and Zaragoza, 2009, with the idf and without the constant factor k1 + 1, as Lucene has it.)

    >>> index = WordIndex.of(["a red fox", "a red hen", "tax law"], np.arange(3))
    >>> index.postings("red")[0].tolist(), index.scores("a red fox").argsort().tolist()
    ([0, 1], [2, 1, 0])
    """

    vocabulary: TextColumn
    indptr: NDArray[np.int64]
    rows: NDArray[np.int32]
    weights: Floats
    nodes: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str], nodes: NDArray[np.int64]) -> WordIndex:
        """Index one text per node."""
        return cls.of_words(TextColumn.of(" ".join(words(text)) for text in texts), nodes)

    @classmethod
    def of_words(cls, column: TextColumn, nodes: NDArray[np.int64]) -> WordIndex:
        """Index one text per node, each given as its words (see `words`) with spaces between them."""
        n = max(len(nodes), 1)
        number, owner, starts, ends = tokens(column.data, column.offsets)
        data = column.data.tobytes()
        spans = zip(starts.tolist(), ends.tolist(), strict=True)
        vocabulary = TextColumn.terminated(b"".join(data[start:end] + b"\0" for start, end in spans))
        order = vocabulary.order()
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        # One number for each word and row, so that sorting groups the rows of a word, ascending.
        pairs, tf = np.unique(rank[number] * n + owner, return_counts=True)
        word, row = np.divmod(pairs, n)
        df = np.bincount(word, minlength=len(order))
        length = np.bincount(owner, minlength=n)
        norm = K1 * (1 - B + B * length / max(length.mean(), 1e-9))
        weights = np.log1p((len(nodes) - df + 0.5) / (df + 0.5))[word] * tf / (tf + norm[row])
        indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(df)))
        return cls(vocabulary.gather(order), indptr, row.astype(np.int32), weights.astype(np.float32), nodes)

    def scores(self, text: str) -> Floats:
        """Return the BM25 score of every row for the words of `text`: float32[rows], 0 where none occurs."""
        total = np.zeros(len(self.nodes), np.float32)
        for word in words(text):
            rows, scores = self.postings(word)
            total[rows] += scores
        return total

    def postings(self, word: str) -> tuple[NDArray[np.int32], Floats]:
        """Return the rows with a word (in the form of `words`), and its part of the BM25 score of each."""
        at = self.vocabulary.first(word, self._order)
        if at == len(self.vocabulary) or self.vocabulary[at] != word:
            return np.empty(0, np.int32), np.empty(0, np.float32)
        part = slice(int(self.indptr[at]), int(self.indptr[at + 1]))
        return self.rows[part], self.weights[part]

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.arange(len(self.vocabulary))

    def save(self, folder: Path) -> None:
        """Write the index into a new folder; all of it is on disk when this returns."""
        folder.mkdir(parents=True)
        for name, array in self._arrays().items():
            save_array(array, folder / f"{name}.npy")

    @classmethod
    def load(cls, folder: Path) -> WordIndex:
        """Open an index that `save` wrote, memory-mapped. Raises StoreError if a file is missing or truncated."""
        data, offsets, *rest = (load_array(folder / f"{name}.npy") for name in _ARRAYS)
        return cls(TextColumn(data, offsets), *rest)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = (self.vocabulary.data, self.vocabulary.offsets, self.indptr, self.rows, self.weights, self.nodes)
        return dict(zip(_ARRAYS, arrays, strict=True))

    @cached_property
    def checksum(self) -> str:
        """Sixteen hexadecimal digits over its words, scores and nodes."""
        digest = hashlib.blake2b(digest_size=8)
        for array in self._arrays().values():
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordIndex) and self.checksum == other.checksum

    def __hash__(self) -> int:
        return hash(self.checksum)

    def __repr__(self) -> str:
        return f"WordIndex({len(self.nodes)} × {len(self.vocabulary)}, {self.checksum[:8]})"


_ARRAYS = ("words", "borders", "indptr", "rows", "weights", "nodes")
