"""Fit the scorer of passages, and measure it on collections that it was not fitted on.

    python scripts/fit_scorer.py --data DIR --work FOLDER [--seeds 3] [--ablate | --check | --tables]

Needs torch and lightgbm. Builds an index of every collection of scorer_data.py (FOLDER keeps them, and the features),
fits one scorer without the collections of each source, and one on all. The latter is the scorer of the package; those
of the folds are what figures are measured with: `benchmarks/results/scorer/SOURCE.json`. `benchmarks/results/scorer.md`
has the figures: recall@5, or nDCG@10 where a question needs one passage, of scorers that did not see the collection,
over several seeds; `--tables` writes these alone. `--ablate` repeats this without each group of features. `--check`
fits nothing: it prints the figures of the scorers of the folds as they are, after a change of the graph for example.

A question counts by its collection, each collection alike. The loss of a question is the mean over its gold passages of
-log of the probability of the passage against all that are not gold. Whether a question needs several passages is
learned first, from which collection it is of; the linear model is then fitted with probabilities of a model that did
not see the collection's source. The weights for questions that need one passage are fitted apart (scorer_single.py).
The two numbers of the coverage are those of the best mean over the multi-hop collections that the scorer is fitted on.
Trees come last (scorer_trees.py).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import torch
from harness import write_results
from numpy.typing import NDArray
from scorer_data import FAMILIES, OPEN, families_without
from scorer_examples import (
    QUESTIONS,
    SEVERAL,
    Example,
    arguments,
    examples_of,
    metric_of,
    source_of,
    value,
    value_of_hybrid,
)
from scorer_files import WEIGHTS, file_of_fold, write
from scorer_single import fitted_single
from scorer_trees import with_trees
from stamps import RESULTS

from graphwright.operators.rerank.fitted_scorer import Cover, PassageScorer
from graphwright.operators.rerank.passage_features import ALONE, PAIR

STEPS, BATCH, RATE = 500, 24, 0.03
PENALTY, PENALTY_OF_QUESTIONS = 1e-3, 0.3
OPENS, OVERLAPS = (0.6, 0.8, 1.0), (0.0, 0.5, 1.0, 1.5, 2.0)
GROUPS: Mapping[str, tuple[str, ...]] = {
    "cosine": ("cosine", "cosine_of_best", "cosine_no_topic"),
    "bm25": ("bm25", "bm25_unnamed_words", "bm25_no_topic", "bm25_of_pair"),
    "words": ("word_share", "word_share_no_topic", "words_of_pair"),
    "topics": ("topic", "topics", "topics_of_pair", "both_named"),
    "anchors": ("anchor_share",),
    "pagerank": ("pagerank",),
    "statements": ("statement", "statement_on_topic"),
    "feedback": ("feedback",),
    "topic links": ("mentions_topic", "topic_is_mentioned", "topic_rarity"),
    "shared entities": ("shared_rarity",),
    "text of pairs": ("similarity", "cosine_of_pair", "cosine_uncovered"),
}
"""Features that are left out together."""


def logit(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log odds."""
    return np.log(probability / (1 - probability))


def logistic(rows: NDArray[np.float64], labels: Sequence[bool], weights: Sequence[float], penalty: float) -> Any:
    """Return the coefficients, then the constant, of a weighted logistic regression with a squared penalty."""
    x, y = torch.tensor(rows), torch.tensor(np.array(labels, float))
    w = torch.tensor(np.array(weights, float))
    w = torch.where(y > 0, w / w[y > 0].sum(), w / w[y == 0].sum())
    coefficients = torch.zeros(x.shape[1] + 1, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([coefficients], max_iter=200)

    def closure() -> Any:
        optimiser.zero_grad()
        values = x @ coefficients[:-1] + coefficients[-1]
        loss = (w * torch.nn.functional.binary_cross_entropy_with_logits(values, y, reduction="none")).sum()
        loss = loss + penalty * (coefficients[:-1] ** 2).sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    return coefficients.detach().numpy()


class Several:
    """Whether questions need several passages, learned from the source of each collection."""

    def __init__(self, data: Mapping[str, list[Example]]) -> None:
        self.data, self.cache = data, dict[frozenset[str], Any]()
        # The questions of a source's collections are the same ones; one collection stands for each set of them.
        self.labels = [label for label in data if not label.endswith("untitled") and label != "musique-openie"]

    def text(self, without: frozenset[str]) -> Any:
        """Return the coefficients over the question's vector, learned without some sources."""
        if without not in self.cache:
            rows = [(e.features.question, label) for label in self.labels for e in self.data[label][:300]]
            rows = [row for row in rows if source_of(row[1]) not in without]
            sizes = {label: sum(other == label for _, other in rows) for _, label in rows}
            vectors = np.array([vector for vector, _ in rows], np.float64)
            labels = [source_of(label) in SEVERAL for _, label in rows]
            penalty = PENALTY_OF_QUESTIONS / len(rows)
            self.cache[without] = logistic(vectors, labels, [1 / sizes[label] for _, label in rows], penalty)
        return self.cache[without]

    def fitted(self, left_out: str | None) -> tuple[tuple[float, ...], dict[str, NDArray[np.float64]]]:
        """Return the weights without one source, and the probability of each question.

        That of a question is given by a model that has not seen its source either.
        """
        without = frozenset({left_out} if left_out else set())
        texts = {label: self._text_of(label, without | {source_of(label)}) for label in self.data}
        named = {label: np.array([e.features.names_topic for e in self.data[label]], float) for label in self.data}
        used = [label for label in self.labels if source_of(label) not in without and label != "squad"]
        rows = np.concatenate([np.stack((texts[label], named[label]), 1)[:QUESTIONS] for label in used])
        sizes = [min(len(self.data[label]), QUESTIONS) for label in used]
        labels = np.repeat([source_of(label) in SEVERAL for label in used], sizes)
        weights = np.repeat([1 / size for size in sizes], sizes)
        text, topic, constant = logistic(rows, labels.tolist(), weights.tolist(), 1e-3)
        *vector, bias = self.text(without)
        several = (*(float(text * value) for value in vector), float(topic), float(text * bias + constant))
        values = {label: 1 / (1 + np.exp(-(text * texts[label] + topic * named[label] + constant))) for label in texts}
        return several, values

    def _text_of(self, label: str, without: frozenset[str]) -> NDArray[np.float64]:
        *vector, bias = self.text(without)
        questions = np.array([example.features.question for example in self.data[label]], np.float64)
        logits: NDArray[np.float64] = questions @ np.array(vector) + bias
        return logits


class Network(torch.nn.Module):  # type: ignore[misc]
    """The scorer over standardised features, as `PassageScorer` computes it."""

    def __init__(self, alone: int, pair: int) -> None:
        super().__init__()
        self.alone = torch.nn.Parameter(torch.zeros(alone))
        self.pair = torch.nn.Parameter(torch.zeros(pair + 2))
        self.bias = torch.nn.Parameter(torch.zeros(()))

    def forward(self, alone: Any, source: Any, target: Any, pair: Any, several: Any) -> Any:
        """Return the score of each passage."""
        a = alone @ self.alone
        fixed = self.bias + pair @ self.pair[:-2] + self.pair[-1] * a[target]
        score = a
        for _ in range(2):
            pairs = several[target] * (fixed + self.pair[-2] * score[source])
            score = a + torch.zeros_like(a).scatter_reduce(0, target, pairs, "amax", include_self=True)
        return score


def loss_of(scores: Any, gold: Any, group: Any, weights: Any) -> Any:
    """Return the weighted mean over questions of -log p(gold passage against all that are not gold)."""
    count = len(weights)
    others = scores.masked_fill(gold, -1e9)
    largest = torch.full((count,), -1e9).scatter_reduce(0, group, others.detach(), "amax")
    total = torch.zeros(count).scatter_add(0, group, torch.exp(others - largest[group]).masked_fill(gold, 0.0))
    against = (torch.log(total + 1e-9) + largest)[group]
    losses = torch.nn.functional.softplus(against - scores) * gold
    counts = torch.zeros(count).scatter_add(0, group, gold.float()).clamp(min=1)
    per_question = torch.zeros(count).scatter_add(0, group, losses) / counts
    return (per_question * weights).sum() / weights.sum()


def fit(
    data: Mapping[str, list[Example]], several: Several, left_out: str | None, seed: int, dropped: Iterable[str] = ()
) -> PassageScorer:
    """Return a scorer fitted without the collections of one source, and without some features."""
    torch.manual_seed(seed)
    draw = np.random.default_rng(seed)
    weights, probabilities = several.fitted(left_out)
    rows = [
        (data[label][i], float(probabilities[label][i]), weight) for label, i, weight in drawn(data, left_out, draw)
    ]
    alone = np.concatenate([row[0].features.alone for row in rows])
    pair = np.concatenate([row[0].features.pair[::5] for row in rows])
    means, deviations = (np.concatenate((f(alone, axis=0), f(pair, axis=0))) for f in (np.mean, np.std))
    deviations += 1e-6
    masks = np.array([name not in set(dropped) for name in (*ALONE, *PAIR)], np.float32)
    network = Network(len(ALONE), len(PAIR))
    optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=STEPS, pct_start=0.2)
    a = len(ALONE)
    for _ in range(STEPS):
        batch = [rows[i] for i in draw.choice(len(rows), BATCH, replace=False)]
        starts = np.cumsum([0, *(len(row[0].gold) for row in batch)])
        x = np.concatenate([(row[0].features.alone - means[:a]) / deviations[:a] for row in batch]) * masks[:a]
        z = np.concatenate([(row[0].features.pair - means[a:]) / deviations[a:] for row in batch]) * masks[a:]
        source = np.concatenate([row[0].features.source + at for row, at in zip(batch, starts, strict=False)])
        target = np.concatenate([row[0].features.target + at for row, at in zip(batch, starts, strict=False)])
        group = torch.tensor(np.repeat(np.arange(len(batch)), np.diff(starts)))
        gates = torch.tensor([row[1] for row in batch])[group]
        inputs = (torch.tensor(x), torch.tensor(source), torch.tensor(target), torch.tensor(z))
        scores = network(*(part.float() if part.is_floating_point() else part for part in inputs), gates)
        gold = torch.tensor(np.concatenate([row[0].gold for row in batch]))
        loss = loss_of(scores, gold, group, torch.tensor([row[2] for row in batch]))
        loss = loss + PENALTY * ((network.alone**2).sum() + (network.pair**2).sum())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return _plain(network, means, deviations, masks, weights, fitted_single(data, left_out))


def drawn(
    data: Mapping[str, list[Example]], left_out: str | None, draw: np.random.Generator
) -> list[tuple[str, int, float]]:
    """Return examples to fit on: the collection, the number there, and a weight by which collections count alike."""
    rows: list[tuple[str, int, float]] = []
    for label in families_without(left_out):
        usable = [i for i, example in enumerate(data[label]) if example.gold.any()]
        chosen = draw.permutation(usable)[:QUESTIONS]
        rows += [(label, int(i), 1 / len(chosen)) for i in chosen]
    return rows


def whole(data: Mapping[str, list[Example]], several: Several, left_out: str | None, seed: int) -> PassageScorer:
    """Return a scorer with its coverage and its trees, fitted without the collections of one source."""
    linear = covered(fit(data, several, left_out, seed), data, left_out)
    rows = drawn(data, left_out, np.random.default_rng(seed))
    return with_trees(linear, [data[label][i] for label, i, _ in rows], [weight for *_, weight in rows], seed)


def _plain(
    network: Network, means: Any, deviations: Any, masks: Any, several: tuple[float, ...], single: dict[str, float]
) -> PassageScorer:
    """Return the scorer over features as they are: means and deviations become part of the weights."""
    a = len(ALONE)
    alone = network.alone.detach().numpy() * masks[:a] / deviations[:a]
    pair = network.pair.detach().numpy()
    links = pair[:-2] * masks[a:] / deviations[a:]
    shift = float(alone @ means[:a])  # of every score alone
    bias = float(network.bias.detach()) - float(links @ means[a:]) - shift * float(pair[-2] + pair[-1])
    names = dict(zip(PAIR, map(float, links), strict=True))
    names |= {"source_score": float(pair[-2]), "target_score": float(pair[-1])}
    return PassageScorer(
        dict(zip(ALONE, map(float, alone), strict=True)), single, names, bias, several, Cover(1.0, 0.0)
    )


def covered(scorer: PassageScorer, data: Mapping[str, list[Example]], left_out: str | None) -> PassageScorer:
    """Return the scorer with the coverage that is best on the multi-hop collections that it was fitted on."""
    labels = [label for label in families_without(left_out) if metric_of(label) == "recall@5"]

    def mean(cover: Cover) -> float:
        tried = replace(scorer, cover=cover)
        return float(np.mean([np.mean([value(tried, e, "recall@5") for e in data[label][:60]]) for label in labels]))

    covers = [Cover(open, overlap) for open, overlap in product(OPENS, OVERLAPS)]
    return replace(scorer, cover=max(covers, key=mean))


def measured(
    data: Mapping[str, list[Example]], scorers: Sequence[PassageScorer], labels: Iterable[str]
) -> dict[str, Any]:
    """Return the mean of each collection, its 95 % interval over questions, and that of each seed."""
    figures = {}
    for label in labels:
        values = np.array([[value(scorer, e, metric_of(label)) for e in data[label]] for scorer in scorers])
        draws = np.random.default_rng(0).integers(0, values.shape[1], (1000, values.shape[1]))
        low, high = np.percentile(values.mean(0)[draws].mean(1), (2.5, 97.5))
        seeds = [round(100 * float(row.mean()), 1) for row in values]
        mean = round(100 * float(values.mean()), 1)
        hybrid = 100 * float(np.mean([value_of_hybrid(e, metric_of(label)) for e in data[label]]))
        figures[label] = {
            "metric": metric_of(label),
            "mean": mean,
            "hybrid": round(hybrid, 1),
            "low": round(100 * float(low), 1),
            "high": round(100 * float(high), 1),
            "seeds": seeds,
        }
    return figures


def page(figures: Mapping[str, Any], ablation: Mapping[str, Mapping[str, float]]) -> str:
    """Return the tables as Markdown."""
    lines = [
        "# The scorer of passages, on collections that it was not fitted on",
        "",
        "Made by `python scripts/fit_scorer.py`. Collections of one source are left out together. Percent with 95 %",
        "bootstrap intervals over questions; the seeds of the fit apart.",
        "",
        "| collection | metric | `hybrid` | without trees | mean | interval | seeds |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for label, row in figures.items():
        seeds = ", ".join(f"{seed:.1f}" for seed in row["seeds"])
        lines.append(
            f"| {label} | {row['metric']} | {row['hybrid']} | {row['linear']} | {row['mean']} "
            f"| {row['low']}–{row['high']} | {seeds} |"
        )
    if ablation:
        names = list(next(iter(ablation.values())))
        lines += ["", "Difference of the linear model without a group of features, in points (one seed):", ""]
        lines += ["| without | " + " | ".join(names) + " |", "| --- |" + " ---: |" * len(names)]
        for group, row in ablation.items():
            lines.append(f"| {group} | " + " | ".join(f"{row[name]:+.1f}" for name in names) + " |")
    return "\n".join(lines) + "\n"


def check(options: argparse.Namespace) -> None:
    """Print the figures of the scorers of the folds as they are in the repository."""
    for family, group in FAMILIES.items():
        scorer = PassageScorer.read(file_of_fold(family))
        for label in group:
            [figures] = measured({label: examples_of(options, label)}, [scorer], [label]).values()
            print(label, json.dumps(figures), flush=True)


def main() -> None:
    """Fit, measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="fits of each fold")
    parser.add_argument("--ablate", action="store_true", help="measure without each group of features, too")
    parser.add_argument("--check", action="store_true", help="measure the scorers that are there, and fit none")
    parser.add_argument("--tables", action="store_true", help="fit and measure, and write the tables but no scorer")
    options = arguments(parser)
    torch.set_num_threads(1)
    if options.check:
        check(options)
        return
    labels = [label for group in FAMILIES.values() for label in group]
    data = {label: examples_of(options, label) for label in (*labels, *OPEN)}
    several = Several(data)
    figures: dict[str, Any] = {}
    first: dict[str, PassageScorer] = {}
    for family, group in FAMILIES.items():
        scorers = [whole(data, several, family, seed) for seed in range(options.seeds)]
        linear = [replace(scorer, trees=None) for scorer in scorers]
        first[family] = scorers[0]
        if not options.tables:
            write(scorers[0], file_of_fold(family))
        figures |= measured(data, scorers, group)
        for label, without in measured(data, linear, group).items():
            figures[label]["linear"] = without["mean"]
        print(family, {label: figures[label]["mean"] for label in group}, scorers[0].cover, flush=True)
    if not options.tables:
        write(whole(data, several, None, 0), WEIGHTS)
    ablation = {}
    for name, dropped in GROUPS.items() if options.ablate else ():
        row: dict[str, float] = {}
        for family, group in FAMILIES.items():
            scorer = replace(fit(data, several, family, 0, dropped), cover=first[family].cover)
            every = replace(first[family], trees=None)
            all_of_them, part = (measured(data, [s], group) for s in (every, scorer))
            row |= {label: part[label]["mean"] - all_of_them[label]["mean"] for label in group}
        ablation[name] = row
        print(name, row, flush=True)
    record = {"figures": figures, "ablation": ablation}
    write_results(RESULTS / "scorer.json", record, page(figures, ablation))


if __name__ == "__main__":
    main()
