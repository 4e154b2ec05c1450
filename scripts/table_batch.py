"""Questions with their candidates as the arrays that the fit of the parser over tables reads."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from graphwright.operators.query.tables.features import NGRAMS, PARTS

LEAST_NGRAMS, LEAST_PARTS = 8, 8
Entry: TypeAlias = dict[str, Any]


def frequent(entries: list[Entry], start: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return which hashed n-grams, and which parts, enough training questions have; the others weigh nothing.

    Those that weigh something in `start` are kept.
    """
    ngrams, parts = np.zeros(NGRAMS, np.int64), np.zeros(PARTS, np.int64)
    for entry in entries:
        ngrams[np.unique(np.concatenate(entry["ngrams"]))] += 1
        parts[np.unique(entry["parts"])] += 1
    kept = ngrams >= LEAST_NGRAMS, parts >= LEAST_PARTS
    for name, own in zip(("ngrams", "parts"), kept, strict=True):
        if start:
            own[: len(start[f"0/{name}"])] |= start[f"0/{name}"].any(1)
    return kept


def without_rare(entries: list[Entry], ngrams: np.ndarray, parts: np.ndarray) -> list[Entry]:
    """Return entries without rare n-grams and parts: both have the weight of number 0, which is none."""
    return [
        entry | {"ngrams": [np.where(ngrams[grams], grams, 0) for grams in entry["ngrams"]],
                 "parts": np.where(parts[entry["parts"]], entry["parts"], 0)}
        for entry in entries
    ]  # fmt: skip


def batch_of(entries: list[Entry], picks: list[np.ndarray], mean: np.ndarray, scale: np.ndarray) -> dict[str, Tensor]:
    """Return the arrays of some questions' chosen candidates."""
    every = [grams for entry in entries for grams in entry["ngrams"]]
    longest = max(map(len, every))
    ngrams, mask = np.zeros((len(every), longest), np.int64), np.zeros((len(every), longest), np.float32)
    for row, grams in enumerate(every):
        ngrams[row, : len(grams)], mask[row, : len(grams)] = grams, grams > 0
    headers, vectors, asked, start, tables = [], [], [], 0, 0
    for entry, pick in zip(entries, picks, strict=True):
        chosen = entry["headers"][pick].astype(np.int64)
        headers.append(np.where(chosen >= 0, chosen + start, -1))
        vectors.append(entry["vectors"])
        asked.append(entry["of_table"][pick].astype(np.int64) + tables)
        start, tables = start + len(entry["vectors"]), tables + len(entry["ngrams"])
    parts = np.concatenate([e["parts"][p] for e, p in zip(entries, picks, strict=True)])
    dense = np.concatenate([e["dense"][p] for e, p in zip(entries, picks, strict=True)]).astype(np.float32)
    agreed = np.concatenate([e["agreed"][p] for e, p in zip(entries, picks, strict=True)])
    return {
        "ngrams": torch.from_numpy(ngrams),
        "ngram_mask": torch.from_numpy(mask),
        "question": torch.from_numpy(np.array([e["question"] for e in entries for _ in e["ngrams"]], np.float32)),
        "rest": torch.from_numpy(np.concatenate([e["rest"] for e in entries]).astype(np.float32)),
        "asked": torch.from_numpy(np.concatenate(asked)),
        "vectors": torch.from_numpy(np.concatenate(vectors).astype(np.float32)),
        "headers": torch.from_numpy(np.concatenate(headers)),
        "parts": torch.from_numpy(parts.astype(np.int64)),
        "dense": torch.from_numpy((dense - mean) / scale),
        "agreed": torch.from_numpy(agreed.astype(np.float32)),
        "of": torch.from_numpy(np.repeat(np.arange(len(entries)), [len(p) for p in picks])),
        "right": torch.from_numpy(np.concatenate([e["right"][p] for e, p in zip(entries, picks, strict=True)])),
    }


def segment_logsumexp(scores: Tensor, of: Tensor, count: int) -> Tensor:
    """Return the logarithm of the sum of exponentials of the scores of each question."""
    top = torch.full((count,), -1e30).scatter_reduce(0, of, scores, "amax").detach()
    total = torch.zeros(count).index_add(0, of, torch.exp(scores - top[of]))
    return torch.log(total + 1e-30) + top


def sample(right: np.ndarray, rng: np.random.Generator, wrong: int = 120) -> np.ndarray:
    """Return the right candidates and some of the wrong ones."""
    others = np.flatnonzero(~right)
    if len(others) > wrong:
        others = rng.choice(others, wrong, replace=False)
    return np.concatenate([np.flatnonzero(right)[:150], others])
