"""Configuration that a language model and an encoder behind a server share: address, key and limits."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields
from functools import partial
from typing import Annotated, Any

from graphwright.constraints import AtLeast, Between, Checked
from graphwright.errors import OptionError
from graphwright.models.openai.connection import HTTPConnection
from graphwright.models.openai.rate import Clock
from graphwright.models.settings import checked_address

__all__ = ["OpenAIModel"]


@dataclass(frozen=True, repr=False)
class OpenAIModel(Checked):
    """A model behind a server with the interface of OpenAI.

    `base_url`: address of the server, up to and with `/v1`; by default the environment variable OPENAI_BASE_URL, else
    OpenAI. `api_key`: by default OPENAI_API_KEY; servers given by address may need none. `timeout`: seconds from
    sending a request to the last byte of its response. `retries`: number of times that a request is sent again where
    that may help. `requests_per_minute`, `tokens_per_minute`, `concurrency`: limits for this object and its threads
    together; waiting for them does not count against the timeout. Equality ignores the key. The key is in no repr,
    error or id; it is in a pickle only if it was an argument.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, compare=False)
    _: KW_ONLY
    timeout: Annotated[float, Between(0, 86_400, open_low=True)] = 120.0
    retries: Annotated[int, AtLeast(0)] = 5
    requests_per_minute: Annotated[int | None, AtLeast(1)] = None
    tokens_per_minute: Annotated[int | None, AtLeast(1)] = None
    concurrency: Annotated[int, AtLeast(1)] = 8
    clock: Clock = field(default=Clock(), compare=False)
    _connection: HTTPConnection = field(init=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.model:
            raise OptionError(f"{type(self).__name__}: model is {self.model!r}; give the name of one on the server.")
        url = self.base_url or os.environ.get("OPENAI_BASE_URL")
        url = checked_address(url) if url else None
        connection = HTTPConnection(self, url, _key(self.api_key, url))
        object.__setattr__(self, "_connection", connection)

    def __repr__(self) -> str:
        """Return the expression that makes this object, without the key and without default arguments."""
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
        """The model and its server, for ids."""
        return self.model if self._connection.url is None else f"{self.model}@{self._connection.url}"


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
