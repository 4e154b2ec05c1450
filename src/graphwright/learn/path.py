"""The path retriever: a decoder that generates relation paths, grounded by beam search (ReG@Path, Eq. 35)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from graphwright.constraints import AtLeast, Has
from graphwright.errors import DataError
from graphwright.graph import Evidence, Graph, Item
from graphwright.graph.evidence import Scores
from graphwright.graph.walks import (
    MAX_EDGES,
    RelationPath,
    Ways,
    bundle_of,
    extension_cost,
    extensions,
    path_from,
    relation_text,
    ways_of,
)
from graphwright.learn.network import relu
from graphwright.learn.retriever import Retriever
from graphwright.learn.training import Samples, Schedule, Trained, Training
from graphwright.models.protocols import Floats
from graphwright.operators import Instances, Operator, Ranker, Run, ScoreFunction, State
from graphwright.operators.paths.node_paths import query_entities
from graphwright.search import VectorIndex

if TYPE_CHECKING:
    from graphwright.learn.labels import Progress

_HIDDEN = 128  # numbers of the decoder's state
_MIN_STEPS = 2_000  # of a training: they are cheap, and after 400 the paths of three relations are not learned yet


@dataclass(frozen=True, repr=False)
class PathRetriever(Retriever):
    """Retriever that scores relation paths by their probability in a decoder (ReG@Path, RoG's planner).

    The score of a walk is log p(r(P) | q), its end included (Eq. 35). Relations are embedded by their words, so that
    unseen relations have scores too. The paper fine-tunes a language model. `width`: of the beam (the paper's k).
    """

    width: int = 20

    def search(self, k: int) -> Operator:
        """Return an operator that retrieves the k best walks by the generated relation paths."""
        return self.paths() >> Instances(returning=True) % k

    def paths(self) -> Operator:
        """Return an operator that generates the best relation paths."""
        return Decode(self, int(self.checkpoint.about["length"]), self.width)

    @property
    def meaning(self) -> float:
        """What the cosine of question and path counts in generation, chosen in training (see `calibration`)."""
        return float(self.checkpoint.about.get("meaning", 0.0))

    def nearness(self, state: State, run: Run, paths: Sequence[Ways]) -> Scores:
        """Return the cosine of the question with the words of each relation path."""
        decoder = self.decoder(state, run)
        return np.array([decoder.nearness(path) for path in paths])

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the log-probability of an item's relation path; each path is computed once."""
        graph, log_probability = state.graph, cache(self.decoder(state, run).path_log_probability)
        return lambda items: np.array([log_probability(_path_of(graph, item)) for item in items.items()])

    def decoder(self, state: State, run: Run) -> Decoder:
        """Return the decoder for the question of a state and the relations of its graph."""
        graph = state.graph
        every = range(len(graph.columns.relations))
        relations = every if graph.whole else np.unique(graph.columns.relation[graph.edges]).tolist()
        vectors = self.relation_vectors(graph, relations, run)
        return Decoder(self.weights, self.question_vector(state, run), vectors, relations)


def _path_of(graph: Graph, item: Item) -> Ways:
    """Return the directed relations of an item: the first of each step of a bundle, edge by edge for other items."""
    bundle = bundle_of(graph, item)
    if bundle is None:
        return ways_of(graph, item.steps)
    return tuple(way for way, *_ in bundle.ways)


class Decoder:
    """A generator of relation paths: an Elman network with the question as input of every step.

    `questions`: [n, d]; `vectors`: of the relations, [r, d]; NumPy arrays, or tensors for training. `relations`: the
    relation of each vector, for the inference of one question.
    """

    def __init__(self, w: Mapping[str, Any], questions: Any, vectors: Any, relations: Sequence[int] = ()) -> None:
        """Embed each relation in both directions: first from tail to head, then from head to tail."""
        self.w, self.questions, self.vectors = w, questions, vectors
        self.embeddings = (vectors @ w["relation"]).reshape(2 * vectors.shape[0], -1)
        self.row_of = {2 * relation + way: 2 * row + way for row, relation in enumerate(relations) for way in (0, 1)}

    def begin(self) -> Any:
        """Return the states before the first relation, [n, s]."""
        return relu(self.questions @ self.w["question"] + self.w["start"])

    def advance(self, states: Any, rows: Any) -> Any:
        """Return the states after one more directed relation each, given by row."""
        w = self.w
        return relu(states @ w["carry"] + self.embeddings[rows] @ w["step"] + self.questions @ w["again"] + w["bias"])

    def logits(self, states: Any) -> tuple[Any, Any]:
        """Return the logits of each directed relation, [n, 2 · r], and of the end, [n, 1]."""
        return (states @ self.w["write"]) @ self.embeddings.T, states @ self.w["end weights"] + self.w["end"]

    def log_probabilities(self, state: Any) -> tuple[Scores, float]:
        """Return the log-probability of each directed relation, by row, and of the end, for one question."""
        relations, end = self.logits(state)
        logits = np.concatenate((relations[0], end[0])).astype(np.float64)
        logits -= logits.max() + np.log(np.exp(logits - logits.max()).sum())
        return logits[:-1], float(logits[-1])

    def nearness(self, path: Ways) -> float:
        """Return the cosine of the question with the mean vector of the relations of a path, for one question."""
        mean = self.vectors[[self.row_of[directed_relation] >> 1 for directed_relation in path]].mean(axis=0)
        return float(self.questions[0] @ mean / max(float(np.linalg.norm(mean)), 1e-12))

    def path_log_probability(self, path: Ways) -> float:
        """Return the log-probability of a relation path with its end, for one question."""
        state, total = self.begin(), 0.0
        for row in (self.row_of[directed_relation] for directed_relation in path):
            total += float(self.log_probabilities(state)[0][row])
            state = self.advance(state, [row])
        return total + self.log_probabilities(state)[1]


@dataclass(frozen=True, repr=False)
class Decode(Ranker):
    """Generate the most probable relation paths that exist in the graph, by beam search from every query entity.

    This combines RoG's planning and ReG@Path's grounding: at each step the `width` best prefixes are extended by every
    relation from their ends; a prefix may end at any step. An item is one walk by a relation path, as in RelationPaths.
    Its score is the log-probability, plus `meaning` of the retriever times the cosine of the question with the
    relations; the `width` best are returned. `length`: maximum number of relations; `max_edges`: read from one entity.
    """

    retriever: Annotated[PathRetriever, Has("a trained path retriever", "decoder")]
    length: Annotated[int, AtLeast(1)] = 4
    width: Annotated[int, AtLeast(1)] = 20
    max_edges: Annotated[int, AtLeast(1)] = MAX_EDGES
    needs = ("anchors|evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        graph, paths = state.graph, list[tuple[float, RelationPath]]()
        if not len(graph.edges):
            return state.with_(evidence=Evidence.of_items([], [], relation_text))
        decoder = self.retriever.decoder(state, run)
        for source in graph.at(query_entities(state)).tolist():
            paths += self._from(graph, source, decoder, run)
        meaning = self.retriever.meaning
        paths = [(score + meaning * decoder.nearness(path.ways), path) for score, path in paths] if meaning else paths
        paths = sorted(paths, key=_order)[: self.width]
        items = [path.example(graph) for _, path in paths]
        return state.with_(
            evidence=Evidence.of_paths(graph, items, [score for score, _ in paths], relation_text).top(k)
        )

    def _from(self, graph: Graph, source: int, decoder: Decoder, run: Run) -> list[tuple[float, RelationPath]]:
        left = int(self.max_edges)
        beam = [(0.0, decoder.begin(), path_from(graph, source))]
        ended: list[tuple[float, RelationPath]] = []
        for _ in range(self.length):
            longer: list[tuple[float, RelationPath, Floats]] = []
            for total, state, path in beam:
                cost = extension_cost(graph, path)
                if cost > left:
                    run.note("a relation path leads to too many nodes to be extended; raise `max_edges`")
                    continue
                left -= cost
                chances = decoder.log_probabilities(state)[0]
                longer += [
                    (total + float(chances[decoder.row_of[after.ways[-1]]]), after, state)
                    for after in extensions(graph, path, returning=True)
                ]
            best = sorted(longer, key=_order)[: self.width]
            beam = [
                (total, decoder.advance(state, [decoder.row_of[path.ways[-1]]]), path) for total, path, state in best
            ]
            ended += [(total + decoder.log_probabilities(state)[1], path) for total, state, path in beam]
        return ended


def _order(scored: tuple[Any, ...]) -> tuple[float, Ways]:
    return -scored[0], scored[1].ways


def train_path(
    samples: Samples, names: VectorIndex | None, schedule: Schedule, progress: Progress | None = None
) -> Trained:
    """Return the weights of a path retriever, and its configuration for the checkpoint; `names` are not read.

    The loss is the negative log-likelihood of each labelled relation path and its end, against the directed relations
    of all questions. The best epoch has the most held-out questions whose most probable path is a labelled one.
    """
    samples = samples.part([at for at, row in enumerate(samples.rows) if row.paths])
    if not samples.rows:
        raise DataError("No label has a path from an entity of its question, so there is nothing to learn.")
    training = Training(samples, schedule, progress)
    torch, learned, held_out = training.torch, training.learned, training.held_out
    relations = torch.from_numpy(samples.relations)

    def log_probabilities(w: Mapping[str, Any], part: Samples, batch: list[int]) -> tuple[Any, Any, Any]:
        """Return the log-probabilities along the paths of a batch, [paths, steps + 1, directed relations + 1]."""
        last = 2 * len(relations) - 1
        table, owner = _path_table(part, batch, last + 1)
        paths, decoder = torch.from_numpy(table), Decoder(w, torch.from_numpy(part.questions)[batch][owner], relations)
        states, steps = decoder.begin(), []
        for step in range(paths.shape[1]):
            steps.append(torch.log_softmax(torch.cat(decoder.logits(states), 1), 1))
            if step + 1 < paths.shape[1]:
                states = decoder.advance(states, paths[:, step].clip(0, last))
        return torch.stack(steps, 1), paths, owner

    def loss(w: Mapping[str, Any], batch: list[int], rng: np.random.Generator) -> Any:
        values, paths, _ = log_probabilities(w, learned, batch)
        taken = values.gather(2, paths.clip(min=0)[:, :, None])[:, :, 0]
        return -(taken * (paths >= 0)).sum(1).mean()

    def measure(w: Mapping[str, Floats]) -> float:
        every = list(range(len(held_out.rows)))
        with torch.no_grad():
            values, paths, owner = log_probabilities(training.tensors(w), held_out, every)
            right = ((values.argmax(2) == paths) | (paths < 0)).all(1).numpy()
        return float(np.mean([right[owner == at].any() for at in every]))

    weights, measures = training.fit(_initial(training, samples.questions.shape[1]), loss, measure, _MIN_STEPS)
    return weights, {
        "length": max(len(path) for row in samples.rows for path in row.paths),
        "first path kept": measures,
    }


def _initial(training: Training, dimension: int) -> dict[str, Any]:
    """Return the initial weights; the result for a seed depends on the order of the draws."""
    sizes = {
        "question": (dimension, _HIDDEN),
        "again": (dimension, _HIDDEN),
        "relation": (dimension, _HIDDEN),  # two halves: against a relation and along it
        "step": (_HIDDEN // 2, _HIDDEN),
        "carry": (_HIDDEN, _HIDDEN),
        "write": (_HIDDEN, _HIDDEN // 2),
        "end weights": (_HIDDEN, 1),
    }
    w = {name: training.weight(*size, unit=size[0] == dimension) for name, size in sizes.items()}
    zeros = training.torch.zeros
    return w | {"start": zeros(_HIDDEN), "bias": zeros(_HIDDEN), "end": zeros(1)}


def _path_table(samples: Samples, batch: list[int], end: int) -> tuple[Any, Any]:
    """Return the relation paths of a batch with their `end`, one a row, padded with -1; and the question of each."""
    paths = [(at, path) for at, position in enumerate(batch) for path in samples.rows[position].paths]
    table = np.full((len(paths), max((len(path) for _, path in paths), default=0) + 1), -1, np.int64)
    for row, (_, path) in enumerate(paths):
        table[row, : len(path)] = path
        table[row, len(path)] = end
    return table, np.array([at for at, _ in paths], np.int64)
