"""BM25 as a scorer of evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphwright.graph.evidence import Evidence, Scores
from graphwright.index.word_index import WordIndex
from graphwright.operators.rerank.scorer import ScoreFunction, Scorer
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["BM25"]


@dataclass(frozen=True, repr=False)
class BM25(Scorer):
    """Score items by BM25 over the words of their texts (LEGO-GraphRAG, section 3.2.2 a.1).

    The statistical model of the paper's study. The texts that are scored together are the corpus in which words are
    counted (see WordIndex for the formula), so that a word of all of them, such as the name that they begin with, does
    not distinguish any. Rerank scores all items of the evidence together, BeamSearch all paths of one length from one
    query entity.

    >>> from graphwright.graph.graph import Graph; from graphwright.operators.state import start
    >>> heat = Graph.from_triples([("Heat", "directed by", "Mann"), ("Heat", "starred", "Pacino")])
    >>> score = BM25().prepare(start("Who directed Heat?", heat), Run())
    >>> score(Evidence.of_edges([0, 1])).round(2).tolist()
    [0.44, 0.12]
    """

    @property
    def id(self) -> str:
        """Name of the model."""
        return "bm25"

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the BM25 score of the question in each item's text."""

        def scores(items: Evidence) -> Scores:
            texts = items.texts(state.graph)
            row = {text: at for at, text in enumerate(dict.fromkeys(texts))}
            run.usage.texts += len(row)
            values = WordIndex.of(list(row), np.arange(len(row))).scores(state.question.text)
            return values.astype(np.float64)[[row[text] for text in texts]]

        return scores
