"""What came of asking one question by one method, and the file that keeps it as soon as it is known."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from graphwright.data.questions import QuestionRecord
from graphwright.errors import DataError
from graphwright.evaluate.metrics import ndcg_at_k, recall_at_k
from graphwright.models.base import Usage
from graphwright.retrieve.state import State, Step

__all__ = ["METRICS", "PLACES", "Results", "Row", "row"]

Row = dict[str, Any]
PLACES = (2, 5, 10, 20)
METRICS = (*(f"recall@{k}" for k in PLACES), "ndcg@10")
"""The metrics in a row, by the names that they have there."""


def row(method: str, question: QuestionRecord, state: State, seconds: float, usage: Usage) -> Row:
    """Return a result as JSON holds it.

    `documents` are [id, score], best first, a document standing where its first passage does. `seconds`
    are those of the whole call, `model_seconds` and `tokens` what models took of it.
    """
    ranked = _documents(state)
    ids = [document for document, _ in ranked]
    recalls = {f"recall@{k}": round(recall_at_k(ids, question.gold, k), 6) for k in PLACES}
    return {
        "method": method,
        "question": question.id,
        "type": question.type,
        "gold": list(question.gold),
        "documents": ranked,
        **recalls,
        "ndcg@10": round(ndcg_at_k(ids, question.gold, 10), 6),
        "seconds": round(seconds, 6),
        "model_seconds": round(usage.seconds, 6),
        "tokens": usage.tokens,
        "steps": [_step(step) for step in state.trace],
    }


def _documents(state: State) -> list[tuple[str, float]]:
    """Return the documents of the ranked passages with the score of their first."""
    found: dict[str, float] = {}
    if state.chunks is None:
        return []
    passages = state.graph.passages
    for node, score in zip(state.chunks.ids.tolist(), state.chunks.scores.tolist(), strict=True):
        passage = None if passages is None else passages.of(node)
        found.setdefault(state.graph.names[node] if passage is None else passage.document, round(score, 6))
    return list(found.items())


def _step(step: Step) -> dict[str, Any]:
    return {
        "operator": step.operator,
        "seconds": round(step.seconds, 6),
        "model_seconds": round(step.usage.seconds, 6),
        "tokens": step.usage.tokens,
    }


class Results:
    """The rows of a run, in a file of JSON lines that grows by one line for each.

    A line that was being written when the process died is dropped when the file is opened again, so that
    its question is asked again; every line before it holds.
    """

    def __init__(self, path: Path, methods: Sequence[str], questions: Sequence[str]) -> None:
        """Read the rows there are. Raises DataError for a line that is no row of this run."""
        self.path = path
        self._order = {pair: at for at, pair in enumerate(product(methods, questions))}
        self._rows: dict[tuple[str, str], Row] = {}
        for number, line in enumerate(_whole_lines(path), 1):
            self._take(line, number)

    def _take(self, line: bytes, number: int) -> None:
        try:
            found = json.loads(line)
            key = found["method"], found["question"]
            complete = key in self._order and all(name in found for name in (*METRICS, "seconds", "steps"))
        except (ValueError, KeyError, TypeError):
            complete = False
        if not complete or key in self._rows:
            what = "repeats a result" if complete else "is no result of this run"
            raise DataError(
                f"{self.path}:{number} {what}: {line[:60]!r}. Remove that line; its question is asked again."
            )
        self._rows[key] = found

    def __contains__(self, pair: tuple[str, str]) -> bool:
        return pair in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def of(self, method: str) -> list[Row]:
        """Return a method's rows in the order of the questions."""
        rows = [key for key in self._rows if key[0] == method]
        return [self._rows[key] for key in sorted(rows, key=self._order.__getitem__)]

    @contextmanager
    def writing(self) -> Iterator[Callable[[Row], None]]:
        """Open the file; each row added is a line of it before `add` returns."""
        with self.path.open("a", encoding="utf-8", newline="\n") as file:

            def add(found: Row) -> None:
                file.write(json.dumps(found) + "\n")
                file.flush()
                self._rows[found["method"], found["question"]] = found

            yield add


def _whole_lines(path: Path) -> Iterator[bytes]:
    """Cut off what stands after the last end of line, and yield the lines."""
    if not path.exists():
        return
    held = path.read_bytes()
    end = held.rfind(b"\n") + 1
    if end < len(held):
        with path.open("r+b") as file:
            file.truncate(end)
    yield from held[:end].splitlines()
