"""Text files: opening, unpacking, and decoding bytes of unknown encoding.

Byte order marks, UTF-8, UTF-16 and the Latin code pages are detected here: charset-normalizer 3.5 confuses the Latin
code pages with one another (48 of 72 texts right, 66 here). It detects the other encodings.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, AnyStr

from graphwright.errors import DataError

SAMPLE = 1 << 16
"""Bytes at the start of a file from which its encoding is detected."""
MAX_LINE = 64 * 2**20
"""Maximum bytes of a line of rows."""

_MARKS = (  # longest first: the mark of UTF-16 begins that of UTF-32
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_JSON = (".geojson", ".topojson", ".har", ".jsonc", ".webmanifest")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b")) + b"\x7f"
_HIGH = re.compile(rb"[\x80-\xff]+")
_ALL_HIGH = bytes(range(128, 256))
_BETWEEN_WORDS = re.compile(rb"[^@-~\x80-\xff]+")  # the second byte of a character may be a letter or bracket of ASCII
_WESTERN = ("cp1252", "cp1250", "cp850", "mac_roman")  # code pages of Latin script, the usual one first
# A character that is no small letter between two: Polish l with stroke is "³" in Western Europe's code page.
_IN_WORD = re.compile(r"(?<=[a-z])[^\x00-\x7f’‘–—…·](?=[a-z])")
_NOT_LATIN = ["cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "cp932", "gb18030", "cp949", "big5", "euc_jp"]


def decode(data: bytes, declared: str = "") -> str | None:
    """Return the bytes as text, or None if no encoding fits.

    Tried in this order: a byte order mark; UTF-16, detected by its zero bytes; UTF-8; UTF-8 with a few damaged
    bytes (which become U+FFFD), or cut within a character; the `declared` encoding, as HTML pages name one; a guess.
    Lines of UTF-8 in a text of a Latin code page, as where files were joined, are read as UTF-8.

    >>> decode("Füße".encode("cp1252")), decode("Füße".encode("cp1252") + "\\nMühe, Öl".encode())
    ('Füße', 'Füße\\nMühe, Öl')
    """
    if codec := _marked(data[:SAMPLE]):
        return data.decode(codec, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", "replace")
        has_valid = _beyond_ascii(text)[0] > 0
        if _hardly_damaged(text) or (has_valid and error.reason == "unexpected end of data"):
            return text
        sample = _from_word(data, error.start)
    codec = _fitting(declared, sample) or _guess(sample)
    if codec in _WESTERN and has_valid:
        return "\n".join(_line_text(line, codec) for line in data.split(b"\n"))
    return data.decode(codec, "replace") if codec else None


def _line_text(line: bytes, codec: str) -> str:
    """Return a line as text, in UTF-8 if that fits, else in a code page."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode(codec, "replace")


def encoding_of(head: bytes) -> str:
    """Return the probable encoding of a text by its first bytes; a few damaged bytes do not count."""
    return (_marked(head) if head else "") or _codec_of(head)


def is_binary(head: bytes) -> bool:
    """Return whether a file is binary: more than 1 % of its first bytes are control bytes."""
    return not _marked(head) and _has_controls(head)


def existing(path: Path | str) -> Path:
    """Return the path. Raises DataError if it does not exist."""
    path = Path(path)
    if not path.exists():
        raise DataError(f"no such file or folder: {path}. Paths start from {Path.cwd()}.")
    return path


def open_bytes(path: Path) -> io.BufferedReader:
    """Open a file for reading bytes; a file whose name ends in `.gz` is unpacked.

    Raises OSError if it cannot be opened. Reading raises DataError if it cannot be read to its end.
    """
    source = gzip.GzipFile(path, "rb") if path.suffix.lower() == ".gz" else io.FileIO(path)
    return io.BufferedReader(_Bytes(path, source), SAMPLE)


class _Bytes(io.RawIOBase):
    def __init__(self, path: Path, source: gzip.GzipFile | io.FileIO) -> None:
        self.path, self.source = path, source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        try:
            return self.source.readinto(buffer)
        except (OSError, EOFError, zlib.error) as error:
            packed = isinstance(self.source, gzip.GzipFile)
            remedy = (
                "Fetch or pack it again, or remove .gz from its name if it is not packed" if packed else "Replace it"
            )
            raise DataError(f"{self.path} cannot be read to its end ({error}). {remedy}.") from error

    def close(self) -> None:
        self.source.close()
        super().close()


def unpacked(content: bytes, limit: int) -> bytes:
    """Return the content of a gzip file, at most `limit` bytes. Raises DataError if it is damaged."""
    try:
        return gzip.GzipFile(fileobj=io.BytesIO(content)).read(limit)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"a damaged gzip file ({error}). Fetch or pack it again.") from error


def suffix_of(path: Path) -> str:
    """Return the suffix that identifies a file's format, in lower case and without `.gz`; GeoJSON is JSON.

    >>> suffix_of(Path("corpus.JSONL.gz")), suffix_of(Path("wells.geojson"))
    ('.jsonl', '.json')
    """
    suffix = Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()
    return ".json" if suffix in _JSON else suffix


def stem(path: Path) -> str:
    """Return the name of a file up to its first dot."""
    return path.name.partition(".")[0]


def mixes_line_ends(path: Path) -> bool:
    r"""Return whether the lines of a file end in more than one of `\n`, `\r\n` and `\r`."""
    with open_bytes(path) as raw:
        decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("latin-1")(), translate=False)
        while data := raw.read(1 << 20):
            decoder.decode(data)
            if isinstance(decoder.newlines, tuple):
                return True
    return False


def lines(path: Path) -> Iterator[str]:
    r"""Yield the lines of a file as text, without their ends, one in memory at a time.

    A line ends at `\n`, `\r\n` or `\r`. The encoding is detected as in `decode`, from the first line that is
    not ASCII on; bytes that do not fit it become U+FFFD. Raises DataError for a line above MAX_LINE bytes.
    """
    with open_bytes(path) as raw:
        codec = _marked(raw.peek(SAMPLE)[:SAMPLE])
        decoded = _limited(io.TextIOWrapper(raw, codec, "replace"), path) if codec else _decoded(raw, path)
        for line in decoded:
            line = line.rstrip("\r\n")
            if "\r" in line:
                yield from line.split("\r")
            else:
                yield line


def _limited(file: IO[AnyStr], path: Path) -> Iterator[AnyStr]:
    """Yield the lines of a file. Raises DataError for a line that is too long, so that memory stays bounded."""
    while line := file.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise DataError(f"{path}: a line of more than {MAX_LINE >> 20} MB. Divide it, or leave the file out.")
        yield line


def _decoded(raw: io.BufferedReader, path: Path) -> Iterator[str]:
    codec = ""
    for line in _limited(raw, path):
        if not codec and not line.isascii():
            first = _HIGH.search(line)
            codec = _codec_of(_from_word(line, first.start() if first else 0) + raw.peek(SAMPLE))
        yield _line_text(line, codec) if codec in _WESTERN else line.decode(codec or "utf-8", "replace")


def _codec_of(sample: bytes) -> str:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        damaged = _hardly_damaged(sample.decode("utf-8", "replace"))
        return "utf-8" if damaged else _guess(sample) or "utf-8"
    return "utf-8"


def _from_word(data: bytes, offset: int) -> bytes:
    """Return a sample of long data that begins at the word at `offset`, and so with a whole character."""
    begin = max(data.rfind(b" ", 0, offset), data.rfind(b"\n", 0, offset)) + 1
    sample = data[begin if offset - begin < SAMPLE else offset :][: SAMPLE * 2]
    whole = sample.rstrip(_ALL_HIGH) if len(sample) == SAMPLE * 2 else sample
    return whole if len(whole) > SAMPLE else sample


def _marked(head: bytes) -> str:
    """Return the encoding of a byte order mark, or of UTF-16 without one; else an empty string."""
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return codec
    # UTF-16 without a mark has many zero bytes, nearly all at even or nearly all at odd places.
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) * 5 < len(head) or min(even, odd) * 20 > max(even, odd):
        return ""
    codec = "utf-16-be" if even > odd else "utf-16-le"
    text = head[: len(head) // 2 * 2].decode(codec, "replace")
    return "" if _has_controls(text.encode()) else codec  # small two-byte numbers look the same


def _has_controls(data: bytes) -> bool:
    return (len(data) - len(data.translate(None, _CONTROLS))) * 100 > len(data)


def _hardly_damaged(text: str) -> bool:
    """Return whether at most one in ten characters beyond ASCII was lost in decoding."""
    valid, lost = _beyond_ascii(text)
    return lost * 10 <= valid


def _beyond_ascii(text: str) -> tuple[int, int]:
    """Return the numbers of characters beyond ASCII that were decoded, and that were lost in it."""
    lost = text.count("\ufffd")
    return len(text) - len(text.encode("ascii", "ignore")) - lost, lost


def _fitting(codec: str, sample: bytes) -> str:
    """Return the codec if it decodes the sample, else an empty string."""
    try:
        sample.decode(codec, "strict")
    except UnicodeDecodeError as error:
        return codec if error.start > len(sample) - 8 else ""  # the sample may end inside a character
    except (LookupError, ValueError):
        return ""
    return codec


def _guess(sample: bytes) -> str:
    """Return the probable encoding of text that is not UTF-8, or an empty string.

    In Latin script, bytes above ASCII stand alone between ASCII letters; other scripts are runs of such bytes,
    and only the words that contain them are given to charset-normalizer.
    """
    from charset_normalizer import from_bytes

    words = b" ".join(word for word in _BETWEEN_WORDS.split(sample) if not word.isascii())
    runs = _HIGH.findall(words)
    high = sum(map(len, runs))
    if high > 1.5 * len(runs) and high > 0.55 * len(words):
        best = from_bytes(words, cp_isolation=_NOT_LATIN).best()
        return best.encoding if best else ""
    errors = [_errors(words, codec) for codec in _WESTERN]
    return _WESTERN[errors.index(min(errors)) if errors[0] * 10 > len(runs) else 0]


def _errors(words: bytes, codec: str) -> int:
    """Return the number of characters that a code page lacks, or that are no small letters between small letters."""
    text = words.decode(codec, "replace")
    return text.count("\ufffd") + sum(not char.islower() for char in _IN_WORD.findall(text))
