"""Fit the scorer of queries over tables on questions with answers.

    python scripts/fit_table_parser.py TRAIN.pkl… --out WEIGHTS.npz

The files are made by `scripts/table_data.py`. A candidate's score is a product of a vector of the question (its n-grams
and its sentence vector) and one of the candidate (its parts and the names of its columns), plus a small network over
dense features. The likelihood of all candidates that give the answer is maximised; needs torch.
"""

from __future__ import annotations

import argparse
import pickle
import time
from pathlib import Path
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
import torch
from torch import Tensor, nn

from graphwright.operators.query.tables.features import NGRAMS, PARTS
from graphwright.operators.query.tables.scorer import evidence_of

RATE = 2e-3
RANK, HIDDEN, SENTENCE = 32, 64, 384
LEAST_NGRAMS, LEAST_PARTS = 5, 8


Entry: TypeAlias = dict[str, Any]


class Scorer(nn.Module):
    """Scores of the candidates of some questions, as `TableScorer` computes them."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.ngrams = nn.Embedding(NGRAMS, RANK, padding_idx=0)
        self.parts = nn.Embedding(PARTS, RANK, padding_idx=0)
        self.bias = nn.Embedding(PARTS, 1, padding_idx=0)
        self.sentence = nn.Linear(SENTENCE, RANK, bias=False)
        self.headers = nn.ModuleList(nn.Linear(SENTENCE, RANK, bias=False) for _ in range(3))
        self.first = nn.Linear(features + 1, HIDDEN)
        self.second = nn.Linear(HIDDEN, HIDDEN)
        self.last = nn.Linear(HIDDEN, 1)
        self.hidden_dropout, self.question_dropout = nn.Dropout(0.2), nn.Dropout(0.3)
        for embedding in (self.ngrams, self.parts):
            nn.init.normal_(embedding.weight, 0, 0.05)
            embedding.weight.data[0] = 0
        nn.init.zeros_(self.bias.weight)

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Return the score of each candidate."""
        mask = batch["ngram_mask"]
        if self.training:
            mask = mask * (torch.rand_like(mask) > 0.3)
        grams = (self.ngrams(batch["ngrams"]) * mask[..., None]).sum(1)
        asked = grams / mask.sum(1, keepdim=True).clamp(min=1).sqrt()
        question = self.question_dropout(asked + self.sentence(self.question_dropout(batch["question"])))
        made = self.parts(batch["parts"]).sum(1)
        for place, project in enumerate(self.headers):
            chosen = batch["headers"][:, place]
            made = made + project(batch["vectors"])[chosen] * (chosen >= 0)[:, None]
        product = (question[batch["of"]] * made).sum(1, keepdim=True)
        hidden = torch.relu(self.first(torch.cat([batch["dense"], product], 1)))
        hidden = self.hidden_dropout(torch.relu(self.second(self.hidden_dropout(hidden))))
        return (self.last(hidden) + product + self.bias(batch["parts"]).sum(1))[:, 0]


def frequent(entries: list[Entry]) -> tuple[np.ndarray, np.ndarray]:
    """Return which hashed n-grams, and which parts, enough training questions have; the others weigh nothing."""
    ngrams, parts = np.zeros(NGRAMS, np.int64), np.zeros(PARTS, np.int64)
    for entry in entries:
        ngrams[np.unique(entry["ngrams"])] += 1
        parts[np.unique(entry["parts"])] += 1
    return ngrams >= LEAST_NGRAMS, parts >= LEAST_PARTS


def without_rare(entries: list[Entry], ngrams: np.ndarray, parts: np.ndarray) -> list[Entry]:
    """Return entries without rare n-grams and parts: both have the weight of number 0, which is none."""
    return [
        entry | {"ngrams": np.where(ngrams[entry["ngrams"]], entry["ngrams"], 0),
                 "parts": np.where(parts[entry["parts"]], entry["parts"], 0)}
        for entry in entries
    ]  # fmt: skip


def batch_of(entries: list[Entry], picks: list[np.ndarray], mean: np.ndarray, scale: np.ndarray) -> dict[str, Tensor]:
    """Return the arrays of some questions' chosen candidates."""
    longest = max(len(e["ngrams"]) for e in entries)
    ngrams, mask = np.zeros((len(entries), longest), np.int64), np.zeros((len(entries), longest), np.float32)
    headers, vectors, start = [], [], 0
    for row, (entry, pick) in enumerate(zip(entries, picks, strict=True)):
        ngrams[row, : len(entry["ngrams"])], mask[row, : len(entry["ngrams"])] = entry["ngrams"], entry["ngrams"] > 0
        chosen = entry["headers"][pick].astype(np.int64)
        headers.append(np.where(chosen >= 0, chosen + start, -1))
        vectors.append(entry["vectors"])
        start += len(entry["vectors"])
    parts = np.concatenate([e["parts"][p] for e, p in zip(entries, picks, strict=True)])
    dense = np.concatenate([e["dense"][p] for e, p in zip(entries, picks, strict=True)]).astype(np.float32)
    return {
        "ngrams": torch.from_numpy(ngrams),
        "ngram_mask": torch.from_numpy(mask),
        "question": torch.from_numpy(np.array([e["question"] for e in entries], np.float32)),
        "vectors": torch.from_numpy(np.concatenate(vectors).astype(np.float32)),
        "headers": torch.from_numpy(np.concatenate(headers)),
        "parts": torch.from_numpy(parts.astype(np.int64)),
        "dense": torch.from_numpy((dense - mean) / scale),
        "of": torch.from_numpy(np.repeat(np.arange(len(entries)), [len(p) for p in picks])),
        "right": torch.from_numpy(np.concatenate([e["right"][p] for e, p in zip(entries, picks, strict=True)])),
    }


def segment_logsumexp(scores: Tensor, of: Tensor, count: int) -> Tensor:
    """Return the logarithm of the sum of exponentials of the scores of each question."""
    top = torch.full((count,), -1e30).scatter_reduce(0, of, scores, "amax").detach()
    total = torch.zeros(count).index_add(0, of, torch.exp(scores - top[of]))
    return torch.log(total + 1e-30) + top


def best_results(entry: Entry, scores: np.ndarray) -> tuple[int, float, tuple[float, ...]]:
    """Return the best candidate of the most probable result, the result's probability, and evidence for it."""
    odds = np.exp(scores - scores.max())
    odds /= odds.sum()
    mass = np.bincount(entry["results"], odds)
    result = int(mass.argmax())
    at = np.flatnonzero(entry["results"] == result)
    best = int(at[scores[at].argmax()])
    return best, float(mass[result]), evidence_of(mass, result, float(odds[best]), len(scores))


def all_scores(model: Scorer, entries: list[Entry], mean: np.ndarray, scale: np.ndarray) -> list[np.ndarray]:
    """Return the scores of all candidates of each question."""
    model.eval()
    scores: list[np.ndarray] = []
    for start in range(0, len(entries), 32):
        part = entries[start : start + 32]
        with torch.no_grad():
            batch = batch_of(part, [np.arange(len(entry["right"])) for entry in part], mean, scale)
            ends = np.cumsum([len(entry["right"]) for entry in part])[:-1]
            scores += np.split(model(batch).numpy(), ends)
    return scores


def fit(train: list[Entry], held: list[Entry], epochs: int, seed: int) -> tuple[Scorer, np.ndarray, np.ndarray]:
    """Fit a scorer by the marginal likelihood of right candidates."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    some = np.concatenate([e["dense"] for e in train[::10]]).astype(np.float32)
    mean, scale = some.mean(0), some.std(0) + 1e-3
    usable = [e for e in train if e["right"].any() and not e["right"].all()]
    model = Scorer(len(mean))
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.1)
    size = 32
    steps = epochs * (len(usable) // size + 1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps, pct_start=0.15)
    for epoch in range(epochs):
        model.train()
        started, total = time.time(), 0.0
        order = rng.permutation(len(usable))
        for start in range(0, len(order), size):
            entries = [usable[i] for i in order[start : start + size]]
            picks = [sample(e["right"], rng) for e in entries]
            batch = batch_of(entries, picks, mean, scale)
            scores = model(batch)
            every = segment_logsumexp(scores, batch["of"], len(entries))
            good = segment_logsumexp(scores.masked_fill(~batch["right"], -1e9), batch["of"], len(entries))
            loss = (every - good).mean()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimiser.step()
            schedule.step()
            total += loss.item() * len(entries)
        figures = report(held, all_scores(model, held, mean, scale))
        print(f"epoch {epoch}: loss {total / len(usable):.3f}, {figures}, {time.time() - started:.0f} s", flush=True)
    return model, mean, scale


def sample(right: np.ndarray, rng: np.random.Generator, wrong: int = 120) -> np.ndarray:
    """Return the right candidates and some of the wrong ones."""
    others = np.flatnonzero(~right)
    if len(others) > wrong:
        others = rng.choice(others, wrong, replace=False)
    return np.concatenate([np.flatnonzero(right)[:150], others])


def calibration(entries: list[Entry], scores: list[np.ndarray]) -> np.ndarray:
    """Return the weights of a logistic model of whether the most probable result is right, the intercept last."""
    right, evidence = [], []
    for entry, own in zip(entries, scores, strict=True):
        if len(own):
            at, _, found = best_results(entry, own)
            right.append(float(entry["right"][at]))
            evidence.append(found)
    x, y = torch.tensor(np.array(evidence, np.float32)), torch.tensor(right)
    mean, scale = x.mean(0), x.std(0) + 1e-6
    weights = torch.zeros(x.shape[1] + 1, requires_grad=True)
    optimiser = torch.optim.LBFGS([weights], max_iter=200)

    def loss() -> Tensor:
        optimiser.zero_grad()
        logits = ((x - mean) / scale) @ weights[:-1] + weights[-1]
        value = nn.functional.binary_cross_entropy_with_logits(logits, y) + 5 / len(y) * (weights[:-1] ** 2).sum()
        value.backward()
        return value

    optimiser.step(loss)
    slopes = weights.detach()[:-1] / scale
    return torch.cat([slopes, weights.detach()[-1:] - (slopes * mean).sum()]).numpy()


def arrays_of(model: Scorer, kept: tuple[np.ndarray, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the weights of a member as `TableScorer` reads them; those of rare n-grams and parts are 0."""
    state = {name: value.numpy() for name, value in model.state_dict().items()}
    half = {"ngrams": state["ngrams.weight"] * kept[0][:, None], "parts": state["parts.weight"] * kept[1][:, None]}
    half |= {"sentence": state["sentence.weight"]} | {f"header{i}": state[f"headers.{i}.weight"] for i in range(3)}
    full = {"bias": state["bias.weight"][:, 0] * kept[1]}
    for name in ("first", "second", "last"):
        full[name], full[f"{name}_bias"] = state[f"{name}.weight"], state[f"{name}.bias"]
    return {n: a.astype(np.float16) for n, a in half.items()} | {n: a.astype(np.float32) for n, a in full.items()}


def read(paths: list[Path]) -> tuple[list[Entry], dict[str, float]]:
    """Return the entries of files, and the frequency of words in training questions."""
    files = [pickle.loads(path.read_bytes()) for path in paths]
    return [entry for file in files for entry in file["entries"]], files[0]["frequency"]


def main() -> None:
    """Fit members on nine tenths of the training tables, calibrate their mean on the others, and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--members", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    entries, frequency = read(args.train)
    held = [entry for entry in entries if crc32(entry["table"].encode()) % 10 == 3]
    train = [entry for entry in entries if crc32(entry["table"].encode()) % 10 != 3]
    kept = frequent(train)
    train, held = without_rare(train, *kept), without_rare(held, *kept)
    arrays: dict[str, np.ndarray] = {}
    total = [np.zeros(len(entry["right"]), np.float32) for entry in held]
    for member in range(args.members):
        model, mean, scale = fit(train, held, args.epochs, member)
        scores = all_scores(model, held, mean, scale)
        total = [(one * member + other) / (member + 1) for one, other in zip(total, scores, strict=True)]
        arrays |= {f"{member}/{name}": array for name, array in arrays_of(model, kept).items()}
        arrays |= {"mean": mean.astype(np.float32), "scale": scale.astype(np.float32)}
        arrays |= {"calibration": calibration(held, total)}
        words = dict(sorted(frequency.items()))
        arrays |= {"words": np.array("\n".join(words)), "frequency": np.array(list(words.values()), np.float32)}
        np.savez_compressed(args.out, **arrays)
    print("together:", report(held, total))


def report(entries: list[Entry], scores: list[np.ndarray]) -> str:
    """Return the accuracy of scores, and that of the third with the largest probability."""
    best = [best_results(e, own) if len(own) else (0, 0.0, ()) for e, own in zip(entries, scores, strict=True)]
    right = np.array([at < len(e["right"]) and bool(e["right"][at]) for e, (at, *_) in zip(entries, best, strict=True)])
    order = np.argsort([-mass for _, mass, _ in best])
    return f"accuracy {right.mean():.3f}, surest third {right[order[: len(order) // 3]].mean():.3f}"


if __name__ == "__main__":
    main()
