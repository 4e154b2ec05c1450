"""How states, methods and indexes are printed: as text for people, as JSON for programs."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from graphwright.cli.explain import anchored, show_explanation
from graphwright.cli.printable import printable
from graphwright.generate.stream import listening
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph
from graphwright.index.check import Problem
from graphwright.index.within import Within
from graphwright.index_folder import Index
from graphwright.methods.registry import METHODS, Method, pipeline
from graphwright.operators.anchors.keywords import Theme
from graphwright.operators.state import Anchor, Question, State, Step

__all__ = ["about", "as_dict", "opened", "show_answer", "show_info", "show_methods", "show_problems", "show_state"]


def as_dict(state: State, passages: int, pieces: int = 20) -> dict[str, Any]:
    """Return a state as JSON can hold it, with the best passages and pieces of evidence."""
    return {
        "question": state.question.text,
        "answer": None if state.answer is None else state.answer.text,
        "found": None if state.answer is None else state.answer.found,
        "citations": [] if state.answer is None else [c.as_json() for c in state.answer.citations],
        "passages": _passages(state, passages),
        "anchors": [_anchor(state.graph, anchor) for anchor in anchored(state).anchors or ()],
        "evidence": _pieces(state.graph, state.evidence, pieces),
        "trace": [_step(step) for step in state.trace],
    }


def _anchor(graph: Graph, anchor: Anchor) -> dict[str, Any]:
    return {
        "text": anchor.text,
        "weight": anchor.weight,
        "theme": isinstance(anchor, Theme),
        "nodes": graph.names.take(anchor.nodes),
        "edges": [list(graph.triple(edge)) for edge in anchor.edges.tolist()],
    }


def _passages(state: State, k: int) -> list[dict[str, Any]]:
    graph, found = state.graph, []
    for node, score in zip(*_best(state, k), strict=True):
        passage = graph.passages.of(node) if graph.passages is not None else None
        name = graph.names[node]
        found.append(
            {
                "id": name if passage is None else passage.id,
                "document": name if passage is None else passage.document,
                "title": "" if passage is None else passage.title,
                "score": round(score, 6),
                "text": graph.passage(node),
            }
        )
    return found


def _best(state: State, k: int) -> tuple[list[int], list[float]]:
    if state.chunks is None:
        return [], []
    return state.chunks.ids[:k].tolist(), state.chunks.scores[:k].tolist()


def _pieces(graph: Graph, evidence: Evidence | None, k: int) -> list[dict[str, Any]]:
    if evidence is None:
        return []
    best = evidence.top(k)
    scores = [None] * len(best) if best.scores is None else best.scores.tolist()
    return [
        {
            "nodes": graph.names.take(nodes),
            "edges": [list(graph.triple(int(e))) for e in edges],
            "score": score,
        }
        for (nodes, edges), score in zip(best, scores, strict=True)
    ]


def _step(step: Step) -> dict[str, Any]:
    return {
        "operator": step.operator,
        "seconds": round(step.seconds, 6),
        "tokens": step.usage.tokens,
        "prompt_tokens": step.usage.prompt_tokens,
        "completion_tokens": step.usage.completion_tokens,
        "cost": step.usage.cost,
        "texts": step.usage.texts,
        "model_seconds": round(step.usage.seconds, 6),
        "sizes": dict(step.sizes),
        "notes": list(step.notes),
    }


def show_state(state: State, passages: int, *, as_json: bool = False, explain: bool = False) -> None:
    """Print the answer with its citations, the passages, and with `explain` how they came about."""
    if as_json:
        print(json.dumps(as_dict(state, passages), ensure_ascii=False))
        return
    console = Console(highlight=False, soft_wrap=False)
    if state.answer is not None:
        _show_answer(console, state)
    _show_passages(console, state, passages)
    if explain:
        show_explanation(console, state)


def about(question: str, entities: Sequence[str] | None, index: Index) -> Question:
    """Return a question about these nodes of an index. Raises DataError for a name that no node has."""
    for name in entities or ():
        index.graph.id(name)
    return Question(question, entities=tuple(entities or ()))


def show_answer(
    index: Index,
    question: Question,
    method: str | None,
    passages: int,
    within: Within | None,
    options: dict[str, Any],
    *,
    as_json: bool,
    explain: bool,
) -> None:
    """Ask, and print as `show_state` does; what a language model writes is shown while it writes, on a terminal."""
    live = "llm" in options and not as_json and sys.stdout.isatty()
    with listening(_write) if live else nullcontext():
        state = index.ask(question, method, within=within, **options)
    if live:
        print("\n")
    show_state(state, passages, as_json=as_json, explain=explain)


def _write(text: str) -> None:
    # A draft: what counts is the answer whose citations have been checked, which is printed after it.
    Console(highlight=False).print(printable(text), style="dim", end="", markup=False, soft_wrap=True)


def _show_answer(console: Console, state: State) -> None:
    answer = state.answer
    if answer is None:
        return
    if answer.found and not answer.citations:
        print("note: none of this answer's statements could be checked against the documents.", file=sys.stderr)
    # A quoted answer is its citations, one after the other; a written one has its own markers.
    quoted = answer.text == " ".join(citation.text for citation in answer.citations)
    text = Text("" if quoted else printable(answer.text), "bold")
    for number, citation in enumerate(answer.citations if quoted else (), 1):
        text.append(f"{printable(citation.text)} ", "bold").append(f"[{number}]  ", "cyan")
    text.highlight_regex(r"\[\d+\]", "cyan")
    console.print(text)
    console.print()
    passages = state.graph.passages
    for number, c in enumerate(answer.citations, 1):
        title = passages.title_of(state.graph.id(c.chunk)) if passages is not None else ""
        place = Text(f"[{number}] ", "cyan").append(printable(c.document or c.chunk))
        place.append(f"  {printable(title)}" if title else "")
        if c.document or not c.path:  # a name at the end of a path is no stretch of a text
            place.append(f"  characters {c.start}-{c.end}", "dim")
        console.print(place)
        if not quoted and c.text != c.chunk:
            console.print(Padding(Text(f"“{printable(c.text)}”", "italic"), (0, 0, 0, 4)))
        if c.path:
            console.print(Padding(_walk(c.path), (0, 0, 0, 4)))
    if answer.citations:
        console.print()


def _walk(path: tuple[str, ...]) -> Text:
    walk = Text("path: ", "dim")
    for at, part in enumerate(path):
        walk.append(printable(part), "green" if at % 2 == 0 else "dim")
        if at < len(path) - 1:
            walk.append(" → " if at % 2 else " — ", "dim")
    return walk


def _show_passages(console: Console, state: State, k: int) -> None:
    found = _passages(state, k)
    if not found:
        console.print("No passage was found.")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, style in (("", "dim"), ("passage", ""), ("score", "dim"), ("text", "")):
        table.add_column(name, style=style, justify="right" if name in ("", "score") else "left", overflow="fold")
    for rank, row in enumerate(found, 1):
        name = printable(f"{row['title']}\n{row['id']}" if row["title"] else row["id"])
        text = printable(textwrap.shorten(row["text"], 200, placeholder=" …"))
        table.add_row(str(rank), Text(name), f"{row['score']:.3g}", Text(text))
    console.print(table)


def show_methods(index: Path | None, *, as_json: bool = False) -> None:
    """Print every method: name, what it does, its arguments, and over an index its expression."""
    snapshot = None if index is None else Index.open(index).snapshot
    rows = [
        {
            "name": method.name,
            "about": method.about,
            "arguments": ", ".join(_argument(method, name, value) for name, value in method.options.items()),
            # One that is nothing but a language model has no expression without it.
            "expression": "" if snapshot is None or method.required else repr(pipeline(method.name, snapshot)),
        }
        for method in METHODS.values()
    ]
    if as_json:
        print(json.dumps(rows, ensure_ascii=False))
        return
    console = Console(highlight=False)
    for row in rows:
        console.print(Text(row["name"], "bold").append(f"  {row['about']}", "not bold"))
        console.print(Padding(Text(row["arguments"], "dim"), (0, 0, 0, 4)))
        if row["expression"]:
            console.print(Padding(Text(row["expression"], "green"), (0, 0, 0, 4)))


def _argument(method: Method, name: str, value: object) -> str:
    """Return an argument with its default, by name where that is a class; without one where it is required."""
    if name in method.required:
        return f"{name} (required)"
    return f"{name}={value.__name__ if isinstance(value, type) else repr(value)}"


def show_info(held: dict[str, Any], *, as_json: bool = False) -> None:
    """Print what an index holds."""
    if as_json:
        print(json.dumps(held, ensure_ascii=False))
        return
    for name, value in held.items():
        if name == "waiting":
            value = {textwrap.shorten(reason, 80, placeholder=" …"): count for reason, count in list(value.items())[:5]}
        if value == {}:
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{k} {v:,}" if isinstance(v, int) else f"{k} {v}" for k, v in value.items())
        elif isinstance(value, int) and not isinstance(value, bool):
            value = f"{value:,}"
        print(f"{name:<10} {value}")


def show_problems(problems: list[Problem], index: Path, *, as_json: bool = False) -> None:
    """Print what is wrong with an index; exits with 1 if anything is."""
    if as_json:
        print(json.dumps([{"what": p.what, "remedy": p.remedy, "mendable": p.mendable} for p in problems]))
    elif not problems:
        print(f"{index}: the store is sound, and the snapshot is what the store gives.")
    for problem in problems:
        print(f"{problem.what}\n  {problem.remedy}", file=sys.stderr)
    if problems:
        raise SystemExit(1)


def opened(folder: Path) -> Index:
    """Open an index to ask it, and say on stderr what the answers would not tell."""
    index = Index.open(folder)
    if index.imported is not None:
        return index
    if not index.documents:
        print(f"note: {folder} holds no documents; add some: graphwright index PATH --into {folder}", file=sys.stderr)
    elif not index.current and index.busy:
        what = "what came last is" if len(index.graph) else "nothing can be searched yet, since the first documents are"
        print(f"note: {folder} is being indexed; {what} not shown before its end.", file=sys.stderr)
    elif not index.current:
        print(
            f"note: indexing into {folder} was interrupted, and what came last is not searched yet; "
            f"run the same graphwright index command again.",
            file=sys.stderr,
        )
    return index
