"""Entity masking in questions, a penalty for the length of paths, and scores by relations alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import relation_words
from graphwright.models.protocols import Encoder
from graphwright.operators.operator import Composite, Operator, top_of
from graphwright.operators.rerank.scorer import ModelOf, ScoreFunction, Scorer
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.search.vector_index import cosines
from graphwright.text.words import words


@dataclass(frozen=True, repr=False)
class MaskEntities(Composite):
    """Run a step on the question with entity names replaced by `mask`, then restore the question.

    A name has no information about the requested relation, but a model weighs its words like any others, and relation
    paths contain no names. On MetaQA's training questions over three relations, the nodes that the first relation path
    leads to have a mean F1 of 0.46 with the names and of 0.65 without them (benchmarks/published/lego.py; the embedded
    encoder).

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

    An encoder matches more of a question in a longer text, so it prefers a path that continues past the answer. But a
    question with few content words asks for few relations; content words are neither stop words (see `words`) nor part
    of a name. `penalty` is meant for cosines. It was chosen on 150 of MetaQA's training questions: the nodes that the
    first relation path leads to have a mean F1 of 0.33 without it, and of 0.56, 0.59, 0.55 at 0.1, 0.15, 0.2.

    >>> from graphwright import Keep, start
    >>> line = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> paths = Evidence.of_paths(line, [([0, 1], [0]), ([0, 1, 2], [0, 1])], [0.5, 0.53])
    >>> LengthPenalty(Keep())(start("What does it rule?", line, evidence=paths)).evidence.scores.round(2).tolist()
    [0.35, 0.23]
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
    """Return the question with `mask` for each name: the texts of anchors, and the names of their nodes.

    >>> from graphwright.operators.state import start
    >>> kin = Graph.from_triples([("Bertha_of_Milan", "child", "Ida")])
    >>> mask_names(start("Who is the child of bertha of milan?", kin, entities=["Bertha_of_Milan"]), "x")
    'Who is the child of x?'
    """
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
    director of x" and "x directed by y; z directed by y; z starred actors w". Names would outweigh the requested
    relations. Paths that differ only in their names have the same score, as they answer the same question. An item
    without edges scores 0. `model`: an Encoder, which reads each distinct pattern once.

    >>> from graphwright import start; from graphwright.models import HashEncoder
    >>> kin = Graph.from_triples([("Bertha", "child", "Ida"), ("Ida", "spouse", "Udo")])
    >>> state = start("Who is the spouse of the child of Bertha?", kin, entities=["Bertha"])
    >>> items = Evidence.of_paths(kin, [([0, 1, 2], [0, 1]), ([0, 1], [0])])
    >>> patterns = Patterns(HashEncoder())
    >>> patterns.texts(state, items), patterns.prepare(state, Run())(items).round(2).tolist()
    (['x child y; y spouse z', 'x child y'], [0.22, 0.21])
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
