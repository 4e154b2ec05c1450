"""Bytes to text: byte order marks, UTF-8 and UTF-16, then the encodings of older files."""

from __future__ import annotations

import codecs
import gzip
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

__all__ = ["SAMPLE", "clean", "decode", "encoding_of", "lines", "looks_binary", "open_bytes", "suffix_of"]

SAMPLE = 1 << 16  # bytes at the start of a file that tell what it is

_MARKS = (  # longest first: the mark of UTF-16 begins that of UTF-32
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b")) + b"\x7f"
_HIGH = re.compile(rb"[\x80-\xff]+")
_ALL_HIGH = bytes(range(128, 256))
# What is a sign in Western Europe's code page and a letter in Central Europe's: Polish l with stroke is "³".
_SIGN_IN_WORD = re.compile(r"(?<=[a-z])[¹³¿£¥¯ªº¼¾](?=[a-z])", re.IGNORECASE)
_NOT_LATIN = ["cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "cp932", "gb18030", "cp949", "big5", "euc_jp"]

_UNCLEAN = re.compile("[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\u200b\xad\ufeff\ud800-\udfff]")
_CLEANED = {"\x0b": "\n", "\x0c": "\n\n", "\x85": "\n", "\u2028": "\n", "\u2029": "\n\n"}
_DROPPED = "\u200b\xad\ufeff"  # zero-width space, soft hyphen, byte order mark: unseen, but they part words


def clean(text: str) -> str:
    r"""Return the text without what no reader sees and stores choke on.

    Line ends become `\n`, form feeds a paragraph break, other control characters a space, and half
    surrogate pairs (which JSON can hold and UTF-8 cannot) U+FFFD. Anything else stays as it is.

    >>> clean("co\xadoperate\r\nnow\x00\ud800")
    'cooperate\nnow \ufffd'
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNCLEAN.sub(_replacement, text)


def _replacement(match: re.Match[str]) -> str:
    char = match[0]
    if char in _DROPPED:
        return ""
    return _CLEANED.get(char, "\ufffd" if char >= "\ud800" else " ")


def decode(data: bytes, declared: str = "") -> str | None:
    """Return the bytes as text, or None where no encoding makes text of them.

    Tried in turn: a byte order mark, UTF-16 told by its zero bytes, UTF-8, UTF-8 with a few damaged
    places (they become U+FFFD), the `declared` name (an HTML page states one), then a guess.

    >>> decode("Füße".encode("cp1252"))
    'Füße'
    """
    if marked := _marked(data[:SAMPLE]):
        return data.decode(marked, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", "replace")
        if _hardly_damaged(text):
            return text
        sample = _from_word(data, error.start)
    codec = _known(declared, sample) or _guess(sample)
    return data.decode(codec, "replace") if codec else None


def encoding_of(head: bytes) -> str:
    """Return what the first bytes of a text seem to be written in, a few damaged places aside.

    >>> encoding_of("Füße".encode("cp1252")), encoding_of("Füße".encode("utf-16")), encoding_of(b"feet")
    ('cp1252', 'utf-16', 'utf-8')
    """
    return (_marked(head) if head else "") or _codec_of(head)


def looks_binary(head: bytes) -> bool:
    """Say whether the first bytes of a file are no text: more than one in a hundred is a control byte."""
    if _marked(head):
        return False
    return _has_controls(head)


def open_bytes(path: Path) -> io.BufferedReader:
    """Open a file for reading bytes, unpacked where its name ends in `.gz`."""
    packed = path.suffix.lower() == ".gz"
    raw = cast(io.RawIOBase, gzip.GzipFile(path, "rb")) if packed else io.FileIO(path)
    return io.BufferedReader(raw, SAMPLE)


def suffix_of(path: Path) -> str:
    """Return the suffix that tells a file's form, in lower case, `.gz` left aside.

    >>> suffix_of(Path("corpus.JSONL.gz"))
    '.jsonl'
    """
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


def lines(path: Path) -> Iterator[str]:
    r"""Yield the lines of a file as text, without their ends, one in memory at a time.

    A line ends at `\n`, `\r\n` or `\r`. The encoding is found as in `decode`, the guess being made at
    the first line that is not UTF-8; bytes that do not fit it become U+FFFD.
    """
    with open_bytes(path) as raw:
        marked = _marked(raw.peek(SAMPLE)[:SAMPLE])
        decoded = io.TextIOWrapper(raw, marked, "replace") if marked else _decoded(raw)
        for line in decoded:
            line = line.rstrip("\r\n")
            if "\r" in line:
                yield from line.split("\r")
            else:
                yield line


def _decoded(raw: io.BufferedReader) -> Iterator[str]:
    codec = "utf-8"
    settled = False  # a line with other than ASCII has been read, so the file's encoding is known
    for line in raw:
        if not settled and not line.isascii():
            settled = True
            first = _HIGH.search(line)
            codec = _codec_of(_from_word(line, first.start() if first else 0) + raw.peek(SAMPLE))
        yield line.decode(codec, "replace")


def _codec_of(sample: bytes) -> str:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        damaged = _hardly_damaged(sample.decode("utf-8", "replace"))
        return "utf-8" if damaged else _guess(sample) or "utf-8"
    return "utf-8"


def _from_word(data: bytes, offset: int) -> bytes:
    """Cut a sample out of long data that begins with the word at `offset`, so with a whole character."""
    begin = max(data.rfind(b" ", 0, offset), data.rfind(b"\n", 0, offset)) + 1
    sample = data[begin if offset - begin < SAMPLE else offset :][: SAMPLE * 2]
    whole = sample.rstrip(_ALL_HIGH) if len(sample) == SAMPLE * 2 else sample
    return whole if len(whole) > SAMPLE else sample


def _marked(head: bytes) -> str:
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return codec
    # Without a mark: text in UTF-16 has many zero bytes, and nearly all on one side.
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) * 5 < len(head) or min(even, odd) * 20 > max(even, odd):
        return ""
    codec = "utf-16-be" if even > odd else "utf-16-le"
    text = head[: len(head) // 2 * 2].decode(codec, "replace")
    return "" if _has_controls(text.encode()) else codec  # small numbers of two bytes look so too


def _has_controls(data: bytes) -> bool:
    return (len(data) - len(data.translate(None, _CONTROLS))) * 100 > len(data)


def _hardly_damaged(text: str) -> bool:
    lost = text.count("\ufffd")
    return lost * 10 <= len(text) - len(text.encode("ascii", "ignore")) - lost


def _known(declared: str, sample: bytes) -> str:
    try:
        sample.decode(declared, "strict")
    except UnicodeDecodeError as error:
        return declared if error.start > len(sample) - 8 else ""  # the sample may end inside a character
    except (LookupError, ValueError):
        return ""
    return declared


def _guess(sample: bytes) -> str:
    """Name the encoding of text that is not UTF-8, or give an empty string.

    In Latin script the bytes above ASCII stand alone among ASCII letters; other scripts are made of runs
    of them. Detectors confuse the Latin code pages with one another and drown in ASCII, so the first kind
    is told here, and only the words at issue of the second go to charset-normalizer.
    """
    from charset_normalizer import from_bytes

    words = b" ".join(word for word in sample.split() if not word.isascii())
    runs = _HIGH.findall(words)
    high = sum(map(len, runs))
    if high > 1.5 * len(runs) and high > 0.55 * len(words):
        best = from_bytes(words, cp_isolation=_NOT_LATIN).best()
        return best.encoding if best else ""
    western = words.decode("cp1252", "replace")
    foreign = len(_SIGN_IN_WORD.findall(western)) + western.count("\ufffd")
    return "cp1250" if foreign * 10 > len(runs) and _known("cp1250", words) else "cp1252"
