"""Words: splitting of texts into words, stop words, words that are not names, and terms that a text repeats."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from zlib import crc32

from graphwright.text.scripts import (
    MARKS,
    OTHER_SCRIPTS,
    UNSPACED,
    characters,
    fold_letters,
    pairs,
    runs,
    without_article,
)

STOP_WORDS = frozenset(  # words without information about a passage (stop words); `graphwright.text.words` drops them
    (
        "a about above after again against all also am an and any are as at be because been before being below"
        " between both but by can could did do does doing down during each few for from further had has have having"
        " he her hers him himself his how i if in into is it its itself just me more most my no nor not now of off on"
        " once only or other our out over own s same she should so some such t than that the their them then there"
        " these they this those through to too under until up us very was we were what when where which while who"
        " whom whose why will with would you your"
    ).split()
)

NOT_NAMES = STOP_WORDS - frozenset("doing down himself itself me s same t".split()) | frozenset(
    (
        "according along although among another around back based besides beyond born despite directed dr early"
        " either elsewhere even eventually every finally first following former formerly founded hence here however"
        " including initially inside instead known last late later latter like located many may meanwhile moreover mr"
        " mrs ms much named near nearly neither nevertheless none often one onto originally others outside part"
        " people per perhaps previously produced rather recently released second several similarly since sir"
        " sometimes soon still subsequently therefore third though three throughout thus today together toward"
        " towards two unlike upon used usually well whereas whether within without written yet"
    ).split()
)
"""Words that are not names, although a sentence may begin with them and so write them with a capital."""

BOILERPLATE = frozenset(  # normal names of parts of documents: headings, files and navigation
    (
        "abstract appendix author authors availability bug bugs caution chapter changelog conforming contents"
        " copyright copying credits date default defaults description diagnostics environment example examples"
        " faq figure file files history home important index install installation introduction license licence"
        " maintainer menu name navigation news next note notes option options overview page parameters"
        " part prev previous readme reference references return search section see status summary synopsis syntax"
        " table thanks tip title todo top untitled up usage value values version warning"
    ).split()
) | {
    "exit status", "reporting bugs", "return value", "return values", "see also", "table of contents", "known bugs",
    "changelog debian", "news debian", "readme debian", "standard options", "copyright notice",
}  # fmt: skip

FILE_TITLES = frozenset("changelog copyright copying readme news todo authors install license index thanks".split()) | {
    "changelog debian", "news debian", "readme debian",
}  # fmt: skip
"""Titles, in normal form, that a document only has from the name of its file."""

FIRST_WORDS = tuple(  # common first words: before one even the full stop of an abbreviation ends a sentence
    (
        "A An And Although After As At Before Both But By During Each For From He Her Here His How However I If In"
        " It Its Later Many Most My No On One Other Our She Since So Some Such That The Their Then There These They"
        " This Those Though Thus To Until We What When Where Which While Who Why With You Your"
    ).split()
)

WORD = re.compile(r"\w+")  # a run of letters, digits and underscores

COMPOUND = re.compile(r"\w+(?:[.'’&-]\w+)*")  # with the signs inside: "O'Neill", "AT&T", "co-operate", "3.5"

IDENTIFIER = re.compile(r"[-./~$@#]{0,2}\w{1,80}(?:[-./:+#@&\\*=~$%]{1,3}\w{1,80}){0,16}[+#]{0,2}")
PIECE = re.compile(r"[^/\\:=@]+")
"""A word with the signs in it and before it: "--no-verify", "a/conf.toml"; and its pieces: "a", "conf.toml"."""

_QUESTION_WORD = re.compile(rf"\w+(?:[{MARKS}]+\w*)*(?:[.'’&-]\w+(?:[{MARKS}]+\w*)*)*(?:\.|[+#]+(?!\w))?")
_INDEXED = re.compile(r"[^\W_]+(?:[.,](?=\d)\d+)*")  # a number keeps its separators: "1,000", "3.5"
_INDEXED_WITH_MARKS = re.compile(rf"[^\W_]+(?:[{MARKS}]+[^\W_]*)*(?:[.,](?=\d)\d+)*")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_CASE = r"(?:[^\W\d_]?[^\W\d_A-Z]+|[A-Z]+)"  # of a word without a capital inside
_PLAIN = re.compile(rf"{_CASE}(?:[-/&]+{_CASE})*|(?:[^\W\d_]\.)*[^\W\d_]|\d+(?:[.,]\d+)*")
"""What is no identifier: words, also joined by hyphens, initials with dots, and numbers."""
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+(?:[.,]\d+)*")


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of the words that a name may begin and end with: each character of an unspaced script.

    >>> text = "Is AT&T in 東京?"
    >>> [text[start:end] for start, end in word_spans(text)]
    ['Is', 'AT&T', 'in', '東', '京']
    """
    spans = [match.span() for match in _QUESTION_WORD.finditer(text)]
    return spans if not UNSPACED.search(text) else [part for span in spans for part in _parted(text, *span)]


def _parted(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for run in runs(text[start:end]):
        for part in characters(run) if UNSPACED.match(run) else [run]:
            yield start, start + len(part)
            start += len(part)


def words(text: str) -> list[str]:
    """Return the words of a text for matching: lower case, without accents, stop words and plural endings.

    Scripts without spaces, and Hangul, give pairs of neighbouring characters. Arabic gives words without points and
    article; see `fold_letters`.

    >>> words("Where were Łódź's 1,000 cafés and cities?"), words("GNU的東京都")
    (['łodz', '1,000', 'cafe', 'city'], ['gnu', '的東', '東京', '京都'])
    """
    folded = text.lower()
    if not folded.isascii():
        folded = fold_letters(_ACCENTS.sub("", unicodedata.normalize("NFKD", folded)))
        if re.search(OTHER_SCRIPTS, folded):
            terms = _INDEXED_WITH_MARKS.findall(unicodedata.normalize("NFC", folded))
            return [part for word in terms if word not in STOP_WORDS for part in _parts(word)]
        folded = unicodedata.normalize("NFC", folded)
    return [_singular(word) for word in _INDEXED.findall(folded) if word not in STOP_WORDS]


def terms(text: str) -> list[str]:
    """Return the terms by which passages are indexed: the words of a text, then its identifiers and their parts.

    An identifier is a word with signs in it or before it, in lower case: a code, an option, the name of a file. The
    parts of a word in mixed case or with digits are terms too.

    >>> terms("Or ERR_CONN --no-verify")[2:], terms("getUserById v2.3")
    (['verify', 'err_conn', '--no-verify'], ['getuserbyid', 'v2.3', 'get', 'user', 'id', '2.3'])
    """
    found = [name for name in identifiers(text) if not _INDEXED.fullmatch(name)]
    return [*words(text), *found, *_parts_of_names(text)]


def identifiers(text: str) -> list[str]:
    """Return the identifiers of a text and of its paths, in the form of `terms`.

    They are words with signs other than hyphens, with letters and digits, or with a capital after a small letter.

    >>> identifiers("Set ERR_CONN in a/conf.toml to v2.3, not 1,000, in NATO"), identifiers("getUsers")
    (['err_conn', 'a/conf.toml', 'conf.toml', 'v2.3'], ['getuser'])
    """
    if text[1:].islower() and text.isascii() and text.isalpha():  # a plain word, as most words that are asked for
        return []
    found = []
    for match in IDENTIFIER.finditer(text if text.isascii() else fold_accents(text)):
        whole = match.group()
        for piece in () if _PLAIN.fullmatch(whole) else dict.fromkeys((whole, *PIECE.findall(whole))):
            if not _PLAIN.fullmatch(piece):
                name = fold_letters(piece.lower())
                found.append(_singular(name) if _INDEXED.fullmatch(name) else name)
    return found


def _parts_of_names(text: str) -> Iterator[str]:
    for word in _INDEXED.findall(text):
        parts = () if _PLAIN.fullmatch(word) else _PARTS.findall(word)
        if len(parts) > 1:
            lower = (part.lower() for part in parts if len(part) > 1)
            yield from (_singular(part) for part in lower if part not in STOP_WORDS)


def fold_accents(text: str) -> str:
    """Return a text without accents."""
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))


def _singular(word: str) -> str:
    """Cut an English plural ending. Texts and queries are cut alike, so a wrong cut still matches itself."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _parts(word: str) -> Iterator[str]:
    """Yield a word, or its runs of unspaced scripts as pairs of characters, and the words between them."""
    if not UNSPACED.search(word):
        yield without_article(_singular(word))
        return
    for run in runs(word):
        if UNSPACED.match(run):
            yield from pairs(run)
        elif run not in STOP_WORDS:
            yield _singular(run)


_LETTERS = re.compile(r"[^\W\d_]{3,}")
_WITH_MARKS = re.compile(rf"[^\W\d_](?:[^\W\d_]|[{MARKS}])+")
_FIRST_SYLLABLE = "\uac00"  # of Hangul
_TERM_RUN = (  # kanji and katakana; Hangul; Thai, Lao, Burmese, Khmer
    "[\u3005-\u3007\u30a1-\u30fa\u30fc\u3400-\u9fff\uf900-\ufaff]+|[\uac00-\ud7a3]+|[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)
_MAX_PHRASES = 8
_MAX_TERMS = 16
_MIN_LETTERS = 4  # of a term in a script with spaces
_MAX_CHARACTERS = 24  # of a term in a script without spaces
_ALPHABETIC = re.compile("[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff]")  # Thai, Lao, Burmese, Khmer
_INSIDE = re.compile(f"[{MARKS}]")  # a mark, of the letter before it
_LEADING = re.compile("[\u0e40-\u0e44\u0ec0-\u0ec4]$")  # a vowel that is written before its consonant
_HIRAGANA = re.compile("[\u3041-\u309f]")
_COMPOUND = 3  # characters of a run between Hiragana that is a term


def repeated_phrases(text: str) -> list[tuple[str, int]]:
    """Return pairs of adjacent lower-case words that occur more than once, with the offset of the first occurrence.

    >>> repeated_phrases("A wind farm is a farm. The wind farm was built.")
    [('wind farm', 2)]
    """
    offsets: dict[str, int] = {}
    repeated: dict[str, int] = {}
    last, end = "", -9
    for match in _LETTERS.finditer(text):
        word = match.group()
        if word in NOT_NAMES or not word.islower():
            last = ""
            continue
        if last and match.start() == end + 1 and text[end] == " ":
            phrase = f"{last} {word}"
            if phrase in offsets:
                repeated.setdefault(phrase, offsets[phrase])
            else:
                offsets[phrase] = end - len(last)
        last, end = word, match.end()
    return sorted(repeated.items(), key=lambda item: item[1])[:_MAX_PHRASES]


def frequent_terms(text: str) -> list[tuple[int, str]]:
    """Return all occurrences of the most frequent terms of a text, words and runs of characters: (offset, term).

    In scripts without spaces a term is a repeated run of characters that is not part of a longer run repeated as often;
    in Hangul it begins a word, in alphabets it has whole letters, at least four. Japanese is divided at Hiragana: a run
    between them of three characters is a term, and so is a shorter one that is repeated. Of terms at one place, the
    longest. Ties: the longer term first, then the earlier one.

    >>> frequent_terms("the whale swam. a whale is a mammal")
    [(4, 'whale'), (10, 'swam'), (18, 'whale'), (29, 'mammal')]
    >>> frequent_terms("東京都は日本の首都。東京都の人口は京都市より多い")
    [(0, '東京都'), (10, '東京都'), (17, '京都市')]
    """
    offsets: dict[str, list[int]] = {}
    for match in _WITH_MARKS.finditer(UNSPACED.sub(lambda run: " " * len(run[0]), text)):
        word = match.group()
        if len(word) >= _MIN_LETTERS - (not word.isascii()) and word.lower() not in NOT_NAMES:
            offsets.setdefault(word.lower(), []).append(match.start())
    for term, starts in _repeated_runs(text).items():
        offsets.setdefault(term, []).extend(starts)
    best = sorted(offsets, key=lambda term: (-len(offsets[term]), -len(term), offsets[term][0]))[:_MAX_TERMS]
    found, end = [], 0
    for start, size in sorted({start: len(term) for term in sorted(best, key=len) for start in offsets[term]}.items()):
        if start + size > end:  # not inside a longer term
            found.append((start, text[start : start + size]))
            end = start + size
    return found


def _repeated_runs(text: str) -> dict[str, list[int]]:
    """Return the terms of unspaced scripts with their offsets: repeated runs and, between Hiragana, whole ones."""
    runs = [match.span() for match in re.finditer(_TERM_RUN, text)]
    ends = {at: end for start, end in runs for at in _starts(text, start, end)}
    terms: dict[str, list[int]] = {}
    repeated = _grouped(text, ends, ends, 2)
    for size in range(3, _MAX_CHARACTERS + 2):
        longer = _grouped(text, (start for starts in repeated.values() for start in starts), ends, size)
        covered = {
            part for run, at in longer.items() for part in (run[1:], run[:-1]) if len(repeated.get(part, ())) == len(at)
        }
        terms |= {
            run: starts for run, starts in repeated.items() if run not in covered and _is_whole(text, run, starts)
        }
        repeated = longer
    if not _HIRAGANA.search(text):
        return terms
    whole: dict[str, list[int]] = {}
    for start, end in runs:
        if text[start] < _FIRST_SYLLABLE and not _ALPHABETIC.match(text, start):
            whole.setdefault(text[start:end], []).append(start)
    terms = {run: starts for run, starts in terms.items() if len(run) >= _COMPOUND or run in whole}
    return {run: at for run, at in whole.items() if _COMPOUND <= len(run) <= _MAX_CHARACTERS} | terms


def _starts(text: str, start: int, end: int) -> Iterable[int]:
    """Return where a term may begin in a run: in Hangul at its beginning."""
    return (start,) if text[start] >= _FIRST_SYLLABLE else range(start, end - 1)


def _grouped(text: str, starts: Iterable[int], ends: Mapping[int, int], size: int) -> dict[str, list[int]]:
    """Return the runs of a size that begin at some of these places and are repeated, with their places."""
    places: dict[str, list[int]] = {}
    for start in starts:
        if start + size <= ends[start]:
            places.setdefault(text[start : start + size], []).append(start)
    return {run: at for run, at in places.items() if len(at) > 1}


def _is_whole(text: str, run: str, starts: Sequence[int]) -> bool:
    """Return whether a run has whole letters, and in an alphabet at least four characters."""
    if not _ALPHABETIC.match(run):
        return True
    is_cut = _INSIDE.match(run) or _LEADING.search(run) or any(_INSIDE.match(text, at + len(run)) for at in starts)
    return len(run) >= _MIN_LETTERS and not is_cut


@lru_cache(1 << 16)
def hashed(text: str, buckets: int) -> int:
    """Return a number from 1 to buckets - 1."""
    return 1 + crc32(text.encode()) % (buckets - 1)
