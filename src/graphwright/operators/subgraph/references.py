"""The graph of passages alone: each is joined with those that it refers to, names, or continues."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import ABOUT, ALIAS, MENTIONS, REFERS, Columns, Csr, Graph
from graphwright.graph.passages import Passages
from graphwright.operators.subgraph.elsewhere import Elsewhere

__all__ = ["CONTINUES", "NAMES", "RELATIONS", "SHARES", "OnPassages", "passage_graph"]

NAMES = "names the topic of"  # a passage and another that is about what it mentions
SHARES = "shares a name with"  # two passages that name what few others name
CONTINUES = "continues"  # a passage and the one before it in its document
RELATIONS = (REFERS, NAMES, SHARES, CONTINUES)
_made: WeakKeyDictionary[Columns, dict[tuple[int, tuple[str, ...]], Graph]] = WeakKeyDictionary()


def passage_graph(graph: Graph, shared: int = 5, relations: tuple[str, ...] = RELATIONS) -> Graph:
    """Return the graph of a snapshot's passages, made once: same ids, names and texts, other edges.

    Edges come from three sources. Documents may say what they refer to (`Document.links`): each of their passages
    "refers to" the first of the other document, as a paper cites another in a reference network (FastInsight, section
    4.2.1). What passages name tells it where nobody does: one "names the topic of" another when it mentions what the
    other is about (by another name too, one alias edge away), and "shares a name with" it when both name an entity that
    at most `shared` passages name. And a passage "continues" the one before it in its document. All are used together,
    and two passages joined by several are neighbours once; `relations` chooses, so that ("refers to",) is the reference
    network and nothing else. What is no passage has no edge. A graph without passages is returned as it is.

    Raises OptionError for an unknown relation.
    """
    key = shared, _checked(relations)
    if graph.passages is None:
        return graph
    known = _made.setdefault(graph.columns, {})
    if key not in known:
        known[key] = Graph(_linked(graph.columns, graph.passages, shared, key[1]))
    return known[key] if graph.whole else known[key].part(graph.nodes)


@dataclass(frozen=True, repr=False)
class OnPassages(Elsewhere):
    """Run a step on the graph of passages alone, then put the graph back; `shared`, `relations` as in `passage_graph`.

    In the graph of an index two passages are two hops apart, by way of an entity; here they are neighbours.

    >>> from graphwright.operators.operator import Keep
    >>> OnPassages(Keep() % 3, shared=10), OnPassages(Keep(), relations=("refers to",))
    (OnPassages(Keep() % 3, shared=10), OnPassages(Keep(), relations=('refers to',)))
    """

    shared: int = 5
    relations: tuple[str, ...] = RELATIONS

    def __post_init__(self) -> None:
        if isinstance(self.shared, bool) or not hasattr(self.shared, "__index__") or self.shared < 0:
            raise OptionError(f"OnPassages(shared={self.shared!r}): a number of passages, 0 or more.")
        object.__setattr__(self, "relations", _checked(self.relations))

    def graph_of(self, graph: Graph) -> Graph:
        """Return the graph of passages."""
        return passage_graph(graph, self.shared, self.relations)


def _checked(relations: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(relations, str) or not relations or not set(relations) <= set(RELATIONS):
        raise OptionError(f"relations={relations!r}: what joins passages is a tuple of some of {RELATIONS}.")
    return tuple(dict.fromkeys(relations))


def _linked(columns: Columns, passages: Passages, shared: int, relations: tuple[str, ...]) -> Columns:
    """Return columns with the same nodes, and the edges between passages."""
    nodes = np.asarray(passages.nodes, np.int64)
    sources = {
        REFERS: lambda: _referring(columns),
        NAMES: lambda: _naming(columns, nodes),
        SHARES: lambda: _sharing(columns, nodes, shared),
        CONTINUES: lambda: _continuing(passages),
    }
    pairs = [sources[name]() for name in relations]
    ends = np.concatenate([np.empty((0, 2), np.int64), *pairs]).astype(np.int32)
    return Columns(
        names=columns.names,
        heads=np.ascontiguousarray(ends[:, 0]),
        tails=np.ascontiguousarray(ends[:, 1]),
        relation=np.repeat(np.arange(len(pairs), dtype=np.int32), [len(some) for some in pairs]),
        relations=TextColumn.of(relations),
        kinds=columns.kinds,
        texts=columns.texts,
        passages=columns.passages,
    )


def _referring(columns: Columns) -> Ints:
    """Return the distinct pairs of a passage and one that its document refers to: int64[p, 2]."""
    return np.unique(np.stack(columns.references, axis=1).astype(np.int64), axis=0)


def _naming(columns: Columns, passages: Ints) -> Ints:
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
    owners, entities = _expand(columns.by_relation(ABOUT, MENTIONS), passages, passages)
    rare = np.bincount(entities, minlength=1)[entities] <= most
    owners, entities = owners[rare], entities[rare]
    order = np.lexsort((owners, entities))
    owners, entities = owners[order], entities[order]
    found = [np.empty((0, 2), np.int64)]
    for apart in range(1, min(most, len(owners))):
        same = entities[apart:] == entities[:-apart]
        found.append(np.stack((owners[:-apart][same], owners[apart:][same]), axis=1))
    return np.unique(np.concatenate(found), axis=0)


def _continuing(passages: Passages) -> Ints:
    """Return the pairs of a passage and the one before it in its document: int64[p, 2]."""
    order = np.lexsort((passages.nodes, passages.start, passages.document))
    nodes, document = np.asarray(passages.nodes, np.int64)[order], passages.document[order]
    within = document[1:] == document[:-1]
    return np.stack((nodes[1:][within], nodes[:-1][within]), axis=1)


def _expand(rows: Csr, ids: Ints, owners: Ints) -> tuple[Ints, Ints]:
    """Return all values of these rows, and before them whose row each is in: `owners`, one for each of `ids`."""
    return np.repeat(owners, rows.indptr[ids + 1] - rows.indptr[ids]), rows.rows(ids)
