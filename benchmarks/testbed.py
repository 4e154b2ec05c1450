"""Measure the testbed: its cost beside the methods, what sharing steps saves, and what survives kill -9.

    python benchmarks/testbed.py --data DIR [--only overhead sharing kills]

- overhead: methods asked on MuSiQue one by one without sharing: the time of all that a run does with a question
  (asking, measuring, writing) against the seconds that the methods themselves took.
- sharing: the fifteen instances of LEGO-GraphRAG on questions of MetaQA over two relations, together in one process,
  against each in a process of its own; the time of asking only. Those in which the cross-encoder reads every triple
  take seconds a question and are asked --heavy questions, the others --questions.
- kills: ten methods on --asked questions of MetaQA by the command line, killed at --kills random moments and started
  again; then every method and question must have one row, equal in all but times to that of an undisturbed run.

Writes `testbed.json`.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import SPACES, Record, arguments, parse, read_results, write_results

from graphwright.evaluate.asking import Asker, Results
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.indexing import build_index
from graphwright.index_folder import Index
from graphwright.methods.registry import retrieval_part
from graphwright.models.embedded.encoder import MiniLM

METHODS = ("vector", "bm25", "hybrid", "ppr", "hyde", "hipporag2", "lightrag-hybrid", "pathrag", "bubblerag", "ircot")
LIGHT = tuple(f"lego-{n}" for n in (1, 2, 3, 6, 7, 10, 12, 14, 15))
HEAVY = tuple(f"lego-{n}" for n in (4, 5, 8, 9, 11, 13))
KILLED = ("rog", "gsr", *(f"lego-{n}" for n in (1, 2, 6, 10, 12, 14)), "kelp", "grag-m")
KEPT = ("method", "question", "documents", "evidence", "metrics")  # of a row, all but times


class Prepared:
    """An experiment with its index."""

    def __init__(self, experiment: Experiment, folder: Path) -> None:
        self.experiment, self.folder, self.subject = experiment, folder, experiment.read()
        build_index(folder, experiment, self.subject, MiniLM(), None)

    def ask(self, names: Sequence[str], *, together: bool) -> tuple[float, dict[str, float]]:
        """Ask all questions by some methods; return the seconds of it all, and those that each method reports."""
        questions = self.subject.questions
        with Index.open(self.folder) as index, tempfile.TemporaryDirectory() as folder:
            pipelines = {
                entry.name: retrieval_part(entry.built(index.snapshot))
                for entry in self.experiment.entries()
                if entry.name in names
            }
            asker = Asker(index.snapshot, pipelines, self.subject.measures, together=together)
            for question in questions[:2]:
                asker.warm(question, names)
            results = Results(Path(folder) / "rows.jsonl", names, [question.id for question in questions])
            begun = time.perf_counter()
            with results.writing() as add:
                for at, question in enumerate(questions):
                    first = at % len(names)
                    asker.ask(question, (*names[first:], *names[:first]), add)
            seconds = time.perf_counter() - begun
        return seconds, {name: sum(row["seconds"] for row in results.of(name)) for name in names}


def overhead(options: Namespace) -> Record:
    """Return the time beside the methods, as a share of theirs."""
    experiment = Experiment(options.data / "multihop/musique", METHODS, embed=SPACES, limit=options.questions)
    prepared = Prepared(experiment, options.work / "testbed" / "musique")
    asked = {name: prepared.ask((name,), together=False) for name in METHODS}
    wall, own = sum(whole for whole, _ in asked.values()), sum(of[name] for name, (_, of) in asked.items())
    count = len(prepared.subject.questions)
    return {
        "questions": count,
        "share of the methods' time": round(wall / own - 1, 4),
        "ms a question": round((wall - own) / len(METHODS) / count * 1e3, 3),
        "by method": {
            name: {"ms": round(of[name] / count * 1e3, 2), "share": round(whole / of[name] - 1, 4)}
            for name, (whole, of) in asked.items()
        },
    }


def ask_alone(experiment: Experiment, folder: Path, name: str, queue: Any) -> None:
    """Ask by one method, in a process of its own."""
    queue.put(Prepared(experiment, folder).ask((name,), together=False))


def sharing(options: Namespace) -> Record:
    """Return the time of all instances together and apart."""
    results: Record = {}
    folder, context = options.work / "testbed" / "metaqa", multiprocessing.get_context("spawn")
    groups = {"all fifteen": ((*LIGHT, *HEAVY), options.heavy), "the nine that read little": (LIGHT, options.questions)}
    for label, (names, count) in groups.items():
        experiment = Experiment(
            options.data / "kgqa/metaqa", names, questions="2hop_dev", limit=count, answered=False, metrics=("path f1",)
        )
        prepared = Prepared(experiment, folder)
        apart, own = 0.0, {}
        for name in names:
            queue = context.Queue()
            process = context.Process(target=ask_alone, args=(experiment, folder, name, queue))
            process.start()
            seconds, of = queue.get()
            process.join()
            apart, own[name] = apart + seconds, of[name]
        together, reported = prepared.ask(names, together=True)
        results[label] = {
            "questions": count,
            "apart s": round(apart, 1),
            "together s": round(together, 1),
            "times faster": round(apart / together, 2),
            "reported time of each, together over apart": {n: round(reported[n] / own[n], 2) for n in names},
        }
    return results


def kills(options: Namespace) -> Record:
    """Kill a run again and again, and compare its rows with those of an undisturbed one."""
    data, index = options.data / "kgqa/metaqa", options.work / "testbed" / "metaqa"
    command = [
        str(Path(sys.executable).with_name("graphwright")), "evaluate", "--data", str(data), "--questions", "2hop_dev",
        "--methods", ",".join(KILLED), "--limit", str(options.asked), "--index", str(index), "--no-answers",
        "--metrics", "path f1",
    ]  # fmt: skip
    Prepared(Experiment(data, KILLED, questions="2hop_dev", limit=2), index)
    rng, killed = random.Random(0), 0
    with tempfile.TemporaryDirectory() as folder:
        whole, disturbed = Path(folder) / "whole", Path(folder) / "disturbed"
        subprocess.run([*command, "--out", str(whole)], check=True, capture_output=True)
        while True:
            process = subprocess.Popen(
                [*command, "--out", str(disturbed)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            try:
                process.wait(rng.uniform(2, 25) if killed < options.kills else None)
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                killed += 1
        rows = [[json.loads(line) for line in (out / "results.jsonl").open()] for out in (whole, disturbed)]
    expected, found = ({(row["method"], row["question"]): untimed(row) for row in some} for some in rows)
    return {
        "killed": killed,
        "rows": len(rows[1]),
        "lost": len(expected.keys() - found.keys()),
        "doubled": len(rows[1]) - len(found),
        "different": sum(expected[key] != found.get(key) for key in expected),
        "exit": process.returncode,
    }


def untimed(row: Record) -> str:
    """Return what a row says but times."""
    return json.dumps({name: row[name] for name in KEPT} | {"steps": [step["operator"] for step in row["steps"]]})


PARTS = {"overhead": overhead, "sharing": sharing, "kills": kills}


def main() -> None:
    """Measure the parts asked for."""
    parser = arguments(__doc__, parts=list(PARTS))
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--heavy", type=int, default=10)
    parser.add_argument("--asked", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=20)
    options = parse(parser)
    (options.work / "testbed").mkdir(exist_ok=True)
    path = options.out / "testbed.json"
    for part in options.only:
        results = read_results(path) | {part: PARTS[part](options)}
        write_results(path, results)
        print(part, results[part], flush=True)


if __name__ == "__main__":
    main()
