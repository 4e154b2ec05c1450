"""Yes or no from a graph: whether the relations that a question asks for join what it names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphwright.graph.evidence import Ints, Piece
from graphwright.graph.graph import Graph
from graphwright.operators.paths.answer_types import AnswerType
from graphwright.operators.paths.plans import Plan, plans_from
from graphwright.operators.paths.relation_match import Reading
from graphwright.text.question_form import inflections_match
from graphwright.text.values import value_of

__all__ = ["Verdict", "judged"]

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


class Verdict(NamedTuple):
    """Yes or no, and the walks that show it."""

    yes: bool
    shown: list[Piece]


def judged(graph: Graph, reading: Reading) -> Verdict | None:
    """Return the verdict on a yes/no question; None where the graph records nothing that decides it.

    Yes: a walk of the relations asked for leads from one entity to another, perhaps followed by edges of containment
    ("in", "part of"). No: the relation asked for leads from an entity, but not there.
    """
    nodes = [anchor.seeds(graph) for anchor in reading.anchors]
    if not nodes:
        return None
    kind = AnswerType("thing")
    plans = [[p for node in own.tolist() for p in plans_from(graph, node, reading, kind, _HOPS)] for own in nodes]
    if len(nodes) == 1:
        return _about_one(graph, reading, plans[0])
    for own, others in ((plans[0], nodes[1]), (plans[1], nodes[0])):
        if walk := _reaching(graph, own, others):
            return Verdict(True, [walk])
    if (verdict := _same_ends(graph, reading, plans)) is not None:
        return verdict
    for own, others in ((plans[0], nodes[1]), (plans[1], nodes[0])):
        if (walk := _contained(graph, own, others)) or (reading.unmatched and (walk := _next_to(graph, own, others))):
            return Verdict(True, [walk])
    leading = [[p for p in own if p.score > 0 and not _to_values(graph, p)] for own in plans]
    return next((Verdict(False, _walks(graph, own)) for own in leading if own), None)


def _to_values(graph: Graph, plan: Plan) -> bool:
    """Return whether a plan leads to numbers or dates."""
    return value_of(graph.names[int(graph.at(plan.path.ends[:1])[0])]) is not None


def _walks(graph: Graph, plans: Sequence[Plan]) -> list[Piece]:
    """Return the walks of the best plan."""
    nodes, edges = plans[0].path.walks()
    return list(zip(graph.at(nodes), graph.edges[edges], strict=True))


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
    for walk in _walks(graph, plans) if plans else ():
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
    for nodes, edges in _walks(graph, plans) if plans else ():
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
        walks = [*_walks(graph, [first[ways]]), *_walks(graph, [second[ways]])]
        return Verdict(bool(len(shared)), walks)
    return None


def _about_one(graph: Graph, reading: Reading, plans: Sequence[Plan]) -> Verdict | None:
    """Return whether an entity has the value that the question's words name; without such words, whether it has any."""
    plans = sorted(plans, key=lambda plan: -plan.score)
    if not plans or plans[0].score <= 0:
        return None
    walks, way = _walks(graph, plans), plans[0].path.ways[-1]
    asked = {at for own in reading.asked.values() for at in own}
    others = [reading.words[at] for at in reading.content if at not in asked]
    if not others:
        return Verdict(True, walks)
    matching = [walk for walk in walks if _names(graph, int(walk[0][-1]), others)]
    if matching:
        return Verdict(True, matching)
    values = np.unique(reading.relations.ends_of(way >> 1)[way & 1])
    return Verdict(False, walks) if any(_names(graph, int(value), others) for value in values.tolist()) else None


def _names(graph: Graph, node: int, words: Sequence[str]) -> bool:
    return any(inflections_match(word, part) for word in words for part in graph.names[node].casefold().split())
