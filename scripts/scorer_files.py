"""The files of the passage scorer: that of the package, and those of the folds."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import fields
from pathlib import Path

from graphwright.operators.rerank.fitted_scorer import PassageScorer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from stamps import RESULTS

WEIGHTS = Path(__file__).parents[1] / "src" / "graphwright" / "models" / "weights" / "passage-scorer" / "model.json"


def file_of_fold(family: str) -> Path:
    """Return the file of the scorer that was fitted without the collections of a source."""
    return RESULTS / "scorer" / f"{family}.json"


def write(scorer: PassageScorer, file: Path) -> None:
    """Write a scorer as JSON."""
    file.parent.mkdir(parents=True, exist_ok=True)
    rounded = {
        name: {key: round(v, 5) for key, v in getattr(scorer, name).items()} for name in ("alone", "single", "pair")
    }
    cover = {"open": scorer.cover.open, "overlap": scorer.cover.overlap}
    record = rounded | {"bias": round(scorer.bias, 5), "cover": cover, "several": [round(v, 4) for v in scorer.several]}
    if scorer.trees is not None:
        record["trees"] = {part.name: getattr(scorer.trees, part.name).tolist() for part in fields(scorer.trees)}
    text = json.dumps(record, indent=1)
    text = re.sub(r"\[[^]]*\]", lambda numbers: " ".join(numbers[0].split()), text)  # a list on one line
    file.write_text(f"{text}\n", encoding="utf-8")
