"""Trained retrievers: the inputs that they share, and what they can be asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from graphwright.constraints import Checked, Has
from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import relation_words
from graphwright.index.vector_index import VectorIndex, normalised
from graphwright.learn.checkpoint import Checkpoint
from graphwright.learn.graph_view import GraphView, view_graph
from graphwright.models.protocols import Encoder, Floats
from graphwright.operators.operator import Operator
from graphwright.operators.paths.paths import query_entities
from graphwright.operators.rerank.masked import masked
from graphwright.operators.rerank.scorer import ScoreFunction, Scorer
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["MASK", "TRAINED", "Inputs", "LastNode", "Retriever", "StepProbabilities", "relation_vectors"]

StepProbabilities = Callable[[Ints, Ints], Scores]
"""Maps walks, as nodes [walks, steps + 1] and edges [walks, steps] by snapshot id, to probabilities [walks, steps]."""

MASK = "x"  # replaces the entities of a question


class Inputs(NamedTuple):
    """The inputs of a network: a view of the graph, vectors of question [1, d], relations and, if read, node names."""

    view: GraphView
    question: Floats
    relations: Floats
    names: Floats | None


@dataclass(frozen=True, repr=False)
class Retriever(Scorer):
    """A retriever trained on questions and answers (ReG, appendix D.3), which also scores any items.

    `names`: vectors of node names, needed if it was trained with them. Questions are read with their entities masked.
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

    def step_probabilities(self, state: State, run: Run) -> StepProbabilities:
        """Return a function that gives the probability of each step of walks to be part of an explanation."""
        raise OptionError(f"{self!r} retrieves whole paths and gives no probabilities of steps; use its `search`.")

    @property
    def weights(self) -> Mapping[str, Floats]:
        """The weights, by name."""
        return self.checkpoint.weights

    def question_vector(self, state: State, run: Run) -> Floats:
        """Return the vector of the question, entities masked: float32[1, dimension], of length 1."""
        vectors: Floats = normalised(run.encode(self.encoder, [masked(state, MASK) or state.question.text]))
        return vectors

    def relation_vectors(self, graph: Graph, relations: Sequence[int], run: Run) -> Floats:
        """Return the vectors of relations: float32[len(relations), dimension], of length 1."""
        if not len(relations):
            return np.empty((0, len(self.weights["question"])), np.float32)
        return relation_vectors(lambda texts: run.encode(self.encoder, texts), graph, relations)

    def inputs(self, state: State, run: Run) -> Inputs:
        """Return the inputs of the network for the graph of a state, seen from its query entities."""
        view, relations = view_graph(state.graph, query_entities(state), int(self.checkpoint.about["rounds"]))
        names = self.names.of(view.nodes) if self.checkpoint.about.get("names") and self.names is not None else None
        vectors = self.relation_vectors(state.graph, relations.tolist(), run)
        return Inputs(view, self.question_vector(state, run), vectors, names)


def relation_vectors(encode: Callable[[list[str]], Floats], graph: Graph, relations: Sequence[int]) -> Floats:
    """Return the vectors of relations, read as words: float32[len(relations), dimension], of length 1."""
    vectors: Floats = normalised(
        np.asarray(encode([relation_words(graph, (2 * r + 1,)) for r in relations]), np.float32)
    )
    return vectors


TRAINED = Has("a trained retriever, as load_retriever returns it", "step_probabilities")


@dataclass(frozen=True, repr=False)
class LastNode(Checked, Scorer):
    """Scores an item by its last node alone, as a retriever scores nodes: GNN-RAG's ranking of shortest paths.

    GNN-RAG (Mavromatis and Karypis, 2024) predicts answers with a graph network and retrieves the shortest paths to
    them. An item without nodes, such as a triple, is scored by its tail.
    """

    retriever: Annotated[Retriever, TRAINED]

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the scores of last nodes."""
        score, tails = self.retriever.prepare(state, run), state.graph.columns.tails

        def scores(items: Evidence) -> Scores:
            last = [int(nodes[-1] if len(nodes) else tails[edges[-1]] if len(edges) else -1) for nodes, edges in items]
            distinct = np.unique([node for node in last if node >= 0])
            values = score(Evidence.of_nodes(distinct)) if len(distinct) else np.zeros(1)
            positions = np.minimum(np.searchsorted(distinct, last), max(len(distinct) - 1, 0))
            return np.where(np.array(last) >= 0, values[positions], -np.inf)

        return scores
