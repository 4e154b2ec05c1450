"""Fit the head that tells broad questions, which ask for an overview, from others.

    python scripts/fit_broad.py --data DIR

A logistic model over the vector that the embedded encoder gives a question. Broad are the questions of SQuALITY, which
summaries of stories answer; others are drawn from sets of questions on facts, decisions and health. Writes
`broad.json` beside the reader's weights.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

import numpy as np
from build_reader import TARGET
from reader_data import read_rows

from graphwright.models import MiniLM

OTHERS = {
    "squad_train_subset": 1500,
    "nq_open_oracle": 1500,
    "boolq": 800,
    "medquad": 800,
    "strategyqa": 500,
    "break_qdmr_dev": 800,
}
SCALE, STEPS, RATE, PENALTY = 6.0, 600, 0.3, 1e-3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    given = parser.parse_args()
    draw = random.Random(0)
    stories = (given.data / "long/squality_train.jsonl").read_text("utf-8").splitlines()
    broad = {asked["question_text"]: None for story in map(json.loads, stories) for asked in story["questions"]}
    others: list[str] = []
    for name, count in OTHERS.items():
        asked = [row["question"] for row in read_rows(given.data / f"qa/{name}/data.jsonl.gz")]
        others += draw.sample(asked, min(count, len(asked)))
    right = np.array([1.0] * len(broad) + [0.0] * len(others))
    vectors = MiniLM().encode([*broad, *others]).astype(np.float64) * SCALE
    rows = np.column_stack([vectors, np.ones(len(vectors))])
    balance = np.where(right == 1, len(others) / len(broad), 1.0)
    weights = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-(rows @ weights)))
        weights -= RATE * (rows.T @ (balance * (p - right)) / balance.sum() + PENALTY * weights)
    weights[:-1] *= SCALE
    stored = {"encoder": MiniLM().id, "weights": weights.round(3).tolist()}
    (TARGET / "broad.json").write_text(json.dumps(stored) + "\n", "utf-8")
    print(json.dumps({"broad": len(broad), "others": len(others)}))


if __name__ == "__main__":
    main()
