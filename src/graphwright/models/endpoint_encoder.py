"""An encoder behind any server with the interface of OpenAI."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from graphwright.errors import OptionError, ReplyError
from graphwright.models.base import Floats, spend
from graphwright.models.budget import Prices, estimated_tokens
from graphwright.models.connection import Answer, clean, parsed
from graphwright.models.remote import Remote

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["EndpointEncoder"]

_LONGEST = 16_384  # numbers in a vector
_PER_NUMBER = 32  # bytes of one, written out
_SLACK = 65_536


@dataclass(frozen=True, repr=False)
class EndpointEncoder(Remote):
    """An encoder behind a server with the interface of OpenAI, asked through the `openai` client.

    `dimensions`: asks for shorter vectors, where the model can give them. `batch`: texts in one request; several
    requests run at a time, up to `concurrency`. `prices`: to report the cost to meters. All else is as in Remote.
    Vectors are as the server gives them, whose length need not be 1.

    >>> encoder = EndpointEncoder("nomic-embed-text", "http://localhost:11434/v1", dimensions=256)
    >>> encoder
    EndpointEncoder('nomic-embed-text', base_url='http://localhost:11434/v1', dimensions=256)
    >>> encoder.id
    'nomic-embed-text dimensions=256'
    """

    dimensions: int | None = None
    batch: int = 64
    prices: Prices | None = None

    def __post_init__(self) -> None:
        if self.batch < 1 or (self.dimensions is not None and self.dimensions < 1):
            raise OptionError(f"{self!r}: batch and dimensions must be at least 1.")
        super().__post_init__()

    @property
    def id(self) -> str:
        """Name of the vector space: the model, wherever it runs."""
        return self.model if self.dimensions is None else f"{self.model} dimensions={self.dimensions}"

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return one row per text: float32, shape (len(texts), dimension).

        Raises ModelError where there is no answer, and ReplyError where it is not one finite vector for each text, all
        of one length. Without texts, the dimension is the one asked for, else 0.
        """
        if isinstance(texts, str):
            raise OptionError(f"EndpointEncoder.encode takes a sequence of texts, not one: [{texts[:40]!r}].")
        parts = [texts[at : at + self.batch] for at in range(0, len(texts), self.batch)]
        if not parts:
            return np.empty((0, self.dimensions or 0), np.float32)
        with ThreadPoolExecutor(min(self.concurrency, len(parts))) as pool:
            # Each in a copy of this context, so that the meters of the caller count it.
            work = [pool.submit(copy_context().run, self._encode, part) for part in parts]
            try:
                blocks = [each.result() for each in work]
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        widths = sorted({block.shape[1] for block in blocks} | ({self.dimensions} if self.dimensions else set()))
        if len(widths) > 1:
            raise ReplyError(
                f"{self.model!r} gave vectors of {blocks[0].shape[1]} numbers, where {widths} were asked for or given "
                f"elsewhere. Leave dimensions out if the model has only one length."
            )
        return np.concatenate(blocks)

    def _encode(self, texts: Sequence[str]) -> Floats:
        # Servers refuse an empty text, but not a blank.
        body: dict[str, Any] = {"model": self.model, "input": [clean(text) or " " for text in texts]}
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        estimate = sum(map(estimated_tokens, body["input"]))

        def read(answer: Answer) -> tuple[Floats, int]:
            begun = time.perf_counter()
            data = parsed(answer, b"".join(answer))
            usage = data.get("usage")
            count = usage.get("prompt_tokens") if isinstance(usage, dict) else None
            tokens = count if type(count) is int and count >= 0 else estimate
            cost = self.prices.cost(tokens, 0) if self.prices else 0.0
            spend(texts=len(texts), tokens=tokens, seconds=time.perf_counter() - begun, cost=cost)
            return self._rows(data, len(texts)), tokens

        most = len(texts) * (self.dimensions or _LONGEST) * _PER_NUMBER + _SLACK
        return self._line.request(partial(_create, body), read, estimate, most, repr(body).encode("utf-8", "replace"))

    def _rows(self, data: dict[str, Any], count: int) -> Floats:
        """Return the vectors in the order of the texts."""
        given = data.get("data")
        found = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
        order = [item.get("index", at) for at, item in enumerate(found)]
        if sorted(order, key=str) != sorted(range(count), key=str):
            raise ReplyError(
                f"{self.model!r} was given {count} texts and gave {len(found)} vectors, numbered {str(order)[:80]}; "
                f"there must be one for each. Try a smaller batch than {self.batch}."
            )
        try:
            with np.errstate(over="ignore"):
                rows = np.array([found[at].get("embedding") for at in np.argsort(order)], np.float32)
        except (TypeError, ValueError) as exc:
            raise ReplyError(f"{self.model!r} gave vectors of several lengths, or not of numbers: {exc}.") from exc
        if rows.ndim != 2 or not rows.shape[1]:
            raise ReplyError(f"{self.model!r} gave vectors of shape {rows.shape[1:]}; a vector is a list of numbers.")
        if not np.isfinite(rows).all():
            raise ReplyError(f"{self.model!r} gave a vector with a number that is not finite in float32.")
        return rows


def _create(body: dict[str, Any], client: OpenAI) -> Any:
    return client.embeddings.with_streaming_response.create(**body, encoding_format="float")
