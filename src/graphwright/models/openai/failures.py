"""Errors of requests to a server, with a cause and a remedy."""

from __future__ import annotations

import email.utils
import html
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from graphwright.errors import ModelError

__all__ = ["HTTPStatusError", "IncompleteResponse", "NotSent", "StatusReceived", "raise_for_status", "retry_after"]

_MAX_BODY = 65_536  # bytes read of an error
_MAX_SEARCHED = 8_192  # characters of them that are searched for a message
_MAX_MESSAGE = 300  # characters of the message
_RETRIED = {408, 409, 429}  # and every 5xx


class HTTPStatusError(ModelError):
    """The server answered with an error status: the status, the body, and the seconds that it asks to wait."""

    status: int = 0
    body: str = ""
    after: float | None = None

    @classmethod
    def of(cls, url: str, model: str, status: int, body: str, after: float | None) -> HTTPStatusError:
        """Make the error for an answer of the server at `url`.

        >>> str(HTTPStatusError.of("http://host/v1", "m", 500, '{"error": {"message": "Out of memory."}}', None))
        'http://host/v1 failed (500: Out of memory). Try again later.'
        """
        meaning, remedy = _advice(status, body.lower(), model)
        error = cls(f"{url} {meaning} ({status}: {_message(body[:_MAX_SEARCHED])}). {remedy}")
        error.status, error.body, error.after = status, body, after
        return error

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later."""
        body = self.body.lower()
        exhausted = "insufficient_quota" in body or ("quota" in body and self.after is None)
        return (self.status in _RETRIED or self.status >= 500) and not (self.status == 429 and exhausted)


class IncompleteResponse(ModelError):
    """No complete response arrived: no connection, a broken one, or a timeout."""


class NotSent(IncompleteResponse):
    """There was no connection, so that nothing was sent, and nothing can be charged."""


class StatusReceived(Exception):
    """An HTTP response with an error status, as the client's hook raises it."""

    def __init__(self, status: int, headers: Mapping[str, str], body: str) -> None:
        """Keep the response."""
        super().__init__(status)
        self.status, self.headers, self.body = status, headers, body


def raise_for_status(response: Any) -> None:
    """Raise StatusReceived for anything but success; the client itself would read an endless body to its end."""
    if response.is_success:
        return
    body = bytearray()
    try:
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > _MAX_BODY:
                break
    except Exception:  # the status is enough where the body is cut off
        body += b" ..."
    raise StatusReceived(response.status_code, response.headers, body[:_MAX_BODY].decode("utf-8", "replace"))


def _message(body: str) -> str:
    """Return the message of an error body, on one line."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = html.unescape(re.sub(r"<(style|script).*?</\1>|<[^<>]*>", " ", body, flags=re.DOTALL))
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and value.get(name):
            value = value[name]
    line = " ".join((value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).split()).rstrip(".")
    return line[:_MAX_MESSAGE] + " ..." if len(line) > _MAX_MESSAGE else line or "without a message"


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that a server asks to wait, None where it does not; `now` in seconds since 1970.

    >>> retry_after({"retry-after": "20"}, 0), retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 50.0)
    (20.0, 10.0)
    """
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


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
        limits = "Set requests_per_minute or tokens_per_minute, or a lower concurrency."
        return "refused the request for its rate limit", (
            "Check the plan and the credit of the account." if "quota" in body else limits
        )
    if status >= 500:
        return "failed", "Try again later."
    shorter = "Shorten the prompt, or lower max_tokens."
    options = "Check the options of the request against those that the server accepts."
    return f"refused the request for {model!r}", shorter if "context" in body else options
