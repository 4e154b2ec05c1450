"""How a state came about, printed for people: what the question names, the pieces found, and what each step did."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import pairwise

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from graphwright.cli.printable import counted, printable
from graphwright.graph.evidence import Ints, Piece
from graphwright.graph.graph import Graph, Kind
from graphwright.operators.anchors.keywords import Theme
from graphwright.operators.state import Anchor, State, Step

__all__ = ["anchored", "show_explanation"]

_NAMES, _EDGES = 4, 3  # of an anchor
_PIECES, _TRIPLES = 8, 12  # of a step, and of a piece
_LONG = 44  # characters of a name or a relation
_SCORES = {"FlowPaths": "reliability"}  # what scores are called, where not just that


def show_explanation(console: Console, state: State) -> None:
    """Print the anchors with their weights, the pieces with their scores, and the trace."""
    steps = list(_with_before(state))
    _show_anchors(console, steps)
    for before, step in steps:
        after = step.after
        if after is not None and after.evidence is not None and _set(before, after) == "evidence":
            _show_pieces(console, step, after)
    _show_trace(console, steps)


def anchored(state: State) -> State:
    """Return the state that the last step which set anchors left: a branch may have kept them to itself.

    >>> from graphwright import Graph, Keep, Link, start
    >>> state = (Keep() | Link())(start("Where is Graz?", Graph.from_triples([("Graz", "on the", "Mur")])))
    >>> state.anchors, anchored(state).anchors
    (None, (Anchor('Graz', nodes=[0], edges=[], weight=1.0),))
    """
    setting = (
        s.after for before, s in _with_before(state) if s.after is not None and _set(before, s.after) == "anchors"
    )
    return next(iter(reversed(list(setting))), state)


def _with_before(state: State) -> Iterator[tuple[State | None, Step]]:
    """Yield each step with the state that the one before it left."""
    before: State | None = None
    for step in state.trace:
        yield before, step
        before = step.after or before


def _set(before: State | None, after: State) -> str:
    """Return the field that a step set, the last one of those that it may have set; "" if none."""
    for name in ("answer", "prompt", "chunks", "evidence", "anchors", "graph"):
        value = getattr(after, name)
        if value is not None and (before is None or value is not getattr(before, name)):
            return name
    return ""


def _table(title: str) -> Table:
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, title=Text(title, "bold"), title_justify="left", expand=True)


def _show_anchors(console: Console, steps: list[tuple[State | None, Step]]) -> None:
    """Print the anchors: those of the first step that set some, then what each further step changed."""
    table = _table("What the question names")
    table.add_column("step", no_wrap=True, style="dim")
    table.add_column("weight", justify="right", style="dim")
    table.add_column("words", ratio=2)
    table.add_column("may mean", ratio=3)
    for before, step in steps:
        if step.after is None or _set(before, step.after) != "anchors":
            continue
        held = set() if before is None else set(before.anchors or ())
        label = _kind(step)
        for anchor in step.after.anchors or ():
            if anchor not in held:
                words = Text(printable(anchor.text)).append("  (theme)" if isinstance(anchor, Theme) else "", "dim")
                table.add_row(label, f"{anchor.weight:.2f}", words, _meant(step.after.graph, anchor))
                label = ""
    if table.row_count:
        console.print(table)


def _meant(graph: Graph, anchor: Anchor) -> Text:
    """Return the names of an anchor's nodes, then its edges, each on a line of its own."""
    names = ", ".join(_name(graph, node) for node in anchor.nodes[:_NAMES].tolist())
    lines = [Text(names + _more(len(anchor.nodes), _NAMES))] if names else []
    lines += [_arrow(graph, edge) for edge in anchor.edges[:_EDGES].tolist()]
    if len(anchor.edges) > _EDGES:
        lines.append(Text(_more(len(anchor.edges), _EDGES).strip(), "dim"))
    return Text("\n").join(lines)


def _more(count: int, shown: int) -> str:
    return f" and {count - shown} more" if count > shown else ""


def _show_pieces(console: Console, step: Step, state: State) -> None:
    """Print the best pieces of what a step found, if they are more than single nodes."""
    found = state.evidence
    if found is None or not len(found.edges):
        return
    shown = f", the best {_PIECES}" if len(found) > _PIECES else ""
    table = _table(f"{_kind(step)}: {counted(len(found), 'piece')}{shown}")
    table.add_column("", justify="right", style="dim")
    if found.scores is not None:
        table.add_column(_SCORES.get(_kind(step), "score"), justify="right", style="dim")
    table.add_column("piece", ratio=1)
    for at, piece in enumerate(found.top(_PIECES)):
        score = [] if found.scores is None else [f"{found.scores[at]:.3g}"]
        table.add_row(str(at + 1), *score, _drawn(state.graph, piece))
    console.print(table)


def _drawn(graph: Graph, piece: Piece) -> Text:
    """Return a path as names and arrows in turn, anything else as its triples, a line each, and names that are left."""
    nodes, edges = (part.tolist() for part in piece)
    between = list(pairwise(nodes))
    if len(edges) == len(between) and all(_joins(graph, *step) for step in zip(edges, between, strict=True)):
        path = Text(_name(graph, nodes[0]))
        for edge, node in zip(edges, nodes[1:], strict=True):
            path.append(_relation(graph, edge, forth=graph.columns.tails[edge] == node), "dim")
            path.append(_name(graph, node))
        return path
    lines = [_arrow(graph, edge) for edge in edges[:_TRIPLES]]
    lines += [Text(_more(len(edges), _TRIPLES).strip(), "dim")] if len(edges) > _TRIPLES else []
    ends = set(graph.ends(edges).tolist())
    alone = [node for node in nodes if node not in ends]
    if alone:
        names = ", ".join(_name(graph, node) for node in alone[:_TRIPLES])
        lines.append(Text(names + _more(len(alone), _TRIPLES)))
    return Text("\n").join(lines)


def _joins(graph: Graph, edge: int, ends: tuple[int, int]) -> bool:
    return set(ends) == set(graph.ends([edge]).tolist())


def _arrow(graph: Graph, edge: int) -> Text:
    head, tail = graph.ends([edge]).tolist()
    return Text(_name(graph, head)).append(_relation(graph, edge, forth=True), "dim").append(_name(graph, tail))


def _relation(graph: Graph, edge: int, *, forth: bool) -> str:
    name = _short(graph.triple(edge)[1])
    return f" — {name} → " if forth else f" ← {name} — "


def _name(graph: Graph, node: int) -> str:
    """Return a node's name, of a passage its id with its document's title."""
    name = graph.names[node]
    if graph.passages is not None and graph.columns.kinds[node] == Kind.CHUNK:
        name = f"{name} {graph.passages.title_of(node)}"
    return _short(name)


def _short(text: str) -> str:
    return textwrap.shorten(printable(text), _LONG, placeholder=" …") if len(text) > _LONG else printable(text)


def _kind(step: Step) -> str:
    return step.operator.partition("(")[0]


def _show_trace(console: Console, steps: list[tuple[State | None, Step]]) -> None:
    table = _table("What each step did")
    table.add_column("step", ratio=3, overflow="fold")
    table.add_column("found", ratio=4, overflow="fold")
    for name in ("ms", "model ms", "texts", "LLM tokens"):
        table.add_column(name, justify="right", no_wrap=True)
    for before, step in steps:
        usage = step.usage
        model = f"{1000 * usage.seconds:.1f}" if usage.calls else ""
        tokens = usage.prompt_tokens + usage.completion_tokens
        counts = (f"{1000 * step.seconds:.1f}", model, str(usage.texts or ""), f"{tokens:,}" if tokens else "")
        table.add_row(Text(_brief(step.operator)), Text(_found(before, step)), *counts)
    total = sum(step.seconds for _, step in steps)
    models = sum(step.usage.seconds for _, step in steps)
    tokens = sum(step.usage.prompt_tokens + step.usage.completion_tokens for _, step in steps)
    sums = (f"{1000 * total:.1f}", f"{1000 * models:.1f}", "", f"{tokens:,}" if tokens else "")
    table.add_row(Text("in all", "bold"), "", *sums)
    console.print(table)


def _brief(operator: str) -> str:
    """Return an expression with what stands in brackets inside of brackets left out.

    >>> _brief("Answer(FactReader(MiniLMReader(), SentenceReader(MiniLM())))"), _brief("Keywords() % 3")
    ('Answer(FactReader(…))', 'Keywords() % 3')
    """
    made, depth = [], 0
    for at, sign in enumerate(operator):
        depth -= sign == ")"
        if depth < 2:
            made.append(sign)
        depth += sign == "("
        if sign == "(" and depth == 2 and operator[at + 1 : at + 2] != ")":
            made.append("…")
    return "".join(made)


def _found(before: State | None, step: Step) -> str:
    """Say in a line what a step left: how many anchors or pieces, or the best nodes or passages, and its notes."""
    after = step.after
    said = "" if after is None else _left(_set(before, after), after)
    return "; ".join(filter(None, (said, *map(printable, step.notes))))


def _left(name: str, state: State) -> str:
    """Say what is in a field of a state."""
    graph = state.graph
    if name == "answer" and state.answer is not None:
        count = len(state.answer.citations)
        return f"an answer with {counted(count, 'citation')}"
    if name == "prompt":
        return f"a prompt of {len(state.prompt or ''):,} characters"
    if name == "chunks" and state.chunks is not None:
        return _counted(len(state.chunks), "passage", _names(graph, state.chunks.ids))
    if name == "evidence" and state.evidence is not None:
        # Others stand in a table of their own.
        best = "" if len(state.evidence.edges) else "; ".join(_names(graph, v) for v, _ in state.evidence.top(3))
        return _counted(len(state.evidence), "piece", best)
    if name == "anchors":
        return _counted(len(state.anchors or ()), "anchor", "")
    return counted(len(graph), "node") if name else ""


def _names(graph: Graph, nodes: Ints) -> str:
    return ", ".join(_name(graph, node) for node in nodes[:3].tolist())


def _counted(count: int, what: str, best: str) -> str:
    more = f": {textwrap.shorten(best, 100, placeholder=' …')}" if best else ""
    return f"{counted(count, what)}{more}"
