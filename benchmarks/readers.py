"""What a reader feels of indexing: latency of `retrieve` alone, and while another process adds a fifth to the index.

    python benchmarks/readers.py --corpus DIR/multihop/hotpotqa/corpus.jsonl --questions questions.jsonl [--runs 3]
                                 [--writer plain nice-10 ...]

An index of the corpus without its last 968 passages is asked by this process, one question right after the other, while
`graphwright index` adds the 968 in a process of its own. After every 10 questions the writer is halted, and goes on
after 10 more: so both latencies are measured in the same minute, whatever else the machine has to do. No question is
asked twice of an open index, so each is encoded. Writers: as it is, less urgent by `nice`, bound to one core; runs
alternate. Given are the ratios (writer at work over writer halted) of each run and their medians. Writes
benchmarks/results/readers.json.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from graphwright import Index
from graphwright.data.questions import read_questions

RESULTS = Path(__file__).parent / "results"
COMMAND = [sys.executable, "-c", "from graphwright.cli.app import main; main()"]
WRITERS = {
    "plain": lambda: None,
    "nice-5": lambda: os.nice(5),
    "nice-10": lambda: os.nice(10),
    "nice-19": lambda: os.nice(19),
    "one-core": lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))}),
}
REST = 968
TURN = 10  # questions


def add(path, folder, change=lambda: None):
    return subprocess.Popen(
        [*COMMAND, "index", str(path), "--into", str(folder)], stdout=subprocess.DEVNULL, preexec_fn=change
    )


def spread(seconds):
    p50, p95, p99 = 1000 * np.percentile(seconds, [50, 95, 99])
    return {"questions": len(seconds), "p50 ms": round(p50, 2), "p95 ms": round(p95, 2), "p99 ms": round(p99, 2)}


def timed(index, question):
    begun = time.perf_counter()
    index.retrieve(question)
    return time.perf_counter() - begun


def opened(folder):
    index = Index.open(folder)
    index.retrieve("What is asked first pays for what is loaded once?")
    return index


def measure(base, rest, questions, folder, change):
    shutil.copytree(base, folder)
    index, asked = opened(folder), list(questions)
    before, seconds = index.documents, {"halted": [], "at work": []}
    begun = time.perf_counter()
    with add(rest, folder, change) as writer:
        while writer.poll() is None:
            if len(asked) < 2 * TURN:  # opened anew, no question's vector is remembered
                index.close()
                index, asked = opened(folder), list(questions)
            for turn, sign in (("halted", signal.SIGSTOP), ("at work", signal.SIGCONT)):
                writer.send_signal(sign)
                for _ in range(TURN):
                    seconds[turn].append(timed(index, asked.pop()))
    whole = time.perf_counter() - begun
    if writer.returncode or index.documents != before + REST or not index.is_current:
        raise SystemExit(f"the writer failed: exit status {writer.returncode}, {index.documents} documents")
    index.close()
    shutil.rmtree(folder)
    found = {turn: spread(some) for turn, some in seconds.items()}
    ratios = {f"{p} ratio": round(found["at work"][f"{p} ms"] / found["halted"][f"{p} ms"], 2) for p in ("p50", "p95")}
    return {**found, **ratios, "writer s, halted half of it": round(whole, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--writer", nargs="+", choices=sorted(WRITERS), default=["plain"])
    parser.add_argument("--base", type=Path, help="where the index of the first passages is kept, to be used again")
    given = parser.parse_args()
    questions = [question.text for question in read_questions(given.questions)]
    lines = given.corpus.read_text(encoding="utf-8").splitlines()
    runs = {name: [] for name in given.writer}
    with tempfile.TemporaryDirectory() as scratch:
        base, first, rest = given.base or Path(scratch) / "base", Path(scratch) / "a.jsonl", Path(scratch) / "b.jsonl"
        first.write_text("\n".join(lines[:-REST]), encoding="utf-8")
        rest.write_text("\n".join(lines[-REST:]), encoding="utf-8")
        if not base.exists() and add(first, base).wait():
            raise SystemExit("the first passages could not be indexed")
        for run in range(given.runs):
            for name in given.writer:
                runs[name].append(measure(base, rest, questions, Path(scratch) / f"{name}-{run}", WRITERS[name]))
                print(name, json.dumps(runs[name][-1]), flush=True)
    found = {"passages": f"{len(lines) - REST} + {REST}", "cores": os.cpu_count()}
    for name, some in runs.items():
        found[name] = {
            "median p50 ratio": float(np.median([run["p50 ratio"] for run in some])),
            "median p95 ratio": float(np.median([run["p95 ratio"] for run in some])),
            "median writer s, halted half of it": float(
                np.median([run["writer s, halted half of it"] for run in some])
            ),
            "runs": some,
        }
    (RESULTS / "readers.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({name: {k: v for k, v in found[name].items() if k != "runs"} for name in runs}, indent=1))


if __name__ == "__main__":
    main()
