"""Word documents: headings, paragraphs, lists with their numbers, tables and notes, by python-docx."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from graphwright.data.formats.format import Extracted, File, Format, TextBuilder, UnreadableError
from graphwright.data.formats.parsing.office_package import Numbering, W, has_folder, office_package, value_of
from graphwright.data.formats.parsing.xml import checked_title, outermost
from graphwright.data.records.grid import MAX_SPAN, Cell, spread
from graphwright.data.records.table import Table
from graphwright.text.characters import raised

_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_BOX = f"{W}txbxContent"
_LEVEL = re.compile(r"(?:heading|überschrift|titre|título|titolo|заголовок|标题|見出し)\s*([1-9])", re.IGNORECASE)
_MAX_DEPTH = 100


def read(file: File) -> Iterator[Extracted]:
    """Yield the text of a document; its places are the pages of its last layout, if the file records them."""
    from docx.oxml import parse_xml
    from docx.package import Package

    with office_package(file) as source:
        package: Any = Package.open(source)
    part = package.main_document_part
    related = {rel.reltype.rpartition("/")[2]: rel for rel in part.rels.values() if not rel.is_external}
    numbering, styles, *notes = (
        parse_xml(related[kind].target_part.blob) if kind in related else None
        for kind in ("numbering", "styles", "footnotes", "endnotes")
    )
    document = _Document(parse_xml(part.blob), Numbering(numbering, styles))
    for kind, root in zip(("footnote", "endnote"), notes, strict=True):
        document.add_notes(kind, () if root is None else root.iter(f"{W}{kind}"))
    document.add_body()
    properties = package.core_properties
    metadata = {"author": properties.author} if properties.author else {}
    yield document.builder.extracted(
        checked_title(properties.title or "", document.builder.text) or document.title, metadata=metadata
    )


def _outline(styles: Mapping[str, Any]) -> dict[str, int]:
    """Return the heading level of each style that has one, 0 for the title; styles inherit it."""
    levels: dict[str, int] = {}
    based: dict[str, str] = {}
    for identity, style in styles.items():
        name = value_of(style.find(f"{W}name"))
        match, outline = _LEVEL.match(name), value_of(style.find(f"{W}pPr/{W}outlineLvl"))
        based[identity] = value_of(style.find(f"{W}basedOn"))
        if name.lower() == "title":
            levels[identity] = 0
        elif match:
            levels[identity] = int(match[1])
        elif outline.isdigit() and int(outline) < 9:
            levels[identity] = int(outline) + 1
    seen = set[str]()
    for identity in based:
        above, chain = identity, list[str]()
        while above and above not in levels and above not in seen:
            seen.add(above)
            chain.append(above)
            above = based.get(above, "")
        if above in levels:
            levels.update(dict.fromkeys(chain, levels[above]))
    return levels


def _is_on(setting: Any) -> bool:
    return setting is not None and value_of(setting) not in ("0", "false", "off")


def _paragraphs(node: Any) -> Iterator[Any]:
    """Yield the paragraphs in an element; those in their text boxes are read with them."""
    return outermost(node, "p", skip=("Fallback",))


def _shown(paragraph: Any) -> Iterator[Any]:
    """Yield the nodes of a paragraph in order, without contents of text boxes and fallbacks for older programs."""
    rest = [paragraph]
    while rest:
        node = rest.pop()
        if node.tag == _FALLBACK:
            continue
        yield node
        if node.tag != _BOX:
            rest += node.iterchildren(reversed=True)


class _Document:
    """Builder of the text of a document's body."""

    def __init__(self, root: Any, numbering: Numbering) -> None:
        self.root, self.numbering, self.builder = root, numbering, TextBuilder("page")
        self.levels = _outline(numbering.styles)
        self.notes: dict[tuple[str, str], str] = {}
        styles = numbering.styles.items()
        self.captions = {name for name, style in styles if value_of(style.find(f"{W}name")).lower() == "caption"}
        self.title = ""
        self.noted = 0  # notes so far
        self.in_table: list[tuple[str, str]] = []  # references
        # Word records the page breaks of its last layout; other programs do not.
        self.has_pages = next(root.iter(f"{W}lastRenderedPageBreak"), None) is not None

    def add_notes(self, kind: str, notes: Iterable[Any]) -> None:
        for note in notes:
            if note.get(f"{W}type") in (None, "normal"):
                text = " ".join(" ".join(self._text(p, [])[0].split()) for p in _paragraphs(note))
                self.notes[kind, note.get(f"{W}id", "")] = text.strip()

    def add_body(self) -> None:
        self._turn_pages(1)
        body = self.root.find(f"{W}body")
        if body is None:
            raise UnreadableError("damaged: it has no body")
        self._blocks(body, 0)

    def _blocks(self, parent: Any, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise UnreadableError(f"nested more than {_MAX_DEPTH} levels deep")
        for node in parent:
            if node.tag == f"{W}p":
                self._paragraph(node)
            elif node.tag == f"{W}tbl":
                self._table(node)
            elif node.tag != _FALLBACK and node.tag not in (f"{W}sectPr", f"{W}del"):
                self._blocks(node, depth + 1)

    def _paragraph(self, node: Any) -> None:
        references: list[tuple[str, str]] = []
        text, breaks, leading = self._text(node, references)
        self._turn_pages(leading)
        self._add(node, text)
        self._write_notes(references)
        self._turn_pages(breaks - leading)

    def _turn_pages(self, count: int) -> None:
        for _ in range(count if self.has_pages else 0):
            self.builder.place()

    def _write_notes(self, references: list[tuple[str, str]]) -> None:
        for number, reference in enumerate(references, start=self.noted + 1):
            self.builder.line(f"Note {number}: {self.notes[reference]}")
        self.noted += len(references)

    def _add(self, node: Any, text: str) -> None:
        """Add a paragraph as a heading, an item of a list or a block."""
        style = value_of(node.find(f"{W}pPr/{W}pStyle"))
        outline = value_of(node.find(f"{W}pPr/{W}outlineLvl"))
        level = int(outline) + 1 if outline.isdigit() and int(outline) < 9 else self.levels.get(style)
        label = self.numbering.label(node) if text.strip() else ""
        numbered = f"{label} {text.strip()}" if label not in ("", "-") else text
        inside = "  " * self.numbering.depth(node, label)
        if level == 0:
            self.title = self.title or " ".join(text.split())
        if level is not None:
            self.builder.heading(numbered, max(level, 1))
        elif style in self.captions:
            self.builder.caption(numbered)
        elif numbered is not text:
            self.builder.line(inside + numbered)
        elif node.find(f"{W}pPr/{W}numPr") is None and not style.lower().startswith("list"):
            self.builder.block(text)
        elif text.strip():
            self.builder.line(f"{inside}- {text.strip()}")

    def _table(self, table: Any) -> None:
        breaks = sum(1 for _ in table.iter(f"{W}lastRenderedPageBreak"))
        rows = list(table.iterchildren(f"{W}tr"))
        marked = [row.find(f"{W}trPr/{W}tblHeader") is not None for row in rows]
        header = marked.index(False) if True in marked[:1] and False in marked else None
        self.builder.table(Table(spread(map(self._cells, rows)), header))
        self._write_notes(self.in_table)
        self.in_table = []
        self._turn_pages(breaks)

    def _cells(self, row: Any) -> list[Cell]:
        """Return the cells of a row of a table; a table in a cell is text of that cell."""
        skipped = value_of(row.find(f"{W}trPr/{W}gridBefore"))
        cells = [Cell("", min(int(skipped), MAX_SPAN))] if skipped.isdigit() and int(skipped) else []
        for cell in row.iterchildren(f"{W}tc"):
            text = " ".join(self._text(paragraph, self.in_table, "")[0] for paragraph in _paragraphs(cell))
            span, merge = value_of(cell.find(f"{W}tcPr/{W}gridSpan")), cell.find(f"{W}tcPr/{W}vMerge")
            runs = [run for run in cell.iter(f"{W}r") if any((t.text or "").strip() for t in run.iter(f"{W}t"))]
            bold = bool(runs) and all(_is_on(run.find(f"{W}rPr/{W}b")) for run in runs)
            above = merge is not None and value_of(merge) != "restart"
            cells.append(Cell(text, int(span) if span.isdigit() else 1, above=above, bold=bold))
        return cells

    @staticmethod
    def _raised(node: Any, before: str) -> str:
        """Return the text of a part of a run, with the mark of a raised number."""
        position = value_of(node.getparent().find(f"{W}rPr/{W}vertAlign"))
        return raised(before, node.text or "") if position == "superscript" else node.text or ""

    def _text(self, paragraph: Any, references: list[tuple[str, str]], mark: str = "{}") -> tuple[str, int, int]:
        """Return a paragraph's text, the pages that end in it and before its text; append notes, marked by `mark`."""
        parts: list[str] = []
        breaks = leading = 0
        has_text = False
        for node in _shown(paragraph):
            tag = node.tag
            if tag == f"{W}t":
                parts.append(self._raised(node, "".join(parts[-2:])))
                has_text = has_text or bool(parts[-1].strip())
            elif tag == _BOX:
                lines = [self._text(inner, references)[0] for inner in _paragraphs(node)]
                parts += "\n", "\n".join(filter(None, lines)), "\n"
                has_text = has_text or any(line.strip() for line in lines)
            elif tag in (f"{W}tab", f"{W}br", f"{W}cr"):
                parts.append("\t" if tag == f"{W}tab" else "\n")
            elif tag == f"{W}lastRenderedPageBreak":
                breaks += 1
                leading += not has_text
            elif tag in (f"{W}footnoteReference", f"{W}endnoteReference"):
                reference = tag[len(W) :].removesuffix("Reference"), node.get(f"{W}id", "")
                if self.notes.get(reference):
                    references.append(reference)
                    number = mark.format(self.noted + len(references))
                    parts.append(raised("".join(parts[-2:]), number) if number else "")
        return "".join(parts), breaks, leading


FORMATS = (
    Format("Word document", (".docx", ".docm", ".dotx", ".dotm"), read, binary=True, by_members=has_folder("word/")),
)
