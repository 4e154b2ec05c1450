"""Items of evidence as values: nodes, edges, kind, and the steps of the walk that led to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.csr import row_entries, row_pointers
from graphwright.kernels.paths import ADJACENT, joining_edges, meeting_nodes

if TYPE_CHECKING:
    from graphwright.graph.graph import Graph

Ints = NDArray[np.int64]
Step = tuple[int, bool]  # an edge, and whether it is walked from its head to its tail


class ItemKind(IntEnum):
    """The kind of an item of evidence."""

    NODE = 0
    TRIPLE = 1
    PATH = 2
    TREE = 3


class Item(NamedTuple):
    """One item: its nodes and edges in snapshot ids, its kind, and its steps.

    - A node has one node and no edges. Its steps are the walk that led to it, if the operator knows one.
    - A triple has one edge and no nodes; readers take its ends from the graph. Its step is that edge, forward.
    - A path has one node more than edges. Its steps are its edges, each from one node to the next.
    - A tree is anything else: a connected part of the graph, several parts, or a set of nodes. Each step starts at a
      node that an earlier step has reached, the first at the root; a step from any other node begins another part.
    """

    kind: ItemKind
    nodes: tuple[int, ...]
    edges: tuple[int, ...]
    steps: tuple[Step, ...] = ()

    @classmethod
    def node(cls, node: int, steps: tuple[Step, ...] = ()) -> Item:
        """Return a node as an item."""
        return cls(ItemKind.NODE, (node,), (), steps)

    @classmethod
    def triple(cls, edge: int) -> Item:
        """Return an edge as an item."""
        return cls(ItemKind.TRIPLE, (), (edge,), ((edge, True),))


class Steps(NamedTuple):
    """The steps of several items: those of item i are the entries `ptr[i]` to `ptr[i + 1]`."""

    edges: Ints
    forward: NDArray[np.bool_]
    ptr: Ints

    @classmethod
    def none(cls, count: int) -> Steps:
        """Return no steps for each of `count` items."""
        return cls(np.empty(0, np.int64), np.empty(0, bool), np.zeros(count + 1, np.int64))

    @classmethod
    def of(cls, walks: Iterable[Sequence[Step]]) -> Steps:
        """Return these steps, a sequence for each item."""
        lists = list(walks)
        flat = np.array(list(chain.from_iterable(lists)), np.int64).reshape(-1, 2)
        ptr = row_pointers(np.fromiter(map(len, lists), np.int64, len(lists)))
        return cls(flat[:, 0].copy(), flat[:, 1] > 0, ptr)

    def take(self, at: Ints) -> Steps:
        """Return the steps of the items at some positions."""
        if not len(self.edges):
            return Steps.none(len(at))
        entries = row_entries(self.ptr, at)
        return Steps(self.edges[entries], self.forward[entries], row_pointers(self.ptr[at + 1] - self.ptr[at]))

    def joined(self, other: Steps) -> Steps:
        """Return the steps of these items, then those of the others."""
        return Steps(
            np.concatenate((self.edges, other.edges)),
            np.concatenate((self.forward, other.forward)),
            np.concatenate((self.ptr, other.ptr[1:] + self.ptr[-1])),
        )

    def extended(self, edges: Ints, forward: NDArray[np.bool_]) -> Steps:
        """Return the steps of each item, followed by one more edge."""
        ptr = self.ptr + np.arange(len(self.ptr))
        before = np.ones(ptr[-1], bool)
        before[ptr[1:] - 1] = False
        every_edge, every_direction = np.empty(len(before), np.int64), np.empty(len(before), bool)
        every_edge[before], every_edge[~before] = self.edges, edges
        every_direction[before], every_direction[~before] = self.forward, forward
        return Steps(every_edge, every_direction, ptr)

    def rows(self) -> Iterator[tuple[Step, ...]]:
        """Yield the steps of each item."""
        if not len(self.edges):
            return iter(((),) * (len(self.ptr) - 1))
        flat = list(zip(self.edges.tolist(), self.forward.tolist(), strict=True))
        return (tuple(flat[begin:end]) for begin, end in pairwise(self.ptr.tolist()))


def path_item(graph: Graph, nodes: ArrayLike, edges: ArrayLike) -> Item:
    """Return a walk as an item: a path, or a node if there are no edges."""
    walked, by = (np.asarray(ids, np.int64) for ids in (nodes, edges))
    if not len(by):
        return Item.node(int(walked[0]))
    forward = graph.columns.heads[by] == walked[:-1]
    steps = tuple(zip(by.tolist(), forward.tolist(), strict=True))
    return Item(ItemKind.PATH, tuple(walked.tolist()), tuple(by.tolist()), steps)


def tree_item(graph: Graph, nodes: ArrayLike, edges: ArrayLike) -> Item:
    """Return nodes and edges as an item whose steps are breadth first, from the first node on.

    A single node gives a node, a single edge a triple, steps that walk over the nodes in their order a path.

    >>> from graphwright import Graph
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("d", "r", "b"), ("e", "r", "f")])
    >>> tree_item(graph, [0, 1, 2, 3], [2, 1, 0, 3]).steps
    ((0, True), (2, False), (1, True), (3, True))
    >>> tree_item(graph, [0, 1, 2], [0, 1]).kind
    <ItemKind.PATH: 2>
    """
    listed, by = (tuple(np.asarray(ids, np.int64).tolist()) for ids in (nodes, edges))
    if len(listed) + len(by) == 1:
        return Item.node(listed[0]) if listed else Item.triple(by[0])
    steps = tuple(_breadth_first(graph, listed, by))
    in_order = bool(steps) and tuple(edge for edge, _ in steps) == by
    is_path = in_order and list(ends_of(graph, steps)) == list(pairwise(listed))
    return Item(ItemKind.PATH if is_path else ItemKind.TREE, listed, by, steps)


def ends_of(graph: Graph, steps: Sequence[Step]) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each step."""
    ends = graph.ends([edge for edge, _ in steps]).reshape(-1, 2).tolist()
    return ((a, b) if forward else (b, a) for (a, b), (_, forward) in zip(ends, steps, strict=True))


def _breadth_first(graph: Graph, nodes: Sequence[int], edges: Sequence[int]) -> Iterator[Step]:
    """Yield each edge once, part by part, each part breadth first from its first node."""
    ends = dict(zip(edges, graph.ends(list(edges)).reshape(-1, 2).tolist(), strict=True))
    at: dict[int, list[int]] = {}
    for edge, (head, tail) in ends.items():
        at.setdefault(head, []).append(edge)
        at.setdefault(tail, []).append(edge)
    reached: set[int] = set()
    for root in dict.fromkeys((*nodes, *at)):
        if root in reached or root not in at:
            continue
        reached.add(root)
        queue = [root]
        for node in queue:
            for edge in at[node]:
                if edge in ends:
                    head, tail = ends.pop(edge)
                    yield edge, head == node
                    far = tail if head == node else head
                    if far not in reached:
                        reached.add(far)
                        queue.append(far)


def steps_onward(graph: Graph, steps: Steps, nodes: Ints, neighbours: Ints) -> Steps:
    """Return the steps to each node, followed by the smallest edge of the snapshot to its neighbour."""
    return steps.extended(*_joining(graph, nodes, neighbours))


def _joining(graph: Graph, nodes: Ints, neighbours: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the smallest edge of the snapshot from each node to its neighbour, and whether it begins at the node."""
    c = graph.columns
    edges = joining_edges(nodes, neighbours, c.out, c.into, c.heads, c.tails)
    return edges, c.heads[edges] == nodes


def steps_between(graph: Graph, starts: Ints, ends: Ints) -> Steps:
    """Return the steps between each pair: one, or two over the common neighbour of lowest degree; else none."""
    middle = meeting_nodes(starts, ends, *graph.columns.adjacency)
    sizes = np.select((middle == ADJACENT, middle >= 0), (1, 2), 0)
    ptr = row_pointers(sizes)
    first, second = np.empty((2, ptr[-1]), np.int64)
    begin, two = ptr[:-1][sizes > 0], sizes == 2
    over = middle[two].astype(np.int64)
    first[begin], second[ptr[1:][sizes > 0] - 1] = starts[sizes > 0], ends[sizes > 0]
    second[ptr[:-1][two]], first[ptr[1:][two] - 1] = over, over
    return Steps(*_joining(graph, first, second), ptr)


def walk_of(graph: Graph, steps: Sequence[Step], last: int) -> tuple[Step, ...]:
    """Return the walk to step `last` from the root; of several steps there, by the first that it does not return by."""
    relations = graph.columns.relation
    ends = list(ends_of(graph, steps[: last + 1]))
    root, walk = ends[0][0], [last]
    while last >= 0 and (start := ends[last][0]) != root:
        reaching = [at for at in range(last) if ends[at][1] == start]
        onward = [
            at
            for at in reaching
            if ends[at][0] != ends[last][1] or relations[steps[at][0]] != relations[steps[last][0]]
        ]
        last = next(iter(onward or reaching), -1)
        walk.append(last)
    return tuple(steps[at] for at in reversed(walk) if at >= 0)


def walk_to(graph: Graph, item: Item, node: int) -> tuple[Step, ...]:
    """Return the steps to a node: of a path up to its last visit, of a tree the first walk, of others all; else ()."""
    if item.kind in (ItemKind.NODE, ItemKind.TRIPLE):
        return item.steps
    reaching = [at for at, (_, end) in enumerate(ends_of(graph, item.steps)) if end == node]
    return _walk(graph, item, reaching[-1 if item.kind == ItemKind.PATH else 0] if reaching else -1)


def walk_to_passage(graph: Graph, item: Item, passage: int) -> tuple[Step, ...]:
    """Return the walk of an item to a passage that it brought.

    It ends at the passage if that is a node of the item, else with the last step that the passage states, else with
    the last that reaches a node that it names; () for none. A node or triple gives all its steps.
    """
    if item.kind in (ItemKind.NODE, ItemKind.TRIPLE) or passage in item.nodes:
        return walk_to(graph, item, passage)
    stating = [at for at, (edge, _) in enumerate(item.steps) if passage in graph.chunks_of((), [edge])]
    if not stating:
        ends = enumerate(ends_of(graph, item.steps))
        stating = [at for at, (_, end) in ends if passage in graph.chunks_of([end])]
    return _walk(graph, item, stating[-1] if stating else -1)


def _walk(graph: Graph, item: Item, last: int) -> tuple[Step, ...]:
    if last < 0:
        return ()
    return item.steps[: last + 1] if item.kind == ItemKind.PATH else walk_of(graph, item.steps, last)
