"""Text that only stands there, whatever a document or a model wrote."""

from __future__ import annotations

import re

__all__ = ["printable"]

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """Return a text without what would steer the terminal: a document's words, or a model's, only stand there."""
    return _STEERING.sub("", text)
