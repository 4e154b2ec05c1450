"""Fit the logistic regression that tells English questions from others, for the parser of questions over graphs.

    python scripts/fit_english.py --data FOLDER [--into FILE]

FOLDER has `kgqa`, whose English questions are used with those that are written; the others are
`parser/languages.txt`. Half of the questions have names in place of "it". Prints the share of each kind that is taken
for the other, over the graphs that are only measured.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from parser_data import asked_of
from parser_heads import head_rows
from sklearn.linear_model import LogisticRegression

from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.query.graphs.scorer import ENGLISH, english_probability

ENGLISH_QUESTIONS, NAMED = 6000, 2000
WEIGHT = 1 / 3  # of all questions in other languages against all English ones


def other_questions() -> list[str]:
    """Return the short questions in other languages."""
    lines = (Path(__file__).parent / "parser" / "languages.txt").read_text(encoding="utf-8").splitlines()
    return [line.split(" | ", 1)[1] for line in lines if not line.startswith("#")]


def named(questions: Sequence[str], names: Sequence[str], draw: random.Random) -> list[str]:
    """Return questions with a name in place of each "it"."""
    return [" ".join(draw.choice(names) if word == "it" else word for word in text.split(" ")) for text in questions]


def main() -> None:
    """Fit, save and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with kgqa")
    parser.add_argument("--into", type=Path, default=ENGLISH)
    options = parser.parse_args()
    encoder, draw = MiniLM(), random.Random(1)
    names = [name for _, facts, _ in asked_of("graphs") for name in facts.texts(list(range(30)))]
    english = draw.sample([row.text for row in head_rows(options.data / "kgqa")], ENGLISH_QUESTIONS)
    english += named(english[:NAMED], names, draw)
    others = other_questions()
    others += named(others * 3, names, draw)
    is_english = np.arange(len(english) + len(others)) < len(english)
    weight = np.where(is_english, 1.0, len(english) / len(others) * WEIGHT)
    model = LogisticRegression(C=8, max_iter=500).fit(encoder.encode([*english, *others]), is_english, weight)
    np.save(options.into, np.append(model.coef_[0], model.intercept_).astype(np.float32))
    for folder, are_english in (("closed_graphs", True), ("other_languages", False)):
        vectors = encoder.encode([question.text for _, _, asked in asked_of(folder) for question in asked])
        share = np.mean([(english_probability(vector, options.into) >= 0.5) != are_english for vector in vectors])
        print(f"{folder}: {len(vectors)} questions, {share:.1%} taken for the other kind")


if __name__ == "__main__":
    main()
