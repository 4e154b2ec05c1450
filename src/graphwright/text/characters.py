"""Characters in the one form in which texts, names and questions are stored and compared."""

from __future__ import annotations

import re
import unicodedata

# Soft hyphen, zero-width space, word joiner, byte order mark, marks of the direction of writing, and joiners.
_INVISIBLE = re.compile("[\xad\u200b\u2060-\u2064\ufeff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u200c\u200d]+")
_DIVIDED_SOFTLY = re.compile(r"\xad[ \t]*\n[ \t]*(\S+)(?:[ \t]*\n|[ \t]+|\Z)")
_NOT_JOINERS = re.compile("[^\u200c\u200d]")
# Ligatures, Hebrew and Arabic presentation forms, Roman numerals, squared units, degrees, full-width letters and
# digits, half-width katakana and Hangul, mathematical letters, and lowered digits and letters.
_FORM = re.compile(
    "[\ufb00-\ufb06\ufb13-\ufb17\ufb1d-\ufb4f\ufb50-\ufbb1\ufbd3-\ufc5d\ufc64-\ufd3d\ufd50-\ufdfb\ufe80-\ufefc"
    "\u2160-\u217f\u2103\u2109\u2113\u3371-\u33df\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff65-\uffdc"
    "\U0001d400-\U0001d7ff\u2080-\u208e\u2090-\u209c]+"
)
_RAISED = re.compile("[\u2070\u00b9\u00b2\u00b3\u2074-\u207b]+")
_BEFORE_POWER = re.compile(r"[\d)]|[^\W\d_]{4}")
_PLAIN = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_RAISE = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_LETTERS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*(?!-?\n)")
_DIVIDED = re.compile(r"(?<![\w-])([^\W\d_]{2,})-\n[ \t]*((?=[^\W\d_])[^\W\d_A-Z]{2,})([^\s\w]*)(?:[ \t]+\n?|\n|\Z)")
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\ud800-\udfff"
_OTHER = re.compile(f"[{_CONTROLS}\xa0\u1680\u2000-\u200a\u202f\u205f\u3000\u2010\u2011]")
_REPLACEMENTS = {"\x0b": "\n", "\x0c": "\n\n", "\x85": "\n", "\u2028": "\n", "\u2029": "\n\n"} | dict.fromkeys(
    "\u2010\u2011", "-"
)
_UNCLEAN_NAME = re.compile(f"[{_CONTROLS}\t\n\xad\u200b\ufeff]")


def clean(text: str) -> str:
    r"""Return a text in the form that is stored and compared: composed letters (NFC), and no invisible characters.

    Ligatures, presentation forms, full-width letters, spaces, hyphens and lowered digits become plain ones; raised
    digits too, after "^", where a digit or a word of four letters precedes them: those of units (m²) stay. A word
    divided at a line end by a soft hyphen is joined before that line end. Line ends become `\n`, form feeds a paragraph
    break, other control characters a space, and lone surrogates U+FFFD. Joiners stay in scripts and emoji that need
    them.

    >>> clean("co\xadoperate\r\nnow\x00\ud800"), clean("e\u0301tat de l\u2019oﬃce\u00a0: ４²")
    ('cooperate\nnow \ufffd', 'état de l’office : 4^2')
    >>> clean("the Kontor\xad\nhaus is")
    'the Kontorhaus\nis'
    >>> clean("H₂O, 10³ l, 25 m², see note¹")
    'H2O, 10^3 l, 25 m², see note^1'
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _OTHER.sub(lambda match: _REPLACEMENTS.get(match[0], "\ufffd" if match[0] >= "\ud800" else " "), text)
    if not text.isascii():
        while _DIVIDED_SOFTLY.search(text):  # a word may be divided at several line ends
            text = _DIVIDED_SOFTLY.sub(r"\1\n", text)
        text = composed(_FORM.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text))
        text = _RAISED.sub(_power, composed(_INVISIBLE.sub(_joiners, text)))
    return text


def _joiners(run: re.Match[str]) -> str:
    """Return the joiners of a run of invisible characters, which only have a meaning in some scripts and in emoji."""
    return _NOT_JOINERS.sub("", run[0]) if run.string[run.start() - 1 : run.start()] > "\u0590" else ""


def _power(run: re.Match[str]) -> str:
    before = run.string[max(run.start() - 4, 0) : run.start()]
    is_power = _BEFORE_POWER.fullmatch(before) or _BEFORE_POWER.fullmatch(before[-1:])
    return f"^{run[0].translate(_PLAIN)}" if is_power else run[0]


def unhyphenated(text: str) -> str:
    r"""Return a text whose words are not divided at line ends.

    The hyphen stays where the text has it elsewhere in the word, or has both parts, but not the whole, as words.

    >>> unhyphenated("Every morn-\ning, and well-\nknown. Is it known well?")
    'Every morning,\nand well-known.\nIs it known well?'
    """
    if not _DIVIDED.search(text):
        return text
    known = set(_LETTERS.findall(text.lower()))

    def joined(divided: re.Match[str]) -> str:
        first, rest, after = divided.groups()
        one, two = first.lower(), rest.lower()
        hyphen = "-" if f"{one}-{two}" in known or (one + two not in known and {one, two} <= known) else ""
        return f"{first}{hyphen}{rest}{after}\n"

    return _DIVIDED.sub(joined, text)


def raised(before: str, text: str) -> str:
    """Return a raised text of a page as it is written after a text: a number raised, another text plain.

    >>> raised("10", "3"), raised("25 m", "2"), raised("1", "st")
    ('^3', '²', 'st')
    """
    if not re.fullmatch(r"[+\-−]?\d+", text.strip(), re.ASCII):
        return text
    return clean(before[-8:] + text.strip().translate(_RAISE))[len(clean(before[-8:])) :]


def composed(text: str) -> str:
    """Return a name or a pattern with composed letters (NFC), as ids are compared."""
    return unicodedata.normalize("NFC", text)


def file_name(name: str) -> str:
    r"""Return the name of a file for ids, composed; invisible and control characters, and bytes not UTF-8, become %XX.

    >>> file_name("caf\udce9.txt"), file_name("two\nlines"), file_name("Ku\u0308hlhaus")
    ('caf%E9.txt', 'two%0Alines', 'Kühlhaus')
    """
    return _UNCLEAN_NAME.sub(_escaped, composed(name))


def _escaped(match: re.Match[str]) -> str:
    byte = ord(match[0]) - 0xDC00  # as surrogateescape has it
    data = bytes([byte]) if 0x80 <= byte <= 0xFF else match[0].encode("utf-8", "surrogatepass")
    return "".join(f"%{byte:02X}" for byte in data)
