"""Fit the confidence of the embedded reader: a logistic model over the features of its candidates.

    python scripts/fit_reader.py FOLDER --data DIR --work DIR [--without hotpotqa|2wiki|musique] [--unseen]

FOLDER holds the reader that scripts/build_reader.py wrote, without confidence; its model.json is completed. Questions
of the multihop sets are asked of an index of each set, all but those of the family that a fold leaves out, and only
those that the network was not trained on (`--unseen`: it was trained on none, so all are taken). Each is read twice:
with what retrieval gives, and with the gold passages taken out, where no candidate is right. A candidate is right where
its token F1 with a gold answer is at least 0.8.
"""

from __future__ import annotations

import argparse
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from reader_data import FAMILIES, for_confidence

from graphwright import Document, Index, start
from graphwright.data.datasets import read_dataset
from graphwright.evaluate.metrics import token_f1
from graphwright.methods.registry import pipeline, retrieval_part
from graphwright.models.embedded.reader import (
    ANSWER_FEATURES,
    FEATURES,
    PairReader,
    answer_features,
    candidates,
    features,
)
from graphwright.models.protocols import PassageText, Usage

READ, RETRIEVED = 8, 20
RIGHT = 0.8
PENALTY = 1e-4  # of the squared weights of standardised features, per row


def index_of(data: Path, work: Path, name: str) -> Index:
    """Return the index of a set, built where it is not there yet."""
    folder = work / "index" / name
    if folder.is_dir():
        return Index.open(folder)
    index = Index.create(folder)
    read = read_dataset(data / "multihop" / name)
    rows = read.documents(lambda skipped: None)
    index.add([Document(row.id, row.text, row.title, whole=True) for row in rows if row.text.strip()])
    return index


def questions_read(given: Any, name: str, reader: PairReader) -> Iterator[tuple[Any, ...]]:
    """Yield features of candidates and which are right, features of the passages and whether they answer; twice each.

    Passages that hold only some of the gold ones are of no use for the last, and None.
    """
    with index_of(given.data, given.work, name) as index:
        retrieve = retrieval_part(pipeline("ppr", index.snapshot, top_k=RETRIEVED))
        questions = read_dataset(given.data / "multihop" / name).questions
        for question in [q for q in questions if given.unseen or for_confidence(q.text)][: given.questions]:
            ranked = list(retrieve(start(question.text, index.graph)).passages or ())
            for gold in (True, False):
                passages = [PassageText(p.title, p.text) for p in ranked if gold or p.document not in question.gold]
                readings = reader.readings(question.text, passages[:READ], Usage())
                proposed = candidates(readings, passages)
                right = [gold and token_f1(c.text, [*question.answers]) >= RIGHT for c in proposed]
                there = {p.document for p in ranked[:READ]} & {*question.gold} if gold else set()
                answers = {0: False, len({*question.gold}): True}.get(len(there))
                row = answer_features(question.text, passages[:READ], readings)
                yield features(question.text, proposed, readings), np.array(right), row, answers


def remembered(given: Any, name: str, reader: PairReader, sha256: str) -> list[tuple[Any, ...]]:
    """Return what `questions_read` yields, kept in a file for the fits of other folds."""
    file = given.work / "rows" / f"{name}-{sha256[:12]}-{given.unseen}-{given.questions}.pickle"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps(list(questions_read(given, name, reader))))
    parts: list[tuple[Any, ...]] = pickle.loads(file.read_bytes())
    return parts


def fitted(rows: Any, right: Any) -> Any:
    """Return the weights of a logistic regression with a small penalty, by Newton's method."""
    weights = np.zeros(rows.shape[1])
    penalty = PENALTY * len(rows) * np.diag(rows.var(0) + 1e-9)
    for _ in range(50):
        p = 1 / (1 + np.exp(-(rows @ weights)))
        gradient = rows.T @ (p - right) + penalty @ weights
        hessian = (rows * (p * (1 - p))[:, None]).T @ rows + penalty
        weights -= np.linalg.solve(hessian, gradient)
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("reader", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--without", choices=tuple(FAMILIES))
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--questions", type=int, help="at most so many of each set")
    given = parser.parse_args()
    settings = json.loads((given.reader / "model.json").read_text("utf-8"))
    settings |= {"confidence": dict.fromkeys(FEATURES, 0.0), "answerable": dict.fromkeys(ANSWER_FEATURES, 0.0)}
    (given.reader / "model.json").write_text(json.dumps(settings, indent=1) + "\n", "utf-8")
    reader = PairReader(str(given.reader))
    names = [name for family, sets in FAMILIES.items() if family != given.without for name in sets]
    parts = [part for name in names for part in remembered(given, name, reader, settings["sha256"])]
    rows, right = (np.concatenate([part[side] for part in parts]).astype(float) for side in (0, 1))
    decided = [part[2:] for part in parts if part[3] is not None]
    answers = np.array([part[1] for part in decided], float)
    passages = np.stack([part[0] for part in decided]).astype(float)
    settings["confidence"] = dict(zip(FEATURES, fitted(rows, right).round(5).tolist(), strict=True))
    settings["answerable"] = dict(zip(ANSWER_FEATURES, fitted(passages, answers).round(5).tolist(), strict=True))
    (given.reader / "model.json").write_text(json.dumps(settings, indent=1) + "\n", "utf-8")
    print(json.dumps({"questions": len(parts) // 2, "candidates": len(rows), "right": int(right.sum())}))


if __name__ == "__main__":
    main()
