"""Evidence chains: walks of the retrieved triples from the query entities, and their merging (ReG, section 4.2)."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph
from graphwright.graph.items import Item, ItemKind, Step, Steps, path_item
from graphwright.graph.walks import bundle_of, walk_text
from graphwright.kernels.csr import readonly
from graphwright.kernels.walks import expand_chains
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State


@dataclass(frozen=True, repr=False)
class Chains(Operator):
    """Form chains of the evidence's triples, outwards from the query entities, breadth first in evidence order.

    ReG, Algorithm 1 (appendix D.4.1). Query entities are the nodes of anchors. Each triple at a query entity is a
    chain. A chain is extended by each triple that begins at its end, unless the new node is in the chain, or an earlier
    chain from the same query entity was extended to it. A chain may pass other query entities. The evidence has all
    chains, so it has each prefix of a chain too. With `inverse`, triples are also walked from tail to head (`t → [r⁻¹]
    → h`), which a graph without inverse relations needs. Without it they are walked from head to tail only, and chains
    that end at a query entity are included. `length`: maximum triples of a chain (the paper's L); None for no limit.
    Unscored.

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
        graph = state.graph
        edges = np.array(list(dict.fromkeys(state.items.edges.tolist())), np.int64)
        nodes, local = np.unique(graph.ends(edges), return_inverse=True)
        sources = np.flatnonzero(np.isin(nodes, state.anchor_nodes()))
        pointers, at, triples = expand_chains(
            len(nodes), local[::2], local[1::2], sources, length=self.length, inverse=self.inverse
        )
        node_pointers = readonly(pointers + np.arange(len(pointers)), np.int64)
        chain_nodes, chain_edges = readonly(nodes[at], np.int64), readonly(edges[triples], np.int64)
        kinds, begins = np.full(len(pointers) - 1, ItemKind.PATH, np.uint8), np.ones(len(chain_nodes), bool)
        begins[node_pointers[1:] - 1] = False  # every node of a chain but its last begins a step
        steps = Steps(chain_edges, graph.columns.heads[chain_edges] == chain_nodes[begins], pointers)
        chains = Evidence(chain_nodes, node_pointers, chain_edges, pointers, kinds, steps, None, walk_text)
        if not self.inverse:  # a chain between two query entities was expanded from both
            first = {key: i for i, key in reversed(list(enumerate(chains.identities())))}
            chains = chains.take(sorted(first.values()))
        return state.with_(evidence=chains)


@dataclass(frozen=True, repr=False)
class MergeChains(Operator):
    """Merge chains of a query entity with the same relations, and group those of several with common targets.

    ReG, structure-aware merging (appendix D.4.2). Multi-answer merging: the chains from (or to) one query entity by the
    same relations in the same directions become one item, their union: `Q → [r] → a → [s] → x; y`. Multi-entity
    merging: in evidence order, each of these paths is added to the first group that has no path of its query entity and
    shares a target with it. A group of several paths keeps only the chains to their common targets. Items that are not
    walks do not change. Neither do walks that reach a node after different numbers of hops, because the text of their
    union would be ambiguous. Unscored.

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
        query_entities = set(state.anchor_nodes().tolist())
        items: list[Item] = []
        for group in _grouped(_merged(state.graph, state.evidence, query_entities), query_entities):
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
        """Return the other ends of the walks."""
        return {walk.nodes[0 if self.inward else -1] for walk in self.walks}

    def items(self, graph: Graph) -> list[Item]:
        """Return the union of the walks, without repeated nodes and edges; the walks if its text is ambiguous."""
        walks = self.walks[::-1] if self.inward else self.walks
        if len(walks) == 1:
            return walks
        levels, hops = _by_hop(_outwards(w.nodes, self.inward) for w in walks), _by_hop(map(self._steps, walks))
        steps = tuple(itertools.chain(*hops))
        nodes, edges = tuple(dict.fromkeys(itertools.chain(*levels))), tuple(edge for edge, _ in steps)
        union = Item(ItemKind.TREE, _outwards(nodes, self.inward), _outwards(edges, self.inward), steps)
        readable = len(nodes) == sum(map(len, levels)) or self._is_readable(graph, union, levels)
        return [union] if readable else walks

    def _steps(self, walk: Item) -> tuple[Step, ...]:
        """Return the steps of a walk from the source."""
        return tuple((edge, not forward) for edge, forward in walk.steps[::-1]) if self.inward else walk.steps

    def _is_readable(self, graph: Graph, union: Item, levels: list[list[int]]) -> bool:
        """Return whether the text of the union has the same levels as the walks."""
        bundle = bundle_of(graph, union)
        return bundle is not None and bundle.inward == self.inward and bundle.levels == levels


def _outwards(parts: tuple[int, ...], inward: bool) -> tuple[int, ...]:
    """Return the nodes or edges of a walk from its source."""
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
        if walk.kind != ItemKind.PATH:
            paths[i] = _Path(-1, walks=[walk])
            continue
        inward = walk.nodes[0] not in query_entities and walk.nodes[-1] in query_entities
        source = walk.nodes[-1 if inward else 0]
        key = source, inward, ways[starts[i] : starts[i + 1]].tobytes()
        paths.setdefault(key, _Path(source, inward)).walks.append(walk)
    return list(paths.values())


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
