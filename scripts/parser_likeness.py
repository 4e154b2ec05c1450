"""Fit the likeness of words with relations on SimpleQuestions: which words of a question ask for which relation."""

from __future__ import annotations

import gzip
import itertools
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.protocols import Floats
from graphwright.operators.query.graphs.likeness import LearnedLikeness
from graphwright.search.relation_facts import relation_phrase

DIMENSION, EPOCHS, BATCH, NEGATIVES = 64, 7, 64, 300
PIECES, PER_RELATION, RARE = 24, 150, 3


def asked(file: Path) -> list[tuple[list[str], str]]:
    """Return the words of each question, and the relation that it asks for."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [(re.findall(r"\w+", row["question"].lower()), row["relation"]) for row in rows]


def pieces(words: Sequence[str]) -> list[str]:
    """Return the words and pairs of neighbouring words."""
    return [*words, *map(" ".join, itertools.pairwise(words))]


def examples(
    rows: Sequence[tuple[list[str], str]], relations: Sequence[str], order: Sequence[int]
) -> tuple[list[str], Floats, Floats]:
    """Return the pieces that are not rare, their numbers in each question (padded by -1), and its relation's number."""
    counts = Counter(piece for words, _ in rows for piece in pieces(words))
    known = [piece for piece, count in counts.items() if count >= RARE]
    number, place = {piece: i for i, piece in enumerate(known)}, {name: i for i, name in enumerate(relations)}
    seen: Counter[str] = Counter()
    inputs, targets = [], []
    for at in order:
        words, relation = rows[at]
        seen[relation] += 1
        if seen[relation] <= PER_RELATION:
            own = [number[piece] for piece in pieces(words) if piece in number][:PIECES]
            inputs.append(own + [-1] * (PIECES - len(own)))
            targets.append(place[relation])
    return known, np.array(inputs), np.array(targets)


def phrases(relations: Sequence[str]) -> list[list[str]]:
    """Return each relation in words, alone and with what it is a property of."""
    alone = [relation_phrase(name) for name in relations]
    return [
        alone,
        [f"{relation_phrase(name.split('/')[-2])} {own}" for name, own in zip(relations, alone, strict=True)],
    ]


def fit_likeness(file: Path, seed: int = 0) -> LearnedLikeness:
    """Fit the likeness by the cross-entropy of each question's relation among others; half a minute on one core."""
    torch.manual_seed(seed)
    generator, encoder, rows = np.random.default_rng(seed), MiniLM(), asked(file)
    relations = sorted({relation for _, relation in rows})
    known, inputs, targets = examples(rows, relations, generator.permutation(len(rows)).tolist())
    vectors = encoder.encode(known)
    names = [torch.tensor(encoder.encode(own)) for own in phrases(relations)]
    sample = vectors[generator.permutation(len(vectors))[:3000]]
    axes = np.linalg.svd(np.vstack([names[0].numpy(), sample]), full_matrices=False)[2][:DIMENSION]
    padded = torch.tensor(np.vstack([vectors, np.zeros((1, vectors.shape[1]), np.float32)]))
    first = torch.tensor(axes.copy())
    a, b = (torch.nn.Parameter(first.clone()) for _ in range(2))
    weight, scale = torch.nn.Parameter(torch.zeros(vectors.shape[1])), torch.nn.Parameter(torch.tensor(6.0))
    groups = [{"params": [a, b], "lr": 5e-4}, {"params": [weight], "lr": 5e-3}, {"params": [scale], "lr": 1e-2}]
    optimiser = torch.optim.Adam(groups)
    for _ in range(EPOCHS):
        shuffled = generator.permutation(len(targets))
        for start in range(0, len(shuffled), BATCH):
            batch = shuffled[start : start + BATCH]
            chosen = np.union1d(targets[batch], generator.choice(len(relations), NEGATIVES, replace=False))
            named = names[int(generator.random() >= 0.7)][torch.tensor(chosen)]
            rows_of = torch.tensor(inputs[batch])
            z = scale * ((padded[rows_of] @ a.T) @ (named @ b.T).T) + (padded[rows_of] @ weight)[..., None]
            scores = torch.logsumexp(z.masked_fill((rows_of < 0)[..., None], -1e4), 1)
            goal = torch.tensor(np.searchsorted(chosen, targets[batch]))
            loss = torch.nn.functional.cross_entropy(scores, goal)
            loss = loss + 2e-3 * (((a - first) ** 2).sum() + ((b - first) ** 2).sum())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    left, right, own = (each.detach().numpy() for each in (a, b, weight))
    return LearnedLikeness(left, right, own, float(scale.detach()))
