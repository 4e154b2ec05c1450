"""Questions about prose, which no table answers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

from table_asked import Asked
from tables import Rows

_QUESTIONS = 2000


def prose_questions(path: Path, draw: Random) -> Iterator[Asked]:
    """Yield questions of SQuAD; half of them stand beside documents, of which one answers, as records of their text."""
    with gzip.open(path, "rt") as file:
        rows = draw.sample([json.loads(line) for line in file], _QUESTIONS)
    for at, row in enumerate(rows):
        documents = [
            {"title": r["passages"][0]["title"], "text": r["passages"][0]["text"]} for r in (row, *draw.sample(rows, 3))
        ]
        tables = {"documents": Rows(["title", "text"], documents)} if draw.random() < 0.5 else {}
        yield Asked(f"prose {at}", "prose", row["passages"][0]["title"], row["question"], [], tables)
