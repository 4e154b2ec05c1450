"""Whether an index survives its writer's death: indexing killed at random moments of the whole run, then run again.

    python benchmarks/kills.py --corpus DIR/multihop/musique/corpus.jsonl [--kills 50] [--encoder minilm] [--seed 1]

Each kill begins with no index. A process indexes the corpus and, once Python has loaded what it needs, gets SIGKILL
after a random time, spread over the whole run. The index is then opened, verified and asked, and the same command is
run again to its end: that index must equal the one that was never interrupted, and nothing else may lie in its folder
or beside it. How long a whole run takes is measured anew for every five kills. Writes benchmarks/results/kills.json.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from graphwright import Index
from graphwright.index.vector_index import VectorIndex
from graphwright.models import HashEncoder, MiniLM

RESULTS = Path(__file__).parent / "results"
ENCODERS = {"hash": HashEncoder, "minilm": MiniLM}
QUESTION = "Who founded the company that published the album?"
WORK = """
import sys
from pathlib import Path
from graphwright import Index
from graphwright.models import HashEncoder, MiniLM
folder, corpus, encoder = Path(sys.argv[1]), Path(sys.argv[2]), {"hash": HashEncoder, "minilm": MiniLM}[sys.argv[3]]()
print("begun", flush=True)
there = (folder / "index.sqlite").exists()
index = (Index.open if there else Index.create)(folder, encoder=encoder)
print("opened", flush=True)
index.add(corpus)
print("added", index.documents, flush=True)
index.close()
"""


def index(folder, corpus, encoder, kill_after=None):
    """Index in a process that may be killed; return whether it was, the seconds that it worked, and what it said."""
    command = [sys.executable, "-c", WORK, str(folder), str(corpus), encoder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        child.stdout.readline()
        begun = time.perf_counter()
        if kill_after is not None:
            time.sleep(kill_after)
            os.kill(child.pid, signal.SIGKILL)
        said = child.stdout.read()
        seconds = time.perf_counter() - begun
    killed = child.returncode == -signal.SIGKILL
    if child.returncode and not killed:
        raise SystemExit(f"indexing failed with {child.returncode}: {said}")
    return killed, seconds, said


def emptied(folder):
    shutil.rmtree(folder.parent, ignore_errors=True)
    folder.parent.mkdir()


def uninterrupted(folder, corpus, encoder):
    emptied(folder)
    return index(folder, corpus, encoder)[1]


def contents(folder, encoder):
    """What an index says, by checksums that are computed now; it must be sound."""
    with Index.open(folder, encoder=encoder) as index:
        problems = [str(problem) for problem in index.verify()]
        snapshot, held = index.snapshot, index.info()
        passages = snapshot.graph.passages
        vectors = VectorIndex(snapshot.passages.vectors, snapshot.passages.row_of).checksum
        counts = [held[name] for name in ("documents", "chunks", "nodes", "edges", "extractors")]
        return [problems, snapshot.graph.checksum, snapshot.words.checksum, vectors, list(passages.documents), counts]


def litter(folder):
    known = {"CURRENT", "index.sqlite", "writer.lock", (folder / "CURRENT").read_text()}
    return sorted(
        {path.name for path in folder.iterdir()} - known | {p.name for p in folder.parent.iterdir()} - {"index"}
    )


def survivor(folder, encoder, said):
    """What is left after a kill: where it struck, and all that is wrong."""
    if not (folder / "index.sqlite").exists():
        wrong = ["it was reported open"] if "opened" in said else []
        return "creating", wrong + ["half an index"] * folder.exists()
    with Index.open(folder, encoder=encoder) as index:
        found = [problem.what for problem in index.verify()]
        wrong = [what for what in found if "older than what is stored" not in what]
        if index.ask(QUESTION).answer is None:
            wrong.append("no answer")
        if "added" in said and (index.documents != int(said.split()[-1]) or found):
            wrong.append("what was reported done is not there")
        drafts = any(folder.glob(".snapshot-*.draft"))
        if not index.documents:
            return "reading and storing", wrong
        if index.is_current:
            return "cleaning up, or done", wrong
        return "writing the snapshot" if drafts else "merging and encoding", wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--encoder", choices=sorted(ENCODERS), default="hash")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng, encoder = random.Random(given.seed), ENCODERS[given.encoder]()
    phases, failures, resumed = Counter(), [], []
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "whole" / "index"
        seconds, expected = uninterrupted(whole, given.corpus, given.encoder), contents(whole, encoder)
        if expected[0]:
            raise SystemExit(f"the uninterrupted index is not sound: {expected[0]}")
        moments = [(kill + rng.random()) / given.kills for kill in range(given.kills)]
        rng.shuffle(moments)
        for kill, moment in enumerate(moments):
            if kill % 5 == 0:
                seconds = uninterrupted(whole, given.corpus, given.encoder)
                if contents(whole, encoder) != expected:
                    raise SystemExit("two uninterrupted runs differ")
            folder, killed = Path(scratch) / str(kill) / "index", False
            while not killed:  # else the machine is faster than it was
                emptied(folder)
                after = seconds * moment
                killed, _, said = index(folder, given.corpus, given.encoder, after)
                seconds = seconds if killed else 0.9 * seconds
            phase, wrong = survivor(folder, encoder, said)
            resumed.append(index(folder, given.corpus, given.encoder)[1])
            if contents(folder, encoder) != expected:
                wrong.append("the resumed index is not the uninterrupted one")
            wrong += [f"left over: {name}" for name in litter(folder)]
            phases[phase] += 1
            failures += [f"kill {kill + 1} after {after:.3f} s, {phase}: {what}" for what in wrong]
            print(
                f"{kill + 1:3} killed after {after:6.3f} s  {phase:22} resumed in {resumed[-1]:5.2f} s  "
                f"{'; '.join(wrong) or 'equal, sound, nothing left over'}",
                flush=True,
            )
            shutil.rmtree(folder.parent)
    found = {
        "corpus": "/".join(given.corpus.parts[-2:]),
        "documents": expected[-1][0],
        "encoder": encoder.id,
        "kills": given.kills,
        "found while": dict(phases.most_common()),
        "resumed in, s, median": round(sorted(resumed)[len(resumed) // 2], 2),
        "failures": failures,
    }
    name = "kills.json" if given.encoder == "hash" else f"kills-{given.encoder}.json"
    (RESULTS / name).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))
    raise SystemExit(bool(failures))


if __name__ == "__main__":
    main()
