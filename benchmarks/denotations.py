"""Comparison of answers as the evaluator of WikiTableQuestions does it: texts in normal form, numbers or dates."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from graphwright.text.values import Value, value_of

_QUOTES = str.maketrans("‘’´`“”‐‑‒–—−", "''''\"\"------")


@lru_cache(100_000)
def normalise(text: str) -> str:
    """Return a text without accents, citations, details in brackets, quotes and the last full stop, in lower case."""
    text = "".join(c for c in unicodedata.normalize("NFKD", text) if unicodedata.category(c) != "Mn")
    text = text.translate(_QUOTES)
    while True:
        before = text
        text = re.sub(r"((?<!^)\[[^\]]*\]|\[\d+\]|[•♦†‡*#+])*$", "", text.strip())
        text = re.sub(r"(?<!^)( \([^)]*\))*$", "", text.strip())
        text = re.sub(r'^"([^"]*)"$', r"\1", text.strip())
        if text == before:
            break
    return re.sub(r"\s+", " ", text.removesuffix(".")).casefold().strip()


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _date(text: str) -> Value | None:
    value = value_of(text)
    return value if value is not None and value.kind == "date" else None


def same(predicted: str, gold: str) -> bool:
    """Return whether two answers agree in normal form, as numbers, or as dates."""
    if normalise(predicted) == normalise(gold):
        return True
    first, second = _number(predicted), _number(gold)
    if first is not None and second is not None:
        return abs(first - second) < 1e-6
    one, other = _date(predicted), _date(gold)
    return one is not None and one == other


def correct(predicted: Sequence[str], gold: Sequence[str]) -> bool:
    """Return whether two lists of answers agree: equally many distinct ones, each gold one among the predicted."""
    ours = list({normalise(text): text for text in predicted}.values())
    theirs = list({normalise(text): text for text in gold}.values())
    return len(ours) == len(theirs) and all(any(same(p, g) for p in ours) for g in theirs)
