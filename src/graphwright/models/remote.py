"""What a language model and an encoder behind a server have in common: where it is, the key, and the limits."""

from __future__ import annotations

import os
import re
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from graphwright.errors import OptionError
from graphwright.models.connection import Line
from graphwright.models.rate import Clock

__all__ = ["Remote"]


@dataclass(frozen=True, repr=False)
class Remote:
    """A model behind a server with the interface of OpenAI: what every kind of request has in common.

    `base_url`: where the server is, up to and with `/v1`; without it, the environment variable OPENAI_BASE_URL, else
    OpenAI. `api_key`: without it, OPENAI_API_KEY; servers given by address may need none. `timeout`: seconds from
    sending one request to its last byte. `retries`: how often more a request is sent where that may help.
    `requests_per_minute`, `tokens_per_minute`, `concurrency`: limits that hold for this object and its threads
    together; waiting for them does not count against the timeout. Equal ones have the same configuration, whatever
    the key. The key is in no repr, error or id; it is in a pickle only if it was an argument.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, compare=False)
    _: KW_ONLY
    timeout: float = 120.0
    retries: int = 5
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrency: int = 8
    clock: Clock = field(default=Clock(), compare=False)
    _line: Line = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not self.model:
            raise OptionError(f"{type(self).__name__}: model is {self.model!r}; name one that the server has.")
        if not 0 < self.timeout <= 86_400:
            raise OptionError(f"{self!r}: timeout is {self.timeout} seconds; give more than 0 and at most 86,400.")
        if self.retries < 0 or self.concurrency < 1:
            raise OptionError(f"{self!r}: retries must be at least 0 and concurrency at least 1.")
        url = _address(self.base_url or os.environ.get("OPENAI_BASE_URL"))
        object.__setattr__(self, "_line", Line(self, url, _key(self.api_key, url)))

    def __repr__(self) -> str:
        """Return the expression that makes this, without the key and what is as by default."""
        parts = [repr(self.model)]
        for each in fields(self)[1:]:
            if each.init and each.name not in ("api_key", "clock"):
                value = getattr(self, each.name)
                if each.default is MISSING or value != each.default:
                    parts.append(f"{each.name}={value!r}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **{each.name: getattr(self, each.name) for each in fields(self) if each.init}), ()

    @property
    def _place(self) -> str:
        """The model and where it is, for ids."""
        return self.model if self._line.url is None else f"{self.model}@{self._line.url}"


def _key(given: str | None, url: str | None) -> str | None:
    """Return the key, None for a server that may need none."""
    key = (given or os.environ.get("OPENAI_API_KEY") or "").strip()
    if not key and url is None:
        raise OptionError(
            "There is no key for OpenAI. Set the environment variable OPENAI_API_KEY, or pass api_key; or, for a "
            "server that needs none, pass base_url, such as http://localhost:11434/v1 for Ollama."
        )
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise OptionError(f"The key, of {len(key)} characters, holds one that no key has. Copy it again.")
    return key or None


def _address(url: str | None) -> str | None:
    """Return the address of a server, None for the one that the client knows."""
    if not url:
        return None
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        public = re.split("[?#]", url.rpartition("@")[2])[0]
        raise OptionError(f"base_url is {public!r}; give an address such as http://localhost:11434/v1.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise OptionError(
            f"The base_url for {parts.hostname} holds a user, a password or a query, which would be shown in logs. "
            f"Leave it out, and pass a key as api_key."
        )
    return url.strip().rstrip("/")
