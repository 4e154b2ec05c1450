"""An encoder behind any server with the interface of OpenAI."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Annotated, Any

import numpy as np

from graphwright.constraints import AtLeast, Between
from graphwright.errors import LLMResponseError
from graphwright.models.budget import Prices, estimated_tokens
from graphwright.models.openai.model import OpenAIModel, sendable, token_count
from graphwright.models.protocols import Cancellation, Floats, Usage, refuse_text

_MAX_DIMENSION = 16_384
_BYTES_PER_NUMBER = 32
_SLACK = 65_536  # bytes of a response besides its numbers


@dataclass(frozen=True, repr=False)
class OpenAIEncoder(OpenAIModel):
    """An encoder behind a server with the interface of OpenAI.

    `dimensions`: requests shorter vectors, where the model supports it. `batch`: texts per request; up to `concurrency`
    requests run at a time. `prices`: for the cost of each request. The other arguments are those of OpenAIModel.
    Vectors are as the server sends them, and need not have length 1.

    >>> encoder = OpenAIEncoder("nomic-embed-text", "http://localhost:11434/v1", dimensions=256)
    >>> encoder
    OpenAIEncoder('nomic-embed-text', base_url='http://localhost:11434/v1', dimensions=256)
    >>> encoder.id
    'nomic-embed-text dimensions=256'
    """

    dimensions: Annotated[int | None, Between(1, 1_000_000)] = None
    batch: Annotated[int, AtLeast(1)] = 64
    prices: Prices | None = None

    @property
    def id(self) -> str:
        """Name of the vector space: the model, wherever it runs."""
        return self.model if self.dimensions is None else f"{self.model} dimensions={self.dimensions}"

    def encode(self, texts: Sequence[str], usage: Usage | None = None) -> Floats:
        """Return one row per text: float32, shape (len(texts), dimension); add the work to `usage`.

        Raises ModelError where there is no response, and LLMResponseError where it is not one finite vector per text,
        all of one length. Without texts, the dimension is the requested one, else 0.
        """
        refuse_text(texts, "OpenAIEncoder.encode")
        batches = [texts[start : start + self.batch] for start in range(0, len(texts), self.batch)]
        if not batches:
            return np.empty((0, self.dimensions or 0), np.float32)
        with Cancellation() as cancel, ThreadPoolExecutor(min(self.concurrency, len(batches))) as pool:
            lock = Lock()  # held while a batch adds to the usage
            tasks = [pool.submit(self._encode, batch, usage or Usage(), lock, cancel) for batch in batches]
            try:
                blocks = [task.result() for task in tasks]
            except BaseException:
                cancel.set()
                pool.shutdown(cancel_futures=True)
                raise
        widths = sorted({self.dimensions or blocks[0].shape[1], *(block.shape[1] for block in blocks)})
        if len(widths) > 1:
            raise LLMResponseError(
                f"{self.model!r} returned vectors of {blocks[0].shape[1]} numbers, but of {widths} were requested or "
                f"returned elsewhere. Leave dimensions out if the model has only one length."
            )
        return np.concatenate(blocks)

    def _encode(self, texts: Sequence[str], usage: Usage, lock: Lock, cancel: Cancellation) -> Floats:
        # Servers refuse an empty text, but not a blank.
        inputs = [sendable(text) or " " for text in texts]
        body: dict[str, Any] = {"model": self.model, "input": inputs, "encoding_format": "float"}
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        estimate = sum(map(estimated_tokens, inputs))

        def read(chunks: Iterator[bytes]) -> Floats:
            started = time.perf_counter()
            data = self._connection.endpoint.parsed(b"".join(chunks))
            tokens = token_count(data, "prompt_tokens") or estimate
            cost = self.prices.cost(tokens, 0) if self.prices else 0.0
            seconds = time.perf_counter() - started
            with lock:
                usage.add(Usage(calls=1, texts=len(texts), tokens=tokens, seconds=seconds, cost=cost))
            return self._rows(data, len(texts))

        return self._connection.request(
            "embeddings",
            body,
            read,
            max_bytes=len(texts) * (self.dimensions or _MAX_DIMENSION) * _BYTES_PER_NUMBER + _SLACK,
            cancel=cancel,
        )

    def _rows(self, data: dict[str, Any], count: int) -> Floats:
        """Return the vectors in the order of the texts."""
        items = data.get("data")
        items = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        order = [item.get("index", position) for position, item in enumerate(items)]
        if sorted(order, key=str) != sorted(range(count), key=str):
            raise LLMResponseError(
                f"{self.model!r} received {count} texts and returned {len(items)} vectors, numbered "
                f"{str(order)[:80]}; there must be one for each. Try a smaller batch than {self.batch}."
            )
        with suppress(TypeError, ValueError), np.errstate(over="ignore"):
            rows = np.array([items[position].get("embedding") for position in np.argsort(order)], np.float32)
            if rows.ndim == 2 and rows.shape[1] and np.isfinite(rows).all():
                return rows
        raise LLMResponseError(
            f"{self.model!r} returned vectors that are not lists of numbers, all finite in float32 and of one length. "
            f"Use a model that makes embeddings."
        )
