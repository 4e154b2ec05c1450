"""What every driver does with its system: index passages, ask questions, add and remove one, and measure it all.

A driver is run by the Python of its system, with the path of a task in JSON; this module needs the standard library
alone. Times are those of this process: seconds of its processors, and seconds of the clock in which the models answered
nothing. What a system cannot do, its driver does not define.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

QUESTION = "Who founded the abbey near the river?"
_WARM = 12  # passages of the index that is made before anything is measured


@dataclass(frozen=True)
class Passage:
    """A passage; `reading` is the text that systems without titles are given."""

    id: str
    title: str
    text: str

    @property
    def reading(self) -> str:
        return f"{self.title}\n{self.text}"


class Driver(ABC):
    """A system with an index in a new folder.

    `url`: of the models; `limit`: number of passages that a question asks for. A driver that can change its index has
    `add` and `remove`, each of one passage.
    """

    def __init__(self, folder: Path, url: str, limit: int) -> None:
        self.folder, self.url, self.limit = folder, url, limit

    @abstractmethod
    def build(self, passages: list[Passage]) -> None:
        """Index passages, and write the index to the folder."""

    @abstractmethod
    def search(self, question: str) -> Any:
        """Return what the system finds for a question."""

    @abstractmethod
    def ids(self, found: Any) -> list[str]:
        """Return the ids of the passages that were found, best first; its time does not count."""

    def close(self) -> None:  # noqa: B027
        """Let go of the index."""


class Texts:
    """Passages by their texts, for systems that return no ids; spaces and signs do not count."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._ids = {_letters(passage.text): passage.id for passage in passages}

    def add(self, passage: Passage) -> None:
        self._ids[_letters(passage.text)] = passage.id

    def ids(self, text: str) -> list[str]:
        """Return the passages that a text holds, in its order."""
        letters = _letters(text)
        places = [(place, id) for known, id in self._ids.items() if (place := letters.find(known)) >= 0]
        return [id for _, id in sorted(places)]

    def ids_of_each(self, texts: Iterable[str]) -> list[str]:
        """Return the passages that texts hold, in their order, each once."""
        return list(dict.fromkeys(id for text in texts for id in self.ids(text)))


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


@dataclass(frozen=True)
class Spent:
    """What a piece of work took; `beside`: seconds of the clock in which the models answered nothing."""

    processors: float
    beside: float
    models: dict[str, float]

    def row(self) -> dict[str, Any]:
        return {"processors s": round(self.processors, 4), "beside s": round(self.beside, 4), **self.models}


class Meter:
    """A measure of work by this process and its children."""

    def __init__(self, url: str) -> None:
        self._counts = url.removesuffix("/v1") + "/counts"
        self.last = Spent(0, 0, {})

    @contextmanager
    def measured(self) -> Any:
        """Measure the block; `last` is then what it took."""
        before, processors, begun = self._asked(), _processors(), time.perf_counter()
        yield
        seconds, processors = time.perf_counter() - begun, _processors() - processors
        models = {name: count - before[name] for name, count in self._asked().items()}
        self.last = Spent(processors, max(0.0, seconds - models.pop("busy")), models)

    def _asked(self) -> dict[str, float]:
        with urllib.request.urlopen(self._counts) as answer:
            counts: dict[str, float] = json.load(answer)
        return counts


def _processors() -> float:
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def _peak() -> int:
    """Return the largest number of bytes that this process has had in memory."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def _disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def run(make: Callable[[Path, str, int], Driver]) -> None:
    """Do the task whose path is the argument, and write what was measured where it says.

    A small index is made and asked first, so that imports and compilers do not count.
    """
    task = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    passages = [Passage(**row) for row in task["passages"]]
    folder, url, limit, meter = Path(task["folder"]), task["url"], task["limit"], Meter(task["url"])
    for name in ("warm", "index"):
        (folder / name).mkdir(parents=True)
    warm = make(folder / "warm", url, limit)
    warm.build(passages[:_WARM])
    warm.ids(warm.search(QUESTION))
    warm.close()
    row: dict[str, Any] = {"start s": round(_processors(), 2), "start bytes": _peak()}
    driver = make(folder / "index", url, limit)
    with meter.measured():
        driver.build(passages)
    row["index"] = meter.last.row()
    row["disk bytes"] = _disk(folder / "index")
    row["questions"] = [_asked(driver, meter, question) for question in task["questions"]]
    row |= _changed(driver, meter, Passage(**task["added"]))
    row["peak bytes"] = _peak()
    driver.close()
    Path(task["out"]).write_text(json.dumps(row), encoding="utf-8")


def _asked(driver: Driver, meter: Meter, question: str) -> dict[str, Any]:
    with meter.measured():
        found = driver.search(question)
    return {**meter.last.row(), "found": driver.ids(found)[: driver.limit]}


def _changed(driver: Driver, meter: Meter, passage: Passage) -> dict[str, Any]:
    """Measure a change and its reversal, where the system can, each with the next question; `found`: what it finds."""
    row: dict[str, Any] = {}
    for name in ("add", "remove"):
        change = getattr(driver, name, None)
        if change is None:
            continue
        with meter.measured():
            change(passage)
            found = driver.search(passage.title)
        row[name] = {**meter.last.row(), "found": passage.id in driver.ids(found)[: driver.limit]}
    return row
