"""Kill an indexing process at random moments, then run the same command again.

Each kill begins without an index. A process indexes MuSiQue's corpus, edits the graph by hand, extracts again with a
schema and builds again with other settings. Once Python has loaded what it needs, it gets SIGKILL after a random time,
spread over the whole run. The index is then opened, verified and asked, and the command is
run again to its end: that index must equal the one of a run without interruption, and no other file may be left in its
folder or beside it. The time of a whole run is measured anew for every five kills. Kills at every call that writes are
in the part `crash`.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from harness import Record

from attacks.crash import EDITS, SCHEMA, contents
from graphwright.index_folder.index import Index
from graphwright.models.fake import HashEncoder

QUESTION = "Who founded the company that published the album?"
WORK = """
import json, sys
from pathlib import Path
from graphwright.extract.schema import Schema
from graphwright.index_folder.index import Index
from graphwright.models.fake import HashEncoder
from graphwright.store.edits import Edit
folder, corpus, encoder = Path(sys.argv[1]), Path(sys.argv[2]), HashEncoder()
print("begun", flush=True)
exists = (folder / "index.sqlite").exists()
index = (Index.open if exists else Index.create)(folder, encoder=encoder)
print("opened", flush=True)
index.add(corpus)
print("added", index.documents, flush=True)
index.edit(*map(Edit.of_dict, json.loads(sys.argv[3])), strict=False)
print("edited", flush=True)
index.reextract(schema=Schema.of_toml(sys.argv[4]))
print("typed", flush=True)
index.close()
Index.rebuild(folder, encoder, embed=("passages", "names", "triples"))
print("rebuilt", flush=True)
"""


STEPS = {"rebuilt": "ending", "typed": "building again", "edited": "extracting again", "added": "editing"}
"""The phase after each step that was reported, the last step first."""


class Outcome(NamedTuple):
    """The end of an indexing process: whether it was killed, its seconds, and its output."""

    killed: bool
    seconds: float
    output: str


@dataclass(frozen=True)
class Work:
    """The indexing of a corpus, in folders called `index` that are alone in theirs."""

    corpus: Path

    def index(self, folder: Path, kill_after: float | None = None) -> Outcome:
        """Index in a process that may be killed."""
        edits = json.dumps([edit.to_dict() for edit in EDITS])
        command = [sys.executable, "-c", WORK, str(folder), str(self.corpus), edits, SCHEMA.to_toml()]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            child.stdout.readline()
            begun = time.perf_counter()
            if kill_after is not None:
                time.sleep(kill_after)
                os.kill(child.pid, signal.SIGKILL)
            output = child.stdout.read()
            seconds = time.perf_counter() - begun
        killed = child.returncode == -signal.SIGKILL
        if child.returncode and not killed:
            raise SystemExit(f"Indexing failed with {child.returncode}: {output}")
        return Outcome(killed, seconds, output)

    def whole(self, folder: Path) -> float:
        """Index from nothing without interruption; return the seconds."""
        shutil.rmtree(folder.parent, ignore_errors=True)
        folder.parent.mkdir()
        return self.index(folder).seconds


def after_kill(folder: Path, output: str) -> tuple[str, list[str]]:
    """Return the phase in which a kill struck, and the problems that it left."""
    if not (folder / "index.sqlite").exists():
        problems = ["it was reported open"] if "opened" in output else []
        return "creating", problems + ["half an index"] * folder.exists()
    with Index.open(folder, encoder=HashEncoder()) as index:
        messages = [problem.problem for problem in index.verify()]
        problems = [message for message in messages if "older than the stored documents" not in message]
        if index.ask(QUESTION).answer is None:
            problems.append("no answer")
        done, info = output.split(), index.info()
        if "added" in done and index.documents != int(done[done.index("added") + 1]):
            problems.append("documents that were reported added are missing")
        if "edited" in done and len(index.edits()) < len(EDITS):
            problems.append("edits that were reported made are missing")
        if ("typed" in done and not info["schema"]) or ("rebuilt" in done and len(info["embedded"]) < 3):
            problems.append("a schema or settings that were reported stored are missing")
        if "added" in done:
            return next(name for step, name in STEPS.items() if step in done), problems
        if not index.documents:
            return "reading and storing", problems
        if index.is_current:
            return "cleaning up, or done", problems
        drafts = any(folder.glob(".snapshot-*.draft"))
        return "writing the snapshot" if drafts else "merging and encoding", problems


def kill_once(
    work: Work, folder: Path, moment: float, seconds: float, expected: list[Any]
) -> tuple[str, list[str], float]:
    """Kill one indexing run and resume it; return the phase, the problems, and the seconds of the resumed run."""
    while True:
        shutil.rmtree(folder.parent, ignore_errors=True)
        folder.parent.mkdir()
        outcome = work.index(folder, seconds * moment)
        if outcome.killed:
            break
        seconds *= 0.9  # the machine is faster than it was
    phase, problems = after_kill(folder, outcome.output)
    resumed = work.index(folder).seconds
    if (now := contents(folder.parent, HashEncoder())) != expected:
        problems.append(f"the resumed index is {now}, the uninterrupted one {expected}")
    shutil.rmtree(folder.parent)
    return phase, problems, resumed


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--kills", type=int, default=50)


def run(options: Namespace) -> Record:
    """Kill, resume and compare."""
    if options.data is None:
        raise SystemExit("The part 'kills' needs --data DIR.")
    work = Work(options.data / "multihop/musique/corpus.jsonl")
    rng = random.Random(options.seed)
    phases: Counter[str] = Counter()
    failures, resumed, seconds = [], [], 0.0
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "whole" / "index"
        work.whole(whole)
        expected = contents(whole.parent, HashEncoder())
        if expected[0]:
            raise SystemExit(f"The uninterrupted index has problems: {expected[0]}")
        moments = [(kill + rng.random()) / options.kills for kill in range(options.kills)]
        rng.shuffle(moments)
        for kill, moment in enumerate(moments):
            if kill % 5 == 0:
                seconds = work.whole(whole)
                if contents(whole.parent, HashEncoder()) != expected:
                    raise SystemExit("Two uninterrupted runs differ.")
            phase, problems, again = kill_once(work, Path(scratch) / str(kill) / "index", moment, seconds, expected)
            phases[phase] += 1
            resumed.append(again)
            failures += [f"kill {kill + 1} at {moment:.3f} of the run, {phase}: {problem}" for problem in problems]
            print(f"{kill + 1:3}  {phase:22}  {'; '.join(problems) or 'equal, sound, nothing left over'}", flush=True)
    return {
        "corpus": "/".join(work.corpus.parts[-2:]),
        "documents": expected[4][0],
        "encoder": HashEncoder().id,
        "kills": options.kills,
        "found while": dict(phases.most_common()),
        "resumed in, s, median": round(sorted(resumed)[len(resumed) // 2], 2),
        "failures": failures,
    }
