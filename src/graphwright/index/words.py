"""A word index over passages: BM25, kept by bm25s in memory-mapped arrays."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import StoreError
from graphwright.models.base import Floats

__all__ = ["WordIndex", "words"]

_WORD = re.compile(r"[^\W_]+(?:[.,](?=\d)\d+)*")
_ACCENTS = re.compile("[\u0300-\u036f]+")
# Scripts that are written without spaces: kana, CJK ideographs, Thai, Lao, Khmer, Burmese.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+")
# English words that say nothing about a passage; a question is full of them.
_STOP = frozenset(
    [
        "a",
        "about",
        "above",
        "after",
        "again",
        "against",
        "all",
        "also",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "being",
        "below",
        "between",
        "both",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "doing",
        "down",
        "during",
        "each",
        "few",
        "for",
        "from",
        "further",
        "had",
        "has",
        "have",
        "having",
        "he",
        "her",
        "hers",
        "him",
        "himself",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "itself",
        "just",
        "me",
        "more",
        "most",
        "my",
        "no",
        "nor",
        "not",
        "now",
        "of",
        "off",
        "on",
        "once",
        "only",
        "or",
        "other",
        "our",
        "out",
        "over",
        "own",
        "s",
        "same",
        "she",
        "should",
        "so",
        "some",
        "such",
        "t",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "too",
        "under",
        "until",
        "up",
        "us",
        "very",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "whose",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)


def words(text: str) -> list[str]:
    """Return the words of a text for matching: lower case, accents folded, stop words dropped, plurals cut.

    Scripts without spaces give pairs of neighbouring characters.

    >>> words("Where were Łódź's 1,000 cafés and cities?"), words("東京都")
    (['łodz', '1,000', 'cafe', 'city'], ['東京', '京都'])
    """
    folded = text.lower()
    if not folded.isascii():
        folded = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", folded)))
    found = [_singular(w) for w in _WORD.findall(folded) if w not in _STOP]
    return found if folded.isascii() else [part for w in found for part in _parts(w)]


def _singular(word: str) -> str:
    """Cut an English plural; cutting a word that is none does no harm where both sides are cut alike."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _parts(word: str) -> list[str]:
    if not _UNSPACED.search(word):
        return [word]
    return [word[i : i + 2] for i in range(len(word) - 1)] or [word]


@dataclass(frozen=True, eq=False)
class WordIndex:
    """BM25 scores of passages: row i belongs to node `nodes[i]`; ascending."""

    model: Any
    nodes: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str], nodes: NDArray[np.int64]) -> WordIndex:
        """Index one text per node."""
        import bm25s

        model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        # Numbered by first appearance: left to itself bm25s numbers them by hash, otherwise in every process.
        vocabulary: dict[str, int] = {}
        ids = [[vocabulary.setdefault(word, len(vocabulary)) for word in words(text)] for text in texts]
        # bm25s cannot index a corpus without a single word.
        if vocabulary:
            tokens = bm25s.tokenization.Tokenized(ids=ids, vocab=vocabulary)
            model.index(tokens, show_progress=False, leave_progress=False)
        return cls(model, nodes)

    @property
    def empty(self) -> bool:
        """Whether no passage holds a word."""
        return not hasattr(self.model, "scores")

    def scores(self, text: str) -> Floats:
        """Return the BM25 score of every row for the words of `text`: float32[rows], 0 where none occurs."""
        total = np.zeros(len(self.nodes), np.float32)
        for word in words(text):
            rows, scores = self.postings(word)
            total[rows] += scores
        return total

    def postings(self, word: str) -> tuple[NDArray[np.int32], Floats]:
        """Return the rows that hold a word (as `words` gives it) and what it adds to the BM25 score of each."""
        number = None if self.empty else self.model.vocab_dict.get(word)
        if number is None:
            return np.empty(0, np.int32), np.empty(0, np.float32)
        kept = self.model.scores
        part = slice(int(kept["indptr"][number]), int(kept["indptr"][number + 1]))
        return np.asarray(kept["indices"][part]), np.asarray(kept["data"][part])

    def save(self, folder: Path) -> None:
        """Write the index into a new folder."""
        folder.mkdir(parents=True)
        np.save(folder / "nodes.npy", self.nodes)
        if not self.empty:
            self.model.save(folder)

    @classmethod
    def load(cls, folder: Path) -> WordIndex:
        """Open an index that `save` wrote; its arrays are memory-mapped."""
        import bm25s

        try:
            nodes = np.load(folder / "nodes.npy")
            model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
            if (folder / "vocab.index.json").exists():
                model = bm25s.BM25.load(folder, mmap=True)
        except (OSError, ValueError, EOFError, KeyError) as error:
            raise StoreError(f"The word index in {folder} cannot be read ({error}); build the index again.") from error
        return cls(model, nodes)

    @cached_property
    def checksum(self) -> str:
        """Sixteen hexadecimal digits over its scores and nodes."""
        digest = hashlib.blake2b(np.ascontiguousarray(self.nodes).data, digest_size=8)
        if not self.empty:
            digest.update(np.ascontiguousarray(self.model.scores["data"]).data)
            digest.update(np.ascontiguousarray(self.model.scores["indices"]).data)
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordIndex) and self.checksum == other.checksum

    def __hash__(self) -> int:
        return hash(self.checksum)

    def __repr__(self) -> str:
        size = 0 if self.empty else len(self.model.vocab_dict)
        return f"WordIndex({len(self.nodes)} × {size}, {self.checksum[:8]})"
