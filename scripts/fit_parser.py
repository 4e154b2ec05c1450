"""Fit the offline query parser over graphs, and measure it with whole sources left out.

    python scripts/fit_parser.py --data FOLDER [--leave-out metaqa] [--into FILE] [--questions 350]

FOLDER has `kgqa` (MetaQA, PathQuestion, PQL, SimpleQuestions, Overnight). Trains on these and on questions over made
worlds (`parser/worlds.txt`); `--leave-out` names a source (metaqa, pq-2h, pql-2h, or the domain of worlds) that is only
measured. Needs torch, lightgbm and scikit-learn; minutes to half an hour on one core. Writes the weights to `--into`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm
import numpy as np
from parser_data import (
    KGQA,
    Asked,
    Example,
    examples,
    facts_of,
    is_known,
    read_kgqa,
    without_some,
    worlds,
)  # fmt: skip
from parser_heads import CLASSES, fit_heads
from parser_likeness import fit_likeness
from parser_worlds import domains
from scorer_trees import in_preorder
from sklearn.linear_model import LogisticRegression

from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.protocols import Floats
from graphwright.operators.query.graphs.likeness import LearnedLikeness
from graphwright.operators.query.graphs.parser import FEATURES
from graphwright.operators.query.graphs.scorer import WEIGHTS, Heads, evidence

ROUNDS = 60
SEEDS = 3
FIRST = 25  # random candidates of a question, beside the right ones, that the first round sees
HARD = 25  # candidates that the first round holds for the best, which the second round sees
_MORE = ("spelling ", "meaning ", "learned ", "covered ", "gap ", "support ", "pair ", "asked ", "ends of ")
_GOOD = ("words explained", "least explained", "certainty", "kind", "kind gap", "form", "form gap", "sentence",
         "sentence gap", "strength", "share of mentions", "shape")  # fmt: skip
_BAD = ("names in excess", "names missing", "names off", "unused mentions", "unused capitals", "unused literals")


def direction(feature: str) -> int:
    """Return whether the score may only rise with a feature (1), only fall (-1), or either (0)."""
    if "regret" in feature or feature in _BAD:
        return -1
    return int(feature.startswith(_MORE) or feature in _GOOD)


OPTIONS = {
    "objective": "lambdarank",
    "lambdarank_truncation_level": 5,
    "num_leaves": 6,
    "learning_rate": 0.1,
    "monotone_constraints": [direction(feature) for feature in FEATURES],
    "min_data_in_leaf": 60,
    "lambda_l2": 10.0,
    "feature_fraction": 0.3,
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


class Collected(NamedTuple):
    """The examples of each source: for training, measured, and over facts that lack what the questions ask."""

    training: Examples
    measured: Examples
    lacking: Examples


def collect(data: Path, count: int, encoder: MiniLM, learned: LearnedLikeness, heads: Heads) -> Collected:
    """Return the examples of each source."""
    found = Collected({}, {}, {})
    for name, (folder, _, _) in KGQA.items():
        facts = facts_of(data / folder / "kb.tsv")
        for part, into in ((False, found.training), (True, found.measured)):
            into[name] = list(examples(facts, read_kgqa(data, name, count, part), encoder, learned, heads))
        asked, half = read_kgqa(data, name, 120, seed=2), 60
        for way, own in enumerate((asked[:half], asked[half:])):
            there = examples(without_some(facts, way, way == 0), own, encoder, learned, heads)
            found.lacking.setdefault(name, []).extend(e for e in there if e is None or not e.right.any())
        print(name, len(found.training[name]), flush=True)
    for domain in domains():
        made = worlds(domain.name)
        every = [e for facts, some in made for e in examples(facts, some, encoder, learned, heads)]
        found.training[domain.name] = found.measured[domain.name] = every
        found.lacking[domain.name] = list(lacking_worlds(domain.name, encoder, learned, heads))
        print(domain.name, len(every), flush=True)
    return found


def lacking_worlds(domain: str, encoder: MiniLM, learned: LearnedLikeness, heads: Heads) -> Iterator[Example | None]:
    """Yield the questions over made worlds without a relation or a name that they ask for."""
    for way, (facts, asked) in enumerate(worlds(domain, 900_000, 4)):
        there = without_some(facts, way, bool(way % 2))
        lost = [q for q in asked if not is_known(q.gold, there)]  # type: ignore[arg-type]
        yield from examples(there, [Asked(q.text, [""]) for q in lost], encoder, learned, heads)


class Trees(NamedTuple):
    """Trees fitted with several seeds; the score is their mean."""

    boosters: list[lightgbm.Booster]

    def predict(self, features: Floats) -> Floats:
        """Return the scores."""
        scores: Floats = np.mean([np.asarray(booster.predict(features)) for booster in self.boosters], axis=0)
        return scores

    def dumped(self) -> list[dict[str, Any]]:
        """Return the trees as lightgbm dumps them."""
        trees = [tree for booster in self.boosters for tree in booster.dump_model()["tree_info"]]
        for tree in trees:
            _divide(tree["tree_structure"], len(self.boosters))
        return trees


def _divide(node: dict[str, Any], count: int) -> None:
    if "leaf_value" in node:
        node["leaf_value"] /= count
    for child in ("left_child", "right_child"):
        if child in node:
            _divide(node[child], count)


def fit_trees(training: Examples, seeds: int = SEEDS) -> Trees:
    """Fit the trees in two rounds: the second sees the candidates that the first holds for the best."""
    usable = {
        name: [e for e in own if e is not None and 0 < e.right.sum() < len(e.right)] for name, own in training.items()
    }
    draw = np.random.default_rng(1)
    some = {
        name: [_chosen(e, draw.random(len(e.right)).astype(np.float32), FIRST) for e in own]
        for name, own in usable.items()
    }
    boosters = []
    for seed in range(1, seeds + 1):
        first = _boosted(some, 30, seed)
        hard = {n: [_chosen(e, np.asarray(first.predict(e.features)), HARD) for e in own] for n, own in usable.items()}
        boosters.append(_boosted(hard, ROUNDS, seed))
    return Trees(boosters)


def _chosen(example: Example, scores: Floats, count: int) -> Example:
    """Return the right candidates of an example and the other `count` with the highest scores."""
    order = np.argsort(-np.where(example.right > 0, np.inf, scores))[: count + int((example.right > 0).sum())]
    return Example(example.features[order], example.right[order])


def _boosted(examples: dict[str, list[Example]], rounds: int, seed: int) -> lightgbm.Booster:
    """Fit trees; each source has the same weight."""
    every = [e for own in examples.values() for e in own]
    weights = [np.full(len(e.right), 1000 / len(own)) for own in examples.values() for e in own]
    table = lightgbm.Dataset(
        np.vstack([e.features for e in every]),
        np.concatenate([e.right for e in every]),
        group=[len(e.right) for e in every],
        weight=np.concatenate(weights),
    )
    return lightgbm.train(OPTIONS | {"seed": seed}, table, rounds)


def first_is_right(trees: Trees, measured: Sequence[Example | None]) -> float:
    """Return the share of questions whose best candidate is right."""
    hits = [e is not None and bool(e.right[np.argmax(trees.predict(e.features))]) for e in measured]
    return float(np.mean(hits))


def fit_probability(found: Collected) -> Floats:
    """Fit the probability on sources that the trees have not seen, each left out once; print their figures.

    A question over facts that lack what it asks counts half: its best candidate is wrong.
    """
    rows, right, weights = [], [], []
    groups: dict[str, list[str]] = {}
    for number, name in enumerate(found.training):
        family = "PathQuestion" if name.startswith(("pq", "pql")) else source(name)
        groups.setdefault(family if name in KGQA else f"worlds {number % 2}", []).append(name)
    for names in groups.values():
        trees = fit_trees({name: own for name, own in found.training.items() if name not in names}, 1)
        for name in names:
            print(f"left out {name}: {first_is_right(trees, found.measured[name]):.3f}", flush=True)
            for own, weight in ((found.measured[name], 1.0), (found.lacking[name], 0.5)):
                for example in filter(None, own):
                    scores = trees.predict(example.features)
                    rows.append(evidence(example.features, scores.astype(np.float64), FEATURES))
                    right.append(bool(example.right[scores.argmax()]))
                    weights.append(weight / len(own))
    table = np.array(rows)
    spread = table.std(axis=0) + 1e-6
    model = LogisticRegression(C=1.0, max_iter=1000).fit(table / spread, right, sample_weight=np.array(weights) * 300)
    return np.append(model.coef_[0] / spread, model.intercept_)


def save(file: Path, learned: LearnedLikeness, heads: Heads, fitted: Trees, sure: Floats) -> None:
    """Write the weights, those of matrices in half precision."""
    trees = in_preorder(fitted.dumped())
    half = np.float16
    arrays: dict[str, Any] = {
        f"trees.{name}": np.array(own, np.float32 if name == "value" else np.int32) for name, own in trees.items()
    }
    arrays |= {f"heads.{name}": getattr(heads, name).astype(half) for name in CLASSES}
    arrays |= {f"likeness.{name}": getattr(learned, name).astype(half) for name in ("asked", "named", "weight")}
    file.parent.mkdir(parents=True, exist_ok=True)
    arrays |= {"likeness.scale": np.float64(learned.scale), "sure": sure, "names": np.array(FEATURES)}
    np.savez_compressed(file, **arrays)


def main() -> None:
    """Fit, measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with kgqa")
    parser.add_argument("--leave-out", nargs="*", default=[], help="sources that are measured only")
    parser.add_argument("--into", type=Path, default=WEIGHTS, help="file of the weights")
    parser.add_argument("--questions", type=int, default=350, help="questions of each set")
    options = parser.parse_args()
    data, encoder = options.data / "kgqa", MiniLM()
    learned = fit_likeness(data / "simplequestions_fb" / "questions.jsonl.gz")
    heads = fit_heads(data, options.leave_out, encoder)
    found = collect(data, options.questions, encoder, learned, heads)
    training = {name: own for name, own in found.training.items() if source(name) not in options.leave_out}
    sure = fit_probability(found._replace(training=training))
    trees = fit_trees(training)
    for name in found.measured.keys() - training.keys():
        print(f"left out {name}, with its heads: {first_is_right(trees, found.measured[name]):.3f}", file=sys.stderr)
    save(options.into, learned, heads, trees, sure)


if __name__ == "__main__":
    main()
