"""Kill an indexing process at random moments, then run the same command again.

Each kill begins without an index. A process indexes MuSiQue's corpus and, once Python has loaded what it needs, gets
SIGKILL after a random time, spread over the whole run. The index is then opened, verified and asked, and the command is
run again to its end: that index must equal the one of a run without interruption, and no other file may be left in its
folder or beside it. The time of a whole run is measured anew for every five kills. Kills at every call that writes are
in the part `crash`.
"""

from __future__ import annotations

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

from attacks.crash import contents
from graphwright.index_folder.index import Index
from graphwright.models.fake import HashEncoder

QUESTION = "Who founded the company that published the album?"
WORK = """
import sys
from pathlib import Path
from graphwright.index_folder.index import Index
from graphwright.models.fake import HashEncoder
folder, corpus, encoder = Path(sys.argv[1]), Path(sys.argv[2]), HashEncoder()
print("begun", flush=True)
exists = (folder / "index.sqlite").exists()
index = (Index.open if exists else Index.create)(folder, encoder=encoder)
print("opened", flush=True)
index.add(corpus)
print("added", index.documents, flush=True)
index.close()
"""


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
        command = [sys.executable, "-c", WORK, str(folder), str(self.corpus)]
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
        if "added" in output and (index.documents != int(output.split()[-1]) or messages):
            problems.append("documents that were reported added are missing")
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
