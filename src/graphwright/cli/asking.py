"""Ask an index, and print the result: answers with citations, passages, JSON, the explanation; and the demo."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.resources import as_file, files
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from graphwright.cli.terminal import console, counted, note, plain_table, print_json, progress_bar, say, shortened
from graphwright.data.questions import read_questions
from graphwright.errors import OptionError
from graphwright.graph.evidence import Piece
from graphwright.graph.graph import Graph, Kind
from graphwright.graph.walks import edge_label
from graphwright.index_folder import Index
from graphwright.methods.registry import METHODS
from graphwright.models.protocols import Usage
from graphwright.operators.run import NO_VECTORS, Run
from graphwright.operators.state import Anchor, Answer, Question, State, Step

if TYPE_CHECKING:
    from rich.console import Console

    from graphwright.cli.options import AskModelOptions, QueryOptions

__all__ = ["ask", "open_index", "retrieve", "run_demo", "show_explanation", "usage_line"]

_TEXT_WIDTH = 200  # characters of a passage
_ANSWER_PASSAGES, _RETRIEVED_PASSAGES = 5, 10  # shown on a terminal, unless --top-k is given
_DEMO_QUESTIONS = (2, 1)  # positions of two bundled questions whose answers fit on a screen
_MAX_NAMES, _MAX_EDGES = 4, 3  # of an anchor
_MAX_ITEMS, _MAX_TRIPLES = 8, 12  # of a step; of an item
_NAME_WIDTH, _RESULT_WIDTH = 44, 100
_SCORES = {"FlowPaths": "reliability"}  # names of scores that have one of their own
_NOUNS = {"passages": "passage", "evidence": "item", "anchors": "anchor", "graph": "node"}
_FIELDS = ("answer", "prompt", "passages", "evidence", "anchors", "graph")  # most informative first


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
            f"note: a change of {folder} was interrupted; the newest documents cannot be searched yet, and what was "
            f"removed or replaced is hidden. Run the same command again, or: graphwright verify --repair --index "
            f"{folder}"
        )
    return index


def ask(folder: Path, question: str, query: QueryOptions, model: AskModelOptions) -> None:
    """Ask a question and print the answer. On a terminal, the text of a language model is shown while it is written."""
    settings, options = model.settings(folder), query.index_options()
    if settings is not None:
        options |= {"llm": model.client(settings, folder), "deadline": settings.deadline}
    index = open_index(folder)
    live = settings is not None and not query.as_json and sys.stdout.isatty()
    run = Run(on_text=_show_draft if live else None)
    state = index.ask(_question(question, query, index), query.method, run=run, **options)
    if live:
        say("\n")
    _show(state, index, query, _ANSWER_PASSAGES)
    if settings is not None:
        note(usage_line(state))


def usage_line(state: State) -> str:
    """Return the tokens, calls, seconds and cost of an answer by a language model, on one line.

    >>> from graphwright import Graph, start
    >>> usage_line(start("?", Graph.from_triples([])))
    '0 + 0 tokens, 0 calls, 0.0 s'
    """
    usage = state.usage
    tokens = f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    seconds = sum(step.seconds for step in state.trace)
    cost = f", cost {usage.cost:.4g}" if usage.cost else ""
    return f"{tokens}, {counted(usage.llm_calls, 'call')}, {seconds:.1f} s{cost}"


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
    missing = [text for step in state.trace for text in step.notes if text.startswith(NO_VECTORS)]
    for text in dict.fromkeys(missing):
        note(f"note: {text}.")
    if query.as_json:
        print_json(state.to_dict(method=query.method or index.default_method, top_k=query.top_k))
    else:
        show_state(state, query.top_k or passages, explain=query.explain)


def _show_draft(text: str) -> None:
    """Print a part of an answer whose citations are not verified yet; the verified answer is printed after it."""
    console().print(text, style="dim", end="", soft_wrap=True)


def show_state(state: State, top_k: int, *, explain: bool = False) -> None:
    """Print the answer with its citations, the passages, and with `explain` the steps."""
    output = console()
    if state.answer is not None:
        _show_answer(output, state, state.answer)
    _show_passages(output, state, top_k)
    if explain:
        show_explanation(output, state)


def _show_answer(output: Console, state: State, answer: Answer) -> None:
    if answer.found and not answer.verified:
        part = "not every" if answer.citations else "no"
        note(f"unverified: {part} statement of this answer could be verified in the documents.")
    # A quoted answer consists of its citations; a written one has its own markers.
    quoted = answer.text == " ".join(citation.text for citation in answer.citations)
    text = Text("" if quoted else answer.text, "bold")
    for number, citation in enumerate(answer.citations if quoted else (), 1):
        text.append(f"{citation.text} ", "bold").append(f"[{number}]  ", "cyan")
    text.highlight_regex(r"\[\d+\]", "cyan")
    text.highlight_regex(r"\[unsupported\]", "red")
    output.print(text)
    output.print()
    passages = state.graph.passages
    for number, citation in enumerate(answer.citations, 1):
        title = passages.title_of(state.graph.id(citation.chunk)) if passages is not None else ""
        source = Text(f"[{number}] ", "cyan").append(citation.document or citation.chunk)
        source.append(f"  {title}" if title else "")
        if citation.document or not citation.path:  # the name of a node at the end of a path has no span
            source.append(f"  {citation.location}," if citation.location else "")
            source.append(f"  characters {citation.start}-{citation.end}", "dim")
        output.print(source)
        if not quoted and citation.text != citation.chunk:
            output.print(Padding(Text(f"“{citation.text}”", "italic"), (0, 0, 0, 4)))
        if citation.path:
            output.print(Padding(_path(citation.path), (0, 0, 0, 4)))
    if answer.citations:
        output.print()


def _path(path: tuple[str, ...]) -> Text:
    """Return a path with nodes in green: node — relation → node."""
    line = Text("path: ", "dim")
    for position, part in enumerate(path):
        if position:
            line.append(" — " if position % 2 else " → ", "dim")
        line.append(part, "dim" if position % 2 else "green")
    return line


def _show_passages(output: Console, state: State, top_k: int) -> None:
    if not state.passages:
        output.print("No passages found.")
        return
    table = plain_table()
    for name, style in (("", "dim"), ("passage", ""), ("score", "dim"), ("text", "")):
        table.add_column(name, style=style, justify="right" if name in ("", "score") else "left", overflow="fold")
    for rank, passage in enumerate(state.passages.top(top_k), 1):
        name = f"{passage.title}\n{passage.id}" if passage.title else passage.id
        table.add_row(str(rank), Text(name), f"{passage.score:.3g}", Text(shortened(passage.text, _TEXT_WIDTH)))
    output.print(table)


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
        say(
            f"Indexed {info['documents']} passages of Wikipedia (from MuSiQue): a graph of {info['nodes']:,} nodes and "
            f"{info['edges']:,} edges.\n"
        )
        output, questions = console(), read_questions(corpus / "questions.jsonl")
        for question in (questions[position].text for position in _DEMO_QUESTIONS):
            output.print(Rule(question, align="left"))
            show_state(index.ask(question), 3)
    command = f"graphwright ask 'your question' --index {folder}" if folder else "graphwright index DOCS --into DIR"
    note(f"Done in {time.perf_counter() - start:.1f} s, offline. Next: {command}")


# Explanation

Changed = tuple[Step, str, State | None]
"""A step, the most telling field that it changed ("" if none), and the state before it."""


def show_explanation(output: Console, state: State) -> None:
    """Print the anchors with their weights, the items of evidence with their scores, and the steps."""
    steps: list[Changed] = []
    before: State | None = None
    for step in state.trace:
        steps.append((step, "" if step.after is None else _changed(before, step.after), before))
        before = step.after or before
    _show_anchors(output, steps)
    for step, field, _ in steps:
        if field == "evidence" and step.after is not None:
            _show_items(output, step, step.after)
    _show_steps(output, steps)


def _changed(before: State | None, after: State) -> str:
    for name in _FIELDS:
        value = getattr(after, name)
        if value is not None and (before is None or value is not getattr(before, name)):
            return name
    return ""


def _show_anchors(output: Console, steps: Sequence[Changed]) -> None:
    """Print the first anchors, and those that later steps added or changed."""
    table = plain_table("Anchors", expand=True)
    table.add_column("step", no_wrap=True, style="dim")
    table.add_column("weight", justify="right", style="dim")
    table.add_column("words", ratio=2)
    table.add_column("nodes and edges", ratio=3)
    for step, field, before in steps:
        if field == "anchors" and step.after is not None:
            known = set() if before is None else set(before.anchors or ())
            label = _name_of(step)
            for anchor in (anchor for anchor in step.after.anchors or () if anchor not in known):
                kind = "" if anchor.kind == "entity" else f"  ({anchor.kind})"
                words = Text(anchor.text).append(kind, "dim")
                table.add_row(label, f"{anchor.weight:.2f}", words, _lines_of(step.after.graph, anchor))
                label = ""
    if table.row_count:
        output.print(table)


def _lines_of(graph: Graph, anchor: Anchor) -> Text:
    """Return the names of an anchor's nodes, and its edges, one on a line."""
    names = _names(graph, anchor.nodes.tolist(), _MAX_NAMES)
    return Text("\n").join([*([Text(names)] if names else []), *_triples(graph, anchor.edges.tolist(), _MAX_EDGES)])


def _triples(graph: Graph, edges: list[int], limit: int) -> list[Text]:
    more = [Text(f"and {len(edges) - limit} more", "dim")] if len(edges) > limit else []
    return [*(_triple(graph, edge) for edge in edges[:limit]), *more]


def _names(graph: Graph, nodes: Sequence[int], limit: int) -> str:
    names = ", ".join(_name(graph, node) for node in nodes[:limit])
    return names + (f" and {len(nodes) - limit} more" if len(nodes) > limit else "")


def _show_items(output: Console, step: Step, state: State) -> None:
    """Print the best items of evidence that a step gave, unless all of them are single nodes."""
    evidence = state.evidence
    if evidence is None or not len(evidence.edges):
        return
    best = f", the best {_MAX_ITEMS}" if len(evidence) > _MAX_ITEMS else ""
    table = plain_table(f"{_name_of(step)}: {counted(len(evidence), 'item')}{best}", expand=True)
    table.add_column("", justify="right", style="dim")
    if evidence.scores is not None:
        table.add_column(_SCORES.get(_name_of(step), "score"), justify="right", style="dim")
    table.add_column("item", ratio=1)
    for position, item in enumerate(evidence.top(_MAX_ITEMS)):
        score = [] if evidence.scores is None else [f"{evidence.scores[position]:.3g}"]
        table.add_row(str(position + 1), *score, _item(state.graph, item))
    output.print(table)


def _item(graph: Graph, item: Piece) -> Text:
    """Return a path as names and arrows, and any other item as its triples and its other nodes."""
    nodes, edges = (part.tolist() for part in item)
    if [sorted(graph.ends([edge]).tolist()) for edge in edges] == [sorted(hop) for hop in pairwise(nodes)]:
        path = Text(_name(graph, nodes[0]))
        for edge, node in zip(edges, nodes[1:], strict=True):
            path.append(_relation(graph, edge, forward=graph.columns.tails[edge] == node), "dim")
            path.append(_name(graph, node))
        return path
    lines = _triples(graph, edges, _MAX_TRIPLES)
    ends = set(graph.ends(edges).tolist())
    others = [node for node in nodes if node not in ends]
    return Text("\n").join([*lines, *([Text(_names(graph, others, _MAX_TRIPLES))] if others else [])])


def _triple(graph: Graph, edge: int) -> Text:
    head, tail = graph.ends([edge]).tolist()
    return Text(_name(graph, head)).append(_relation(graph, edge, forward=True), "dim").append(_name(graph, tail))


def _relation(graph: Graph, edge: int, *, forward: bool) -> str:
    name = shortened(edge_label(graph, edge, True), _NAME_WIDTH)
    return f" — {name} → " if forward else f" ← {name} — "


def _name(graph: Graph, node: int) -> str:
    """Return the name of a node; for a passage its id and its document's title."""
    name = graph.names[node]
    if graph.passages is not None and graph.columns.kinds[node] == Kind.CHUNK:
        name = f"{name} {graph.passages.title_of(node)}"
    return shortened(name, _NAME_WIDTH)


def _name_of(step: Step) -> str:
    return step.operator.partition("(")[0]


def _show_steps(output: Console, steps: Sequence[Changed]) -> None:
    table = plain_table("Steps", expand=True)
    table.add_column("step", ratio=3, overflow="fold")
    table.add_column("result", ratio=4, overflow="fold")
    for name in ("ms", "model ms", "texts", "LLM tokens"):
        table.add_column(name, justify="right", no_wrap=True)
    total = Usage()
    for step, field, _ in steps:
        total.add(step.usage)
        result = "; ".join(filter(None, (_result(step, field), *step.notes)))
        table.add_row(Text(_brief(step.operator)), Text(result), *_numbers(step.seconds, step.usage))
    table.add_row(Text("total", "bold"), "", *_numbers(sum(step.seconds for step, _, _ in steps), total))
    output.print(table)


def _numbers(seconds: float, usage: Usage) -> list[str]:
    """Return a step's milliseconds, model milliseconds, texts read by models, and LLM tokens."""
    tokens = usage.prompt_tokens + usage.completion_tokens
    model = f"{1000 * usage.seconds:.1f}" if usage.calls else ""
    return [f"{1000 * seconds:.1f}", model, str(usage.texts or ""), f"{tokens:,}" if tokens else ""]


def _brief(operator: str) -> str:
    """Return an expression with nested brackets shortened.

    >>> _brief("Rerank(Composed(names=VectorIndex(3 × 2)))"), _brief("Keywords() % 3")
    ('Rerank(Composed(…))', 'Keywords() % 3')
    """
    brief, depth = [], 0
    for position, sign in enumerate(operator):
        depth -= sign == ")"
        if depth < 2:
            brief.append(sign)
        depth += sign == "("
        if sign == "(" and depth == 2 and operator[position + 1 : position + 2] != ")":
            brief.append("…")
    return "".join(brief)


def _result(step: Step, field: str) -> str:
    """Return the size of the field that a step changed, with its best nodes or passages."""
    state, best = step.after, ""
    if state is None or not field:
        return ""
    if field == "answer" and state.answer is not None:
        return f"an answer with {counted(len(state.answer.citations), 'citation')}"
    if field == "prompt":
        return f"a prompt of {len(state.prompt or ''):,} characters"
    if field == "passages" and state.passages is not None:
        best = _names(state.graph, state.passages.ids[:3].tolist(), 3)
    if field == "evidence" and state.evidence is not None and not len(state.evidence.edges):
        # items with edges are shown in a table of their own
        best = "; ".join(_names(state.graph, nodes[:3].tolist(), 3) for nodes, _ in state.evidence.top(3))
    size = counted(step.sizes["nodes" if field == "graph" else field], _NOUNS[field])
    return size + (f": {shortened(best, _RESULT_WIDTH)}" if best else "")
