"""Plain text in any encoding."""

from __future__ import annotations

from collections.abc import Iterator

from graphwright.data.formats.format import Extracted, File, Format


def read(file: File) -> Iterator[Extracted]:
    """Yield a text as it is."""
    yield Extracted(file.text())


TEXT = Format("text", (), read)
FORMATS = (TEXT,)
