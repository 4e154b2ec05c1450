"""Set operations that a question asks for over the ends of walks: classes, and negation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import Has
from graphwright.graph.evidence import Evidence, Ints, Piece
from graphwright.graph.graph import Graph
from graphwright.graph.walks import walk_text
from graphwright.models.protocols import Encoder
from graphwright.operators.operator import Operator
from graphwright.operators.paths.answer_types import classes_named, ends_named, instances_of
from graphwright.operators.paths.asked_paths import positive_anchors
from graphwright.operators.paths.relation_match import Reading, read_state
from graphwright.operators.run import Run
from graphwright.operators.state import State

_NO_EDGES = np.empty(0, np.int64)
_DEICTIC = frozenset(["here", "now"])
_HOPS = 3  # from what is negated to what is asked for


@dataclass(frozen=True, repr=False)
class AskedClass(Operator):
    """Find the things that the noun of a question without entities names: instances of a class, or ends of a relation.

    Instances include those of subclasses. Without classes a noun names the ends of a relation: "actors" those of
    "starred actors", "packages" none. A state with evidence or with anchors is returned unchanged.

    >>> from graphwright import start; from graphwright.models import HashEncoder
    >>> graph = Graph.from_triples([("Mur", "type", "river"), ("Graz", "type", "city"), ("Mur", "length", "453 km")])
    >>> AskedClass(HashEncoder())(start("How many rivers are there?", graph, anchors=[])).evidence.texts(graph)
    ['river → [type⁻¹] → Mur']
    """

    encoder: Annotated[Encoder, Has("an encoder, with encode", "encode")]
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Find the things."""
        reading = read_state(state, run, self.encoder)
        if (state.evidence is not None and len(state.evidence)) or positive_anchors(reading):
            return state
        if _has_condition(reading):
            return state.with_(evidence=Evidence.of_nodes([], []))
        pieces = list(things_named(state.graph, reading))
        return state.with_(evidence=Evidence.of_paths(state.graph, pieces, [1.0] * len(pieces), render=walk_text))


def _has_condition(reading: Reading) -> bool:
    """Return whether a word that no relation has may be a condition ("which players are Scottish")."""
    form = reading.form
    if form.measure is not None or form.negated >= 0:
        return False
    return any(at not in form.noun and reading.words[at] not in _DEICTIC for at in reading.unmatched)


def things_named(graph: Graph, reading: Reading) -> Iterator[Piece]:
    """Yield the things that the question's noun names: walks from classes to instances, or ends of a relation."""
    c = graph.columns
    classes = classes_named(graph, reading, reading.form.noun)
    if not len(classes):
        ends = ends_named(reading)
        yield from ((np.array([node]), _NO_EDGES) for node in (() if ends is None else ends.tolist()))
        return
    instances = instances_of(graph, reading, classes)
    edges = c.out.rows(instances)
    edges = edges[np.isin(c.relation[edges], reading.relations.types)]
    firsts = edges[np.unique(c.heads[edges], return_index=True)[1]]
    for edge in firsts.tolist():
        yield np.array([c.tails[edge], c.heads[edge]], np.int64), np.array([edge], np.int64)


@dataclass(frozen=True, repr=False)
class Without(Operator):
    """Remove the things that have what the question negates: "which packages have no licence".

    What is negated is the relation that is asked for after the negation, and the entities that are named there. The
    things are the ends of the evidence; without evidence all nodes with the relations that most heads of the negated
    relation have. A question without a negation leaves the state unchanged.

    >>> from graphwright import start; from graphwright.models import HashEncoder
    >>> triples = [("gimp", "size", "9"), ("vim", "size", "3"), ("gimp", "licence", "GPL")]
    >>> graph = Graph.from_triples(triples)
    >>> Without(HashEncoder())(start("Which packages have no licence?", graph, anchors=[])).evidence.texts(graph)
    ['vim']
    """

    encoder: Annotated[Encoder, Has("an encoder, with encode", "encode")]
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Remove them."""
        reading = read_state(state, run, self.encoder)
        negated = reading.form.negated
        if negated < 0 or reading.form.asks == "truth":
            return state
        graph = state.graph
        words = [at for at in reading.content if at > negated and reading.words[at] not in _DEICTIC]
        classes = classes_named(graph, reading, tuple(words[-1:]))
        relations = [r for r, own in reading.asked.items() if any(at > negated for at in own) and not len(classes)]
        pairs = zip(reading.anchors, reading.spans, strict=True)
        seeds = [anchor.seeds(graph) for anchor, span in pairs if span and span[0] > negated]
        if len(classes):
            seeds = [_instances_beside(graph, instances_of(graph, reading, classes), seeds)]
        if not relations and not seeds:
            return state
        evidence = state.evidence if state.evidence is not None else Evidence.of_nodes([])
        ends = np.unique([int(nodes[-1]) for nodes, _ in evidence]).astype(np.int64)
        having = _having(graph, reading, relations, seeds)
        if having is None:
            having = _nearest(graph, seeds, ends)
        having = having.union(*(own.tolist() for own in seeds))
        if len(evidence):
            remaining = [i for i, (nodes, _) in enumerate(evidence) if int(nodes[-1]) not in having]
            return state.with_(evidence=evidence.take(remaining, [1.0] * len(remaining)))
        if not relations or positive_anchors(reading):
            return state
        domain = _domain(graph, reading, relations)
        nodes = [node for node in domain.tolist() if node not in having]
        return state.with_(evidence=Evidence.of_nodes(nodes, [1.0] * len(nodes)))


def _instances_beside(graph: Graph, instances: Ints, seeds: Sequence[Ints]) -> Ints:
    """Return the instances that are next to the entities named with them: "paintings by X"; all, if there are none."""
    if not seeds:
        return instances
    return np.intersect1d(instances, _neighbours(graph, np.concatenate(seeds)))


def _neighbours(graph: Graph, nodes: Ints) -> Ints:
    c = graph.columns
    edges = np.concatenate((c.into.rows(nodes), c.out.rows(nodes)))
    return np.unique(graph.ends(edges)).astype(np.int64)


def _nearest(graph: Graph, seeds: Sequence[Ints], ends: Ints) -> set[int]:
    """Return the ends that are nearest to the nodes, at most three edges away: "a station in X" is between both."""
    nodes = np.concatenate(seeds)
    for _ in range(_HOPS):
        nodes = np.union1d(nodes, _neighbours(graph, nodes))
        reached = np.intersect1d(nodes, ends)
        if len(reached):
            return set(reached.tolist())
    return set()


def _having(graph: Graph, reading: Reading, relations: Sequence[int], seeds: Sequence[Ints]) -> set[int] | None:
    """Return the nodes with an edge of these relations to these nodes; no relations or no nodes stand for any.

    None where the nodes have no edge of these relations.
    """
    c = graph.columns
    if seeds:
        targets = np.unique(np.concatenate(seeds))
        edges = np.concatenate((c.into.rows(targets), c.out.rows(targets)))
        if relations:
            edges = edges[np.isin(c.relation[edges], relations)]
            if not len(edges):
                return None
        return set(graph.ends(edges).tolist()) - set(targets.tolist())
    edges = reading.relations.edges.rows(relations)
    return set(graph.ends(edges).tolist())


def _domain(graph: Graph, reading: Reading, relations: Sequence[int]) -> Ints:
    """Return the nodes of the kind that the heads of a relation are: those with a relation that most of them have."""
    c = graph.columns
    heads = np.unique(reading.relations.ends_of(relations[0])[0]).astype(np.int64)
    owners, edges = c.out.expand(heads)
    pairs = np.unique(np.stack((owners, c.relation[edges])), axis=1)
    counts = np.bincount(pairs[1], minlength=len(reading.relations.phrases))
    counts[list(relations)] = 0
    if not counts.any() or counts.max() < 0.5 * len(heads):
        return heads
    return np.unique(reading.relations.ends_of(int(counts.argmax()))[0]).astype(np.int64)
