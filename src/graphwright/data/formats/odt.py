"""OpenDocument texts: headings, paragraphs, lists, tables and notes."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator

from graphwright.data.formats.archives import checked_zip, declared_type
from graphwright.data.formats.format import Extracted, File, Format, TextBuilder, UnreadableError
from graphwright.data.formats.parsing.xml import Element, checked_title, local, outermost, parsed_xml
from graphwright.data.records.grid import MAX_SPAN, Cell, spread
from graphwright.data.records.table import Table
from graphwright.text.characters import raised

_OPEN_DOCUMENT = b"application/vnd.oasis.opendocument"
_MANIFEST = "META-INF/manifest.xml"
_SKIPPED = frozenset(("tracked-changes", "annotation", "sequence-decls", "forms", "title", "desc"))
_MAX_DEPTH = 100


def read(file: File) -> Iterator[Extracted]:
    """Yield the text of an OpenDocument text."""
    with checked_zip(file) as archive:
        names = archive.namelist()
        if _MANIFEST in names and b"encryption-data" in archive.read(_MANIFEST):
            raise UnreadableError("encrypted; save it without a password")
        try:
            content = parsed_xml(archive.read("content.xml"))
        except KeyError as error:
            raise UnreadableError("damaged: it has no content.xml") from error
        meta = parsed_xml(archive.read("meta.xml")) if "meta.xml" in names else None
    title = next(("".join(n.itertext()) for n in meta.iter() if local(n) == "title"), "") if meta is not None else ""
    builder = TextBuilder()
    body = next((node for node in content.iter() if local(node) == "body"), content)
    _blocks(body, builder, 0)
    yield builder.extracted(checked_title(title, builder.text))


def _blocks(parent: Element, builder: TextBuilder, depth: int, mark: str = "") -> None:
    """Add the content of an element; `mark` precedes each paragraph of a list."""
    if depth > _MAX_DEPTH:
        raise UnreadableError(f"nested more than {_MAX_DEPTH} levels deep")
    for node in parent:
        name = local(node)
        if name == "h":
            level = _attribute(node, "outline-level")
            builder.heading(_inline(node), int(level) if level.isdigit() else 1)
        elif name == "p":
            _paragraph(node, builder, mark)
            mark = "  " if mark else ""
        elif name == "list":
            if not mark:
                builder.blank()
            for item in node:
                _blocks(item, builder, depth + 1, f"  {mark}" if mark.strip() else "- ")
            builder.blank()
        elif name == "table":
            _table(node, builder)
        elif name not in _SKIPPED:
            _blocks(node, builder, depth + 1, mark)


def _paragraph(node: Element, builder: TextBuilder, mark: str) -> None:
    notes: list[str] = []
    text = _inline(node, notes)
    if mark and text.strip():
        builder.line(f"{mark}{text}")
    elif any(local(child) == "sequence" for child in node):
        builder.caption(text)
    else:
        builder.block(text)
    for note in notes:
        builder.line(note)


def _table(node: Element, builder: TextBuilder) -> None:
    declared = [row for head in outermost(node, "table-header-rows") for row in outermost(head, "table-row")]
    notes: list[str] = []
    builder.table(Table(spread(_rows(node, notes)), len(declared) or None))
    for note in notes:
        builder.line(note)


def _inline(node: Element, notes: list[str] | None = None, *, has_marks: bool = True) -> str:
    """Return the text of a paragraph, with the marks of its notes; these are appended to `notes`."""
    parts = [node.text or ""]
    for child in node:
        name = local(child)
        if name == "note":
            body = next((part for part in child if local(part) == "note-body"), None)
            if notes is not None and body is not None:
                mark = "".join("".join(part.itertext()) for part in child if local(part) == "note-citation")
                notes.append(f"Note {mark}".strip() + f": {' '.join(''.join(body.itertext()).split())}")
                parts.append(raised("".join(parts[-2:]), mark) if has_marks else "")
        elif name == "s":
            count = _attribute(child, "c")
            parts.append(" " * min(int(count) if count.isdigit() else 1, 100))
        elif name in ("tab", "line-break"):
            parts.append("\t" if name == "tab" else "\n")
        elif name not in _SKIPPED:
            parts.append(_inline(child, notes, has_marks=has_marks))
        parts.append(child.tail or "")
    return "".join(parts)


def _rows(table: Element, notes: list[str]) -> Iterator[list[Cell]]:
    """Yield the rows of a table, each merged cell once; a table in a cell is text of that cell. Notes are appended."""
    for row in outermost(table, "table-row"):
        cells: list[Cell] = []
        for cell in row:
            if local(cell) == "table-cell":
                text = " ".join(_inline(node, notes, has_marks=False) for node in outermost(cell, "p"))
                columns, rows = _number(cell, "number-columns-spanned"), _number(cell, "number-rows-spanned")
                cells += [Cell(text, columns, rows)] * _number(cell, "number-columns-repeated")
        while cells and not cells[-1].text.strip():
            cells.pop()
        yield cells


def _number(node: Element, name: str) -> int:
    """Return an attribute that is a number of rows or columns, 1 without one."""
    value = _attribute(node, name)
    return min(int(value), MAX_SPAN) if value.isdigit() else 1


def _attribute(node: Element, name: str) -> str:
    """Return an attribute by its name without namespace."""
    return next((value for key, value in node.items() if key.rpartition("}")[2] == name), "")


def _is_text(archive: zipfile.ZipFile) -> bool:
    """Return whether an archive is an OpenDocument text. Raises UnreadableError for another OpenDocument file."""
    declared = declared_type(archive)
    if declared.startswith(_OPEN_DOCUMENT) and declared != _OPEN_DOCUMENT + b".text":
        raise UnreadableError("an OpenDocument file that is no text; save it as xlsx, pptx or PDF")
    return declared == _OPEN_DOCUMENT + b".text"


FORMATS = (Format("OpenDocument text", (".odt", ".ott"), read, binary=True, by_members=_is_text),)
