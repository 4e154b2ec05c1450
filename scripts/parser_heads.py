"""Logistic regressions on the vector of a question: the form, kind of answer and shape of its query."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from parser_data import Asked, form_of, shape_of_query, worlds, written
from parser_worlds import domains
from sklearn.linear_model import LogisticRegression

from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.protocols import Floats
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.graphs.generation import (
    ABOVE,
    BELOW,
    COUNT,
    DIFFERENCE,
    EQUAL,
    FORMS,
    LARGEST,
    MEAN,
    NEGATED,
    SMALLEST,
    SUM,
    THINGS,
)  # fmt: skip
from graphwright.operators.query.graphs.matching import Words, mentions_of
from graphwright.operators.query.graphs.parser import KINDS
from graphwright.operators.query.graphs.scorer import Heads
from graphwright.search.facts import Facts
from graphwright.text.values import value_of

HEAD_WORLDS = 40
CLASSES = {"forms": len(FORMS), "kinds": len(KINDS), "steps": 5, "turns": 2, "firsts": 2, "lasts": 2, "named": 3}
"""The number of classes of each head."""


def kind_of(texts: Sequence[str]) -> int:
    """Return the kind of answers as a row of KINDS."""
    value = value_of(texts[0])
    return 0 if value is None else KINDS.index(value.kind)


class HeadRow(NamedTuple):
    """A question without names, and the class of each head for it (-1: not known)."""

    text: str
    classes: tuple[int, ...]
    weight: float = 1.0


def head_rows(data: Path) -> Iterator[HeadRow]:
    """Yield questions with their form, the kind of the answer, and the shape of the query."""
    draw, unknown = random.Random(0), (-1,) * (len(CLASSES) - 2)
    for domain in domains():
        for facts, asked in worlds(domain.name, 500_000, HEAD_WORLDS):
            for question in asked:
                words = Words.of(question.text)
                mentions = mentions_of(words, facts) if draw.random() < 0.85 else []
                form = form_of(question.gold)  # type: ignore[arg-type]
                shape = shape_of_query(question.gold)  # type: ignore[arg-type]
                yield HeadRow(words.without(mentions), (form, _kind(question, facts, form), *shape))
    yield from _written_rows()
    for row in _rows(data / "overnight" / "questions.jsonl.gz"):
        known = _overnight(row["logical_form"])
        if known is not None and draw.random() < 0.6:
            yield HeadRow(row["question"], (known, KINDS.index("number") if known == COUNT else 0, *unknown))
    for row in draw.sample(list(_rows(data / "simplequestions_fb" / "questions.jsonl.gz")), 3000):
        kind = 1 if "date" in row["relation"] else -1 if "number" in row["relation"] else 0
        yield HeadRow(row["question"], (THINGS, kind, *unknown), 0.5)


def _written_rows() -> Iterator[HeadRow]:
    """Yield the questions over two thirds of the written graphs."""
    for _, facts, asked in (*written(0), *written(1)):
        for question in asked:
            if question.gold is not None:
                words = Words.of(question.text)
                form = form_of(question.gold)  # type: ignore[arg-type]
                row = (form, _kind(question, facts, form), *shape_of_query(question.gold))  # type: ignore[arg-type]
                yield HeadRow(words.without(mentions_of(words, facts)), row, 2.0)


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _kind(question: Asked, facts: Facts, form: int) -> int:
    if form in (COUNT, SUM, MEAN, DIFFERENCE):
        return KINDS.index("number")
    result = Execution(facts).result(question.gold)  # type: ignore[arg-type]
    return kind_of(facts.texts(result[:1].tolist())) if isinstance(result, np.ndarray) and len(result) else -1


def _overnight(program: str) -> int | None:
    """Return the form of a program of Overnight; None for those that compare counts."""
    if "countSuperlative" in program or "countComparative" in program:
        return None
    marks = {
        "( string max )": LARGEST, "( string min )": SMALLEST, ".size": COUNT, "( string ! = )": NEGATED,
        "( string > )": ABOVE, "( string >= )": ABOVE, "( string < )": BELOW, "( string <= )": BELOW,
        "( string = ) ( number": EQUAL, "( string = ) ( date": EQUAL,
    }  # fmt: skip
    return next((form for mark, form in marks.items() if mark in program), THINGS)


def fit_heads(data: Path, encoder: MiniLM) -> Heads:
    """Fit the logistic regressions of forms, kinds and shapes."""
    rows = list(head_rows(data))
    vectors, weight = encoder.encode([row.text for row in rows]), np.array([row.weight for row in rows])
    heads = {}
    for at, (name, count) in enumerate(CLASSES.items()):
        classes = np.array([row.classes[at] for row in rows])
        known = classes >= 0
        heads[name] = _regression(vectors[known], classes[known], weight[known], count)
    return Heads(**heads)


def _regression(vectors: Floats, classes: Any, weight: Any, count: int) -> Floats:
    model = LogisticRegression(C=8, max_iter=400).fit(vectors, classes, sample_weight=weight)
    weights = np.zeros((count, vectors.shape[1] + 1), np.float32)
    weights[:, -1] = -8  # a class without examples
    if len(model.classes_) == 2:  # one row of coefficients: of the second class against the first
        weights[model.classes_[1]] = np.append(model.coef_[0], model.intercept_[0])
        weights[model.classes_[0]] = 0.0
    else:
        weights[model.classes_] = np.column_stack((model.coef_, model.intercept_))
    return weights
