"""Deterministic fake models for tests: no weights, the same numbers on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Checked
from graphwright.errors import ModelError, OptionError
from graphwright.models.protocols import ByArguments, Cancel, Completion, Floats, OnText, Schema, Usage
from graphwright.models.structured import complete_by
from graphwright.text.words import WORD


def _words(text: str) -> list[str]:
    return WORD.findall(text.lower())


@dataclass(frozen=True)
class HashEncoder(Checked):
    """Encode a text as a bag of hashed words: each word has a fixed random vector, a text the unit vector of their sum.

    Word order is ignored. A text without words has the zero vector. Sums are integers: every machine rounds alike.

    >>> a, b, c = HashEncoder().encode(["red fox", "the red fox", "tax law"])
    >>> bool(a @ b > 0.7 > 0.4 > a @ c)
    True
    """

    dimension: Annotated[int, AtLeast(1)] = 64

    @property
    def id(self) -> str:
        """Name of the vector space."""
        return f"hash-encoder:{self.dimension}"

    def encode(self, texts: Sequence[str], usage: Usage | None = None) -> Floats:
        """Return one row per text: float32, shape (len(texts), dimension); add the work to `usage`."""
        sums = np.zeros((len(texts), self.dimension), np.int64)
        tokens = 0
        for row, text in zip(sums, texts, strict=True):
            for word in _words(text):
                digest = hashlib.shake_256(word.encode("utf-8", "replace")).digest(self.dimension)
                row += 2 * np.frombuffer(digest, np.uint8).astype(np.int64) - 255  # odd numbers from -255 to 255
                tokens += 1
        if usage is not None:
            usage.add(Usage(calls=1, texts=len(texts), tokens=tokens))
        norms = np.sqrt((sums * sums).sum(axis=1, keepdims=True))
        vectors: Floats = (sums / np.maximum(norms, 1.0)).astype(np.float32)
        return vectors


@dataclass(frozen=True)
class OverlapCrossEncoder:
    """Score a text by the words that it shares with the query.

    A latent is three numbers from 0 to 1: the share of the query's words in the text, the share of the text's words in
    the query, and 1 where the text contains the whole query. Scores go from 0 to 1.

    >>> model = OverlapCrossEncoder()
    >>> latents = model.latents("red fox", ["a red fox ran", "a red car", "tax law"])
    >>> [round(float(score), 2) for score in model.head(latents)]
    [0.88, 0.4, 0.0]
    """

    @property
    def id(self) -> str:
        """Name of the model."""
        return "overlap-cross-encoder"

    def latents(self, query: str, texts: Sequence[str], usage: Usage | None = None) -> Floats:
        """Return one latent per text: float32, shape (len(texts), 3); add the work to `usage`."""
        query_words = _words(query)
        latents = np.zeros((len(texts), 3), np.float32)
        for row, text in zip(latents, texts, strict=True):
            words = _words(text)
            shared = set(query_words) & set(words)
            if shared:
                whole = f" {' '.join(query_words)} " in f" {' '.join(words)} "
                row[:] = len(shared) / len(set(query_words)), len(shared) / len(set(words)), whole
        if usage is not None:
            usage.add(Usage(calls=1, texts=len(texts)))
        return latents

    def head(self, latents: Floats) -> Floats:
        """Return one score per latent: float32, shape (n,)."""
        scores: Floats = (latents * np.array([0.625, 0.25, 0.125], np.float32)).sum(axis=1, dtype=np.float32)
        return scores


@dataclass(frozen=True)
class ScriptedLLM(ByArguments):
    """A language model with prepared replies.

    `replies`: a function of system and user prompt, or replies that are given in order. As with a real model, the
    request is repeated once if the reply does not fit the schema, with that reply and a correction below the prompt.
    Tokens are words. Threads may share the object.

    >>> llm = ScriptedLLM(lambda system, user: user.upper())
    >>> pieces = []
    >>> completion = llm.complete("Shout.", "two words", on_text=pieces.append)
    >>> completion.text, completion.usage.prompt_tokens, pieces
    ('TWO WORDS', 3, ['TWO ', 'WORDS'])
    """

    replies: Callable[[str, str], str] | Sequence[str]
    id: str = "scripted"
    _positions: Iterator[int] = field(default_factory=count, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.replies, str):
            raise OptionError(f"ScriptedLLM takes a sequence of replies, not one: [{self.replies[:40]!r}].")
        if not callable(self.replies):
            object.__setattr__(self, "replies", tuple(self.replies))

    def complete(
        self, system: str, user: str, *, schema: Schema = None, on_text: OnText = None, cancel: Cancel = None
    ) -> Completion:
        """Answer one prompt, as LLM.complete does. Raises ModelError after the last reply of a script."""
        name = repr(self.id)
        return complete_by(self._reply, system, user, name, lambda text: len(text.split()), schema, on_text, cancel)

    def _reply(self, system: str, user: str) -> str:
        if callable(self.replies):
            return self.replies(system, user)
        position = next(self._positions)
        if position >= len(self.replies):
            raise ModelError(f"The script of {self.id!r} has {len(self.replies)} replies, and all were given.")
        return self.replies[position]
