"""Trained retrievers: checkpoint files, the base class, and ranking of chains by relation paths."""

from __future__ import annotations

import hashlib
import json
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from graphwright.constraints import AtLeast, Between, Has
from graphwright.errors import DataError, OptionError
from graphwright.files import whole
from graphwright.graph import Evidence, Graph
from graphwright.graph.evidence import Ints, Scores
from graphwright.graph.walks import Ways, leading_elsewhere, relation_paths, relation_words, walk_text, walks_along
from graphwright.learn.network import Batch, view_graph
from graphwright.models import Encoder
from graphwright.models.protocols import Floats
from graphwright.operators import Operator, Ranker, Run, ScoreFunction, Scorer, State
from graphwright.operators.paths.node_paths import query_entities
from graphwright.operators.rerank.scorer import mask_names
from graphwright.search import VectorIndex
from graphwright.search.vector_index import normalised

StepScores = Callable[[Ints, Ints], Scores]  # from nodes [walks, steps + 1] and edges [walks, steps] to scores


class StepModel(NamedTuple):
    """A retriever's scores of the steps of walks, for one question.

    `probabilities`: that each step's triple, or the node it leads to, is part of an explanation; `reach`: the score of
    the best walk that takes the step, at most 1; `log_likelihood`: of a relation path with its end, given the question.
    """

    probabilities: StepScores
    reach: StepScores
    log_likelihood: Callable[[Ways], float]


MASK = "x"  # replaces the entities of a question
MIN_PROBABILITY = 1e-3  # of a step

FORMAT = 2
_ABOUT = "about"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The weights of a retriever, by name.

    `level`: triple, entity or path. `about`: the encoder whose vectors it reads (`encoder`, `dimension`), its
    configuration, and the labels that it was trained on. `name`: that of its file.
    """

    level: str
    weights: Mapping[str, Floats]
    about: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""

    def save(self, path: Path | str) -> None:
        """Write the file atomically."""
        header = {**self.about, "retriever": FORMAT, "level": self.level}
        header["sum"] = self._sum(header)
        arrays: dict[str, Any] = {_ABOUT: np.frombuffer(json.dumps(header).encode(), np.uint8), **self.weights}
        with whole(path) as draft, draft.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    @cached_property
    def checksum(self) -> str:
        """Eight hexadecimal digits over level and weights."""
        digest = hashlib.blake2b(self.level.encode(), digest_size=4)
        for name in sorted(self.weights):
            digest.update(name.encode() + np.ascontiguousarray(self.weights[name]).tobytes())
        return digest.hexdigest()

    def _sum(self, header: Mapping[str, Any]) -> str:
        """Return the checksum of header and weights, so that a changed header is detected when the file is read."""
        content = json.dumps({name: value for name, value in header.items() if name != "sum"}, sort_keys=True)
        return hashlib.blake2b(f"{self.checksum}{content}".encode(), digest_size=8).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Checkpoint) and self.checksum == other.checksum

    def __hash__(self) -> int:
        return hash(self.checksum)

    def __repr__(self) -> str:
        return f"Checkpoint({self.name or self.level!r}, {self.checksum})"


def read_checkpoint(path: Path | str) -> Checkpoint:
    """Read a file that `Checkpoint.save` wrote. Raises DataError if it is missing, damaged or of another format."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: no such file. Train a retriever with graphwright train.")
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            about = json.loads(file[_ABOUT].tobytes())
            weights = {name: file[name] for name in file.files if name != _ABOUT}
        if about["retriever"] != FORMAT:
            raise ValueError
        checkpoint = Checkpoint(str(about["level"]), weights, about, path.name)
        if about.pop("sum") != checkpoint._sum(about):
            raise ValueError
    except Exception:  # a damaged archive fails in more ways than zipfile and numpy document
        raise DataError(
            f"{path} is not a trained retriever (format {FORMAT}). Train one with graphwright train."
        ) from None
    return checkpoint


@dataclass(frozen=True, repr=False)
class Retriever(Scorer):
    """A retriever trained on questions and answers (ReG, appendix D.3), which also scores any items.

    `names`: vectors of node names, needed if it was trained with them. The entities of questions are masked.
    Raises OptionError for an encoder other than that of training, and for missing names.
    """

    checkpoint: Checkpoint
    encoder: Encoder
    names: VectorIndex | None = None

    def __post_init__(self) -> None:
        about = self.checkpoint.about
        expected, actual = about.get("encoder"), getattr(self.encoder, "id", None)
        if expected and actual and expected != actual:
            raise OptionError(
                f"{self.checkpoint!r} was trained on vectors of {expected}, but this index has vectors of {actual}. "
                "Train it again over this index, or use an index made with that encoder."
            )
        if about.get("names") and self.names is None:
            raise OptionError(
                f"{self.checkpoint!r} needs vectors of node names, but this index has none. Make the index with "
                "--embed names, or train the retriever with --no-names."
            )

    @abstractmethod
    def search(self, k: int) -> Operator:
        """Return an operator that retrieves the k best: triples of the narrowed graph, or walks."""

    def step_model(self, state: State, run: Run) -> StepModel:
        """Return the scores of steps of walks."""
        raise OptionError(f"{self!r} retrieves whole paths and gives no scores of steps; use its `search`.")

    @property
    def weights(self) -> Mapping[str, Floats]:
        """The weights, by name."""
        return self.checkpoint.weights

    def question_vector(self, state: State, run: Run) -> Floats:
        """Return the vector of the question, entities masked: float32[1, dimension], of length 1."""
        return normalised(run.encode(self.encoder, [mask_names(state, MASK) or state.question.text]))

    def relation_vectors(self, graph: Graph, relations: Sequence[int], run: Run) -> Floats:
        """Return the vectors of relations; see `relation_vectors`."""
        if not len(relations):
            return np.empty((0, len(self.weights["question"])), np.float32)
        return relation_vectors(lambda texts: run.encode(self.encoder, texts), graph, relations)

    def inputs(self, state: State, run: Run) -> Batch:
        """Return the input of the network for the graph and the query entities of a state."""
        about = self.checkpoint.about
        view, relations = view_graph(state.graph, query_entities(state), int(about["rounds"]))
        vectors = self.relation_vectors(state.graph, relations.tolist(), run)
        return Batch.of([view], self.question_vector(state, run), vectors, self.names if about.get("names") else None)


def relation_vectors(encode: Callable[[list[str]], Floats], graph: Graph, relations: Sequence[int]) -> Floats:
    """Return the vectors of the words of relations: float32[len(relations), dimension], of length 1."""
    return normalised(np.asarray(encode([relation_words(graph, (2 * r + 1,)) for r in relations]), np.float32))


TRAINED = Has("a trained retriever, as load_retriever returns it", "step_model")


@dataclass(frozen=True, repr=False)
class LastNode(Scorer):
    """Score an item by the retriever's score of its last node: GNN-RAG's ranking of shortest paths.

    (Mavromatis and Karypis, 2024.) An item without nodes, such as a triple, is scored by its tail.
    """

    retriever: Annotated[Retriever, TRAINED]

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        score, tails = self.retriever.prepare(state, run), state.graph.columns.tails

        def scores(items: Evidence) -> Scores:
            last = [int(nodes[-1] if len(nodes) else tails[edges[-1]] if len(edges) else -1) for nodes, edges in items]
            distinct = np.unique([node for node in last if node >= 0])
            values = score(Evidence.of_nodes(distinct)) if len(distinct) else np.zeros(1)
            positions = np.minimum(np.searchsorted(distinct, last), max(len(distinct) - 1, 0))
            return np.where(np.array(last) >= 0, values[positions], -np.inf)

        return scores


_MAX_WALKS = 5_000  # of one relation path


@dataclass(frozen=True, repr=False)
class Explain(Ranker):
    """Rank chains of the evidence's triples from the query entities by the support of their relation path.

    Offline counterpart of a language model that reads chains (ReG, figure 7). The score of a relation path is the sum
    of its log-likelihood, end included, and its support: the mean over its steps of the logarithm of the mean
    probability of the edges taken there. Items are walks by a relation path, as in RelationPaths, one to each end node,
    which a shorter walk, or the walk itself, may have passed. `length`: maximum number of triples; `share`: minimum
    reach of a triple, as a share of the highest; `paths`: number of relation paths.
    """

    retriever: Annotated[Retriever, TRAINED]
    length: Annotated[int, AtLeast(1)] = 3
    share: Annotated[float, Between(0, 1)] = 0.05
    paths: Annotated[int, AtLeast(1)] = 10
    needs = ("evidence", "anchors")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        triples = state.evidence
        if triples is None or not len(triples.edges):
            return state.with_(evidence=Evidence.of_nodes([], []))
        model = self.retriever.step_model(state, run)
        reached = np.unique(triples.edges)
        scores = model.reach(state.graph.ends(reached).reshape(-1, 2), reached[:, None])[:, 0]
        best = reached[scores >= self.share * scores.max()]
        graph = Graph(state.graph.columns, np.unique(state.graph.ends(best)), best)
        paths: list[tuple[float, Ways, list[tuple[Ints, Ints]]]] = []
        for source in graph.at(graph.local(state.graph.at(query_entities(state)))).tolist():
            for path in relation_paths(graph, source, self.length, returning=True)[0]:
                local, by = walks_along(graph, source, path.ways, _MAX_WALKS, returning=True)
                if len(local):
                    nodes, ids = graph.at(local.ravel()).reshape(local.shape), graph.edges[by]
                    score = model.log_likelihood(path.ways) + _support(ids, model.probabilities(nodes, ids))
                    paths.append((score, path.ways, _one_to_each_end(nodes, ids)))
        paths.sort(key=lambda path: (-path[0], len(path[1]), path[1]))
        items = [item for _, _, walks in paths[: self.paths] for item in walks]
        totals = [score for score, _, walks in paths[: self.paths] for _ in walks]
        return state.with_(evidence=Evidence.of_paths(graph, items, totals, walk_text).top(k))


def _support(edges: Ints, probabilities: Scores) -> float:
    """Return the mean over the steps of the log of the mean probability of edges that no earlier step took."""
    total, taken = 0.0, edges[:0, 0]
    for step in range(edges.shape[1]):
        distinct, first = np.unique(edges[:, step], return_index=True)
        new = ~np.isin(distinct, taken, assume_unique=True)
        # Edges of an earlier step add no support.
        mean = float(probabilities[first[new], step].mean()) if new.any() else 0.0
        total += math.log(max(mean, MIN_PROBABILITY))
        taken = np.union1d(taken, distinct)
    return total / len(edges[0])


def _one_to_each_end(nodes: Ints, edges: Ints) -> list[tuple[Ints, Ints]]:
    """Return the first walk to each node that the walks lead to (see `leading_elsewhere`)."""
    rows = leading_elsewhere(nodes)
    nodes, edges = nodes[rows], edges[rows]
    first = np.sort(np.unique(nodes[:, -1], return_index=True)[1])
    return [(nodes[at], edges[at]) for at in first.tolist()]
