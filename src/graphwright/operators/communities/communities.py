"""Searches by what an index holds ready: entities with what is said of them, and communities of entities (GraphRAG)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Columns, Graph, Kind
from graphwright.index.snapshot import SnapshotCache
from graphwright.index.vector_index import VectorIndex, normalised
from graphwright.kernels.ranking import top
from graphwright.models.protocols import LLM, Floats
from graphwright.operators.communities.summaries import Summaries, for_each
from graphwright.operators.operator import Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line

__all__ = ["CommunitySearch", "EntitySearch", "Helpful", "Surroundings", "found_communities"]

_BLOCK = 20_000  # vectors gathered at a time


@dataclass(frozen=True, repr=False)
class EntitySearch(Ranker):
    """Entities by their names and what is said of them: where a search in GraphRAG for something local begins.

    GraphRAG compares the question with the embedded description of each entity. Here an entity's vector is that of its
    name and the mean of what is said of it, both at length 1, summed and brought to length 1 again: of the triples at
    it, where `triples` has them, else of the passages that name it. So nothing is encoded but the question. The table
    is made once for a snapshot: 4 bytes a number, 77 MB for 50,000 entities.

    >>> from graphwright import Graph, HashEncoder, start
    >>> graph = Graph.from_triples([("Ermengarde", "founded", "Erstein Abbey"), ("Graz", "lies on the", "Mur")])
    >>> said = VectorIndex.from_array(HashEncoder().encode([graph.edge_text(e) for e in (0, 1)]), HashEncoder())
    >>> found = (EntitySearch(said, None, said) % 2)(start("Which abbey was founded?", graph)).evidence
    >>> graph.names.take(found.nodes)
    ['Ermengarde', 'Erstein Abbey']
    """

    passages: VectorIndex
    names: VectorIndex | None = None
    triples: VectorIndex | None = None
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the entities of the graph."""
        columns = state.graph.columns
        ids, vectors = _described_of.get(columns, self, lambda: self._described(columns))
        scores = vectors @ self.passages.encode(state.question.text, run)
        if not state.graph.whole:
            held = state.graph.holds(ids)
            ids, scores = ids[held], scores[held]
        best = top(scores, len(ids) if k is None else k)
        return state.with_(evidence=Evidence.of_nodes(ids[best], scores[best]))

    def _described(self, columns: Columns) -> tuple[Ints, Floats]:
        """Return the entities, and the vector of each."""
        ids = np.flatnonzero(columns.kinds == Kind.ENTITY)
        vectors = normalised(self._said(columns)[ids])
        if self.names is not None:
            known, rows = self.names.rows_of(ids)
            vectors[np.searchsorted(ids, known)] += normalised(np.asarray(self.names.vectors[rows], np.float32))
        return ids, normalised(vectors)

    def _said(self, columns: Columns) -> Floats:
        """Return for each node the sum of the vectors of what is said of it."""
        total = np.zeros((len(columns.names), self.passages.dimension), np.float32)
        if self.triples is not None:
            edges, rows = self.triples.rows_of(np.arange(len(columns.heads)))
            _add(total, columns.heads[edges], self.triples.vectors, rows)
            _add(total, columns.tails[edges], self.triples.vectors, rows)
        elif columns.node_chunks is not None:
            chunks = columns.node_chunks
            owner = np.repeat(np.arange(len(columns.names)), np.diff(chunks.indptr))
            held = self.passages.has(chunks.values.astype(np.int64))
            _add(
                total,
                owner[held],
                self.passages.vectors,
                self.passages.rows_of(chunks.values[held].astype(np.int64))[1],
            )
        return total


def _add(total: Floats, owner: NDArray[np.integer[Any]], vectors: Floats, rows: Ints) -> None:
    for at in range(0, len(rows), _BLOCK):
        np.add.at(total, owner[at : at + _BLOCK], vectors[rows[at : at + _BLOCK]])


@dataclass(frozen=True, repr=False)
class Surroundings(Ranker):
    """Add to entities the relations between them and what is most central to their communities (GraphRAG, local).

    A relation scores the mean of its ends' scores, 0 for an end that was not found, so that those between two found
    entities come first; there are `relations` at most. The `communities` of `level` that hold most of the entities give
    the statements that are their gist (passages, where these have no vectors), each with the cosine of the gist and the
    question. The entities stay as they are.
    """

    summaries: Summaries
    level: int = 2
    relations: int = 20
    communities: int = 3
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if min(self.level, self.relations, self.communities) < 0:
            raise OptionError(f"{self!r}: level, relations and communities are 0 or more.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Add what is around the nodes of the evidence."""
        found = state.evidence
        if found is None or not len(found):
            return state
        scores = found.ranked_scores
        said = {key: float(score) for key, score in zip(found.identities(), scores, strict=True)}
        for key, score in (*self._relations(state, said), *self._gists(state, run)):
            said[key] = max(score, said.get(key, -math.inf))
        united = Evidence.of_pieces(said, list(said.values()))
        return state.with_(evidence=united if k is None else united.top(k))

    def _relations(self, state: State, said: dict[_Key, float]) -> list[tuple[_Key, float]]:
        graph, score = state.graph, {nodes[0]: s for (nodes, _), s in said.items() if len(nodes) == 1}
        nodes = np.array(sorted(score), np.int64)
        edges = np.union1d(graph.columns.out.rows(nodes), graph.columns.into.rows(nodes))
        edges = edges if graph.whole else edges[np.isin(edges, graph.edges, assume_unique=True)]
        ends = graph.ends(edges).reshape(-1, 2)
        entity = (graph.columns.kinds[ends] == Kind.ENTITY).all(axis=1)
        edges, ends = edges[entity], ends[entity]
        mean = np.array([(score.get(a, 0.0) + score.get(b, 0.0)) / 2 for a, b in ends.tolist()])
        best = top(mean, min(self.relations, len(mean)))
        return [(((), (int(edges[at]),)), float(mean[at])) for at in best]

    def _gists(self, state: State, run: Run) -> list[tuple[_Key, float]]:
        ids, gists, _ = self.summaries.gists(state.graph, self.level)
        query = self.summaries.passages.encode(state.question.text, run)
        found: list[tuple[_Key, float]] = []
        for community in found_communities(state, self.summaries, self.level)[: self.communities]:
            gist = gists[int(np.searchsorted(ids, community))]
            near = float(gist.vector @ query)
            found += [(((), (edge,)), near) for edge in gist.edges.tolist()]
            found += [(((node,), ()), near) for node in gist.passages.tolist()]
        return [(key, score) for key, score in found if _is_here(state.graph, key)]


_Key = tuple[tuple[int, ...], tuple[int, ...]]


def _is_here(graph: Graph, key: _Key) -> bool:
    return bool(graph.holds([*key[0], *graph.ends(key[1]).tolist()]).all())


def found_communities(state: State, summaries: Summaries, level: int) -> list[int]:
    """Return the communities of a level that the pieces of the evidence lie in, most pieces first, then best piece.

    A piece lies where its first node does, so a whole community lies in itself; one without nodes lies nowhere.
    """
    found, of = state.evidence, summaries.communities(state.graph).of_nodes(level)
    if found is None:
        return []
    first = found.nodes[found.node_ptr[:-1][np.diff(found.node_ptr) > 0]]
    counts: dict[int, int] = {}
    for at in of[first].tolist():
        counts[at] = counts.get(at, 0) + 1
    return sorted((at for at in counts if at >= 0), key=lambda at: -counts[at])


@dataclass(frozen=True, repr=False)
class CommunitySearch(Ranker):
    """Communities by the cosine of their gist with the question, each a piece of its nodes (GraphRAG, global).

    It is the twin of asking a language model how helpful each community's summary is (`Helpful`), and chooses which of
    them that is asked about. `level`: 0 for the widest; those above it that have no parts are among them. A community
    keeps those of its nodes that are in the graph.
    """

    summaries: Summaries
    level: int = 1
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if self.level < 0:
            raise OptionError(f"CommunitySearch(level={self.level!r}): a level, 0 or more.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the communities."""
        ids, _, vectors = self.summaries.gists(state.graph, self.level)
        run.note(f"there are {len(ids)} communities at level {self.level}")
        scores = vectors @ self.summaries.passages.encode(state.question.text, run)
        members, pieces, kept = self.summaries.communities(state.graph).members, [], []
        for at in top(scores, len(ids)).tolist():
            nodes = members.row(int(ids[at])).astype(np.int64)
            nodes = nodes[state.graph.holds(nodes)]
            if len(nodes):
                pieces.append((nodes, np.empty(0, np.int64)))
                kept.append(float(scores[at]))
            if k is not None and len(pieces) >= k and kept[-1] < kept[k - 1]:
                break
        found = Evidence.of_pieces(pieces, kept)
        return state.with_(evidence=found if k is None else found.top(k))


@dataclass(frozen=True, repr=False)
class Helpful(Ranker):
    """Communities by how helpful a language model rates their summaries, 0 to 100 (GraphRAG, the map step).

    The score is the rating over 100; one that the model rates 0, or not at all, is left out. `batch` summaries are
    shown a call. A number that is not there is passed over with a note; where nothing is rated above 0 the communities
    stay as they were. The paper's map step also answers from each batch; here the summaries themselves go on to the
    answer, since each of its citations has to be found in a passage.
    """

    model: LLM
    summaries: Summaries
    level: int = 1
    batch: int = 10
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not isinstance(self.model, LLM):
            raise OptionError(f"Helpful({self.model!r}): a language model is needed, with complete.")
        if self.batch < 1 or self.level < 0:
            raise OptionError(f"Helpful(level={self.level!r}, batch={self.batch!r}): 0 or more, and 1 or more.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rate the communities of the evidence."""
        found = state.evidence
        if found is None or not len(found):
            return state
        of = self.summaries.communities(state.graph).of_nodes(self.level)
        ids = [int(of[nodes[0]]) if len(nodes) else -1 for nodes, _ in found]
        shown = [i for i, at in enumerate(ids) if at >= 0]
        texts = self.summaries.texts(run, state.graph, self.level, [ids[i] for i in shown])
        batches = [slice(at, at + self.batch) for at in range(0, len(shown), self.batch)]
        rated = for_each(lambda part: self._rated(run, state.question.text, texts[part]), batches)
        scores = [score for part in rated for score in part]
        kept = [(i, score) for i, score in zip(shown, scores, strict=True) if score > 0]
        if not kept:
            run.note("the model rated no community above 0; they stay as they were")
            return state if k is None else state.with_(evidence=found.top(k))
        best = found.take([i for i, _ in kept], [score for _, score in kept])
        return state.with_(evidence=best if k is None else best.top(k))

    def _rated(self, run: Run, question: str, texts: list[str]) -> list[float]:
        lines = "\n".join(data_line({"number": n, "text": text}) for n, text in enumerate(texts, 1))
        scores = [0.0] * len(texts)
        reply = run.reply(self.model, "helpful", question=data_line({"question": question}), summaries=lines)
        ratings = [] if reply is None else reply.ratings
        for rating in ratings:
            if 1 <= rating.number <= len(texts):
                scores[rating.number - 1] = min(max(rating.helpful, 0), 100) / 100
        strange = sum(not 1 <= rating.number <= len(texts) for rating in ratings)
        if strange:
            run.note(f"{strange} of {len(ratings)} numbers rated were passed over: there are {len(texts)} summaries")
        return scores


_described_of: SnapshotCache[tuple[Ints, Floats]] = SnapshotCache()
