"""Ask the everyday questions over graphs, each graph imported into an index of its own."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from harness import Record

from graphwright import Index
from questions.report import ask_all
from questions.score import Question

GRAPHS = Path(__file__).parents[1] / "everyday" / "graphs"
SUFFIXES = (".nt", ".tsv", ".csv", ".graphml")


def file_of(name: str) -> Path:
    """Return the file of a graph. Raises FileNotFoundError where there is none of that name."""
    files = [GRAPHS / f"{name}{suffix}" for suffix in SUFFIXES]
    path = next((path for path in files if path.is_file()), None)
    if path is None:
        raise FileNotFoundError(f"no graph {name!r} in {GRAPHS}; expected one of {', '.join(p.name for p in files)}.")
    return path


def by_graph(questions: Iterable[Question]) -> dict[str, list[Question]]:
    """Return the questions of each graph."""
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.source, []).append(question)
    return groups


def ask_graphs(questions: Sequence[Question], options: Namespace) -> tuple[list[Record], Record]:
    """Import each graph as `graphwright import` does, and ask its questions.

    Returns the rows of all questions, and the method and the number of triples of each graph.
    """
    rows: list[Record] = []
    graphs: Record = {}
    for name, group in by_graph(questions).items():
        with TemporaryDirectory() as folder, Index.from_graph(Path(folder) / name, file_of(name)) as index:
            rows += ask_all(index, group, options)
            method = options.method or index.default_method
            graphs[name] = {"triples": len(index.graph.edges), "method": method}
    return rows, graphs
