"""Fit what a question wants of the amounts and names in it (MiniLMAmounts), and measure it.

    python scripts/fit_amounts.py [--write]

Needs torch. `amounts.tsv` and `names.tsv` have a line for each amount or name of a question: the relation, the amount
as it stands there, and the question. Each fifth of a file is left out in turn, and how many relations are right is
printed; `--write` stores the weights that are fitted on all.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from graphwright.models.embedded.amounts import AMOUNTS, BUCKETS, NAMES, WIDEST, states_around, words_around
from graphwright.models.embedded.cross_encoder import tokens_of
from graphwright.models.protocols import RELATIONS
from graphwright.operators.query.amounts import asked_amounts

FILES = {Path(__file__).parent / "amounts.tsv": AMOUNTS, Path(__file__).parent / "names.tsv": NAMES}
"""The examples of each head, and its weights."""
PARTS, STEPS, RATE, DECAY, DECAY_OF_WORDS, DROPPED = 5, 200, 1e-2, 0.03, 0.01, 0.3


class Labelled(NamedTuple):
    """The states of a question's tokens, their places seen from an amount, which are its own, and the relation."""

    states: torch.Tensor
    places: torch.Tensor
    inside: torch.Tensor
    words: torch.Tensor
    relation: int
    question: str


def read_examples(file: Path) -> list[Labelled]:
    """Return the examples of a file. Raises ValueError where an amount does not stand in its question."""
    found = []
    for line in file.read_text("utf-8").splitlines():
        relation, amount, question = line.split("\t")
        start = question.casefold().find(amount.casefold())
        if start < 0:
            raise ValueError(f"{amount!r} does not stand in {question!r}")
        asked = [a for a in asked_amounts(question) if a.start < start + len(amount) and start < a.end]
        own = (asked[0].start, asked[0].end) if asked else (start, start + len(amount))
        (read,) = tokens_of([question])
        states, places, inside = states_around(read, *own)
        number = RELATIONS.index("" if relation == "none" else relation)
        around = words_around(question, *own)
        tensors = [torch.tensor(array) for array in (states, places, inside, around)]
        found.append(Labelled(tensors[0], tensors[1], tensors[2], tensors[3], number, question))
    return found


class Head(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """The weights of AmountHead."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = torch.nn.Parameter(torch.zeros(width))
        self.distance = torch.nn.Parameter(-0.3 * (torch.arange(2 * WIDEST + 1) - WIDEST).abs().float())
        self.pooled = torch.nn.Parameter(torch.zeros(len(RELATIONS), width))
        self.own = torch.nn.Parameter(torch.zeros(len(RELATIONS), width))
        self.bias = torch.nn.Parameter(torch.zeros(len(RELATIONS)))
        self.words = torch.nn.Parameter(torch.zeros(BUCKETS, len(RELATIONS)))

    def forward(
        self, states: torch.Tensor, places: torch.Tensor, inside: torch.Tensor, words: torch.Tensor
    ) -> torch.Tensor:
        """Return scores: [n, 7].

        `states: [n, tokens, d]`, `places: [n, tokens]`, -1 for none; `inside` alike; `words: [n, w]`, -1 for none.
        """
        states = F.dropout(states, DROPPED, self.training)
        weights = states @ self.attention + self.distance[places.clamp(0)]
        shares = weights.masked_fill(places < 0, -1e4).softmax(1)
        mean = (states * inside[:, :, None]).sum(1) / inside.sum(1, keepdim=True)
        lexical = (
            self.words[words.clamp(0)] * F.dropout((words >= 0).float(), DROPPED, self.training)[:, :, None]
        ).sum(1)
        scores: torch.Tensor = (
            lexical + (shares[:, :, None] * states).sum(1) @ self.pooled.T + mean @ self.own.T + self.bias
        )
        return scores


def padded(rows: list[Labelled]) -> tuple[torch.Tensor, ...]:
    """Return the examples as one batch."""
    pad = torch.nn.utils.rnn.pad_sequence
    return (
        pad([row.states for row in rows], True),
        pad([row.places for row in rows], True, -1),
        pad([row.inside.float() for row in rows], True),
        pad([row.words for row in rows], True, -1),
    )


def fitted(rows: list[Labelled]) -> Head:
    """Return a head fitted on examples."""
    torch.manual_seed(0)
    batch, labels = padded(rows), torch.tensor([row.relation for row in rows])
    head = Head(batch[0].shape[2])
    groups = [{"params": [p for n, p in head.named_parameters() if n != "words"], "weight_decay": DECAY}]
    groups += [{"params": [head.words], "weight_decay": DECAY_OF_WORDS}]
    optimiser = torch.optim.AdamW(groups, lr=RATE)
    for _ in range(STEPS):
        optimiser.zero_grad()
        F.cross_entropy(head(*batch), labels, label_smoothing=0.05).backward()
        optimiser.step()
    head.eval()
    return head


def measured(rows: list[Labelled]) -> NDArray[np.float64]:
    """Return the probabilities of the relations of each example, fitted without its part: float64[n, 7]."""
    questions = {question: number for number, question in enumerate(dict.fromkeys(row.question for row in rows))}
    parts = np.array([questions[row.question] * PARTS // len(questions) for row in rows])
    found = np.zeros((len(rows), len(RELATIONS)))
    for part in range(PARTS):
        head = fitted([row for row, own in zip(rows, parts, strict=True) if own != part])
        left_out = padded([row for row, own in zip(rows, parts, strict=True) if own == part])
        with torch.no_grad():
            found[parts == part] = head(*left_out).softmax(1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    for file, weights in FILES.items():
        rows = read_examples(file)
        report(file.stem, rows, measured(rows))
        if given.write:
            arrays = {name: value.numpy().astype(np.float16) for name, value in fitted(rows).state_dict().items()}
            np.savez_compressed(weights, **arrays)


def report(name: str, rows: list[Labelled], found: NDArray[np.float64]) -> None:
    """Print how many relations are right, and how many directions of those that are compared."""
    labels, best = np.array([row.relation for row in rows]), found.argmax(1)
    print(f"{len(rows)} {name}: right {np.mean(best == labels):.3f}")
    side = np.array([1, 1, -1, -1, 0, 0, 0])
    if (ordered := side[labels] != 0).any():
        print(
            f"  of those that are compared, the direction is right {np.mean((side[best] == side[labels])[ordered]):.3f}"
        )
    for least in (0.7, 0.9):
        sure = found.max(1) >= least
        print(f"  from {least}: {sure.mean():.3f} of all, right {np.mean(best == labels, where=sure):.3f}")
    wrong = Counter((RELATIONS[a], RELATIONS[b]) for a, b in zip(labels, best, strict=True) if a != b)
    print("  ", wrong.most_common(12))


if __name__ == "__main__":
    main()
