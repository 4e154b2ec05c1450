"""The graph of passages alone: each is joined with those that it refers to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import ABOUT, ALIAS, MENTIONS, Columns, Csr, Graph
from graphwright.retrieve.operator import Operator
from graphwright.retrieve.state import State

__all__ = ["OnPassages", "passage_graph"]

_RELATIONS = ("refers to", "shares a name with")
_made: WeakKeyDictionary[Columns, dict[int, Graph]] = WeakKeyDictionary()


def passage_graph(graph: Graph, shared: int = 5) -> Graph:
    """Return the graph of a snapshot's passages, made once: same ids, names and texts, other edges.

    A passage refers to another when it mentions what the other is about (by another name too, one alias edge away),
    as a paper cites another in a corpus graph (FastInsight, section 4.2.1). Two are also joined, in both relations
    perhaps, when they name an entity that at most `shared` passages name. What is no passage has no edge.
    A graph without passages is returned as it is.
    """
    if graph.passages is None:
        return graph
    known = _made.setdefault(graph.columns, {})
    if shared not in known:
        known[shared] = Graph(_linked(graph.columns, np.asarray(graph.passages.nodes, np.int64), shared))
    return known[shared] if graph.whole else known[shared].part(graph.nodes)


@dataclass(frozen=True, repr=False)
class OnPassages(Operator):
    """Run a step on the graph of passages alone (`passage_graph`), then put the graph back.

    In the graph of an index two passages are two hops apart, by way of an entity; here they are neighbours.

    >>> from graphwright.retrieve.operator import Keep
    >>> OnPassages(Keep() % 3, shared=10)
    OnPassages(Keep() % 3, shared=10)
    """

    step: Operator
    shared: int = 5

    def __post_init__(self) -> None:
        if isinstance(self.shared, bool) or not hasattr(self.shared, "__index__") or self.shared < 0:
            raise OptionError(f"OnPassages(shared={self.shared!r}): a number of passages, 0 or more.")

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the step needs."""
        return self.step.needs

    @property
    def gives(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the step gives."""
        return self.step.gives

    def apply(self, state: State) -> State:
        """Run the step."""
        return self.run(state)

    def run(self, state: State, k: int | None = None) -> State:
        """Run the step on the other graph, and keep the k best."""
        if state.answer is not None:
            return state
        return self.step.run(state.with_(graph=passage_graph(state.graph, self.shared)), k).with_(graph=state.graph)

    def lacks(self, have: frozenset[str]) -> Iterator[tuple[int, int, Operator, str]]:
        """Yield what the step lacks."""
        return self.step.lacks(have)

    def after(self, have: frozenset[str]) -> frozenset[str]:
        """Return what is set after the step."""
        return self.step.after(have)

    def capped(self, cap: int) -> Operator:
        """Hand the cap on."""
        return OnPassages(self.step.capped(cap), self.shared)


def _linked(columns: Columns, passages: Ints, shared: int) -> Columns:
    """Return columns with the same nodes, and the edges between passages."""
    pairs = [_references(columns, passages), _sharing(columns, passages, shared)]
    ends = np.concatenate(pairs).astype(np.int32)
    return Columns(
        names=columns.names,
        heads=np.ascontiguousarray(ends[:, 0]),
        tails=np.ascontiguousarray(ends[:, 1]),
        relation=np.repeat(np.arange(2, dtype=np.int32), [len(some) for some in pairs]),
        relations=TextColumn.of(_RELATIONS),
        kinds=columns.kinds,
        texts=columns.texts,
        passages=columns.passages,
    )


def _references(columns: Columns, passages: Ints) -> Ints:
    """Return the distinct pairs of a passage and another that is about what it mentions: int64[p, 2]."""
    heads, mentioned = _expand(columns.by_relation(MENTIONS), passages, passages)
    again, same = _expand(columns.by_relation(ALIAS), mentioned, heads)
    heads, mentioned = np.concatenate((heads, again)), np.concatenate((mentioned, same))
    heads, tails = _expand(columns.by_relation(ABOUT), mentioned, heads)
    return np.unique(np.stack((heads, tails), axis=1)[heads != tails], axis=0)


def _sharing(columns: Columns, passages: Ints, most: int) -> Ints:
    """Return the distinct pairs of passages that name an entity which no more than `most` name: int64[p, 2].

    Sorted by entity those that share one lie side by side, less than `most` places apart.
    """
    owners, entities = _expand(columns.adjacency, passages, passages)
    rare = np.bincount(entities, minlength=1)[entities] <= most
    owners, entities = owners[rare], entities[rare]
    order = np.lexsort((owners, entities))
    owners, entities = owners[order], entities[order]
    found = [np.empty((0, 2), np.int64)]
    for apart in range(1, min(most, len(owners))):
        same = entities[apart:] == entities[:-apart]
        found.append(np.stack((owners[:-apart][same], owners[apart:][same]), axis=1))
    return np.unique(np.concatenate(found), axis=0)


def _expand(rows: Csr, ids: Ints, owners: Ints) -> tuple[Ints, Ints]:
    """Return all values of these rows, and before them whose row each is in: `owners`, one for each of `ids`."""
    return np.repeat(owners, rows.indptr[ids + 1] - rows.indptr[ids]), rows.rows(ids)
