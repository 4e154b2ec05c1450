"""Postings of the words of passages, with their BM25 weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn
from graphwright.graph.storage import check_limits, load_array, save_array
from graphwright.kernels.blocks import Limits, digest
from graphwright.kernels.csr import group, row_pointers
from graphwright.kernels.far import Reading, together
from graphwright.kernels.strings import tokens
from graphwright.models.protocols import Floats
from graphwright.search.checksummed_index import ChecksummedIndex
from graphwright.search.vector_index import EncodingRun
from graphwright.text.words import terms

K1, B = 1.2, 0.75
_FILES = ("words", "borders", "indptr", "rows", "counts", "lengths", "nodes")  # of a word index


@dataclass(frozen=True, eq=False, repr=False)
class WordIndex(ChecksummedIndex):
    """BM25 scores of passages, word by word; row i of the passages belongs to node `nodes[i]`, ascending.

    `vocabulary`: the words, sorted. Word w occurs in the rows `rows[indptr[w]:indptr[w + 1]]: int32`, ascending, in
    each as often as `counts` says at the same position, in unsigned integers of the least size that holds them all;
    `lengths: int32[rows]` are the numbers of words of the rows. With N rows, df rows that contain the word, and tf
    occurrences among the dl words of a row (avgdl on average), the word adds to the score of a row

        ln(1 + (N - df + 1/2) / (df + 1/2)) · tf / (tf + k1 · (1 - b + b · dl / avgdl)),    k1 = 1.2, b = 0.75

    (Robertson and Zaragoza, 2009, with the idf of Lucene and without the constant factor k1 + 1.)

    >>> index = WordIndex.of(["a red fox", "a red hen", "tax law"], np.arange(3))
    >>> index.postings("red")[0].tolist(), index.scores("a red fox").argsort().tolist()
    ([0, 1], [2, 1, 0])
    """

    vocabulary: TextColumn
    indptr: NDArray[np.int64]
    rows: NDArray[np.int32]
    counts: NDArray[np.unsignedinteger[Any]]
    lengths: NDArray[np.int32]
    nodes: NDArray[np.int64]
    _spelt: dict[tuple[str, bool], list[str]] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, texts: Sequence[str], nodes: NDArray[np.int64]) -> WordIndex:
        """Index one text per node."""
        return cls.of_words(TextColumn.of(" ".join(terms(text)) for text in texts), nodes)

    @classmethod
    def of_words(cls, column: TextColumn, nodes: NDArray[np.int64]) -> WordIndex:
        """Index one text per node, each given as its words (see `terms`) with spaces between them."""
        n = max(len(nodes), 1)
        number, owner, starts, ends = tokens(column.data, column.offsets)
        # Words are numbered by first appearance, so words and the texts between them form a column.
        borders = np.stack((starts, ends), axis=1).ravel() if len(starts) else np.zeros(1, np.int64)
        vocabulary = TextColumn(column.data, borders).gather(np.arange(0, len(borders) - 1, 2))
        order = vocabulary.order()
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order))
        length = np.bincount(owner, minlength=n)
        every, occurrences = group(len(order), rank[number], owner)  # rows of each word, ascending
        del number, owner  # gigabytes of a large index
        word = np.repeat(np.arange(len(order), dtype=np.int32), np.diff(every))
        is_first = np.ones(len(word), bool)
        is_first[1:] = (word[1:] != word[:-1]) | (occurrences[1:] != occurrences[:-1])
        first = np.append(np.flatnonzero(is_first), len(word))
        word, row = word[first[:-1]], occurrences[first[:-1]]
        df, counts = np.bincount(word, minlength=len(order)), np.diff(first)
        smallest = np.min_scalar_type(int(counts.max(initial=0)))  # a byte for most texts
        return cls(
            vocabulary.gather(order), row_pointers(df), row, counts.astype(smallest), length.astype(np.int32), nodes
        )

    def is_of(self, count: int) -> bool:
        """Return whether this holds the words of so many passages; in an index over shards these hold the entries."""
        return len(self.nodes) == count and len(self.rows) == self.indptr[-1]

    def changed(self, column: TextColumn, known: NDArray[np.int64], nodes: NDArray[np.int64]) -> WordIndex:
        """Return the index of other texts, equal to one from scratch.

        `known`: the row here that has the words of each text; -1 for the others, whose words are in `column` (see
        `of_words`).

        >>> index, both = WordIndex.of(["a hen", "a fox"], np.arange(2)), np.arange(2)
        >>> index.changed(TextColumn.of(["red hen"]), np.array([1, -1]), both) == WordIndex.of(["fox", "red hen"], both)
        True
        """
        new, old = np.flatnonzero(known < 0), np.flatnonzero(known >= 0)
        added = WordIndex.of_words(column, new)
        if not len(old):
            return replace(added, nodes=nodes)
        place = np.full(len(self.nodes), -1)
        place[known[old]] = old
        rows = place[np.asarray(self.rows)]
        kept = rows >= 0
        vocabulary, number = TextColumn.joined((self.vocabulary, added.vocabulary)).ranked()
        sizes = np.concatenate((np.diff(np.asarray(self.indptr)), np.diff(added.indptr)))
        word = np.repeat(number, sizes)[np.concatenate((kept, np.ones(len(added.rows), bool)))]
        row = np.concatenate((rows[kept], new[added.rows]))
        order = np.argsort(word * np.int64(len(nodes)) + row, kind="stable")  # of two parts that are nearly in order
        counts = np.concatenate((np.asarray(self.counts)[kept], added.counts))[order]
        df, lengths = np.bincount(word, minlength=len(vocabulary)), np.asarray(self.lengths)[known]
        lengths[new] = added.lengths[: len(new)]
        used = np.flatnonzero(df)
        smallest = np.min_scalar_type(int(counts.max(initial=0)))
        rows = row[order].astype(np.int32)
        return WordIndex(vocabulary.gather(used), row_pointers(df[used]), rows, counts.astype(smallest), lengths, nodes)

    @cached_property
    def _norm(self) -> NDArray[np.float64]:
        """The part k1 · (1 - b + b · dl / avgdl) of each row."""
        lengths = np.asarray(self.lengths, np.float64)
        return np.asarray(K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9)))

    def scores(self, text: str, run: EncodingRun | None = None) -> Floats:
        """Return the BM25 score of every row for the terms of `text`: float32[rows], 0 where none occurs."""
        total, asked = np.zeros(len(self.nodes), np.float32), terms(text)
        together(self.reading(asked))
        for word in asked:
            rows, scores = self.postings(word, run)
            total[rows] += scores
        return total

    def postings(self, word: str, run: EncodingRun | None = None) -> tuple[NDArray[np.int32], Floats]:
        """Return the rows with a word (in the form of `terms`), and its part of each BM25 score; once in a run."""
        if run is not None:
            return run.once(("postings", id(self), word), lambda: self.postings(word))
        if not (df := self.frequency(word)):
            return np.empty(0, np.int32), np.empty(0, np.float32)
        rows, occurrences = self.entries(word)
        counts = occurrences.astype(np.float64)
        return rows, (self.rarity(df) * counts / (counts + self._norm[rows])).astype(np.float32)

    def reading(self, words: Sequence[str]) -> Reading[None]:
        """Read the entries of words together, before they are read one by one, where they are kept elsewhere."""
        yield from ()

    def entries(self, word: str) -> tuple[NDArray[np.int32], NDArray[np.unsignedinteger[Any]]]:
        """Return the rows with a word, ascending, and how often each has it."""
        part = slice(*self._part(word))
        return np.asarray(self.rows[part]), self.counts[part]

    def frequency(self, word: str) -> int:
        """Return the number of rows with a word (in the form of `terms`)."""
        first, end = self._part(word)
        return end - first

    def _part(self, word: str) -> tuple[int, int]:
        """Return the first entry of a word and the end of its entries."""
        at = self.vocabulary.first(word)
        if at == len(self.vocabulary) or self.vocabulary[at] != word:
            return 0, 0
        return int(self.indptr[at]), int(self.indptr[at + 1])

    def spelt(self, alphabetic: bool, letter: str = "") -> list[str]:
        """Return the words of letters only, or all others, that begin with `letter`; they are read once."""
        if (letter, alphabetic) not in self._spelt:
            first, last = self.vocabulary.ends(letter, prefix=True) if letter else (0, len(self.vocabulary))
            for kind in (True, False):
                self._spelt[letter, kind] = [word for word in self.vocabulary[first:last] if word.isalpha() == kind]
        return self._spelt[letter, alphabetic]

    def rarity(self, postings: int) -> float:
        """Return the idf of a term that so many rows have: ln(1 + (N - df + 1/2) / (df + 1/2)), 0 for none."""
        return float(np.log1p((len(self.nodes) - postings + 0.5) / (postings + 0.5))) if postings else 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of passages and of words."""
        return len(self.nodes), len(self.vocabulary)

    @cached_property
    def checksum(self) -> str:
        """Sixteen hexadecimal digits over all arrays."""
        return digest(*self._arrays())

    def _arrays(self) -> list[NDArray[Any]]:
        """Return the arrays in the order of their files."""
        words = self.vocabulary
        return [words.data, words.offsets, self.indptr, self.rows, self.counts, self.lengths, self.nodes]

    def save(self, folder: Path) -> None:
        """Write the index into a new folder; all of it is on disk when this returns."""
        folder.mkdir(parents=True)
        for name, array in zip(_FILES, self._arrays(), strict=True):
            save_array(array, folder / f"{name}.npy")

    @classmethod
    def load(cls, folder: Path) -> WordIndex:
        """Open an index that `save` wrote, memory-mapped. Raises StoreError if a file is missing or truncated."""
        arrays = {name: load_array(folder / f"{name}.npy") for name in _FILES}
        data, borders, indptr, rows, counts, lengths, nodes = arrays.values()
        limits = {"borders": Limits(0, len(data), True), "indptr": Limits(0, len(rows), True)}
        for name, limit in (limits | {"rows": Limits(0, len(nodes) - 1)}).items():
            check_limits(arrays[name], limit, folder / f"{name}.npy")
        return cls(TextColumn(data, borders), indptr, rows, counts, lengths, nodes)
