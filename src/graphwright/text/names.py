"""Names: normal forms, and mentions of names, dates and quotes in running text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from string import ascii_lowercase, ascii_uppercase

from graphwright.text.scripts import UNSPACED, fold_letters
from graphwright.text.words import BOILERPLATE, FILE_TITLES, NOT_NAMES

ARTICLES = frozenset({"the", "a", "an"})  # leading words that are ignored when names are compared

_WORD = re.compile(r"[^\W_]+(?:[+#]+(?![\w+#]))?")
_POSSESSIVE = re.compile(r"['’]s\b", re.IGNORECASE)
_INITIALS = re.compile(r"\b[^\W\d_]\.(?:\s?[^\W\d_]\.)+")
_HAS_ALIASES = re.compile(r"[(,.]|\b[JS]r\b")  # only a name with one of these has a shorter form
_INITIAL_OR_SUFFIX = re.compile(r"[^\W\d_]\.|[JS]r\.?")
# Accents of Latin, Greek and Cyrillic letters, and letters of any other script.
_ACCENTS = re.compile("[\u0300-\u036f\u0483-\u0489\u20d0-\u20f0]+")
_OTHER_SCRIPTS = "[\u0590-\u1cff\u1dc0-\u1fff\u2c00-\ud7ff\uf900-\U0010ffff]"  # compiled at first use, in 3 ms
_ACRONYMS = frozenset({"IT", "US", "WHO"})  # that are also stop words
_SEPARATORS = re.compile(r"((?<=[^\W_])[+#]+(?![\w+#]))|[\W_]+?")  # signs that end a word are part of it: C++, C#
PARTICLES = frozenset({"of", "for", "in", "at", "on", "and", "to"})  # small words inside English names


def name_words(text: str) -> list[str]:
    """Return the words of `text` as names are compared: accents and case folded, punctuation removed.

    Marks stay in scripts where they carry the vowels, and "+" and "#" at the end of a word ("C++"). Initials with full
    stops are one word; a possessive `'s` is none.

    >>> name_words("Dvořák's U.S. début, 1892-93"), name_words("C++, C# and +1")
    (['dvorak', 'us', 'debut', '1892', '93'], ['c++', 'c#', 'and', '1'])
    """
    if "." in text:
        text = _INITIALS.sub(lambda match: "".join(match[0].replace(".", "").split()), text)
    if "'" in text or "’" in text:
        text = _POSSESSIVE.sub("", text).replace("'", "").replace("’", "")
    if text.isascii():
        return _WORD.findall(text.lower())
    return _fold(text).split()


def _fold(text: str) -> str:
    """Fold case and compatibility forms, and replace all but letters, marks and digits by spaces."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    if not re.search(_OTHER_SCRIPTS, decomposed):
        return _SEPARATORS.sub(lambda match: match[1] or " ", _ACCENTS.sub("", decomposed))
    decomposed = fold_letters(decomposed)
    folded: list[str] = []
    # Whether marks of the last base letter's script are mere accents; a mark without a base letter is dropped too.
    alphabetic = True
    for char in decomposed:
        if unicodedata.category(char) in ("Mn", "Mc"):
            if not alphabetic:
                folded.append(char)
        else:
            alphabetic = char < "\u0590"
            folded.append(char if char.isalnum() else " ")
    return unicodedata.normalize("NFC", "".join(folded))


def normal_form(name: str) -> str:
    """Return the form under which names are merged, empty for a name without a letter or digit.

    Case, accents, punctuation and a leading article are ignored, a qualifier in brackets is not: see `aliases_of`.

    >>> normal_form("The Café de Flore"), normal_form("Madonna (book)"), normal_form("The Who")
    ('cafe de flore', 'madonna book', 'who')
    """
    words = name_words(name)
    first = next((at for at, word in enumerate(words) if word not in ARTICLES), len(words) - 1)
    return " ".join(words[max(first, 0) :])


def is_boilerplate(name: str) -> bool:
    """Return whether a name identifies nothing: a stop word, or a common part of documents.

    >>> is_boilerplate("SEE ALSO"), is_boilerplate("Note"), is_boilerplate("The"), is_boilerplate("Changelog")
    (True, True, True, True)
    >>> is_boilerplate("The Who"), is_boilerplate("U.S."), is_boilerplate("Note Records")
    (False, False, False)
    """
    words = name_words(name)
    return " ".join(words) in BOILERPLATE or (
        len(words) == 1 and words[0] in NOT_NAMES and name.replace(".", "") not in _ACRONYMS
    )


def is_file_title(title: str) -> bool:
    """Return whether a title is only a common file name.

    >>> is_file_title("changelog.Debian"), is_file_title("README"), is_file_title("The README of Graz")
    (True, True, False)
    """
    return " ".join(name_words(title)) in FILE_TITLES


def aliases_of(name: str) -> tuple[str, ...]:
    """Return the normal forms of the shorter names that may mean `name`, strongest first, without its own form.

    Dropped in turn: a bracketed qualifier at the end; the part after the first comma; initials and a
    generation suffix between a first and a last name.

    >>> aliases_of("Lilu (mythology)"), aliases_of("McRae, Arkansas"), aliases_of("Harris W. Fawell")
    (('lilu',), ('mcrae',), ('harris fawell',))
    """
    if not _HAS_ALIASES.search(name):
        return ()
    form_of_name = normal_form(name)
    forms: list[str] = []
    plain = _unqualified(name)
    head = _unqualified(plain.split(",", 1)[0])
    if "(" in plain:  # a qualifier amid the name is dropped with the text after it
        plain = head
    for candidate in (plain, head, _without_initials(head)):
        form = normal_form(candidate)
        if form and form != form_of_name and form not in forms and not form.isdigit():
            forms.append(form)
    return tuple(forms)


def _unqualified(name: str) -> str:
    head, bracket, qualifier = name.rstrip().rpartition("(")
    return head.rstrip() if bracket and qualifier.find(")") == len(qualifier) - 1 else name


def _without_initials(name: str) -> str:
    """Drop initials and `Jr.` or `Sr.`, where a first and a last name remain."""
    remaining = [word for word in name.split() if not _INITIAL_OR_SUFFIX.fullmatch(word)]
    if len(remaining) < 2 or any(word.lower() in PARTICLES for word in remaining):
        return name
    return " ".join(remaining)


_JOINING = "of|the|de|la|le|les|des|du|da|do|dos|del|della|di|van|von|der|den|ten|ter|al|el|y|zu|for|&"
_JOINING_WORDS = frozenset(f"{_JOINING}|-|–".split("|"))
_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    "|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_PREPOSITION = re.compile(r" (?:of|for|de|the|in) (?:the )?")
_NUMBER = re.compile(r"(\d[\d,]*)\w* (?=.)")
_LETTERS = re.compile(r"[^\W\d_]+")
_UPPER, _LOWER = ascii_uppercase.encode(), ascii_lowercase.encode()

Span = tuple[int, int]


def capitals_problem(text: str) -> str | None:
    """Return the reason why capitals do not mark names in a text, None if they do or if it has under three letters.

    >>> capitals_problem("the cat sat on the mat and looked at the queen of england")
    'all lower case'
    """
    upper, lower, letters = _letter_counts(text)
    if letters < 3:
        return None
    if 3 * (upper + lower) < 2 * letters:
        return "a script without capital letters"
    if upper * 200 < lower or not upper:
        return "all lower case"
    return "all upper case" if upper > 2 * lower else None


def _letter_counts(text: str) -> tuple[int, int, int]:
    if text.isascii():
        data = text.encode()
        upper = len(data) - len(data.translate(None, _UPPER))
        lower = len(data) - len(data.translate(None, _LOWER))
        return upper, lower, upper + lower
    return sum(map(str.isupper, text)), sum(map(str.islower, text)), sum(map(str.isalpha, text))


def surface_words(text: str) -> frozenset[str]:
    """Return the words of a text with their spelling unchanged, for `name_spans`."""
    return frozenset(_LETTERS.findall(text))


@cache
def _capitalised() -> re.Pattern[str]:
    """Compile, at first use, the pattern of a name: capitalised words, joined by small words and numbers."""
    # `re` has no class of capital letters.
    capital = "".join(chr(c) for c in range(0x2C00) if chr(c).isupper() or chr(c).istitle())
    word = rf"[{capital}](?:\.(?=[ ]?[{capital}])|\w*(?:['’&/-]\w+|\.[a-z\d]\w*)*)"
    number = r"(?<![\d.,])\d+(?:,\d{3})*(?:st|nd|rd|th)?\b"
    joint = rf"(?:[ ]|[ ][-–][ ]|(?<=\.)|[ ](?:(?:{_JOINING})[ ]){{1,2}})"
    return re.compile(rf"(?:{number}[ ])?{word}(?:{joint}(?:{word}|{number}))*")


@cache
def _entity(named: bool) -> re.Pattern[str]:
    """Compile, at first use, the pattern of a date, a quoted phrase, where `named` a capitalised name, or a figure."""
    day = rf"(?:\d{{1,2}}[ ]{_MONTH}\b|{_MONTH}[ ]\d{{1,2}}\b(?!,\d))"
    date = rf"\b{day}(?:,?[ ]\d{{4}}\b)?|\b{_MONTH},?[ ]\d{{4}}\b"
    quoted = r'"[ ]?(?P<a>[^"\n]{2,60}?)[ ]?"|“(?P<b>[^”\n]{2,60})”|``[ ]?(?P<c>[^\'\n]{2,60}?)[ ]?\'\''
    quoted += r"|「(?P<f>[^「」\n]{2,60})」|『(?P<g>[^『』\n]{2,60})』|《(?P<h>[^《》\n]{2,60})》"
    quoted += r"|«[ ]?(?P<d>[^»\n]{2,60}?)[ ]?»|„(?P<e>[^“”\n]{2,60})[“”]"
    names = [f"(?P<name>{_capitalised().pattern})"] if named else []
    return re.compile("|".join((rf"(?P<date>{date})", quoted, *names, r"(?P<figure>\d[\d,.]{0,40}\d\d)")))


def name_spans(text: str, start: int, end: int, words: frozenset[str]) -> Iterator[Span]:
    """Yield the (start, end) of the names in a sentence, in reading order, each followed by the names within it.

    `words` (`surface_words`): one capitalised word at the start of the sentence is no name if it is among them.

    >>> text = "Most of the University of Graz knew Anna."
    >>> [text[start:end] for start, end in name_spans(text, 0, len(text), surface_words(text))]
    ['University of Graz', 'University', 'Graz', 'Anna']
    """
    for match in _entity(True).finditer(text, start, end):
        kind = match.lastgroup or ""
        span = match.span(kind)
        if kind == "name":
            unspaced = UNSPACED.search(text, *span)  # a script without capitals follows directly
            span = span if unspaced is None else (span[0], unspaced.start())
            yield from _nested(text, span, start, words)
            continue
        yield span
        if len(kind) == 1:  # a quoted phrase, which may contain names
            for inner in _capitalised().finditer(text, *span):
                if inner.span() != span:
                    yield from _nested(text, inner.span(), span[0], words)


def dates_and_quotes(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start and end of dates, figures and quoted phrases, each with its kind: date, number or work.

    >>> text = "On 5 May 1902 he wrote “War and Peace” for 1,200 readers."
    >>> [(text[start:end], kind) for start, end, kind in dates_and_quotes(text)]
    [('5 May 1902', 'date'), ('War and Peace', 'work'), ('1,200', 'number')]
    """
    for match in _entity(False).finditer(text):
        group = match.lastgroup or ""
        kind = {"date": "date", "figure": "number"}.get(group, "work")
        if kind == "number" and re.fullmatch(r"1\d{3}|20\d{2}", match[0]):
            kind = "date"
        yield *match.span(group), kind


def _nested(text: str, span: Span, sentence: int, words: frozenset[str]) -> Iterator[Span]:
    """Yield a name without the small words before it, then the names that it is composed of."""
    start, end = _without_openers(text, *span), span[1]
    if text[end - 2 : end] in ("'s", "’s"):
        end -= 2
    name = text[start:end]
    if len(name) < 2 or (start <= sentence + 3 and " " not in name and name.lower() in words):
        return
    yield start, end
    if number := _NUMBER.match(name):  # "1920 Summer Olympics" may be one name or two
        if len(number[1]) > 2:
            yield start, start + len(number[1])
        start += number.end()
        yield start, end
    cuts = [match.span() for match in _PREPOSITION.finditer(text, start, end)]
    for cut_start, cut_end in [*cuts, (end, end)] if cuts else []:
        part = text[start:cut_start]
        if len(part) > 1 and part[0].isupper() and part.lower() not in NOT_NAMES:
            yield start, cut_start
        start = cut_end


def _without_openers(text: str, start: int, end: int) -> int:
    """Return the start of a name after words that are not names, and after small words that follow those."""
    opened = False
    while start < end:
        space = text.find(" ", start, end)
        word = text[start : space if space >= 0 else end]
        if word.lower() not in NOT_NAMES and not (opened and word in _JOINING_WORDS):
            return start
        start, opened = (space + 1 if space >= 0 else end), True
    return end
