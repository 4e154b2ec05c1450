"""Search for nodes, triples and passages near a question, by vectors, words or a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Constraint, Has
from graphwright.errors import OptionError
from graphwright.graph.columns import Passage
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph
from graphwright.graph.items import Item
from graphwright.kernels.far import Reading
from graphwright.kernels.ranking import top
from graphwright.models.protocols import Floats
from graphwright.operators.anchors.keywords import themes
from graphwright.operators.operator import Composite, Operator, Ranker
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import edges_near
from graphwright.operators.state import State
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.vector_index import VectorIndex
from graphwright.text.words import terms


@dataclass(frozen=True, repr=False)
class VectorSearch(Ranker):
    """Rank nodes by the dot product of their vector with the question's (vector search in FastInsight's taxonomy).

    `index`: one row per node, or per node of one kind.

    >>> from graphwright import Graph, start; from graphwright.models import HashEncoder
    >>> graph = Graph.from_triples([("Lyon", "in", "France"), ("Graz", "in", "Austria")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> state = (VectorSearch(index) % 1)(start("Where is Graz?", graph)); graph.names.take(state.evidence.nodes)
    ['Graz']
    """

    index: Annotated[VectorIndex, Has("a vector index, such as the passages of a snapshot", "scores_of")]
    scale = "cosine similarity of the vectors of question and text, from -1 to 1"

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        return state.with_(evidence=nearest(self.index, self.index.encode(state.question.text, run), state, k, run))


@dataclass(frozen=True, repr=False)
class EdgeSearch(Ranker):
    """Rank triples by the dot product of their text's vector (`index`: by edge id) with the question's."""

    index: VectorIndex
    scale = "cosine similarity of the vectors of question and text, from -1 to 1"

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        query = self.index.encode(state.question.text, run)
        ids = self.index.ids if state.graph.whole else state.graph.edges
        return state.with_(evidence=Evidence.of_edges(*_best(*self.index.scores_of(ids, query, run), k)))


@dataclass(frozen=True, repr=False)
class WordSearch(Ranker):
    """Rank passages by BM25 over their words; passages that share no word with the question are left out."""

    index: WordIndex
    scale = "sums of BM25 over the words of the question, from 0 without an upper end"

    def ahead(self, state: State) -> Reading[Any]:
        return self.index.reading(terms(state.question.text))

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        scores = self.index.scores(state.question.text, run)
        matching = scores > 0
        if not state.graph.whole:
            matching &= state.graph.holds(self.index.nodes)
        return state.with_(evidence=Evidence.of_nodes(*_best(self.index.nodes[matching], scores[matching], k)))


def nearest(index: VectorIndex, query: Floats, state: State, k: int | None = None, run: Run | None = None) -> Evidence:
    """Return the k nodes (all, if None) of the state's graph with the best dot products of vector and `query`."""
    ids = index.ids if state.graph.whole else state.graph.nodes
    return Evidence.of_nodes(*_best(*index.scores_of(ids, query, run), k))


def _best(ids: NDArray[np.int64], scores: Floats, k: int | None) -> tuple[NDArray[np.int64], Floats]:
    if k is None or k >= len(ids):
        return ids, scores
    best = top(scores, k)
    return ids[best], scores[best]


@dataclass(frozen=True, repr=False)
class TripleSearch(Operator):
    """Find the triples nearest to the question's themes, each text once, by the largest cosine with any theme.

    LightRAG retrieves relations by high-level keywords in this way; HippoRAG 2 links a query to triples. Of several
    edges of one sentence it takes the most similar to the theme. `triples`: vectors by edge (`Snapshot.triples`);
    without them the edges at the anchors' nodes are compared by words, and the trace notes it. `by_question`: the
    question is the only theme, as without themes.
    """

    triples: VectorIndex | None
    limit: Annotated[int, AtLeast(1)] = 20
    by_question: bool = False
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        around = state.anchor_nodes() if self.triples is None else None
        texts = [] if self.by_question else [theme.text for theme in themes(state)]
        best: dict[int, float] = {}
        for edges in edges_near(run, self.triples, state.graph, texts or [state.question.text], self.limit, around):
            for edge, score in edges.items():
                best[edge] = max(score, best.get(edge, score))
        return state.with_(evidence=Evidence.of_edges(list(best), list(best.values())).top(self.limit))


@dataclass(frozen=True, repr=False)
class OneHop(Operator):
    """Add to the nodes of the evidence all edges at them between entities (LightRAG, "high-order relatedness").

    An edge has the sum of the scores of its ends, 0 for an end outside the evidence; a node keeps its score. Evidence
    without scores counts 1/rank; a triple counts for both its ends.

    >>> from graphwright import Graph, start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> evidence = OneHop()(start("?", graph, evidence=Evidence.of_nodes([1, 2], [0.5, 0.2]))).evidence
    >>> evidence.texts(graph), evidence.scores.tolist()
    (['b r c', 'a r b', 'b', 'c r d', 'c'], [0.7, 0.5, 0.5, 0.2, 0.2])
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        graph, columns, score_of = state.graph, state.graph.columns, state.node_scores()
        nodes = np.array(sorted(score_of), np.int64)
        nodes = nodes[graph.holds(nodes)]
        edges = graph.inside(np.union1d(columns.out.rows(nodes), columns.into.rows(nodes)))
        edges = edges[columns.between_entities(edges)]
        ends = graph.ends(edges).reshape(-1, 2).tolist()
        items = [*map(Item.triple, edges.tolist()), *map(Item.node, nodes.tolist())]
        scores = [sum(score_of.get(end, 0.0) for end in pair) for pair in ends]
        scores += [score_of[node] for node in nodes.tolist()]
        return state.with_(evidence=Evidence.of_items(items, scores))


Result = str | tuple[str, float] | Passage  # id of a passage, document or node, an id with a score, or a Passage

_CALLABLE = Constraint("a function from a question to passages", callable)


@dataclass(frozen=True, repr=False)
class FunctionSearch(Operator):
    """Rank passages by a function, `f(question) -> passages`, best first, so that any search can be part of a pipeline.

    The function returns ids, pairs of id and score, or passages. The id of a document stands for all its passages; over
    a graph without documents an id is the name of a node. Unknown ids are left out, with a note in the trace.

    >>> from graphwright import Graph, start
    >>> graph = Graph.from_triples([("Graz", "on", "Mur"), ("Linz", "on", "Danube")])
    >>> search = FunctionSearch(lambda question: [("Linz", 2.0), ("Graz", 1.0), ("Rome", 0.5)])
    >>> state = (search % 2)(start("Where is Linz?", graph)); graph.names.take(state.evidence.nodes)
    ['Linz', 'Graz']
    """

    function: Annotated[Callable[[str], Iterable[Result]], _CALLABLE]
    gives = ("evidence",)

    def __repr__(self) -> str:
        return f"FunctionSearch({getattr(self.function, '__qualname__', None) or repr(self.function)})"

    def apply(self, state: State, run: Run) -> State:
        ranked = [_pair(result, self.function) for result in self.function(state.question.text)]
        nodes: dict[int, float | None] = {}
        unknown = []
        for name, score in ranked:
            known = _nodes(state.graph, name)
            unknown += [] if known else [name]
            for node in known:
                nodes.setdefault(node, score)
        if unknown:
            run.note(f"{len(unknown)} of {len(ranked)} ids are not in the graph, such as {unknown[0]!r}")
        values = list(nodes.values())
        scores = None if None in values or not values else np.array(values, np.float64)
        return state.with_(evidence=Evidence.of_nodes(list(nodes), scores))


def _pair(result: Any, function: object) -> tuple[str, float | None]:
    if isinstance(result, str):
        return result, None
    if isinstance(result, Passage):
        return result.id, result.score
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], str):
        return result[0], float(result[1])
    raise OptionError(f"{function!r} returned {result!r}; give ids, or pairs of an id and a score.")


def _nodes(graph: Graph, name: str) -> list[int]:
    """Return the nodes of a passage, a document or a node by its name."""
    passages = graph.passages
    if passages is not None and name in passages.rows_of_document:
        rows = passages.rows_of_document[name]
        return [node for node in passages.nodes[np.array(rows)].tolist() if graph.holds(np.array([node]))[0]]
    return [int(node) for node in graph.ids(name)]


@dataclass(frozen=True, repr=False)
class SharedBudget(Composite):
    """Rank passages by a step, at most `limit` together with the first `read` that the state has (BubbleRAG).

    BubbleRAG may observe 15 passages (section 4.1), and it reads some before it searches the graph: a preview. A
    passage of the step that was read before costs nothing; others are taken in their order, as many as leave room for
    the preview. The rest of the preview follows, then the other passages that the state has, with scores below those of
    the step. `read` is by default the number of all that the state has.

    >>> from graphwright import Evidence, Graph, ToPassages, start; from graphwright.graph import Ranking
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> state = start("?", graph, evidence=Evidence.of_nodes([0, 1])).with_(passages=Ranking.of([2, 1], [1, 0.5]))
    >>> [SharedBudget(ToPassages(), 2, read)(state).passages.ids.tolist() for read in (0, 1, 2)]
    [[0, 1], [0, 2], [1, 2]]
    """

    step: Operator
    limit: Annotated[int, AtLeast(1)] = 15
    read: Annotated[int | None, AtLeast(0)] = None

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        after = self.step.execute(state, run)
        before, ranked = state.passages, after.passages
        if after.answer is not None or ranked is None:
            return after
        earlier = np.empty(0, np.int64) if before is None else before.ids
        preview = earlier[: self.limit if self.read is None else min(self.read, self.limit)]
        new = ~np.isin(ranked.ids, preview)
        taken = ranked.take(np.flatnonzero(~new | (np.cumsum(new) <= self.limit - len(preview))))
        count = max(self.limit - len(taken), 0)
        rest = np.append(preview, earlier[len(preview) :])
        rest = rest[~np.isin(rest, taken.ids)][:count]
        lower = (taken.scores[-1] if len(taken) else 1.0) - 1.0 - np.arange(len(rest))
        ranking = replace(
            taken,
            ids=np.append(taken.ids, rest),
            scores=np.append(taken.scores, lower),
            item_of=None if taken.item_of is None else np.append(taken.item_of, np.full(len(rest), -1)),
        )
        return after.with_(passages=ranking.top(len(ranking) if k is None else k))
