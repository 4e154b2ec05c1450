"""Yes or no from a graph: whether the relations that a question asks for join what it names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphwright.graph.evidence import Ints, Piece
from graphwright.graph.graph import Graph
from graphwright.models.protocols import Encoder
from graphwright.operators.paths.answer_types import AnswerType
from graphwright.operators.paths.asked_extremes import Extremes, limit_of, sign_of
from graphwright.operators.paths.plans import Plan, plans_from
from graphwright.operators.paths.relation_match import Reading
from graphwright.operators.paths.truth_of_one import Verdict, about_one, walks_of
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.text.values import value_of

_WITHIN = frozenset(
    [
        "in",
        "within",
        "part",
        "of",
        "located",
        "country",
        "region",
        "state",
        "city",
        "inside",
        "type",
        "instance",
        "parent",
    ]
)
_HOPS = 3


def judged(graph: Graph, reading: Reading) -> Verdict | None:
    """Return the verdict on a yes/no question; None where the graph records nothing that decides it.

    Yes: a walk of the relations asked for leads from one entity to another, perhaps followed by edges of containment
    ("in", "part of"). No: the relation asked for leads from an entity, but not there.
    """
    nodes = [anchor.seeds(graph) for anchor in reading.anchors]
    if len(nodes) > 2:  # "a drug that treats both A and B": the class is not compared
        nodes = [own for own in nodes if not np.isin(own, reading.relations.classes).all()] or nodes
    if not nodes:
        return None
    kind = AnswerType("thing")
    plans = [[p for node in own.tolist() for p in plans_from(graph, node, reading, kind, _HOPS)] for own in nodes]
    if len(nodes) == 1:
        return about_one(graph, reading, int(nodes[0][0]), plans[0])
    for own, others in ((plans[0], nodes[1]), (plans[1], nodes[0])):
        if walk := _reaching(graph, own, others):
            return Verdict(True, [walk])
    if (verdict := _same_ends(graph, reading, plans)) is not None:
        return verdict
    for own, others in ((plans[0], nodes[1]), (plans[1], nodes[0])):
        if (walk := _contained(graph, own, others)) or (reading.unmatched and (walk := _next_to(graph, own, others))):
            return Verdict(True, [walk])
    leading = [[p for p in own if p.score > 0 and not _to_values(graph, p)] for own in plans]
    return next((Verdict(False, walks_of(graph, own)) for own in leading if own), None)


def compared(state: State, run: Run, encoder: Encoder, reading: Reading) -> Verdict | None:
    """Return the verdict on "is A older than B" or "is A longer than 300 km"; None where a value is missing.

    The adjective gives the attribute and the direction. The first thing named is the subject.
    """
    measure, graph = reading.form.measure, state.graph
    spans = [(span[0], anchor) for anchor, span in zip(reading.anchors, reading.spans, strict=True) if span]
    if measure is None or not measure.limit or reading.form.negated >= 0:
        return None
    named = [anchor for _, anchor in sorted(spans, key=lambda pair: pair[0])]
    items = [(anchor.seeds(graph)[:1], np.empty(0, np.int64)) for anchor in named]
    valued = list(Extremes(encoder).by_attribute(state, run, reading, measure, items))
    if len(named) == 1 and len(valued) == 1 and (limit := limit_of(graph, reading, measure)) is not None:
        return Verdict(sign_of(measure, valued) * (valued[0][1].amount - limit.amount) > 0, [valued[0][0]])
    if len(named) != 2 or [int(nodes[0]) for (nodes, _), _ in valued] != [int(nodes[0]) for nodes, _ in items]:
        return None
    (first, a), (second, b) = valued
    if a.kind != b.kind:
        return None
    return Verdict(sign_of(measure, valued) * (a.amount - b.amount) > 0, [first, second])


def _to_values(graph: Graph, plan: Plan) -> bool:
    """Return whether a plan leads to numbers or dates."""
    return value_of(graph.names[int(graph.at(plan.path.ends[:1])[0])]) is not None


def _reaching(graph: Graph, plans: Sequence[Plan], targets: Ints) -> Piece | None:
    """Return a walk of a plan to one of the targets."""
    for plan in sorted(plans, key=lambda plan: len(plan.path.ways)):
        at = np.flatnonzero(np.isin(graph.at(plan.path.ends), targets))
        if len(at):
            nodes, edges = plan.path.walks(at[:1])
            return graph.at(nodes[0]), graph.edges[edges[0]]
    return None


def _contained(graph: Graph, plans: Sequence[Plan], targets: Ints) -> Piece | None:
    """Return a walk of a plan, followed by edges of containment to one of the targets."""
    for walk in walks_of(graph, plans) if plans else ():
        nodes, edges = [int(walk[0][-1])], list[int]()
        before: dict[int, tuple[int, int]] = {}
        for _ in range(_HOPS):
            nodes = [node for v in nodes for node in _wider(graph, v, before)]
            reached = [node for node in nodes if node in targets]
            if reached:
                tail, node = [reached[0]], reached[0]
                while node != int(walk[0][-1]):
                    node, edge = before[node]
                    tail.append(node)
                    edges.append(edge)
                return np.append(walk[0], tail[-2::-1]), np.append(walk[1], edges[::-1])
    return None


def _next_to(graph: Graph, plans: Sequence[Plan], targets: Ints) -> Piece | None:
    """Return a walk of a plan, followed by any edge to one of the targets."""
    for nodes, edges in walks_of(graph, plans) if plans else ():
        for target in targets.tolist():
            joining = graph.edges_between(int(nodes[-1]), target)
            if len(joining):
                return np.append(nodes, target), np.append(edges, joining[:1])
    return None


def _wider(graph: Graph, node: int, before: dict[int, tuple[int, int]]) -> list[int]:
    """Return what a node is contained in, by an edge that is noted in `before`."""
    c, wider = graph.columns, list[int]()
    for edge in c.out.row(node).tolist():
        words = c.relations[int(c.relation[edge])].lower().replace("_", " ").split()
        tail = int(c.tails[edge])
        if not _WITHIN.isdisjoint(words) and tail not in before:
            before[tail] = node, edge
            wider.append(tail)
    return wider


def _same_ends(graph: Graph, reading: Reading, plans: Sequence[Sequence[Plan]]) -> Verdict | None:
    """Return whether two entities have the same end of the same relation, where both have it."""
    first, second = ({plan.path.ways: plan for plan in own if len(plan.path.ways) == 1} for own in plans[:2])
    for ways in first.keys() & second.keys():
        if _to_values(graph, first[ways]):
            continue
        shared = np.intersect1d(first[ways].path.ends, second[ways].path.ends)
        walks = [*walks_of(graph, [first[ways]]), *walks_of(graph, [second[ways]])]
        return Verdict(bool(len(shared)), walks)
    return None
