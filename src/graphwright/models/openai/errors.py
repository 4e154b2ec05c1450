"""Errors of requests to a server: the reason, the server's message and the remedy; removal of the key from both."""

from __future__ import annotations

import html
import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from graphwright.errors import LLMResponseError, ModelError, ReplyCutError, cut

_MIN_KEY = 4  # characters; a shorter key is not hidden, since it may occur in any text


@dataclass(frozen=True)
class Secret:
    """A key that a server may repeat in an error.

    >>> Secret("sk-12345").hidden("The key sk-12345 is not known.")
    'The key *** is not known.'
    """

    key: str | None = field(repr=False)

    def hidden(self, text: str) -> str:
        """Return a text without the key."""
        return text if self.key is None or len(self.key) < _MIN_KEY else text.replace(self.key, "***")


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
        """Return the JSON object of a body.

        Raises HTTPStatusError where it reports an error, IncompleteResponse where its end is missing, and
        LLMResponseError where it is not a JSON object.
        """
        value = None
        with suppress(ValueError, RecursionError):  # whose text would contain the body, and the body the key
            value = json.loads(body.decode("utf-8-sig", "replace"), parse_int=_whole)
        if value is None:
            if body.lstrip().startswith(b"{"):  # not shown: it may hold the beginning of a reply
                raise self.incomplete(f"JSON of {len(body):,} bytes that is cut off or damaged.")
            raise LLMResponseError(
                f"{self.url} did not send JSON, but {self.shown(body)}. Check base_url: most servers need /v1 at its "
                f"end."
            )
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
    """Return the message of an error body, on one line."""
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
    """Return an integer of JSON; more than 18 digits give a float, which may be infinite.

    Python refuses to convert thousands of digits, and no number of this interface needs more than 18.
    """
    return int(digits) if len(digits) <= 18 else float(digits)
