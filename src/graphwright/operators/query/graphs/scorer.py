"""The fitted scorer of candidate queries: regression trees over features, with a network that reads them in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphwright.errors import DataError
from graphwright.graph.evidence import Scores
from graphwright.kernels.regression_trees import RegressionTrees
from graphwright.models.protocols import CrossEncoder, Floats
from graphwright.operators.query.checks import parts
from graphwright.operators.query.graphs.generation import FORMS, Candidate
from graphwright.operators.query.graphs.likeness import LearnedLikeness
from graphwright.operators.query.graphs.matching import Words
from graphwright.operators.query.graphs.steps import step_index_of, types_in_words
from graphwright.operators.query.logistic import logistic, logistic_of
from graphwright.operators.query.parser import Results
from graphwright.operators.query.query import Named, Query, changed
from graphwright.operators.query.words import words
from graphwright.search.facts import Facts
from graphwright.search.relation_facts import relation_phrase

WEIGHTS = Path(__file__).parents[3] / "models" / "weights" / "query-parser" / "model.npz"
"""The weights that are part of this package (see the CARD.md beside them)."""
ENGLISH = WEIGHTS.parent / "english.npy"
_PARTS = {
    "likeness": ("asked", "named", "weight"),
    "heads": ("forms", "kinds", "steps", "turns", "firsts", "lasts", "named"),
    "trees": ("roots", "feature", "value", "other"),
    "last": ("roots", "feature", "value", "other"),
}
READ = ("trees", "trees gap", "read", "read gap", "read share", "read share of next", "rank of trees")
"""The features of a candidate that the network has read, after those of all candidates."""


class Heads(NamedTuple):
    """Logistic regressions on the vector of a question: weights and the constant, float32[classes, d + 1] each.

    They tell what it asks for: its form, the kind of its answers, and the shape of the path: `steps`: how many;
    `turns`: whether a step goes back along the relation before it; `firsts`, `lasts`: whether the first and the last
    step go backwards; `named`: the number of things that are named.
    """

    forms: Floats
    kinds: Floats
    steps: Floats
    turns: Floats
    firsts: Floats
    lasts: Floats
    named: Floats

    def __call__(self, vector: Floats) -> Heads:
        """Return the log-probabilities that each gives its classes."""
        return Heads(*(_log_softmax(weights, vector) for weights in self))


def _log_softmax(weights: Floats, vector: Floats) -> Floats:
    scores = weights[:, :-1] @ vector + weights[:, -1]
    shifted: Floats = scores - scores.max()
    result: Floats = shifted - np.log(np.exp(shifted).sum())
    return result


@dataclass(frozen=True, eq=False)
class ParserScorer:
    """Score candidate queries by regression trees over their features (LambdaMART; Burges, 2010).

    `trees` scores all candidates, `last` those that the network has read besides, whose features are `read` longer.
    The probability that the best candidate is right is a logistic regression on its score, its distance from the next
    and some of its features (`sure: float64[s + 1]`; see `evidence`). `names`: of the features that the trees test.
    """

    likeness: LearnedLikeness
    heads: Heads
    trees: RegressionTrees
    last: RegressionTrees
    sure: Floats
    names: tuple[str, ...]

    @classmethod
    def read(cls, file: Path, features: tuple[str, ...]) -> ParserScorer:
        """Read the arrays that `scripts/fit_parser.py` wrote. Raises DataError for another file or other features."""
        try:
            with np.load(file, allow_pickle=False) as stored:
                parts: dict[str, dict[str, Any]] = {
                    part: {name: stored[f"{part}.{name}"] for name in names} for part, names in _PARTS.items()
                }
                scale, sure, names = float(stored["likeness.scale"]), stored["sure"], tuple(stored["names"].tolist())
        except (OSError, ValueError, KeyError) as exc:
            raise DataError(f"{file} is not a query parser: {exc!r}. Fit it with scripts/fit_parser.py.") from exc
        if names != features:
            differ = ", ".join(sorted(set(names) ^ set(features))) or "their order"
            raise DataError(f"{file}: its features differ from those of this version: {differ}. Fit it again.")
        learned = LearnedLikeness(**{k: v.astype(np.float32) for k, v in parts["likeness"].items()}, scale=scale)
        heads = Heads(**{k: v.astype(np.float32) for k, v in parts["heads"].items()})
        trees, last = (RegressionTrees(**parts[part]) for part in ("trees", "last"))
        return cls(learned, heads, trees, last, sure, names)

    def __call__(self, features: Floats) -> Scores:
        """Return the score of each candidate."""
        scores: Scores = self.trees(features)
        return scores

    def probability(self, features: Floats, results: Results) -> float:
        """Return the probability that the result of the first is right."""
        return logistic(self.sure, evidence(features, results, (*self.names, *READ)))


def with_read(features: Floats, scores: Scores, read: Floats) -> Floats:
    """Return the features of candidates, by descending scores of the trees, with those that the network adds.

    `features: float32[c, f]`, `scores: float64[c]`, `read: float32[c]`: what the network gives each; float32[c, f + 7].
    """
    shares = np.exp(read - read.max())
    shares /= shares.sum()
    next_share = np.sort(shares)[-2] if len(shares) > 1 else 0.0
    columns = [scores, scores - scores.max(), read, read - read.max(), shares, np.full(len(read), next_share)]
    return np.column_stack((features, *columns, np.arange(len(read)))).astype(np.float32)


_EVIDENCE = (
    "certainty", "unused mentions", "unused capitals", "form gap", "kind gap", "support least", "words explained",
    "least explained", "covered mean", "meaning mean", "learned mean", "spelling mean", "capitals", "names off",
    "learned least", "meaning least", "gap mean", "kind", "form", "asked steps gap", "shape", "ends of question",
    "read", "read gap", "read share", "read share of next", "trees", "trees gap", "names", "parts", "types", "size",
    "literals", "unused literals", "last backwards", "strength", "values", *FORMS,
)  # fmt: skip
_LEAST = 1e-3  # share whose logarithm stands for less


def evidence(features: Floats, results: Results, names: tuple[str, ...]) -> Floats:
    """Return what the probability depends on: how the likeliest result stands to the next, and features of its best.

    What the network gives a candidate is the logarithm of its odds against none of them: their sum tells whether
    something fits. A candidate that asks whether something is so, and finds nothing, gives "no".
    """
    best, scores, shares = results.best[0], results.scores, [*results.shares.tolist(), 0.0]
    own = dict(zip(names, features[best].tolist(), strict=True))
    gap = float(scores[0] - scores[1:].max()) if len(scores) > 1 else 3.0
    fits = np.log1p(np.exp(features[:, names.index("read")]).sum())
    denies = own["exists"] * (own["size"] == 0)
    stands = [scores[0], min(gap, 5.0), np.log1p(results.candidates), *shares[:2], fits, denies]
    stands += np.log(np.maximum(shares[:2], _LEAST)).tolist()
    return np.array([*stands, *(own[name] for name in _EVIDENCE)], np.float64)


@cache
def read_scorer(file: Path, features: tuple[str, ...]) -> ParserScorer:
    """Return the scorer of a file, read once."""
    return ParserScorer.read(file, features)


def english_probability(vector: Floats, file: Path = ENGLISH) -> float:
    """Return the probability that a question is in English, by its vector: the weights were fitted for English only."""
    return logistic_of(file, vector)


_VARIABLES = "xyzuvw"
_SHOWN = 2  # names of what a candidate gives
_LETTERS = 40  # of each
_TEXTS = 0.5  # share of a relation's objects that are neither numbers nor dates, below which it is shown with one


def read_candidates(network: CrossEncoder, question: Words, candidates: Sequence[Candidate], facts: Facts) -> Floats:
    """Return how well each candidate says what the question asks, as the network reads them: float32[c]."""
    return read_pairs(network, [pair_of(question, candidate, facts) for candidate in candidates])


def read_pairs(network: CrossEncoder, pairs: Sequence[tuple[str, str]]) -> Floats:
    """Return the score of each pair of a question and a candidate in words: float32[n]."""
    scores = np.zeros(len(pairs), np.float32)
    for asked in dict.fromkeys(pair[0] for pair in pairs):
        rows = [row for row, pair in enumerate(pairs) if pair[0] == asked]
        scores[rows] = network.head(network.latents(asked, [pairs[row][1] for row in rows]))
    return scores


def pair_of(question: Words, candidate: Candidate, facts: Facts) -> tuple[str, str]:
    """Return a question and a candidate in words, "it" in place of the name that it uses, "x", "y" in place of several.

    The name of a type stays, and so does a number or a date. An example or two of what the candidate gives follow it,
    with a type, and one of the numbers or dates that it compares.
    """
    named = [mention for mention in candidate.mentions if mention.name not in facts.types]
    places = dict.fromkeys(mention.first for mention in sorted(named, key=lambda m: m.first))
    letters = {first: "it" if len(places) == 1 else _VARIABLES[at % len(_VARIABLES)] for at, first in enumerate(places)}
    hidden = {mention.name: letters[mention.first] for mention in named}

    def masked(part: Query) -> Query:
        return Named(hidden[part.name]) if isinstance(part, Named) and part.name in hidden else part

    text = words(changed(candidate.query, masked))
    shown = [name[:_LETTERS] for name in facts.texts(candidate.ends[:_SHOWN].tolist())]
    if shown and (types := types_in_words(candidate.ends[:_SHOWN], facts)):
        shown[-1] += f", {types[0]}"
    shown += islice(_compared(candidate.query, facts), 1)
    return question.without(named, letters), f"{text} ({'; '.join(shown)})" if shown else text


def _compared(query: Query, facts: Facts) -> Iterator[str]:
    """Yield each relation whose numbers or dates a query compares, with one of them: "height 12 m"."""
    steps = step_index_of(facts)
    for relation in (step.relation for part in parts(query) for step in getattr(part, "path", ())):
        key = 2 * steps.relations.index(relation)
        if steps.kinds(key, facts)[0] < _TEXTS:
            yield f"{relation_phrase(relation)} {facts.text(int(steps.ends(key, facts)[0][0]))[:_LETTERS]}"
