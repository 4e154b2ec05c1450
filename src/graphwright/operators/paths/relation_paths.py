"""Relation paths: enumeration, ranking, instances, and planning by a language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import (
    MAX_EDGES,
    RelationPath,
    labelled_edges,
    relation_path,
    relation_paths,
    relation_text,
    relation_words,
    walks_along,
    ways_of,
)
from graphwright.kernels.ppr import push_ppr
from graphwright.models.protocols import LLM
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.paths.paths import query_entities
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.walk import seeds
from graphwright.prompts.templates import data_line

__all__ = ["EdgesBy", "Instances", "Plan", "RelationPaths", "Relations"]


@dataclass(frozen=True, repr=False)
class RelationPaths(Ranker):
    """Relation paths of at most `length` relations from each query entity: the plans that the graph can carry out.

    What RoG (Luo et al., 2024) calls a relation path, z = (r1, ..., rl), each relation walked in either direction;
    those that lead nowhere are left out. A walk never returns to the entity, nor straight back by the relation that it
    came by; by another one it may. A piece is one walk that goes by a relation path, and its text is the relations
    alone, so that Rerank and Choose judge few and short texts, the same at many questions. Unscored, shorter ones
    first. Query entities as for ShortestPaths. `most`: edges looked at from one entity; where that is not enough the
    trace notes it.

    >>> from graphwright import start
    >>> film = Graph.from_triples([("Heat", "directed_by", "Mann"), ("Ali", "directed_by", "Mann")])
    >>> RelationPaths(2)(start("What else is by its director?", film, entities=["Heat"])).evidence.texts(film)
    ['directed by', 'directed by, directed by of']
    """

    length: int = 3
    most: int = MAX_EDGES
    needs = ("anchors|evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        _whole(self, length=self.length, most=self.most)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Find the relation paths, no more than the first k."""
        graph, shortened = state.graph, 0
        every: list[RelationPath] = []
        known = labelled_edges(graph)
        for source in graph.at(query_entities(state)).tolist():
            paths, cut = relation_paths(graph, source, int(self.length), int(self.most), known, k)
            shortened += cut
            every += paths
        if shortened:
            run.note(f"{shortened} relation paths lead to too many nodes to be made longer; raise `most`")
        every.sort(key=lambda one: len(one.ways))
        pieces = (one.walks(np.zeros(1, np.int64)) for one in every[:k])
        return state.with_(
            evidence=Evidence.of_pieces(((graph.at(n[0]), graph.edges[e[0]]) for n, e in pieces), render=relation_text)
        )


@dataclass(frozen=True, repr=False)
class Instances(Ranker):
    """The walks by the relation paths of the evidence: reasoning paths that carry out a plan (RoG, retrieval).

    From the first node of each piece, by the relations of the piece in their directions, as RelationPaths walks; one
    walk to each node that they lead to, or with `all` every walk, `most` of each relation path at most. A walk has the
    score of its relation path. Without `all` a relation path costs the edges at its fronts, however many walks there
    are.

    >>> from graphwright import start
    >>> film = Graph.from_triples([("Heat", "directed_by", "Mann"), ("Ali", "directed_by", "Mann")])
    >>> state = start("What did Mann film?", film, evidence=Evidence.of_pieces([([1, 0], [0])]))
    >>> Instances()(state).evidence.texts(film)
    ['Heat directed_by Mann', 'Ali directed_by Mann']
    """

    all: bool = False
    most: int = 100_000
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        _whole(self, most=self.most)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Walk by the relation paths in turn, until there are k walks that no further one could come before."""
        found, graph = state.evidence or Evidence.of_nodes([]), state.graph
        scores = None if found.scores is None else found.scores.tolist()
        pieces: list[tuple[Ints, Ints]] = []
        of: list[float] = []
        for at, walked in enumerate(self._walked(graph, found, k)):
            if k is not None and len(pieces) >= k and (scores is None or scores[at] < of[k - 1]):
                break
            pieces += walked
            of += [0.0 if scores is None else scores[at]] * len(walked)
        made = Evidence.of_pieces(pieces, None if scores is None else of)
        return state.with_(evidence=made if k is None else made.top(k))

    def _walked(self, graph: Graph, found: Evidence, k: int | None) -> Iterator[list[tuple[Ints, Ints]]]:
        """Yield for each piece the walks by its relations, by their nodes, none that was given before."""
        known, seen = labelled_edges(graph), set()
        for nodes, edges in found:
            source = int(nodes[0]) if len(nodes) else int(graph.columns.heads[edges[0]])
            key = source, ways_of(graph, nodes, edges)
            if key in seen or not len(edges) or source not in graph:
                yield []
                continue
            seen.add(key)
            if self.all:
                along, by = walks_along(graph, *key, int(self.most), known)
            else:
                one = relation_path(graph, *key, known)
                along, by = one.walks() if one is not None else (np.empty((0, 1), np.int32),) * 2
            order = np.lexsort(along.T[::-1])[: self.most if k is None else min(k, self.most)]
            yield list(zip(graph.at(along[order]), graph.edges[by[order]], strict=True))


@dataclass(frozen=True, repr=False)
class Relations(Operator):
    """The relations of the graph, each as one of its edges, with the relation alone as its text; unscored.

    What edge pruning judges (EP of LEGO-GraphRAG, section 3.2.2 a.3), where an edge is a relation with its text; there
    are far fewer of them than edges. `EdgesBy` gives the edges of those that fit.

    >>> from graphwright import start
    >>> film = Graph.from_triples([("Heat", "directed_by", "Mann"), ("Ali", "directed_by", "Mann")])
    >>> Relations()(start("?", film)).evidence.texts(film)
    ['directed by']
    """

    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """List the relations, by their first edge."""
        edges = state.graph.edges
        first = np.unique(state.graph.columns.relation[edges], return_index=True)[1]
        return state.with_(
            evidence=Evidence.of_pieces(
                [((), (edge,)) for edge in edges[np.sort(first)].tolist()], render=relation_text
            )
        )


@dataclass(frozen=True, repr=False)
class EdgesBy(Operator):
    """All edges of the evidence's relations, those of a better relation first; of one relation, by a walk's traffic.

    A relation does not tell its edges apart, and there may be thousands. Those come first that a walk which returns to
    the query entities, with probability `restart`, crosses most often: where π is its personalised PageRank, it takes
    the edge between u and v in a share of its steps that is in proportion to π(u)/deg(u) + π(v)/deg(v). So PPR ranks
    edges as it ranks nodes. The score is the relation's (1/rank where it has none), and the traffic moves it by less
    than what lies between two relations.

        Relations() >> Rerank(model) >> EdgesBy() % edges >> InduceEdges()      edge pruning

    >>> from graphwright import start
    >>> film = Graph.from_triples([("Ali", "by", "Mann"), ("Heat", "by", "Mann"), ("Heat", "stars", "Pacino")])
    >>> state = start("?", film, entities=["Pacino"], evidence=Evidence.of_edges([0, 2], [0.5, 0.3]))
    >>> EdgesBy()(state).evidence.texts(film)
    ['Heat by Mann', 'Ali by Mann', 'Heat stars Pacino']
    """

    restart: float = 0.15
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not 0 < self.restart < 1:
            raise OptionError(f"EdgesBy(restart={self.restart!r}): a probability between 0 and 1.")

    def apply(self, state: State, run: Run) -> State:
        """Collect and rank the edges."""
        found, graph = state.evidence or Evidence.of_nodes([]), state.graph
        ranks = found.ranked_scores
        relation, value = graph.columns.relation, np.full(len(graph.columns.relations), -np.inf)
        first = found.edge_ptr[:-1][np.diff(found.edge_ptr) > 0]
        np.maximum.at(value, relation[found.edges[first]], ranks[np.diff(found.edge_ptr) > 0])
        edges = graph.edges[value[relation[graph.edges]] > -np.inf]
        scores = value[relation[edges]]
        apart = np.diff(np.unique(scores))
        moved = 0.5 * (apart.min() if len(apart) else 1.0) * self._traffic(state, edges)
        return state.with_(evidence=Evidence.of_edges(edges, scores + moved))

    def _traffic(self, state: State, edges: Ints) -> Scores:
        """Return how often the walk crosses each edge, 1 for the one that it crosses most often."""
        graph, share = state.graph, np.zeros(len(state.graph))
        at, weights = seeds(state.with_(evidence=None))  # the evidence is relations: from the anchors
        nodes, rank = push_ppr(*graph.adjacency, at, weights, restart=self.restart, k=None)
        share[nodes] = rank / np.maximum(np.diff(graph.adjacency.indptr)[nodes], 1)
        crossed: NDArray[np.float64] = share[graph.local(graph.ends(edges))].reshape(-1, 2).sum(axis=1)
        most: float = crossed.max(initial=0.0)
        return crossed / most if most > 0 else crossed


def _whole(made: Operator, **counts: int) -> None:
    for name, value in counts.items():
        if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
            raise OptionError(f"{type(made).__name__}({name}={value!r}): a whole number, 1 or more.")


_PLANS = 3  # that are asked for, unless `% k` says how many are kept


@dataclass(frozen=True, repr=False)
class Plan(Ranker):
    """Keep the relation paths that a language model plans for the question, in the order in which it writes them.

    The planning of RoG (Luo et al., 2024), by a model that was not trained for it: it is shown the question and the
    relations of the evidence's relation paths, `shown` at most, and writes plans, each a list of relations. A relation
    path is kept where its relations are those of a plan, in whichever direction each is walked; those of the r-th plan
    have the score 1/r. A plan that the graph cannot carry out, or was written before, is passed over with a note in the
    trace.

    >>> from graphwright import RelationPaths, ScriptedLLM, start
    >>> film = Graph.from_triples([("Heat", "directed_by", "Mann"), ("Ali", "directed_by", "Mann")])
    >>> state = start("What else did the director of Heat film?", film, entities=["Heat"])
    >>> llm = ScriptedLLM(['{"plans": [["directed by", "directed by"], ["stars"]]}'])
    >>> (RelationPaths(2) >> Plan(llm))(state).evidence.texts(film)
    ['directed by, directed by of']
    """

    model: LLM
    shown: int = 200
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not isinstance(self.model, LLM):
            raise OptionError(f"Plan({self.model!r}): a language model is needed, with complete.")
        if isinstance(self.shown, bool) or not hasattr(self.shown, "__index__") or self.shown < 1:
            raise OptionError(f"Plan(shown={self.shown!r}): a number of relations, 1 or more.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Ask for plans, and keep the relation paths that they mean."""
        found = state.evidence
        if found is None or not len(found.edges):
            return state.with_(evidence=Evidence.of_nodes([], []))
        paths = [_relations(state.graph, *piece) for piece in found]
        plans = self._plans(state, run, paths, _PLANS if k is None else k)
        rank: dict[tuple[str, ...], int] = {}
        for at, plan in enumerate(plans, 1):
            rank.setdefault(plan, at)
        passed = len(plans) - len(set(paths) & set(rank))
        if passed:
            run.note(f"{passed} of {len(plans)} plans were passed over: not in the graph, or written before")
        kept = [at for at, path in enumerate(paths) if path in rank]
        best = found.take(kept, [1.0 / rank[paths[at]] for at in kept])
        return state.with_(evidence=best if k is None else best.top(k))

    def _plans(self, state: State, run: Run, paths: Sequence[tuple[str, ...]], most: int) -> list[tuple[str, ...]]:
        """Return what the model writes, each relation as it is read here."""
        relations = list(dict.fromkeys(relation for path in paths for relation in path))
        if len(relations) > self.shown:
            run.note(f"{self.shown} of {len(relations)} relations were shown")
        reply = run.reply(
            self.model,
            "plan",
            question=data_line({"question": state.question.text}),
            relations="\n".join(data_line(relation) for relation in relations[: self.shown]),
            most=str(most),
            length=str(max(map(len, paths))),
        )
        plans = [] if reply is None else reply.plans
        return [tuple(" ".join(relation.split()).casefold() for relation in plan) for plan in plans]


def _relations(graph: Graph, nodes: Any, edges: Any) -> tuple[str, ...]:
    """Return the relations of a walk as a model reads them, without their directions."""
    return tuple(relation_words(graph, (way | 1,)).casefold() for way in ways_of(graph, nodes, edges))
