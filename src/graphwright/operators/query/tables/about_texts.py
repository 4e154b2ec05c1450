"""Whether a question is about texts (mails, messages, clauses, documents), or about what these say."""

from __future__ import annotations

from pathlib import Path

from graphwright.data.records.record import CLAUSE, DOCUMENT, MAIL, MESSAGE
from graphwright.models.protocols import Floats
from graphwright.operators.query.logistic import logistic_of
from graphwright.operators.query.tables.candidates import Candidate
from graphwright.operators.query.tables.columns import Table
from graphwright.operators.query.tables.scorer import WEIGHTS

ABOUT_TEXTS = WEIGHTS.parent / "about-texts.npy"

_TYPES = {MAIL, MESSAGE, CLAUSE, DOCUMENT}
_TEXTS = {"text", "subject", "title"}


def selects_texts(table: Table, candidate: Candidate) -> bool:
    """Return whether a query chooses mails, messages, clauses or documents by words of their texts."""
    return table.type in _TYPES and any(table.columns[given.column].name in _TEXTS for given in candidate.given)


def probability_about_texts(vector: Floats, file: Path = ABOUT_TEXTS) -> float:
    """Return the probability that a question asks about texts, such as when something was written, not when it was.

    By a logistic regression on the vector of the question, float32[384] (`scripts/fit_about_texts.py`).
    """
    return logistic_of(file, vector)
