"""BM25 in the place of a model: what shares rare words with the question is near to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphwright.index.words import WordIndex
from graphwright.models.base import spend
from graphwright.models.protocols import Floats

__all__ = ["BM25"]


@dataclass(frozen=True)
class BM25:
    """Scores texts by BM25 over their words, as a cross-encoder without weights (LEGO-GraphRAG, section 3.2.2 a.1).

    The statistical model of the paper's study. The texts that are given together are the corpus that words are counted
    in (see WordIndex for the formula): a word that all of them share, such as the name that they begin with, tells none
    apart. Rerank gives all pieces of the evidence together, BeamSearch all paths of one length from one query entity.

    >>> model = BM25()
    >>> latents = model.latents("Who directed Heat?", ["Heat directed by Mann", "Heat starred Pacino", "Mann"])
    >>> [round(float(score), 2) for score in model.head(latents)]
    [0.59, 0.19, 0.0]
    """

    @property
    def id(self) -> str:
        """Name of the model."""
        return "bm25"

    def latents(self, query: str, texts: Sequence[str]) -> Floats:
        """Return the score of each text as its latent: float32, shape (len(texts), 1)."""
        spend(texts=len(texts))
        return WordIndex.of(texts, np.arange(len(texts))).scores(query)[:, None]

    def head(self, latents: Floats) -> Floats:
        """Return the scores: float32, shape (n,)."""
        return latents[:, 0]
