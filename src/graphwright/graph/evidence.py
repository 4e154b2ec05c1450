"""Evidence: scored items of a graph, best first. An item is a node, a triple, a path or a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.errors import OptionError
from graphwright.graph.items import Ints as Ints
from graphwright.graph.items import Item, ItemKind, Steps, path_item, tree_item
from graphwright.kernels.csr import row_entries, row_pointers
from graphwright.kernels.ranking import rank_items

if TYPE_CHECKING:
    from graphwright.graph.graph import Graph

Scores = NDArray[np.float64]
Piece = tuple[Ints, Ints]  # the nodes and the edges of an item, in walk order
Pieces = Iterable[tuple[ArrayLike, ArrayLike]]
Render = Callable[["Graph", Item], str]  # writes the text of an item; module level, so that evidence pickles


def item_text(graph: Graph, item: Item) -> str:
    """Return the texts of an item's edges, else of its node (a passage with its title), else the names of its nodes."""
    if item.edges:
        return "; ".join(map(graph.edge_text, item.edges))
    if len(item.nodes) == 1:
        return graph.reading(item.nodes[0])
    return ", ".join(graph.names[node] for node in item.nodes)


@dataclass(eq=False, repr=False, slots=True)
class Evidence:
    """Scored items, best first; each item is some nodes and some edges, in walk order, a kind, and steps (see `Item`).

    Stored as ragged arrays of snapshot ids, `kinds: uint8[n]` and `steps`. With scores the items are sorted: higher
    score first, then smaller ids. Without scores the order given is the ranking. The constructor takes arrays that are
    in order; `of_nodes`, `of_edges` and `of_items` sort. `render` writes the text of an item (see `item_text`).

    >>> evidence = Evidence.of_nodes([3, 1, 2], [0.1, 0.9, 0.5])
    >>> evidence, evidence.scores.tolist(), evidence.piece(0)[0].tolist()
    (Evidence(3 nodes, best 0.9), [0.9, 0.5, 0.1], [1])
    """

    nodes: Ints
    node_ptr: Ints
    edges: Ints
    edge_ptr: Ints
    kinds: NDArray[np.uint8]
    steps: Steps
    scores: Scores | None
    render: Render = item_text

    @classmethod
    def of_nodes(cls, ids: ArrayLike, scores: ArrayLike | None = None, steps: Steps | None = None) -> Evidence:
        """Make one item of each node; `steps`: the walk that led to each."""
        nodes, values, order = in_order(ids, scores)
        if steps is not None and order is not None:
            steps = steps.take(order)
        zeros, kinds = _zeros(len(nodes)), np.zeros(len(nodes), np.uint8)
        steps = Steps.none(len(nodes)) if steps is None else steps
        return cls(nodes, _ones(len(nodes)), _NO_IDS, zeros, kinds, steps, values)

    @classmethod
    def of_edges(cls, ids: ArrayLike, scores: ArrayLike | None = None) -> Evidence:
        """Make one item, a triple, of each edge."""
        edges, values, _ = in_order(ids, scores)
        ptr, kinds = _ones(len(edges)), np.full(len(edges), ItemKind.TRIPLE, np.uint8)
        steps = Steps(edges, np.ones(len(edges), bool), ptr)
        return cls(_NO_IDS, _zeros(len(edges)), edges, ptr, kinds, steps, values)

    @classmethod
    def of_items(cls, items: Iterable[Item], scores: ArrayLike | None = None, render: Render = item_text) -> Evidence:
        """Make evidence of items of any kind."""
        values = list(items)
        parts = *_ragged([item.nodes for item in values]), *_ragged([item.edges for item in values])
        kinds = np.fromiter((item.kind for item in values), np.uint8, len(values))
        evidence = cls(*parts, kinds, Steps.of(item.steps for item in values), None, render)
        return evidence if scores is None else evidence.take(np.arange(len(values)), scores)

    @classmethod
    def of_paths(
        cls, graph: Graph, pieces: Pieces, scores: ArrayLike | None = None, render: Render = item_text
    ) -> Evidence:
        """Make a path of each walk, (nodes, edges) from node to node."""
        return cls.of_items((path_item(graph, *piece) for piece in pieces), scores, render)

    @classmethod
    def of_trees(
        cls, graph: Graph, pieces: Pieces, scores: ArrayLike | None = None, render: Render = item_text
    ) -> Evidence:
        """Make a tree of each part of the graph, (nodes, edges); see `tree_item`."""
        return cls.of_items((tree_item(graph, *piece) for piece in pieces), scores, render)

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

    def item(self, i: int) -> Item:
        """Return item i, 0 the best."""
        return next(iter(self.take([i]).items()))

    def items(self) -> Iterator[Item]:
        """Yield the items, best first."""
        columns = self.kinds.tolist(), *zip(*self.identities(), strict=True), self.steps.rows()
        return (Item(ItemKind(kind), *rest) for kind, *rest in zip(*columns, strict=True)) if len(self) else iter(())

    def steps_to(self, nodes: Ints) -> Steps:
        """Return the steps to each node: those of its first item; none for a node that is no item."""
        if not len(self.steps.edges):
            return Steps.none(len(nodes))
        first = {item.nodes[0]: item.steps for item in reversed(list(self.items())) if item.kind == ItemKind.NODE}
        return Steps.of(first.get(node, ()) for node in nodes.tolist())

    @property
    def only_nodes(self) -> bool:
        """Whether every item is a node, so that `nodes` lists the items."""
        return not self.kinds.any()

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
        """Return the items at `positions`: ranked by new scores, else in the order given with their own."""
        at = np.asarray(positions, np.int64)
        if scores is not None:
            values = _scored(scores, len(at))
            taken = self.unscored().take(at)
            order = rank_items(values, taken.nodes, taken.node_ptr, taken.edges, taken.edge_ptr)
            return taken.take(order).with_scores(_sealed(values[order]))
        if self.only_nodes:
            parts = _sealed(self.nodes[at]), _ones(len(at)), _NO_IDS, _zeros(len(at))
        else:
            parts = *_gather(self.nodes, self.node_ptr, at), *_gather(self.edges, self.edge_ptr, at)
        own = None if self.scores is None else _sealed(self.scores[at])
        return Evidence(*parts, _sealed(self.kinds[at]), self.steps.take(at), own, self.render)

    @property
    def ranked_scores(self) -> Scores:
        """The scores; 1/rank for evidence without scores."""
        return 1.0 / np.arange(1, len(self) + 1) if self.scores is None else self.scores

    @property
    def scaled_scores(self) -> Scores:
        """The ranked scores scaled to 1 for the best item and 0 for the last; 1 for all if they are equal."""
        scores = self.ranked_scores
        span = np.ptp(scores) if len(scores) else 0.0
        return (scores - scores[-1]) / span if span > 0 else np.ones(len(scores))

    def unscored(self) -> Evidence:
        """Return the same items in the same order, without scores."""
        return self.with_scores(None)

    def without_steps(self) -> Evidence:
        """Return the same items without steps, for a graph with other edges."""
        if not len(self.steps.edges):
            return self
        return replace(self, steps=Steps.none(len(self)))

    def with_scores(self, scores: Scores | None) -> Evidence:
        """Return the same items in the same order, with scores that must descend."""
        return replace(self, scores=scores)

    def union(self, other: Evidence, cap: int | None = None) -> Evidence:
        """Return these items in order, then those of `other` that are not among them; unscored.

        `cap`: the total from which on no item of `other` is added.

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
        more = other.take(new)
        return Evidence(
            *_joined(self.nodes, self.node_ptr, more.nodes, more.node_ptr),
            *_joined(self.edges, self.edge_ptr, more.edges, more.edge_ptr),
            np.concatenate((self.kinds, more.kinds)),
            self.steps.joined(more.steps),
            None,
            self.render if self.render is other.render else item_text,
        )

    def texts(self, graph: Graph) -> list[str]:
        """Return the text of each item, as a reader or a model should see it."""
        return [self.render(graph, item) for item in self.items()]

    def __repr__(self) -> str:
        only_edges = bool((self.kinds == ItemKind.TRIPLE).all())
        kind = "nodes" if self.only_nodes else "triples" if only_edges else "items"
        best = "" if self.scores is None or not len(self) else f", best {self.scores[0]:.4g}"
        return f"Evidence({len(self)} {kind}{best})"


def _frozen(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return the values as a flat read-only array of that type; an array is always copied."""
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


def _tuples(flat: Ints, ptr: Ints) -> Iterator[tuple[int, ...]]:
    if not len(flat):
        return repeat((), len(ptr) - 1)
    values, ends = flat.tolist(), ptr.tolist()
    return (tuple(values[begin:end]) for begin, end in pairwise(ends))


def in_order(ids: ArrayLike, scores: ArrayLike | None) -> tuple[Ints, Any, Ints | None]:
    """Return ids and scores, higher score first, then smaller id, and the order; unchanged ids without scores."""
    values = _ids(ids)
    if scores is None:
        return values, None, None
    numbers = _scored(scores, len(values))
    order = np.lexsort((values, -numbers))
    return _sealed(values[order]), _sealed(numbers[order]), order


def _ones(n: int) -> Ints:
    """Return the pointers of n rows with one entry each."""
    return _sealed(np.arange(n + 1, dtype=np.int64))


def _zeros(n: int) -> Ints:
    """Return the pointers of n empty rows."""
    return _sealed(np.zeros(n + 1, np.int64))


_NO_IDS = _sealed(np.empty(0, np.int64))


def _ragged(parts: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    lengths = np.fromiter(map(len, parts), np.int64, len(parts))
    return _ids(list(chain.from_iterable(parts))), _sealed(row_pointers(lengths))


def _gather(flat: Ints, ptr: Ints, at: Ints) -> tuple[Ints, Ints]:
    return _sealed(flat[row_entries(ptr, at)]), _sealed(row_pointers(ptr[at + 1] - ptr[at]))


def _joined(a: Ints, a_ptr: Ints, b: Ints, b_ptr: Ints) -> tuple[Ints, Ints]:
    return _sealed(np.concatenate((a, b))), _sealed(np.concatenate((a_ptr, b_ptr[1:] + a_ptr[-1])))
