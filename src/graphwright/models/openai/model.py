"""A model behind a server with the interface of OpenAI: its address, key and limits; and an encoder."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from threading import Lock
from typing import Annotated, Any
from urllib.parse import urlsplit

import numpy as np

from graphwright.constraints import TEXT, AtLeast, Between, Checked
from graphwright.errors import LLMResponseError, OptionError
from graphwright.models.budget import Prices, estimated_tokens
from graphwright.models.openai.errors import Endpoint, Secret
from graphwright.models.openai.http import Clock, HTTPConnection
from graphwright.models.protocols import ByArguments, Cancellation, Floats, Usage, refuse_text

_MAX_TOKENS = 1_000_000_000  # in the usage of one response


@dataclass(frozen=True, repr=False)
class OpenAIModel(Checked, ByArguments):
    """A model behind a server with the interface of OpenAI.

    `base_url`: address of the server, up to and with `/v1`; by default the environment variable OPENAI_BASE_URL, else
    OpenAI. `api_key`: by default OPENAI_API_KEY; it is in no repr, error or id, and in a pickle only if it was an
    argument. `timeout`: seconds from sending a request to the last byte of its response. `retries`: after failures that
    may pass; one at most after a timeout or a refused connection. `concurrency`: requests at a time.
    """

    model: Annotated[str, TEXT]
    base_url: Annotated[str | None, TEXT] = None
    api_key: str | None = field(default=None, compare=False, repr=False)
    _: KW_ONLY
    timeout: Annotated[float, Between(0, 86_400, open_low=True)] = 120.0
    retries: Annotated[int, AtLeast(0)] = 5
    concurrency: Annotated[int, AtLeast(1)] = 8
    clock: Clock = field(default=Clock(), compare=False, repr=False)
    _connection: HTTPConnection = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.model:
            raise OptionError(f"{type(self).__name__}: model is {self.model!r}; give the name of a model.")
        url = self.base_url or os.environ.get("OPENAI_BASE_URL")
        url = checked_address(url) if url else None
        endpoint = Endpoint(self.model, url or OPENAI_URL, Secret(_key(self.api_key, url)))
        limits: dict[str, Any] = {name: getattr(self, name) for name in ("timeout", "retries", "concurrency")}
        object.__setattr__(self, "_connection", HTTPConnection(endpoint, self.clock, **limits))


def _key(key: str | None, url: str | None) -> str | None:
    """Return the key to send, None for a server that may need none."""
    key = (key or os.environ.get("OPENAI_API_KEY") or "").strip()
    if not key and url is None:
        raise OptionError(
            "There is no key for OpenAI. Set the environment variable OPENAI_API_KEY, or pass api_key; for a server "
            "that needs none, pass base_url, such as http://localhost:11434/v1 for Ollama."
        )
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise OptionError(f"The key, of {len(key)} characters, contains a character that no key has. Copy it again.")
    return key or None


def sendable(text: str) -> str:
    """Return a text that can be sent: lone surrogates, which no encoding has, are replaced.

    >>> sendable("half \\ud800 of one") == "half \\ufffd of one"
    True
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def token_count(data: dict[str, Any], name: str) -> int:
    """Return a count from the usage of a response; 0 where it is missing, negative, no whole number or too large."""
    usage = data.get("usage")
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and 0 < count <= _MAX_TOKENS else 0


OPENAI_URL = "https://api.openai.com/v1"  # address of the default server
_MAX_CHARACTERS = 2_000


def checked_address(url: str) -> str:
    """Return the address of a server without a slash at its end.

    Raises OptionError for anything else, and for an address with a user, a password or a query, which logs would show.
    """
    url = url.strip()
    if set(url) & set("@?#"):
        # Not shown: it may hold a password.
        raise OptionError(
            "base_url contains a user, a password or a query; keep the key in the environment: OPENAI_API_KEY, or pass "
            "it as api_key."
        )
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and _is_host(parts.hostname or "") and parts.port != 0
    except ValueError:
        valid = False
    if not valid or len(url) > _MAX_CHARACTERS or not url.isprintable() or " " in url:
        raise OptionError(f"base_url is {url[:200]!r}; give an address such as http://localhost:11434/v1.")
    return url.rstrip("/")


def _is_host(name: str) -> bool:
    """Return whether a host name is valid. Raises UnicodeError, a ValueError, where it cannot be encoded."""
    if not name.isascii():
        import idna  # as httpx does

        name = idna.encode(name).decode()
    return bool(name.encode("idna"))


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

        Raises ModelError without response, LLMResponseError for other than finite vectors of one length.
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
