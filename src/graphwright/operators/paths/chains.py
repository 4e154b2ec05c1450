"""Evidence chains: walks of the retrieved triples from the query entities, and their merging (ReG, section 4.2)."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Graph
from graphwright.graph.walks import bundle_of, walk_text
from graphwright.kernels.csr import readonly
from graphwright.kernels.walks import expand_chains
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State


@dataclass(frozen=True, repr=False)
class Chains(Operator):
    """Form chains of the evidence's triples, outwards from the query entities, breadth first in evidence order.

    ReG, Algorithm 1 (appendix D.4.1). A query entity is a node of an anchor. A triple at one is a chain. A chain is
    extended by each triple that begins where it ends, unless the chain contains the new node, or a chain from the same
    query entity was extended to that node before. A chain may pass another query entity, and the evidence has every
    chain, so each prefix of a chain is one too. With `inverse` triples are also walked tail to head, written
    `t → [r⁻¹] → h`, which a graph without inverse relations needs; without it, head to tail only, chains that end at a
    query entity are included. `length`: the most triples in a chain (the paper's L); None for no limit. Unscored.

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
    needs = ("evidence", "anchors")
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Expand the chains."""
        graph, evidence = state.graph, state.evidence
        edges = np.array([] if evidence is None else list(dict.fromkeys(evidence.edges.tolist())), np.int64)
        nodes, local = np.unique(graph.ends(edges), return_inverse=True)
        sources = np.flatnonzero(np.isin(nodes, _query_entities(state)))
        pointers, at, triples = expand_chains(
            len(nodes), local[::2], local[1::2], sources, length=self.length, inverse=self.inverse
        )
        node_pointers = readonly(pointers + np.arange(len(pointers)), np.int64)
        chain_nodes, chain_edges = readonly(nodes[at], np.int64), readonly(edges[triples], np.int64)
        chains = Evidence(chain_nodes, node_pointers, chain_edges, pointers, None, walk_text)
        if not self.inverse:  # a chain between two query entities was expanded from both
            first = {key: i for i, key in reversed(list(enumerate(chains.identities())))}
            chains = chains.take(sorted(first.values()))
        return state.with_(evidence=chains)


@dataclass(frozen=True, repr=False)
class MergeChains(Operator):
    """Merge chains of one query entity with the same relations, and group those of several with common targets.

    ReG, structure-aware merging (appendix D.4.2). Multi-answer merging: the chains from (or to) one query entity by the
    same relations in the same directions become one item, their union: `Q → [r] → a → [s] → x; y`. Multi-entity
    merging: in evidence order, each of these paths joins the first earlier group that has no path of its query entity
    and shares a target with it. The paths of a group follow one another; in a group of several paths only the chains to
    their common targets stay. Items that are not walks stay unchanged, as do walks that reach a node after
    different hops, since the text of their union would be ambiguous. Unscored.

    >>> from graphwright.operators.state import start
    >>> film = Graph.from_triples([("A", "act", "x"), ("A", "act", "y"), ("A", "wife", "C"), ("B", "act", "y")])
    >>> state = start("Which film is by A and B?", film, entities=["A", "B"], evidence=Evidence.of_edges(range(4)))
    >>> (Chains(length=1) >> MergeChains())(state).evidence.texts(film)
    ['A → [act] → y', 'B → [act] → y', 'A → [wife] → C']
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Merge the chains."""
        if state.evidence is None:
            return state
        query_entities = set(_query_entities(state).tolist())
        pieces: list[Walk] = []
        for group in _grouped(_merged(state.graph, state.evidence, query_entities), query_entities):
            pieces += group.pieces(state.graph)
        return state.with_(evidence=Evidence.of_pieces(pieces, render=walk_text))


Walk = tuple[Sequence[int], Sequence[int]]
"""The nodes and the edges of a walk or an item."""


@dataclass
class _Path:
    """Walks from one node by the same relations, each in the order from there; `inward`: their text ends at it."""

    source: int
    inward: bool = False
    walks: list[Walk] = field(default_factory=list)

    def pieces(self, graph: Graph) -> list[Walk]:
        """Return the union, of distinct nodes and each hop's distinct edges; the walks if its text is ambiguous."""
        walks = self.walks[::-1] if self.inward else self.walks
        if len(walks) > 1:
            levels, hops = (_by_hop(parts) for parts in zip(*walks, strict=True))
            nodes, edges = list(dict.fromkeys(itertools.chain(*levels))), list(itertools.chain(*hops))
            if len(nodes) == sum(map(len, levels)) or self._is_readable(graph, nodes, edges, levels):
                walks = [(nodes, edges)]
        return [(nodes[::-1], edges[::-1]) if self.inward else (nodes, edges) for nodes, edges in walks]

    def _is_readable(self, graph: Graph, nodes: list[int], edges: list[int], levels: list[list[int]]) -> bool:
        """Return whether the union is parsed into the same levels, where walks reach a node after different hops."""
        bundle = bundle_of(graph, *(np.array(part[:: -1 if self.inward else 1]) for part in (nodes, edges)))
        return bundle is not None and bundle.inward == self.inward and bundle.levels() == levels


@dataclass
class _Group:
    """Paths from different query entities, and their common targets."""

    paths: list[_Path]
    targets: set[int]

    def pieces(self, graph: Graph) -> Iterator[Walk]:
        for path in self.paths:
            if len(self.paths) > 1:
                path.walks = [walk for walk in path.walks if walk[0][-1] in self.targets]
            yield from path.pieces(graph)


def _merged(graph: Graph, evidence: Evidence, query_entities: set[int]) -> list[_Path]:
    """Unite the walks with the same source and relations; an item that is not a walk stands alone."""
    evidence = _with_ends(graph, evidence)
    walks, ways = _ways(graph, evidence)
    starts = evidence.edge_ptr.tolist()
    paths: dict[Hashable, _Path] = {}
    for i, (nodes, edges) in enumerate(evidence.identities()):  # plain numbers: there are many short items
        if not walks[i]:
            paths[i] = _Path(-1, walks=[(nodes, edges)])
            continue
        inward = nodes[0] not in query_entities and nodes[-1] in query_entities
        source, step = (nodes[-1], -1) if inward else (nodes[0], 1)
        key = source, inward, ways[starts[i] : starts[i + 1]].tobytes()
        paths.setdefault(key, _Path(source, inward)).walks.append((nodes[::step], edges[::step]))
    return list(paths.values())


def _with_ends(graph: Graph, evidence: Evidence) -> Evidence:
    """Return the evidence with the two ends of each triple as its nodes."""
    bare = (np.diff(evidence.node_ptr) == 0) & (np.diff(evidence.edge_ptr) == 1)
    if not bare.any():
        return evidence
    return Evidence.of_pieces(
        [(graph.ends(edges) if bare[i] else nodes, edges) for i, (nodes, edges) in enumerate(evidence)]
    )


def _ways(graph: Graph, evidence: Evidence) -> tuple[NDArray[np.bool_], Ints]:
    """Return which items are walks from node to node, and the directed relation of every edge as a number."""
    lengths = np.diff(evidence.edge_ptr)
    item = np.repeat(np.arange(len(evidence)), lengths)
    before = evidence.node_ptr[item] + np.arange(len(evidence.edges)) - evidence.edge_ptr[item]
    nodes = np.append(evidence.nodes, -1)  # for items of fewer nodes than edges at the end
    a, b = (nodes[np.minimum(at, len(evidence.nodes))] for at in (before, before + 1))
    heads, tails = graph.columns.heads[evidence.edges], graph.columns.tails[evidence.edges]
    forward = (heads == a) & (tails == b)
    walks = (lengths > 0) & (np.diff(evidence.node_ptr) == lengths + 1)
    walks[item[~forward & ~((tails == a) & (heads == b))]] = False
    return walks, graph.columns.relation[evidence.edges].astype(np.int64) * 2 + forward


def _grouped(paths: list[_Path], query_entities: set[int]) -> list[_Group]:
    """Let each path join the first earlier group that lacks its source and shares a target with it."""
    groups: list[_Group] = []
    of_target: dict[int, list[int]] = {}
    for path in paths:
        targets = {nodes[-1] for nodes, _ in path.walks} if path.source in query_entities else set()
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


def _by_hop(walks: Sequence[Sequence[int]]) -> list[list[int]]:
    return [list(dict.fromkeys(hop)) for hop in zip(*walks, strict=True)]


def _query_entities(state: State) -> Ints:
    """Return the query entities, ascending."""
    return np.unique(
        np.concatenate([np.empty(0, np.int64), *(anchor.seeds(state.graph) for anchor in state.anchors or ())])
    )
