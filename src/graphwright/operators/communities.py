"""Community search: entities by their statements, their local context, and communities of entities (GraphRAG)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Has
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Columns, Kind
from graphwright.graph.items import Item
from graphwright.kernels.ranking import top
from graphwright.models.protocols import LLM, Floats
from graphwright.operators.operator import Ranker
from graphwright.operators.rerank.rerank import ratings_by
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.summaries import Summaries, first_items, for_each
from graphwright.search.snapshot import SnapshotCache
from graphwright.search.vector_index import VectorIndex, normalised

_BLOCK = 20_000  # vectors gathered at a time
Key = tuple[tuple[int, ...], tuple[int, ...]]  # the nodes and the edges of an item


@dataclass(frozen=True, repr=False)
class EntitySearch(Ranker):
    """Rank entities by the cosine of the question with their names and statements (GraphRAG, local: entry points).

    In place of GraphRAG's embedded description an entity's vector is the sum of two unit vectors: that of its name, and
    the mean of its statements: the triples at it, without `triples` the passages that name it. So only the question is
    encoded. The vectors are computed once for a snapshot: 4 bytes a number, 77 MB for 50,000 entities.
    """

    passages: VectorIndex
    names: VectorIndex | None = None
    triples: VectorIndex | None = None

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        columns = state.graph.columns
        ids, vectors = _entity_vectors.get(columns, self, lambda: self._vectors(columns))
        scores = vectors @ self.passages.encode(state.question.text, run)
        if not state.graph.whole:
            inside = state.graph.holds(ids)
            ids, scores = ids[inside], scores[inside]
        best = top(scores, len(ids) if k is None else k)
        return state.with_(evidence=Evidence.of_nodes(ids[best], scores[best]))

    def _vectors(self, columns: Columns) -> tuple[Ints, Floats]:
        ids = np.flatnonzero(columns.kinds == Kind.ENTITY)
        vectors = normalised(self._statement_sums(columns)[ids])
        if self.names is not None:
            known, rows = self.names.rows_of(ids)
            vectors[np.searchsorted(ids, known)] += normalised(np.asarray(self.names.vectors[rows], np.float32))
        return ids, normalised(vectors)

    def _statement_sums(self, columns: Columns) -> Floats:
        """Return for each node the sum of the vectors of its triples, or of the passages that name it."""
        sums = np.zeros((len(columns.names), self.passages.dimension), np.float32)
        if self.triples is not None:
            edges, rows = self.triples.rows_of(np.arange(len(columns.heads)))
            _add(sums, columns.heads[edges], self.triples.vectors, rows)
            _add(sums, columns.tails[edges], self.triples.vectors, rows)
        elif columns.node_chunks is not None:
            chunks = columns.node_chunks.values.astype(np.int64)
            owner = np.repeat(np.arange(len(columns.names)), np.diff(columns.node_chunks.indptr))
            known = self.passages.has(chunks)
            _add(sums, owner[known], self.passages.vectors, self.passages.rows_of(chunks[known])[1])
        return sums


def _add(sums: Floats, owner: NDArray[np.integer[Any]], vectors: Floats, rows: Ints) -> None:
    for at in range(0, len(rows), _BLOCK):
        np.add.at(sums, owner[at : at + _BLOCK], vectors[rows[at : at + _BLOCK]])


@dataclass(frozen=True, repr=False)
class LocalContext(Ranker):
    """Add to entities their relations and the most central statements of their communities (GraphRAG, local).

    A relation scores the mean of its ends' scores, 0 for an end that is not in the evidence; `relations` is their
    number. The `communities` of `level` with the most entities add the statements of their gists, or their passages if
    statements have no vectors, each with the cosine of the gist and the question. The items of the evidence stay.
    """

    summaries: Summaries
    level: Annotated[int, AtLeast(0)] = 2
    relations: Annotated[int, AtLeast(0)] = 20
    communities: Annotated[int, AtLeast(0)] = 3
    needs = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        evidence = state.items
        if not len(evidence):
            return state
        scores = dict(zip(evidence.identities(), evidence.ranked_scores.tolist(), strict=True))
        added = [*self._relations(state, scores), *self._gists(state, run)]
        for item, score in added:
            scores[item.nodes, item.edges] = max(score, scores.get((item.nodes, item.edges), -math.inf))
        united = evidence.union(Evidence.of_items(item for item, _ in added))
        best = united.take(range(len(united)), [scores[key] for key in united.identities()])
        return state.with_(evidence=best.top(k))

    def _relations(self, state: State, scores: dict[Key, float]) -> list[tuple[Item, float]]:
        graph, node_scores = state.graph, {nodes[0]: s for (nodes, _), s in scores.items() if len(nodes) == 1}
        nodes = np.array(sorted(node_scores), np.int64)
        edges = graph.inside(np.union1d(graph.columns.out.rows(nodes), graph.columns.into.rows(nodes)))
        ends = graph.ends(edges).reshape(-1, 2)
        between_entities = (graph.columns.kinds[ends] == Kind.ENTITY).all(axis=1)
        edges, ends = edges[between_entities], ends[between_entities]
        means = np.array([(node_scores.get(a, 0.0) + node_scores.get(b, 0.0)) / 2 for a, b in ends.tolist()])
        best = top(means, min(self.relations, len(means)))
        return [(Item.triple(int(edges[at])), float(means[at])) for at in best]

    def _gists(self, state: State, run: Run) -> list[tuple[Item, float]]:
        ids, gists, _ = self.summaries.gists(state.graph, self.level)
        query = self.summaries.passages.encode(state.question.text, run)
        items: list[tuple[Item, float]] = []
        for community in communities_of(state, self.summaries, self.level)[: self.communities]:
            gist = gists[int(np.searchsorted(ids, community))]
            cosine = float(gist.vector @ query)
            items += [(Item.triple(edge), cosine) for edge in gist.edges.tolist()]
            items += [(Item.node(node), cosine) for node in gist.passages.tolist()]
        graph = state.graph
        return [item for item in items if graph.holds([*item[0].nodes, *graph.ends(item[0].edges).tolist()]).all()]


def communities_of(state: State, summaries: Summaries, level: int) -> list[int]:
    """Return the communities of a level with the first nodes of items, by number of items, then by best item."""
    evidence, of_nodes = state.items, summaries.communities(state.graph).of_nodes(level)
    first = evidence.nodes[evidence.node_ptr[:-1][np.diff(evidence.node_ptr) > 0]]
    counts = Counter(of_nodes[first].tolist())
    return [community for community, _ in counts.most_common() if community >= 0]


@dataclass(frozen=True, repr=False)
class CommunitySearch(Ranker):
    """Rank communities by the cosine of their gist with the question, each an item of its nodes (GraphRAG, global).

    It selects the communities that `RateCommunities` rates, and is its twin. `level`: 0 for the widest; higher
    communities that are not divided are included.
    """

    summaries: Summaries
    level: Annotated[int, AtLeast(0)] = 1

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        ids, _, vectors = self.summaries.gists(state.graph, self.level)
        run.note(f"there are {len(ids)} communities at level {self.level}")
        cosines = vectors @ self.summaries.passages.encode(state.question.text, run)
        members = self.summaries.communities(state.graph).members

        def items() -> Iterator[tuple[Ints, float]]:
            for at in top(cosines, len(ids)).tolist():
                nodes = members.row(int(ids[at])).astype(np.int64)
                yield nodes[state.graph.holds(nodes)], float(cosines[at])

        return state.with_(evidence=first_items(items(), k))


@dataclass(frozen=True, repr=False)
class RateCommunities(Ranker):
    """Rank communities by a language model's rating of their summaries, 0 to 100 (GraphRAG, global: the map step).

    The score is the rating over 100; communities without a rating, or with 0, are left out; if there are no others,
    they stay as they were. `batch`: summaries per call. The paper's map step also answers from each batch; here the
    answer is from the summaries, since each of its citations must quote a passage.
    """

    model: Annotated[LLM, Has("a language model", "complete")]
    summaries: Summaries
    level: Annotated[int, AtLeast(0)] = 1
    batch: Annotated[int, AtLeast(1)] = 10
    needs = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        evidence = state.items
        if not len(evidence):
            return state
        of_nodes = self.summaries.communities(state.graph).of_nodes(self.level)
        communities = {i: int(of_nodes[nodes[0]]) for i, (nodes, _) in enumerate(evidence) if len(nodes)}
        items = [i for i, community in communities.items() if community >= 0]
        texts = self.summaries.texts(run, state.graph, self.level, [communities[i] for i in items])
        batches = [texts[at : at + self.batch] for at in range(0, len(texts), self.batch)]
        ratings = for_each(
            run,
            lambda child, batch: ratings_by(child, self.model, "helpful", state.question.text, batch, "summaries"),
            batches,
        )
        scores = [score for batch in ratings for score in batch]
        helpful = {i: score for i, score in zip(items, scores, strict=True) if score > 0}
        if not helpful:
            run.note("the model rated no community above 0; they stay as they were")
        best = evidence.take(list(helpful), list(helpful.values())) if helpful else evidence
        return state.with_(evidence=best.top(k))


_entity_vectors: SnapshotCache[tuple[Ints, Floats]] = SnapshotCache()
