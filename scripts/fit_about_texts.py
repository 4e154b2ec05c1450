"""Fit the logistic regression that tells questions about texts from those about what the texts say.

    python scripts/fit_about_texts.py --data FOLDER [--into FILE]

FOLDER has `qa`: questions of SQuAD are about what texts say, as are the questions of `parser/about_texts.txt` that
begin with `-`, and those over the mails and chats of `parser/written` that these do not answer. The others are about
texts. Prints the shares of both kinds that have a probability of 0.25 or more, with a fifth of the questions, and
articles, left out in turn.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import numpy as np
from sklearn.linear_model import LogisticRegression
from table_written import read_written

from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.query.tables.scorer import ABOUT_TEXTS

TABLES = ("messages", "mails", "message", "transcript", "chat")
SQUAD, WEIGHT = 2000, 0.2
FOLDS = 5


def questions(data: Path) -> Iterator[tuple[str, bool, float, str]]:
    """Yield questions, whether each is about texts, its weight, and the group that is left out together."""
    folder = Path(__file__).parent / "parser"
    for written in read_written(folder / "written"):
        if written.name in TABLES:
            yield from ((question, True, 1.0, written.name) for question, _ in written.asked)
            yield from ((question, False, 1.0, written.name) for question in written.unanswerable)
    for line in (folder / "about_texts.txt").read_text(encoding="utf-8").splitlines():
        if line[:1] in ("+", "-"):
            yield line[2:], line[0] == "+", 1.0, line
    with gzip.open(data / "qa" / "squad_train_subset" / "data.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    for row in random.Random(1).sample(rows, SQUAD):
        yield row["question"], False, WEIGHT, row["passages"][0]["title"]


def main() -> None:
    """Fit, save and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with qa")
    parser.add_argument("--into", type=Path, default=ABOUT_TEXTS)
    options = parser.parse_args()
    texts, labels, weights, groups = zip(*questions(options.data), strict=True)
    vectors, is_about, weight = MiniLM().encode(list(texts)), np.array(labels), np.array(weights)
    fold = np.array([crc32(group.encode()) % FOLDS for group in groups])
    held = np.zeros(len(texts))
    for number in range(FOLDS):
        rest = fold != number
        model = LogisticRegression(C=8, max_iter=500).fit(vectors[rest], is_about[rest], weight[rest])
        held[~rest] = model.predict_proba(vectors[~rest])[:, 1]
    for name, kind in (("about texts", is_about), ("what they say", ~is_about & (weight == 1)), ("SQuAD", weight < 1)):
        print(f"{name}: {kind.sum()} questions, {(held[kind] >= 0.25).mean():.0%} at 0.25 or more")
    model = LogisticRegression(C=8, max_iter=500).fit(vectors, is_about, weight)
    np.save(options.into, np.append(model.coef_[0], model.intercept_).astype(np.float32))


if __name__ == "__main__":
    main()
