"""Yes or no about one entity: flags, values in common, conditions on all of a set, and values that words name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from graphwright.graph.evidence import Ints, Piece
from graphwright.graph.graph import Graph
from graphwright.operators.paths.plans import Plan
from graphwright.operators.paths.relation_match import Reading
from graphwright.text.question_form import UNITS_OF_TIME, inflections_match
from graphwright.text.values import Value, value_of

_TRUE, _FALSE = frozenset(["yes", "true"]), frozenset(["no", "false"])
_UNIVERSAL = frozenset(["both", "every", "each"])
_AGENTS = ("er", "or", "ist", "ant")


class Verdict(NamedTuple):
    """Yes or no, the walks that show it, and the reason, before the entity's name, where no walk can show it."""

    yes: bool
    shown: list[Piece]
    reason: str = ""


def about_one(graph: Graph, reading: Reading, node: int, plans: Sequence[Plan]) -> Verdict | None:
    """Return the verdict on a question about one entity; None where the graph records nothing that decides it."""
    words = {reading.words[at] for at in range(len(reading.words)) if at not in reading.mentioned}
    if "same" in words:
        return _same_value(graph, reading, node)
    if not _UNIVERSAL.isdisjoint(words):
        return _of_all(graph, reading, node)
    return _flag(graph, reading, node) or _recorded(graph, reading, plans)


def walks_of(graph: Graph, plans: Sequence[Plan]) -> list[Piece]:
    """Return the walks of the best plan."""
    nodes, edges = plans[0].path.walks()
    return list(zip(graph.at(nodes), graph.edges[edges], strict=True))


def _edges(graph: Graph, node: int, relation: int) -> list[int]:
    """Return the edges of a relation from a node."""
    own = graph.columns.out.row(node)
    edges: list[int] = own[graph.columns.relation[own] == relation].tolist()
    return edges


def _flag(graph: Graph, reading: Reading, node: int) -> Verdict | None:
    """Return the value of a relation that says only yes or no ("hibernates: yes"), where no other word asks.

    Where it says only yes, what is of the same kind and lacks it does not have it.
    """
    c, relations = graph.columns, reading.relations
    for relation, positions in reading.asked.items():
        if not set(reading.content) <= set(positions) or not any(
            relation in reading.lexical.get(p, ()) for p in positions
        ):
            continue
        values = {graph.names[tail].casefold() for tail in np.unique(relations.ends_of(relation)[1]).tolist()}
        if not values or not values <= _TRUE | _FALSE:
            continue
        for edge in _edges(graph, node, relation)[:1]:
            tail = int(c.tails[edge])
            return Verdict(graph.names[tail].casefold() in _TRUE, [(np.array([node, tail]), np.array([edge]))])
        if values <= _TRUE and _is_like(
            graph, node, np.unique(relations.ends_of(relation)[0]).astype(np.int64), relation
        ):
            reason = f"the graph records {relations.phrases[relation]!r} of others of its kind, not of"
            return Verdict(False, [], reason)
    return None


def _is_like(graph: Graph, node: int, heads: Ints, relation: int) -> bool:
    """Return whether a node has another relation that at least half of the heads of a relation have."""
    c = graph.columns
    owners, edges = c.out.expand(heads)
    pairs = np.unique(np.stack((owners, c.relation[edges])), axis=1)
    counts = np.bincount(pairs[1], minlength=len(c.relations))
    counts[relation] = 0
    return bool((2 * counts[np.unique(c.relation[c.out.row(node)])] >= len(heads)).any())


class _Compared(NamedTuple):
    """Two ends that are compared, and the walks to them."""

    ends: tuple[set[object], set[object]]
    walks: list[Piece]


def _same_value(graph: Graph, reading: Reading, node: int) -> Verdict | None:
    """Return whether an entity and what a word of the question leads to have the same value: "A and her mother"."""
    unit = next((reading.words[at] for at in reading.unmatched if reading.words[at] in UNITS_OF_TIME), "")
    best: list[tuple[int, _Compared]] = []
    for link, link_words in reading.asked.items():
        for attribute, own_words in reading.asked.items():
            if attribute != link and not set(link_words) & set(own_words):
                compared = _compared(graph, node, link, attribute, unit)
                best += [(len(own_words), compared)] if compared else []
    most = max((count for count, _ in best), default=0)
    chosen = [compared for count, compared in best if count == most]
    if len(chosen) != 1:
        return None
    first, second = chosen[0].ends
    return Verdict(not first.isdisjoint(second), chosen[0].walks)


def _compared(graph: Graph, node: int, link: int, attribute: int, unit: str) -> _Compared | None:
    """Return the values of an attribute of an entity and of what a relation leads to; None where one lacks it."""
    c = graph.columns
    own = [(np.array([node, c.tails[e]]), np.array([e])) for e in _edges(graph, node, attribute)]
    others = [
        (np.array([node, c.tails[first], c.tails[e]]), np.array([first, e]))
        for first in _edges(graph, node, link)
        for e in _edges(graph, int(c.tails[first]), attribute)
    ]
    values = [{_in_unit(graph, int(nodes[-1]), unit) for nodes, _ in walks} for walks in (own, others)]
    if not own or not others or any(None in side for side in values):
        return None
    return _Compared((values[0], values[1]), [*own, *others])


def _in_unit(graph: Graph, node: int, unit: str) -> object | None:
    """Return a node, or its date cut to a unit of time; None where the unit does not fit it."""
    if not unit:
        return node
    value = value_of(graph.names[node])
    return None if value is None or value.kind != "date" else _cut(value, unit)


def _cut(date: Value, unit: str) -> object | None:
    sizes = {"century": 100.0, "decade": 10.0, "year": 1.0, "month": 1 / 12}
    size = sizes.get(unit)
    if size is None:  # a day, or as exactly as the date is recorded
        return date.amount if date.precision < 1 / 12 or unit != "day" else None
    return round(date.amount / size + 1e-6) if size < 1 else int(date.amount // size)


def _of_all(graph: Graph, reading: Reading, node: int) -> Verdict | None:
    """Return whether something holds for all of a set: "in both cabinets".

    The noun names a relation, whose ends are the set. A walk leads there from the entity, directly or by one node
    between; other content words must ask for a relation on it, or stand in the names on it.
    """
    at = next(at for at, word in enumerate(reading.words) if word in _UNIVERSAL and at not in reading.mentioned)
    for noun in [p for p in reading.content if p > at][:1]:
        for relation in reading.lexical.get(noun, ()):
            members = set(np.unique(reading.relations.ends_of(relation)[1]).tolist())
            others = [p for p in reading.content if p != noun]
            walks = [
                w for w in _walks_by(graph, node, relation) if all(_accounts(graph, reading, w, p) for p in others)
            ]
            if walks and len(members) > 1 and (reading.words[at] != "both" or len(members) == 2):
                return Verdict(members <= {int(nodes[-1]) for nodes, _ in walks}, walks)
    return None


def _accounts(graph: Graph, reading: Reading, walk: Piece, at: int) -> bool:
    """Return whether a word asks for a relation of a walk, or stands in a name on it."""
    nodes, edges = walk
    relations = graph.columns.relation[edges].tolist()
    if any(at in reading.asked.get(relation, ()) for relation in relations):
        return True
    return any(_names(graph, node, [reading.words[at]]) for node in nodes.tolist())


def _walks_by(graph: Graph, node: int, relation: int) -> Iterator[Piece]:
    """Yield the walks that end with a relation, directly from a node or by one node between."""
    c = graph.columns
    for edge in _edges(graph, node, relation):
        yield np.array([node, c.tails[edge]]), np.array([edge])
    for first in np.concatenate((c.out.row(node), c.into.row(node))).tolist():
        middle = int(c.tails[first]) if int(c.heads[first]) == node else int(c.heads[first])
        for edge in _edges(graph, middle, relation):
            if edge != first:
                yield np.array([node, middle, c.tails[edge]]), np.array([first, edge])


def _recorded(graph: Graph, reading: Reading, plans: Sequence[Plan]) -> Verdict | None:
    """Return whether an entity has the value that the question's words name; without such words, whether it has any.

    A plan must account for all words that ask for relations: "Has an award winner worked at X?" needs a walk over both.
    """
    plans = sorted(plans, key=lambda plan: -plan.score)
    if not plans or plans[0].score <= 0:
        return None
    walks, way = walks_of(graph, plans), plans[0].path.ways[-1]
    asked = {at for own in reading.asked.values() for at in own}
    covered = {at for way in plans[0].path.ways for at in reading.asked.get(way >> 1, ())}
    if missing := [at for at in reading.content if at in asked - covered]:
        named = all(reading.lexical.get(at) for at in missing)
        return Verdict(False, walks) if named and len(plans[0].path.ways) == 1 else None
    others = [reading.words[at] for at in reading.content if at not in asked and not _is_holder(reading, at, asked)]
    if not others:
        return Verdict(True, walks)
    matching = [walk for walk in walks if _names(graph, int(walk[0][-1]), others)]
    if matching:
        return Verdict(True, matching)
    values = np.unique(reading.relations.ends_of(way >> 1)[way & 1])
    return Verdict(False, walks) if any(_names(graph, int(value), others) for value in values.tolist()) else None


def _is_holder(reading: Reading, at: int, asked: set[int]) -> bool:
    """Return whether a word is an agent whose modifier names a relation: "winner" in "award winner"."""
    return at - 1 in asked and reading.words[at].removesuffix("s").endswith(_AGENTS)


def _names(graph: Graph, node: int, words: Sequence[str]) -> bool:
    return any(inflections_match(word, part) for word in words for part in graph.names[node].casefold().split())
