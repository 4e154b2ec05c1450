"""Relation paths: enumeration, planning by a language model, and instances; and edge pruning by relations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Has
from graphwright.graph.evidence import Evidence, Ints, Piece, Scores
from graphwright.graph.graph import Graph
from graphwright.graph.items import Item
from graphwright.graph.walks import (
    MAX_EDGES,
    RelationPath,
    leading_elsewhere,
    relation_path,
    relation_paths,
    relation_text,
    relation_words,
    ways_of,
)
from graphwright.kernels.ppr import push_ppr
from graphwright.models.protocols import LLM
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.paths.node_paths import query_entities
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.pagerank import seeds
from graphwright.prompts.templates import data_line

_PLANS = 3  # requested, unless `% k` sets their number
_MAX_WALKS = 100_000  # of a relation path
_RESTART = 0.15  # probability of returning to the query entities at each step


@dataclass(frozen=True, repr=False)
class RelationPaths(Ranker):
    """Find the relation paths of at most `length` relations that the graph has from each query entity.

    RoG's relation paths (Luo et al., 2024), z = (r1, ..., rl), each relation walked in either direction, never back to
    the entity, nor straight back by the same relation. An item is one walk that follows a relation path, and its text
    is the relations alone. Unscored, shorter paths first. Query entities as for ShortestPaths. `max_edges`: maximum
    edges read from an entity; beyond it the trace notes it.

    >>> from graphwright.operators.state import start
    >>> films = Graph.from_triples([("Heat", "directed_by", "Mann"), ("Ali", "directed_by", "Mann")])
    >>> RelationPaths(2)(start("What else is by its director?", films, entities=["Heat"])).evidence.texts(films)
    ['directed by', 'directed by, directed by of']
    """

    length: Annotated[int, AtLeast(1)] = 3
    max_edges: Annotated[int, AtLeast(1)] = MAX_EDGES
    needs = ("anchors|evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        graph, shortened = state.graph, 0
        paths: list[RelationPath] = []
        for source in graph.at(query_entities(state)).tolist():
            of_source, cut = relation_paths(graph, source, int(self.length), int(self.max_edges), k)
            shortened += cut
            paths += of_source
        if shortened:
            run.note(f"{shortened} relation paths were not extended: they lead to too many nodes; raise `max_edges`")
        paths.sort(key=lambda path: len(path.ways))
        pieces = (path.example(graph) for path in paths[:k])
        return state.with_(evidence=Evidence.of_paths(graph, pieces, render=relation_text))


@dataclass(frozen=True, repr=False)
class Instances(Ranker):
    """Find the walks that follow the relation paths of the evidence: RoG's reasoning paths.

    Walks start at the first node of each item and follow its relations in their directions, as in RelationPaths: one
    walk to each end, with the score of the relation path. `returning`: walks may return to their first node, as those
    of trained retrievers do; a walk that ends there counts only if its relation path leads nowhere else.
    """

    returning: bool = False
    needs = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Walk by the relation paths in turn, until there are k walks that no later walk can precede."""
        evidence, graph = state.items, state.graph
        path_scores = None if evidence.scores is None else evidence.scores.tolist()
        pieces: list[Piece] = []
        scores: list[float] = []
        for at, walks in enumerate(self._walks(graph, evidence, k)):
            if k is not None and len(pieces) >= k and (path_scores is None or path_scores[at] < scores[k - 1]):
                break
            pieces += walks
            scores += [0.0 if path_scores is None else path_scores[at]] * len(walks)
        return state.with_(evidence=Evidence.of_paths(graph, pieces, None if path_scores is None else scores).top(k))

    def _walks(self, graph: Graph, evidence: Evidence, k: int | None) -> Iterator[list[Piece]]:
        """Yield the walks of each item by their nodes; none where an earlier item has the same start and relations."""
        seen = set()
        for item in evidence.items():
            source = item.nodes[0] if item.nodes else int(graph.columns.heads[item.edges[0]])
            key = source, ways_of(graph, item.steps)
            if key in seen or not item.edges or source not in graph:
                yield []
                continue
            seen.add(key)
            path = relation_path(graph, *key, self.returning)
            node_rows, edge_rows = path.walks() if path is not None else (np.empty((0, 1), np.int32),) * 2
            if self.returning:
                rows = leading_elsewhere(node_rows)
                node_rows, edge_rows = node_rows[rows], edge_rows[rows]
            order = np.lexsort(node_rows.T[::-1])[: _MAX_WALKS if k is None else min(k, _MAX_WALKS)]
            yield list(zip(graph.at(node_rows[order]), graph.edges[edge_rows[order]], strict=True))


@dataclass(frozen=True, repr=False)
class Relations(Operator):
    """List the relations of the graph, each as its first edge, with its text (candidates of EP); unscored."""

    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        edges = state.graph.edges
        first = np.unique(state.graph.columns.relation[edges], return_index=True)[1]
        items = map(Item.triple, edges[np.sort(first)].tolist())
        return state.with_(evidence=Evidence.of_items(items, render=relation_text))


@dataclass(frozen=True, repr=False)
class EdgesBy(Operator):
    """List all edges of the evidence's relations, by the relation's score, then by the traffic of a random walk.

    Edges of one relation, of which there may be thousands, are ordered by how often a random walk with restarts at the
    query entities crosses them: with π its personalised PageRank, in proportion to π(u)/deg(u) + π(v)/deg(v) for the
    edge between u and v. The score is the relation's (1/rank without one), plus the traffic scaled to less than the
    distance between two relations.

        Relations() >> Rerank(model) >> EdgesBy() % edges >> InduceEdges()      edge pruning

    >>> from graphwright.operators.state import start
    >>> films = Graph.from_triples([("Ali", "by", "Mann"), ("Heat", "by", "Mann"), ("Heat", "stars", "Pacino")])
    >>> state = start("?", films, entities=["Pacino"], evidence=Evidence.of_edges([0, 2], [0.5, 0.3]))
    >>> EdgesBy()(state).evidence.texts(films)
    ['Heat by Mann', 'Ali by Mann', 'Heat stars Pacino']
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        evidence, graph = state.items, state.graph
        relation, values = graph.columns.relation, np.full(len(graph.columns.relations), -np.inf)
        with_edges = np.diff(evidence.edge_ptr) > 0
        first = evidence.edge_ptr[:-1][with_edges]
        np.maximum.at(values, relation[evidence.edges[first]], evidence.ranked_scores[with_edges])
        edges = graph.edges[values[relation[graph.edges]] > -np.inf]
        scores = values[relation[edges]]
        distances = np.diff(np.unique(scores))
        scale = 0.5 * (distances.min() if len(distances) else 1.0)
        return state.with_(evidence=Evidence.of_edges(edges, scores + scale * self._traffic(state, edges)))

    def _traffic(self, state: State, edges: Ints) -> Scores:
        """Return how often the walk crosses each edge, divided by the largest of these numbers."""
        graph, share = state.graph, np.zeros(len(state.graph))
        starts, weights = seeds(state.with_(evidence=None))  # from the anchors, as the evidence is relations
        nodes, rank = push_ppr(*graph.adjacency, starts, weights, restart=_RESTART, k=None)
        share[nodes] = rank / np.maximum(np.diff(graph.adjacency.indptr)[nodes], 1)
        traffic: NDArray[np.float64] = share[graph.local(graph.ends(edges))].reshape(-1, 2).sum(axis=1)
        largest: float = traffic.max(initial=0.0)
        return traffic / largest if largest > 0 else traffic


@dataclass(frozen=True, repr=False)
class Plan(Ranker):
    """Select the relation paths that a language model plans for the question, in the order of its plans.

    The planning of RoG (Luo et al., 2024), by a model that was not trained for it: it reads the question and at most
    `max_relations` relations of the evidence's relation paths, and writes plans, each a list of relations. A relation
    path is selected if its relations are those of a plan, in either direction; the paths of plan r score 1/r. Plans
    that the graph cannot carry out, and repeated plans, are ignored with a note. An unusable reply changes nothing.
    """

    model: Annotated[LLM, Has("a language model", "complete")]
    max_relations: Annotated[int, AtLeast(1)] = 200
    needs = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        evidence = state.items
        if not len(evidence.edges):
            return state.with_(evidence=Evidence.of_nodes([], []))
        paths = [_relations(state.graph, item) for item in evidence.items()]
        plans = self._plans(state, run, paths, _PLANS if k is None else k)
        if plans is None:
            return state.with_(evidence=evidence.top(k))
        rank: dict[tuple[str, ...], int] = {}
        for number, plan in enumerate(plans, 1):
            rank.setdefault(plan, number)
        ignored = len(plans) - len(set(paths) & set(rank))
        if ignored:
            run.note(f"{ignored} of {len(plans)} plans were ignored: not in the graph, or repeated")
        matches = [at for at, path in enumerate(paths) if path in rank]
        best = evidence.take(matches, [1.0 / rank[paths[at]] for at in matches])
        return state.with_(evidence=best.top(k))

    def _plans(
        self, state: State, run: Run, paths: Sequence[tuple[str, ...]], limit: int
    ) -> list[tuple[str, ...]] | None:
        relations = list(dict.fromkeys(relation for path in paths for relation in path))
        if len(relations) > self.max_relations:
            run.note(f"the model read the first {self.max_relations} of {len(relations)} relations")
        reply = run.reply(
            self.model,
            "plan",
            question=data_line({"question": state.question.text}),
            relations="\n".join(data_line(relation) for relation in relations[: self.max_relations]),
            most=str(limit),
            length=str(max(map(len, paths))),
        )
        if reply is None:
            return None
        return [tuple(" ".join(relation.split()).casefold() for relation in plan) for plan in reply.plans]


def _relations(graph: Graph, item: Item) -> tuple[str, ...]:
    """Return the relations of a walk in words, without their directions."""
    return tuple(relation_words(graph, (way | 1,)).casefold() for way in ways_of(graph, item.steps))
