"""The testbed itself: what it costs beside the methods, what sharing steps saves, and what survives kill -9.

    python benchmarks/testbed.py --data DIR [--work FOLDER] [--only overhead lego kills]
                                 [--questions 200] [--heavy 10] [--asked 1000] [--kills 20]

overhead: methods asked on MuSiQue one by one without sharing; the wall clock of everything that a run does with a
question (asking, measuring, writing) against the seconds that the methods themselves took. lego: the fifteen instances
of LEGO-GraphRAG on questions of MetaQA over two relations, together in one process, against each in a process of its
own; the time of asking only. Those that have the cross-encoder read every triple take seconds a question, so these are
asked --heavy questions, the others --questions. kills: ten methods on --asked questions of MetaQA by the command line,
killed at --kills random moments and started again; then every method and question has to have one row, equal in all
but times to that of a run that was left alone. Writes benchmarks/results/testbed.json.
"""

import argparse
import json
import multiprocessing
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from graphwright import Index
from graphwright.evaluate.asking import Asker, Results
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.indexing import build_index
from graphwright.methods.registry import retrieval_part
from graphwright.models.embedded.encoder import MiniLM

RESULTS = Path(__file__).parent / "results" / "testbed.json"
USUAL = ("vector", "bm25", "hybrid", "ppr", "hyde", "hipporag2", "lightrag-hybrid", "pathrag", "bubblerag", "ircot")
LIGHT = tuple(f"lego-{n}" for n in (1, 2, 3, 6, 7, 10, 12, 14, 15))
HEAVY = tuple(f"lego-{n}" for n in (4, 5, 8, 9, 11, 13))
KILLED = ("rog", "gsr", *(f"lego-{n}" for n in (1, 2, 6, 10, 12, 14)), "kelp", "grag-m")


class Prepared:
    """An experiment with its index, made once in a folder."""

    def __init__(self, experiment, folder):
        self.experiment, self.folder, self.subject = experiment, folder, experiment.read()
        build_index(folder, experiment, self.subject, MiniLM(), None)

    def asked(self, names, together):
        """Ask all questions by some methods; return the wall clock, and the seconds that the methods say they took."""
        index = Index.open(self.folder)
        pipelines = {
            entry.name: retrieval_part(entry.built(index.snapshot))
            for entry in self.experiment.entries()
            if entry.name in names
        }
        asker = Asker(index.snapshot, pipelines, self.subject.measures, together=together)
        questions = self.subject.questions
        for question in questions[:2]:
            asker.warm(question, names)
        with tempfile.TemporaryDirectory() as folder:
            results = Results(Path(folder) / "rows.jsonl", names, [question.id for question in questions])
            begun = time.perf_counter()
            with results.writing() as add:
                for at, question in enumerate(questions):
                    first = at % len(names)
                    asker.ask(question, (*names[first:], *names[:first]), add)
            wall = time.perf_counter() - begun
        return wall, {name: sum(row["seconds"] for row in results.of(name)) for name in names}


def overhead(data, work, given):
    experiment = Experiment(
        data / "multihop/musique", USUAL, embed=("passages", "names", "triples"), limit=given.questions
    )
    prepared = Prepared(experiment, work / "musique")
    alone = {name: prepared.asked((name,), False) for name in USUAL}
    walls, own = (np.array(part) for part in zip(*((w, s[n]) for n, (w, s) in alone.items()), strict=True))
    return {
        "questions": len(prepared.subject.questions),
        "share of the methods' time": round(float(walls.sum() / own.sum() - 1), 4),
        "ms a question": round(float((walls - own).sum() / len(USUAL) / len(prepared.subject.questions) * 1e3), 3),
        "by method": {
            name: {"ms": round(s / len(prepared.subject.questions) * 1e3, 2), "share": round(float(w / s - 1), 4)}
            for name, w, s in zip(USUAL, walls.tolist(), own.tolist(), strict=True)
        },
    }


def alone(experiment, folder, name, out):
    out.put(Prepared(experiment, folder).asked((name,), False))


def lego(data, work, given):
    found = {}
    for label, names, count in (
        ("all fifteen", (*LIGHT, *HEAVY), given.heavy),
        ("the nine that read little", LIGHT, given.questions),
    ):
        experiment = Experiment(
            data / "kgqa/metaqa", names, questions="2hop_dev", limit=count, answered=False, metrics=("path f1",)
        )
        prepared = Prepared(experiment, work / "metaqa")
        apart, own = 0.0, {}
        for name in names:
            queue = (context := multiprocessing.get_context("spawn")).Queue()
            process = context.Process(target=alone, args=(experiment, work / "metaqa", name, queue))
            process.start()
            wall, seconds = queue.get()
            process.join()
            apart, own = apart + wall, own | seconds
        together, said = prepared.asked(names, True)
        found[label] = {
            "questions": count,
            "apart s": round(apart, 1),
            "together s": round(together, 1),
            "times faster": round(apart / together, 2),
            "what methods are said to take, together against apart": {
                name: round(said[name] / own[name], 2) for name in names
            },
        }
    return found


def kills(data, work, given):
    command = [
        str(Path(sys.executable).with_name("graphwright")), "evaluate",
        "--data", str(data / "kgqa/metaqa"), "--questions", "2hop_dev",
        "--methods", ",".join(KILLED), "--limit", str(given.asked), "--index", str(work / "metaqa"), "--no-answers",
        "--metrics", "path f1",
    ]  # fmt: skip
    Prepared(Experiment(data / "kgqa/metaqa", KILLED, questions="2hop_dev", limit=2), work / "metaqa")
    rng, killed = random.Random(0), 0
    with tempfile.TemporaryDirectory() as folder:
        whole, broken = Path(folder) / "whole", Path(folder) / "broken"
        subprocess.run([*command, "--out", str(whole)], check=True, capture_output=True)
        while True:
            process = subprocess.Popen(
                [*command, "--out", str(broken)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            try:
                process.wait(rng.uniform(2, 25) if killed < given.kills else None)
                break
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                killed += 1
        rows = [[json.loads(line) for line in (out / "results.jsonl").open()] for out in (whole, broken)]
    told = [{(row["method"], row["question"]): untimed(row) for row in some} for some in rows]
    return {
        "killed": killed,
        "rows": len(rows[1]),
        "lost": len(told[0].keys() - told[1].keys()),
        "doubled": len(rows[1]) - len(told[1]),
        "different": sum(told[0][key] != told[1].get(key) for key in told[0]),
        "exit": process.returncode,
    }


def untimed(row):
    kept = ("method", "question", "documents", "evidence", "metrics")
    return json.dumps({name: row[name] for name in kept} | {"steps": [step["operator"] for step in row["steps"]]})


def main():
    parts = {"overhead": overhead, "lego": lego, "kills": kills}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--heavy", type=int, default=10)
    parser.add_argument("--asked", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=20)
    given = parser.parse_args()
    work = given.work or Path(tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    for name in given.only:
        found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        found[name] = parts[name](given.data, work, given)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(name, json.dumps(found[name]), flush=True)


if __name__ == "__main__":
    main()
