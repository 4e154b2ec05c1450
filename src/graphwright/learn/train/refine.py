"""Refinement: which candidate paths explain a question's answers, and which only happen to lead there (ReG, 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import LLMResponseError, OptionError
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import Ways, labelled_edges, relation_path, relation_words
from graphwright.graph.walks import relation_label
from graphwright.learn.train.candidates import ANSWER, QUERY, SHORTEST, Candidate, Pool
from graphwright.learn.train.examples import Example
from graphwright.models.protocols import LLM, Encoder
from graphwright.operators.rerank.masked import masked
from graphwright.operators.rerank.scorer import Memory
from graphwright.operators.state import Anchor, start
from graphwright.prompts import data_line, messages

__all__ = ["Chosen", "Explains", "Judged", "Kept", "Near", "Refiner", "Weak", "hidden"]

_LIKE = 32  # questions that a question is judged among
_NEAREST = 4  # of these, whose relation paths it may borrow
_BLOCK = 2_048  # questions compared at once
_SHOWN = 100  # candidates that a language model is shown


class Kept(NamedTuple):
    """A candidate that was kept; `support`, `near`: how well it explains like questions, and how near it reads."""

    candidate: Candidate
    support: float
    near: float


class Refiner(Protocol):
    """What chooses among the candidates of questions: SignalRefiner of ReG, Eq. 6."""

    @property
    def id(self) -> str:
        """Name of what chooses, and of all that changes what it chooses."""
        ...

    def prepare(self, graph: Graph, examples: Sequence[Example], pools: Sequence[Pool]) -> Judged:
        """Look at all questions, and return what refines one of them, by its place."""
        ...


Judged = Callable[[int], list[Kept]]
"""The candidates of question number i that are kept, best first."""


@dataclass(frozen=True)
class Weak:
    """Keep every shortest path: the weak supervision that others train on (G^w of ReG)."""

    id: str = "weak"

    def prepare(self, graph: Graph, examples: Sequence[Example], pools: Sequence[Pool]) -> Judged:
        """Need nothing."""
        return lambda at: [Kept(c, 1.0, 0.0) for c in pools[at].candidates if c.pool == SHORTEST]


@dataclass(frozen=True)
class Near:
    """Keep the shortest paths that read most like the question: within `slack` of the nearest, by cosine.

    Question and path as for Explains. What a reader without the graph would choose by.
    """

    encoder: Encoder
    slack: float = 0.1

    @property
    def id(self) -> str:
        """Its name and its constant."""
        return f"near-{self.slack:g}-{getattr(self.encoder, 'id', '')}"

    def prepare(self, graph: Graph, examples: Sequence[Example], pools: Sequence[Pool]) -> Judged:
        """Read the questions."""
        reading = _Reading(self.encoder, graph, examples)

        def kept(at: int) -> list[Kept]:
            found = [c for c in pools[at].candidates if c.pool == SHORTEST]
            near = reading.near(at, [c.ways for c in found])
            best = near.max(initial=-1.0)
            chosen = [Kept(c, 0.0, float(n)) for c, n in zip(found, near, strict=True) if n >= best - self.slack]
            return sorted(chosen, key=lambda one: -one.near)

        return kept


@dataclass(frozen=True)
class Explains:
    """Keep the relation paths that explain the answers of many questions like this one, and few that are no answers.

    The offline twin of Chosen. How well a relation path explains a question is the F1 of the nodes that it leads to
    against the answers. One question tells little by itself, since other paths too may lead to the few answers that it
    has; so it is judged among the `like` questions nearest to it, names masked: `support` is the mean of the F1 over
    these, weighted by their cosines. Kept is what has a share of `share` of the best support or more, after a share of
    `meaning` of how near path and question read was added, and reaches an answer of this very question. A path by which
    the nearest questions are best explained is a candidate here too, though it may be no shortest one here: what weak
    supervision leaves out (ReG, section 3.1).
    """

    encoder: Encoder
    share: float = 0.8
    meaning: float = 0.25
    like: int = _LIKE

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1 or self.meaning < 0 or self.like < 1:
            raise OptionError(f"{self!r}: share is from 0 to 1, meaning 0 or more, like 1 or more.")

    @property
    def id(self) -> str:
        """Its name and its constants."""
        return f"explains-{self.share:g}-{self.meaning:g}-{self.like}-{getattr(self.encoder, 'id', '')}"

    def prepare(self, graph: Graph, examples: Sequence[Example], pools: Sequence[Pool]) -> Judged:
        """Find for each question those like it."""
        reading = _Reading(self.encoder, graph, examples)
        return _Support(self, graph, examples, pools, reading).kept


@dataclass
class _Support:
    """How well relation paths explain each of many questions."""

    chosen: Explains
    graph: Graph
    examples: Sequence[Example]
    pools: Sequence[Pool]
    reading: _Reading
    known: dict[tuple[int, Ways], float] = field(default_factory=dict)

    @cached_property
    def beside(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The questions most like each, itself first, and how like they are."""
        return self.reading.neighbours(self.chosen.like)

    def kept(self, at: int) -> list[Kept]:
        """Return what is kept of one question's candidates, query entity by query entity."""
        found = []
        for entity in self.examples[at].entities:
            own = [c for c in self.pools[at].candidates if c.pool != ANSWER and c.source == entity]
            found += self._of(at, entity, own)
        return sorted(found, key=lambda one: -one.support)

    def _of(self, at: int, entity: int, own: list[Candidate]) -> list[Kept]:
        ways = [c.ways for c in own]
        borrowed = [way for way in self._borrowed(at) if way not in ways]
        candidates = own + [Candidate(entity, w, SHORTEST) for w in borrowed]
        candidates = [c for c in candidates if self.explained(at, c.ways, entity) > 0]
        if not candidates:
            return []
        support = np.array([self.support(at, c.ways) for c in candidates])
        near = self.reading.near(at, [c.ways for c in candidates])
        worth = support + self.chosen.meaning * np.maximum(near, 0.0)
        good = np.flatnonzero(worth >= self.chosen.share * worth.max())
        return [Kept(candidates[i], float(support[i]), float(near[i])) for i in good.tolist()]

    def _borrowed(self, at: int) -> list[Ways]:
        """Return the relation path by which each of the nearest questions is best explained."""
        found: dict[Ways, None] = {}
        for other in self.beside[0][at][1 : 1 + _NEAREST].tolist():
            paths = [c.ways for c in self.pools[other].candidates if c.pool == SHORTEST]
            if paths:
                found[max(paths, key=lambda way: self.explained(other, way))] = None
        return list(found)

    def support(self, at: int, ways: Ways) -> float:
        """Return the mean F1 of a relation path over the questions like this one."""
        others, like = self.beside
        weights = (
            np.maximum(like[at].astype(np.float64), 0.0) ** 4
        )  # those that ask the same count, not those that nearly do
        told = np.array([self.explained(other, ways) for other in others[at].tolist()])
        return float(weights @ told / max(weights.sum(), 1e-12))

    def explained(self, at: int, ways: Ways, entity: int | None = None) -> float:
        """Return the F1 of what a relation path leads to against the answers, from one query entity or the best."""
        example = self.examples[at]
        if entity is None or len(example.entities) == 1:
            if (at, ways) not in self.known:
                self.known[at, ways] = max(self._f1(example, source, ways) for source in example.entities)
            return self.known[at, ways]
        return self._f1(example, entity, ways)

    def _f1(self, example: Example, source: int, ways: Ways) -> float:
        found = relation_path(self.graph, source, ways, self._edges)
        if found is None:
            return 0.0
        hit = int(np.isin(np.array(example.answers), found.ends).sum())
        return 2 * hit / (len(found.ends) + len(example.answers))

    @cached_property
    def _edges(self) -> Any:
        return labelled_edges(self.graph)


class _Reading:
    """Questions and relation paths as vectors: names masked in the one, and none in the other."""

    def __init__(self, encoder: Encoder, graph: Graph, examples: Sequence[Example]) -> None:
        self.graph, self.memory = graph, Memory(encoder)
        texts = [hidden(graph, example) for example in examples]
        row = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        vectors = np.asarray(encoder.encode(list(row)), np.float32) if row else np.empty((0, 1), np.float32)
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        self.vectors = vectors[[row[text] for text in texts]]

    def near(self, at: int, ways: Sequence[Ways]) -> NDArray[np.float64]:
        """Return the cosine of a question with each relation path."""
        if not ways:
            return np.empty(0)
        paths = self.memory.encode([relation_words(self.graph, way) for way in ways])
        near: NDArray[np.float64] = paths @ self.vectors[at] / np.maximum(np.linalg.norm(paths, axis=1), 1e-12)
        return near

    def neighbours(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return for each question those most like it, itself first, and the cosines."""
        size = len(self.vectors)
        count = min(count, size)
        best, like = np.empty((size, count), np.int64), np.empty((size, count), np.float32)
        for begin in range(0, size, _BLOCK):
            cosines = self.vectors[begin : begin + _BLOCK] @ self.vectors.T
            rows = np.arange(len(cosines))
            cosines[rows, begin + rows] = 2.0  # so that itself comes first
            some = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
            order = np.argsort(-np.take_along_axis(cosines, some, 1), axis=1, kind="stable")
            best[begin : begin + len(rows)] = np.take_along_axis(some, order, 1)
            found = np.take_along_axis(cosines, best[begin : begin + len(rows)], 1)
            like[begin : begin + len(rows)] = np.minimum(found, 1.0)
        return best, like


@dataclass(frozen=True)
class Chosen:
    """Keep what a language model chooses among the candidates (ReG, figure 6, in our words).

    It is shown the question, its answers and the candidates, each as one path written out, `shown` at most: shortest
    paths first, then those at query entities, then those at answers. A reply that is none, or names a candidate that is
    not there, keeps nothing of it.
    """

    model: LLM
    shown: int = _SHOWN

    @property
    def id(self) -> str:
        """The model, and the words that it is asked with."""
        from graphwright.prompts import checksum

        return f"{self.model.id}-{checksum('refine')}-{self.shown}"

    def prepare(self, graph: Graph, examples: Sequence[Example], pools: Sequence[Pool]) -> Judged:
        """Need nothing."""
        known = labelled_edges(graph)

        def kept(at: int) -> list[Kept]:
            order = (SHORTEST, QUERY, ANSWER)
            found = sorted(pools[at].candidates, key=lambda c: order.index(c.pool))[: self.shown]
            if not found:
                return []
            example = examples[at]
            lines = [data_line({"path": n, "text": _one(graph, c, example, known)}) for n, c in enumerate(found)]
            asked = messages(
                "refine",
                question=data_line({"question": example.text}),
                answers=data_line({"answers": [graph.names[node] for node in example.answers[:20]]}),
                paths="\n".join(lines),
            )
            try:
                chosen = self.model.complete(*asked, schema=_schema()).value.paths
            except LLMResponseError:
                return []
            return [Kept(found[n], 1.0, 0.0) for n in dict.fromkeys(chosen) if 0 <= n < len(found)]

        return kept


def hidden(graph: Graph, example: Example) -> str:
    """Return a question with x for what it names."""
    return masked(start(example.text, graph, anchors=[Anchor("", nodes=np.array(example.entities))]), "x")


def _one(graph: Graph, candidate: Candidate, example: Example, known: Any) -> str:
    """Return one of the paths that a candidate stands for, to an answer if any: `Q → [r] → a → [s⁻¹] → x`."""
    found = relation_path(graph, candidate.source, candidate.ways, known)
    if found is None:
        return graph.names[candidate.source]
    walked = graph.at(found.walks()[0])
    nodes = walked[int(np.isin(walked[:, -1], example.answers).argmax())].tolist()
    steps = [graph.names[nodes[0]]]
    for way, node in zip(candidate.ways, nodes[1:], strict=True):
        steps += [f"[{relation_label(graph, way >> 1, bool(way & 1))}]", graph.names[node]]
    return " → ".join(steps)


@cache
def _schema() -> type[Any]:
    """Return what a reply must be, as a pydantic model."""
    from pydantic import create_model

    return create_model("Refined", paths=(list[int], ...))
