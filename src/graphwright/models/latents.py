"""Cross-encoders made of other models: one that remembers its latents, one made of an encoder."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from graphwright.errors import ModelError, OptionError
from graphwright.models.base import metered
from graphwright.models.protocols import CrossEncoder, Encoder, Floats, Usage
from graphwright.models.bills import Item, bill, shares

__all__ = ["CachedCrossEncoder", "EncoderCrossEncoder"]

_MEMORY = 4096  # pairs

_Pair = tuple[str, str]
_Made = tuple[Floats, Usage]  # a latent, and what it took


@dataclass(frozen=True)
class CachedCrossEncoder:
    """A cross-encoder that reads each pair of query and text once: a loop of rerankings pays only for what is new.

    The latents of the last `memory` pairs are kept. Threads may share the object; pickled, it forgets.

    >>> from graphwright.models.base import metered
    >>> from graphwright.models.fake import OverlapCrossEncoder
    >>> model = CachedCrossEncoder(OverlapCrossEncoder())
    >>> with metered() as usage:
    ...     first, again = model.latents("fox", ["a fox", "a hen"]), model.latents("fox", ["a hen", "a fox"])
    >>> first.tolist() == again[::-1].tolist(), usage.texts
    (True, 2)
    """

    model: CrossEncoder
    memory: int = _MEMORY
    _recent: OrderedDict[_Pair, _Made] = field(default_factory=OrderedDict, init=False, repr=False, compare=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.model, CrossEncoder):
            raise OptionError(f"CachedCrossEncoder({self.model!r}): a cross-encoder, with latents and head, is needed.")
        if self.memory < 0:
            raise OptionError(f"CachedCrossEncoder: memory is {self.memory} pairs; it cannot be negative.")

    @classmethod
    def holding(cls, pairs: int, model: CrossEncoder) -> CachedCrossEncoder:
        """Return one that holds all that a question reads of so many pairs, and more where these are few."""
        return cls(model, max(_MEMORY, 2 * pairs))

    def __reduce__(self) -> tuple[type[CachedCrossEncoder], tuple[CrossEncoder, int]]:
        return CachedCrossEncoder, (self.model, self.memory)

    def latents(self, query: str, texts: Sequence[str]) -> Floats:
        """Return one latent per text: float32, shape (len(texts), h)."""
        found = self._known(query, texts)
        new = [text for text in dict.fromkeys(texts) if text not in found]
        if new or not texts:
            begun = time.perf_counter()
            with metered() as usage:
                made = np.asarray(self.model.latents(query, new), np.float32)
            took = shares(usage, time.perf_counter() - begun + usage.saved, [len(text) + 1 for text in new])
            if made.ndim != 2 or len(made) != len(new):
                raise ModelError(f"{self.model!r} gave latents of shape {made.shape} for {len(new)} texts.")
            if not texts:
                return made
            # Rows of their own: a view would keep all of `made` alive.
            fresh = {text: (row.copy(), one) for text, row, one in zip(new, made, took, strict=True)}
            self._keep(query, fresh)
            found |= fresh
        return np.stack([found[text][0] for text in texts])

    def head(self, latents: Floats) -> Floats:
        """Return one score per latent: float32, shape (n,)."""
        return self.model.head(latents)

    def _known(self, query: str, texts: Sequence[str]) -> dict[str, _Made]:
        with self._lock:
            found = {text: self._recent[query, text] for text in texts if (query, text) in self._recent}
            for text in found:
                self._recent.move_to_end((query, text))
        if (due := bill()) is not None:
            for text, (_, took) in found.items():
                due.used(self._item(query, text, took))
        return found

    def _keep(self, query: str, fresh: dict[str, _Made]) -> None:
        with self._lock:
            for text, one in fresh.items():
                self._recent[query, text] = one
            while len(self._recent) > self.memory:
                self._recent.popitem(last=False)
        if (due := bill()) is not None:
            for text, (_, took) in fresh.items():
                due.made(self._item(query, text, took))

    def _item(self, query: str, text: str, took: Usage) -> Item:
        # By how it is shown: equal ones, of which one did a step for the other, have one memory on a bill.
        return Item(("latents", repr(self)), self.memory, (query, text), took)


@dataclass(frozen=True)
class EncoderCrossEncoder:
    """A cross-encoder made of an encoder: a latent is the product of the two vectors, number by number.

    The head adds the numbers up, so a score is the dot product of the vectors of query and text.

    >>> from graphwright.models.fake import HashEncoder
    >>> model, encoder = EncoderCrossEncoder(HashEncoder()), HashEncoder()
    >>> scores = model.head(model.latents("red fox", ["a fox", "tax law"]))
    >>> np.allclose(scores, encoder.encode(["a fox", "tax law"]) @ encoder.encode(["red fox"])[0])
    True
    """

    encoder: Encoder

    def __post_init__(self) -> None:
        # A text has a method `encode` too.
        if isinstance(self.encoder, str) or not isinstance(self.encoder, Encoder):
            raise OptionError(f"EncoderCrossEncoder({self.encoder!r}): an encoder is needed, not its name.")

    def latents(self, query: str, texts: Sequence[str]) -> Floats:
        """Return one latent per text: float32, shape (len(texts), dimension)."""
        vectors = self.encoder.encode([query, *texts])
        products: Floats = vectors[1:] * vectors[0]
        return products

    def head(self, latents: Floats) -> Floats:
        """Return one score per latent: float32, shape (n,)."""
        scores: Floats = latents.sum(axis=1, dtype=np.float32)
        return scores
