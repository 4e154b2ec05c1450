"""Manual pages in roff: headings, paragraphs, options as list items; the macros of man and mdoc."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from graphwright.data.formats.format import Extracted, File, Format, TextBuilder, UnreadableError
from graphwright.data.formats.parsing.roff import MACROS, Roff, line_text

_START = re.compile(rb"^[.'][ \t]*(?:TH|Dd|Dt)\b", re.MULTILINE)
_LINK = re.compile(rb"\s*\.so\s+(\S+)\s*")
_MAX_LABEL = 100  # characters of a label of a list item
_BULLET, _NUMBER = re.compile(r"[•*o·+-]"), re.compile(r"\(?\w{1,3}[.)]")
_REQUESTS = {
    "TH Dt": "title", "SH SS Sh Ss": "section", "TP TQ": "item", "IP": "labelled", "br": "line",
    "PP P LP Pp sp HP Sp RE Lp bp": "paragraph", "RS": "indented", "nf EX Vb Bd": "verbatim", "fi EE Ve Ed": "filled",
    "BI BR IB IR RB RI": "alternating", "B I SM SB R CW": "font", "UR MT": "link", "UE ME": "end_link",
    "URL MTO": "reference",
    "SY": "synopsis", "OP": "option", "Bl": "begin_list", "El": "end_list", "It": "mdoc_item", "D1 Dl": "display",
    "Ex": "exit_status", "Nm": "name", "TS": "table",
}  # fmt: skip
_METHODS = {request: method for requests, method in _REQUESTS.items() for request in requests.split()}


def read(file: File) -> Iterator[Extracted]:
    """Yield the text of a manual page, with its name and section as title."""
    if link := _LINK.fullmatch(file.head(1_000)):
        raise UnreadableError(f"it only refers to the manual page {link[1].decode('utf-8', 'replace')}")
    yield _Page(Roff(file.text())).extracted(file.name.rpartition(".")[0])


def _is_page(head: bytes, _: str) -> bool:
    return head.lstrip()[:1] in (b".", b"'") and bool(_START.search(head) or _LINK.fullmatch(head))


FORMATS = (Format("manual page", (), read, by_content=_is_page),)


class _Page:
    """Builder of the text of a page, with a method for each request."""

    def __init__(self, roff: Roff) -> None:
        self.roff, self.builder = roff, TextBuilder()
        self.words: list[str] = []  # of the open paragraph
        self.lines: list[str] | None = None  # without filling
        self.tag = ""  # of the open list item
        self.awaits = ""  # request whose text is on the next line
        self.rows: list[str] | None = None  # of a table
        self.page = self.name = self.section = self.address = ""
        self.lists: list[str] = []  # kinds of the open lists of mdoc

    def extracted(self, name: str) -> Extracted:
        """Read all lines, and return the text; `name`: of the file, whose case the title has."""
        for request, rest in self.roff.lines():
            if self.rows is not None and request != "TE":
                self.rows.append(f".{request}" if request else rest)
            elif self.rows is not None:
                self._end_table(self.rows)
            elif not request:
                self._text(self.roff.plain(rest))
            elif request in _METHODS:
                getattr(self, f"_{_METHODS[request]}")(request, self.roff.arguments(rest))
            elif request in MACROS:
                self._text(line_text([request, *self.roff.arguments(rest)], self.page))
        self._flush()
        title = name if name.lower() == self.name.lower() else self.name
        return self.builder.extracted(f"{title}({self.section})" if self.section else title)

    def _text(self, text: str) -> None:
        if self.lines is not None:
            self.lines.append(text.rstrip())
        elif not text.strip():
            self._flush()
        elif self.awaits in ("TP", "TQ"):
            self.awaits, self.tag = "", ", ".join(filter(None, (self.tag, " ".join(text.split()))))
        elif self.awaits:
            awaits, self.awaits = self.awaits, ""
            self._section(awaits, [text])
        else:
            self.words.append(text.strip())

    def _flush(self) -> None:
        """End the open paragraph or list item."""
        text = " ".join(" ".join(self.words).split())
        if self.lines is not None and any(self.lines):
            self.builder.line(self.tag)
            self.builder.block("\n".join(self.lines).strip("\n"))
            self.lines = []
        elif self.tag:
            marked = _BULLET.fullmatch(self.tag) or _NUMBER.fullmatch(self.tag)
            joint = " " if marked or self.tag.endswith(":") or not text else ": "
            self.builder.line(f"{'-' if _BULLET.fullmatch(self.tag) else self.tag}{joint}{text}".rstrip())
        elif text.startswith("• "):
            self.builder.line(f"- {text[2:]}")
        else:
            self.builder.block(text)
        self.words, self.tag = [], ""

    def _title(self, _: str, arguments: list[str]) -> None:
        self.name, self.section = (*arguments, "", "")[:2]

    def _section(self, request: str, arguments: list[str]) -> None:
        self._flush()
        self.builder.heading(" ".join(arguments), 1 if request.upper() == "SH" else 2)
        self.awaits = "" if arguments else request

    def _item(self, request: str, _: list[str]) -> None:
        if request == "TP" or self.words:
            self._flush()
        self.awaits = request

    def _labelled(self, _: str, arguments: list[str]) -> None:
        self._flush()
        self.tag = arguments[0].strip() if arguments else ""

    def _paragraph(self, request: str, _: list[str]) -> None:
        if self.lines is None or request != "sp":
            self._flush()
        else:
            self.lines.append("")

    def _indented(self, _: str, __: list[str]) -> None:
        """Begin the text of a list item whose label is a short paragraph, as other programs write it."""
        label = " ".join(" ".join(self.words).split())
        if self.lines is None and not self.tag and 0 < len(label) <= _MAX_LABEL:
            self.tag, self.words = label, []
        else:
            self._flush()

    def _reference(self, _: str, arguments: list[str]) -> None:
        address, text, after = (*arguments, "", "", "")[:3]
        self._text(f"{text} ({address}){after}" if text else f"{address}{after}")

    def _line(self, _: str, __: list[str]) -> None:
        if self.lines is None and not self.tag:
            self._flush()
            self.builder.continue_line()

    def _verbatim(self, request: str, arguments: list[str]) -> None:
        self._flush()
        self.lines = [] if request != "Bd" or {"-literal", "-unfilled"} & set(arguments) else self.lines

    def _filled(self, _: str, __: list[str]) -> None:
        self._flush()
        self.lines = None

    def _alternating(self, _: str, arguments: list[str]) -> None:
        self._text("".join(arguments))

    def _font(self, _: str, arguments: list[str]) -> None:
        if arguments:
            self._text(" ".join(arguments))

    def _link(self, _: str, arguments: list[str]) -> None:
        self.address = "".join(arguments)

    def _end_link(self, _: str, arguments: list[str]) -> None:
        self._text(f"({self.address}){''.join(arguments)}")

    def _synopsis(self, _: str, arguments: list[str]) -> None:
        self._flush()
        self._text(" ".join(arguments))

    def _option(self, _: str, arguments: list[str]) -> None:
        self._text(f"[{' '.join(arguments)}]")

    def _begin_list(self, _: str, arguments: list[str]) -> None:
        self.lists.append(arguments[0] if arguments else "")

    def _end_list(self, _: str, __: list[str]) -> None:
        self._flush()
        self.lists = self.lists[:-1]

    def _mdoc_item(self, _: str, arguments: list[str]) -> None:
        self._flush()
        text, kind = line_text(arguments, self.page), self.lists[-1] if self.lists else ""
        self.tag = "-" if kind in ("-bullet", "-dash", "-hyphen", "-enum") or not text else text

    def _display(self, _: str, arguments: list[str]) -> None:
        self._flush()
        self.builder.block(line_text(arguments, self.page))

    def _exit_status(self, _: str, __: list[str]) -> None:
        self._text(f"{self.page} exits 0 on success, and more than 0 if an error occurs.")

    def _name(self, request: str, arguments: list[str]) -> None:
        self.page = self.page or (arguments[0] if arguments else "")
        self._text(line_text([request, *arguments], self.page))

    def _table(self, _: str, __: list[str]) -> None:
        self._flush()
        self.rows = []

    def _end_table(self, rows: Sequence[str]) -> None:
        """Add the rows of a table of tbl, a line each."""
        text, self.rows = "\n".join(rows), None
        separator = match[1] if (match := re.search(r"tab ?\((.)\)", text.partition(";")[0])) else "\t"
        body = re.split(r"\.[ \t]*(?:\n|$)", text, maxsplit=1)[-1]
        body = re.sub(r"T\{\n?(.*?)\n?T\}", lambda cell: cell[1].replace("\n", " "), body, flags=re.DOTALL)
        for row in body.split("\n"):
            cells = [self.roff.plain(cell).strip() for cell in row.split(separator)]
            if any(cells) and not row.startswith(".") and not set(row) <= set("_= "):
                self.builder.line("; ".join(filter(None, cells)))
        self.builder.blank()
