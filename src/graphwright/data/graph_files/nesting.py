"""Limits on the nesting of JSON and XML, for parsers that take quadratic time in its depth.

pyoxigraph 0.5.13 ends the process with a segmentation fault at a few thousand levels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import BinaryIO

from graphwright.errors import DataError

MAX_NESTING = 500
"""Maximum depth of objects and arrays, or of elements."""
_MAX_TAG = 2**20  # bytes of a tag or comment
_TAG = re.compile(  # or a part without tags
    rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>"
    rb"|<(?!!--|!\[CDATA\[|\?)(?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+>",
    re.DOTALL,
)
_SIGNS = re.compile(rb'[\\"\[\]{}]')


def _checked(depth: int) -> int:
    """Return a depth. Raises DataError beyond the limit."""
    if depth > MAX_NESTING:
        raise DataError(f"it is nested more than {MAX_NESTING} levels deep")
    return depth


@dataclass
class ShallowJSON:
    """A file of JSON that can be read; reading raises DataError where it is nested too deeply.

    >>> import io
    >>> ShallowJSON(io.BytesIO(b'{"a": "[[["}')).read(), ShallowJSON(io.BytesIO(b"[" * 501)).read()
    Traceback (most recent call last):
    ...
    graphwright.errors.DataError: it is nested more than 500 levels deep
    """

    source: BinaryIO
    _depth: int = 0
    _in_text: bool = False
    _escaped: int = 0  # bytes from the beginning of the next part that a backslash escapes

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, all by default."""
        data = self.source.read(size)
        after = self._escaped
        for match in _SIGNS.finditer(data):
            at = match.start()
            if at < after:
                continue
            sign = match[0]
            if sign == b"\\":
                after = at + 2
            elif sign == b'"':
                self._in_text = not self._in_text
            elif not self._in_text:
                self._depth = _checked(self._depth + (1 if sign in b"[{" else -1))
        self._escaped = max(after - len(data), 0)
        return data


@dataclass
class ShallowXML:
    """A file of XML that can be read; reading raises DataError where it is nested too deeply.

    >>> import io
    >>> ShallowXML(io.BytesIO(b"<a><b/></a><!--<a>-->")).read(), ShallowXML(io.BytesIO(b"<a>" * 501)).read()
    Traceback (most recent call last):
    ...
    graphwright.errors.DataError: it is nested more than 500 levels deep
    """

    source: BinaryIO
    _depth: int = 0
    _rest: bytes = b""  # a tag whose end has not been read

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, all by default."""
        data = self.source.read(size)
        text, at = self._rest + data, 0
        while (at := text.find(b"<", at)) >= 0 and (match := _TAG.match(text, at)):
            tag, at = match[0], match.end()
            if not tag.startswith((b"<!", b"<?")) and not tag.endswith(b"/>"):
                self._depth = _checked(self._depth + (-1 if tag.startswith(b"</") else 1))
        self._rest = text[at:] if at >= 0 else b""
        if len(self._rest) > _MAX_TAG:
            raise DataError(f"it has a tag or comment of more than {_MAX_TAG >> 20} MB")
        return data
