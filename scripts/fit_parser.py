"""Fit the offline query parser over graphs, and measure it with whole sources left out.

    python scripts/fit_parser.py --data FOLDER [--leave-out metaqa] [--into FILE] [--questions 105]

FOLDER has `kgqa` (MetaQA, PathQuestion, PQL, SimpleQuestions, Overnight). Trains on these and on questions over made
worlds (`parser/worlds.txt`); `--leave-out` names a source (metaqa, pq-2h, pql-2h, or the domain of worlds) that is only
measured. Needs torch, lightgbm and scikit-learn; minutes to half an hour on one core. Writes the weights to `--into`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from parser_data import KGQA, Asked, Example, examples, facts_of, form_of, read_kgqa, worlds
from parser_likeness import fit_likeness
from parser_worlds import domains
from scorer_trees import in_preorder
from sklearn.linear_model import LogisticRegression

from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.protocols import Floats
from graphwright.operators.query.execution import execute
from graphwright.operators.query.graphs.forms import (
    ABOVE,
    BELOW,
    COUNT,
    EQUAL,
    FORMS,
    LARGEST,
    NEGATED,
    SMALLEST,
    THINGS,
)  # fmt: skip
from graphwright.operators.query.graphs.likeness import LearnedLikeness
from graphwright.operators.query.graphs.matching import Words, mentions_of
from graphwright.operators.query.graphs.parser import FEATURES, KINDS
from graphwright.operators.query.graphs.scorer import WEIGHTS, Heads, evidence
from graphwright.search.facts import Facts
from graphwright.text.values import value_of

ROUNDS = 100
_MORE = ("spelling ", "meaning ", "learned ", "covered ", "gap ", "support ", "pair ")
_GOOD = ("words explained", "least explained", "certainty", "kind", "kind gap", "form", "form gap", "sentence",
         "sentence gap", "strength", "share of mentions")  # fmt: skip
_BAD = ("names in excess", "names missing", "names off", "unused mentions", "unused capitals", "unused literals")


def direction(feature: str) -> int:
    """Return whether the score may only rise with a feature (1), only fall (-1), or either (0)."""
    if "regret" in feature or feature in _BAD:
        return -1
    return int(feature.startswith(_MORE) or feature in _GOOD)


OPTIONS = {
    "objective": "lambdarank",
    "lambdarank_truncation_level": 5,
    "num_leaves": 8,
    "learning_rate": 0.1,
    "monotone_constraints": [direction(feature) for feature in FEATURES],
    "min_data_in_leaf": 60,
    "lambda_l2": 10.0,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "num_threads": 1,
    "seed": 1,
    "verbose": -1,
}
Examples = dict[str, list["Example | None"]]


def source(name: str) -> str:
    """Return the source of a set: MetaQA has three sets."""
    return name.split("-")[0] if name.startswith("metaqa") else name


def kind_of(texts: Sequence[str]) -> int:
    """Return the kind of answers as a row of KINDS."""
    value = value_of(texts[0])
    return 0 if value is None else KINDS.index(value.kind)


def head_rows(data: Path, left: Sequence[str]) -> Iterator[tuple[str, int, int, float]]:
    """Yield questions without names, their form, the kind of the answer (-1: not known), and a weight."""
    draw = random.Random(0)
    for domain in domains():
        for facts, asked in worlds(domain.name, 500_000, 22) if domain.name not in left else ():
            for question in asked:
                words = Words.of(question.text)
                mentions = mentions_of(words, facts) if draw.random() < 0.85 else []
                form = form_of(question.gold)  # type: ignore[arg-type]
                yield words.without(mentions), form, _kind(question, facts, form), 1.0
    for row in _rows(data / "overnight" / "questions.jsonl.gz"):
        form = _overnight(row["logical_form"])
        if form is not None and draw.random() < 0.6:
            yield row["question"], form, KINDS.index("number") if form == COUNT else 0, 1.0
    for row in draw.sample(list(_rows(data / "simplequestions_fb" / "questions.jsonl.gz")), 3000):
        yield row["question"], THINGS, 1 if "date" in row["relation"] else -1 if "number" in row["relation"] else 0, 0.5


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _kind(question: Asked, facts: Facts, form: int) -> int:
    if form == COUNT:
        return KINDS.index("number")
    result = execute(question.gold, facts)  # type: ignore[arg-type]
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


def fit_heads(data: Path, left: Sequence[str], encoder: MiniLM) -> Heads:
    """Fit the logistic regressions of forms and kinds."""
    rows = list(head_rows(data, left))
    vectors, weight = encoder.encode([row[0] for row in rows]), np.array([row[3] for row in rows])
    form, kind = (np.array([row[at] for row in rows]) for at in (1, 2))
    known = kind >= 0
    return Heads(
        _regression(vectors, form, weight, len(FORMS)),
        _regression(vectors[known], kind[known], weight[known], len(KINDS)),
    )


def _regression(vectors: Floats, classes: Any, weight: Any, count: int) -> Floats:
    model = LogisticRegression(C=8, max_iter=400).fit(vectors, classes, sample_weight=weight)
    weights = np.zeros((count, vectors.shape[1] + 1), np.float32)
    weights[:, -1] = -8  # a class without examples
    weights[model.classes_] = np.column_stack((model.coef_, model.intercept_))
    return weights


def collect(
    data: Path, count: int, encoder: MiniLM, learned: LearnedLikeness, heads: Heads
) -> tuple[Examples, Examples]:
    """Return the examples of each source for training, and those that are measured."""
    training: Examples = {}
    measured: Examples = {}
    for name, (folder, _, _) in KGQA.items():
        facts = facts_of(data / folder / "kb.tsv")
        for part, into in ((False, training), (True, measured)):
            into[name] = list(examples(facts, read_kgqa(data, name, count, part), encoder, learned, heads))
        print(name, len(training[name]), flush=True)
    for domain in domains():
        made = worlds(domain.name)
        training[domain.name] = [e for facts, asked in made for e in examples(facts, asked, encoder, learned, heads)]
        measured[domain.name] = training[domain.name]
        print(domain.name, len(training[domain.name]), flush=True)
    return training, measured


def fit_trees(training: Examples) -> lightgbm.Booster:
    """Fit the trees; each source has the same weight."""
    tables, right, sizes, weights = [], [], [], []
    for own in training.values():
        usable = [e for e in own if e is not None and 0 < e.right.sum() < len(e.right)]
        for example in usable:
            tables.append(example.features)
            right.append(example.right)
            sizes.append(len(example.right))
            weights.append(np.full(len(example.right), 1000 / len(usable)))
    table = lightgbm.Dataset(
        np.vstack(tables), np.concatenate(right), group=sizes, weight=np.concatenate(weights)
    )  # fmt: skip
    return lightgbm.train(OPTIONS, table, ROUNDS)


def first_is_right(booster: lightgbm.Booster, measured: Sequence[Example | None]) -> float:
    """Return the share of questions whose best candidate is right."""
    hits = [e is not None and bool(e.right[np.argmax(booster.predict(e.features))]) for e in measured]
    return float(np.mean(hits))


def fit_probability(training: Examples, measured: Examples) -> tuple[Floats, dict[str, float]]:
    """Fit the probability on the sources that trees have not seen, each left out once; return it and their figures."""
    rows, right, weights, figures = [], [], [], {}
    groups: dict[str, list[str]] = {}
    for number, name in enumerate(training):
        family = "PathQuestion" if name.startswith(("pq", "pql")) else source(name)
        groups.setdefault(family if name in KGQA else f"worlds {number % 2}", []).append(name)
    for names in groups.values():
        booster = fit_trees({name: own for name, own in training.items() if name not in names})
        for name in names:
            figures[name] = first_is_right(booster, measured[name])
            print(f"left out {name}: {figures[name]:.3f}", flush=True)
            for example in filter(None, measured[name]):
                scores = np.asarray(booster.predict(example.features))
                rows.append(evidence(example.features, scores, FEATURES))
                right.append(bool(example.right[scores.argmax()]))
                weights.append(1 / len(measured[name]))
    table = np.array(rows)
    spread = table.std(axis=0) + 1e-6
    model = LogisticRegression(C=1.0, max_iter=1000).fit(table / spread, right, sample_weight=np.array(weights) * 300)
    return np.append(model.coef_[0] / spread, model.intercept_), figures


def save(file: Path, learned: LearnedLikeness, heads: Heads, booster: lightgbm.Booster, sure: Floats) -> None:
    """Write the weights, those of matrices in half precision."""
    trees = in_preorder(booster.dump_model()["tree_info"])
    half = np.float16
    arrays = {
        f"trees.{name}": np.array(own, np.float32 if name == "value" else np.int32) for name, own in trees.items()
    }
    arrays |= {f"heads.{name}": getattr(heads, name).astype(half) for name in ("forms", "kinds")}
    arrays |= {f"likeness.{name}": getattr(learned, name).astype(half) for name in ("asked", "named", "weight")}
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        file, **arrays, **{"likeness.scale": np.float64(learned.scale)}, sure=sure, names=np.array(FEATURES)
    )


def main() -> None:
    """Fit, measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with kgqa")
    parser.add_argument("--leave-out", nargs="*", default=[], help="sources that are measured only")
    parser.add_argument("--into", type=Path, default=WEIGHTS, help="file of the weights")
    parser.add_argument("--questions", type=int, default=105, help="questions of each set")
    options = parser.parse_args()
    data, encoder = options.data / "kgqa", MiniLM()
    learned = fit_likeness(data / "simplequestions_fb" / "questions.jsonl.gz")
    heads = fit_heads(data, options.leave_out, encoder)
    training, measured = collect(data, options.questions, encoder, learned, heads)
    training = {name: own for name, own in training.items() if source(name) not in options.leave_out}
    sure, _ = fit_probability(training, {name: measured[name] for name in training})
    booster = fit_trees(training)
    for name in measured.keys() - training.keys():
        print(f"left out {name}, with its heads: {first_is_right(booster, measured[name]):.3f}", file=sys.stderr)
    save(options.into, learned, heads, booster, sure)


if __name__ == "__main__":
    main()
