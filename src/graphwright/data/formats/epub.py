"""EPUB books: the pages of their spine, in reading order."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote

from graphwright.data.formats.archives import checked_zip, declared_type
from graphwright.data.formats.format import Extracted, File, Format, TextBuilder, UnreadableError
from graphwright.data.formats.html import page_text
from graphwright.data.formats.parsing.xml import Element, local, parsed_xml

_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document")


def read(file: File) -> Iterator[Extracted]:
    """Yield the text of a book; its places are the files of its spine, counted from 1."""
    with checked_zip(file) as archive:
        base, package = _package(archive)
        names = {local(node): node for node in package.iter()}
        title = "".join(names["title"].itertext()) if "title" in names else ""
        creators = ["".join(node.itertext()).strip() for node in package.iter() if local(node) == "creator"]
        builder = TextBuilder("part")
        encrypted, missing = _encrypted(archive), []
        for name in dict.fromkeys(_spine(package, base)):  # a page repeated in the spine is read once
            if name in encrypted:
                raise UnreadableError("encrypted, as sellers of books protect them")
            try:
                page = page_text(archive.read(name))
            except KeyError:
                missing.append(name)
                continue
            builder.place()
            builder.include(page)
    gaps = f"{len(missing)} files of its spine are missing, such as {missing[0]}" if missing else ""
    metadata = {"author": "; ".join(creators)} if any(creators) else {}
    yield builder.extracted(title, metadata=metadata, links=(), gaps=gaps)


def _package(archive: zipfile.ZipFile) -> tuple[str, Element]:
    """Return the folder of the package document, and the document."""
    try:
        container = parsed_xml(archive.read("META-INF/container.xml"))
        path = next(node.get("full-path", "") for node in container.iter() if local(node) == "rootfile")
        return posixpath.dirname(path), parsed_xml(archive.read(path))
    except (KeyError, StopIteration) as error:
        raise UnreadableError("not an EPUB book: it has no package document") from error


def _encrypted(archive: zipfile.ZipFile) -> set[str]:
    """Return the files that a book declares as encrypted; they may include fonts that are only obfuscated."""
    if _ENCRYPTION not in archive.namelist():
        return set()
    nodes = parsed_xml(archive.read(_ENCRYPTION)).iter()
    return {posixpath.normpath(unquote(node.get("URI", ""))) for node in nodes if local(node) == "CipherReference"}


def _spine(package: Element, base: str) -> Iterator[str]:
    items = {node.get("id"): node for node in package.iter() if local(node) == "item"}
    for reference in package.iter():
        item = items.get(reference.get("idref")) if local(reference) == "itemref" else None
        if item is not None and item.get("media-type") in _PAGES:
            yield posixpath.normpath(posixpath.join(base, unquote(item.get("href", ""))))


_TYPE = b"application/epub+zip"
FORMATS = (Format("EPUB book", (".epub",), read, True, by_members=lambda archive: declared_type(archive) == _TYPE),)
