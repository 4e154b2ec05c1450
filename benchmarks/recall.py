"""Recall of all methods on the multihop sets, titles given and removed: the README's first table.

    python benchmarks/recall.py --data DIR/multihop [--out runs/recall] [--sets musique hotpotqa ...]

Runs `graphwright evaluate` on each set (an interrupted run goes on where it stopped) and writes the tables to
benchmarks/results/recall.md, their summaries to benchmarks/results/recall.json.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from graphwright import METHODS
from graphwright.cli.terminal import progress_bar
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.run import run
from graphwright.evaluate.statistics import paired_test

RESULTS = Path(__file__).parent / "results"
# All that need neither a language model nor a model that reads each passage; those are in benchmarks/corpora.py. But
# `multihop-rerank` is asked here too, on the sets of whose questions its cross-encoder was trained on none.
UNSEEN = ("musique", "hotpotqa100")
READ = ("multihop-rerank", "rerank", "gar", "fastinsight", *(f"lego-{n}" for n in range(1, 16)))
GRAPHS = ("reg", "rog", "gsr", "kelp", "tog", "grag-m")  # made for knowledge graphs; in benchmarks/overview.py
OFFLINE = [name for name, method in METHODS.items() if not method.required and name not in (*READ, *GRAPHS, "hybrid")]
FEW = ["hybrid", "vector", "bm25", "ppr", "bubblerag"]  # with titles removed
RUNS = {
    "musique": [("openie", True), ("lexical", True), ("openie", False), ("lexical", False)],
    "hotpotqa": [("lexical", True), ("lexical", False)],
    "hotpotqa100": [("lexical", True), ("lexical", False)],
    "2wiki": [("lexical", True), ("lexical", False)],
}


def about(summary):
    data, settings = summary["data"], summary["settings"]
    return (
        f"{data['name']}: {data['questions']:,} questions, {data['documents']:,} documents; {settings['extraction']} "
        f"extraction{'' if settings['titles'] else ', titles removed'}; embedded by {summary['encoder']}; graphwright "
        f"{summary['graphwright']}. Means in percent with 95 % bootstrap intervals over questions; p: paired "
        f"randomisation test, not corrected."
    )


def markdown(summary):
    # Times are for benchmarks/latency.py: a run of many methods shares its machine with itself.
    metrics = [metric["name"] for metric in summary["metrics"]]
    lines = [["method", *metrics, f"recall@5 against {summary['baseline']}"]]
    lines.append(["---"] * len(lines[0]))
    for name, of in summary["methods"].items():
        cells = [of["metrics"][metric] for metric in metrics]
        against = of["against_baseline"] and of["against_baseline"]["recall@5"]
        ahead = f"{100 * against['difference']:+.1f} (p {against['p']:.3f})" if against else ""
        shown = [f"{100 * c['mean']:.1f} ({100 * c['low']:.1f}–{100 * c['high']:.1f})" for c in cells]
        lines.append([name, *shown, ahead])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def compared(folders, named="bubblerag"):
    """Return a table of the mean recall@5 over sets, and of what `named` is ahead by on each, with paired tests."""
    found = {}
    for label, folder in folders.items():
        for line in (folder / "results.jsonl").open(encoding="utf-8"):
            row = json.loads(line)
            found.setdefault(row["method"], {}).setdefault(label, {})[row["question"]] = row["metrics"]["recall@5"]
    header = ["method", "mean recall@5 of the sets", *(f"{named} ahead on {label}" for label in folders)]
    rows, ours = [], found[named]
    for method, sets in found.items():
        if len(sets) < len(folders):  # asked on some sets only, as multihop-rerank is
            continue
        mean = 100 * float(np.mean([np.mean(list(of.values())) for of in sets.values()]))
        cells = []
        for label, of in sets.items():
            pairs = np.array([(ours[label][question], of[question]) for question in of])
            p = paired_test(pairs[:, 0], pairs[:, 1])
            shown = "p < 0.001" if p < 0.001 else f"p {p:.3f}"
            ahead = 100 * float((pairs[:, 0] - pairs[:, 1]).mean())
            cells.append("" if method == named else f"{ahead:+.1f} ({shown})")
        rows.append((mean, [method, f"{mean:.1f}", *cells]))
    body = [row for _, row in sorted(rows, key=lambda pair: -pair[0])]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *body))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("runs/recall"))
    parser.add_argument("--sets", nargs="+", default=list(RUNS))
    given = parser.parse_args()
    summaries, parts, titled = {}, [], {}
    for name in given.sets:
        for extraction, titles in RUNS[name]:
            label = f"{name}-{extraction}{'' if titles else '-untitled'}"
            methods = ["hybrid", *OFFLINE] if titles else FEW
            methods = [*methods, "multihop-rerank"] if name in UNSEEN else methods
            experiment = Experiment(
                given.data / name,
                methods,
                extraction,
                titles,
                embed=("passages", "names", "triples"),
                baseline="hybrid",
            )
            with progress_bar() as show:
                summaries[label] = run(experiment, given.out / label, progress=show)
            parts.append(f"## {label}\n\n{about(summaries[label])}\n\n{markdown(summaries[label])}\n")
            print(parts[-1], flush=True)
            if titles:
                titled[label] = given.out / label
    parts.append(f"## All sets with titles\n\n{compared(titled)}\n")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "recall.md").write_text("# Recall on the multihop sets\n\n" + "\n".join(parts), encoding="utf-8")
    held = {label: kept(summary) for label, summary in summaries.items()}
    (RESULTS / "recall.json").write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")


def kept(summary):
    """Leave out what the tables do not need: breakdowns, and what a busy machine says of time and memory."""
    of = ("expression", "metrics", "against_baseline", "tokens", "failed")
    parts = ("graphwright", "data", "encoder", "extractor", "settings", "baseline")
    methods = {name: {part: found[part] for part in of} for name, found in summary["methods"].items()}
    return {**{part: summary[part] for part in parts}, "methods": methods}


if __name__ == "__main__":
    main()
