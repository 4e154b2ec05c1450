"""Deterministic stand-ins for models: no weights, the same numbers on every machine, fit for tests."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np

from graphwright.errors import ModelError, OptionError
from graphwright.models.base import spend
from graphwright.models.protocols import Completion, Floats, SparseRows
from graphwright.models.schema import Heard, converse
from graphwright.text.words import WORD

__all__ = ["HashEncoder", "HashSparseEncoder", "OverlapCrossEncoder", "ScriptedLLM"]


def _words(text: str) -> list[str]:
    return WORD.findall(text.lower())


@dataclass(frozen=True)
class HashEncoder:
    """A bag of hashed words: each word has a fixed random vector, a text the unit vector of their sum.

    Texts that share words are near each other; the order of words does not matter. A text without a word
    gets the zero vector. Sums are taken in whole numbers, so no machine rounds differently.

    >>> a, b, c = HashEncoder().encode(["red fox", "the red fox", "tax law"])
    >>> bool(a @ b > 0.7 > 0.4 > a @ c)
    True
    """

    dimension: int = 64

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise OptionError(f"HashEncoder: dimension is {self.dimension}; it must be at least 1.")

    @property
    def id(self) -> str:
        """Name of the vector space."""
        return f"hash-encoder:{self.dimension}"

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return one row per text: float32, shape (len(texts), dimension)."""
        sums = np.zeros((len(texts), self.dimension), np.int64)
        tokens = 0
        for row, text in zip(sums, texts, strict=True):
            for word in _words(text):
                row += self._vector(word)
                tokens += 1
        spend(texts=len(texts), tokens=tokens)
        norms = np.sqrt((sums * sums).sum(axis=1, keepdims=True))
        vectors: Floats = (sums / np.maximum(norms, 1.0)).astype(np.float32)
        return vectors

    def _vector(self, word: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return odd numbers from -255 to 255, uniform and centred."""
        digest = hashlib.shake_256(word.encode("utf-8", "replace")).digest(self.dimension)
        return 2 * np.frombuffer(digest, np.uint8).astype(np.int64) - 255


@dataclass(frozen=True)
class HashSparseEncoder:
    """A sparse bag of hashed words: each word has a fixed column; two words may share one.

    Where words of one column occur n times, a question has weight n there and a passage n / (n + 1), so that the two
    sides differ, as they do in SPLADE-doc.

    >>> model = HashSparseEncoder()
    >>> passages = model.encode_passages(["a red fox", "red and red", "tax law"]).dense()
    >>> [round(float(score), 2) for score in passages @ model.encode_queries(["red fox"]).dense()[0]]
    [1.0, 0.67, 0.0]
    """

    dimension: int = 1 << 16

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise OptionError(f"HashSparseEncoder: dimension is {self.dimension}; it must be at least 1.")

    @property
    def id(self) -> str:
        """Name of the model."""
        return f"hash-sparse-encoder:{self.dimension}"

    def encode_queries(self, texts: Sequence[str]) -> SparseRows:
        """Return one row per question."""
        return SparseRows.of(self._counts(texts), self.dimension)

    def encode_passages(self, texts: Sequence[str]) -> SparseRows:
        """Return one row per passage."""
        rows = ((columns, counts / (counts + 1)) for columns, counts in self._counts(texts))
        return SparseRows.of(rows, self.dimension)

    def _counts(self, texts: Sequence[str]) -> list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
        words = [_words(text) for text in texts]
        spend(texts=len(texts), tokens=sum(map(len, words)))
        return [np.unique([self._column(word) for word in some], return_counts=True) for some in words]

    def _column(self, word: str) -> int:
        digest = hashlib.shake_256(word.encode("utf-8", "replace")).digest(8)
        return int.from_bytes(digest, "big") % self.dimension


@dataclass(frozen=True)
class OverlapCrossEncoder:
    """Scores a text by the words it shares with the query.

    A latent is three numbers from 0 to 1: the share of the query's words found in the text, the share of
    the text's words found in the query, and 1 where the text holds the whole query. Scores go from 0 to 1.

    >>> model = OverlapCrossEncoder()
    >>> latents = model.latents("red fox", ["a red fox ran", "a red car", "tax law"])
    >>> [round(float(score), 2) for score in model.head(latents)]
    [0.88, 0.4, 0.0]
    """

    @property
    def id(self) -> str:
        """Name of the model."""
        return "overlap-cross-encoder"

    def latents(self, query: str, texts: Sequence[str]) -> Floats:
        """Return one latent per text: float32, shape (len(texts), 3)."""
        asked = _words(query)
        latents = np.zeros((len(texts), 3), np.float32)
        for row, text in zip(latents, texts, strict=True):
            words = _words(text)
            shared = set(asked) & set(words)
            if shared:
                whole = f" {' '.join(asked)} " in f" {' '.join(words)} "
                row[:] = len(shared) / len(set(asked)), len(shared) / len(set(words)), whole
        spend(texts=len(texts))
        return latents

    def head(self, latents: Floats) -> Floats:
        """Return one score per latent: float32, shape (n,)."""
        scores: Floats = (latents * np.array([0.625, 0.25, 0.125], np.float32)).sum(axis=1, dtype=np.float32)
        return scores


@dataclass
class _Place:
    """How far a script was read."""

    at: int = 0
    lock: Lock = field(default_factory=Lock)


@dataclass(frozen=True)
class ScriptedLLM:
    """A language model that says what it is told to say.

    `replies`: a function of system and user prompt, or replies that are given one after the other. As with a real
    model, a reply that does not fit the schema is asked for once more: the function then gets the prompt with what
    was wrong below it, and a script goes on to its next reply. Tokens are words. Threads may share the object; a
    script is then given out in the order of the calls.

    >>> llm = ScriptedLLM(lambda system, user: user.upper())
    >>> pieces = []
    >>> llm.complete("Shout.", "two words", on_text=pieces.append)
    Completion(text='TWO WORDS', value=None, prompt_tokens=3, completion_tokens=2)
    >>> pieces
    ['TWO ', 'WORDS']
    """

    replies: Callable[[str, str], str] | Sequence[str]
    id: str = "scripted"
    _place: _Place = field(default_factory=_Place, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.replies, str):
            raise OptionError(f"ScriptedLLM takes a sequence of replies, not one: [{self.replies[:40]!r}].")
        if not callable(self.replies):
            object.__setattr__(self, "replies", tuple(self.replies))

    def __reduce__(self) -> tuple[type[ScriptedLLM], tuple[Any, str]]:
        return ScriptedLLM, (self.replies, self.id)

    def complete(
        self,
        system: str,
        user: str,
        *,
        schema: type[Any] | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        """Answer one prompt, as LLM.complete has it. Raises ModelError where the script has ended."""

        def ask(heard: Heard | None, correction: str) -> Heard:
            asked = user if heard is None else f"{user}\n\n{heard.text}\n\n{correction}"
            text = self._reply(system, asked)
            for piece in _pieces(text) if on_text is not None else ():
                on_text(piece)  # type: ignore[misc]
            said = Heard(text, len(system.split()) + len(asked.split()), len(text.split()), "stop")
            spend(prompt_tokens=said.prompt_tokens, completion_tokens=said.completion_tokens)
            return said

        return converse(ask, schema, repr(self.id))

    def _reply(self, system: str, user: str) -> str:
        if callable(self.replies):
            return self.replies(system, user)
        with self._place.lock:
            self._place.at += 1
            if self._place.at > len(self.replies):
                raise ModelError(f"The script of {self.id!r} has {len(self.replies)} replies, and all were given.")
            return self.replies[self._place.at - 1]


def _pieces(text: str) -> Iterator[str]:
    """Yield the words with the space behind them, which add up to the text."""
    return (found[0] for found in re.finditer(r"^\s+|\S+\s*", text))
