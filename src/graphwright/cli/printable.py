"""How text and counts are printed: text only stands there, whatever a document or a model wrote."""

from __future__ import annotations

import re

__all__ = ["counted", "printable"]

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """Return a text without what would steer the terminal: a document's words, or a model's, only stand there."""
    return _STEERING.sub("", text)


def counted(count: int, what: str, plural: str = "") -> str:
    """Return a count with what it counts, as it is said of one or of several.

    >>> counted(1, "document"), counted(1200, "chunk"), counted(1, "entity", "entities")
    ('1 document', '1,200 chunks', '1 entity')
    """
    return f"{count:,} {what if count == 1 else plural or f'{what}s'}"
