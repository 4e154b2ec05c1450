"""A model behind a server of language models: its address, key and limits."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import partial
from typing import Annotated, Any
from urllib.parse import urlsplit

from graphwright.constraints import TEXT, AtLeast, Between, Checked
from graphwright.errors import OptionError
from graphwright.models.openai.errors import Endpoint, Secret
from graphwright.models.openai.retries import Clock, HTTPConnection

_MAX_TOKENS = 1_000_000_000  # in the usage of one response


@dataclass(frozen=True, repr=False)
class OpenAIModel(Checked):
    """A model behind a server with the interface of OpenAI.

    `base_url`: address of the server, up to and with `/v1`; by default the environment variable OPENAI_BASE_URL, else
    OpenAI. `api_key`: by default OPENAI_API_KEY; servers given by address may need none. `timeout`: seconds from
    sending a request to the last byte of its response. `retries`: maximum number of retries after failures that may
    pass; one at most after a timeout or a refused connection. `concurrency`:
    requests at a time of this object and its threads together; waiting does not count against the timeout.
    Equality ignores the key. The key is in no repr, error or id; it is in a pickle only if it was an argument.
    """

    model: Annotated[str, TEXT]
    base_url: Annotated[str | None, TEXT] = None
    api_key: str | None = field(default=None, compare=False)
    _: KW_ONLY
    timeout: Annotated[float, Between(0, 86_400, open_low=True)] = 120.0
    retries: Annotated[int, AtLeast(0)] = 5
    concurrency: Annotated[int, AtLeast(1)] = 8
    clock: Clock = field(default=Clock(), compare=False)
    _connection: HTTPConnection = field(init=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.model:
            raise OptionError(f"{type(self).__name__}: model is {self.model!r}; give the name of a model.")
        url = self.base_url or os.environ.get("OPENAI_BASE_URL")
        url = checked_address(url) if url else None
        endpoint = Endpoint(self.model, url or OPENAI_URL, Secret(_key(self.api_key, url)))
        limits: dict[str, Any] = {name: getattr(self, name) for name in ("timeout", "retries", "concurrency")}
        object.__setattr__(self, "_connection", HTTPConnection(endpoint, self.clock, **limits))

    def __repr__(self) -> str:
        """Return the expression that makes this object, without the key and without default arguments."""
        options = [(each.name, getattr(self, each.name), each.default) for each in fields(self)[1:] if each.init]
        shown = [
            f"{name}={value!r}"
            for name, value, default in options
            if value != default and name not in ("api_key", "clock")
        ]
        return f"{type(self).__name__}({', '.join([repr(self.model), *shown])})"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **{each.name: getattr(self, each.name) for each in fields(self) if each.init}), ()


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


OPENAI_URL = "https://api.openai.com/v1"
"""Address of the default server."""
_MAX_CHARACTERS = 2_000


def checked_address(url: str) -> str:
    """Return the address of a server without a slash at its end.

    Raises OptionError for anything else, and for an address with a user, a password or a query, which logs would show.

    >>> checked_address("http://localhost:11434/v1/")
    'http://localhost:11434/v1'
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
