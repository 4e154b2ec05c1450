"""Features of candidate queries: how well each explains the words of a question."""

from __future__ import annotations

import numpy as np

from graphwright.graph.evidence import Ints
from graphwright.models.protocols import Floats
from graphwright.operators.query.graphs.likeness import Likeness, Vocabulary

_LOW = -15.0  # of what is learned, where nothing is alike
_PEAKED = 0.3  # how fast a word counts less that is less like any name
_SIMILARITIES = ("spelling", "meaning", "learned", "covered", "gap")
_SUMMARIES = ("least", "mean", "first", "last")

NAMES = (
    *(f"{similarity} {summary}" for similarity in _SIMILARITIES for summary in _SUMMARIES),
    *(f"{similarity} of words {summary}" for similarity in ("spelling", "meaning", "learned") for summary in
      ("least", "mean", "regret", "most regret")),
    "names", "words", "words a name", "distinct", "order", "order ends", "repeated", "turns", "sentence",
    "sentence gap", "spread of learned", "pair least", "pair mean", *(f"support {summary}" for summary in _SUMMARIES),
    "words explained", "least explained", "names in excess", "names missing", "names off",
)  # fmt: skip


def strengths(likeness: Likeness, vocabulary: Vocabulary, free: Floats) -> Floats:
    """Return how much the words that are free ask for each name: float32[v]."""
    learned = np.where(free[:, None] > 0, likeness.learned, -30.0)
    best = learned.max(axis=0, initial=-30.0)
    strength: Floats = (best - best.max(initial=-30.0)) * 0.3 + covered(likeness, vocabulary, free)
    return strength


def covered(likeness: Likeness, vocabulary: Vocabulary, free: Floats) -> Floats:
    """Return the mean likeness in spelling of the words of each name with their nearest free word: float32[v]."""
    nearest = (likeness.covered * (free[:, None] > 0)).max(axis=0, initial=0.0)
    return np.array([nearest[part].mean() for part in vocabulary.parts], np.float32)


def _summaries(values: Floats, present: Floats, low: float) -> list[Floats]:
    """Return the least, mean, first and last of the values of each row's atoms."""
    count = np.maximum(present.sum(axis=1), 1)
    last = (count - 1).astype(int)
    least = np.where(present > 0, values, np.inf).min(axis=1)
    mean = (values * present).sum(axis=1) / count
    ends = values[:, 0], values[np.arange(len(values)), last]
    return [np.where(np.isfinite(column), column, low) for column in (least, mean, *ends)]


def explained(
    atoms: Ints,
    free: Floats,
    content: Floats,
    anchor: float,
    likeness: Likeness,
    vocabulary: Vocabulary,
    question: Floats,
) -> Floats:
    """Return the features of c candidates by the names that they are made of: float32[c, len(NAMES)].

    `atoms: int64[c, a]`: rows of names in the order of the path, padded by -1. `free: float32[n]`: 0 for the words of
    mentions; `content`: 0 for stop words; `anchor`: the position of the start's mention; `question`: its vector.
    """
    present = (atoms >= 0).astype(np.float32)
    rows = np.maximum(atoms, 0)
    count = np.maximum(present.sum(axis=1), 1)
    used = np.unique(rows[atoms >= 0])
    columns: list[Floats] = []
    places = rows
    shares = covered(likeness, vocabulary, free)
    for name in ("spelling", "meaning", "learned"):
        low = _LOW if name == "learned" else 0.0
        matrix = np.where(free[:, None] > 0, getattr(likeness, name), low)
        best = matrix.max(axis=0, initial=low)
        columns += _summaries(best[rows], present, low)
        if name == "learned":
            places = matrix.argmax(axis=0)[rows] if len(matrix) else rows * 0
            gap = best[rows] - best[used].max(initial=low)
            pairs = matrix
    columns += _summaries(shares[rows], present, 0.0)
    columns += _summaries(gap, present, 0.0)
    weight = free * content
    total = max(float(weight.sum()), 1.0)
    for name in ("spelling", "meaning", "learned"):
        matrix = getattr(likeness, name)
        own = np.where(present[:, :, None] > 0, matrix[:, rows].transpose(1, 2, 0), _LOW).max(axis=1)  # [c, n]
        possible = matrix[:, used].max(axis=1, initial=_LOW) if len(used) else np.zeros(len(matrix))
        regret = (possible[None] - own) * weight
        least = np.where(weight > 0, own, np.inf).min(axis=1, initial=np.inf)
        columns += [np.where(np.isfinite(least), least, 0.0), (own * weight).sum(axis=1) / total]
        columns += [regret.sum(axis=1) / total, regret.max(axis=1, initial=0.0)]
    columns += [count, np.full(len(rows), total), total / count]
    columns += _order(places, present, count, anchor, atoms)
    vectors = (vocabulary.vectors[rows] * present[:, :, None]).sum(axis=1)
    cosine = vectors @ question / np.maximum(np.linalg.norm(vectors, axis=1), 1e-9)
    columns += [cosine, cosine - cosine.max(initial=-1.0)]
    columns += [gap.max(axis=1) - gap.min(axis=1)]
    columns += _assigned(rows, present, pairs, count)
    columns += _competing(rows, present, used, free, weight, likeness)
    return np.stack(columns, axis=1).astype(np.float32)


def _order(places: Ints, present: Floats, count: Floats, anchor: float, atoms: Ints) -> list[Floats]:
    """Return how the words that explain a path lie: the nearer to the mention, the earlier the step."""
    distance = np.abs(places - anchor)
    following = present[:, 1:] > 0
    rising = (np.sign(np.diff(distance, axis=1)) * following).sum(axis=1) / np.maximum(count - 1, 1)
    last = distance[np.arange(len(distance)), (count - 1).astype(int)]
    distinct = _distinct(np.where(present > 0, places, -1)) / count
    repeated = count - _distinct(atoms)
    turns = ((np.diff(atoms, axis=1) == 0) * following).sum(axis=1)
    return [distinct, rising, np.sign(last - distance[:, 0]), repeated, turns]


def _competing(
    rows: Ints, present: Floats, used: Ints, free: Floats, weight: Floats, likeness: Likeness
) -> list[Floats]:
    """Return how the words distribute over the names that compete for them, against how often a candidate has each.

    Each word asks for the names with the probabilities of a softmax; a word that is like no name counts little.
    """
    place = np.searchsorted(used, rows)
    alone = likeness.alone[:, used]
    shifted = np.exp(alone - alone.max(axis=1, keepdims=True, initial=-30.0))
    shares = shifted / np.maximum(shifted.sum(axis=1, keepdims=True), 1e-9)
    best = np.where(free > 0, alone.max(axis=1, initial=-30.0), -30.0)
    weighed = np.exp(_PEAKED * (best - best.max(initial=-30.0))) * weight
    support = (shares * (free > 0)[:, None]).max(axis=0, initial=0.0)
    columns = _summaries(support[place], present, 0.0)
    counts = np.zeros((len(rows), len(used)), np.float32)
    np.add.at(counts, (np.arange(len(rows))[:, None], place), present)
    explained_share = (counts > 0).astype(np.float32) @ shares.T  # [c, n]
    total = max(float(weighed.sum()), 1e-6)
    least = np.where(weighed > 0.3, explained_share, 1.0).min(axis=1, initial=1.0)
    off = counts - weighed @ shares
    columns += [(explained_share * weighed).sum(axis=1) / total, least]
    columns += [np.maximum(off, 0).sum(axis=1), np.maximum(-off, 0).sum(axis=1), np.abs(off).sum(axis=1)]
    return columns


def _distinct(rows: Ints) -> Floats:
    """Return the number of distinct values of each row, without -1."""
    ordered = np.sort(rows, axis=1)
    new = np.diff(ordered, axis=1, prepend=-1) > 0
    counts: Floats = new.sum(axis=1).astype(np.float32)
    return counts


def _assigned(rows: Ints, present: Floats, matrix: Floats, count: Floats) -> list[Floats]:
    """Return the least and mean likeness where each word explains one name: greedily, the best pairs first."""
    first = np.triu(np.ones((rows.shape[1], rows.shape[1]), bool), 1)
    again = ((rows[:, :, None] == rows[:, None, :]) & first[None] & (present[:, :, None] > 0)).any(axis=1)
    left = np.where((present > 0) & ~again, 0.0, -np.inf)[:, None, :] + matrix[:, rows].transpose(1, 0, 2)  # [c, n, a]
    scores = np.full(rows.shape, np.nan)
    every = np.arange(len(rows))
    for turn in range(min(rows.shape[1], left.shape[1])):
        flat = left.reshape(len(rows), -1).argmax(axis=1)
        word, name = np.divmod(flat, rows.shape[1])
        best = left[every, word, name]
        scores[:, turn] = np.where(np.isfinite(best), best, np.nan)
        left[every, word, :] = -np.inf
        left[every, :, name] = -np.inf
    known = np.isfinite(scores)
    least = np.where(known, scores, np.inf).min(axis=1, initial=np.inf)
    mean = np.where(known, scores, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return [np.where(np.isfinite(least), least, _LOW), np.where(known.any(axis=1), mean, _LOW)]
