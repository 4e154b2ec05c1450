"""Suggestions of duplicates: pairs of entities that may be one, each with its reasons, for a person to decide about.

Candidates are names whose vectors are near (the graph's synonyms), shorter names of a topic, and names that are
neighbours when all are sorted, forwards and backwards (the sorted-neighbourhood method: Hernández and Stolfo, 1995), so
that the work grows with n log n. A reason is a likeness from 0 to 1; the score is that of independent reasons together.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from graphwright.build.resolution import numbers
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import ALIAS, SYNONYM, Columns, Graph, Kind
from graphwright.search.name_index import name_index_of
from graphwright.search.snapshot import Snapshot
from graphwright.search.vector_index import normalised
from graphwright.store.edits import Edit, KeepApart
from graphwright.text.names import normal_form
from graphwright.text.values import is_value

_WINDOW = 3  # names behind each sorted name that it is compared with
_LEAST = 0.8  # likeness of spelling, or cosine, that is a reason
_RANKED = 2_000  # pairs with the best reasons in their names, of which neighbours are compared
_NAMED = 3  # common neighbours that a reason names


class Duplicate(NamedTuple):
    """Two entities that may be one: names, the better connected first; a score from 0 to 1; the reasons in words."""

    first: str
    second: str
    score: float
    reasons: tuple[str, ...]


def duplicates(snapshot: Snapshot, edits: Iterable[Edit], limit: int) -> list[Duplicate]:
    """Return the likeliest pairs of entities that may be one, without those that an edit keeps apart."""
    graph, columns = snapshot.graph, snapshot.graph.columns
    entities = np.flatnonzero(columns.kinds == Kind.ENTITY)
    entities = entities[[not is_value(name) for name in columns.names.gather(entities)]]
    names = columns.names.gather(entities)
    forms = {node: normal_form(name) for node, name in zip(entities.tolist(), names, strict=True)}
    joined = columns.edges_of(SYNONYM, ALIAS)
    near = np.stack((columns.heads[joined], columns.tails[joined]), axis=1).astype(np.int64)
    candidates = set(map(tuple, np.sort(near, axis=1).tolist())) | set(_sorted_neighbours(forms))
    refused, shorter = _refused(graph, edits), _shorter(columns)
    pairs = [
        (a, b)
        for a, b in sorted(candidates - refused)
        if a in forms and b in forms and numbers(forms[a]) == numbers(forms[b])
    ]
    cosines = _cosines(snapshot, np.array(pairs, np.int64).reshape(-1, 2))
    found = list[tuple[float, int, int, list[Reason]]]()
    for (a, b), cosine in zip(pairs, cosines, strict=True):
        if reasons := [*_alike(forms[a], forms[b], cosine), *_shortened(graph, shorter, a, b)]:
            found.append((-_score(reasons), a, b, reasons))
    likeliest = (_suggestion(graph, *pair[1:]) for pair in sorted(found)[: max(_RANKED, limit)])
    return sorted(likeliest, key=lambda pair: (-pair.score, pair.first, pair.second))[:limit]


Reason = tuple[float, str]


def _score(reasons: Iterable[Reason]) -> float:
    return 1 - prod(1 - likeness for likeness, _ in reasons)


def _alike(a: str, b: str, cosine: float) -> Iterable[Reason]:
    from rapidfuzz.fuzz import ratio

    if (spelling := ratio(a, b) / 100) >= _LEAST:
        yield spelling, f"spelled alike ({spelling:.0%})"
    if cosine >= _LEAST:
        yield cosine, f"names of nearly the same meaning (cosine {cosine:.2f})"


def _shortened(graph: Graph, shorter: dict[int, list[int]], a: int, b: int) -> Iterable[Reason]:
    for short, full in ((a, b), (b, a)):
        if full in (meant := shorter.get(short, [])):
            others = f", and of {len(meant) - 1} more" if len(meant) > 1 else ""
            yield 1 / (1 + len(meant)), f"{graph.names[short]} is a shorter form of {graph.names[full]}{others}"


def _suggestion(graph: Graph, a: int, b: int, reasons: list[Reason]) -> Duplicate:
    """Return a pair, with the neighbours that both have as a further reason."""
    around = [_neighbours(graph, node) for node in (a, b)]
    if common := sorted(around[0] & around[1]):
        names = ", ".join(graph.names.take(common[:_NAMED]))
        more = f" and {len(common) - _NAMED} more" if len(common) > _NAMED else ""
        reasons = [*reasons, (len(common) / len(around[0] | around[1]), f"both are connected with {names}{more}")]
    first, second = sorted((a, b), key=lambda node: (-len(graph.columns.adjacency.row(node)), node))
    texts = tuple(text for _, text in reasons)
    return Duplicate(graph.names[first], graph.names[second], round(_score(reasons), 4), texts)


def _neighbours(graph: Graph, node: int) -> set[int]:
    columns = graph.columns
    edges = np.union1d(columns.out.row(node), columns.into.row(node)).astype(np.int64)
    between_names = np.isin(columns.relation[edges], [columns.own.get(name, -1) for name in (SYNONYM, ALIAS)])
    edges = edges[columns.between_entities(edges) & ~between_names]
    return set(graph.ends(edges).tolist()) - {node}


def _sorted_neighbours(forms: dict[int, str]) -> Iterable[tuple[int, int]]:
    """Yield pairs of forms that are spelled alike, of those that are neighbours when sorted."""
    from rapidfuzz.fuzz import ratio

    for key in (lambda node: forms[node], lambda node: forms[node][::-1]):
        ordered = sorted(forms, key=key)
        for step in range(1, _WINDOW + 1):
            for a, b in zip(ordered, ordered[step:], strict=False):
                if ratio(forms[a], forms[b], score_cutoff=100 * _LEAST):
                    yield min(a, b), max(a, b)


def _shorter(columns: Columns) -> dict[int, list[int]]:
    """Return the entities that each shorter name may mean."""
    meant, edges = dict[int, list[int]](), columns.edges_of(ALIAS)
    for name, full in zip(columns.heads[edges].tolist(), columns.tails[edges].tolist(), strict=True):
        meant.setdefault(name, []).append(full)
    return meant


def _refused(graph: Graph, edits: Iterable[Edit]) -> set[tuple[int, int]]:
    index, pairs = name_index_of(graph.columns), set[tuple[int, int]]()
    for change in (edit.change for edit in edits if isinstance(edit.change, KeepApart)):
        sides = (index.find(index.form(name)).tolist() for name in (change.first, change.second))
        pairs |= {(min(pair), max(pair)) for pair in product(*sides)}
    return pairs


def _cosines(snapshot: Snapshot, pairs: Ints) -> list[float]:
    """Return the cosine of the names of each pair, 0 where names have no vectors."""
    space = snapshot.names
    if space is None or not len(pairs):
        return [0.0] * len(pairs)
    nodes, at = np.unique(pairs, return_inverse=True)
    unit = normalised(space.of(nodes))
    a, b = at.reshape(-1, 2).T
    cosines: list[float] = np.einsum("ij,ij->i", unit[a], unit[b]).tolist()
    return cosines
