"""XML of documents, parsed without external entities; and titles of files, checked against the text."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Container, Iterator
from typing import Any, TypeAlias
from xml.etree import ElementTree

from graphwright.data.formats.format import UnreadableError
from graphwright.text.characters import clean
from graphwright.text.words import words

Element: TypeAlias = ElementTree.Element
_BEGINNING = 1 << 16  # bytes
_DECLARES_ENTITY = re.compile(rb"<!ENTITY", re.IGNORECASE)
_ELEMENT = re.compile(rb"<[^!?]")
_COMMENTS = re.compile(rb"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)", re.DOTALL)


def parsed_xml(data: bytes) -> Element:
    """Parse XML. Raises UnreadableError if it is damaged or declares entities, which documents do not need."""
    _refuse_entities(data)
    try:
        return ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        raise UnreadableError(f"damaged: its XML cannot be parsed ({error})") from error


def refuse_entities_in(archive: zipfile.ZipFile) -> None:
    """Raise UnreadableError if an XML file of an archive declares entities; declarations stand at its beginning."""
    for name in archive.namelist():
        if name.endswith((".xml", ".rels")):
            with archive.open(name) as member:
                _refuse_entities(member.read(_BEGINNING))


def _refuse_entities(data: bytes) -> None:
    text = _COMMENTS.sub(b"", data.replace(b"\0", b""))  # UTF-16 has zero bytes between letters
    if _DECLARES_ENTITY.search(text) or (len(data) == _BEGINNING and not _ELEMENT.search(text)):
        raise UnreadableError("its XML declares entities, or may do so, which may be an attack; save it again")


def outermost(parent: Any, name: str, skip: Container[str] = ()) -> Iterator[Any]:
    """Yield the descendants of a name in the order of the document.

    Descendants of those yielded are left out, and so are descendants of the elements named in `skip`. Elements may be
    those of lxml. Each element is visited at most once, so time is linear in any nesting.

    >>> [node.get("n") for node in outermost(parsed_xml(b'<t><p n="1"><p n="2"/></p><b><p n="3"/></b></t>'), "p")]
    ['1', '3']
    """
    rest = [*reversed(parent)]
    while rest:
        node = rest.pop()
        if (tag := local(node)) == name:
            yield node
        elif tag not in skip:
            rest += reversed(node)


def local(node: Element) -> str:
    """Return the name of an element without its namespace."""
    tag = node.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


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
