"""What all trained retrievers have in common: the question, names and relations as vectors, and what they find."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import relation_words
from graphwright.index.vector_index import VectorIndex, normalised
from graphwright.learn.retrievers.checkpoint import Checkpoint
from graphwright.models.protocols import Encoder, Floats
from graphwright.operators.operator import Operator
from graphwright.operators.rerank.masked import masked
from graphwright.operators.rerank.scorer import Memory, Scorer
from graphwright.operators.state import State

__all__ = ["MASK", "Chances", "Retriever", "relation_vectors"]

Chances = Callable[[Ints, Ints], Scores]
"""Nodes [walks, steps + 1] and edges [walks, steps], by snapshot id, to probabilities [walks, steps]."""

MASK = "x"  # in the place of what a question names


@dataclass(frozen=True, repr=False)
class Retriever(Scorer):
    """A retriever that was trained on questions and answers (ReG, appendix D.3): a Scorer of pieces.

    `names`: vectors of nodes, where it was trained with them. The question is read with x for what it names.
    """

    checkpoint: Checkpoint
    encoder: Encoder
    names: VectorIndex | None = None

    def __post_init__(self) -> None:
        about = self.checkpoint.about
        wanted, given = about.get("encoder"), getattr(self.encoder, "id", None)
        if wanted and given and wanted != given:
            raise OptionError(
                f"{self.checkpoint!r} reads vectors of {wanted}, and this index has those of {given}. Train it anew "
                "over this index, or ask an index made with that encoder."
            )
        if about.get("names") and self.names is None:
            raise OptionError(
                f"{self.checkpoint!r} reads the vectors of names, and there are none. Make the index with them "
                "(--embed names), or train it without (--no-names)."
            )

    @abstractmethod
    def search(self, k: int) -> Operator:
        """Return what retrieves the k best: triples of the graph as it was narrowed, or walks."""

    def chances(self, state: State) -> Chances:
        """Return what tells of walks how probably each of their steps is part of what explains the answer."""
        raise OptionError(f"{self!r} finds whole paths, and tells nothing of their steps; use what `search` returns.")

    @property
    def weights(self) -> Mapping[str, Floats]:
        """The weights, by name."""
        return self.checkpoint.weights

    @cached_property
    def _memory(self) -> Memory:
        return Memory(self.encoder)

    def asked(self, state: State) -> Floats:
        """Return the vector of the question, its names masked: float32[dimension], of length 1."""
        found: Floats = normalised(self._memory.encode([masked(state, MASK) or state.question.text]).astype(np.float32))
        row: Floats = found[0]
        return row

    def relations(self, graph: Graph, relations: Sequence[int]) -> Floats:
        """Return the vector of each relation: float32[len(relations), dimension], of length 1."""
        return relation_vectors(self._memory, graph, relations)


def relation_vectors(encoder: Any, graph: Graph, relations: Sequence[int]) -> Floats:
    """Return the vectors of relations, as words, of length 1."""
    texts = [relation_words(graph, (2 * relation + 1,)) for relation in relations]
    found: Floats = normalised(np.asarray(encoder.encode(texts), np.float32))
    return found
