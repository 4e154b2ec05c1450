"""Run every command under attack: signals, few open files, small files, a full disk, closed streams, links, read-only.

Each attack runs a command in a child with a fresh copy of a folder. The child ends by an exit code of the command line,
or by the signal that it was sent, with one message and no traceback; it does not claim damage where there is none. The
same command, run again without the attack, then succeeds, with the result of a run that was never disturbed, and leaves
no other file behind.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from harness import Record

from attacks.command_attacks import ATTACKS, WAITING, Attack
from graphwright.__main__ import main
from graphwright.index_folder.index import Index

__all__ = ["ATTACKS", "COMMANDS", "Bench", "attack"]

MAX_SECONDS = 180.0
DOCUMENTS = {
    "a.txt": "Graz lies on the Mur in Styria. It was founded in 1128.",
    "b.txt": "The Mur flows into the Drava at Legrad.",
    "c.txt": "The Drava rises in South Tyrol.",
}
ASKED = [
    {"id": "q", "question": "Where does the Mur flow?", "answers": ["Drava"], "gold_ids": ["b"], "entities": ["Mur"]},
]
FALSE = re.compile(r"damage|malformed|cut short|restore it|pip install", re.IGNORECASE)
"""What a message may not say where nothing is damaged or missing."""


@dataclass(frozen=True)
class Command:
    """Arguments of a command, run in a folder; the index that it changes and the file that it writes, or ""."""

    arguments: tuple[str, ...]
    index: str = "index"
    file: str = ""


def _command(text: str, index: str = "index", file: str = "") -> Command:
    return Command(tuple(text.split()), index, file)


COMMANDS = {
    "index": _command("index more.txt --into index"),
    "create": _command("index docs --into new", "new"),
    "sync": _command("sync docs --into index"),
    "remove": _command("remove a.txt --index index"),
    "reextract": _command("reextract --index index --offline"),
    "import": _command("import kb.tsv --into new", "new"),
    "ask": _command("ask Graz? --index index --json"),
    "verify": _command("verify --index index"),
    "repair": _command("verify --index index --repair"),
    "export": _command("export --index index --to graph.json", file="graph.json"),
    "evaluate": _command("evaluate --data set --methods bm25 --out run", file="run/results.jsonl"),
    "train": _command("train labels questions.jsonl --index graph --into labels.jsonl", file="labels.jsonl"),
    "serve": _command("serve index --port 0 --data data"),
    "mcp": _command("mcp index --data data"),
}


class Ended(NamedTuple):
    """The end of a command: its exit code, negative for a signal, and what it wrote."""

    code: int
    out: str
    err: str


NOTHING = Attack()


class Bench:
    """A folder to attack, what each command makes of it undisturbed, and the seconds that it takes."""

    def __init__(self, disk: Path, outputs: Path) -> None:
        """Make the folder on a disk; what commands print is kept in `outputs`."""
        self.disk, place = disk, disk / "bench"
        self.place, self.template, self.folder = place, place / "template", place / "folder"
        self.streams = outputs / "out", outputs / "err"
        _make(self.folder)
        self.folder.rename(self.template)
        self.expected: dict[str, Any] = {}
        self.seconds: dict[str, float] = {}

    def learn(self, name: str) -> None:
        """Run a command undisturbed, to know its result."""
        if name not in self.expected:
            self.fresh()
            begun = time.monotonic()
            ended = self.run(name)
            self.seconds[name] = time.monotonic() - begun
            assert ended.code in (0, -signal.SIGTERM), ended
            self.expected[name] = result(self.folder, COMMANDS[name])

    def fresh(self) -> Path:
        """Return a fresh copy of the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.template, self.folder, symlinks=True)
        return self.folder

    def run(self, name: str, made: Attack = NOTHING) -> Ended:
        """Run a command in the folder, in a child of this process.

        A command that waits is ended by SIGTERM once it serves.
        """
        for path in self.streams:
            path.write_bytes(b"")
            path.chmod(0o666)
        child = os.fork()
        if not child:
            _become(self.folder, COMMANDS[name], made, self.streams)
        begun, sent, status = time.monotonic(), False, (0, 0)
        while status[0] == 0:
            status, seconds = os.waitpid(child, os.WNOHANG), time.monotonic() - begun
            if seconds > MAX_SECONDS:
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            due = made.send if made.send is not None else (signal.SIGTERM, 0.0) if name == "serve" else None
            serves = name not in WAITING or b"Serving" in self.streams[1].read_bytes()
            if due is not None and not sent and serves and seconds >= due[1]:
                with suppress(ProcessLookupError):
                    os.kill(child, due[0])
                sent = True
            elif name in WAITING and not serves and seconds > 90 and not sent:
                os.kill(child, signal.SIGTERM)
                sent = True
            time.sleep(0.005)
        texts = (path.read_bytes().decode("utf-8", "replace") for path in self.streams)
        return Ended(os.waitstatus_to_exitcode(status[1]), *texts)


def _make(folder: Path) -> None:
    """Make documents, an index that is older than they are, a graph, questions and a data set."""
    (folder / "docs").mkdir(parents=True)
    (folder / "set").mkdir()
    for name, text in DOCUMENTS.items():
        (folder / "docs" / name).write_text(text)
    with Index.create(folder / "index", encoder="minilm") as index:
        index.sync(folder / "docs")
    (folder / "docs/b.txt").write_text("Nobody knows where the Mur ends.")
    (folder / "docs/c.txt").unlink()
    (folder / "more.txt").write_text("The Enns rises near Radstadt.")
    (folder / "kb.tsv").write_text("Graz\tlies on\tMur\nMur\tflows into\tDrava\n" * 2)
    Index.from_graph(folder / "graph", folder / "kb.tsv", encoder="minilm").close()
    rows = [{"id": Path(name).stem, "text": text} for name, text in DOCUMENTS.items()]
    for name, values in (("set/corpus", rows), ("set/questions", ASKED), ("questions", ASKED)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(value) + "\n" for value in values))


def result(folder: Path, command: Command) -> Any:
    """Return what a command has made: the contents of its index, checked, its file, and the names of files."""
    values: list[Any] = []
    if (folder / command.index / "index.sqlite").exists():
        with Index.open(folder / command.index, encoder="minilm") as index:
            problems = [problem.problem for problem in index.verify()]
            snapshot, current = index.snapshot, (folder / command.index / "CURRENT").read_text()
            values += [problems, snapshot.graph.checksum, snapshot.words.checksum, index.documents]
        known = {"writer.lock", current, "vectors.sqlite"}
        values.append(sorted({path.name for path in (folder / command.index).iterdir()} - known))
    if command.file:
        text = (folder / command.file).read_text()
        values.append(re.sub(r'"(seconds|model_seconds|time)": [-.e\d]+', "", text))
    return [*values, sorted(path.name for path in folder.iterdir() if path.name != "data")]


def _become(folder: Path, command: Command, made: Attack, streams: Sequence[Path]) -> None:
    """Run a command in this process, which is a child, and end."""
    code = 70
    try:
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, path in enumerate(streams, start=1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND), number)
        # Where files may not grow, Python cuts its own bytecode short, and could not load it again.
        sys.dont_write_bytecode, os.environ["PYTHONDONTWRITEBYTECODE"] = True, "1"
        made.prepare()
        if made.fresh:
            os.execv(sys.executable, [sys.executable, "-m", "graphwright", *command.arguments])
        _open_streams()
        sys.argv[1:] = command.arguments
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        with suppress(OSError, ValueError, AttributeError):
            os.write(2, f"Traceback: {type(error).__name__}: {error}".encode())
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(BaseException):
                stream.flush()
        os._exit(code)


def _open_streams() -> None:
    """Open the streams of this process as Python does at its start: None where one is closed."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
            stream = open(number, mode, encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
            setattr(sys, name, stream)
        except OSError:
            setattr(sys, name, None)


def attack(kind: str, name: str, bench: Bench, rng: random.Random) -> tuple[str, list[str]]:
    """Attack a command once; return the outcome and the broken promises."""
    bench.learn(name)
    command, folder, made = COMMANDS[name], bench.fresh(), ATTACKS[kind](bench, name, rng)
    made.before(folder)
    try:
        ended = bench.run(name, made)
    finally:
        made.after(folder)
    problems = _problems_of(ended, kind, made, {-signal.SIGTERM} if name in WAITING else set())
    if not made.linked:
        done = ended.code == 0 or (kind == "streams" and (folder / command.index / "CURRENT").exists())
        if done and name == "import":  # which is done once, perhaps before its output was lost
            shutil.rmtree(folder / command.index)
        if name == "export":  # which replaces no file
            (folder / command.file).unlink(missing_ok=True)
        again = bench.run(name)
        if again.code not in (0, -signal.SIGTERM):
            problems.append(f"repeated, it ends with {again.code}: {again.err[-300:]}")
        elif (now := result(folder, command)) != bench.expected[name]:
            problems.append(f"repeated, it gives {now}, not {bench.expected[name]}")
    told = f" [{ended.code}: {ended.err[-200:]}]"
    return f"{kind}: {ended.code}", [f"{kind}, {name}: {problem}{told}" for problem in problems]


def _problems_of(ended: Ended, kind: str, made: Attack, usual: set[int]) -> list[str]:
    problems: list[str] = []
    text = ended.out + ended.err
    expected = {0, 1, 2, 130} | usual | ({-made.send[0]} if made.send else set())
    problems += [f"it ended with {ended.code}"] * (ended.code not in expected)
    problems += ["a traceback"] * ("Traceback" in text or "Exception ignored" in text)
    problems += ["a bug"] * ("This is a bug" in text)
    if not made.linked:
        problems += ["a false reason"] * bool(ended.code and FALSE.search(ended.err))
    if ended.code in (1, 2) and kind not in ("streams", "small files"):  # of which stderr may be one
        problems += ["no message"] * (not ended.err.strip())
    return problems


def run(options: Namespace) -> Record:
    """Attack every command in every way in turn, for the time given, on a disk of 24 MB where one can be mounted."""
    rng, outcomes, failures = random.Random(options.seed), Counter[str](), list[str]()
    end = time.monotonic() + 60 * options.minutes
    with TemporaryDirectory() as folder, TemporaryDirectory() as outputs:
        place = Path(folder)
        command = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(place)]
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
        kinds = [kind for kind in ATTACKS if mounted or kind not in ("full disk", "read-only")]
        try:
            bench = Bench(place, Path(outputs))
            while time.monotonic() < end and len(failures) < 50:
                for name in COMMANDS:
                    kind = rng.choice(kinds)
                    outcome, problems = attack(kind, name, bench, rng)
                    outcomes[outcome] += 1
                    failures += problems
        finally:
            if mounted:
                subprocess.run(["umount", str(place)], check=False)
    return {"disk of its own": mounted, "outcomes": dict(sorted(outcomes.items())), "failures": failures}
