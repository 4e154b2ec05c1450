"""Choice of the format of a file: by its content, by its suffix, and by formats of other packages.

A built-in format is a module of this folder with a tuple `FORMATS`. So one new file adds a format.
"""

from __future__ import annotations

import zipfile
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import PurePath
from pkgutil import iter_modules
from typing import Any

from graphwright.data import formats as folder
from graphwright.data.decoding import SAMPLE, is_binary
from graphwright.data.formats.archives import TAR, ZIP, ZIP_MAGIC
from graphwright.data.formats.format import Extracted, File, Format, UnreadableError
from graphwright.errors import DataError
from graphwright.text.characters import unhyphenated

TEXT = Format("text", (), lambda file: [Extracted(unhyphenated(file.text()))])
FORMATS = (TEXT,)
GROUP = "graphwright.formats"  # the entry point group in which other packages name formats

_PGP = tuple(f"-----BEGIN PGP {kind}".encode() for kind in ("MESSAGE", "SIGNATURE", "PUBLIC KEY", "PRIVATE KEY"))
_REFUSED: tuple[tuple[bytes | tuple[bytes, ...], str], ...] = (  # first bytes of formats without a reader
    (
        b"\xd0\xcf\x11\xe0",
        "an old or encrypted Office document or Outlook message; save it as docx, xlsx, pptx or eml without a password",
    ),
    (b"{\\rtf", "rich text (RTF); save it as docx, text or HTML"),
    (_PGP, "a message, signature or key of PGP; decrypt a message first"),
    ((b"%!PS", b"\x04%!PS", b"%!\n"), "PostScript, a program that draws pages; save it as PDF or text"),
    ((b"\x1b%-12345X", b"@PJL"), "data for a printer; save it as PDF or text"),
    ((b"/* XPM */", b"P1\n", b"P2\n", b"P3\n"), "an image"),
    ((b"StartFontMetrics", b"STARTFONT", b"%!FontType"), "a font"),
    (
        (b"-----BEGIN CERTIFICATE", b"-----BEGIN RSA", b"-----BEGIN OPENSSH", b"-----BEGIN PRIVATE"),
        "a key or certificate",
    ),
    (b"begin 644 ", "encoded by uuencode; decode it"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it, or pack it as zip"),
    (b"Rar!\x1a\x07", "a RAR archive; unpack it, or pack it as zip"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd; unpack it, or pack it with gzip"),
)


@cache
def formats() -> tuple[Format, ...]:
    """Return the built-in formats besides rows of tables."""
    names = [module.name for module in iter_modules(folder.__path__) if not module.ispkg]
    modules = (import_module(f"{folder.__name__}.{name}") for name in names)
    return tuple(format for module in modules for format in getattr(module, "FORMATS", ()))


def of_other_packages(group: str, kind: str) -> list[tuple[str, Any]]:
    """Return what other packages name in a group of entry points. Raises DataError for one that cannot be loaded."""
    added = []
    for entry in entry_points(group=group):
        try:
            added.append((entry.name, entry.load()))
        except Exception as error:  # of the other package
            raise DataError(
                f"the {kind} {entry.name!r} of {entry.value} cannot be loaded ({type(error).__name__}: {error}). "
                f"Repair or uninstall its package."
            ) from error
    return added


@cache
def other_formats() -> tuple[Format, ...]:
    """Return the formats that other packages add. Raises DataError for a format that cannot be loaded."""
    added = of_other_packages(GROUP, "format")
    for name, format in added:
        if not isinstance(format, Format):
            raise DataError(f"the format {name!r} is {format!r}; the entry point must name a Format.")
    return tuple(format for _, format in added)


def format_of(file: File) -> Format:
    """Return the format of a file. Raises UnreadableError with the reason if it cannot be read."""
    suffix = PurePath(file.name).suffix.lower()
    if other := next((format for format in other_formats() if suffix in format.suffixes), None):
        return other
    head = file.head(SAMPLE)
    expected = next((format for format in formats() if suffix in format.suffixes), TEXT)
    if head.startswith(ZIP_MAGIC):
        return _zipped(file, expected)
    if shown := _by_content(head, suffix, binary=True):
        return shown
    if reason := next((reason for magic, reason in _REFUSED if head.startswith(magic)), ""):
        raise UnreadableError(reason)
    if is_binary(head):
        raise _damaged(expected) if expected.binary else UnreadableError("binary, not text")
    if expected is not TEXT and not expected.binary:
        return expected
    return _by_content(head, suffix, binary=False) or TEXT


def _by_content(head: bytes, suffix: str, *, binary: bool) -> Format | None:
    candidates = (format for format in formats() if format.binary == binary and format.by_content)
    return next((format for format in candidates if format.by_content and format.by_content(head, suffix)), None)


def _damaged(expected: Format) -> UnreadableError:
    return UnreadableError(f"damaged: its content is not of the format {expected.name}")


def _zipped(file: File, expected: Format) -> Format:
    """Return a zip's format by its members. Raises UnreadableError if it is damaged, or lacks those of its suffix."""
    try:
        with file.open() as source, zipfile.ZipFile(source) as archive:
            for format in formats():
                if format.by_members and format.by_members(archive):
                    return format
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, RuntimeError) as error:
        raise UnreadableError(f"a damaged zip archive or Office document ({error}); fetch or save it again") from error
    if expected.binary and expected not in (ZIP, TAR):
        raise _damaged(expected)
    return ZIP
