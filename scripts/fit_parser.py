"""Fit the offline query parser over graphs.

    python scripts/fit_parser.py first --data FOLDER --into first.npz
    python scripts/query_groups.py --data FOLDER --weights first.npz --into groups.pkl
    python scripts/train_query_ranker.py groups.pkl --out joint.npz
    python scripts/build_query_ranker.py joint.npz groups.pkl
    python scripts/fit_parser.py last groups.pkl --weights first.npz

FOLDER has `kgqa` (SimpleQuestions, Overnight; MetaQA, PathQuestion and PQL are only measured). The first fit gives
how words are like relations, the heads, and the trees that score all candidates; the last gives the trees over the
candidates that the network has read, and the probability. The first two thirds of the written graphs are for all but
these two, which see the last third, and made worlds that nothing else has seen; the probability also sees questions
that their graph does not answer. Prints for each graph the share of questions whose best candidate gives the answer.
Needs torch, lightgbm and scikit-learn.
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Sequence
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm
import numpy as np
from parser_data import Example, Group, examples, worlds, written, written_names
from parser_heads import CLASSES, fit_heads
from parser_likeness import fit_likeness
from parser_worlds import domains
from scorer_trees import in_preorder
from sklearn.linear_model import LogisticRegression

from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.embedded.encoder import QUERIES, MiniLM
from graphwright.models.protocols import Floats
from graphwright.operators.query.graphs.likeness import LearnedLikeness
from graphwright.operators.query.graphs.parser import FEATURES, READ_CANDIDATES
from graphwright.operators.query.graphs.scorer import READ, WEIGHTS, Heads, evidence, read_pairs, with_read
from graphwright.operators.query.parser import Results

MADE = 0.25  # weight of a question over a made world for the probability
ROUNDS = 60
PROCESSES = 2
SEEDS = 3
FIRST = 25  # random candidates of a question, beside the right ones, that the first round sees
HARD = 25  # candidates that the first round holds for the best, which the second round sees
_MORE = (
    "spelling ",
    "meaning ",
    "learned ",
    "covered ",
    "gap ",
    "support ",
    "pair ",
    "asked ",
    "ends of ",
    "given ",
    "read",
)
_GOOD = ("words explained", "least explained", "certainty", "kind", "kind gap", "form", "form gap", "sentence",
         "sentence gap", "strength", "share of mentions", "shape", "trees", "trees gap")  # fmt: skip
_BAD = ("names in excess", "names missing", "names off", "unused mentions", "unused capitals", "unused literals",
        "types not given")  # fmt: skip
_EITHER = ("read share of next",)


def direction(feature: str) -> int:
    """Return whether the score may only rise with a feature (1), only fall (-1), or either (0)."""
    if "regret" in feature or feature in _BAD:
        return -1
    return int(feature not in _EITHER and (feature.startswith(_MORE) or feature in _GOOD))


OPTIONS = {
    "objective": "lambdarank",
    "lambdarank_truncation_level": 5,
    "num_leaves": 6,
    "learning_rate": 0.1,
    "min_data_in_leaf": 60,
    "lambda_l2": 10.0,
    "feature_fraction": 0.3,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "num_threads": 1,
    "seed": 1,
    "verbose": -1,
}
Examples = dict[str, list[Example]]


def collect(encoder: MiniLM, learned: LearnedLikeness, heads: Heads) -> Examples:
    """Return the examples of the made worlds of each domain and of two thirds of the written graphs."""
    jobs = [("written", part, name) for part in (0, 1) for name in written_names(part)]
    jobs += [(domain.name, 0, "") for domain in domains()]
    found: Examples = {}
    with Pool(PROCESSES) as pool:
        for source, own in pool.imap(partial(_of_source, encoder=encoder, learned=learned, heads=heads), jobs):
            found.setdefault(source, []).extend(own)
            print(source, len(found[source]), flush=True)
    return found


def _of_source(
    job: tuple[str, int, str], encoder: MiniLM, learned: LearnedLikeness, heads: Heads
) -> tuple[str, list[Example]]:
    """Return the examples of a written graph or of the made worlds of a domain."""
    source, part, name = job
    if source == "written":
        made = [(facts, asked) for _, facts, asked in written(part, [name])]
    else:
        made = list(worlds(source))
    return source, [e for facts, some in made for e in examples(facts, some, encoder, learned, heads) if e is not None]


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
    usable = {name: [e for e in own if 0 < e.right.sum() < len(e.right)] for name, own in training.items()}
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
    """Fit trees; written questions together weigh as much as all the others."""
    every = [e for own in examples.values() for e in own]
    shares = {name: len(examples) - 1 if name == "written" else 1 for name in examples}
    weights = [np.full(len(e.right), 500 * shares[name] / len(own)) for name, own in examples.items() for e in own]
    table = lightgbm.Dataset(
        np.vstack([e.features for e in every]),
        np.concatenate([e.right for e in every]),
        group=[len(e.right) for e in every],
        weight=np.concatenate(weights),
    )
    names = (*FEATURES, *READ)[: every[0].features.shape[1]]
    return lightgbm.train(OPTIONS | {"seed": seed, "monotone_constraints": list(map(direction, names))}, table, rounds)


def read_by_network(group: Group) -> Group:
    """Return a question with its likeliest candidates, whose features now have what the network gives."""
    pairs = group.pairs[:READ_CANDIDATES]
    read = read_pairs(MiniLMCrossEncoder(QUERIES), pairs)
    order = np.argsort(-group.scores[: len(pairs)], kind="stable")
    features = with_read(group.features[order], group.scores[order].astype(np.float64), read[order])
    keys = [group.keys[row] for row in order.tolist()]
    chosen = [pairs[row] for row in order.tolist()]
    return Group(group.text, chosen, group.right[order], group.gives[order], features, keys=keys)


class LastFit(NamedTuple):
    """The trees over what the network has read, and the weights of the probability."""

    trees: Trees
    sure: Floats


class Source(NamedTuple):
    """Questions that the network has not seen, over one written graph or the made worlds of a domain.

    `lacking`: those that their graph does not answer, or of which no candidate gives the answer.
    """

    name: str
    answered: list[Group]
    lacking: list[Group]

    @classmethod
    def all_of(cls, found: dict[str, list[Group]]) -> list[Source]:
        """Read the questions of the last third of the written graphs and of made worlds, as the network reads them."""
        sources: dict[tuple[str, str], Source] = {}
        with Pool(PROCESSES) as pool:
            for name, groups in found.items():
                kind, *rest = name.split()
                if kind == "others" or rest[:1] == ["2"]:
                    domain, graph = ("written", rest[1]) if kind == "written" else (rest[0], rest[0])
                    source = sources.setdefault((domain, graph), cls(domain, [], []))
                    for group in pool.map(read_by_network, filter(_has_pairs, groups), 8):
                        (source.answered if group.gives.any() else source.lacking).append(group)
        return [sources[key] for key in sorted(sources)]


def _examples(sources: Sequence[Source]) -> Examples:
    """Return the questions that have an answer, by the names of sources."""
    found: Examples = {}
    for source in sources:
        found.setdefault(source.name, []).extend(Example(g.features, g.right) for g in source.answered)
    return found


def _results(trees: Trees, group: Group) -> Results:
    return Results.of(trees.predict(group.features).astype(np.float64), group.keys)


def _gives(trees: Trees, group: Group) -> bool:
    return bool(group.gives[_results(trees, group).best[0]])


def _has_pairs(group: Group) -> bool:
    return bool(group.pairs)


def fit_last(sources: Sequence[Source]) -> LastFit:
    """Fit the last trees, and the probability on graphs that the trees have not seen: two halves by turns."""
    rows, right, weights = [], [], []
    for half in (0, 1):
        trees = fit_trees(_examples(sources[half::2]), 1)
        for source in sources[1 - half :: 2]:
            print(f"{source.name}: {np.mean([_gives(trees, group) for group in source.answered]):.3f}", flush=True)
            weight = 1.0 if source.name == "written" else MADE
            for group in (*source.answered, *source.lacking):
                results = _results(trees, group)
                rows.append(evidence(group.features, results, (*FEATURES, *READ)))
                right.append(bool(group.gives[results.best[0]]))
                weights.append(weight)
    table = np.array(rows)
    spread = table.std(axis=0) + 1e-6
    model = LogisticRegression(C=1.0, max_iter=3000).fit(table / spread, right, sample_weight=weights)
    sure = np.append(model.coef_[0] / spread, model.intercept_)
    return LastFit(fit_trees(_examples(sources)), sure)


def arrays_of(learned: LearnedLikeness, heads: Heads, fitted: Trees) -> dict[str, Any]:
    """Return the weights of the first fit, those of matrices in half precision."""
    half = np.float16
    arrays: dict[str, Any] = trees_of("trees", fitted)
    arrays |= {f"heads.{name}": getattr(heads, name).astype(half) for name in CLASSES}
    arrays |= {f"likeness.{name}": getattr(learned, name).astype(half) for name in ("asked", "named", "weight")}
    return arrays | {"likeness.scale": np.float64(learned.scale), "names": np.array(FEATURES)}


def trees_of(name: str, fitted: Trees) -> dict[str, Any]:
    """Return trees as arrays."""
    trees = in_preorder(fitted.dumped())
    return {f"{name}.{part}": np.array(own, np.float32 if part == "value" else np.int32) for part, own in trees.items()}


def first(options: argparse.Namespace) -> None:
    """Fit the likeness, the heads and the first trees."""
    data, encoder = options.data / "kgqa", MiniLM()
    learned = fit_likeness(data / "simplequestions_fb" / "questions.jsonl.gz")
    heads = fit_heads(data, encoder)
    print("likeness and heads are fitted", flush=True)
    arrays = arrays_of(learned, heads, trees := fit_trees(collect(encoder, learned, heads)))
    empty = {name.replace("trees.", "last."): value for name, value in arrays.items() if name.startswith("trees.")}
    np.savez_compressed(options.into, **arrays, **empty, sure=np.zeros(1))
    print(f"{len(trees.boosters)} seeds, {options.into}", flush=True)


def last(options: argparse.Namespace) -> None:
    """Fit the last trees and the probability, and write all weights."""
    with options.groups.open("rb") as stream:
        found: dict[str, list[Group]] = pickle.load(stream)
    fitted = fit_last(Source.all_of(found))
    with np.load(options.weights) as stored:
        arrays = {name: stored[name] for name in stored.files if not name.startswith("last.") and name != "sure"}
    options.into.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(options.into, **arrays, **trees_of("last", fitted.trees), sure=fitted.sure)


def main() -> None:
    """Fit a part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    one = parts.add_parser("first")
    one.add_argument("--data", type=Path, required=True, help="folder with kgqa")
    one.add_argument("--into", type=Path, required=True)
    one.set_defaults(run=first)
    two = parts.add_parser("last")
    two.add_argument("groups", type=Path)
    two.add_argument("--weights", type=Path, required=True, help="of the first fit")
    two.add_argument("--into", type=Path, default=WEIGHTS)
    two.set_defaults(run=last)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
