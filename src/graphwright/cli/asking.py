"""Commands that ask an index, and their output: answers with citations, passages, JSON; and the demo."""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import ExitStack
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from graphwright.cli.explain import show_explanation
from graphwright.cli.inspection import open_index
from graphwright.cli.terminal import clean, note, plain_table, print_json, progress_bar, shortened
from graphwright.data.questions import read_questions
from graphwright.errors import OptionError
from graphwright.index_folder import Index
from graphwright.methods.registry import METHODS
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, Question, State

if TYPE_CHECKING:
    from graphwright.cli.options import AnswerModelOptions, QueryOptions

__all__ = ["ask", "retrieve", "run_demo", "show_state"]

_TEXT_WIDTH = 200  # characters of a passage
_ANSWER_PASSAGES, _RETRIEVED_PASSAGES = 5, 10  # shown on a terminal, unless --top-k is given
_DEMO_QUESTIONS = (2, 1)  # positions of two bundled questions whose answers fit on a screen


def ask(folder: Path, question: str, query: QueryOptions, model: AnswerModelOptions) -> None:
    """Ask a question and print the answer. On a terminal, the text of a language model is shown while it is written."""
    settings, options = model.settings(folder), query.index_options()
    if settings is not None:
        options["llm"] = model.client(settings, folder)
    index = open_index(folder)
    live = settings is not None and not query.as_json and sys.stdout.isatty()
    run = Run(on_text=_show_draft if live else None)
    state = index.ask(_question(question, query, index), query.method, run=run, **options)
    if live:
        print("\n")
    _show(state, index, query, _ANSWER_PASSAGES)


def retrieve(folder: Path, question: str, query: QueryOptions) -> None:
    """Retrieve passages for a question and print them."""
    if query.method in METHODS and METHODS[str(query.method)].required:
        raise OptionError(f"{query.method} asks a language model only, and retrieves nothing; use graphwright ask.")
    options = query.index_options()
    index = open_index(folder)
    state = index.retrieve(_question(question, query, index), query.method, **options)
    _show(state, index, query, _RETRIEVED_PASSAGES)


def _question(text: str, query: QueryOptions, index: Index) -> Question:
    """Return the question with its entities. Raises DataError for a name that no node has."""
    for name in query.entity or ():
        index.graph.id(name)
    return Question(text, entities=tuple(query.entity or ()))


def _show(state: State, index: Index, query: QueryOptions, passages: int) -> None:
    if query.as_json:
        print_json(state.to_dict(method=query.method or index.default_method, top_k=query.top_k))
    else:
        show_state(state, query.top_k or passages, explain=query.explain)


def _show_draft(text: str) -> None:
    """Print a part of an answer whose citations are not verified yet; the verified answer is printed after it."""
    Console(highlight=False).print(clean(text), style="dim", end="", markup=False, soft_wrap=True)


def show_state(state: State, top_k: int, *, explain: bool = False) -> None:
    """Print the answer with its citations, the passages, and with `explain` the steps."""
    console = Console(highlight=False, soft_wrap=False)
    if state.answer is not None:
        _show_answer(console, state, state.answer)
    _show_passages(console, state, top_k)
    if explain:
        show_explanation(console, state)


def _show_answer(console: Console, state: State, answer: Answer) -> None:
    if answer.found and not answer.citations:
        note("note: no statement of this answer could be verified in the documents.")
    # A quoted answer consists of its citations; a written one has its own markers.
    quoted = answer.text == " ".join(citation.text for citation in answer.citations)
    text = Text("" if quoted else clean(answer.text), "bold")
    for number, citation in enumerate(answer.citations if quoted else (), 1):
        text.append(f"{clean(citation.text)} ", "bold").append(f"[{number}]  ", "cyan")
    text.highlight_regex(r"\[\d+\]", "cyan")
    console.print(text)
    console.print()
    passages = state.graph.passages
    for number, citation in enumerate(answer.citations, 1):
        title = passages.title_of(state.graph.id(citation.chunk)) if passages is not None else ""
        source = Text(f"[{number}] ", "cyan").append(clean(citation.document or citation.chunk))
        source.append(f"  {clean(title)}" if title else "")
        if citation.document or not citation.path:  # the name of a node at the end of a path has no span
            source.append(f"  characters {citation.start}-{citation.end}", "dim")
        console.print(source)
        if not quoted and citation.text != citation.chunk:
            console.print(Padding(Text(f"“{clean(citation.text)}”", "italic"), (0, 0, 0, 4)))
        if citation.path:
            console.print(Padding(_path(citation.path), (0, 0, 0, 4)))
    if answer.citations:
        console.print()


def _path(path: tuple[str, ...]) -> Text:
    line = Text("path: ", "dim")
    for position, part in enumerate(path):
        line.append(clean(part), "green" if position % 2 == 0 else "dim")
        if position < len(path) - 1:
            line.append(" → " if position % 2 else " — ", "dim")
    return line


def _show_passages(console: Console, state: State, top_k: int) -> None:
    if not state.passages:
        console.print("No passages found.")
        return
    table = plain_table()
    for name, style in (("", "dim"), ("passage", ""), ("score", "dim"), ("text", "")):
        table.add_column(name, style=style, justify="right" if name in ("", "score") else "left", overflow="fold")
    for rank, passage in enumerate(state.passages.top(top_k), 1):
        name = clean(f"{passage.title}\n{passage.id}" if passage.title else passage.id)
        table.add_row(str(rank), Text(name), f"{passage.score:.3g}", Text(shortened(passage.text, _TEXT_WIDTH)))
    console.print(table)


def run_demo(folder: Path | None) -> None:
    """Index the bundled corpus and ask two questions; the index stays if a folder is given."""
    start = time.perf_counter()
    with ExitStack() as stack:
        corpus = stack.enter_context(as_file(files("graphwright.cli") / "demo_corpus"))
        place = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "index" if folder is None else folder
        index = stack.enter_context(
            Index.open(place) if (place / "index.sqlite").exists() else Index.create(place),
        )
        with progress_bar() as show:
            index.add(corpus / "corpus.jsonl", progress=show)
        info = index.info()
        print(
            f"Indexed {info['documents']} passages of Wikipedia (from MuSiQue): a graph of {info['nodes']:,} nodes and "
            f"{info['edges']:,} edges.\n"
        )
        console, questions = Console(highlight=False), read_questions(corpus / "questions.jsonl")
        for question in (questions[position].text for position in _DEMO_QUESTIONS):
            console.print(Rule(question, align="left"))
            show_state(index.ask(question), 3)
    command = f"graphwright ask 'your question' --index {folder}" if folder else "graphwright index DOCS --into DIR"
    note(f"Done in {time.perf_counter() - start:.1f} s, offline. Next: {command}")
