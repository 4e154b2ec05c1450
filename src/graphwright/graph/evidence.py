"""Evidence: scored items of a graph, best first. An item is a node, a triple, a path or a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.errors import OptionError
from graphwright.graph.columns import Passage
from graphwright.kernels.csr import row_entries, row_pointers
from graphwright.kernels.ranking import rank_items

if TYPE_CHECKING:
    from graphwright.graph.graph import Graph

_SHOWN = 10  # rows of a table in a notebook

Ints = NDArray[np.int64]
Scores = NDArray[np.float64]
Piece = tuple[Ints, Ints]
"""The nodes and the edges of an item, in walk order."""
Render = Callable[["Graph", Ints, Ints], str]
"""A function that writes the text of an item: (graph, nodes, edges) -> text. Module level, so that evidence pickles."""


def item_text(graph: Graph, nodes: Ints, edges: Ints) -> str:
    """Return the text of an item.

    A node gives its text (a passage with its title before it), a triple or path the texts of its edges, and several
    nodes without edges their names.
    """
    if len(edges):
        return "; ".join(graph.edge_text(int(e)) for e in edges)
    if len(nodes) == 1:
        return graph.reading(int(nodes[0]))
    return ", ".join(graph.names[int(v)] for v in nodes)


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """Passages with scores: `ids: int64[n]` (snapshot ids of chunk nodes), `scores: float64[n]`, best first.

    A State binds its ranking to its graph; iterating over it then gives Passage values.
    """

    ids: Ints
    scores: Scores
    graph: Graph | None = None

    @classmethod
    def of(cls, ids: ArrayLike, scores: ArrayLike) -> Ranking:
        """Rank ids by score: higher first, then smaller id.

        >>> Ranking.of([4, 2, 9], [0.5, 0.5, 0.7]).ids.tolist()
        [9, 2, 4]
        """
        return cls(*_in_order(ids, scores))

    def bound(self, graph: Graph) -> Ranking:
        """Return the same ranking with the graph that its passages are read from."""
        return Ranking(self.ids, self.scores, graph)

    def top(self, k: int) -> Ranking:
        """Keep the k best."""
        return Ranking(self.ids[:k], self.scores[:k], self.graph)

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Passage]:
        """Yield the passages, best first. Raises OptionError for a ranking that is not part of a State."""
        return (self[position] for position in range(len(self)))

    def __getitem__(self, position: int) -> Passage:
        """Return the passage at a position, 0 for the best. Raises OptionError as `__iter__` does."""
        graph = self.graph
        if graph is None:
            raise OptionError("this ranking is not part of a State, so its texts are unknown; read ids and scores.")
        node, score = int(self.ids[position]), float(self.scores[position])
        text = graph.passage(node)
        location = graph.passages.of(node) if graph.passages is not None else None
        if location is None:
            return Passage(graph.names[node], "", text, score, 0, len(text), graph.names[node])
        start, end = location.start, location.end
        return Passage(location.document, location.title, text, score, start, end, location.id)

    def __repr__(self) -> str:
        return f"Ranking({len(self)} passages{_best(self.scores)})"

    def _repr_html_(self) -> str:
        if self.graph is None:
            return html_table(repr(self))
        rows = [(p.document, f"{p.start}–{p.end}", p.text, f"{p.score:.4g}") for p in self.top(_SHOWN)]
        return html_table(repr(self), ("document", "characters", "text", "score"), rows)


class Evidence:
    """Scored items, best first; each item is some nodes and some edges, in the order in which they are walked.

    Held as two ragged arrays over snapshot ids. Without scores the order given is the ranking. With scores the items
    are sorted here: higher score first, then the smaller ids. A triple holds its edge only; readers take its ends from
    the graph. `render` writes the text of an item for models and readers (see `item_text`).

    >>> evidence = Evidence.of_nodes([3, 1, 2], [0.1, 0.9, 0.5])
    >>> evidence, evidence.scores.tolist(), evidence.piece(0)[0].tolist()
    (Evidence(3 nodes, best 0.9), [0.9, 0.5, 0.1], [1])
    """

    __slots__ = ("edge_ptr", "edges", "node_ptr", "nodes", "render", "scores")

    def __init__(
        self,
        nodes: Ints,
        node_ptr: Ints,
        edges: Ints,
        edge_ptr: Ints,
        scores: Scores | None,
        render: Render = item_text,
    ) -> None:
        """Take ragged arrays that are already in order; `of_nodes`, `of_edges` and `of_pieces` sort."""
        self.nodes, self.node_ptr = nodes, node_ptr
        self.edges, self.edge_ptr = edges, edge_ptr
        self.scores, self.render = scores, render

    @classmethod
    def of_nodes(cls, ids: ArrayLike, scores: ArrayLike | None = None) -> Evidence:
        """Make one item of each node."""
        nodes, values = _in_order(ids, scores)
        return cls(nodes, _steps(len(nodes)), _frozen([], np.int64), _zeros(len(nodes)), values)

    @classmethod
    def of_edges(cls, ids: ArrayLike, scores: ArrayLike | None = None) -> Evidence:
        """Make one item, a triple, of each edge."""
        edges, values = _in_order(ids, scores)
        return cls(_frozen([], np.int64), _zeros(len(edges)), edges, _steps(len(edges)), values)

    @classmethod
    def of_pieces(
        cls,
        pieces: Iterable[tuple[ArrayLike, ArrayLike]],
        scores: ArrayLike | None = None,
        render: Render = item_text,
    ) -> Evidence:
        """Make items of any shape, each (nodes, edges) in walk order.

        >>> path = Evidence.of_pieces([([0, 4, 7], [2, 9])])
        >>> [part.tolist() for part in path.piece(0)], path.scores
        ([[0, 4, 7], [2, 9]], None)
        """
        items = [(_ids(nodes), _ids(edges)) for nodes, edges in pieces]
        parts = *_ragged([n for n, _ in items]), *_ragged([e for _, e in items])
        if scores is None:
            return cls(*parts, None, render)
        values = _scored(scores, len(items))
        return cls(*parts, values, render).take(rank_items(values, *parts))

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    def piece(self, i: int) -> Piece:
        """Return item i, 0 the best: its nodes and its edges as int64 arrays in walk order."""
        if not -len(self) <= i < len(self):
            raise IndexError(f"item {i} of {len(self)}")
        i %= len(self)
        return (
            self.nodes[self.node_ptr[i] : self.node_ptr[i + 1]],
            self.edges[self.edge_ptr[i] : self.edge_ptr[i + 1]],
        )

    def __iter__(self) -> Iterator[Piece]:
        return (self.piece(i) for i in range(len(self)))

    @property
    def only_nodes(self) -> bool:
        """Whether every item is one node, so that `nodes` lists the items."""
        return not len(self.edges) and _all_single(self.node_ptr)

    def identities(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Return a hashable key of each item: its nodes and its edges, in order."""
        nodes, edges = (_tuples(*part) for part in ((self.nodes, self.node_ptr), (self.edges, self.edge_ptr)))
        return list(zip(nodes, edges, strict=True))

    def top(self, k: int | None) -> Evidence:
        """Keep the first k items; all if k is None."""
        if k is None or k >= len(self):
            return self
        return self.take(np.arange(k))  # copies, so that the whole arrays can be freed

    def take(self, positions: Sequence[int] | Ints, scores: ArrayLike | None = None) -> Evidence:
        """Return the items at `positions`: with new scores ranked by them, else in the order given.

        Without new scores the items keep their scores.
        """
        if scores is not None:
            return Evidence.of_pieces([self.piece(i) for i in positions], scores, self.render)
        at = np.asarray(positions, np.int64)
        return Evidence(
            *_gather(self.nodes, self.node_ptr, at),
            *_gather(self.edges, self.edge_ptr, at),
            None if self.scores is None else _frozen(self.scores[at], np.float64),
            self.render,
        )

    @property
    def ranked_scores(self) -> Scores:
        """The scores; 1/rank for evidence without scores."""
        return 1.0 / np.arange(1, len(self) + 1) if self.scores is None else self.scores

    def unscored(self) -> Evidence:
        """Return the same items in the same order, without scores."""
        return Evidence(self.nodes, self.node_ptr, self.edges, self.edge_ptr, None, self.render)

    def union(self, other: Evidence, cap: int | None = None) -> Evidence:
        """Return these items in order, then those of `other` that are not among them; unscored.

        `cap` bounds the total: items of `other` are taken only while it is not passed.

        >>> a, b = Evidence.of_nodes([5, 1]), Evidence.of_nodes([1, 2, 3])
        >>> a.union(b).nodes.tolist(), a.union(b, cap=3).nodes.tolist()
        ([5, 1, 2, 3], [5, 1, 2])
        """
        nodes_alone = self.only_nodes and other.only_nodes
        own_keys, other_keys = (e.nodes.tolist() if nodes_alone else e.identities() for e in (self, other))
        known = set(own_keys)
        new: list[int] = []
        for i, key in enumerate(other_keys):
            if cap is not None and len(self) + len(new) >= cap:
                break
            if key not in known:
                known.add(key)
                new.append(i)
        if nodes_alone:
            return Evidence.of_nodes(np.concatenate((self.nodes, other.nodes[new])))
        more = other.take(new)
        return Evidence(
            *_joined(self.nodes, self.node_ptr, more.nodes, more.node_ptr),
            *_joined(self.edges, self.edge_ptr, more.edges, more.edge_ptr),
            None,
            self.render if self.render is other.render else item_text,
        )

    def texts(self, graph: Graph) -> list[str]:
        """Return the text of each item, as a reader or a model should see it."""
        return [self.render(graph, nodes, edges) for nodes, edges in self]

    def __repr__(self) -> str:
        only_edges = not len(self.nodes) and _all_single(self.edge_ptr)
        kind = "nodes" if self.only_nodes else "triples" if only_edges else "items"
        return f"Evidence({len(self)} {kind}{_best(self.scores)})"

    def _repr_html_(self) -> str:
        rows = [
            (nodes.tolist(), edges.tolist(), "" if self.scores is None else f"{self.scores[i]:.4g}")
            for i, (nodes, edges) in enumerate(self.top(_SHOWN))
        ]
        return html_table(repr(self), ("nodes", "edges", "score"), rows)


def html_table(caption: str, header: Sequence[str] = (), rows: Iterable[Sequence[object]] = ()) -> str:
    """Return an HTML table for notebooks, its texts escaped and cut to 200 characters."""

    def row(tag: str, cells: Iterable[object]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(str(cell)[:200])}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row("td", cells) for cells in rows)
    return f"<table><caption>{escape(caption)}</caption>{row('th', header)}{body}</table>"


def _best(scores: Scores | None) -> str:
    return "" if scores is None or not len(scores) else f", best {scores[0]:.4g}"


def _frozen(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return the values as one flat read-only array of that type; an array is never shared with the caller."""
    array = np.array(values if hasattr(values, "__len__") else list(values), dtype)  # type: ignore[arg-type]
    if array.ndim != 1:
        raise OptionError(f"Ids and scores must be flat lists of numbers; got an array of shape {array.shape}.")
    return _sealed(array)


def _sealed(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only, in place; only for arrays without other references."""
    array.flags.writeable = False
    return array


def _ids(values: Iterable[int] | ArrayLike) -> Ints:
    ids = np.asarray(values if hasattr(values, "__len__") else list(values))  # type: ignore[arg-type]
    if ids.size and ids.dtype.kind not in "iu":
        raise OptionError(f"Ids must be whole numbers; got {ids.dtype}.")
    if ids.size and ids.min() < 0:
        raise OptionError(f"Ids must be 0 or more; got {ids.min()}.")
    return _frozen(ids, np.int64)


def _scored(scores: ArrayLike, count: int) -> Scores:
    array = _frozen(scores, np.float64)
    if len(array) != count:
        raise OptionError(f"Got {len(array)} scores for {count} items; give one score for each item, or None.")
    if np.isnan(array).any():
        raise OptionError(f"Score {int(np.isnan(array).argmax())} is not a number (NaN).")
    return array


def _all_single(ptr: Ints) -> bool:
    return bool((np.diff(ptr) == 1).all())


def _tuples(flat: Ints, ptr: Ints) -> Iterator[tuple[int, ...]]:
    if not len(flat):
        return repeat((), len(ptr) - 1)
    values, ends = flat.tolist(), ptr.tolist()
    return (tuple(values[begin:end]) for begin, end in pairwise(ends))


def _in_order(ids: ArrayLike, scores: ArrayLike | None) -> tuple[Ints, Any]:
    """Return ids and scores, sorted where there are scores: higher score first, then smaller id."""
    values, numbers = _ids(ids), None
    if scores is not None:
        numbers = _scored(scores, len(values))
        order = np.lexsort((values, -numbers))
        values, numbers = _sealed(values[order]), _sealed(numbers[order])
    return values, numbers


def _steps(n: int) -> Ints:
    return _sealed(np.arange(n + 1, dtype=np.int64))


def _zeros(n: int) -> Ints:
    return _sealed(np.zeros(n + 1, np.int64))


def _ragged(parts: Sequence[Ints]) -> tuple[Ints, Ints]:
    lengths = np.array([len(part) for part in parts], np.int64)
    return _sealed(np.concatenate([np.empty(0, np.int64), *parts])), _sealed(row_pointers(lengths))


def _gather(flat: Ints, ptr: Ints, at: Ints) -> tuple[Ints, Ints]:
    return _sealed(flat[row_entries(ptr, at)]), _sealed(row_pointers(ptr[at + 1] - ptr[at]))


def _joined(a: Ints, a_ptr: Ints, b: Ints, b_ptr: Ints) -> tuple[Ints, Ints]:
    return _sealed(np.concatenate((a, b))), _sealed(np.concatenate((a_ptr, b_ptr[1:] + a_ptr[-1])))
