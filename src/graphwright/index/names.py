"""How names are compared: one normal form, and the shorter forms that the same thing also goes by.

Two surface forms are the same entity when their normal forms are equal. An alias is weaker: `Lilu` may
stand for `Lilu (mythology)`, but only where no other entity lays claim to it; that is for the merge to
decide, which sees the whole corpus.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["aliases_of", "name_words", "normal_form"]

_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['’]s\b", re.IGNORECASE)
_INITIALS = re.compile(r"\b[^\W\d_]\.(?:\s?[^\W\d_]\.)+")
_SHORTER = re.compile(r"[(,.]|\b[JS]r\b")  # what may be left out of a name shows so
_QUALIFIER = re.compile(r"\s*\(([^()]*)\)\s*$")
# Accents as Latin, Greek and Cyrillic letters bear them, and letters of any other script.
_ACCENTS = re.compile("[\u0300-\u036f\u0483-\u0489\u20d0-\u20f0]+")
_OTHER_SCRIPTS = re.compile("[\u0590-\u1cff\u1dc0-\u1fff\u2c00-\ud7ff\uf900-\U0010ffff]")
_APART = re.compile(r"[\W_]+")
_ARTICLES = frozenset({"the", "a", "an"})
_PARTICLES = frozenset({"of", "for", "in", "at", "on", "and", "to"})


def name_words(text: str) -> list[str]:
    """Return the words of `text` as names are compared: accents folded, case folded, punctuation gone.

    Marks are kept in scripts where they carry the vowels (Devanagari, Thai), dropped after Latin, Greek
    and Cyrillic letters. Initials written with stops are one word, a possessive `'s` is no word.

    >>> name_words("Dvořák's U.S. début, 1892-93")
    ['dvorak', 'us', 'debut', '1892', '93']
    """
    if "." in text:
        text = _INITIALS.sub(lambda m: _join(m[0]), text)
    if "'" in text or "’" in text:
        text = _POSSESSIVE.sub("", text).replace("'", "").replace("’", "")
    if text.isascii():
        return _WORD.findall(text.lower())
    return _fold(text).split()


def _join(initials: str) -> str:
    return "".join(initials.replace(".", "").split())


def _fold(text: str) -> str:
    """Fold case and compatibility forms, and turn all but letters, marks and digits into spaces."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    if not _OTHER_SCRIPTS.search(plain):
        return _APART.sub(" ", _ACCENTS.sub("", plain))
    out: list[str] = []
    # Whether the last base letter is of a script whose marks are mere accents; a mark on nothing is dropped too.
    alphabetic = True
    for char in plain:
        if unicodedata.combining(char) or unicodedata.category(char) == "Mc":
            if not alphabetic:
                out.append(char)
        else:
            alphabetic = char < "\u0590"
            out.append(char if char.isalnum() else " ")
    return unicodedata.normalize("NFC", "".join(out))


def normal_form(name: str) -> str:
    """Return the form under which `name` is merged with others, empty if it holds no letter or digit.

    Case, accents, punctuation and a leading article do not tell names apart. A qualifier in brackets
    does: `Madonna (book)` and `Madonna` stay two entities, related through `aliases_of`.

    >>> normal_form("The Café de Flore"), normal_form("Madonna (book)"), normal_form("The Who")
    ('cafe de flore', 'madonna book', 'who')
    """
    words = name_words(name)
    while len(words) > 1 and words[0] in _ARTICLES:
        words = words[1:]
    return " ".join(words)


def aliases_of(name: str) -> tuple[str, ...]:
    """Return the normal forms that may also mean `name`, its own form excluded, strongest first.

    Dropped in turn: a bracketed qualifier at the end; what follows the first comma; initials and a
    generation suffix between a first and a last name.

    >>> aliases_of("Lilu (mythology)"), aliases_of("McRae, Arkansas"), aliases_of("Harris W. Fawell")
    (('lilu',), ('mcrae',), ('harris fawell',))
    >>> aliases_of("Gert Fröbe")
    ()
    """
    if not _SHORTER.search(name):
        return ()
    own = normal_form(name)
    forms: list[str] = []
    plain = _QUALIFIER.sub("", name)
    head = _QUALIFIER.sub("", plain.split(",", 1)[0])
    if "(" in plain:  # a qualifier amid the name goes with what follows it
        plain = head
    for candidate in (plain, head, _without_initials(head)):
        form = normal_form(candidate)
        if form and form != own and form not in forms and not form.isdigit():
            forms.append(form)
    return tuple(forms)


def _without_initials(name: str) -> str:
    """Drop single letters with a stop, and `Jr.`/`Sr.`, where a first and a last name remain."""
    words = name.split()
    kept = [w for w in words if not re.fullmatch(r"[^\W\d_]\.|[JS]r\.?", w)]
    if len(kept) < 2 or any(w.lower() in _PARTICLES for w in kept):
        return name
    return " ".join(kept)
