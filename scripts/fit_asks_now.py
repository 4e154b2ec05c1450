"""Fit the logistic regression that tells questions about now, for the parser of questions over graphs.

    python scripts/fit_asks_now.py [--into FILE]

Each question of `asks_now.txt` is fitted on as it is, and with "it" in place of names, as the parser asks. Half of the
groups are fitted on first, and the figures printed are of the other half with "it"; then all.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.protocols import Floats
from graphwright.operators.query.amounts import ASKS_NOW, NOW_LIKELY
from graphwright.operators.query.logistic import logistic

PENALTY = 0.03


def fitted_on(vectors: Floats, wanted: Any) -> Floats:
    """Return the weights of a logistic regression, the constant last; `vectors`: two for each question."""
    rows = np.pad(vectors.reshape(-1, vectors.shape[-1]).astype(np.float64), ((0, 0), (0, 1)), constant_values=1)
    sign = np.where(np.repeat(wanted, 2), 1.0, -1.0)

    def loss(weights: Any) -> tuple[float, Any]:
        margins = sign * (rows @ weights)
        slope = -(sign / (1 + np.exp(margins))) @ rows + PENALTY * weights
        return float(np.logaddexp(0, -margins).sum() + PENALTY / 2 * weights @ weights), slope

    return np.asarray(minimize(loss, np.zeros(rows.shape[1]), jac=True).x, np.float32)


def main() -> None:
    """Fit, measure and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=ASKS_NOW)
    options = parser.parse_args()
    text = (Path(__file__).parent / "asks_now.txt").read_text(encoding="utf-8")
    rows = [
        (number, line[0] == "+", line[2:])
        for number, group in enumerate(text.split("\n\n"))
        for line in group.splitlines()
        if line[0] != "#"
    ]
    group, wanted = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    texts = [row[2] for row in rows]
    masked = MiniLM().encode([re.sub(r"(?<=\w )(?:the )?[A-Z]\w*(?: [A-Z]\w*)*", "it", text) for text in texts])
    vectors = np.stack((MiniLM().encode(texts), masked), axis=1)
    for half in (0, 1):
        other = group % 2 == half
        weights = fitted_on(vectors[~other], wanted[~other])
        found = np.array([logistic(weights, vector) >= NOW_LIKELY for vector in masked])
        right, wrong = (np.mean(found[other & (wanted == kind)]) for kind in (True, False))
        print(f"half {half} left out: {other.sum()} questions; found: {right:.0%} about now, {wrong:.0%} of the others")
        print(*(f"    {rows[at][2]}" for at in np.flatnonzero(other & (found != wanted))), sep="\n")
    np.save(options.into, fitted_on(vectors, wanted))


if __name__ == "__main__":
    main()
