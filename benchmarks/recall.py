"""Measure retrieval of all methods: on the multihop sets in full, and on all sets at a glance.

    python benchmarks/recall.py --data DIR [--only multihop light rerankers subgraph] [--sets musique ...]

`multihop` asks every question of MuSiQue, HotpotQA and 2Wiki, with and without the titles of documents, and writes
`recall.md`: recall at several cut-offs with intervals, and paired tests. Methods in which a model reads each passage
are left out there; `fastinsight.py` measures those.

The other parts ask a sample of each set and write `overview.md`: recall@5 on the multihop sets, nDCG@10 on the
collections, Hits@1 and Hit on knowledge graphs. `light` are the methods that take well below a second (--questions of
each set), `rerankers` those in which a model reads dozens of texts, and `subgraph` those in which it reads a whole
subgraph of a knowledge graph (--few of each set). Steps that need a language model run as their offline twins.
Interrupted runs continue.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from harness import (
    MULTIHOP,
    SPACES,
    Record,
    arguments,
    interval,
    linked_questions,
    multihop_index,
    p_value,
    parse,
    read_results,
    run_experiment,
    table,
    write_results,
)

from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.statistics import paired_test
from graphwright.methods.registry import METHODS

OFFLINE = [name for name, method in METHODS.items() if not method.required]
READ_SUBGRAPH = ["reg", *(f"lego-{n}" for n in (4, 5, 8, 9, 11, 13))]
RERANKERS = ["multihop-rerank", "tog", "rerank", "gar", "fastinsight", "fastinsight-entities"]
RERANKERS += [f"lego-{n}" for n in (3, 7, 15)]
# Knowledge graphs and trained models are measured in the overview and by other benchmarks.
NOT_MULTIHOP = {"hybrid", "reg", "rog", "gsr", "kelp", "grag-m", *RERANKERS}
DOCUMENT_METHODS = ["hybrid", *(m for m in OFFLINE if m not in NOT_MULTIHOP and not m.startswith("lego-"))]
WITHOUT_TITLES = ["hybrid", "vector", "bm25", "ppr", "bubblerag"]
UNTRAINED = ("musique", "hotpotqa100")  # the cross-encoder was trained on no question of these
UNTITLED = ("musique-openie", "musique-lexical", "hotpotqa-lexical", "hotpotqa100-lexical", "2wiki-lexical")

SETS: dict[str, tuple[str, str, Record, str]] = {
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
"""Sets of the overview: folder, questions, options of the experiment, and metric."""
PARTS = {
    "light": [name for name in OFFLINE if name not in (*RERANKERS, *READ_SUBGRAPH[1:])],
    "rerankers": RERANKERS,
    "subgraph": READ_SUBGRAPH,
}
TITLES = {
    "light": "Methods",
    "rerankers": "Methods in which a model reads dozens or hundreds of texts",
    "subgraph": "Methods in which a model reads a whole subgraph",
}
FINDINGS = """
Where a question needs several passages (the first three sets), methods that follow connections from good passages find
more than `hybrid`: `bubblerag` and `ppr` by far, then `ircot` and `hipporag2`. Where it needs one, as in the four
collections, `hybrid` and `ircot` find the most, and connections cost accuracy: a little in `ppr`, more in `bubblerag`,
most where they alone rank (`hipporag`, `lightrag-local`, LEGO-GraphRAG). Most others stay near `vector`, their first
step. On graphs, methods made for passages quote the triples at the nodes they find: these hold a right answer where it
is one step away (Hit at one hop), but rarely first. LEGO-GraphRAG reaches answers two and three steps away but cannot
tell them from the nodes on the way; plans of relations can (`rog`), and trained retrievers can (reg.md). `gsr` has the
plans of `rog` but loses their order. A figure of 100 questions may be ten points off, one of the few questions in the
further tables thirty; times are of a busy machine.
"""


def multihop_runs(sets: Sequence[str]) -> dict[str, tuple[str, bool]]:
    """Return the runs by label: an index of a set, and whether documents keep their titles."""
    labels = [label for label in MULTIHOP if MULTIHOP[label][0] in sets]
    runs = {label: (label, True) for label in labels}
    return runs | {f"{label}-untitled": (label, False) for label in labels if label in UNTITLED}


def measure_multihop(options: Namespace) -> None:
    """Run the methods on the multihop sets, and write the tables."""
    summaries, sections, titled = {}, [], {}
    for label, (index, titles) in multihop_runs(options.sets).items():
        name, extraction = MULTIHOP[index]
        methods = [*(DOCUMENT_METHODS if titles else WITHOUT_TITLES), *(["multihop-rerank"] * (name in UNTRAINED))]
        experiment = Experiment(
            options.data / "multihop" / name, methods, extraction, titles, embed=SPACES, baseline="hybrid"
        )
        out = options.work / "recall" / label
        summaries[label] = run_experiment(experiment, out, multihop_index(options, index) if titles else None)
        sections.append(f"## {label}\n\n{about(summaries[label])}\n\n{recall_table(summaries[label])}")
        print(sections[-1], flush=True)
        if titles:
            titled[label] = out
    sections.append(f"## All sets with titles\n\n{compared(titled)}")
    kept = {label: essential(summary) for label, summary in summaries.items()}
    write_results(options.out / "recall.json", kept, "# Recall on the multihop sets\n\n" + "\n".join(sections))


def about(summary: Record) -> str:
    """Return the data and settings of a run."""
    data, settings = summary["data"], summary["settings"]
    return (
        f"{data['name']}: {data['questions']:,} questions, {data['documents']:,} documents; {settings['extraction']} "
        f"extraction{'' if settings['titles'] else ', titles removed'}; encoder {summary['encoder']}; graphwright "
        f"{summary['graphwright']}. Means in percent with 95 % bootstrap intervals over questions; p: paired "
        f"randomisation test, not corrected."
    )


def recall_table(summary: Record) -> str:
    """Return all metrics of a run; times are left to latency.py, because these methods shared the machine."""
    metrics = [metric["name"] for metric in summary["metrics"]]
    rows = []
    for name, method in summary["methods"].items():
        against = method["against_baseline"] and method["against_baseline"]["recall@5"]
        ahead = f"{100 * against['difference']:+.1f} (p {against['p']:.3f})" if against else ""
        rows.append([name, *(interval(method["metrics"][metric]) for metric in metrics), ahead])
    return table(["method", *metrics, f"recall@5 against {summary['baseline']}"], rows)


def compared(folders: Mapping[str, Path], method: str = "bubblerag") -> str:
    """Return the mean recall@5 of each method over sets, and the lead of one method on each, with paired tests."""
    values: dict[str, dict[str, dict[str, float]]] = {}
    for label, folder in folders.items():
        for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            values.setdefault(row["method"], {}).setdefault(label, {})[row["question"]] = row["metrics"]["recall@5"]
    rows: list[tuple[float, list[str]]] = []
    for other, sets in values.items():
        if len(sets) == len(folders):
            mean = 100 * float(np.mean([np.mean(list(scores.values())) for scores in sets.values()]))
            leads = [lead(values[method][label], scores) for label, scores in sets.items()]
            rows.append((mean, [other, f"{mean:.1f}", *([""] * len(sets) if other == method else leads)]))
    header = ["method", "mean recall@5 of the sets", *(f"{method} ahead on {label}" for label in folders)]
    return table(header, [row for _, row in sorted(rows, key=lambda pair: -pair[0])])


def lead(ours: Mapping[str, float], theirs: Mapping[str, float]) -> str:
    """Return the mean difference in points, with its p value."""
    pairs = np.array([(ours[question], value) for question, value in theirs.items()])
    difference = 100 * float((pairs[:, 0] - pairs[:, 1]).mean())
    return f"{difference:+.1f} ({p_value(paired_test(pairs[:, 0], pairs[:, 1]))})"


def essential(summary: Record) -> Record:
    """Leave out breakdowns, times and memory."""
    of_method = ("expression", "metrics", "against_baseline", "tokens", "failed")
    of_run = ("graphwright", "data", "encoder", "extractor", "settings", "baseline")
    methods = {name: {key: m[key] for key in of_method if key in m} for name, m in summary["methods"].items()}
    return {**{key: summary[key] for key in of_run if key in summary}, "methods": methods}


def measure_sample(name: str, part: str, options: Namespace) -> Record:
    """Run the methods of a part on a sample of a set, and return the summary without its details."""
    place, questions, more, metric = SETS[name]
    work = options.work / "overview"
    data = linked_questions(options.data / place, work) if name == "cora" else options.data / place
    # Without a trained retriever `reg` reads every triple of a knowledge graph; there it is among the slow methods.
    methods = [m for m in PARTS[part] if (part, metric, m) != ("light", "hits@1", "reg")]
    limit = options.questions if part == "light" else options.few
    experiment = Experiment(data, methods, questions=questions, limit=limit, **more)
    home = work / place.replace("/", "-")
    index = next((folder for folder in sorted(home.glob("*/index")) if (folder / "CURRENT").exists()), None)
    out = home / (f"{part}-{questions}" if questions else part)
    summary = run_experiment(experiment, out, None if index == out / "index" else index)
    of_method = ("metrics", "milliseconds", "tokens", "failed")
    kept = {name: {key: m[key] for key in of_method} for name, m in summary["methods"].items()}
    return {**{key: summary[key] for key in ("data", "graphwright", "settings", "encoder")}, "methods": kept}


def overview(results: Mapping[str, Record]) -> str:
    """Return the page of all methods on all sets."""
    parts = ["# All methods on all sets", f"Made by `python benchmarks/recall.py --data DIR`, offline.\n{FINDINGS}"]
    for part, methods in PARTS.items():
        summaries = {name: sets[part] for name, sets in results.items() if part in sets}
        if summaries:
            header = ["method", *(f"{name}: {SETS[name][3]}" for name in summaries), "p50 ms"]
            rows = [["questions", *(summary["data"]["questions"] for summary in summaries.values()), ""]]
            measured = {name for summary in summaries.values() for name in summary["methods"]}
            rows += [overview_row(method, summaries) for method in methods if method in measured]
            parts += [f"## {TITLES[part]}", table(header, rows)]
    return "\n\n".join(parts)


def overview_row(method: str, summaries: Mapping[str, Record]) -> list[str]:
    """Return a method's metric on each set, and the range of its median times."""
    cells, times = [], []
    for name, summary in summaries.items():
        measured = summary["methods"].get(method)
        metrics = [SETS[name][3], *(["hit"] if SETS[name][3] == "hits@1" else [])]
        shown = [f"{100 * measured['metrics'][metric]['mean']:.1f}" for metric in metrics] if measured else []
        cells.append(" / ".join(shown))
        times += [measured["milliseconds"]["p50"]] if measured else []
    return [f"`{method}`", *cells, f"{min(times):.0f} to {max(times):.0f}" if times else ""]


def measure_overview(part: str, options: Namespace) -> None:
    """Run a part of the methods on each set, and write the overview after each."""
    for name in options.overview_sets:
        if part == "subgraph" and SETS[name][3] != "hits@1":
            continue
        path = options.out / "overview.json"
        results = read_results(path)
        results.setdefault(name, {})[part] = measure_sample(name, part, options)
        results = {name: results[name] for name in SETS if name in results}
        write_results(path, results, overview(results))
        print(part, name, flush=True)


def main() -> None:
    """Measure the parts asked for."""
    multihop = list(dict.fromkeys(name for name, _ in MULTIHOP.values()))
    parser = arguments(__doc__, parts=["multihop", *PARTS], sets=multihop)
    parser.add_argument("--overview-sets", nargs="+", choices=list(SETS), default=list(SETS), metavar="SET")
    parser.add_argument("--questions", type=int, default=100, help="of each set, light methods")
    parser.add_argument("--few", type=int, default=12, help="of each set, slow methods")
    options = parse(parser)
    for part in options.only:
        if part == "multihop":
            measure_multihop(options)
        else:
            measure_overview(part, options)


if __name__ == "__main__":
    main()
