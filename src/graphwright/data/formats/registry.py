"""Choice of the format of a file: by its first bytes, by its suffix, and by formats of other packages."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import PurePath

from graphwright.data.decoding import SAMPLE, is_binary
from graphwright.data.formats.format import File, Format, Part, UnreadableError
from graphwright.data.formats.source_code import SUFFIXES as CODE_SUFFIXES
from graphwright.errors import DataError

GROUP = "graphwright.formats"
"""The entry point group in which other packages name formats."""


def _reader(module: str, name: str = "read") -> Callable[[File], Iterable[Part]]:
    """Return a reader whose module is imported when it first reads a file."""

    def read(file: File) -> Iterable[Part]:
        reader: Callable[[File], Iterable[Part]] = getattr(import_module(f"graphwright.data.formats.{module}"), name)
        return reader(file)

    return read


_TEXT = Format("text", (), _reader("text", "read_text"))
_HTML = Format("HTML page", (".html", ".htm", ".xhtml"), _reader("text", "read_html"))
_PDF = Format("PDF", (".pdf",), _reader("pdf"))
_DOCX = Format("Word document", (".docx", ".docm", ".dotx", ".dotm"), _reader("docx"))
_PPTX = Format("PowerPoint presentation", (".pptx", ".pptm", ".ppsx", ".ppsm"), _reader("pptx"))
_XLSX = Format("Excel workbook", (".xlsx", ".xlsm", ".xltx", ".xltm"), _reader("xlsx"))
_EPUB = Format("EPUB book", (".epub",), _reader("epub"))
_ODT = Format("OpenDocument text", (".odt", ".ott"), _reader("odt"))
_ZIP = Format("zip archive", (".zip",), _reader("archives", "read_zip"))
_TAR = Format("tar archive", (".tar", ".tgz", ".tbz2", ".txz", ".bz2", ".xz"), _reader("archives", "read_tar"))
_MAILBOX = Format("mailbox", (".mbox", ".mbx"), _reader("mail", "read_mailbox"))
FORMATS = (
    Format("Markdown", (".md", ".markdown"), _reader("text", "read_markdown")),
    _HTML,
    Format("reStructuredText", (".rst", ".rest"), _reader("restructured_text")),
    Format("AsciiDoc", (".adoc", ".asciidoc", ".asc"), _reader("asciidoc")),
    Format("notebook", (".ipynb",), _reader("notebook")),
    Format("e-mail", (".eml",), _reader("mail")),
    _MAILBOX,
    Format("source code", CODE_SUFFIXES, _reader("source_code")),
    *(_PDF, _DOCX, _PPTX, _XLSX, _EPUB, _ODT, _ZIP, _TAR),
)
"""The built-in formats besides rows of tables."""
_BINARY = (_PDF, _DOCX, _PPTX, _XLSX, _EPUB, _ODT, _ZIP, _TAR)
_ENTRIES = (("word/", _DOCX), ("ppt/", _PPTX), ("xl/", _XLSX))  # of an Office document that is a zip archive
_MIMETYPES = {b"application/epub+zip": _EPUB, b"application/vnd.oasis.opendocument.text": _ODT}
_PGP = tuple(f"-----BEGIN PGP {kind}".encode() for kind in ("MESSAGE", "SIGNATURE", "PUBLIC KEY", "PRIVATE KEY"))
_MAGIC: tuple[tuple[bytes | tuple[bytes, ...], str], ...] = (
    (
        b"\xd0\xcf\x11\xe0",
        "an old or encrypted Office document or Outlook message; save it as docx, xlsx, pptx or eml without a password",
    ),
    (b"{\\rtf", "rich text (RTF); save it as docx, text or HTML"),
    (_PGP, "a message, signature or key of PGP; decrypt a message first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it, or pack it as zip"),
    (b"Rar!\x1a\x07", "a RAR archive; unpack it, or pack it as zip"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd; unpack it, or pack it with gzip"),
)
_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype\s+)?html\b", re.IGNORECASE)
_TAR_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")


@cache
def other_formats() -> tuple[Format, ...]:
    """Return the formats that other packages add. Raises DataError for one that cannot be loaded."""
    formats = []
    for entry in entry_points(group=GROUP):
        try:
            loaded = entry.load()
        except Exception as error:  # of the other package
            raise DataError(
                f"the format {entry.name!r} of {entry.value} cannot be loaded ({type(error).__name__}: {error}). "
                f"Repair or uninstall its package."
            ) from error
        if not isinstance(loaded, Format):
            raise DataError(f"the format {entry.name!r} is {loaded!r}; the entry point must name a Format.")
        formats.append(loaded)
    return tuple(formats)


def format_of(file: File) -> Format:
    """Return the format of a file. Raises UnreadableError with the reason for one that cannot be read."""
    suffix = PurePath(file.name).suffix.lower()
    for format in other_formats():
        if suffix in format.suffixes:
            return format
    head = file.head(SAMPLE)
    if (by_content := _by_content(file, head, suffix)) is not None:
        return by_content
    expected = next((format for format in FORMATS if suffix in format.suffixes), _TEXT)
    if is_binary(head):
        raise UnreadableError(
            "binary, not text"
            if expected not in _BINARY
            else f"damaged: its content is not that of its kind, {expected.name}"
        )
    if head.startswith(b"From ") and expected is _TEXT and b"\nFrom: " in head[:4096]:
        return _MAILBOX
    if expected is not _TEXT and expected not in _BINARY:
        return expected
    return _HTML if _PAGE.match(head) else _TEXT


def _by_content(file: File, head: bytes, suffix: str) -> Format | None:
    """Return the format that the first bytes of a file show, None for text."""
    if b"%PDF-" in head[:1024] and is_binary(head):
        return _PDF
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zipped(file, suffix)
    if head[257:262] == b"ustar" or (head.startswith(_TAR_PACKED) and suffix in _TAR.suffixes):
        return _TAR
    if head.startswith(b"%PDF-"):
        return _PDF
    for magic, reason in _MAGIC:
        if head.startswith(magic):
            raise UnreadableError(reason)
    return None


def _zipped(file: File, suffix: str) -> Format:
    """Return the format of a zip archive by its entries.

    Raises UnreadableError for a damaged one, also of a document that is none any more, as its parts are not texts.
    """
    try:
        with file.open() as source, zipfile.ZipFile(source) as archive:
            names = archive.namelist()
            if "mimetype" in names and archive.getinfo("mimetype").file_size < 100:
                mimetype = archive.read("mimetype").strip()
                if mimetype in _MIMETYPES:
                    return _MIMETYPES[mimetype]
                if mimetype.startswith(b"application/vnd.oasis.opendocument"):
                    raise UnreadableError("an OpenDocument file that is no text; save it as xlsx, pptx or PDF")
            if "[Content_Types].xml" in names:
                for prefix, format in _ENTRIES:
                    if any(name.startswith(prefix) for name in names):
                        return format
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, RuntimeError) as error:
        raise UnreadableError(f"a damaged zip archive or Office document ({error}); fetch or save it again") from error
    expected = next((format for format in _BINARY if suffix in format.suffixes), _ZIP)
    if expected not in (_ZIP, _TAR):
        raise UnreadableError(f"damaged: its content is not that of its kind, {expected.name}")
    return _ZIP
