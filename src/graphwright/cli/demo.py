"""The demo: a small real corpus, indexed and asked on the spot, offline."""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import ExitStack
from importlib.resources import as_file, files
from pathlib import Path

from rich.console import Console
from rich.rule import Rule

from graphwright.cli.indexing import progress_bar
from graphwright.cli.show import show_state
from graphwright.data.questions import read_questions
from graphwright.index_folder import Index

__all__ = ["run_demo"]

_ASKED = (2, 1)  # of the bundled questions, two whose both steps fit on a screen


def run_demo(folder: Path | None) -> None:
    """Index the bundled corpus and ask it some questions; leave the index in `folder` if one is given."""
    begun = time.perf_counter()
    with ExitStack() as stack:
        corpus = stack.enter_context(as_file(files("graphwright.cli") / "demo_corpus"))
        place = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "index" if folder is None else folder
        index = _indexed(place, corpus)
        console = Console(highlight=False)
        questions = read_questions(corpus / "questions.jsonl")
        for record in (questions[at] for at in _ASKED):
            console.print(Rule(record.text, align="left"))
            show_state(index.ask(record.text), 3)
        index.close()
    where = f"graphwright ask 'your question' --index {folder}" if folder else "graphwright index DOCS --into DIR"
    print(f"Done in {time.perf_counter() - begun:.1f} s, offline. Next: {where}", file=sys.stderr)


def _indexed(place: Path, corpus: Path) -> Index:
    index = Index.open(place) if (place / "index.sqlite").exists() else Index.create(place)
    with progress_bar() as show:
        index.add(corpus / "corpus.jsonl", progress=show)
    held = index.info()
    print(
        f"{held['documents']} passages of Wikipedia (from MuSiQue) as a graph of {held['nodes']:,} nodes and "
        f"{held['edges']:,} edges.\n"
    )
    return index
