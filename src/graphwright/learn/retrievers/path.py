"""The path retriever: a small decoder that writes relation paths, grounded by beam search (ReG@Path, Eq. 35)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Scores
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import (
    MAX_EDGES,
    RelationPath,
    extension_cost,
    extensions,
    labelled_edges,
    path_from,
    relation_text,
    ways_of,
)
from graphwright.graph.walks import bundle_of
from graphwright.learn.retrievers.arrays import rectified
from graphwright.learn.retrievers.retriever import Retriever
from graphwright.models.protocols import Floats
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.paths.paths import query_entities
from graphwright.operators.paths.relation_paths import Instances
from graphwright.operators.rerank.scorer import ScoreFunction
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["Decode", "PathRetriever", "directed", "next_logits", "opened", "stepped"]


def directed(w: Mapping[str, Any], relations: Any) -> Any:
    """Return the embedding of each way: [2 · r, h], against and along each relation in turn; of numpy or of torch."""
    return (relations @ w["relation"]).reshape(2 * relations.shape[0], -1)


def opened(w: Mapping[str, Any], asked: Any) -> Any:
    """Return the state before the first relation, [questions, s]."""
    return rectified(asked @ w["question"] + w["start"])


def stepped(w: Mapping[str, Any], asked: Any, state: Any, way: Any) -> Any:
    """Return the state after one more way was written: an Elman network that sees the question at every step."""
    return rectified(state @ w["carry"] + way @ w["step"] + asked @ w["again"] + w["bias"])


def next_logits(w: Mapping[str, Any], state: Any, ways: Any) -> tuple[Any, Any]:
    """Return the logits of what may come next: each way, [questions, 2 · r], and the end, [questions, 1]."""
    return (state @ w["write"]) @ ways.T, state @ w["end weights"] + w["end"]


@dataclass(frozen=True, repr=False)
class PathRetriever(Retriever):
    """Scores relation paths by the probability that a decoder writes them for the question (ReG@Path, RoG's planner).

    The score of a walk is log p(r(P) | q), the end included (Eq. 35); a relation is embedded by its words, so that one
    that was not trained on is read too. Where the paper fine-tunes a language model, this is a network of two hundred
    thousand weights with the same likelihood. `width`: relation paths that are kept at every step (the paper's k).
    """

    width: int = 20

    def search(self, k: int) -> Operator:
        """Return the k best walks by the relation paths that are written."""
        return Decode(self, int(self.checkpoint.about["length"]), self.width) >> Instances() % k

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the log-probability of a piece's relations, each path of them computed once."""
        graph, writer = state.graph, self.writer(state)
        known: dict[tuple[int, ...], float] = {}

        def scores(pieces: Evidence) -> Scores:
            value = []
            for nodes, edges in pieces:
                bundle = bundle_of(graph, nodes, edges)
                # What is no walk is read as its triples, one after the other.
                ways = (
                    ways_of(graph, nodes, edges) if bundle is None else tuple(2 * r + on for r, on in bundle.relations)
                )
                if ways not in known:
                    known[ways] = writer.whole(ways)
                value.append(known[ways])
            return np.array(value)

        return scores

    def writer(self, state: State) -> Writer:
        """Return the decoder for the question of a state, and the relations of its graph."""
        graph = state.graph
        every = range(len(graph.columns.relations))
        relations = every if graph.whole else np.unique(graph.columns.relation[graph.edges]).tolist()
        return Writer(self.weights, self.asked(state)[None], self.relations(graph, relations), relations)


class Writer:
    """A decoder at work for one question, over some relations, which have these vectors."""

    def __init__(self, w: Mapping[str, Floats], asked: Floats, vectors: Floats, relations: Sequence[int]) -> None:
        self.w, self.asked = w, asked
        self.place = {relation: at for at, relation in enumerate(relations)}
        self.ways = directed(w, vectors)

    def begin(self) -> Floats:
        """Return the state before the first relation."""
        state: Floats = opened(self.w, self.asked)
        return state

    def on(self, state: Floats, way: int) -> Floats:
        """Return the state after one more way."""
        found: Floats = stepped(self.w, self.asked, state, self.ways[[self._row(way)]])
        return found

    def chances(self, state: Floats) -> tuple[Scores, float]:
        """Return the log-probability of each way, by row, and of the end."""
        ways, end = next_logits(self.w, state, self.ways)
        every = np.concatenate((ways[0], end[0])).astype(np.float64)
        every -= every.max() + np.log(np.exp(every - every.max()).sum())
        return every[:-1], float(every[-1])

    def chance(self, chances: Scores, way: int) -> float:
        """Return the log-probability of a way."""
        return float(chances[self._row(way)])

    def whole(self, ways: Sequence[int]) -> float:
        """Return the log-probability of a relation path with its end."""
        state, total = self.begin(), 0.0
        for way in ways:
            total += self.chance(self.chances(state)[0], way)
            state = self.on(state, way)
        return total + self.chances(state)[1]

    def _row(self, way: int) -> int:
        return 2 * self.place[way >> 1] + (way & 1)


@dataclass(frozen=True, repr=False)
class Decode(Ranker):
    """Write the relation paths that a decoder finds most probable among those that the graph can carry out.

    Beam search from every query entity (RoG's planning and ReG@Path's grounding at once): at each step the best
    prefixes, `width` of them, are led on by every relation there is; a prefix may end at any step. A piece is one walk
    that goes by a relation path, as RelationPaths gives, and its score the log-probability; the `width` best are given.
    `length`: relations at most. `most`: edges looked at from one entity.
    """

    retriever: PathRetriever
    length: int = 4
    width: int = 20
    most: int = MAX_EDGES
    needs = ("anchors|evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not isinstance(self.retriever, PathRetriever):
            raise OptionError(f"Decode({self.retriever!r}): a trained path retriever is needed.")
        for name, value in (("length", self.length), ("width", self.width), ("most", self.most)):
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
                raise OptionError(f"Decode({name}={value!r}): a whole number, 1 or more.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Search from each query entity, and keep the best of all."""
        graph, found = state.graph, list[tuple[float, RelationPath]]()
        if not len(graph.edges):
            return state.with_(evidence=Evidence.of_pieces([], [], relation_text))
        writer = self.retriever.writer(state)
        for source in graph.at(query_entities(state)).tolist():
            found += self._from(graph, source, writer)
        found.sort(key=lambda one: (-one[0], one[1].ways))
        found, pieces = found[: self.width], []
        for _, one in found:
            nodes, edges = one.walks(np.zeros(1, np.int64))
            pieces.append((graph.at(nodes[0]), graph.edges[edges[0]]))
        made = Evidence.of_pieces(pieces, [score for score, _ in found], relation_text)
        return state.with_(evidence=made if k is None else made.top(k))

    def _from(self, graph: Graph, source: int, writer: Writer) -> list[tuple[float, RelationPath]]:
        """Search from one query entity."""
        known, left = labelled_edges(graph), int(self.most)
        level = [(0.0, writer.begin(), path_from(graph, source))]
        ended: list[tuple[float, RelationPath]] = []
        for _ in range(self.length):
            grown = []
            for total, state, one in level:
                cost = extension_cost(known, one)
                if cost > left:
                    run.note("a relation path leads to too many nodes to be made longer; raise `most`")
                    continue
                left -= cost
                chances = writer.chances(state)[0]
                grown += [
                    (total + writer.chance(chances, on.ways[-1]), state, on) for on in extensions(graph, one, known)
                ]
            best = sorted(grown, key=lambda one: (-one[0], one[2].ways))[: self.width]
            level = [(total, writer.on(state, one.ways[-1]), one) for total, state, one in best]
            ended += [(total + writer.chances(state)[1], one) for total, state, one in level]
        return ended
