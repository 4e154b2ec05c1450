"""Fit which part of the question before a turn replaces, on corrections.txt and follow_ups.txt, and measure it.

    python scripts/fit_replacements.py [--write]

Each fifth of the conversations is measured by weights of the others. `--write` fits on all and stores the weights
beside those of fit_follow_ups.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from graphwright.generate.replacements import replacements
from graphwright.text.words import words

HERE = Path(__file__).parent
WEIGHTS = HERE.parent / "src/graphwright/models/weights/follow-ups/model.npz"
PENALTIES = (0.1, 0.3)
LIMITS = (0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass
class Example:
    """A turn, the questions it may mean by a replacement with their features, and which of them are right."""

    conversation: int
    kind: str
    text: str
    questions: list[str]
    features: np.ndarray
    right: np.ndarray


def examples() -> Iterator[Example]:
    """Yield each turn after a question; of those that replace nothing none is right."""
    conversation, topic, before = -1, "", ""
    talks = (HERE / "follow_ups.txt").read_text("utf-8").split("\n= ")
    replacing = ["= " + talk for talk in talks if "\nr " in talk]  # others do not say which turns replace a part
    for line in "\n".join([(HERE / "corrections.txt").read_text("utf-8"), *replacing]).splitlines():
        if line.startswith("="):
            conversation, topic, before = conversation + 1, "", ""
        if line[:1] not in ("c", "d", "r", "s") or ":" not in line:
            continue
        kind, text = line[0], line.partition(": ")[2]
        text, _, meant = text.partition(" => ")
        text = text.partition(" | ")[0]
        if topic:
            questions, features = replacements(text, before or topic)
            alike = np.array([SequenceMatcher(None, words(question), words(meant)).ratio() for question in questions])
            right = (alike >= 0.85) & (alike == alike.max(initial=0.0)) if meant else np.zeros(len(questions), bool)
            yield Example(conversation, kind, text, questions, features.astype(float), right)
        if kind == "c" or meant:
            topic, before = meant or text, ""
        elif kind == "d" and topic:
            before = text


def fitted(rows: list[Example], penalty: float) -> np.ndarray:
    """Return the weights of a softmax regression over the questions and none, whose score is 0."""
    rows = [row for row in rows if row.questions and (row.kind != "r" or row.right.any())]
    x = np.concatenate([row.features for row in rows])
    starts = np.cumsum([0, *(len(row.questions) for row in rows)])[:-1]
    at, gold = np.repeat(np.arange(len(rows)), [len(row.questions) for row in rows]), [row.right for row in rows]
    right, none = np.concatenate(gold).astype(float), np.array([not some.any() for some in gold], float)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        odds = np.exp(np.minimum(x @ w, 30.0))
        total, apt = np.add.reduceat(odds, starts) + 1.0, np.add.reduceat(odds * right, starts) + none + 1e-12
        gradient = x.T @ (odds / total[at] - odds * right / apt[at]) + penalty * np.append(w[:-1], 0.0)
        return float(penalty / 2 * (w[:-1] ** 2).sum() + np.log(total / apt).sum()), gradient

    weights: np.ndarray = minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 60}).x
    return weights


def main() -> None:
    """Fit, measure, and store the weights if asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = list(examples())
    print(f"{len(rows)} turns, {sum(row.kind == 'r' for row in rows)} that replace", flush=True)
    reachable = sum(bool(row.right.any()) for row in rows if row.kind == "r")
    print(f"right question among those compared: {reachable}", flush=True)
    best, told = (float("inf"), 0.0), dict[float, list[np.ndarray]]()
    for penalty in PENALTIES:
        told[penalty] = [np.zeros(0)] * len(rows)
        loss = 0.0
        for fold in range(5):
            weights = fitted([row for row in rows if row.conversation % 5 != fold], penalty)
            for at, row in enumerate(rows):
                if row.conversation % 5 == fold:
                    odds = np.append(np.exp(row.features @ weights), 1.0)
                    told[penalty][at] = p = odds / odds.sum()
                    gold = np.append(row.right, not row.right.any())
                    loss -= float(np.log(p[gold].sum() + 1e-12))
        print(f"penalty {penalty:g}: loss {loss:.1f}", flush=True)
        best = min(best, (loss, penalty))
    for limit in LIMITS:
        cells = []
        for kind in "rdcs":
            of = [(row, p) for row, p in zip(rows, told[best[1]], strict=True) if row.kind == kind]
            asked = [(row, p) for row, p in of if len(p) and 1 - p[-1] >= limit]
            right = sum(bool(row.right[int(p[:-1].argmax())]) for row, p in asked)
            cells.append(f"{kind} {len(asked)}/{len(of)}" + (f" right {right}" if kind == "r" else ""))
        print(f"from {limit}: replaced {', '.join(cells)}", flush=True)
    for row, p in zip(rows, told[best[1]], strict=True):
        at, replaced = int(p[:-1].argmax()) if len(p) > 1 else 0, 1 - p[-1] >= 0.6
        if replaced != (row.kind == "r") or (replaced and not row.right[at]):
            print(f"  {row.kind} {1 - p[-1]:.2f} {row.text!r} -> {row.questions[at] if row.questions else ''!r}")
    if options.write:
        with np.load(WEIGHTS) as stored:
            arrays = dict(stored)
        arrays["replaces"] = fitted(rows, best[1]).astype(np.float16)
        np.savez_compressed(WEIGHTS, **arrays)
        print(f"wrote {WEIGHTS.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
