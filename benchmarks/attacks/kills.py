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

from graphwright.index_folder.index import Index
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.fake import HashEncoder
from graphwright.search.vector_index import VectorIndex

ENCODERS: dict[str, type[HashEncoder] | type[MiniLM]] = {"hash": HashEncoder, "minilm": MiniLM}
QUESTION = "Who founded the company that published the album?"
WORK = """
import sys
from pathlib import Path
from graphwright.index_folder.index import Index
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.fake import HashEncoder
folder, corpus, encoder = Path(sys.argv[1]), Path(sys.argv[2]), {"hash": HashEncoder, "minilm": MiniLM}[sys.argv[3]]()
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
    """The corpus and the encoder that are indexed with."""

    corpus: Path
    encoder: str

    def index(self, folder: Path, kill_after: float | None = None) -> Outcome:
        """Index in a process that may be killed."""
        command = [sys.executable, "-c", WORK, str(folder), str(self.corpus), self.encoder]
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

    def open(self, folder: Path) -> Index:
        """Open the index."""
        return Index.open(folder, encoder=ENCODERS[self.encoder]())

    def contents(self, folder: Path) -> list[Any]:
        """Return the contents of an index, by checksums that are computed now, and its problems."""
        with self.open(folder) as index:
            problems = [str(problem) for problem in index.verify()]
            snapshot, info = index.snapshot, index.info()
            passages = snapshot.graph.passages
            documents = [] if passages is None else list(passages.documents)
            vectors = VectorIndex(snapshot.passages.vectors, snapshot.passages.row_of).checksum
            counts = [info[name] for name in ("documents", "chunks", "nodes", "edges", "extractors")]
            return [problems, snapshot.graph.checksum, snapshot.words.checksum, vectors, documents, counts]

    def after_kill(self, folder: Path, output: str) -> tuple[str, list[str]]:
        """Return the phase in which a kill struck, and the problems that it left."""
        if not (folder / "index.sqlite").exists():
            problems = ["it was reported open"] if "opened" in output else []
            return "creating", problems + ["half an index"] * folder.exists()
        with self.open(folder) as index:
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


def leftovers(folder: Path) -> list[str]:
    """Return the names of files that are no part of a finished index."""
    known = {"CURRENT", "index.sqlite", "writer.lock", (folder / "CURRENT").read_text()}
    inside = {path.name for path in folder.iterdir()} - known
    beside = {path.name for path in folder.parent.iterdir()} - {"index"}
    return sorted(inside | beside)


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
    phase, problems = work.after_kill(folder, outcome.output)
    resumed = work.index(folder).seconds
    if work.contents(folder) != expected:
        problems.append("the resumed index differs from the uninterrupted one")
    problems += [f"left over: {name}" for name in leftovers(folder)]
    shutil.rmtree(folder.parent)
    return phase, problems, resumed


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--corpus", type=Path, help="another corpus to be indexed between kills")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--encoder", choices=sorted(ENCODERS), default="hash")


def run(options: Namespace) -> Record:
    """Kill, resume and compare."""
    if options.corpus is None and options.data is None:
        raise SystemExit("The part 'kills' needs --data DIR, or --corpus FILE.")
    work = Work(options.corpus or options.data / "multihop/musique/corpus.jsonl", options.encoder)
    rng = random.Random(options.seed)
    phases: Counter[str] = Counter()
    failures, resumed, seconds = [], [], 0.0
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "whole" / "index"
        work.whole(whole)
        expected = work.contents(whole)
        if expected[0]:
            raise SystemExit(f"The uninterrupted index has problems: {expected[0]}")
        moments = [(kill + rng.random()) / options.kills for kill in range(options.kills)]
        rng.shuffle(moments)
        for kill, moment in enumerate(moments):
            if kill % 5 == 0:
                seconds = work.whole(whole)
                if work.contents(whole) != expected:
                    raise SystemExit("Two uninterrupted runs differ.")
            phase, problems, again = kill_once(work, Path(scratch) / str(kill) / "index", moment, seconds, expected)
            phases[phase] += 1
            resumed.append(again)
            failures += [f"kill {kill + 1} at {moment:.3f} of the run, {phase}: {problem}" for problem in problems]
            print(f"{kill + 1:3}  {phase:22}  {'; '.join(problems) or 'equal, sound, nothing left over'}", flush=True)
    return {
        "corpus": "/".join(work.corpus.parts[-2:]),
        "documents": expected[-1][0],
        "encoder": options.encoder,
        "kills": options.kills,
        "found while": dict(phases.most_common()),
        "resumed in, s, median": round(sorted(resumed)[len(resumed) // 2], 2),
        "failures": failures,
    }
