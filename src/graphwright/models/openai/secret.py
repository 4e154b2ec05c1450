"""Removal of a key from what a server sends, in plain text and in escapes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

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
        """Return a text without the key, also where its characters are escaped as in JSON, URLs or HTML.

        `reply`: the text is the answer of a model rather than an error, so that a short key is left in it.
        """
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
    """A reply that arrives in parts, without keys: its end is delayed while it may begin a key.

    >>> text = HiddenText([Secret("sk-12345")])
    >>> text.add("It is sk-1"), text.add("2345"), text.add("", last=True)
    ('It is ', '***', '')
    """

    secrets: Sequence[Secret]
    _delayed: str = ""

    def add(self, text: str, *, last: bool = False) -> str:
        """Add a part; return what can be passed on."""
        text = self._delayed + text
        for secret in self.secrets:
            text = secret.hidden(text, reply=True)
        size = len(text) - (0 if last else max((secret.begun(text) for secret in self.secrets), default=0))
        self._delayed = text[size:]
        return text[:size]


def _pattern(key: str) -> re.Pattern[str]:
    def character(sign: str) -> str:
        code = ord(sign)
        # Any number of backslashes: JSON may stand in a string of JSON. They are matched from the first one on.
        escaped = rf"(?<!\\)\\++u00{code:02x}|%{code:02x}|&\#0*{code};|&\#x0*{code:x};"
        return rf"(?:{re.escape(sign)}|(?i:{escaped}))"

    return re.compile("".join(map(character, key)))
