"""Scorers of evidence: models that read texts, BM25, vectors of parts; masked names, and length penalties."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Checked, Constraint
from graphwright.errors import ModelError, OptionError
from graphwright.graph.evidence import Evidence, Ints, Scores, item_text
from graphwright.graph.graph import Graph
from graphwright.graph.walks import relation_words
from graphwright.kernels.ranking import rank_items
from graphwright.models.protocols import CrossEncoder, Encoder, Floats
from graphwright.operators.operator import Composite, Operator, top_of
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.vector_index import VectorIndex, cosines
from graphwright.text.words import words

_NAMES = {"LLM": "an LLM", "Encoder": "an encoder", "CrossEncoder": "a cross-encoder", "Operator": "an operator"}
ScoreFunction = Callable[[Evidence], Scores]  # scores items for one question: float64, higher is better


class Scorer(Checked, ABC):
    """Base of scorers of items, which Rerank and BeamSearch take in place of a model."""

    @abstractmethod
    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the function that scores items for the question of this state; the question is read once."""


def ModelOf(*types: type) -> Constraint:
    """Return the constraint to instances of these types; a string is refused, although it has `encode`."""
    names = [_NAMES.get(kind.__name__) or f"a {kind.__name__.lower()}" for kind in types]
    expected = " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return Constraint(
        f"{expected}, not its name", lambda value: not isinstance(value, str) and isinstance(value, types)
    )


@dataclass(frozen=True, repr=False)
class Steps(Scorer):
    """Score a path by its steps: the mean over its triples of a model's score of each.

    Triple-level scoring (LEGO-GraphRAG, section 4.2, without a formula): when a path is extended, only the new step is
    read, each triple once; a mean makes paths of different lengths comparable. Items without edges are scored by text.
    """

    model: Annotated[Encoder | CrossEncoder, ModelOf(Encoder, CrossEncoder)]

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        score, known = score_function(self.model, state, run), dict[int, float]()

        def scores(items: Evidence) -> Scores:
            edges, position = distinct(items.edges)
            new = [edge for edge in edges.tolist() if edge not in known]
            new_scores = score(Evidence.of_edges(new)) if new else np.empty(0)
            known.update(zip(new, new_scores.tolist(), strict=True))
            edge_scores = np.array([known[edge] for edge in edges.tolist()], np.float64)[position]
            item_scores = means(edge_scores, owners(items.edge_ptr), len(items))
            without_edges = np.flatnonzero(np.diff(items.edge_ptr) == 0)
            if len(without_edges):
                item_scores[without_edges] = score(items.take(without_edges.tolist()))
            return item_scores

        return scores


@dataclass(frozen=True, repr=False)
class BM25(Scorer):
    """Score items by BM25 over the words of their texts (LEGO-GraphRAG, section 3.2.2 a.1).

    The texts that are scored together are the corpus in which words are counted (see WordIndex for the formula): for
    Rerank all items of the evidence, for BeamSearch all paths of one length from one query entity.
    """

    @property
    def id(self) -> str:
        """Name of the model."""
        return "bm25"

    def prepare(self, state: State, run: Run) -> ScoreFunction:

        def scores(texts: list[str]) -> Scores:
            run.usage.texts += len(texts)
            return WordIndex.of(texts, np.arange(len(texts))).scores(state.question.text).astype(np.float64)

        return scores_by_text(state.graph, scores)


def score_function(model: Encoder | CrossEncoder | Scorer, state: State, run: Run) -> ScoreFunction:
    """Return the scores of items by a Scorer or other model, each text once. Raises ModelError for NaN or a count."""
    if isinstance(model, Scorer):
        return model.prepare(state, run)
    question = state.question.text

    def scores(texts: list[str]) -> Scores:
        if isinstance(model, CrossEncoder):
            values = run.scores(model, question, texts)
        else:
            vectors = run.encode(model, [question, *texts]).astype(np.float64)
            values = cosines(vectors[1:], vectors[0])
        if values.shape != (len(texts),) or np.isnan(values).any():
            raise ModelError(f"{model!r} returned scores of shape {values.shape} for {len(texts)} texts, or a NaN.")
        return values

    return scores_by_text(state.graph, scores)


def scores_by_text(graph: Graph, score: Callable[[list[str]], Scores]) -> ScoreFunction:
    """Return the function that scores items by their texts; `score` receives the distinct texts of each call."""

    def scores(items: Evidence) -> Scores:
        texts = items.texts(graph)
        row = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        values = score(list(row)) if row else np.empty(0)
        return values[[row[text] for text in texts]]

    return scores


def means(values: Scores, owner: Ints, count: int) -> Scores:
    """Return the mean of the values of each of `count` owners, 0 for an owner without values."""
    return np.bincount(owner, values, count) / np.maximum(np.bincount(owner, minlength=count), 1)


def owners(ptr: Ints) -> Ints:
    """Return for each entry of a ragged array the row that contains it."""
    return np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))


def distinct(values: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Return the distinct values, ascending, and the position of each value: for few, faster than np.unique."""
    ascending = np.unique(values)
    return ascending, np.searchsorted(ascending, values).astype(np.int64, copy=False)


def ranked_by(items: Evidence, scores: Scores, k: int | None = None) -> Evidence:
    """Return the k best items (all, if None) with these scores: higher score first, then smaller ids."""
    order = rank_items(scores, items.nodes, items.node_ptr, items.edges, items.edge_ptr, k)
    best, best_scores = items.unscored().take(order), scores[order]
    best_scores.flags.writeable = False
    return replace(best, scores=best_scores, render=item_text)


@dataclass(frozen=True, repr=False)
class Composed(Scorer):
    """Score an item by the vectors of its parts: the mean cosine of the question and each part.

    With `names` (vectors by node id, `Snapshot.names`) the parts are the nodes of the item and the relation of each of
    its edges; with `triples` (vectors by edge id, `Snapshot.triples`) they are its edges; with both, all of these. A
    part without a vector counts as 0. Only the question and the texts of relations are encoded.
    """

    names: VectorIndex | None = None
    triples: VectorIndex | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        indexes = [index for index in (self.names, self.triples) if index is not None]
        if not indexes or not all(isinstance(index, VectorIndex) and index.encoder is not None for index in indexes):
            raise OptionError(
                f"Composed: names is {self.names!r} and triples is {self.triples!r}; at least one must be a "
                "VectorIndex, and each needs the encoder of its vectors."
            )

    @property
    def encoder(self) -> Encoder:
        """The encoder of the vectors."""
        index = self.names if self.names is not None else self.triples
        return index.encoder  # type: ignore[union-attr, return-value]

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        graph, index = state.graph, self.names if self.names is not None else self.triples
        query = index.encode(state.question.text, run)  # type: ignore[union-attr]

        def scores(items: Evidence) -> Scores:
            edge_owners, parts = owners(items.edge_ptr), []
            if self.names is not None:
                nodes, node_owners = _nodes_of(items, graph)
                parts.append((_index_cosines(self.names, nodes, query), node_owners))
                parts.append((self._relation_cosines(run, graph, items.edges, query), edge_owners))
            if self.triples is not None:
                parts.append((_index_cosines(self.triples, items.edges, query), edge_owners))
            values, owner = (np.concatenate(columns) for columns in zip(*parts, strict=True))
            return means(values, owner, len(items))

        return scores

    def _relation_cosines(self, run: Run, graph: Graph, edges: Ints, query: Floats) -> Scores:
        relations, position = distinct(graph.columns.relation[edges])
        if not len(relations):
            return np.empty(0)
        texts = [relation_words(graph, (2 * relation + 1,)) for relation in relations.tolist()]
        vectors = run.encode(self.names.encoder, texts).astype(np.float64)  # type: ignore[union-attr, arg-type]
        return cosines(vectors, query.astype(np.float64))[position]


def _nodes_of(items: Evidence, graph: Graph) -> tuple[Ints, Ints]:
    """Return all nodes and the item of each; an item without nodes has the ends of its edges."""
    without_nodes = np.diff(items.node_ptr) == 0
    owner = owners(items.edge_ptr)
    selected = without_nodes[owner]
    nodes = np.concatenate((items.nodes, graph.ends(items.edges[selected])))
    return nodes, np.concatenate((owners(items.node_ptr), np.repeat(owner[selected], 2)))


def _index_cosines(index: VectorIndex, ids: Ints, query: Floats) -> Scores:
    distinct_ids, position = distinct(ids)
    return index.cosines(distinct_ids, query)[position]


@dataclass(frozen=True, repr=False)
class MaskEntities(Composite):
    """Run a step on the question with entity names replaced by `mask`, then restore the question.

    A name has no information about the requested relation, and relation paths contain no names. On MetaQA's training
    questions over three relations, the nodes that the first relation path leads to have a mean F1 of 0.46 with the
    names and of 0.65 without them (benchmarks/published/lego.py; the embedded encoder).

    >>> from graphwright import Rerank, start; from graphwright.models import HashEncoder
    >>> film = Graph.from_triples([("Heat", "about", "a direct man"), ("Heat", "direct", "Mann")])
    >>> state = start("Direct man: who direct?", film, entities=["Direct Man"], evidence=Evidence.of_edges([0, 1]))
    >>> step = Rerank(HashEncoder()) % 1
    >>> step(state).evidence.texts(film), MaskEntities(step)(state).evidence.texts(film)
    (['Heat about a direct man'], ['Heat direct Mann'])
    """

    step: Operator
    mask: str = "X"

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        text = mask_names(state, self.mask)
        masked = state.with_(question=replace(state.question, text=text)) if text.strip() else state
        return self.step.execute(masked, run, k).with_(question=state.question)


@dataclass(frozen=True, repr=False)
class LengthPenalty(Composite):
    """Subtract from each item's score, for every edge, `penalty` / the number of content words of the question.

    An encoder prefers a path that continues past the answer, but a question with few content words asks for few
    relations; content words are neither stop words nor part of a name. `penalty` is meant for cosines. On 150 of
    MetaQA's training questions, the nodes that the first relation path leads to have a mean F1 of 0.33 without it, and
    of 0.56, 0.59, 0.55 at 0.1, 0.15, 0.2.
    """

    step: Operator
    penalty: Annotated[float, AtLeast(0)] = 0.15

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        after = self.step.execute(state, run)
        evidence = after.evidence
        if evidence is not None and evidence.scores is not None:
            per_edge = self.penalty / max(len(words(mask_names(state, " "))), 1)
            scores = evidence.scores - per_edge * np.diff(evidence.edge_ptr)
            after = after.with_(evidence=evidence.take(range(len(evidence)), scores))
        return top_of(after, ("evidence",), k)


def mask_names(state: State, mask: str) -> str:
    """Return the question with `mask` for each name: the texts of anchors, and the names of their nodes."""
    anchors = state.anchors or ()
    names = {name for anchor in anchors for name in (anchor.text, *state.graph.names.take(anchor.nodes))}
    text = state.question.text
    for name in sorted({*names, *state.question.entities}, key=len, reverse=True):
        if parts := re.findall(r"[^\W_]+", name):  # the words of a name may be separated differently in the question
            pattern = "|".join((re.escape(name), r"[\W_]+".join(map(re.escape, parts))))
            text = re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", lambda _: mask, text, flags=re.IGNORECASE)
    return text


_NAME = "x"  # replaces a node that the question names, in question and pattern
_LETTERS = "yzwvutsrq"  # other nodes, in the order of the pattern


@dataclass(frozen=True, repr=False)
class Patterns(Scorer):
    """Score an item by its relations alone: the cosine of the question and the item's pattern, all names masked.

    Entities of the question become x in question and pattern, other nodes y, z and so on: "who acted in films by the
    director of x" and "x directed by y; z directed by y; z starred actors w". An item without edges scores 0. `model`:
    an Encoder, which reads each distinct pattern once.
    """

    model: Annotated[Encoder, ModelOf(Encoder)]

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        query = run.encode(self.model, [mask_names(state, _NAME)])[0].astype(np.float64)

        def scores(items: Evidence) -> Scores:
            texts, position = _pattern_texts(state, items)
            if not texts:
                return np.zeros(len(items))
            values = cosines(run.encode(self.model, texts).astype(np.float64), query)
            return np.where(np.diff(items.edge_ptr) > 0, values[position], 0.0)

        return scores

    def texts(self, state: State, items: Evidence) -> list[str]:
        """Return the pattern of each item, as the model reads it."""
        texts, position = _pattern_texts(state, items)
        return [texts[i] for i in position.tolist()]


def _pattern_texts(state: State, items: Evidence) -> tuple[list[str], Ints]:
    """Return the texts of the distinct patterns, and the position of each item's pattern among them."""
    named = state.anchor_nodes()
    lengths, position = np.diff(items.edge_ptr), np.zeros(len(items), np.int64)
    texts: list[str] = []
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        table = _patterns(state.graph, items.edges[items.edge_ptr[rows, None] + np.arange(length)], named)
        numbers: dict[tuple[int, ...], int] = {}
        position[rows] = [len(texts) + numbers.setdefault(tuple(row), len(numbers)) for row in table.tolist()]
        texts += [_pattern_text(state.graph, row[:length], row[length:]) for row in numbers]
    return texts, position


def _patterns(graph: Graph, edges: Ints, named: Ints) -> Ints:
    """Return the patterns of items with n edges each: int64[items, 3 n].

    A pattern is the relations of the edges, then for each head and tail in turn the first position of this node among
    the ends, -1 for a node that the question names.
    """
    columns = graph.columns
    ends = np.stack((columns.heads[edges], columns.tails[edges]), axis=2).reshape(len(edges), -1)
    first = np.empty_like(ends)
    for place in range(ends.shape[1]):
        first[:, place] = (ends[:, : place + 1] == ends[:, place, None]).argmax(axis=1)
    first[np.isin(ends, named)] = -1
    return np.column_stack((columns.relation[edges], first)).astype(np.int64)


def _pattern_text(graph: Graph, relations: Sequence[int], first: Sequence[int]) -> str:
    letters = {-1: _NAME}
    for place in first:
        number = len(letters) - 1
        letters.setdefault(place, _LETTERS[number] if number < len(_LETTERS) else f"x{number}")
    texts = [relation_words(graph, (2 * relation + 1,)) for relation in relations]
    return "; ".join(f"{letters[first[2 * i]]} {text} {letters[first[2 * i + 1]]}" for i, text in enumerate(texts))
