"""Evidence chains: retrieved triples, reorganised into walks from what the question names (ReG, section 4.2)."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Graph
from graphwright.graph.walks import bundle_of, walk_text
from graphwright.kernels.chains import expand_chains
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["Chains", "MergeChains"]


@dataclass(frozen=True, repr=False)
class Chains(Operator):
    """Chains of the evidence's triples, outwards from the query entities, breadth first in evidence order.

    ReG, Algorithm 1 (appendix D.4.1). A query entity is a node of an anchor. A triple at one is a chain; a chain is
    extended by each triple that begins where it ends, unless it holds the node there, or a chain from the same query
    entity was extended to that node before. It may pass another query entity, and every chain is given, so that each
    prefix of one is one. With `inverse` triples are also walked tail to head, written `t → [r⁻¹] → h`, which a
    graph without inverse relations needs; without it, head to tail only, the chains that end at a query entity are
    given too. `length`: triples in a chain at most (the paper's L); None for any number. Unscored.

    >>> from graphwright.operators.state import start
    >>> film = Graph.from_triples([("Alien", "director", "Scott"), ("Alien", "genre", "Horror")])
    >>> state = start("Which genre did Scott film?", film, entities=["Scott"], evidence=Evidence.of_edges([0, 1]))
    >>> Chains()(state).evidence.texts(film)
    ['Scott → [director⁻¹] → Alien', 'Scott → [director⁻¹] → Alien → [genre] → Horror']
    >>> Chains(inverse=False)(state).evidence.texts(film)
    ['Alien → [director] → Scott']
    """

    length: int | None = None
    inverse: bool = True
    needs = ("evidence", "anchors")
    gives = ("evidence",)

    def __post_init__(self) -> None:
        whole = hasattr(self.length, "__index__") and not isinstance(self.length, bool)
        if self.length is not None and not (whole and self.length >= 1):
            raise OptionError(
                f"Chains(length={self.length!r}): the triples in a chain, 1 or more, or None for any number."
            )

    def apply(self, state: State, run: Run) -> State:
        """Expand the chains."""
        graph, found = state.graph, state.evidence
        edges = np.empty(0, np.int64) if found is None else _distinct(found.edges)
        nodes, local = np.unique(graph.ends(edges), return_inverse=True)
        sources = np.flatnonzero(np.isin(nodes, _asked(state)))
        pointers, at, triples = expand_chains(
            len(nodes), local[::2], local[1::2], sources, length=self.length, inverse=self.inverse
        )
        node_pointers = _frozen(pointers + np.arange(len(pointers)))
        chains = Evidence(_frozen(nodes[at]), node_pointers, _frozen(edges[triples]), pointers, None, walk_text)
        if not self.inverse:  # a chain from one query entity to another was found from both
            first = {key: i for i, key in reversed(list(enumerate(chains.identities())))}
            chains = chains.take(sorted(first.values()))
        return state.with_(evidence=chains)


@dataclass(frozen=True, repr=False)
class MergeChains(Operator):
    """Merge chains of one query entity with the same relations, and put those of several with shared ends together.

    ReG, structure-aware merging (appendix D.4.2). Multi-answer merging: the chains from (or to) one query entity by the
    same relations in the same directions become one piece, the union of them: `Q → [r] → a → [s] → x; y`. Multi-entity
    merging: in the order given, each of these joins the first earlier group that has no path of its query entity yet
    and shares a target with it; the paths of a group stand one after the other, and of a path in a group with others
    only the chains to the targets that all of them share are left. Pieces that are no walk stay as they are, and so do
    walks that are at a node after different hops, where their union would read as others. Unscored.

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
        asked = set(_asked(state).tolist())
        pieces: list[Listed] = []
        for group in _grouped(_merged(state.graph, state.evidence, asked), asked):
            pieces += group.pieces(state.graph)
        return state.with_(evidence=Evidence.of_pieces(pieces, render=walk_text))


Listed = tuple[list[int], list[int]]
"""The nodes and the edges of a walk or a piece."""


@dataclass
class _Path:
    """Walks from one node by the same relations, each as it is walked from there; `inward`: to be read to it."""

    source: int
    inward: bool = False
    walks: list[Listed] = field(default_factory=list)

    def targets(self) -> set[int]:
        return {nodes[-1] for nodes, _ in self.walks}

    def pieces(self, graph: Graph) -> list[Listed]:
        """Return the union: distinct nodes, and each hop's distinct edges; the walks, where it would read otherwise."""
        walks = self.walks[::-1] if self.inward else self.walks
        if len(walks) > 1:
            levels, hops = (_by_hop(parts) for parts in zip(*walks, strict=True))
            nodes, edges = list(dict.fromkeys(itertools.chain(*levels))), list(itertools.chain(*hops))
            if len(nodes) == sum(map(len, levels)) or self._reads(graph, nodes, edges, levels):
                walks = [(nodes, edges)]
        return [(nodes[::-1], edges[::-1]) if self.inward else (nodes, edges) for nodes, edges in walks]

    def _reads(self, graph: Graph, nodes: list[int], edges: list[int], levels: list[list[int]]) -> bool:
        """Say whether the union of walks that are at a node after different hops is read as it was made."""
        bundle = bundle_of(graph, *(np.array(part[:: -1 if self.inward else 1]) for part in (nodes, edges)))
        return bundle is not None and bundle.inward == self.inward and bundle.levels() == levels


@dataclass
class _Group:
    """Paths from different query entities, and the targets that all of them have."""

    paths: list[_Path]
    targets: set[int]

    def pieces(self, graph: Graph) -> Iterator[Listed]:
        for path in self.paths:
            if len(self.paths) > 1:
                path.walks = [walk for walk in path.walks if walk[0][-1] in self.targets]
            yield from path.pieces(graph)


def _merged(graph: Graph, found: Evidence, asked: set[int]) -> list[_Path]:
    """Unite the walks that have their source and their relations in common; what is no walk stands alone."""
    found = _with_ends(graph, found)
    walks, ways = _ways(graph, found)
    # As plain lists: there are many short pieces.
    (nodes, first), (edges, start) = (
        (flat.tolist(), pointers.tolist())
        for flat, pointers in ((found.nodes, found.node_ptr), (found.edges, found.edge_ptr))
    )
    paths: dict[Hashable, _Path] = {}
    for i, is_walk in enumerate(walks.tolist()):
        walk = nodes[first[i] : first[i + 1]], edges[start[i] : start[i + 1]]
        if not is_walk:
            paths[i] = _Path(-1, walks=[walk])
            continue
        inward = walk[0][0] not in asked and walk[0][-1] in asked
        source = walk[0][-1 if inward else 0]
        key = source, inward, ways[start[i] : start[i + 1]].tobytes()
        step = -1 if inward else 1
        paths.setdefault(key, _Path(source, inward)).walks.append((walk[0][::step], walk[1][::step]))
    return list(paths.values())


def _with_ends(graph: Graph, found: Evidence) -> Evidence:
    """Return the evidence with the two ends of each triple as its nodes."""
    bare = (np.diff(found.node_ptr) == 0) & (np.diff(found.edge_ptr) == 1)
    if not bare.any():
        return found
    return Evidence.of_pieces(
        [(graph.ends(edges) if bare[i] else nodes, edges) for i, (nodes, edges) in enumerate(found)]
    )


def _ways(graph: Graph, found: Evidence) -> tuple[NDArray[np.bool_], Ints]:
    """Return which pieces are walks from node to node, and of every edge its relation and direction as a number."""
    lengths = np.diff(found.edge_ptr)
    piece = np.repeat(np.arange(len(found)), lengths)
    before = found.node_ptr[piece] + np.arange(len(found.edges)) - found.edge_ptr[piece]
    nodes = np.append(found.nodes, -1)  # for pieces of fewer nodes than edges at the end
    a, b = (nodes[np.minimum(at, len(found.nodes))] for at in (before, before + 1))
    heads, tails = graph.columns.heads[found.edges], graph.columns.tails[found.edges]
    forward = (heads == a) & (tails == b)
    walks = (lengths > 0) & (np.diff(found.node_ptr) == lengths + 1)
    walks[piece[~forward & ~((tails == a) & (heads == b))]] = False
    return walks, graph.columns.relation[found.edges].astype(np.int64) * 2 + forward


def _grouped(paths: list[_Path], asked: set[int]) -> list[_Group]:
    """Let each path join the first earlier group that lacks its source and shares a target with it."""
    groups: list[_Group] = []
    of_target: dict[int, list[int]] = {}
    for path in paths:
        targets = path.targets() if path.source in asked else set()
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


def _by_hop(walks: Sequence[list[int]]) -> list[list[int]]:
    return [list(dict.fromkeys(hop)) for hop in zip(*walks, strict=True)]


def _asked(state: State) -> Ints:
    """Return the query entities, ascending."""
    return np.unique(np.concatenate([_NONE, *(anchor.seeds(state.graph) for anchor in state.anchors or ())]))


def _frozen(ids: Ints) -> Ints:
    ids.flags.writeable = False
    return ids


def _distinct(ids: Ints) -> Ints:
    return ids[np.sort(np.unique(ids, return_index=True)[1])]


_NONE = np.empty(0, np.int64)
