"""Errors of requests to a server: the reason, the server's message and the remedy; removal of the key from both."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass, field
from typing import Any, TypeVar

from graphwright.errors import LLMResponseError, ModelError, ReplyCutError, cut

_MASK = "***"
_MIN_IN_ERRORS = 4  # characters; a shorter key is not hidden, since it may occur in any text
_MIN_IN_REPLIES = 8  # characters; shorter ones, such as "none" and "ollama", are words that a reply may hold
_ESCAPES = ("\\u", "%", "&#")


@dataclass(frozen=True)
class Secret:
    r"""A key that a server may repeat.

    >>> Secret("sk-12345").hidden(r'{"a": "sk-12345", "b": "\\u0073k-%312345"}')
    '{"a": "***", "b": "***"}'
    """

    key: str | None = field(repr=False)

    def hidden(self, text: str, *, reply: bool = False) -> str:
        """Return a text without the key, also escaped as in JSON, URLs or HTML; a `reply` keeps a short key."""
        key = self.key
        if key is None or len(key) < (_MIN_IN_REPLIES if reply else _MIN_IN_ERRORS):
            return text
        text = text.replace(key, _MASK)
        return _pattern(key).sub(_MASK, text) if any(escape in text for escape in _ESCAPES) else text

    def begun(self, text: str) -> int:
        """Return the number of characters at the end of a text that may be the beginning of the key."""
        key = self.key or ""
        if len(key) < _MIN_IN_REPLIES:
            return 0
        return next((size for size in range(min(len(key) - 1, len(text)), 0, -1) if key.startswith(text[-size:])), 0)


@dataclass
class HiddenText:
    """A reply that arrives in parts, without the key: its end is delayed while it may begin the key."""

    secret: Secret
    _delayed: str = ""

    def add(self, text: str, *, last: bool = False) -> str:
        """Add a part; return what can be passed on."""
        text = self.secret.hidden(self._delayed + text, reply=True)
        size = len(text) - (0 if last else self.secret.begun(text))
        self._delayed = text[size:]
        return text[:size]


def _pattern(key: str) -> re.Pattern[str]:
    def character(sign: str) -> str:
        code = ord(sign)
        # Any number of backslashes: JSON may stand in a string of JSON. They are matched from the first one on.
        escaped = rf"(?<!\\)\\++u00{code:02x}|%{code:02x}|&\#0*{code};|&\#x0*{code:x};"
        return rf"(?:{re.escape(sign)}|(?i:{escaped}))"

    return re.compile("".join(map(character, key)))


E = TypeVar("E", bound=ModelError)

CHECK_SERVER = "Check that the server runs and that base_url is right."
_MAX_SEARCHED = 8_192  # characters of a body that are searched for a message
_MAX_SHOWN = 300  # characters of a body or a message in an error


class HTTPStatusError(ModelError):
    """A response with an error status: the status, the body, and its header Retry-After."""

    status: int = 0
    body: str = ""
    retry_after: str = ""


class IncompleteResponse(ReplyCutError):
    """No complete response arrived: the connection broke, or it took too long."""


class TimedOut(IncompleteResponse):
    """A response took too long."""


class NotSent(ModelError):
    """There was no connection: nothing was sent, and nothing can be charged."""


class NoServer(NotSent):
    """The connection was refused: nothing listens at the address."""


@dataclass(frozen=True)
class Endpoint:
    """A model on a server, and the key, which no error may contain."""

    model: str
    url: str
    secret: Secret

    def status_error(self, status: int, body: str, retry_after: str = "") -> HTTPStatusError:
        """Return the error for a response with an error status."""
        body = self.secret.hidden(body)
        meaning, remedy = _advice(status, body.lower(), self.model)
        message = self.secret.hidden(_message(body[:_MAX_SEARCHED]))
        error = HTTPStatusError(f"{self.url} {meaning} ({status}: {message}). {remedy}")
        error.status, error.body, error.retry_after = status, body, retry_after
        return error

    def incomplete(self, reason: str, kind: type[E] = IncompleteResponse) -> E:  # type: ignore[assignment]
        """Return the error for a response that did not arrive whole."""
        return kind(f"No complete response of {self.model!r} came from {self.url}: {reason}")

    def parsed(self, body: bytes) -> dict[str, Any]:
        """Return a body's JSON object. Raises HTTPStatusError, IncompleteResponse or LLMResponseError."""
        try:
            text = self.secret.hidden(body.decode("utf-8-sig", "replace"), reply=True)
            value = json.loads(text, parse_int=_whole)
        except (ValueError, RecursionError):
            if body.lstrip().startswith(b"{"):  # not shown: it may hold the beginning of a reply
                raise self.incomplete(f"JSON of {len(body):,} bytes that is cut off or damaged.") from None
            raise LLMResponseError(
                f"{self.url} did not send JSON, but {self.shown(body)}. Check base_url: most servers need /v1 at its "
                f"end."
            ) from None  # the cause would contain the body, and the body the key
        if not isinstance(value, dict):
            raise LLMResponseError(f"{self.url} sent JSON, but not an object: {self.shown(body)}.")
        if error := value.get("error"):
            code = error.get("code") if isinstance(error, dict) else None
            raise self.status_error(code if isinstance(code, int) and 400 <= code <= 599 else 500, json.dumps(value))
        return value

    def shown(self, body: bytes) -> str:
        """Return the beginning of a body that holds no reply, quoted, for an error."""
        text = self.secret.hidden(body[:_MAX_SEARCHED].decode("utf-8", "replace"))
        return repr(shortened(text[: 8 * _MAX_SHOWN]))


def shortened(text: str) -> str:
    """Return the beginning of a text on one line."""
    return cut(" ".join(text.split()), _MAX_SHOWN)


def _message(body: str) -> str:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = html.unescape(re.sub(r"<(style|script).*?</\1>|<[^<>]*>", " ", body, flags=re.DOTALL))
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and value.get(name):
            value = value[name]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shortened(text.strip().rstrip(".")) or "without a message"


def _advice(status: int, body: str, model: str) -> tuple[str, str]:
    """Return the meaning of a status and the remedy."""
    if 300 <= status < 400:
        return "redirects the request", "Redirects are not followed: give the final address as base_url."
    if status in (401, 403):
        return "refused the key", "Set the environment variable OPENAI_API_KEY, or pass api_key, with a valid key."
    if status == 404:
        return (
            f"does not have the model {model!r}, or not at this address",
            "Check the name of the model, and base_url: most servers need /v1 at its end.",
        )
    if status == 429:
        return "refused the request for its rate limit", (
            "Check the plan and the credit of the account." if "quota" in body else "Set a lower concurrency."
        )
    if status >= 500:
        return "failed", "Try again later."
    shorter = "Shorten the prompt, or lower max_tokens."
    options = "Check the options of the request against those that the server accepts."
    return f"refused the request for {model!r}", shorter if "context" in body else options


def _whole(digits: str) -> int | float:
    """Return an integer of JSON; more than 18 digits, of which Python refuses thousands, give a float."""
    return int(digits) if len(digits) <= 18 else float(digits)
