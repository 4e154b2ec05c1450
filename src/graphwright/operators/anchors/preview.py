"""The passages that were looked at first, and what they state: the part of the graph that they are a preview of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph, Kind
from graphwright.operators.state import State
from graphwright.prompts import data_line

__all__ = ["passage_lines", "previewed", "stated"]

_ROOM = 12_000  # characters of all passages that a language model is shown
_TITLE = 200


def previewed(state: State, most: int) -> Ints:
    """Return the best passages of the state, best first; none where nobody looked."""
    return np.empty(0, np.int64) if state.passages is None else state.passages.ids[:most]


def passage_lines(state: State, most: int) -> str:
    """Return the best passages as data, a line of JSON for each, as many as there is room for."""
    return "\n".join(_lines(state, most)) or "(none)"


def _lines(state: State, most: int) -> Iterator[str]:
    room = _ROOM
    for number, node in enumerate(previewed(state, most).tolist(), 1):
        title = state.graph.title_of(node)[:_TITLE]
        line = data_line({"passage": number, "title": title, "text": state.graph.passage(node)[:room]})
        if len(line) > room:
            return
        room -= len(line)
        yield line


def stated(graph: Graph, passages: Ints) -> tuple[Ints, Ints]:
    """Return the entities that passages name and the edges that they state between them, both ascending.

    On a graph without passages its nodes stand for them, and state the edges that begin or end there. Costs in
    proportion to the edges of these entities.

    >>> graph = Graph.from_triples([("Bertha", "mother of", "Gisela"), ("Gisela", "wife of", "Godfrid")])
    >>> [part.tolist() for part in stated(graph, np.array([0]))]
    [[0, 1], [0]]
    """
    columns = graph.columns
    around = np.unique(np.append(passages, columns.adjacency.rows(passages)))
    entities = around[(columns.kinds[around] == Kind.ENTITY) & graph.holds(around)]
    if graph.passages is None:
        edges = np.unique(np.append(columns.out.rows(passages), columns.into.rows(passages)))
    else:
        edges = np.unique(columns.stated.rows(passages))
        edges = edges[_within(columns.heads[edges], entities) & _within(columns.tails[edges], entities)]
    return entities, edges if graph.whole else edges[_within(edges, graph.edges)]


def _within(ids: NDArray[np.integer], known: Ints) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = np.isin(ids, known)
    return inside
