"""Titles in the properties of files, checked against the text: many are names of files or of programs."""

from __future__ import annotations

import re

from graphwright.text.characters import clean
from graphwright.text.words import words

_READ = 20_000  # characters of a text that may repeat its title
_FILE = re.compile(
    r"\.(?:docx?|docm|odt|rtf|pdf|tex|dvi|ps|indd|pptx?|odp|xlsx?|ods|csv|txt|html?|md|fm|pages)$", re.IGNORECASE
)


def checked_title(title: str, text: str) -> str:
    """Return a title on one line, "" if it is none: the name of a file, or a single word that the text lacks.

    >>> checked_title("Rivers of Styria", "The Mur is a river."), checked_title("untitled", "The Mur is a river.")
    ('Rivers of Styria', '')
    >>> checked_title("Microsoft Word - mur.doc", "The Mur"), checked_title("(anonymous)", "The Mur")
    ('', '')
    """
    title = " ".join(clean(title).split())
    if not title or _FILE.search(title):
        return ""
    content = set(words(title))
    return title if len(content) > 1 or content & set(words(text[:_READ])) else ""
