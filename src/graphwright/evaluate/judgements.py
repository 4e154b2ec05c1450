"""Judgements of answers: what each is of, and the file that keeps it as soon as it is made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from graphwright.data.questions import QuestionRecord
from graphwright.errors import DataError
from graphwright.evaluate.judges import Verdict
from graphwright.files import growing, whole_lines
from graphwright.prompts import checksum

__all__ = ["ACCURACY", "PAIRWISE", "Judgement", "Log", "Task"]

ACCURACY, PAIRWISE = "accuracy", "pairwise"


@dataclass(frozen=True)
class Task:
    """Something to judge: the answers of methods to a question, in the order in which they are shown."""

    kind: str
    methods: tuple[str, ...]
    question: QuestionRecord
    answers: tuple[str, ...]

    @property
    def swapped(self) -> Task:
        """The same in the other order."""
        return Task(self.kind, self.methods[::-1], self.question, self.answers[::-1])

    @property
    def differs(self) -> bool:
        """Whether there are two answers between which an order could matter."""
        return all(self.answers) and len(set(self.answers)) == 2


@dataclass(frozen=True)
class Judgement:
    """What came of a task: verdicts by name, "accuracy" or dimensions, None where the reply was `unreadable`."""

    verdicts: Mapping[str, Verdict] | None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    unreadable: str = ""

    def value(self, name: str) -> float | None:
        """Return the verdict by a name, None where there is none."""
        found = (self.verdicts or {}).get(name)
        return None if found is None else found.value


class _Key(NamedTuple):
    """What a judgement is of; `texts` is a checksum of all that was judged."""

    kind: str
    methods: tuple[str, ...]
    question: str
    dimensions: tuple[str, ...]
    model: str
    prompt: str
    texts: str


class Log:
    """The judgements made so far, in a file of JSON lines that grows by one for each.

    A line that was being written when the process died is dropped, so that it is judged again; all before it hold.
    """

    def __init__(self, path: Path, model: str, dimensions: Mapping[str, str]) -> None:
        """Read the judgements there are. Raises DataError for a line that is none."""
        self._path = path
        self._model = model
        self._dimensions = dimensions
        self._prompts = {kind: checksum(f"judge_{kind}") for kind in (ACCURACY, PAIRWISE)}
        self._made: dict[_Key, Judgement] = {}
        for number, line in enumerate(whole_lines(path), 1):
            try:
                key, made = _parsed(line)
            except (ValueError, TypeError, KeyError) as error:
                raise DataError(
                    f"{path}:{number} is no judgement: {line[:60]!r}. Remove that line; it is judged again."
                ) from error
            self._made.setdefault(key, made)

    def _key(self, task: Task) -> _Key:
        about = self._dimensions if task.kind == PAIRWISE else {}
        texts = [task.question.text, task.question.answers, task.answers, list(about.values())]
        digest = hashlib.blake2b(json.dumps(texts).encode(), digest_size=8).hexdigest()
        prompt = self._prompts[task.kind]
        return _Key(task.kind, task.methods, task.question.id, tuple(about), self._model, prompt, digest)

    def __contains__(self, task: Task) -> bool:
        return self._key(task) in self._made

    def __getitem__(self, task: Task) -> Judgement:
        return self._made[self._key(task)]

    @contextmanager
    def writing(self) -> Iterator[Callable[[Task, Judgement], None]]:
        """Open the file; each judgement added is a line of it before `add` returns."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with growing(self._path) as write:

            def add(task: Task, made: Judgement) -> None:
                key = self._key(task)
                verdicts = None if made.verdicts is None else {n: one._asdict() for n, one in made.verdicts.items()}
                write({**key._asdict(), **asdict(made), "verdicts": verdicts})
                self._made[key] = made

            yield add


def _parsed(line: bytes) -> tuple[_Key, Judgement]:
    """Read a line. Raises ValueError, TypeError or KeyError where it is no judgement."""
    found = json.loads(line)
    lists = {name: tuple(map(str, found[name])) for name in ("methods", "dimensions")}
    key = _Key(**{name: str(found[name]) for name in _Key._fields} | lists)  # type: ignore[arg-type]
    verdicts = found["verdicts"]
    if not isinstance(verdicts, dict | None):
        raise TypeError("verdicts are not an object")
    if verdicts is not None:
        verdicts = {name: Verdict(float(one["value"]), str(one["why"])) for name, one in verdicts.items()}
    took = int(found["prompt_tokens"]), int(found["completion_tokens"]), float(found["cost"])
    return key, Judgement(verdicts, *took, str(found["unreadable"]))
