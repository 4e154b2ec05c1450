"""Work in processes that may be killed: one that has loaded everything forks a child for each piece of it.

A child is a process of its own, so SIGKILL, limits on files and crashes of compiled code hit it alone; and it starts in
milliseconds. Run as a script this is the one that forks; `Nursery` is how a test talks to it.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import numpy as np

from graphwright import Index
from graphwright.errors import GraphwrightError
from graphwright.index import LexicalExtractor, Settings
from graphwright.index.extraction import Excerpt, Extraction, ExtractionFailure, Mention, Relation
from graphwright.models import HashEncoder

__all__ = ["ALL", "ENCODER", "QUESTION", "Careful", "Child", "Nursery", "opened"]

ALL = Settings(embed=("passages", "names", "triples"))
ENCODER = HashEncoder(16)
QUESTION = "Who founded the observatory of Fredericton?"


@dataclass(frozen=True)
class Careful:
    """An extractor that takes long, as a language model does, and says the same of the same chunk.

    It says of each chunk what the quick one says, and one thing more; a chunk with "illegible" in it it sets aside.
    """

    seconds: float = 0.0  # for one chunk
    id: str = "careful:1"
    provisional: LexicalExtractor = field(default_factory=LexicalExtractor)

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Extraction | ExtractionFailure]:
        """Read chunks, slowly."""
        return [self._read(e, made) for e, made in zip(excerpts, self.provisional.extract(excerpts), strict=True)]

    def _read(self, excerpt: Excerpt, made: Extraction) -> Extraction | ExtractionFailure:
        time.sleep(self.seconds)
        if "illegible" in excerpt.text:
            return ExtractionFailure("it is illegible")
        said = Mention("Careful Reader", 0, 0, "reader", f"read {excerpt.document}")
        more = Relation(
            "Careful Reader", "read", excerpt.title or "Untitled", f"{excerpt.document} was read.", ("care",)
        )
        return Extraction((*made.mentions, said), (*made.relations, more))


def opened(folder: Path, extractor: Any = None) -> Index:
    """Open an index of these tests, made if need be, as the command line does."""
    if (folder / "index.sqlite").exists():
        return Index.open(folder, encoder=ENCODER, extractor=extractor)
    return Index.create(folder, encoder=ENCODER, extractor=extractor, settings=ALL)


class Points:
    """Places in the work where a child can end its own life: each call of these functions, before, amid and after."""

    def __init__(self, stop: Sequence[Any] | None, note: Callable[[str], None] | None) -> None:
        """`stop`: a point's name and how often it is passed before."""
        self._stop = tuple(stop or ())
        self._note = note
        self._passed: Counter[str] = Counter()

    def watch(self) -> None:
        """Put the points into the functions that write."""
        self._around(os, "replace", lambda old, new: f"rename {Path(new).name}")
        self._around(shutil, "rmtree", lambda path, **_: f"delete {Path(path).name}", _delete_some)
        self._around(Path, "unlink", lambda path, **_: f"unlink {path.name}")
        self._around(np, "save", lambda file, array: f"write {Path(file.name).name}", _write_some)
        self._around(tempfile, "mkdtemp", lambda **_: "make the draft")
        self._around(HashEncoder, "encode_metered", lambda encoder, texts, usage: "encode")
        self._around(LexicalExtractor, "extract", lambda extractor, some: "extract")
        connect, points = sqlite3.connect, self

        def watched(name: Any, **more: Any) -> sqlite3.Connection:
            file = Path(urlparse(str(name)).path).name

            class Watched(sqlite3.Connection):
                def commit(self) -> None:
                    points.around(f"commit {file}", super().commit)

                def __exit__(self, *error: Any) -> Any:
                    return points.around(f"commit {file}", lambda: super(Watched, self).__exit__(*error))

                def executescript(self, script: str) -> Any:
                    return points.around(f"script {file}", lambda: super(Watched, self).executescript(script))

                def execute(self, query: str, *given: Any) -> Any:
                    what = f"{query.split()[0].lower()} {file}" if "wal_" not in query else f"checkpoint {file}"
                    return points.around(what, lambda: super(Watched, self).execute(query, *given))

            return connect(name, factory=Watched, **more)

        sqlite3.connect = watched  # type: ignore[assignment]

    def around(self, name: str, call: Callable[[], Any], amid: Callable[[], None] | None = None) -> Any:
        """Do a piece of work between two points, and with a third amid it."""
        self._pass(f"before {name}")
        if amid is not None and self._stop == (f"amid {name}", self._passed[f"amid {name}"]):
            amid()
        self._pass(f"amid {name}", only_count=amid is None)
        result = call()
        self._pass(f"after {name}")
        return result

    def _around(
        self, owner: Any, attribute: str, name: Callable[..., str], amid: Callable[..., None] | None = None
    ) -> None:
        call = getattr(owner, attribute)

        def watched(*given: Any, **more: Any) -> Any:
            some = None if amid is None else lambda: amid(*given)
            return self.around(name(*given, **more), lambda: call(*given, **more), some)

        setattr(owner, attribute, watched)

    def _pass(self, point: str, only_count: bool = False) -> None:
        if only_count:
            return
        if self._note is not None:
            self._note(point)
        if self._stop == (point, self._passed[point]):
            os.kill(os.getpid(), signal.SIGKILL)
        self._passed[point] += 1


def _delete_some(path: Path) -> None:
    files = sorted(file for file in Path(path).rglob("*") if file.is_file())
    for file in files[::2]:
        file.unlink()


def _write_some(file: Any, array: Any) -> None:
    file.write(b"\x93NUMPY\x01\x00")
    file.flush()


def _add(folder: Path, report: Callable[..., None], what: str, extractor: Any = None) -> None:
    """Add the files of a folder one after the other; say of each when it is there."""
    with opened(folder, extractor) as index:
        report("opened", index.documents)
        for file in sorted(Path(what).iterdir()):
            index.add(file)
            report("done", index.documents)


def _read(folder: Path, report: Callable[..., None], what: str) -> None:
    """Add the files of a folder, read by an extractor that takes its time."""
    _add(folder, report, what, Careful(0.001))


def _read_slowly(folder: Path, report: Callable[..., None], what: str) -> None:
    """Add the files of a folder, read by an extractor that takes long."""
    _add(folder, report, what, Careful(0.3))


def _sync(folder: Path, report: Callable[..., None], what: str) -> None:
    """Keep an index in step with a folder."""
    with opened(folder) as index:
        report("opened", index.documents)
        index.sync(Path(what))
        report("done", index.documents)


def _ask(folder: Path, report: Callable[..., None], what: str) -> None:
    """Ask an index by every method, and say what came of it."""
    with Index.open(folder, encoder=ENCODER) as index:
        for method in what.split():
            try:
                state = index.ask(QUESTION, method)
                report("answered", method, state.answer is not None)
            except GraphwrightError as error:
                report(type(error).__name__, method, str(error))


def _verify(folder: Path, report: Callable[..., None], what: str) -> None:
    """Say what is wrong with an index; where `what` is repair, mend it."""
    with Index.open(folder, encoder=ENCODER) as index:
        for problem in index.verify(repair=what == "repair"):
            report("problem", str(problem), problem.repairable)


def _examine(folder: Path, report: Callable[..., None], what: str) -> None:
    """Say what is wrong with an index, then ask it by every method."""
    _verify(folder, report, "")
    _ask(folder, report, what)


def _command(folder: Path, report: Callable[..., None], what: str) -> None:
    """Run the command line; `what` are its arguments as JSON. Its exit status is the child's."""
    from graphwright.cli.app import main

    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        try:
            main([argument.format(index=folder) for argument in json.loads(what)])
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            said.seek(0)
            report("said", said.read().decode())


JOBS = {
    "add": _add,
    "read": _read,
    "read slowly": _read_slowly,
    "sync": _sync,
    "ask": _ask,
    "verify": _verify,
    "examine": _examine,
    "command": _command,
}


def _work(order: dict[str, Any], reports: int) -> int:
    """Do one piece of work in a child; return its exit status."""

    def report(*said: Any) -> None:
        os.write(reports, (json.dumps(said) + "\n").encode())

    # What a process has written outlives it; only a power cut does not wait for the disk.
    os.fsync = lambda file: None
    note = (lambda point: report("point", point)) if order["points"] else None
    if order["points"] or order["stop"]:
        Points(order["stop"], note).watch()
    if order["largest"] is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["largest"], order["largest"]))
    if order["user"] is not None:
        os.setuid(order["user"])
    try:
        JOBS[order["job"]](Path(order["folder"]), report, order["what"])
    except SystemExit as ended:
        return int(ended.code or 0)
    except Exception as error:
        report(type(error).__name__, str(error), isinstance(error, GraphwrightError))
        return 1
    return 0


def _serve() -> None:
    """Load everything once, then fork for each order on stdin."""
    with tempfile.TemporaryDirectory() as folder:
        index = opened(Path(folder) / "index")
        index.add([{"id": "a", "title": "Graz", "text": "Graz lies on the Mur in Styria, Austria."}])
        for method in ("vector", "bm25", "hybrid", "ppr"):
            index.ask(QUESTION, method)
        index.verify()
        index.close()
        del index
    gc.collect()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if isinstance(order, int):
            print(json.dumps(os.waitpid(order, 0)[1]), flush=True)
            continue
        child = os.fork()
        if not child:
            reports = os.open(order["reports"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os._exit(_work(order, reports))
        print(json.dumps(child), flush=True)


@dataclass(frozen=True)
class Child:
    """What became of a child: `code` as subprocess has it (negative: the signal), and what it reported."""

    code: int
    reports: list[list[Any]]

    @property
    def error(self) -> list[Any]:
        """Name and message of the error that it ended with, and whether that is one of ours."""
        return self.reports[-1] if self.code == 1 else []

    def said(self, what: str) -> list[list[Any]]:
        """Return the reports of one kind."""
        return [report[1:] for report in self.reports if report[0] == what]


@dataclass(frozen=True)
class Running:
    """A child at work."""

    nursery: Nursery
    number: int
    reports: Path

    def until(self, what: str) -> None:
        """Wait until it has reported something."""
        while not self.said(what):
            time.sleep(0.002)

    def said(self, what: str) -> list[list[Any]]:
        """Return the reports of one kind so far."""
        return [report[1:] for report in self._said() if report[0] == what]

    def kill(self) -> None:
        """End it; nobody has waited for it yet, so its number is its own."""
        os.kill(self.number, signal.SIGKILL)

    def wait(self) -> Child:
        """Wait for its end."""
        return Child(os.waitstatus_to_exitcode(self.nursery.asked(self.number)), self._said())

    def _said(self) -> list[list[Any]]:
        lines = self.reports.read_text().splitlines(keepends=True) if self.reports.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]


class Nursery:
    """Forks children that work; to be used in a `with`."""

    def __init__(self) -> None:
        """Start the process that forks, and wait until it has loaded everything."""
        self._scratch = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._heard()
        self._orders = 0

    def start(
        self,
        job: str,
        folder: Path,
        what: str | Path = "",
        *,
        stop: tuple[str, int] | None = None,
        points: bool = False,
        largest: int | None = None,
        user: int | None = None,
    ) -> Running:
        """Let a child begin a job.

        `stop`: a point and how often it is passed before the child kills itself there; `points`: report all of them;
        `largest`: bytes that a file may have; `user`: whom the child is run by.
        """
        reports = Path(self._scratch.name) / f"{self._orders}.jsonl"
        self._orders += 1
        order = {"job": job, "folder": str(folder), "what": str(what), "reports": str(reports)}
        more = {"stop": stop, "points": points, "largest": largest, "user": user}
        return Running(self, self.asked({**order, **more}), reports)

    def run(self, job: str, folder: Path, what: str | Path = "", **more: Any) -> Child:
        """Let a child do a job, and wait for its end; see `start`."""
        return self.start(job, folder, what, **more).wait()

    def asked(self, order: Any) -> Any:
        """Send an order, and return the answer."""
        assert self._process.stdin is not None
        print(json.dumps(order), file=self._process.stdin, flush=True)
        return self._heard()

    def _heard(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._scratch.cleanup()


if __name__ == "__main__":
    _serve()
