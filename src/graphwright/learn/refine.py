"""Refinement: choose the candidate paths that explain the answers, not chance connections (ReG, 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Between, Checked
from graphwright.graph import Graph
from graphwright.graph.walks import Ways, relation_label, relation_path, relation_words
from graphwright.learn.candidates import ANSWER, QUERY, SHORTEST, Candidate, Example, Pool
from graphwright.models import LLM, Encoder
from graphwright.operators import Anchor, Run, start
from graphwright.operators.rerank.scorer import mask_names
from graphwright.prompts.templates import PROMPTS, data_line, spaced_tokens

_BLOCK = 2_048  # questions compared at once


class LabelledPath(NamedTuple):
    """A candidate chosen as an explanation; `support`: how well it explains similar questions; `near`: its cosine."""

    candidate: Candidate
    support: float
    near: float


RefineOne = Callable[[int], list[LabelledPath]]  # returns the chosen paths of a question, by position; best first


class Refiner(Protocol):
    """A choice among the candidates of questions: SignalRefiner of ReG, Eq. 6."""

    @property
    def id(self) -> str:
        """Name of the refiner with everything that changes its choices."""
        ...

    def prepare(self, graph: Graph, examples: Sequence[Example], pools: Sequence[Pool]) -> RefineOne:
        """Prepare for all questions, and return a function that refines the labels of one."""
        ...


@dataclass(frozen=True)
class ShortestPathLabels:
    """Choose every shortest path: the weak supervision that other retrievers are trained on (G^w of ReG)."""

    id: str = "shortest"

    def prepare(self, graph: Graph, examples: Sequence[Example], pools: Sequence[Pool]) -> RefineOne:
        """Return the choice of all shortest paths."""
        return lambda at: [LabelledPath(c, 1.0, 0.0) for c in pools[at].candidates if c.pool == SHORTEST]


@dataclass(frozen=True)
class CosineRefiner(Checked):
    """Choose the shortest paths whose cosine with the question is within `slack` of the highest.

    Entities are masked in the question, and the text of a path is that of its relations.
    """

    encoder: Encoder
    slack: Annotated[float, AtLeast(0)] = 0.1

    @property
    def id(self) -> str:
        """Name, slack and encoder."""
        return f"cosine-{self.slack:g}-{getattr(self.encoder, 'id', '')}"

    def prepare(self, graph: Graph, examples: Sequence[Example], pools: Sequence[Pool]) -> RefineOne:
        """Encode the questions."""
        vectors = _Vectors(self.encoder, graph, examples)

        def refine(at: int) -> list[LabelledPath]:
            shortest = [c for c in pools[at].candidates if c.pool == SHORTEST]
            cosines = vectors.cosines(at, [c.ways for c in shortest]).tolist()
            best = max(cosines, default=-1.0)
            chosen = [LabelledPath(c, 0.0, near) for c, near in zip(shortest, cosines, strict=True)]
            return sorted((p for p in chosen if p.near >= best - self.slack), key=lambda path: -path.near)

        return refine


@dataclass(frozen=True)
class NeighbourRefiner(Checked):
    """Choose the relation paths that best explain the answers of similar questions.

    Offline counterpart of LLMRefiner. The F1 of a relation path for a question compares its end nodes with the answers.
    One question has few answers, which other paths reach by chance; so `support` is the mean F1 over the `neighbours`
    most similar questions (entities masked), weighted by their cosines. The score of a path is its support, plus
    `meaning` times its cosine with the question. A path is chosen if it reaches an answer of this question, and its
    score is at least the share `share` of the best score. The best paths of these questions are candidates too, even
    if they are not shortest paths here: weak supervision misses them (ReG, section 3.1).
    """

    encoder: Encoder
    share: Annotated[float, Between(0, 1, open_low=True)] = 0.8
    meaning: Annotated[float, AtLeast(0)] = 0.25
    neighbours: Annotated[int, AtLeast(1)] = 32

    @property
    def id(self) -> str:
        """Name, parameters and encoder."""
        encoder = getattr(self.encoder, "id", "")
        return f"neighbours-all-{self.share:g}-{self.meaning:g}-{self.neighbours}-{encoder}"

    def prepare(self, graph: Graph, examples: Sequence[Example], pools: Sequence[Pool]) -> RefineOne:
        """Find the neighbours of each question."""
        return _Neighbourhoods(self, graph, examples, pools).refine


class _Neighbourhoods:
    """The questions most similar to each, and how well relation paths explain them."""

    def __init__(
        self, refiner: NeighbourRefiner, graph: Graph, examples: Sequence[Example], pools: Sequence[Pool]
    ) -> None:
        self.refiner, self.graph, self.examples, self.pools = refiner, graph, examples, pools
        self.vectors = _Vectors(refiner.encoder, graph, examples)
        self.neighbours = self.vectors.neighbours(refiner.neighbours)
        self.f1, self.best_paths = cache(self._f1), cache(self._best_paths)

    def refine(self, at: int) -> list[LabelledPath]:
        """Return the chosen paths of one question, entity by entity."""
        paths = []
        for entity in self.examples[at].entities:
            pool = [c for c in self.pools[at].candidates if c.pool != ANSWER and c.source == entity]
            paths += self._choose(at, entity, pool)
        return sorted(paths, key=lambda path: -path.support)

    def _choose(self, at: int, entity: int, pool: list[Candidate]) -> list[LabelledPath]:
        ways = [c.ways for c in pool]
        borrowed = [Candidate(entity, path, SHORTEST) for path in self._borrowed(at) if path not in ways]
        candidates = [c for c in pool + borrowed if self.f1(at, c.ways, entity) > 0]
        if not candidates:
            return []
        support = np.array([self.support(at, c.ways) for c in candidates])
        near = self.vectors.cosines(at, [c.ways for c in candidates])
        scores = support + self.refiner.meaning * np.maximum(near, 0.0)
        good = np.flatnonzero(scores >= self.refiner.share * scores.max())
        return [LabelledPath(candidates[i], float(support[i]), float(near[i])) for i in good.tolist()]

    def _borrowed(self, at: int) -> list[Ways]:
        """Return the relation paths that best explain each of the similar questions."""
        others = self.neighbours[0][at][1:].tolist()
        return list(dict.fromkeys(ways for other in others for ways in self.best_paths(other)))

    def _best_paths(self, at: int) -> list[Ways]:
        """Return the shortest paths of a question with the highest F1."""
        paths = [c.ways for c in self.pools[at].candidates if c.pool == SHORTEST]
        f1 = [self.best_f1(at, ways) for ways in paths]
        return [ways for ways, value in zip(paths, f1, strict=True) if value == max(f1)]

    def support(self, at: int, ways: Ways) -> float:
        """Return the mean F1 of a relation path over the neighbours of a question, weighted by their cosines."""
        others, cosines = (column[at] for column in self.neighbours)
        # The fourth power: near-identical questions dominate, and merely similar ones hardly count.
        weights = np.maximum(cosines.astype(np.float64), 0.0) ** 4
        f1 = np.array([self.best_f1(other, ways) for other in others.tolist()])
        return float(weights @ f1 / max(weights.sum(), 1e-12))

    def best_f1(self, at: int, ways: Ways) -> float:
        """Return the F1 of a relation path from the query entity that it fits best."""
        return max(self.f1(at, ways, entity) for entity in self.examples[at].entities)

    def _f1(self, at: int, ways: Ways, entity: int) -> float:
        """Return the F1 of the ends of a relation path from a query entity against the answers."""
        walked = relation_path(self.graph, entity, ways, returning=True)
        if walked is None:
            return 0.0
        answers = self.examples[at].answers
        hits = int(np.isin(np.array(answers), walked.targets).sum())
        return 2 * hits / (len(walked.targets) + len(answers))


class _Vectors:
    """Vectors of questions, entities masked, and of the words of relation paths."""

    def __init__(self, encoder: Encoder, graph: Graph, examples: Sequence[Example]) -> None:
        self.graph, self.encoder, self.run = graph, encoder, Run()  # the run caches the paths' vectors
        texts = [masked_question(graph, example) for example in examples]
        row = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        vectors = np.asarray(encoder.encode(list(row)), np.float32) if row else np.empty((0, 1), np.float32)
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        self.questions = vectors[[row[text] for text in texts]]

    def cosines(self, at: int, paths: Sequence[Ways]) -> NDArray[np.float64]:
        """Return the cosine of a question with each relation path."""
        if not paths:
            return np.empty(0)
        texts = [relation_words(self.graph, ways) for ways in paths]
        vectors = self.run.encode(self.encoder, texts).astype(np.float64)
        cosines: NDArray[np.float64] = vectors @ self.questions[at] / np.maximum(np.linalg.norm(vectors, axis=1), 1e-12)
        return cosines

    def neighbours(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the most similar questions of each question, itself first, and their cosines."""
        size = len(self.questions)
        count = min(count, size)
        nearest, values = np.empty((size, count), np.int64), np.empty((size, count), np.float32)
        for begin in range(0, size, _BLOCK):
            cosines = self.questions[begin : begin + _BLOCK] @ self.questions.T
            rows = np.arange(len(cosines))
            cosines[rows, begin + rows] = 2.0  # so that the question itself comes first
            best = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
            order = np.argsort(-np.take_along_axis(cosines, best, 1), axis=1, kind="stable")
            block = slice(begin, begin + len(rows))
            nearest[block] = np.take_along_axis(best, order, 1)
            values[block] = np.minimum(np.take_along_axis(cosines, nearest[block], 1), 1.0)
        return nearest, values


@dataclass(frozen=True)
class LLMRefiner(Checked):
    """Choose candidates by a language model (ReG, figure 6, with our own prompt).

    The model is shown the question, its answers and at most `max_paths` candidates, each as one path written out:
    shortest paths first, then those at query entities, then those at answers. A malformed reply chooses nothing, and a
    number that was not shown is ignored.
    """

    model: LLM
    max_paths: Annotated[int, AtLeast(1)] = 100

    @property
    def id(self) -> str:
        """Model, prompt and number of paths."""
        return f"{self.model.id}-{PROMPTS.checksum('refine')}-{self.max_paths}"

    def prepare(self, graph: Graph, examples: Sequence[Example], pools: Sequence[Pool]) -> RefineOne:
        """Return the choice of the model."""

        def refine(at: int) -> list[LabelledPath]:
            order = (SHORTEST, QUERY, ANSWER)
            shown = sorted(pools[at].candidates, key=lambda c: order.index(c.pool))[: self.max_paths]
            if not shown:
                return []
            example = examples[at]
            lines = [data_line({"path": n, "text": _path_text(graph, c, example)}) for n, c in enumerate(shown)]
            reply = Run().reply(
                self.model,
                "refine",
                question=data_line({"question": example.text}),
                answers=data_line({"answers": [graph.names[node] for node in example.answers[:20]]}),
                paths="\n".join(lines),
            )
            numbers = () if reply is None else dict.fromkeys(reply.paths)
            return [LabelledPath(shown[n], 1.0, 0.0) for n in numbers if 0 <= n < len(shown)]

        return refine


def masked_question(graph: Graph, example: Example) -> str:
    """Return a question with x in place of its entities."""
    return mask_names(start(example.text, graph, anchors=[Anchor("", nodes=np.array(example.entities))]), "x")


def _path_text(graph: Graph, candidate: Candidate, example: Example) -> str:
    """Return one of the paths of a candidate, to an answer if there is one: `Q → [r] → a → [s⁻¹] → x`."""
    walked = relation_path(graph, candidate.source, candidate.ways, returning=True)
    if walked is None:
        return graph.names[candidate.source]
    walks = graph.at(walked.walks()[0])
    nodes = walks[int(np.isin(walks[:, -1], example.answers).argmax())].tolist()
    steps = [graph.names[nodes[0]]]
    for way, node in zip(candidate.ways, nodes[1:], strict=True):
        steps += [spaced_tokens(f"[{relation_label(graph, way)}]"), graph.names[node]]
    return " → ".join(steps)
