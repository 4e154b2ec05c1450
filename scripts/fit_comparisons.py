"""Fit the heads of comparisons on written properties, BREAK and 2WikiMultiHopQA, and measure them on sources left out.

    python scripts/fit_comparisons.py --data DIR [--write] [--measure]

`--write` stores the weights of the package, fitted on all sources. `--measure` fits without 2WikiMultiHopQA and without
HotpotQA, and asks all their questions over their candidate passages: how many short answers are right and wrong, and
the same of the reader before. It also leaves out every fourth written property.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from comparison_data import TIMES, Question, break_questions, made, multihop, properties
from numpy.typing import NDArray
from scipy.optimize import minimize

from graphwright.evaluate.metrics import token_f1
from graphwright.generate.comparison_heads import (
    DATE,
    OTHER,
    SAME,
    TIME,
    WHICH,
    ComparisonHeads,
    asked_of,
    word_rows,
)
from graphwright.generate.comparison_values import (
    PAIR_FEATURES,
    SideValue,
    about,
    names_of_sides,
    pair_rows,
    pairs_of,
    passages_naming,
    values_of_sides,
    words_asked,
)
from graphwright.generate.comparisons import compare
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.embedded.reader import MiniLMReader
from graphwright.operators.run import Run
from graphwright.text.values import FoundValue, values_in

WEIGHTS = Path(__file__).parents[1] / "src/graphwright/models/weights/comparisons/model.npz"
STRENGTHS = {
    "sides": 0.3,
    "kinds": 3.0,
    "signs": 0.3,
    "attention": 1.0,
    "durations": 10.0,
    "values": 3.0,
}  # inverse penalties
ABSENT = 0.5  # share of made questions whose values are taken out
OTHERS = 1000  # questions of BREAK that compare nothing

Reals = NDArray[np.floating[Any]]
Ints = NDArray[np.int64]


def lowest(loss: Callable[[Reals], tuple[float, Reals]], start: Reals, iterations: int) -> Reals:
    """Return where a loss, which is given with its slope, is lowest."""
    found: Reals = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": iterations}).x
    return found


def logistic(rows: Reals, labels: Reals, strength: float) -> Reals:
    """Return the weights of a logistic regression; the last feature, a constant, is not penalised."""
    signs = np.where(labels > 0, 1.0, -1.0)

    def loss(weights: Reals) -> tuple[float, Reals]:
        margins, free = signs * (rows @ weights), np.append(weights[:-1], 0)
        slope = -(rows.T @ (signs / (1 + np.exp(margins)))) + free / strength
        return float(np.logaddexp(0, -margins).sum() + free @ free / (2 * strength)), slope

    return lowest(loss, np.zeros(rows.shape[1]), 300)


def softmax(rows: Reals, labels: Ints, classes: int) -> Reals:
    """Return the weights of a logistic regression over several classes."""
    strength = STRENGTHS["kinds"]
    truth = np.eye(classes)[labels]

    def loss(flat: Reals) -> tuple[float, Reals]:
        scores = rows @ flat.reshape(-1, classes)
        logs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        slope = rows.T @ (np.exp(logs) - truth) + flat.reshape(-1, classes) / strength
        return float(-(logs * truth).sum() + flat @ flat / (2 * strength)), slope.ravel()

    return lowest(loss, np.zeros(rows.shape[1] * classes), 300).reshape(-1, classes)


def choice(groups: Sequence[tuple[Reals, list[int]]], strength: float) -> Reals:
    """Return the weights of a choice among rows, or of none of them, whose score is the last weight.

    Each group has the numbers of its right rows; without any, none is right.
    """
    padded = [np.pad(rows, ((0, 1), (0, 1))) for rows, _ in groups]
    for rows in padded:
        rows[-1, -1] = 1

    def loss(weights: Reals) -> tuple[float, Reals]:
        total, slope = weights @ weights / (2 * strength), weights / strength
        for rows, (_, right) in zip(padded, groups, strict=True):
            shares = np.exp(rows @ weights - np.logaddexp.reduce(rows @ weights))
            chosen = np.zeros(len(rows))
            chosen[right or [-1]] = shares[right or [-1]]
            total -= np.log(chosen.sum())
            slope = slope - rows.T @ (chosen / chosen.sum() - shares)
        return float(total), slope

    return lowest(loss, np.zeros(PAIR_FEATURES + 1), 200)


def side_labels(question: Question, spans: Sequence[tuple[int, int]]) -> Reals | None:
    """Return which words belong to a side; None where a side is not in the question."""
    labels, at = np.zeros(len(spans)), 0
    for side in question.sides:
        at = question.text.lower().find(side.lower(), at)
        if at < 0:
            return None
        labels[[n for n, (start, end) in enumerate(spans) if start < at + len(side) and at < end]] = 1
        at += len(side)
    return labels if labels.any() else None


def sign_of(question: Question) -> int:
    """Return whether a question asks for the larger (1) or the smaller value (-1), 0 if unknown."""
    if question.sign or question.kind != WHICH or question.answer is None:
        return question.sign
    first, second = (next(values_in(text), None) for text in question.values)
    if first is None or second is None or first.value.amount == second.value.amount:
        return 0
    return 1 if (second.value.amount > first.value.amount) == (question.answer == 1) else -1


Words = dict[str, tuple[list[tuple[int, int]], Reals]]
Groups = dict[str, list[tuple[Reals, list[int]]]]


def fit(questions: Sequence[Question], words: Words, groups: Groups) -> ComparisonHeads:
    """Return the heads fitted on questions; `words`: their words and features by text.

    `groups`: features of pairs of values by question; filled where empty, so that fits on parts share them.
    """
    labelled = [
        (words[q.text][1], labels) for q in questions if (labels := side_labels(q, words[q.text][0])) is not None
    ]
    rows, labels = (np.concatenate(part) for part in zip(*labelled, strict=True))
    none: Reals = np.zeros(1)
    heads = ComparisonHeads(logistic(rows, labels, STRENGTHS["sides"]), none, none, none, none)
    run = Run()
    tagged = {q.text: found for q in questions if (found := heads.tagged(q.text))}
    known = [q for q in questions if q.text in tagged]
    features = {q.text: asked_of(q.text, tagged[q.text]) for q in known}
    kinds = [q for q in known if q.kind is not None]
    heads = ComparisonHeads(
        heads.sides,
        softmax(np.array([features[q.text].row for q in kinds]), np.array([q.kind for q in kinds]), 5),
        *fit_signs([(features[q.text].states, q.form, sign) for q in known if (sign := sign_of(q))]),
        none,
    )
    asked = [q for q in known if q.passages and q.sides]
    if not groups:
        groups |= {q.text: list(pair_group(heads, q, run)) for q in asked}
    choices = [group for q in asked for group in groups[q.text]]
    return replace(heads, values=choice(choices, STRENGTHS["values"]))


def fit_signs(asked: Sequence[tuple[Reals, str, int]]) -> tuple[Reals, Reals]:
    """Return the weights of the direction, and of durations among units; `asked`: states, form of values, and sign."""
    size = max(len(states) for states, *_ in asked)
    states = np.stack([np.pad(rows, ((0, size - len(rows)), (0, 0))) for rows, *_ in asked]).astype(np.float64)
    absent = np.stack([np.where(np.arange(size) < len(rows), 0, -1e9) for rows, *_ in asked])
    forms = np.array([(1, form == DATE, form == TIME) for _, form, _ in asked], float)
    signs = attention(states, absent, forms, np.array([sign for *_, sign in asked]))
    units = sorted({p.unit for p in properties() if p.unit not in ("date", "year")} - {*TIMES}) + list(TIMES)
    vectors = np.pad(MiniLM().encode(units), ((0, 0), (0, 1)), constant_values=1)
    return signs, logistic(vectors, np.array([unit in TIMES for unit in units]), STRENGTHS["durations"])


def attention(states: Reals, absent: Reals, forms: Reals, labels: Reals) -> Reals:
    """Return the attention to tokens, and the weights of their mean by it for each form: float64[4, 385].

    `states: [n, tokens, 384]`; `absent: [n, tokens]`, 0 for a token; `forms: [n, 3]`; `labels: [n]`, 1 or -1.
    """
    width = states.shape[2]

    def loss(flat: Reals) -> tuple[float, Reals]:
        weights = flat.reshape(4, width + 1)
        shares = states @ weights[0, :-1] + absent
        shares = np.exp(shares - shares.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        chosen = forms @ weights[1:]
        tokens = np.einsum("ntd,nd->nt", states, chosen[:, :-1])
        pooled = (shares * tokens).sum(1)
        margins = labels * (pooled + chosen[:, -1])
        slopes = -labels / (1 + np.exp(margins))
        means = np.pad(np.einsum("nt,ntd->nd", shares, states), ((0, 0), (0, 1)), constant_values=1)
        slope = np.zeros_like(weights)
        slope[1:] = (forms * slopes[:, None]).T @ means
        slope[0, :-1] = np.einsum("nt,ntd->d", slopes[:, None] * shares * (tokens - pooled[:, None]), states)
        slope[0] += weights[0] / STRENGTHS["attention"]
        slope[1:, :-1] += weights[1:, :-1] / STRENGTHS["signs"]
        size = (weights[1:, :-1] ** 2).sum() / (2 * STRENGTHS["signs"])
        size += (weights[0] ** 2).sum() / (2 * STRENGTHS["attention"])
        return float(np.logaddexp(0, -margins).sum() + size), slope.ravel()

    start = np.zeros((4, width + 1))
    start[1] = np.random.default_rng(0).normal(0, 0.01, width + 1)
    return lowest(loss, start.ravel(), 150).reshape(4, width + 1)


def pair_group(heads: ComparisonHeads, question: Question, run: Run) -> Iterator[tuple[Reals, list[int]]]:
    """Yield the features of the pairs of values of a question, and the numbers of the right ones."""
    tagged = heads.tagged(question.text)
    names = tagged and names_of_sides(question.text, tagged, question.passages)
    if not tagged or not names or question.kind is None:
        return
    read = [question.passages[number] for number in passages_naming(names, question.passages)]
    pairs = pairs_of(values_of_sides(names, read, words_asked(question.text, tagged)))
    values = [value for text in question.values if (value := next(values_in(text), None))]
    if not pairs or (question.kind != SAME and len(values) < 2):
        return
    readings = [MiniLMReader(paired=0).readings(about(question.text, tagged, side), read, run.usage) for side in (0, 1)]
    rows = pair_rows(question.text, tagged, pairs, read, readings, run).astype(np.float64)
    equal = np.zeros((len(pairs), 2), bool)
    if len(values) == 2:
        equal[:] = [[_equal(value, gold) for value, gold in zip(pair[:2], values, strict=True)] for pair in pairs]
    if question.source.startswith("made") and random.Random(question.text).random() < ABSENT:
        rows, equal = rows[~equal.any(1)], equal[~equal.any(1)]
    elif question.source.startswith("made") and not equal.all(1).any():
        return
    if len(rows):
        yield rows, np.flatnonzero(equal.all(1)).tolist()


def _equal(value: SideValue, gold: FoundValue) -> bool:
    a, b = value.found.value, gold.value
    return a.kind == b.kind and abs(a.amount - b.amount) < 1e-6


def outcome(short: str, answers: Sequence[str]) -> str:
    """Return whether a short answer is right, wrong or not given."""
    return "none" if not short else "right" if max(token_f1(short, a) for a in answers) > 0.6 else "wrong"


def measure(heads: ComparisonHeads, questions: Sequence[Question]) -> None:
    """Print how many questions are answered, and how many answers are right, at several thresholds."""
    run, reader, counts = Run(), MiniLMReader(), Counter[tuple[str, str, str]]()
    for question in questions:
        tagged, texts = heads.tagged(question.text), list(question.passages)
        kind = "other" if question.kind == OTHER else "same" if question.kind == SAME else "comparison"
        compares = tagged and heads.kind(asked_of(question.text, tagged))[0] != OTHER
        found = compare(heads, question.text, tagged, texts, run) if tagged and compares else None
        for threshold in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
            short = found.short if found and found.probability >= threshold else ""
            counts[kind, f"{threshold}", outcome(short, question.answers)] += 1
            if found and threshold == 0.5 and outcome(short, question.answers) == "wrong":
                print("   wrong:", question.text, "|", short, "|", found.names, [v.text for v in found.pair[:2]])
        if kind == "comparison":
            spans = reader.read(question.text, texts)
            short = spans[0].answer(texts) if spans and spans[0].score >= 0.5 else ""
            counts[kind, "reader", outcome(short, question.answers)] += 1
    for kind, by in sorted({key[:2] for key in counts}):
        shown = ", ".join(f"{counts[kind, by, name]} {name}" for name in ("right", "wrong", "none"))
        print(f"  {kind}, {by}: {shown}", flush=True)


def measure_made(questions: Sequence[Question], words: Words, groups: Groups) -> None:
    """Print the figures of written properties that are left out of the fit."""
    out = [q for q in questions if q.source.startswith("made") and int(q.source.split()[1]) % 4 == 0]
    heads = fit([q for q in questions if q not in out], words, groups)
    asked = [q for q in out if q.kind in (WHICH, OTHER)]
    named = [q._replace(answers=(q.sides[q.answer],) if q.sides and q.answer is not None else ("",)) for q in asked]
    print(f"made, every fourth property left out ({len(named)} questions)")
    measure(heads, [q for q in named if q.passages])


def main() -> None:
    """Fit the heads, and store or measure them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--measure", action="store_true")
    given = parser.parse_args()
    titles = sorted({p.title for q in multihop(given.data, "musique") for p in q.passages if 3 < len(p.title) < 40})
    broken = list(break_questions(given.data))
    random.Random(0).shuffle(broken)
    broken = [q for q in broken if q.kind != OTHER] + [q for q in broken if q.kind == OTHER][:OTHERS]
    sets = {name: list(multihop(given.data, name)) for name in ("2wiki", "hotpotqa")}
    questions = [*made(titles, 1), *broken, *sets["2wiki"], *sets["hotpotqa"]]
    questions = [q for q in questions if len(q.text.split()) > 2]
    words = {q.text: word_rows(q.text) for q in questions}
    groups: Groups = {}
    heads = fit(questions, words, groups)
    if given.write:
        WEIGHTS.parent.mkdir(exist_ok=True)
        np.savez_compressed(WEIGHTS, **{name: weights.astype(np.float16) for name, weights in vars(heads).items()})
        print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size:,} bytes", flush=True)
    for name in sets if given.measure else ():
        print(name, "left out of the fit", flush=True)
        measure(fit([q for q in questions if q.source != name], words, groups), sets[name])
    if given.measure:
        measure_made(questions, words, groups)


if __name__ == "__main__":
    main()
