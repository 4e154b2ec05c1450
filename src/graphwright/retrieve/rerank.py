"""Reranking by a model that reads: any evidence by the texts of its pieces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import ModelError, OptionError
from graphwright.graph.evidence import Evidence
from graphwright.models.base import CrossEncoder, Encoder
from graphwright.retrieve.operator import Ranker
from graphwright.retrieve.state import State

__all__ = ["Rerank"]


@dataclass(frozen=True, repr=False)
class Rerank(Ranker):
    """Rank nodes, triples, paths or trees by how well a model finds their texts to fit the question.

    `model`: an Encoder, for the cosine of the vectors of question and text, or a CrossEncoder, for the head of
    its latents; one that is both is used as a CrossEncoder. Model-based search in FastInsight (Definition 4);
    with `% k` the node, edge, triple and path pruning of LEGO-GraphRAG and the triple selection of ReG.
    Pieces of one text have one score, and it is read once.

    >>> from graphwright.retrieve.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import OverlapCrossEncoder
    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Lyon", "lies on", "Rhône")])
    >>> state = start("Where does the Rhône flow?", graph, evidence=Evidence.of_edges([0, 1]))
    >>> (Rerank(OverlapCrossEncoder()) % 1)(state).evidence.texts(graph)
    ['Lyon lies on Rhône']
    """

    model: Encoder | CrossEncoder
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        # A text has a method `encode` too.
        if isinstance(self.model, str) or not isinstance(self.model, Encoder | CrossEncoder):
            raise OptionError(f"Rerank({self.model!r}): an encoder or a cross-encoder is needed, not its name.")

    def ranked(self, state: State, k: int | None) -> State:
        """Rank the pieces of the evidence."""
        found = state.evidence
        if found is None or not len(found):
            return state.with_(evidence=Evidence.of_nodes([], []))
        texts = found.texts(state.graph)
        row = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        scores = self._scores(state.question.text, list(row))[[row[text] for text in texts]]
        positions = np.arange(len(scores))
        if k is not None and k < len(scores):
            # With all that tie with the last, so that ties fall by the pieces and not by where they stood.
            positions = np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
        best = found.take(positions.tolist(), scores[positions])
        return state.with_(evidence=best if k is None else best.top(k))

    def _scores(self, question: str, texts: list[str]) -> NDArray[np.float64]:
        model = self.model
        if isinstance(model, CrossEncoder):
            scores = np.asarray(model.head(model.latents(question, texts)), np.float64)
        else:
            vectors = np.asarray(model.encode([question, *texts]), np.float64)
            lengths = np.linalg.norm(vectors, axis=1)
            # The cosine with a zero vector is 0.
            scores = vectors[1:] @ vectors[0] / np.maximum(lengths[1:] * lengths[0], 1e-12)
        if scores.shape != (len(texts),) or np.isnan(scores).any():
            raise ModelError(f"{model!r} gave scores of shape {scores.shape} for {len(texts)} texts, or a NaN.")
        return scores
