"""Print the explanation of a state: anchors, items of evidence, and the result of each step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from rich.console import Console
from rich.text import Text

from graphwright.cli.terminal import clean, counted, plain_table, shortened
from graphwright.graph.evidence import Ints, Piece
from graphwright.graph.graph import Graph, Kind
from graphwright.operators.state import Anchor, State, Step

__all__ = ["show_explanation"]

_MAX_NAMES, _MAX_EDGES = 4, 3  # of an anchor
_MAX_ITEMS, _MAX_TRIPLES = 8, 12  # of a step; of an item
_NAME_WIDTH, _RESULT_WIDTH = 44, 100
_SCORES = {"FlowPaths": "reliability"}  # names of scores that have one of their own
_FIELDS = ("answer", "prompt", "passages", "evidence", "anchors", "graph")  # most informative first


def show_explanation(console: Console, state: State) -> None:
    """Print the anchors with their weights, the items of evidence with their scores, and the steps."""
    steps = list(_steps(state))
    _show_anchors(console, steps)
    for before, step in steps:
        if step.after is not None and step.after.evidence is not None and _changed(before, step.after) == "evidence":
            _show_items(console, step, step.after)
    _show_steps(console, steps)


def _steps(state: State) -> Iterator[tuple[State | None, Step]]:
    """Yield each step with the state before it."""
    before: State | None = None
    for step in state.trace:
        yield before, step
        before = step.after or before


def _changed(before: State | None, after: State) -> str:
    """Return the most telling field that a step changed; "" if none."""
    for name in _FIELDS:
        value = getattr(after, name)
        if value is not None and (before is None or value is not getattr(before, name)):
            return name
    return ""


def _show_anchors(console: Console, steps: list[tuple[State | None, Step]]) -> None:
    """Print the first anchors, and those that later steps added or changed."""
    table = plain_table("Anchors", expand=True)
    table.add_column("step", no_wrap=True, style="dim")
    table.add_column("weight", justify="right", style="dim")
    table.add_column("words", ratio=2)
    table.add_column("nodes and edges", ratio=3)
    for before, step in steps:
        if step.after is None or _changed(before, step.after) != "anchors":
            continue
        known = set() if before is None else set(before.anchors or ())
        label = _name_of(step)
        for anchor in step.after.anchors or ():
            if anchor not in known:
                words = Text(clean(anchor.text)).append("" if anchor.kind == "entity" else f"  ({anchor.kind})", "dim")
                table.add_row(label, f"{anchor.weight:.2f}", words, _meaning(step.after.graph, anchor))
                label = ""
    if table.row_count:
        console.print(table)


def _meaning(graph: Graph, anchor: Anchor) -> Text:
    """Return the names of an anchor's nodes, and its edges, one on a line."""
    names = ", ".join(_name(graph, node) for node in anchor.nodes[:_MAX_NAMES].tolist())
    lines = [Text(names + _more(len(anchor.nodes), _MAX_NAMES))] if names else []
    return Text("\n").join([*lines, *_triples(graph, anchor.edges.tolist(), _MAX_EDGES)])


def _triples(graph: Graph, edges: list[int], limit: int) -> list[Text]:
    more = _more(len(edges), limit).strip()
    return [*(_triple(graph, edge) for edge in edges[:limit]), *([Text(more, "dim")] if more else [])]


def _more(count: int, limit: int) -> str:
    return f" and {count - limit} more" if count > limit else ""


def _show_items(console: Console, step: Step, state: State) -> None:
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
        table.add_row(str(position + 1), *score, _drawn(state.graph, item))
    console.print(table)


def _drawn(graph: Graph, item: Piece) -> Text:
    """Return a path as names and arrows, and any other item as its triples and its other nodes."""
    nodes, edges = (part.tolist() for part in item)
    hops = list(pairwise(nodes))
    if [sorted(graph.ends([edge]).tolist()) for edge in edges] == [sorted(hop) for hop in hops]:
        path = Text(_name(graph, nodes[0]))
        for edge, node in zip(edges, nodes[1:], strict=True):
            path.append(_relation(graph, edge, forward=graph.columns.tails[edge] == node), "dim")
            path.append(_name(graph, node))
        return path
    lines = _triples(graph, edges, _MAX_TRIPLES)
    ends = set(graph.ends(edges).tolist())
    others = [node for node in nodes if node not in ends]
    if others:
        names = ", ".join(_name(graph, node) for node in others[:_MAX_TRIPLES])
        lines.append(Text(names + _more(len(others), _MAX_TRIPLES)))
    return Text("\n").join(lines)


def _triple(graph: Graph, edge: int) -> Text:
    head, tail = graph.ends([edge]).tolist()
    return Text(_name(graph, head)).append(_relation(graph, edge, forward=True), "dim").append(_name(graph, tail))


def _relation(graph: Graph, edge: int, *, forward: bool) -> str:
    name = shortened(graph.triple(edge)[1], _NAME_WIDTH)
    return f" — {name} → " if forward else f" ← {name} — "


def _name(graph: Graph, node: int) -> str:
    """Return the name of a node; for a passage its id and its document's title."""
    name = graph.names[node]
    if graph.passages is not None and graph.columns.kinds[node] == Kind.CHUNK:
        name = f"{name} {graph.passages.title_of(node)}"
    return shortened(name, _NAME_WIDTH)


def _name_of(step: Step) -> str:
    return step.operator.partition("(")[0]


def _show_steps(console: Console, steps: list[tuple[State | None, Step]]) -> None:
    table = plain_table("Steps", expand=True)
    table.add_column("step", ratio=3, overflow="fold")
    table.add_column("result", ratio=4, overflow="fold")
    for name in ("ms", "model ms", "texts", "LLM tokens"):
        table.add_column(name, justify="right", no_wrap=True)
    for before, step in steps:
        usage = step.usage
        texts, model_seconds = str(usage.texts or ""), usage.seconds if usage.calls else None
        counts = _counts(step.seconds, model_seconds, texts, usage.prompt_tokens + usage.completion_tokens)
        table.add_row(Text(_brief(step.operator)), Text(_result(before, step)), *counts)
    usages = [step.usage for _, step in steps]
    tokens = sum(usage.prompt_tokens + usage.completion_tokens for usage in usages)
    total = _counts(sum(step.seconds for _, step in steps), sum(usage.seconds for usage in usages), "", tokens)
    table.add_row(Text("total", "bold"), "", *total)
    console.print(table)


def _counts(seconds: float, model_seconds: float | None, texts: str, tokens: int) -> tuple[str, str, str, str]:
    model = "" if model_seconds is None else f"{1000 * model_seconds:.1f}"
    return f"{1000 * seconds:.1f}", model, texts, f"{tokens:,}" if tokens else ""


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


def _result(before: State | None, step: Step) -> str:
    """Return the size of a step's result, its best nodes or passages, and the step's notes."""
    result = "" if step.after is None else _size(_changed(before, step.after), step.after)
    return "; ".join(filter(None, (result, *map(clean, step.notes))))


def _size(field: str, state: State) -> str:
    graph = state.graph
    if field == "answer" and state.answer is not None:
        return f"an answer with {counted(len(state.answer.citations), 'citation')}"
    if field == "prompt":
        return f"a prompt of {len(state.prompt or ''):,} characters"
    if field == "passages" and state.passages is not None:
        return _with_best(len(state.passages), "passage", _names(graph, state.passages.ids))
    if field == "evidence" and state.evidence is not None:
        # Items with edges are shown in a table of their own.
        best = (
            "" if len(state.evidence.edges) else "; ".join(_names(graph, nodes) for nodes, _ in state.evidence.top(3))
        )
        return _with_best(len(state.evidence), "item", best)
    if field == "anchors":
        return counted(len(state.anchors or ()), "anchor")
    return counted(len(graph), "node") if field else ""


def _names(graph: Graph, nodes: Ints) -> str:
    return ", ".join(_name(graph, node) for node in nodes[:3].tolist())


def _with_best(count: int, noun: str, best: str) -> str:
    return counted(count, noun) + (f": {shortened(best, _RESULT_WIDTH)}" if best else "")
