"""Jupyter notebooks: text, code and outputs of their cells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from graphwright.data.decoding import decode
from graphwright.data.formats.format import Extracted, File, Format, TextBuilder, UnreadableError
from graphwright.data.formats.html import html_text
from graphwright.data.formats.markdown import markdown_text

_MAX_OUTPUT = 20_000  # characters of one output
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def read(file: File) -> Iterator[Extracted]:
    """Yield the text of a notebook: its places are cells, counted from 1."""
    try:
        notebook = json.loads(decode(file.data()) or "")
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"not a notebook: it is no JSON ({error})") from error
    sheets = notebook.get("worksheets") if isinstance(notebook, dict) else None  # before version 4
    holder = sheets[0] if isinstance(sheets, list) and sheets else notebook
    cells = holder.get("cells") if isinstance(holder, dict) else None
    if not isinstance(cells, list):
        raise UnreadableError("not a notebook: it has no list of cells")
    builder, title = TextBuilder("cell"), ""
    for cell in cells:
        builder.place()
        if not isinstance(cell, dict):
            continue
        source = _text(cell.get("source") or cell.get("input"))
        if cell.get("cell_type") == "code":
            builder.block(source)
            for output in cell.get("outputs") or ():
                builder.block(_output(output))
        elif cell.get("cell_type") == "heading":
            builder.heading(source, int(cell.get("level") or 1))
        else:
            part = markdown_text(source) if cell.get("cell_type") == "markdown" else Extracted(source)
            builder.include(part)
            title = title or part.title
    yield builder.extracted(title)


def _text(value: Any) -> str:
    """Return a text, which may be stored as a list of its lines."""
    return "".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _output(output: Any) -> str:
    """Return the text of one output: printed text, a value, or an error."""
    if not isinstance(output, dict):
        return ""
    data: dict[str, Any] = output["data"] if isinstance(output.get("data"), dict) else output
    if text := _text(data.get("text/plain") or data.get("text")):
        return _COLOUR.sub("", text)[:_MAX_OUTPUT]
    if page := _text(data.get("text/html") or data.get("html")):
        return html_text(page).text[:_MAX_OUTPUT]
    return f"{output.get('ename', '')}: {output.get('evalue', '')}" if "ename" in output else ""


FORMATS = (Format("notebook", (".ipynb",), read),)
