"""All methods on all sets: the state of the whole project at a glance.

    python benchmarks/overview.py --data DIR [--out runs/overview] [--sets musique ...] [--parts light reading heavy]
                                  [--questions 100] [--few 12]

Runs the testbed on each set with every method of the registry that needs no language model (an interrupted run goes on
where it stopped) and writes benchmarks/results/overview.json and .md. Three parts, one after the other: what takes
well below a second (light), of --questions of each set, drawn by seed; what has a model read dozens or hundreds of
texts at each question (reading), of --few; and what has it read all of a subgraph (heavy), of --few too, over graphs
only: over documents, whose triples are sentences, that takes half a minute a question. `reg` without a trained
retriever reads every triple where these have no vectors, so over graphs it is among the heavy ones.
Over documents passages, names and triples have vectors; over graphs names have. What is measured: of passages
recall@5 (multihop) or nDCG@10 (collections), of answers over graphs Hits@1 and Hit: whether the first answer is right,
and whether what is said has a right one in it, which is all that a method which quotes can reach there.
"""

import argparse
import json
import subprocess
import sys
from itertools import product
from pathlib import Path

from graphwright import METHODS
from graphwright.cli.terminal import progress_bar
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.run import run

RESULTS = Path(__file__).parent / "results"
SPACES = ("passages", "names", "triples")
SETS = {
    "musique": ("multihop/musique", "", {"extraction": "openie", "embed": SPACES}, "recall@5"),
    "hotpotqa": ("multihop/hotpotqa100", "", {"embed": SPACES}, "recall@5"),
    "2wiki": ("multihop/2wiki", "", {"embed": SPACES}, "recall@5"),
    "scifact": ("ir/scifact", "", {"embed": SPACES}, "ndcg@10"),
    "cranfield": ("ir/cranfield", "", {"embed": SPACES}, "ndcg@10"),
    "cisi": ("ir/cisi", "", {"embed": SPACES}, "ndcg@10"),
    "cora": ("ir/cora", "", {"embed": SPACES}, "ndcg@10"),
    "metaqa 1 hop": ("kgqa/metaqa", "1hop_dev", {}, "hits@1"),
    "metaqa 2 hops": ("kgqa/metaqa", "2hop_dev", {}, "hits@1"),
    "metaqa 3 hops": ("kgqa/metaqa", "3hop_dev", {}, "hits@1"),
    "pq-2h": ("kgqa/pq-2h", "", {}, "hits@1"),
    "pql-2h": ("kgqa/pql-2h", "", {}, "hits@1"),
}
OFFLINE = [name for name, method in METHODS.items() if not method.required]
HEAVY = ["reg", *(f"lego-{n}" for n in (4, 5, 8, 9, 11, 13))]
READING = ["multihop-rerank", "tog", "rerank", "gar", "fastinsight", *(f"lego-{n}" for n in (3, 7, 15))]
PARTS = {
    "light": [name for name in OFFLINE if name not in (*READING, *HEAVY[1:])],
    "reading": READING,
    "heavy": HEAVY,
}
TITLES = {
    "light": "Methods",
    "reading": "Methods that have a model read dozens or hundreds of texts",
    "heavy": "Methods that have it read a whole subgraph",
}


def linked(data, out):
    """Return a folder of Cora with questions that need two linked documents, as it has none of its own."""
    folder = out / "cora-questions"
    if not (folder / "questions.jsonl").exists():
        script = Path(__file__).parents[1] / "scripts" / "write_questions.py"
        subprocess.run([sys.executable, str(script), "--data", str(data / "ir/cora"), "--out", str(folder)], check=True)
    return folder


def asked(name, part, given):
    """Run a part of the methods on a set; return its summary."""
    place, questions, more, _ = SETS[name]
    data = linked(given.data, given.out) if name == "cora" else given.data / place
    home = given.out / place.replace("/", "-")
    index = next((one for one in sorted(home.glob("*/index")) if (one / "CURRENT").exists()), None)
    out = home / (part if not questions else f"{part}-{questions}")
    count = given.questions if part == "light" else given.few
    reads_all = SETS[name][3] == "hits@1" and part == "light"
    methods = [method for method in PARTS[part] if method != "reg" or not reads_all]
    experiment = Experiment(data, methods, questions=questions, limit=count, **more)
    with progress_bar() as show:
        return run(experiment, out, index=None if index == out / "index" else index, progress=show)


READING_IT = """
Where a question takes several passages (the first three sets), what finds more than `hybrid` are methods that follow
connections from good passages: `bubblerag` and `ppr` by far, then `ircot`, `hipporag2`. Where it takes one, as in the
four collections, `hybrid` and `ircot` find the most, and connections do harm: little in `ppr`, more in `bubblerag`,
most where they are all that ranks (`hipporag`, `lightrag-local`, LEGO-GraphRAG). Most others stay near `vector`,
which seeds them. Over graphs methods made for passages quote what stands at the nodes they find: a right answer is in
it where that is one step away (Hit at one hop), and hardly ever comes first. Methods of LEGO-GraphRAG reach answers
two and three steps away, but cannot tell them from what lies on the way; plans of relations can (`rog`), and trained
retrievers do (reg.md). `gsr`, as `rog` by the same plans, loses the order. Of 100 questions a figure may be ten
points off, of the few in the further tables thirty; times are of a busy machine.
"""


def markdown(sets):
    lines = [
        "# All methods on all sets",
        "",
        "Made by `python benchmarks/overview.py --data DIR`, offline.",
        "",
        READING_IT,
    ]
    for part, methods in PARTS.items():
        of = {name: found[part] for name, found in sets.items() if part in found}
        if not of:
            continue
        header = ["method", *(f"{name}: {SETS[name][3]}" for name in of), "p50 ms"]
        rows = [["questions", *(str(summary["data"]["questions"]) for summary in of.values()), ""]]
        for method in methods:
            held = {name: summary["methods"].get(method) for name, summary in of.items()}
            times = [one["milliseconds"]["p50"] for one in held.values() if one is not None]
            cells = ["" if one is None else shown(one["metrics"], SETS[name][3]) for name, one in held.items()]
            rows.append([f"`{method}`", *cells, f"{min(times):.0f} to {max(times):.0f}"])
        lines += [f"## {TITLES[part]}", ""]
        lines += [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)] + [""]
    return "\n".join(lines)


def shown(metrics, name):
    wanted = (name, "hit") if name == "hits@1" else (name,)
    return " / ".join(f"{100 * metrics[one]['mean']:.1f}" for one in wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("runs/overview"))
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--few", type=int, default=12)
    given = parser.parse_args()
    out = RESULTS / "overview.json"
    for part, name in product(given.parts, given.sets):
        if part == "heavy" and SETS[name][3] != "hits@1":
            continue
        summary = kept(asked(name, part, given))
        held = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
        held.setdefault(name, {})[part] = summary
        held = {one: held[one] for one in SETS if one in held}
        out.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
        (RESULTS / "overview.md").write_text(markdown(held), encoding="utf-8")
        print(part, name, flush=True)


def kept(summary):
    """Leave out what the table does not need: steps and breakdowns."""
    methods = {
        name: {part: of[part] for part in ("metrics", "milliseconds", "tokens", "failed", "peak_mb")}
        for name, of in summary["methods"].items()
    }
    return {**{part: summary[part] for part in ("data", "graphwright", "settings", "encoder")}, "methods": methods}


if __name__ == "__main__":
    main()
