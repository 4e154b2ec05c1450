"""What goes wrong on the way to a server, put so that one knows what to do."""

from __future__ import annotations

import email.utils
import html
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from graphwright.errors import ModelError

__all__ = ["Broken", "ErrorStatus", "Refused", "examine", "wait_asked"]

_COMPLAINT = 65_536  # bytes read of an error
_SAID = 8_192  # characters of them searched for what they say
_WORDS = 300  # and shown
_RETRIED = {408, 409, 429}  # and every 5xx


class Refused(ModelError):
    """The server answered with an error: its status, the beginning of what it said, the seconds it asks to wait."""

    status: int = 0
    body: str = ""
    after: float | None = None

    @classmethod
    def of(cls, place: str, model: str, status: int, body: str, after: float | None) -> Refused:
        """Put an error of the server at `place` into words.

        >>> str(Refused.of("http://host/v1", "m", 500, '{"error": {"message": "Out of memory."}}', None))
        'http://host/v1 failed (500: Out of memory). Try again later.'
        """
        meaning, remedy = _advice(status, body.lower(), model)
        exc = cls(f"{place} {meaning} ({status}: {_words(body[:_SAID])}). {remedy}")
        exc.status, exc.body, exc.after = status, body, after
        return exc

    @property
    def may_pass(self) -> bool:
        """Whether the same request may be answered later."""
        said = self.body.lower()
        used_up = "insufficient_quota" in said or ("quota" in said and self.after is None)
        return (self.status in _RETRIED or self.status >= 500) and not (self.status == 429 and used_up)


class Broken(ModelError):
    """No whole answer came: no connection, a cut one, or one that took too long."""


class ErrorStatus(Exception):
    """An HTTP answer with an error status."""

    def __init__(self, status: int, headers: Mapping[str, str], body: str) -> None:
        super().__init__(status)
        self.status, self.headers, self.body = status, headers, body


def examine(response: Any) -> None:
    """Raise for an error status here, as the client would read its body to the end, however long it is."""
    if response.is_success or response.has_redirect_location:
        return
    body = bytearray()
    try:
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > _COMPLAINT:
                break
    except Exception:  # the status says enough where what follows it is cut off
        body += b" ..."
    raise ErrorStatus(response.status_code, response.headers, body[:_COMPLAINT].decode("utf-8", "replace"))


def _words(body: str) -> str:
    """Return what an error says, on one line."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = html.unescape(re.sub(r"<(style|script).*?</\1>|<[^<>]*>", " ", body, flags=re.DOTALL))
    for name in ("error", "message", "detail"):
        if isinstance(found, dict) and found.get(name):
            found = found[name]
    line = " ".join((found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)).split()).rstrip(".")
    return line[:_WORDS] + " ..." if len(line) > _WORDS else line or "no more was said"


def wait_asked(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that a server asks to wait, None where it does not say; `now` in seconds since 1970.

    >>> wait_asked({"retry-after": "20"}, 0), wait_asked({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 50.0)
    (20.0, 10.0)
    """
    said = headers.get("retry-after", "").strip()
    try:
        seconds = float(said)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(said).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _advice(status: int, said: str, model: str) -> tuple[str, str]:
    """Return what a status means, and what to do."""
    if status in (401, 403):
        return "refused the key", "Set the environment variable OPENAI_API_KEY or pass api_key, one with that right."
    if status == 404:
        return (
            f"does not have the model {model!r}, or not at this address",
            "Check the name of the model, and base_url: most servers need /v1 at its end.",
        )
    if status == 429:
        limits = "Give requests_per_minute or tokens_per_minute, or a lower concurrency."
        return "lets no more through", "Check the plan and the credit of the account." if "quota" in said else limits
    if status >= 500:
        return "failed", "Try again later."
    shorter = "Shorten the prompt, or lower max_tokens."
    options = "Check the options of the request against what the server takes."
    return f"refused the request for {model!r}", shorter if "context" in said else options
