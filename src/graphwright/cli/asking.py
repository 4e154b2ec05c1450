"""Ask an index and print the result: answers with citations, passages, or JSON; and the demo."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.padding import Padding
from rich.text import Text

from graphwright import models
from graphwright.cli.options import AskModelOptions, QueryOptions, open_index, read_method
from graphwright.cli.terminal import console, note, print_json, progress, say, shortened
from graphwright.errors import ModelError, OptionError, counted
from graphwright.graph.walks import shown_path
from graphwright.index_folder.index import Index
from graphwright.methods.method import Builder, read_method_file
from graphwright.methods.registry import METHODS
from graphwright.operators import Answer, Citation, Question, Run, State, also_in
from graphwright.operators.run import CUT_SHORT, NOT_FOLLOWED

_TEXT_WIDTH, _TITLE_WIDTH = 200, 80  # characters of a passage, of its title
_INDENT = 4
_ANSWER_PASSAGES, _RETRIEVED_PASSAGES = 5, 10  # shown on a terminal, unless --top-k is given
_DEMO_QUESTIONS = (6, 3)  # positions of two bundled questions with short, correct answers

_COMMON_OPTIONS = ("filter", "deadline", "llm", "instruction")  # options of `Index.ask` for every method


def ask(folder: Path, question: str, query: QueryOptions, model: AskModelOptions) -> None:
    """Ask a question and print the answer. On a terminal, show the text of a language model while it streams."""
    asking = Asking.of(folder, query, model)
    asking.show(asking.answer(question), query.top_k or _ANSWER_PASSAGES)


@dataclass(frozen=True)
class Asking:
    """An index with the method and the language model that answer, as the options of a command name them."""

    index: Index
    query: QueryOptions
    method: str | Builder | None
    options: dict[str, Any]
    settings: models.LLMSettings | None

    @classmethod
    def of(cls, folder: Path, query: QueryOptions, model: AskModelOptions) -> Asking:
        """Open an index. Raises OptionError for options that do not fit together."""
        settings, options = model.settings(folder), query.index_options()
        if settings is not None:
            options |= {"llm": model.client(settings, folder), "deadline": settings.deadline}
        instruction = model.instruction if settings is None else settings.instruction
        options |= {"instruction": instruction} if instruction else {}
        method, options = to_ask(query.method, query.method_file, options)
        return cls(open_index(folder), query, method, options, settings)

    def answer(self, question: str, history: Sequence[State] | None = None) -> State:
        """Return the answer, as a turn of a conversation if its earlier turns are given; show it while it streams."""
        asked, options = _question(question, self.query, self.index), {"history": history, **self.options}
        live = self.settings is not None and not self.query.as_json and console().is_terminal
        with _draft() if live else nullcontext() as on_text:
            try:
                return self.index.ask(asked, self.method, run=Run(on_text=on_text), **options)
            except ModelError as error:
                if self.settings is not None and not (isinstance(self.method, str) and METHODS[self.method].required):
                    offline = "Without --llm, or with --offline, the answer is quoted from the documents."
                    error.args = (f"{error} {offline}",)
                raise

    def show(self, state: State, passages: int) -> None:
        """Print an answer, on a terminal with so many passages, and what to know about it to stderr."""
        _show(state, self.index, self.query, passages)
        model = "" if self.settings is None else self.settings.model
        if model:
            for text in _notes(state, CUT_SHORT)[:1]:
                fault = text.removeprefix(f"{CUT_SHORT}: ")
                note(f"note: the language model {model!r} could not be reached, or its reply was cut off: {fault}")
        if model or console().is_terminal:
            note(cost_line(state, self.query.named or self.index.default_method, model))


def _notes(state: State, beginning: str) -> list[str]:
    """Return the different notes of a trace that begin so."""
    notes = (text for step in state.trace for text in step.notes)
    return list(dict.fromkeys(text for text in notes if text.startswith(beginning)))


@contextmanager
def _draft() -> Iterator[Callable[[str], None]]:
    """Show the text of an answer while it streams, then clear it, because the verified answer is printed next."""
    text = Text(style="dim")
    with Live(text, console=console(), transient=True, vertical_overflow="ellipsis", auto_refresh=False) as live:

        def write(part: str) -> None:
            text.append(part)
            live.refresh()

        yield write


def to_ask(text: str | None, file: Path | None, options: dict[str, Any]) -> tuple[str | Builder | None, dict[str, Any]]:
    """Return method and options for `Index.ask`. Raises OptionError for one given twice, or not for a file's method."""
    if file is not None:
        return _of_file(text, file, options)
    entry = read_method(text)
    if entry is None:
        return None, options
    twice = sorted(options.keys() & entry.options.keys())
    if twice:
        option = twice[0].replace("_", "-")
        raise OptionError(f"{twice[0]} is given in --method {text} and by --{option}; leave one of them out.")
    entry.check_model(options.get("llm"))
    if entry.is_offline:
        options = {name: value for name, value in options.items() if name != "llm"}
    return entry.method, {**entry.options, **options}


def _of_file(text: str | None, file: Path, options: dict[str, Any]) -> tuple[Builder, dict[str, Any]]:
    if text is not None:
        raise OptionError(f"--method {text} and --method-file {file} are both given; leave one of them out.")
    if flags := [f"--{name.replace('_', '-')}" for name in options if name not in _COMMON_OPTIONS]:
        raise OptionError(
            f"{', '.join(flags)}: is for a method with a name; write it into {file}, as % 10 for 10 items."
        )
    return read_method_file(file), options


def cost_line(state: State, method: str, model: str = "") -> str:
    """Return the method, seconds, calls, tokens and cost of an answer, on one line.

    `model`: the name of the language model, if any.

    >>> from graphwright import Graph, start
    >>> cost_line(start("?", Graph.from_triples([])), "multihop")
    'multihop, 0.0 s, no language model'
    """
    usage = state.usage
    head = f"{method}, {sum(step.seconds for step in state.trace):.1f} s"
    if not usage.llm_calls:
        return f"{head}, no reply of {model}" if _notes(state, CUT_SHORT) else f"{head}, no language model"
    cost = f", cost {usage.cost:.4g}" if usage.cost else ""
    tokens = f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    return f"{head}, {counted(usage.llm_calls, 'call')}, {tokens}{cost}"


def retrieve(folder: Path, question: str, query: QueryOptions) -> None:
    """Retrieve passages for a question and print them."""
    method, options = to_ask(query.method, query.method_file, query.index_options())
    if isinstance(method, str) and METHODS[method].required:
        raise OptionError(f"{query.method} asks a language model only, and retrieves nothing; use graphwright ask.")
    index = open_index(folder)
    state = index.retrieve(_question(question, query, index), method, **options)
    _show(state, index, query, query.top_k or _RETRIEVED_PASSAGES)


def _question(text: str, query: QueryOptions, index: Index) -> Question:
    """Return the question with its entities. Raises DataError for the name of no node."""
    for name in query.entity or ():
        index.graph.id(name)
    return Question(text, entities=tuple(query.entity or ()))


def _show(state: State, index: Index, query: QueryOptions, passages: int) -> None:
    for text in (*state.notes, *_notes(state, NOT_FOLLOWED)):
        note(f"note: {text}.")
    if query.as_json:
        print_json(state.to_dict(method=query.named or index.default_method, top_k=query.top_k))
    else:
        show_state(state, passages, explain=query.explain)
    if state.question.turn:
        note(f"note: the turn was taken to mean: {state.question.original}")
    if state.question.asked:
        note(f"note: the question was read as: {state.question.text}")


def show_state(state: State, top_k: int, *, explain: bool = False) -> None:
    """Print the answer with its citations, the passages, and with `explain` the steps.

    On a terminal lines are wrapped. Elsewhere each line is a line of the answer or a citation; without an answer it is
    a passage: score, id, title and text, separated by tabs.
    """
    output = console()
    if state.answer is not None:
        _show_answer(output, state, state.answer)
    if state.answer is None or (output.is_terminal and top_k):
        show_passages(state, top_k)
    if explain:
        from graphwright.cli.explanation import explain as print_explanation

        print_explanation(state, output)


def _show_answer(output: Console, state: State, answer: Answer) -> None:
    if answer.found and not answer.verified:
        part = "not every" if answer.citations else "no"
        note(f"unverified: {part} statement of this answer could be verified in the documents.")
    text = Text(answer.text, "bold")
    text.highlight_regex(r"\[\d+\]", "cyan")
    text.highlight_regex(r"\[unsupported\]", "red")
    _print(output, text)
    if answer.citations or output.is_terminal:
        output.print()
    answer_line = " ".join(answer.text.split())
    for number, citation in enumerate(answer.citations, 1):
        _print(output, Text(f"[{number}] ", "cyan").append_text(source_line(state, citation)))
        if " ".join(citation.text.split()) not in answer_line and citation.text != citation.chunk:
            _print(output, Text(f"“{' '.join(citation.text.split())}”", "italic"), _INDENT)
        if path := shown_path(state.graph, citation.path):
            _print(output, _path(path), _INDENT)
    if answer.citations and output.is_terminal:
        output.print()


def source_line(state: State, citation: Citation) -> Text:
    """Return where the text of a citation stands: document, title, place in its file, characters, copies."""
    passages = state.graph.passages
    title = passages.title_of(state.graph.id(citation.chunk)) if passages is not None else ""
    line = Text(citation.document or citation.chunk)
    line.append(f"  {shortened(title, _TITLE_WIDTH)}" if title else "")
    if citation.document or not citation.path:  # the name of a node at the end of a path has no span
        line.append(f"  {citation.location}," if citation.location else " ")
        line.append(f" characters {citation.start}-{citation.end}", "dim")
    return line.append(f"; {also_in(citation.also_in)}" if citation.also_in else "", "dim")


def _print(output: Console, text: Text, indent: int = 0) -> None:
    """Print a text, wrapped only on a terminal."""
    if output.is_terminal:
        output.print(Padding(text, (0, 0, 0, indent), expand=False))
    else:
        output.print(Text(" " * indent).append_text(text), soft_wrap=True)


def _path(path: tuple[str, ...]) -> Text:
    """Return a path with nodes in green: node — relation → node."""
    line = Text("path: ", "dim")
    for position, part in enumerate(path):
        if position:
            line.append(" — " if position % 2 else " → ", "dim")
        line.append(part, "dim" if position % 2 else "green")
    return line


def show_passages(state: State, top_k: int) -> None:
    """Print the best passages; if not on a terminal, one a line: score, id, title and text, separated by tabs."""
    output = console()
    if not output.is_terminal:
        for passage in state.passages.top(top_k) if state.passages else ():
            fields = f"{passage.score:.4g}", passage.id, passage.title, passage.text
            say("\t".join(" ".join(field.split()) for field in fields))
        return
    if not state.passages:
        output.print("No passages found.")
        return
    width = len(str(min(top_k, len(state.passages)))) + 2
    for rank, passage in enumerate(state.passages.top(top_k), 1):
        name = Text(f"{rank:>{width - 2}}  ", "dim").append(passage.id, "default")
        name.append(f"  {shortened(passage.title, _TITLE_WIDTH)}" if passage.title else "", "bold")
        _print(output, name.append(f"  {passage.score:.3g}", "dim"))
        _print(output, Text(shortened(passage.text, _TEXT_WIDTH), "dim"), width)


def run_demo(folder: Path | None) -> None:
    """Index the bundled corpus and ask two questions; keep the index if a folder is given."""
    from tempfile import TemporaryDirectory

    start = time.perf_counter()
    with ExitStack() as stack:
        corpus = stack.enter_context(as_file(files("graphwright.cli") / "demo_corpus"))
        place = Path(stack.enter_context(TemporaryDirectory())) / "index" if folder is None else folder
        index = stack.enter_context(Index(place))
        with progress() as show:
            index.add(corpus / "corpus.jsonl", progress=show)
        info = index.info()
        say(
            f"Indexed {info['documents']} passages of Wikipedia (from MuSiQue): a graph of {info['nodes']:,} nodes and "
            f"{info['edges']:,} edges.\n"
        )
        from graphwright.data import read_questions

        output, questions = console(), read_questions(corpus / "questions.jsonl")
        for question in (questions[position].text for position in _DEMO_QUESTIONS):
            _print(output, Text(question, "bold"))
            show_state(index.ask(question), 3)
            output.print()
    command = f"graphwright ask 'your question' --index {folder}" if folder else "graphwright index DOCS --into DIR"
    note(f"Done in {time.perf_counter() - start:.1f} s, offline. Next: {command}")
