"""Measure commands in processes of their own: how long one takes, and how reading beside a writer is slowed down.

    python benchmarks/serving/processes.py --data DIR [--only commands readers] [--rounds 3]

- commands: `ask` in a new process on HotpotQA's passages, the bare import, and Python alone. Writes `processes.json`.
- readers: latency of `retrieve` while another process adds 300 passages to the index. After every 10 questions the
  writer is halted for 10 more, so that both latencies are measured in the same minute. Given are the ratios of each run
  (writer at work over writer halted) and their medians. Writes `readers.json`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from graphwright.index_folder.index import Index

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import (
    FIRST_QUESTION,
    Record,
    arguments,
    elapsed,
    multihop_index,
    multihop_questions,
    parse,
    percentiles,
    table,
    write_results,
)

from serving.server_process import COMMAND

SET, COLD_RUNS = "hotpotqa", 5
ADDED = 300  # passages
TURN = 10  # questions


# Commands


def process(*command: str) -> Record:
    """Return the times of a command in new processes; a first run does not count."""

    def run() -> None:
        subprocess.run(command, check=True, capture_output=True)

    return percentiles([elapsed(run)[1] for _ in range(COLD_RUNS + 1)][1:])


def measure_commands(options: Namespace) -> None:
    """Measure a command and the import."""
    question = multihop_questions(options, SET, 1)[0].text
    results = {
        "ask": process(*COMMAND, "ask", question, "--index", str(multihop_index(options, SET))),
        "import graphwright": process(sys.executable, "-c", "import graphwright"),
        "python alone": process(sys.executable, "-c", "pass"),
    }
    rows = [[name, *times.values()] for name, times in results.items()]
    page = "# In a new process\n\n" + table(["command", "p50 ms", "p95 ms"], rows)
    write_results(options.out / "processes.json", results, page)
    print(page)


# Readers beside a writer


def writer(path: Path, folder: Path) -> subprocess.Popen[bytes]:
    """Return a process that indexes a file."""
    return subprocess.Popen([*COMMAND, "index", str(path), "--into", str(folder)], stdout=subprocess.DEVNULL)


def opened(folder: Path) -> Index:
    """Open an index and ask a first question."""
    index = Index.open(folder)
    index.retrieve(FIRST_QUESTION)
    return index


def read_beside_writer(folder: Path, rest: Path, questions: Sequence[str]) -> Record:
    """Return the latencies with the writer halted and at work, and their ratios."""
    index, remaining = opened(folder), list(questions)
    seconds: dict[str, list[float]] = {"halted": [], "at work": []}
    begun = time.perf_counter()
    with writer(rest, folder) as process:
        while process.poll() is None:
            if len(remaining) < 2 * TURN:  # an index that was opened anew remembers no question's vector
                index.close()
                index, remaining = opened(folder), list(questions)
            for turn, sign in (("halted", signal.SIGSTOP), ("at work", signal.SIGCONT)):
                process.send_signal(sign)
                for question in remaining[-TURN:]:
                    asked = time.perf_counter()
                    index.retrieve(question)
                    seconds[turn].append(time.perf_counter() - asked)
                del remaining[-TURN:]
    whole = time.perf_counter() - begun
    index.close()
    if process.returncode:
        raise SystemExit(f"The writer failed with exit status {process.returncode}.")
    times = {turn: {"questions": len(s), **percentiles(s, 50, 95, 99)} for turn, s in seconds.items()}
    ratios = {f"{p} ratio": round(times["at work"][f"{p} ms"] / times["halted"][f"{p} ms"], 2) for p in ("p50", "p95")}
    return {**times, **ratios, "writer s, halted half of it": round(whole, 1)}


def measure_readers(options: Namespace) -> None:
    """Measure reading beside a writer."""
    data = options.data / "multihop" / SET
    questions = [question.text for question in multihop_questions(options, SET)]
    lines = (data / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        base, first, rest = (Path(folder) / name for name in ("base", "first.jsonl", "rest.jsonl"))
        first.write_text("\n".join(lines[:-ADDED]), encoding="utf-8")
        rest.write_text("\n".join(lines[-ADDED:]), encoding="utf-8")
        if writer(first, base).wait():
            raise SystemExit("The first passages could not be indexed.")
        for run in range(options.rounds):
            copy = Path(folder) / f"run-{run}"
            shutil.copytree(base, copy)
            runs.append(read_beside_writer(copy, rest, questions))
            print(runs[-1], flush=True)
            shutil.rmtree(copy)
    names = ("p50 ratio", "p95 ratio", "writer s, halted half of it")
    medians = {f"median {name}": median(run[name] for run in runs) for name in names}
    results = {"passages": f"{len(lines) - ADDED} + {ADDED}", "cores": os.cpu_count(), **medians, "runs": runs}
    write_results(options.out / "readers.json", results)


PARTS = {"commands": measure_commands, "readers": measure_readers}


def main() -> None:
    """Measure the parts asked for."""
    parser = arguments(__doc__, parts=list(PARTS))
    parser.add_argument("--rounds", type=int, default=3, help="of readers")
    options = parse(parser)
    for part in options.only:
        PARTS[part](options)


if __name__ == "__main__":
    main()
