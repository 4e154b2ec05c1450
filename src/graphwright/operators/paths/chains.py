"""Evidence chains: walks of the retrieved triples from the query entities, and their merging (ReG, section 4.2)."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Graph
from graphwright.graph.items import Item, ItemKind, Step, Steps, path_item
from graphwright.graph.walks import bundle_of, parallel_steps, walk_text
from graphwright.kernels.csr import Ids, Pointers, readonly
from graphwright.kernels.walks import expand_chains
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State


@dataclass(frozen=True, repr=False)
class Chains(Operator):
    """Form chains of the evidence's triples, outwards from the query entities, breadth first in evidence order.

    ReG, Algorithm 1 (appendix D.4.1). Each triple at a query entity, a node of an anchor, is a chain. A chain is
    extended by each triple that begins at its end, unless the new node is in the chain, or an earlier chain from the
    same query entity was extended to it. The evidence has all chains, and so each prefix of a chain; unscored. With
    `inverse`, triples are also walked from tail to head (`t → [r⁻¹] → h`), which a graph without inverse relations
    needs; without it chains that end at a query entity are included. `length`: maximum triples of a chain (the paper's
    L); None for no limit. `parallel`: the triples of several relations from one node to another are one step of a
    chain, `h → [r; s] → t`, as the entity level does not tell them apart (appendix E); else the first of them is taken.

    >>> from graphwright.operators.state import start
    >>> film = Graph.from_triples([("Alien", "director", "Scott"), ("Alien", "genre", "Horror")])
    >>> state = start("Which genre did Scott film?", film, entities=["Scott"], evidence=Evidence.of_edges([0, 1]))
    >>> Chains()(state).evidence.texts(film)
    ['Scott → [director⁻¹] → Alien', 'Scott → [director⁻¹] → Alien → [genre] → Horror']
    >>> Chains(inverse=False)(state).evidence.texts(film)
    ['Alien → [director] → Scott']
    """

    length: Annotated[int | None, AtLeast(1)] = None
    inverse: bool = True
    parallel: bool = False
    needs = ("evidence", "anchors")
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        graph = state.graph
        edges = np.array(list(dict.fromkeys(state.items.edges.tolist())), np.int64)
        merged = _parallel_groups(graph, edges) if self.parallel else edges[:, None].tolist()
        stepped = np.array([group[0] for group in merged], np.int64)
        nodes, local = np.unique(graph.ends(stepped), return_inverse=True)
        sources = np.flatnonzero(np.isin(nodes, state.anchor_nodes()))
        pointers, at, triples = expand_chains(
            len(nodes), local[::2], local[1::2], sources, length=self.length, inverse=self.inverse
        )
        chains = _chain_evidence(graph, pointers, readonly(nodes[at], np.int64), triples, merged)
        if not self.inverse:  # a chain between two query entities was expanded from both
            first = {key: i for i, key in reversed(list(enumerate(chains.identities())))}
            chains = chains.take(sorted(first.values()))
        return state.with_(evidence=chains)


def _parallel_groups(graph: Graph, edges: Ints) -> list[list[int]]:
    """Return the edges by head and tail in the order given, one edge of each relation in each group, by relation."""
    columns, groups = graph.columns, dict[tuple[int, int], dict[int, int]]()
    for edge in edges.tolist():
        ends = int(columns.heads[edge]), int(columns.tails[edge])
        groups.setdefault(ends, {}).setdefault(int(columns.relation[edge]), edge)
    return [[edge for _, edge in sorted(group.items())] for group in groups.values()]


def _chain_evidence(
    graph: Graph, pointers: Pointers, nodes: Ints, triples: Ids, merged: Sequence[Sequence[int]]
) -> Evidence:
    """Return chains as evidence; `merged`: the edges of each triple. A chain with parallel edges is a tree."""
    node_pointers = readonly(pointers + np.arange(len(pointers)), np.int64)
    begins = np.ones(len(nodes), bool)
    begins[node_pointers[1:] - 1] = False  # every node of a chain but its last begins a step
    counts = np.array([len(merged[triple]) for triple in triples.tolist()], np.int64)
    edges = readonly([edge for triple in triples.tolist() for edge in merged[triple]], np.int64)
    edge_pointers = readonly(np.concatenate(([0], np.cumsum(counts)))[pointers], np.int64)
    is_path = np.diff(edge_pointers) == np.diff(pointers)
    kinds = np.where(is_path, ItemKind.PATH, ItemKind.TREE).astype(np.uint8)
    steps = Steps(edges, graph.columns.heads[edges] == np.repeat(nodes[begins], counts), edge_pointers)
    return Evidence(nodes, node_pointers, edges, edge_pointers, kinds, steps, None, walk_text)


@dataclass(frozen=True, repr=False)
class MergeChains(Operator):
    """Merge chains of a query entity with the same relations, and group those of several with common targets.

    ReG, structure-aware merging (appendix D.4.2). Multi-answer merging: the chains from (or to) one query entity by the
    same relations in the same directions become one item, their union: `Q → [r] → a → [s] → x; y`. Multi-entity
    merging: in evidence order, each of these paths is added to the first group that has no path of its query entity and
    shares a target with it. A group of several paths keeps only the chains to their common targets. Items that are not
    walks do not change, nor do walks that reach a node after different numbers of hops: ambiguous. Unscored.

    >>> from graphwright.operators.state import start
    >>> film = Graph.from_triples([("A", "act", "x"), ("A", "act", "y"), ("A", "wife", "C"), ("B", "act", "y")])
    >>> state = start("Which film is by A and B?", film, entities=["A", "B"], evidence=Evidence.of_edges(range(4)))
    >>> (Chains(length=1) >> MergeChains())(state).evidence.texts(film)
    ['A → [act] → y', 'B → [act] → y', 'A → [wife] → C']
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        query_entities = set(state.anchor_nodes().tolist())
        items: list[Item] = []
        for group in _grouped(_merged(state.graph, state.items, query_entities), query_entities):
            items += group.items(state.graph)
        return state.with_(evidence=Evidence.of_items(items, render=walk_text))


T = TypeVar("T")


@dataclass
class _Path:
    """Walks by the same relations from `source`, or with `inward` to it; an item that is not a walk has source -1."""

    source: int
    inward: bool = False
    walks: list[Item] = field(default_factory=list)

    def targets(self) -> set[int]:
        return {walk.nodes[0 if self.inward else -1] for walk in self.walks}

    def items(self, graph: Graph) -> list[Item]:
        """Return the union of the walks, without repeated nodes and edges; the walks if its text is ambiguous."""
        walks = self.walks[::-1] if self.inward else self.walks
        if len(walks) == 1:
            return walks
        levels = _by_hop(_outwards(w.nodes, self.inward) for w in walks)
        hops = _by_hop(self._steps(graph, walk) for walk in walks)
        steps = tuple(step for hop in hops for parallel in hop for step in parallel)
        nodes, edges = tuple(dict.fromkeys(itertools.chain(*levels))), tuple(edge for edge, _ in steps)
        union = Item(ItemKind.TREE, _outwards(nodes, self.inward), _outwards(edges, self.inward), steps)
        readable = len(nodes) == sum(map(len, levels)) or self._is_readable(graph, union, levels)
        return [union] if readable else walks

    def _steps(self, graph: Graph, walk: Item) -> list[tuple[Step, ...]]:
        """Return the steps of a walk from the source, parallel ones together."""
        path = walk.kind == ItemKind.PATH
        parts = list(((step,) for step in walk.steps) if path else parallel_steps(graph, walk.steps))
        if not self.inward:
            return parts
        return [tuple((edge, not forward) for edge, forward in part) for part in reversed(parts)]

    def _is_readable(self, graph: Graph, union: Item, levels: list[list[int]]) -> bool:
        """Return whether the text of the union has the same levels as the walks."""
        bundle = bundle_of(graph, union)
        return bundle is not None and bundle.inward == self.inward and bundle.levels == levels


def _outwards(parts: tuple[int, ...], inward: bool) -> tuple[int, ...]:
    return parts[::-1] if inward else parts


@dataclass
class _Group:
    """Paths from different query entities, and their common targets."""

    paths: list[_Path]
    targets: set[int]

    def items(self, graph: Graph) -> Iterator[Item]:
        for path in self.paths:
            if len(self.paths) > 1:
                path.walks = [w for w in path.walks if w.nodes[0 if path.inward else -1] in self.targets]
            yield from path.items(graph)


def _merged(graph: Graph, evidence: Evidence, query_entities: set[int]) -> list[_Path]:
    """Unite the walks with the same source and relations; any other item forms a path of its own."""
    ways = graph.columns.relation[evidence.steps.edges].astype(np.int64) * 2 + evidence.steps.forward
    starts = evidence.steps.ptr.tolist()
    paths: dict[Hashable, _Path] = {}
    for i, item in enumerate(evidence.items()):
        walk = path_item(graph, graph.ends(item.edges), item.edges) if item.kind == ItemKind.TRIPLE else item
        sizes = _step_sizes(graph, walk)
        if sizes is None:
            paths[i] = _Path(-1, walks=[walk])
            continue
        inward = walk.nodes[0] not in query_entities and walk.nodes[-1] in query_entities
        source = walk.nodes[-1 if inward else 0]
        key = source, inward, sizes, ways[starts[i] : starts[i + 1]].tobytes()
        paths.setdefault(key, _Path(source, inward)).walks.append(walk)
    return list(paths.values())


def _step_sizes(graph: Graph, item: Item) -> tuple[int, ...] | None:
    """Return the number of parallel edges of each step of a walk, () for a path; None for an item that is no walk."""
    if item.kind == ItemKind.PATH:
        return ()
    bundle = bundle_of(graph, item)
    if bundle is None or len(item.nodes) > len(bundle.levels):
        return None
    return tuple(map(len, bundle.ways))


def _grouped(paths: list[_Path], query_entities: set[int]) -> list[_Group]:
    """Add each path to the first group that lacks its source and shares a target with it."""
    groups: list[_Group] = []
    of_target: dict[int, list[int]] = {}
    for path in paths:
        targets = path.targets() if path.source in query_entities else set()
        near = sorted({at for target in targets for at in of_target.get(target, ())})
        for at in near:
            group = groups[at]
            if group.targets & targets and all(path.source != other.source for other in group.paths):
                group.paths.append(path)
                group.targets &= targets
                break
        else:
            for target in targets:
                of_target.setdefault(target, []).append(len(groups))
            groups.append(_Group([path], targets))
    return groups


def _by_hop(walks: Iterable[Sequence[T]]) -> list[list[T]]:
    return [list(dict.fromkeys(hop)) for hop in zip(*walks, strict=True)]
