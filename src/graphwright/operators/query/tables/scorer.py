"""Trained scorer of queries over tables, without torch; and whether a question is about texts or about rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from graphwright.data.records.record import CLAUSE, DOCUMENT, MAIL, MESSAGE
from graphwright.errors import ModelError
from graphwright.kernels.products import product
from graphwright.models.protocols import Floats
from graphwright.operators.query.logistic import logistic_of
from graphwright.operators.query.tables.candidates import Candidate
from graphwright.operators.query.tables.columns import Table
from graphwright.operators.query.tables.features import COVERED, EXPLAINED, Features

WEIGHTS = Path(__file__).parents[3] / "models" / "weights" / "table-parser" / "scorer.npz"
"""The weights that are part of this package."""
_CALIBRATION = ("mean", "scale", "first_weight", "first_bias", "last_weight", "last_bias")


@dataclass(frozen=True, eq=False)
class TableScorer:
    """Scores of candidate queries (`scripts/fit_table_parser.py`).

    A score is the product of a vector of the question (the sum of its n-grams' over the square root of their number,
    and its sentence vector and that of its words that name no cell, projected) with one of the candidate (the sum of
    its parts' and of its columns'), plus a network of two layers over the dense features and this product, plus a bias
    of each part.

    Scores are the means of `members` that were trained apart.
    """

    arrays: dict[str, NDArray[Any]]

    @classmethod
    def load(cls, path: Path | None = None) -> TableScorer:
        """Load the weights that the package ships, or those of a file."""
        return _loaded(path or WEIGHTS)

    @cached_property
    def frequency(self) -> dict[str, float]:
        """The share of training questions that have each word."""
        words: list[str] = str(self.arrays["words"]).split("\n")
        return dict(zip(words, self.arrays["frequency"].tolist(), strict=True))

    @property
    def dimension(self) -> int:
        """Length of the vectors of questions and names; 0 without weights."""
        return self.arrays["0/sentence"].shape[1] if self._members else 0

    def scores(self, features: Features, question: Floats, vectors: Floats) -> NDArray[np.float32]:
        """Return the scores of candidates: float32[n]; `question: float32[d]`; `vectors`: of columns."""
        dense = (features.dense - self.arrays["mean"]) / self.arrays["scale"]
        scores = [self._member(member, dense, features, question, vectors) for member in range(self._members)]
        mean: NDArray[np.float32] = np.mean(scores, axis=0, dtype=np.float32)
        return mean

    @cached_property
    def _members(self) -> int:
        return sum(name.endswith("/ngrams") for name in self.arrays)

    def _member(
        self, member: int, dense: Floats, features: Features, question: Floats, vectors: Floats
    ) -> NDArray[np.float32]:
        a = {name.split("/")[1]: array for name, array in self.arrays.items() if name.startswith(f"{member}/")}
        grams = a["ngrams"][features.ngrams].astype(np.float32)
        known = max(1, int(np.count_nonzero(grams.any(1))))
        told = product(a["sentence"], question), product(a["rest"], features.rest)
        asked = grams.sum(0) / np.sqrt(known) + told[0] + told[1]
        linear = product(a["parts"], asked)[features.parts].sum(1)
        for place in range(3):
            chosen = features.headers[:, place]
            by_column = product(vectors, product(a[f"header{place}"].T, asked))
            linear += np.where(chosen >= 0, by_column[chosen], 0.0)
        hidden = np.maximum(product(np.column_stack((dense, linear)), a["first"].T) + a["first_bias"], 0)
        hidden = np.maximum(product(hidden, a["second"].T) + a["second_bias"], 0)
        scores: NDArray[np.float32] = hidden @ a["last"][0] + a["last_bias"] + linear + a["bias"][features.parts].sum(1)
        return scores

    def probability(self, evidence: Floats) -> float:
        """Return the calibrated probability that a result is right, from its `evidence_of`."""
        a = {name: self.arrays[f"calibration_{name}"] for name in _CALIBRATION}
        hidden = np.tanh(np.clip((evidence - a["mean"]) / a["scale"], -5, 5) @ a["first_weight"].T + a["first_bias"])
        return float(1 / (1 + np.exp(-(hidden @ a["last_weight"][0] + a["last_bias"][0]))))


def evidence_of(
    mass: NDArray[np.floating[Any]], result: int, share: float, score: float, dense: Floats, count: int
) -> Floats:
    """Return what tells whether a result is right: float32[15].

    From the shares `mass` of the results in the probability: its log-odds, the share of its best candidate (`share`) in
    it, the largest share of another result, and the entropy; the logarithm of the number of candidates; and of the best
    candidate its score, and the dense features that tell what of the question it explains and leaves unexplained. Those
    about the table and its columns are left out: by them, a probability holds for the tables of the fit alone.
    """
    own, some = float(mass[result]), mass[mass > 0]
    rival = float(np.delete(mass, result).max(initial=0.0))
    odds = math.log((own + 1e-6) / (1 - own + 1e-6))
    entropy = -float(np.sum(some * np.log(some)))
    known = [odds, share / max(own, 1e-12), rival, entropy, math.log(count), score]
    return np.concatenate((known, dense[:EXPLAINED], dense[COVERED : COVERED + 1])).astype(np.float32)


@cache
def _loaded(path: Path) -> TableScorer:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, BadZipFile) as exc:
        raise ModelError(f"TableScorer: {path} cannot be read: {exc!r}. Give a file of fit_table_parser.py.") from exc
    for name in arrays:
        if arrays[name].dtype == np.float16 and not name.endswith("/ngrams"):  # a question needs a few of their rows
            arrays[name] = arrays[name].astype(np.float32)
    return TableScorer(arrays)


ABOUT_TEXTS = WEIGHTS.parent / "about-texts.npy"

_TYPES = {MAIL, MESSAGE, CLAUSE, DOCUMENT}
_TEXTS = {"text", "subject", "title"}


def selects_texts(table: Table, candidate: Candidate) -> bool:
    """Return whether a query chooses mails, messages, clauses or documents by words of their texts."""
    return table.type in _TYPES and any(table.columns[given.column].name in _TEXTS for given in candidate.given)


def probability_about_texts(vector: Floats) -> float:
    """Return the probability that a question asks about texts, such as when something was written, not when it was.

    By a logistic regression on the vector of the question, float32[384] (`scripts/fit_about_texts.py`).
    """
    return logistic_of(ABOUT_TEXTS, vector)
