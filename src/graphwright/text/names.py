"""Name matching: the normal form of a name, and the aliases that may stand for it.

Two surface forms are the same entity when their normal forms are equal. An alias is weaker: `Lilu` may
stand for `Lilu (mythology)`, but only where no other entity has that name. The merge decides this, because
it sees the whole corpus.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["ARTICLES", "aliases_of", "name_words", "normal_form"]

ARTICLES = frozenset({"the", "a", "an"})
"""Leading words that do not tell names apart."""

_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['’]s\b", re.IGNORECASE)
_INITIALS = re.compile(r"\b[^\W\d_]\.(?:\s?[^\W\d_]\.)+")
_HAS_ALIASES = re.compile(r"[(,.]|\b[JS]r\b")  # only a name with one of these has a shorter form
_QUALIFIER = re.compile(r"\s*\(([^()]*)\)\s*$")
_INITIAL_OR_SUFFIX = re.compile(r"[^\W\d_]\.|[JS]r\.?")
# Accents of Latin, Greek and Cyrillic letters, and letters of any other script.
_ACCENTS = re.compile("[\u0300-\u036f\u0483-\u0489\u20d0-\u20f0]+")
_OTHER_SCRIPTS = re.compile("[\u0590-\u1cff\u1dc0-\u1fff\u2c00-\ud7ff\uf900-\U0010ffff]")
_SEPARATORS = re.compile(r"[\W_]+")
_PARTICLES = frozenset({"of", "for", "in", "at", "on", "and", "to"})


def name_words(text: str) -> list[str]:
    """Return the words of `text` as names are compared: accents and case folded, punctuation removed.

    Marks are kept in scripts where they carry the vowels (Devanagari, Thai), and dropped after Latin, Greek
    and Cyrillic letters. Initials with full stops are one word; a possessive `'s` is no word.

    >>> name_words("Dvořák's U.S. début, 1892-93")
    ['dvorak', 'us', 'debut', '1892', '93']
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
    if not _OTHER_SCRIPTS.search(decomposed):
        return _SEPARATORS.sub(" ", _ACCENTS.sub("", decomposed))
    folded: list[str] = []
    # Whether marks of the last base letter's script are mere accents; a mark without a base letter is dropped too.
    alphabetic = True
    for char in decomposed:
        if unicodedata.combining(char) or unicodedata.category(char) == "Mc":
            if not alphabetic:
                folded.append(char)
        else:
            alphabetic = char < "\u0590"
            folded.append(char if char.isalnum() else " ")
    return unicodedata.normalize("NFC", "".join(folded))


def normal_form(name: str) -> str:
    """Return the form under which names are merged, empty for a name without a letter or digit.

    Case, accents, punctuation and a leading article do not tell names apart. A qualifier in brackets
    does: `Madonna (book)` and `Madonna` stay two entities, related through `aliases_of`.

    >>> normal_form("The Café de Flore"), normal_form("Madonna (book)"), normal_form("The Who")
    ('cafe de flore', 'madonna book', 'who')
    """
    words = name_words(name)
    while len(words) > 1 and words[0] in ARTICLES:
        words = words[1:]
    return " ".join(words)


def aliases_of(name: str) -> tuple[str, ...]:
    """Return the normal forms of the shorter names that may mean `name`, strongest first, without its own form.

    Dropped in turn: a bracketed qualifier at the end; the part after the first comma; initials and a
    generation suffix between a first and a last name.

    >>> aliases_of("Lilu (mythology)"), aliases_of("McRae, Arkansas"), aliases_of("Harris W. Fawell")
    (('lilu',), ('mcrae',), ('harris fawell',))
    >>> aliases_of("Gert Fröbe")
    ()
    """
    if not _HAS_ALIASES.search(name):
        return ()
    own = normal_form(name)
    forms: list[str] = []
    plain = _QUALIFIER.sub("", name)
    head = _QUALIFIER.sub("", plain.split(",", 1)[0])
    if "(" in plain:  # a qualifier amid the name is dropped with the text after it
        plain = head
    for candidate in (plain, head, _without_initials(head)):
        form = normal_form(candidate)
        if form and form != own and form not in forms and not form.isdigit():
            forms.append(form)
    return tuple(forms)


def _without_initials(name: str) -> str:
    """Drop initials and `Jr.` or `Sr.`, where a first and a last name remain."""
    words = name.split()
    remaining = [word for word in words if not _INITIAL_OR_SUFFIX.fullmatch(word)]
    if len(remaining) < 2 or any(word.lower() in _PARTICLES for word in remaining):
        return name
    return " ".join(remaining)
