"""Commands that read an index: documents, their text, facts about the index, its methods, and export."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from graphwright.cli.terminal import clean, counted, note, print_json, shortened
from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence
from graphwright.graph.export import FORMATS, export, format_of
from graphwright.graph.graph import Graph
from graphwright.index_folder import Index
from graphwright.methods.registry import METHODS, Method, pipeline

__all__ = ["export_graph", "open_index", "show_documents", "show_info", "show_methods", "show_problems", "show_text"]

_SPAN = re.compile(r"(\d+)-(\d+)")
_STDOUT = Path("-")


def open_index(folder: Path) -> Index:
    """Open an index for questions; print a note to stderr if some documents cannot be searched yet."""
    index = Index.open(folder)
    if index.imported is not None:
        return index
    if not index.documents:
        note(f"note: {folder} contains no documents. Add some: graphwright index PATH --into {folder}")
    elif not index.is_current and index.is_being_written:
        newest = "the newest documents" if len(index.graph) else "documents"
        note(f"note: {folder} is being indexed; {newest} can be searched when that ends.")
    elif not index.is_current:
        note(
            f"note: indexing into {folder} was interrupted; the newest documents cannot be searched yet. Run the same "
            f"graphwright index command again."
        )
    return index


def show_documents(folder: Path, search: str | None, *, as_json: bool) -> None:
    """List the documents of an index, or those whose id or title contains a text."""
    with open_index(folder) as index:
        part = (search or "").casefold()
        documents = [item for item in index.list_documents() if part in f"{item.id}\n{item.title}".casefold()]
    if as_json:
        print_json([document._asdict() for document in documents])
        return
    for document in documents:
        title = f"  {document.title}" if document.title else ""
        size = f"{counted(document.characters, 'character')}, {counted(document.chunks, 'chunk')}"
        print(clean(f"{document.id}{title}  ({size})"))


def show_text(folder: Path, document: str, characters: str | None) -> None:
    """Print the text of a document, or a part of it as START-END."""
    start, end = (0, None) if characters is None else _span(characters)
    with open_index(folder) as index:
        print(clean(index.text(document)[start:end]))


def _span(characters: str) -> tuple[int, int]:
    match = _SPAN.fullmatch(characters.strip())
    if match is None or int(match[1]) >= int(match[2]):
        raise OptionError(f"--characters is {characters!r}; give START-END, such as --characters 39-88")
    return int(match[1]), int(match[2])


def show_info(folder: Path, *, as_json: bool) -> None:
    """Print the contents of an index."""
    with Index.open(folder) as index:
        info = index.info()
    if as_json:
        print_json(info)
        return
    for name, value in info.items():
        if value != {}:
            print(clean(f"{name:<10} {_plain(value)}"))


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{shortened(str(name), 80)} {_plain(number)}" for name, number in list(value.items())[:20])
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def show_problems(folder: Path, *, repair: bool, as_json: bool) -> None:
    """Print the problems of an index. Exits with 1 if there are any."""
    with Index.open(folder) as index:
        problems = index.verify(repair=repair)
    if as_json:
        print_json([asdict(problem) for problem in problems])
    elif not problems:
        print(f"{folder}: no problems; the snapshot matches the stored documents.")
    for problem in problems:
        note(f"{problem.problem}\n  {problem.remedy}")
    if problems:
        raise SystemExit(1)


def show_methods(folder: Path | None, *, as_json: bool) -> None:
    """Print every method: its name, description, arguments, and over an index its expression."""
    snapshot = None if folder is None else Index.open(folder).snapshot
    rows = [
        {
            "name": method.name,
            "about": method.about,
            "arguments": ", ".join(_argument(method, name, value) for name, value in method.options.items()),
            # A method that requires a language model has no expression without one.
            "expression": "" if snapshot is None or method.required else repr(pipeline(method.name, snapshot)),
        }
        for method in METHODS.values()
    ]
    if as_json:
        print_json(rows)
        return
    console = Console(highlight=False)
    for row in rows:
        console.print(Text(row["name"], "bold").append(f"  {row['about']}", "not bold"))
        console.print(Padding(Text(row["arguments"], "dim"), (0, 0, 0, 4)))
        if row["expression"]:
            console.print(Padding(Text(row["expression"], "green"), (0, 0, 0, 4)))


def _argument(method: Method, name: str, value: object) -> str:
    if name in method.required:
        return f"{name} (required)"
    return f"{name}={value.__name__ if isinstance(value, type) else repr(value)}"


def export_graph(
    folder: Path, to: Path, form: str | None, question: str | None, method: str | None, top_k: int, *, force: bool
) -> None:
    """Write the graph, or the evidence for a question, to a file or to stdout (-)."""
    if to == _STDOUT and form is None:
        raise OptionError("--to - writes to stdout, which has no file name; add --format graphml or --format json.")
    form = format_of(to, form)
    if to != _STDOUT and to.exists() and not force:
        raise OptionError(f"{to} exists already; nothing was written. Give --force to replace it, or another name.")
    with open_index(folder) as index:
        graph, evidence = (index.graph, None) if question is None else _evidence(index, question, method, top_k)
        if to != _STDOUT:
            written = export(graph, to, form, evidence)
        else:  # always in UTF-8, which the file itself declares
            file = TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n")
            try:
                written = FORMATS[form](graph, file, evidence)
            finally:
                file.detach()
    source = "the whole graph" if evidence is None else f"{counted(len(evidence), 'item')} of evidence"
    size = f"{counted(written.nodes, 'node')}, {counted(written.edges, 'edge')}"
    note(f"wrote {source} to {'stdout' if to == _STDOUT else to} as {form}: {size}")


def _evidence(index: Index, question: str, method: str | None, top_k: int) -> tuple[Graph, Evidence]:
    """Return the graph that was searched and the best items of evidence; passages where there are no items."""
    state = index.retrieve(question, method)
    evidence, passages = state.evidence, state.passages
    if evidence is None:
        evidence = Evidence.of_nodes([]) if passages is None else Evidence.of_nodes(passages.ids, passages.scores)
    return state.graph, evidence.top(top_k)
