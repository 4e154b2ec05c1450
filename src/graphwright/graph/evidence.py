"""Evidence: scored pieces of a graph, best first. A piece is a node, a triple, a path or a tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.errors import OptionError

if TYPE_CHECKING:
    from graphwright.graph.graph import Graph

__all__ = ["Evidence", "Ints", "Piece", "Ranking", "Scores"]

Ints = NDArray[np.int64]
Scores = NDArray[np.float64]
Piece = tuple[Ints, Ints]


def _frozen(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return the values as one flat read-only array of that type; an array is never shared with the caller."""
    array = np.array(values if hasattr(values, "__len__") else list(values), dtype)  # type: ignore[arg-type]
    if array.ndim != 1:
        raise OptionError(f"ids and scores are flat lists of numbers; this one has shape {array.shape}.")
    array.flags.writeable = False
    return array


def _sealed(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that nobody else holds, read-only from now on."""
    array.flags.writeable = False
    return array


def _ids(values: Iterable[int] | ArrayLike) -> Ints:
    given = np.asarray(values if hasattr(values, "__len__") else list(values))  # type: ignore[arg-type]
    if given.size and given.dtype.kind not in "iu":
        raise OptionError(f"ids are whole numbers; these are {given.dtype}.")
    if given.size and given.min() < 0:
        raise OptionError(f"ids are 0 or more; found {given.min()}.")
    return _frozen(given, np.int64)


def _scored(scores: ArrayLike | None, count: int) -> Scores | None:
    if scores is None:
        return None
    array = _frozen(scores, np.float64)
    if len(array) != count:
        raise OptionError(f"{count} pieces came with {len(array)} scores; give one score for each, or None.")
    if np.isnan(array).any():
        raise OptionError(f"score {int(np.isnan(array).argmax())} is not a number (NaN).")
    return array


@dataclass(frozen=True, eq=False)
class Ranking:
    """Passages with scores: `ids: int64[n]` (snapshot ids of chunk nodes), `scores: float64[n]`, best first."""

    ids: Ints
    scores: Scores

    @classmethod
    def of(cls, ids: ArrayLike, scores: ArrayLike) -> Ranking:
        """Rank ids by score: higher first, then smaller id.

        >>> Ranking.of([4, 2, 9], [0.5, 0.5, 0.7]).ids.tolist()
        [9, 2, 4]
        """
        known = _ids(ids)
        values = _scored(scores, len(known))
        order = np.lexsort((known, -values))  # type: ignore[operator]
        return cls(_frozen(known[order], np.int64), _frozen(values[order], np.float64))  # type: ignore[index]

    def top(self, k: int) -> Ranking:
        """Keep the k best."""
        return Ranking(self.ids[:k], self.scores[:k])

    def __len__(self) -> int:
        return len(self.ids)


class Evidence:
    """Scored pieces, best first; each piece is some nodes and some edges, in the order they are walked.

    Held as two ragged arrays over snapshot ids. Without scores the order given is the ranking. With
    scores the pieces are put in order here: higher score first, then the smaller ids.
    A triple holds its edge only; readers take its ends from the graph.

    >>> found = Evidence.of_nodes([3, 1, 2], [0.1, 0.9, 0.5])
    >>> len(found), found.scores.tolist(), found.piece(0)[0].tolist()
    (3, [0.9, 0.5, 0.1], [1])
    """

    __slots__ = ("edge_ptr", "edges", "node_ptr", "nodes", "scores")

    nodes: Ints
    node_ptr: Ints
    edges: Ints
    edge_ptr: Ints
    scores: Scores | None

    def __init__(self, nodes: Ints, node_ptr: Ints, edges: Ints, edge_ptr: Ints, scores: Scores | None) -> None:
        """Take ragged arrays that are already in order; `of_nodes`, `of_edges` and `of_pieces` rank."""
        self.nodes, self.node_ptr = nodes, node_ptr
        self.edges, self.edge_ptr = edges, edge_ptr
        self.scores = scores

    @classmethod
    def of_nodes(cls, ids: ArrayLike, scores: ArrayLike | None = None) -> Evidence:
        """One piece per node."""
        nodes = _ids(ids)
        values = _scored(scores, len(nodes))
        nodes, values = _in_order(nodes, values)
        return cls(nodes, _steps(len(nodes)), _frozen([], np.int64), _zeros(len(nodes)), values)

    @classmethod
    def of_edges(cls, ids: ArrayLike, scores: ArrayLike | None = None) -> Evidence:
        """One piece per edge: a triple."""
        edges = _ids(ids)
        values = _scored(scores, len(edges))
        edges, values = _in_order(edges, values)
        return cls(_frozen([], np.int64), _zeros(len(edges)), edges, _steps(len(edges)), values)

    @classmethod
    def of_pieces(cls, pieces: Iterable[tuple[ArrayLike, ArrayLike]], scores: ArrayLike | None = None) -> Evidence:
        """Pieces of any shape, each (nodes, edges) in walk order.

        >>> path = Evidence.of_pieces([([0, 4, 7], [2, 9])])
        >>> [part.tolist() for part in path.piece(0)], path.scores
        ([[0, 4, 7], [2, 9]], None)
        """
        listed = [(_ids(nodes), _ids(edges)) for nodes, edges in pieces]
        values = _scored(scores, len(listed))
        if values is not None:
            keys = [(-float(values[i]), *_key(piece)) for i, piece in enumerate(listed)]
            order = sorted(range(len(listed)), key=keys.__getitem__)
            listed, values = [listed[i] for i in order], _frozen(values[order], np.float64)
        return cls(*_ragged([n for n, _ in listed]), *_ragged([e for _, e in listed]), values)

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    def piece(self, i: int) -> Piece:
        """Return piece i, 0 the best: its nodes and its edges as int64 arrays in walk order."""
        if not -len(self) <= i < len(self):
            raise IndexError(f"piece {i} of {len(self)}")
        i %= len(self)
        return (
            self.nodes[self.node_ptr[i] : self.node_ptr[i + 1]],
            self.edges[self.edge_ptr[i] : self.edge_ptr[i + 1]],
        )

    def __iter__(self) -> Iterator[Piece]:
        return (self.piece(i) for i in range(len(self)))

    @property
    def only_nodes(self) -> bool:
        """Whether every piece is one node, so that `nodes` is the list of pieces."""
        return not len(self.edges) and len(self.nodes) == len(self) and bool((np.diff(self.node_ptr) == 1).all())

    def identities(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Return what makes each piece itself: its nodes and edges, in order."""
        nodes, edges = (_tuples(*part) for part in ((self.nodes, self.node_ptr), (self.edges, self.edge_ptr)))
        return list(zip(nodes, edges, strict=True))

    def top(self, k: int) -> Evidence:
        """Keep the first k pieces."""
        k = max(k, 0)
        if k >= len(self):
            return self
        # Slices copied, so that what is kept does not keep the rest.
        return type(self)(
            _frozen(self.nodes[: self.node_ptr[k]], np.int64),
            _frozen(self.node_ptr[: k + 1], np.int64),
            _frozen(self.edges[: self.edge_ptr[k]], np.int64),
            _frozen(self.edge_ptr[: k + 1], np.int64),
            None if self.scores is None else _frozen(self.scores[:k], np.float64),
        )

    def take(self, positions: Sequence[int], scores: ArrayLike | None = None) -> Evidence:
        """Return the pieces at `positions`: with new scores ranked by them, else in the order given.

        Without new scores the pieces keep those they have.
        """
        if scores is not None:
            return self.of_pieces([self.piece(i) for i in positions], scores)
        at = np.asarray(positions, np.int64)
        return type(self)(
            *_gather(self.nodes, self.node_ptr, at),
            *_gather(self.edges, self.edge_ptr, at),
            None if self.scores is None else _frozen(self.scores[at], np.float64),
        )

    def unscored(self) -> Evidence:
        """Return the same pieces in the same order, without scores."""
        return type(self)(self.nodes, self.node_ptr, self.edges, self.edge_ptr, None)

    def union(self, other: Evidence, cap: int | None = None) -> Evidence:
        """Return these pieces in order, then those of `other` that are not among them; unscored.

        `cap` bounds the total: pieces of `other` are taken only while it is not passed.

        >>> a, b = Evidence.of_nodes([5, 1]), Evidence.of_nodes([1, 2, 3])
        >>> a.union(b).nodes.tolist(), a.union(b, cap=3).nodes.tolist()
        ([5, 1, 2, 3], [5, 1, 2])
        """
        alike = self.only_nodes and other.only_nodes
        mine, others = (e.nodes.tolist() if alike else e.identities() for e in (self, other))
        held = set(mine)
        new: list[int] = []
        for i, key in enumerate(others):
            if cap is not None and len(self) + len(new) >= cap:
                break
            if key not in held:
                held.add(key)
                new.append(i)
        if alike:
            return self.of_nodes(np.concatenate((self.nodes, other.nodes[new])))
        more = other.take(new)
        return Evidence(
            *_joined(self.nodes, self.node_ptr, more.nodes, more.node_ptr),
            *_joined(self.edges, self.edge_ptr, more.edges, more.edge_ptr),
            None,
        )

    def texts(self, graph: Graph) -> list[str]:
        """Return one text per piece, as a reader or a model should see it.

        A node gives its text (a passage with its title before it), a triple or path the texts of its
        edges, and several nodes without edges their names.
        """
        return [_text(graph, nodes, edges) for nodes, edges in self]

    def __repr__(self) -> str:
        best = "" if self.scores is None or not len(self) else f", best {self.scores[0]:.4g}"
        return f"Evidence({len(self)} pieces{best})"


def _text(graph: Graph, nodes: Ints, edges: Ints) -> str:
    if len(edges):
        return "; ".join(graph.edge_text(int(e)) for e in edges)
    if len(nodes) == 1:
        return graph.reading(int(nodes[0]))
    return ", ".join(graph.names[int(v)] for v in nodes)


def _key(piece: Piece) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(piece[0].tolist()), tuple(piece[1].tolist())


def _tuples(flat: Ints, ptr: Ints) -> Iterator[tuple[int, ...]]:
    values, ends = flat.tolist(), ptr.tolist()
    return (tuple(values[begin:end]) for begin, end in pairwise(ends))


def _in_order(ids: Ints, scores: Scores | None) -> tuple[Ints, Scores | None]:
    if scores is None:
        return ids, None
    order = np.lexsort((ids, -scores))
    return _sealed(ids[order]), _sealed(scores[order])


def _steps(n: int) -> Ints:
    return _sealed(np.arange(n + 1, dtype=np.int64))


def _zeros(n: int) -> Ints:
    return _sealed(np.zeros(n + 1, np.int64))


def _ragged(parts: Sequence[Ints]) -> tuple[Ints, Ints]:
    flat = np.concatenate([np.empty(0, np.int64), *parts])
    return _frozen(flat, np.int64), _frozen(np.cumsum([0, *map(len, parts)]), np.int64)


def _gather(flat: Ints, ptr: Ints, at: Ints) -> tuple[Ints, Ints]:
    lengths = ptr[at + 1] - ptr[at]
    new_ptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    inside = np.arange(new_ptr[-1]) - np.repeat(new_ptr[:-1], lengths) + np.repeat(ptr[at], lengths)
    return _sealed(flat[inside]), _sealed(new_ptr)


def _joined(a: Ints, a_ptr: Ints, b: Ints, b_ptr: Ints) -> tuple[Ints, Ints]:
    return _frozen(np.concatenate((a, b)), np.int64), _frozen(np.concatenate((a_ptr, b_ptr[1:] + a_ptr[-1])), np.int64)
