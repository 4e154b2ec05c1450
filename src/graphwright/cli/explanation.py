"""Explanation of an answer: anchors, items of evidence, and steps with their results and cost."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from graphwright.cli.terminal import console, plain_table, shortened
from graphwright.errors import counted
from graphwright.graph import Graph, Item, ItemKind, Kind
from graphwright.graph.walks import edge_label
from graphwright.models import Usage
from graphwright.operators import Anchor, State, Step

_MAX_NAMES, _MAX_EDGES = 4, 3  # of an anchor
_MAX_ITEMS, _MAX_TRIPLES = 8, 12  # of a step; of an item
# An argument that is a part of the index, with the comma after it, or before it if it is not the first.
_PART = re.compile(r"(?<=\()((\w+=)?ix\.\w+(, |(?=\))))+|, (\w+=)?ix\.\w+(?=[,)])")
_NAME_WIDTH, _RESULT_WIDTH = 44, 100
_SCORES = {"FlowPaths": "reliability"}  # operators whose score has a special name
_NOUNS = {"passages": "passage", "evidence": "item", "anchors": "anchor", "graph": "node"}
_FIELDS = ("answer", "context", "passages", "evidence", "query", "anchors", "graph")  # most informative first

Changed = tuple[Step, str, State | None]  # a step, the most informative field that it changed, and the state before


def explain(state: State, output: Console | None = None) -> None:
    """Print the explanation of an answer, as `graphwright ask --explain` does.

    It has the query, anchors, evidence, and steps with their results, time and tokens. `output`: a rich console
    (default: stdout).

    >>> from graphwright import Graph, KHop, start
    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur")])
    >>> explain(KHop(1)(start("?", graph, entities=["Graz"])))  # doctest: +NORMALIZE_WHITESPACE
    Steps
    ... KHop(1) ... 2 items: Graz; Mur ...
    """
    output = console() if output is None else output
    steps: list[Changed] = []
    before: State | None = None
    for step in state.trace:
        steps.append((step, "" if step.after is None else _changed(before, step.after), before))
        before = step.after or before
    _show_query(output, state)
    _show_anchors(output, steps)
    for step, field, _ in steps:
        if field == "evidence" and step.after is not None:
            _show_items(output, step, step.after)
    _show_steps(output, steps)


def _changed(before: State | None, after: State) -> str:
    is_whole = len(after.graph) == len(after.graph.columns.kinds)  # as every first step is given it
    for name in _FIELDS:
        value = getattr(after, name)
        changed = not (name == "graph" and is_whole) if before is None else value is not getattr(before, name)
        if value is not None and changed:
            return name
    return ""


def _show_query(output: Console, state: State) -> None:
    """Print how the question was understood: the query in words and as text, and its probability."""
    if (asked := state.query) is not None:
        output.print(Text("Query", "bold").append(f", with a probability of {asked.probability:.2f}", "dim"))
        output.print(Text(asked.words))
        output.print(Text(asked.notation, "dim"), soft_wrap=True)


def _show_anchors(output: Console, steps: Sequence[Changed]) -> None:
    """Print the first anchors, and those that later steps added or changed."""
    table = plain_table("Anchors", expand=output.is_terminal)
    table.add_column("step", no_wrap=True, style="dim")
    table.add_column("weight", justify="right", style="dim")
    table.add_column("words", ratio=2)
    table.add_column("nodes and edges", ratio=3)
    for step, field, before in steps:
        if field == "anchors" and step.after is not None:
            earlier = set() if before is None else set(before.anchors or ())
            label = _name_of(step)
            for anchor in (anchor for anchor in step.after.anchors or () if anchor not in earlier):
                kind = "" if anchor.kind == "entity" else f"  ({anchor.kind})"
                words = Text(anchor.text).append(kind, "dim")
                table.add_row(label, f"{anchor.weight:.2f}", words, _lines_of(step.after.graph, anchor))
                label = ""
    if table.row_count:
        output.print(table)


def _lines_of(graph: Graph, anchor: Anchor) -> Text:
    """Return the names of an anchor's nodes on one line, and its edges, one a line."""
    names = _names(graph, anchor.nodes.tolist(), _MAX_NAMES)
    return Text("\n").join([*([Text(names)] if names else []), *_triples(graph, anchor.edges.tolist(), _MAX_EDGES)])


def _triples(graph: Graph, edges: list[int], limit: int) -> list[Text]:
    more = [Text(f"and {len(edges) - limit} more", "dim")] if len(edges) > limit else []
    return [*(_triple(graph, edge) for edge in edges[:limit]), *more]


def _names(graph: Graph, nodes: Sequence[int], limit: int) -> str:
    names = ", ".join(_name(graph, node) for node in nodes[:limit])
    return names + (f" and {len(nodes) - limit} more" if len(nodes) > limit else "")


def _show_items(output: Console, step: Step, state: State) -> None:
    """Print the best items of evidence of a step, unless all are single nodes."""
    evidence = state.evidence
    if evidence is None or not len(evidence.edges):
        return
    best = f", the best {_MAX_ITEMS}" if len(evidence) > _MAX_ITEMS else ""
    table = plain_table(f"{_name_of(step)}: {counted(len(evidence), 'item')}{best}", expand=output.is_terminal)
    table.add_column("", justify="right", style="dim")
    if evidence.scores is not None:
        table.add_column(_SCORES.get(_name_of(step), "score"), justify="right", style="dim")
    table.add_column("item", ratio=1)
    for position, item in enumerate(evidence.top(_MAX_ITEMS).items()):
        score = [] if evidence.scores is None else [f"{evidence.scores[position]:.3g}"]
        table.add_row(str(position + 1), *score, _item(state.graph, item))
    output.print(table)


def _item(graph: Graph, item: Item) -> Text:
    """Return a path as names and arrows, and any other item as its triples and remaining nodes."""
    if item.kind == ItemKind.PATH:
        path = Text(_name(graph, item.nodes[0]))
        for (edge, forward), node in zip(item.steps, item.nodes[1:], strict=True):
            path.append(_relation(graph, edge, forward=forward), "dim")
            path.append(_name(graph, node))
        return path
    lines = _triples(graph, list(item.edges), _MAX_TRIPLES)
    ends = set(graph.ends(item.edges).tolist())
    others = [node for node in item.nodes if node not in ends]
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
    table = plain_table("Steps", expand=output.is_terminal)
    table.add_column("step", ratio=3, overflow="fold")
    for name in ("ms", "model ms", "texts", "LLM tokens"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("result", ratio=4 if output.is_terminal else None, overflow="fold")
    total = Usage()
    for step, field, _ in steps:
        total.add(step.usage)
        result = "; ".join(filter(None, (_result(step, field), *step.notes)))
        table.add_row(Text(_brief(step.operator)), *_numbers(step.seconds, step.usage), result)
    table.add_row(Text("total", "bold"), *_numbers(sum(step.seconds for step, _, _ in steps), total), "")
    output.print(table)


def _numbers(seconds: float, usage: Usage) -> list[str]:
    """Return a step's milliseconds, model milliseconds, texts read by models, and LLM tokens."""
    tokens = usage.prompt_tokens + usage.completion_tokens
    model = f"{1000 * usage.seconds:.1f}" if usage.calls else ""
    return [f"{1000 * seconds:.1f}", model, str(usage.texts or ""), f"{tokens:,}" if tokens else ""]


def _brief(operator: str) -> str:
    """Return an expression without parts of the index, and without the contents of nested brackets.

    >>> _brief("Rerank(Composed(names=ix.names))"), _brief("ScorePassages(ix.passages, ix.words, MiniLM()) % 3")
    ('Rerank(Composed)', 'ScorePassages(MiniLM) % 3')
    """
    brief, depth = [], 0
    for sign in operator:
        depth += sign == "("
        if depth < 2:
            brief.append(sign)
        depth -= sign == ")"
    return _PART.sub("", "".join(brief))


def _result(step: Step, field: str) -> str:
    """Return the size of the field that a step changed, with its best nodes or passages."""
    state, best = step.after, ""
    if step.failed:
        return "no usable result"
    if state is None or not field:
        return ""
    if field == "answer" and state.answer is not None:
        return f"an answer with {counted(len(state.answer.citations), 'citation')}"
    if field == "query" and state.query is not None:
        return shortened(state.query.words, _RESULT_WIDTH)
    if field == "context" and state.context is not None:
        return f"a context of {counted(len(state.context.passages), 'passage')}"
    if field == "passages" and state.passages is not None:
        best = _names(state.graph, state.passages.ids[:3].tolist(), 3)
    if field == "evidence" and state.evidence is not None and not len(state.evidence.edges):
        # items with edges are shown in a separate table
        best = "; ".join(_names(state.graph, nodes[:3].tolist(), 3) for nodes, _ in state.evidence.top(3))
    size = counted(step.sizes["nodes" if field == "graph" else field], _NOUNS[field])
    return size + (f": {shortened(best, _RESULT_WIDTH)}" if best else "")
