"""Paths of citations for display."""

from __future__ import annotations

from collections.abc import Sequence

from graphwright.graph.graph import ABOUT, CO_OCCURS, MENTIONS, REFERS, SYNONYM, Graph

_MAX_SHOWN = 3  # relations
_MENTIONED = frozenset({ABOUT, MENTIONS})
_NOT_STATED = _MENTIONED | {CO_OCCURS, REFERS, SYNONYM}


def shown_path(graph: Graph, path: Sequence[str]) -> tuple[str, ...]:
    """Return the part of a citation's path to display: at most three stated relations, else nothing.

    Mentions of names in passages, and co-occurrence in a sentence, are not stated relations.

    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("mur#0", "about", "Mur")])
    >>> shown_path(graph, ("Graz", "lies on", "Mur", "about⁻¹", "mur#0"))
    ('Graz', 'lies on', 'Mur')
    >>> shown_path(graph, ("Mur", "about⁻¹", "mur#0"))
    ()
    """
    labels = [label.removesuffix("⁻¹") for label in path[1::2]]
    if labels and labels[-1] in _MENTIONED:
        path, labels = path[:-2], labels[:-1]
    stated = 0 < len(labels) <= _MAX_SHOWN and _NOT_STATED.isdisjoint(labels)
    return tuple(path) if stated and _all_relations(graph, set(labels)) else ()


def _all_relations(graph: Graph, labels: set[str]) -> bool:
    """Return whether all labels are relations; a path may also be names only, or contain a sentence."""
    for relation in graph.columns.relations:
        labels.discard(relation)
        if not labels:
            return True
    return False
