"""What the export command does: the graph, or the evidence for a question, as a file for other tools."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphwright.cli.printable import counted
from graphwright.errors import OptionError

if TYPE_CHECKING:
    from graphwright.graph.evidence import Evidence
    from graphwright.graph.export import Written
    from graphwright.graph.graph import Graph
    from graphwright.index_folder import Index

__all__ = ["export"]

_STDOUT = Path("-")


def export(
    index: Annotated[Path, typer.Option("--index", help="The index folder.")],
    to: Annotated[Path, typer.Option("--to", help="The file to write; - for stdout.")],
    form: Annotated[
        str | None, typer.Option("--format", help="graphml or json; by the file's name if not given.")
    ] = None,
    question: Annotated[
        str | None, typer.Option("--question", "-q", help="Write only what is found for this question.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option("--method", "-m", help="How to retrieve, as 'graphwright ask' does unless given."),
    ] = None,
    pieces: Annotated[int, typer.Option("--pieces", "-k", min=1, help="How many pieces of evidence.")] = 20,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write the graph, or the evidence for a question, as GraphML or node-link JSON."""
    from graphwright.cli.show import opened
    from graphwright.graph.export import form_of

    if to == _STDOUT and form is None:
        raise OptionError("stdout has no name that says a format: give --format graphml or --format json.")
    form = form_of(to, form)  # before anything that takes time
    if to != _STDOUT and to.exists() and not force:
        raise OptionError(f"{to} exists already; nothing was written. Give --force to replace it, or another name.")
    with opened(index) as source:
        graph, evidence = _found(source, question, method, pieces)
        written = _write(graph, to, form, evidence)
    what = "the whole graph" if evidence is None else f"{counted(len(evidence), 'piece')} of evidence"
    holds = f"{counted(written.nodes, 'node')}, {counted(written.edges, 'edge')}"
    where = "stdout" if to == _STDOUT else to
    print(f"wrote {what} to {where} as {form}: {holds}", file=sys.stderr)


def _found(index: Index, question: str | None, method: str | None, pieces: int) -> tuple[Graph, Evidence | None]:
    """Return the graph, and for a question the best pieces of evidence in it."""
    from graphwright.graph.evidence import Evidence

    if question is None:
        return index.graph, None
    state = index.retrieve(question, method)
    evidence = state.evidence
    if evidence is None:
        chunks = state.chunks
        evidence = Evidence.of_nodes([]) if chunks is None else Evidence.of_nodes(chunks.ids, chunks.scores)
    return state.graph, evidence.top(pieces)


def _write(graph: Graph, to: Path, form: str, evidence: Evidence | None) -> Written:
    from graphwright.graph.export import FORMS, export

    if to != _STDOUT:
        return export(graph, to, form, evidence)
    # UTF-8 whatever the terminal speaks: that is what the document says of itself.
    file = TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n")
    try:
        return FORMS[form](graph, file, evidence)
    finally:
        file.detach()
