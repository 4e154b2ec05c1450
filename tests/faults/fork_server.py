"""Fork server: a process that has loaded everything forks a child for each job, which may be killed.

SIGKILL, limits on files and crashes of compiled code end the child alone, and a child starts in milliseconds. Run as a
script, this module is the server; tests call it by `ForkServer`.
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

from graphwright import Index
from graphwright.errors import GraphwrightError
from graphwright.extract import LexicalExtractor, Schema
from graphwright.extract.extraction import Excerpt, Extraction, ExtractionFailure, Mention, Relation
from graphwright.graph import storage
from graphwright.models import HashEncoder
from graphwright.store import Edit, Settings

__all__ = ["ALL", "ENCODER", "QUESTION", "SlowExtractor", "Outcome", "ForkServer", "open_or_create"]

ALL = Settings(embed=("passages", "names", "triples"))
ENCODER = HashEncoder(16)
QUESTION = "Who founded the observatory of Fredericton?"


@dataclass(frozen=True)
class SlowExtractor:
    """A slow, deterministic extractor, as a language model might be.

    It adds a mention and a relation to the extraction of the lexical one, and fails on a chunk with "illegible" in it.
    """

    seconds: float = 0.0  # for one chunk
    id: str = "slow:1"
    provisional: LexicalExtractor = field(default_factory=LexicalExtractor)

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Extraction | ExtractionFailure]:
        """Extract from chunks, slowly."""
        return [self._read(e, quick) for e, quick in zip(excerpts, self.provisional.extract(excerpts), strict=True)]

    def _read(self, excerpt: Excerpt, quick: Extraction) -> Extraction | ExtractionFailure:
        time.sleep(self.seconds)
        if "illegible" in excerpt.text:
            return ExtractionFailure("it is illegible")
        mention = Mention("Slow Reader", 0, 0, "reader", f"read {excerpt.document}")
        relation = Relation(
            "Slow Reader", "read", excerpt.title or "Untitled", f"{excerpt.document} was read.", ("care",)
        )
        return Extraction((*quick.mentions, mention), (*quick.relations, relation))


def open_or_create(folder: Path, extractor: Any = None) -> Index:
    """Open an index, or create one, as the command line does."""
    if (folder / "index.sqlite").exists():
        return Index.open(folder, encoder=ENCODER, extractor=extractor)
    return Index.create(folder, encoder=ENCODER, extractor=extractor, settings=ALL)


class Points:
    """Points at which a child can kill itself: before, within and after each call of the functions that write."""

    def __init__(self, stop: Sequence[Any] | None, note: Callable[[str], None] | None) -> None:
        """`stop`: a point and how many times it is passed before the child is killed there."""
        self._stop = tuple(stop or ())
        self._note = note
        self._passed: Counter[str] = Counter()

    def watch(self) -> None:
        """Wrap the functions that write."""
        self._around(os, "replace", lambda old, new: f"rename {Path(new).name}")
        self._around(shutil, "rmtree", lambda path, **_: f"delete {Path(path).name}", _delete_some)
        self._around(Path, "unlink", lambda path, **_: f"unlink {path.name}")
        self._around(storage, "_write", lambda array, path: f"write {path.name}", _write_some)
        self._around(tempfile, "mkdtemp", lambda **_: "make the draft")
        self._around(HashEncoder, "encode", lambda encoder, texts, usage=None: "encode")
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

                def execute(self, query: str, *arguments: Any) -> Any:
                    what = f"{query.split()[0].lower()} {file}" if "wal_" not in query else f"checkpoint {file}"
                    return points.around(what, lambda: super(Watched, self).execute(query, *arguments))

            return connect(name, factory=Watched, **more)

        sqlite3.connect = watched  # type: ignore[assignment]

    def around(self, name: str, call: Callable[[], Any], within: Callable[[], None] | None = None) -> Any:
        """Make a call between two points; `within` is what a child that is killed in the middle does of it."""
        self._pass(f"before {name}")
        if within is not None and self._stop == (f"within {name}", self._passed[f"within {name}"]):
            within()
        self._pass(f"within {name}", only_count=within is None)
        result = call()
        self._pass(f"after {name}")
        return result

    def _around(
        self, owner: Any, attribute: str, name: Callable[..., str], within: Callable[..., None] | None = None
    ) -> None:
        call = getattr(owner, attribute)

        def watched(*arguments: Any, **more: Any) -> Any:
            inner = None if within is None else lambda: within(*arguments)
            return self.around(name(*arguments, **more), lambda: call(*arguments, **more), inner)

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


def _write_some(array: Any, path: Path) -> None:
    path.write_bytes(b"\x93NUMPY\x01\x00")


def _add(folder: Path, report: Callable[..., None], what: str, extractor: Any = None) -> None:
    """Add the files of a folder one by one, and report each."""
    with open_or_create(folder, extractor) as index:
        report("opened", index.documents)
        for file in sorted(Path(what).iterdir()):
            index.add(file)
            report("done", index.documents)


def _read(folder: Path, report: Callable[..., None], what: str) -> None:
    """Add the files of a folder, with the slow extractor."""
    _add(folder, report, what, SlowExtractor(0.001))


def _read_slowly(folder: Path, report: Callable[..., None], what: str) -> None:
    """Add the files of a folder, with the slow extractor at 0.3 seconds a chunk."""
    _add(folder, report, what, SlowExtractor(0.3))


def _sync(folder: Path, report: Callable[..., None], what: str) -> None:
    """Synchronise an index with a folder."""
    with open_or_create(folder) as index:
        report("opened", index.documents)
        index.sync(Path(what))
        report("done", index.documents)


def _edit(folder: Path, report: Callable[..., None], what: str) -> None:
    """Undo the edits, if any, and make those that are in `what`, as JSON; both in a batch."""
    with Index.open(folder, encoder=ENCODER) as index:
        report("opened", index.documents)
        edits = list(map(Edit.of_dict, json.loads(what)))
        with index.batch():
            if others := [edit.id for edit in index.edits() if edit.id not in {made.id for made in edits}]:
                index.undo(*others)
            index.edit(*edits[:2])
            index.edit(*edits[2:])
        report("done", index.documents)


def _schema(folder: Path, report: Callable[..., None], what: str) -> None:
    """Extract again with the schema in `what`."""
    with Index.open(folder, encoder=ENCODER) as index:
        report("opened", index.documents)
        index.reextract(schema=Schema.of_toml(what))
        report("done", index.documents)


def _rebuild(folder: Path, report: Callable[..., None], what: str) -> None:
    """Build an index again, with chunks of as many tokens as `what` says."""
    Index.rebuild(folder, ENCODER, chunk_tokens=int(what))
    with Index.open(folder, encoder=ENCODER) as index:
        report("done", index.documents)


def _remove(folder: Path, report: Callable[..., None], what: str) -> None:
    """Remove the documents whose ids are in `what`, and report them."""
    with Index.open(folder, encoder=ENCODER) as index:
        report("removed", *index.remove(what.split()).removed)


def _import(folder: Path, report: Callable[..., None], what: str) -> None:
    """Import a file of triples."""
    with Index.from_graph(folder, what, encoder=ENCODER) as index:
        report("imported", len(index.graph.edges))


def _ask(folder: Path, report: Callable[..., None], what: str) -> None:
    """Ask an index by each of the methods in `what`, and report the results."""
    with Index.open(folder, encoder=ENCODER) as index:
        for method in what.split():
            try:
                state = index.ask(QUESTION, method)
                report("answered", method, state.answer is not None)
            except GraphwrightError as error:
                report(type(error).__name__, method, str(error))


def _verify(folder: Path, report: Callable[..., None], what: str) -> None:
    """Report the problems of an index; with `what` "repair", those left after a repair."""
    with Index.open(folder, encoder=ENCODER) as index:
        for problem in index.verify(repair=what == "repair"):
            report("problem", str(problem), problem.repairable)


def _examine(folder: Path, report: Callable[..., None], what: str) -> None:
    """Report the problems of an index, then ask it."""
    _verify(folder, report, "")
    _ask(folder, report, what)


def _command(folder: Path, report: Callable[..., None], what: str) -> None:
    """Run the command line; `what` are its arguments as JSON. Its exit status is the child's."""
    from graphwright.cli.app import main

    with tempfile.TemporaryFile() as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        try:
            main([argument.format(index=folder) for argument in json.loads(what)])
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            output.seek(0)
            report("output", output.read().decode())


def _program(folder: Path, report: Callable[..., None], what: str) -> None:
    """Execute the program in `what`, to which `folder` is known."""
    exec(what, {"folder": folder})


JOBS = {
    "add": _add,
    "read": _read,
    "read slowly": _read_slowly,
    "sync": _sync,
    "edit": _edit,
    "schema": _schema,
    "rebuild": _rebuild,
    "remove": _remove,
    "import": _import,
    "ask": _ask,
    "verify": _verify,
    "examine": _examine,
    "command": _command,
    "program": _program,
}


def _work(order: dict[str, Any], reports: int) -> int:
    """Do a job in a child; return its exit status."""

    def report(*values: Any) -> None:
        os.write(reports, (json.dumps(values) + "\n").encode())

    # Written pages survive the process; fsync matters only when the machine loses power.
    os.fsync = lambda file: None
    note = (lambda point: report("point", point)) if order["points"] else None
    if order["points"] or order["stop"]:
        Points(order["stop"], note).watch()
    if order["largest"] is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["largest"], order["largest"]))
    if order["files"] is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (order["files"], order["files"]))
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
        index = open_or_create(Path(folder) / "index")
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
class Outcome:
    """Exit code of a child (negative: the signal), and its reports."""

    code: int
    reports: list[list[Any]]

    @property
    def error(self) -> list[Any]:
        """Name and message of the error that ended it, and whether it is a GraphwrightError."""
        return self.reports[-1] if self.code == 1 else []

    def reports_of(self, what: str) -> list[list[Any]]:
        """Return the reports of one kind."""
        return [report[1:] for report in self.reports if report[0] == what]


@dataclass(frozen=True)
class Job:
    """A running child."""

    server: ForkServer
    number: int
    reports: Path

    def wait_for(self, what: str) -> None:
        """Wait for a report of one kind."""
        while not self.reports_of(what):
            time.sleep(0.002)

    def reports_of(self, what: str) -> list[list[Any]]:
        """Return the reports of one kind so far."""
        return [report[1:] for report in self._lines() if report[0] == what]

    def kill(self) -> None:
        """Kill it. It was not waited for, so no other process has its number."""
        os.kill(self.number, signal.SIGKILL)

    def wait(self) -> Outcome:
        """Wait for its end."""
        return Outcome(os.waitstatus_to_exitcode(self.server.send(self.number)), self._lines())

    def _lines(self) -> list[list[Any]]:
        lines = self.reports.read_text().splitlines(keepends=True) if self.reports.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]


class ForkServer:
    """Start children for jobs; use it in a `with` block."""

    def __init__(self) -> None:
        """Start the server, and wait until it has loaded everything."""
        self._scratch = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._reply()
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
        files: int | None = None,
        user: int | None = None,
    ) -> Job:
        """Start a job in a child.

        `stop`: a point and how many times it is passed before the child is killed there; `points`: report all of them;
        `largest`: maximum size of a file in bytes; `files`: maximum number of open files; `user`: id of the user that
        the child runs as.
        """
        reports = Path(self._scratch.name) / f"{self._orders}.jsonl"
        self._orders += 1
        order = {"job": job, "folder": str(folder), "what": str(what), "reports": str(reports)}
        more = {"stop": stop, "points": points, "largest": largest, "files": files, "user": user}
        return Job(self, self.send({**order, **more}), reports)

    def run(self, job: str, folder: Path, what: str | Path = "", **more: Any) -> Outcome:
        """Do a job in a child, and wait for its end; arguments as in `start`."""
        return self.start(job, folder, what, **more).wait()

    def send(self, order: Any) -> Any:
        """Send an order, and return the reply."""
        assert self._process.stdin is not None
        print(json.dumps(order), file=self._process.stdin, flush=True)
        return self._reply()

    def _reply(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._scratch.cleanup()


if __name__ == "__main__":
    _serve()
