"""Measure the quality of retrieval and of answers, of all methods.

    python benchmarks/quality.py --data DIR [--only multihop light rerankers subgraph long] [--sets musique ...]

Steps that need a language model run as their offline twins. Interrupted runs continue.

- multihop: every question of MuSiQue, HotpotQA and 2Wiki (or --questions of each set, drawn by seed), with and without
  the titles of documents: recall at several cut-offs with intervals, and paired tests. Those of READING, in which a
  model reads each passage, are asked --read questions; `fastinsight.py` measures others. Writes `recall.json` and
  `recall.md`.
- light, rerankers, subgraph: a sample of each set: recall@5 on the multihop sets, nDCG@10 on the collections, Hits@1
  and Hit on knowledge graphs. `light` are the methods that take well below a second (--questions of each set, by
  default 100), `rerankers` those in which a model reads dozens of texts, and `subgraph` those in which it reads a whole
  subgraph of a knowledge graph (--few of each set). Write `overview.json` and `overview.md`.
- long: answers of several sentences on SQuALITY against four human summaries of each question (PathRAG, Table 4). Each
  story is a corpus of its own; its five questions are asked of each method. The answer of every method is made alike,
  so that what differs is retrieval: of the first 8 passages sentences are quoted, up to 200 words, those nearest to the
  question and to all 8 together and unlike each other, in the order of the story; `opening` takes the first passages of
  the story. Scores: BLEU-1, BLEU-2, F1 of ROUGE-1, ROUGE-2 and ROUGE-L, METEOR (exact words and stems), with 95 %
  bootstrap intervals and paired tests against `vector`. Writes `squality.json` and `squality.md`.

`long` asks all methods but those made for knowledge graphs and those in which a model reads each passage.
"""

from __future__ import annotations

import json
import random
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from harness import (
    MULTIHOP,
    SPACES,
    Record,
    Rows,
    arguments,
    held_out,
    interval,
    linked_questions,
    multihop_index,
    p_value,
    parse,
    passages_of,
    run_experiment,
    shared_index,
    table,
    update_results,
    write_results,
)
from published.summaries import SUMMARY_METRICS, summary_scores

from graphwright.data.document import Document
from graphwright.data.question_sets.datasets import read_dataset
from graphwright.data.question_sets.questions import QuestionRecord
from graphwright.errors import GraphwrightError
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.statistics import bootstrap_interval, paired_test
from graphwright.graph.ranking import Ranking
from graphwright.index_folder.index import Index
from graphwright.methods.registry import METHODS, make_method
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State, start
from graphwright.operators.summaries import most_central
from graphwright.search.snapshot import Snapshot
from graphwright.search.vector_index import normalised
from graphwright.store.settings import Settings
from graphwright.text.sentences import sentence_spans

OFFLINE = [name for name, method in METHODS.items() if not method.required]
READ_SUBGRAPH = ["reg", *(f"lego-{n}" for n in (4, 5, 8, 9, 11, 13))]
RERANKERS = ["multihop-rerank", "clue-rag", "tog", "rerank", "gar", "fastinsight", "fastinsight-entities"]
RERANKERS += [f"lego-{n}" for n in (3, 7, 15)]
NOT_FOR_DOCUMENTS = {"reg", "rog", "gsr", "kelp", "grag-m", *RERANKERS}
FOR_DOCUMENTS = [name for name in METHODS if name not in NOT_FOR_DOCUMENTS and not name.startswith("lego-")]
WITHOUT_TITLES = ["hybrid", "vector", "bm25", "ppr", "multihop", "bubblerag"]
READING = {"clue-rag": tuple(MULTIHOP), "multihop-rerank": ("musique-openie", "musique", "hotpotqa100")}
"""Methods in which a model reads each passage, and the indexes over which fewer questions are asked of them."""
UNTITLED = ("musique-openie", "musique", "hotpotqa", "hotpotqa100", "2wiki")
RETRIEVING = ["hybrid", *(name for name in FOR_DOCUMENTS if name in OFFLINE and name != "hybrid")]  # the baseline first

# Retrieval

OVERVIEW: dict[str, tuple[str, str, Record, str]] = {
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
OVERVIEW_PARTS = {
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
Where a question needs several passages (the first three sets), `multihop` finds the most, then `linearrag`, and with
some distance `ircot`, `hipporag2` and `proprag`. Where it needs one, as in the four collections, `hybrid`,
`multihop`, `ppr` and `ircot` are near each other, and connections cost accuracy where they alone rank (`hipporag`,
`linearrag`, `proprag`, `lightrag-local`, LEGO-GraphRAG). Most others stay near `vector`, their first step. On graphs,
methods made for passages quote the triples at the nodes they find: these hold a right answer where it is one step
away (Hit at one hop), but rarely first. LEGO-GraphRAG reaches answers two and three steps away but cannot tell them
from the nodes on the way; plans of relations can (`rog`), and trained retrievers can (reg.md). `gsr` has the plans of
`rog` but loses their order. Read the intervals (95 %, bootstrap over questions): of 20 questions they are up to 44
points wide, and the few questions of the further tables show hardly more than that the methods run. Times are of a busy
machine. Empty cells were not measured.
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
        methods = held_out(RETRIEVING if titles else WITHOUT_TITLES, name)
        experiment = Experiment(
            options.data / "multihop" / name,
            methods,
            extraction,
            titles,
            embed=SPACES,
            baseline="hybrid",
            limit=options.questions,
        )
        folder = multihop_index(options, index, titles)
        out = options.work / "recall" / f"{label}-{options.questions or 'all'}"
        summaries[label] = run_experiment(experiment, out, folder)
        if titles:
            reading = [method for method, indexes in READING.items() if index in indexes]
            few = replace(experiment, methods=held_out(["hybrid", "multihop", *reading], name), limit=options.read)
            titled[label] = [out, options.work / "recall" / f"{label}-read-{options.read}"]
            read = run_experiment(few, titled[label][1], folder)
            for method in reading:
                summaries[label]["methods"][method] = read["methods"][method] | {"questions": options.read}
        sections.append(f"## {label}\n\n{data_of(summaries[label])}\n\n{recall_table(summaries[label])}")
        print(sections[-1], flush=True)
    if options.rows_only:
        return
    for title, label_of in (("Recall@5", str), ("Recall@5, titles removed", "{}-untitled".format)):
        runs = {label: summaries[label_of(label)] for label in titled if label_of(label) in summaries}
        sections.append(f"## {title}\n\n{recall_by_set(runs)}")
    sections.append(f"## `multihop` against each method\n\n{compared(titled)}")
    brief = {label: essential(summary) for label, summary in summaries.items()}
    write_results(options.out / "recall.json", brief, "# Recall on the multihop sets\n\n" + "\n".join(sections))


def data_of(summary: Record) -> str:
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
        asked = f", {method['questions']} questions" if "questions" in method else ""
        rows.append([name + asked, *(interval(method["metrics"][metric]) for metric in metrics), ahead])
    return table(["method", *metrics, f"recall@5 against {summary['baseline']}"], rows)


def recall_by_set(runs: Mapping[str, Record]) -> str:
    """Return recall@5 of the methods that all sets were asked with, the best mean first."""
    methods = [
        name for name in next(iter(runs.values()))["methods"] if all(name in run["methods"] for run in runs.values())
    ]
    values = {name: [run["methods"][name]["metrics"]["recall@5"]["mean"] for run in runs.values()] for name in methods}
    rows = [
        [f"`{name}`", *(f"{100 * value:.1f}" for value in (*of, float(np.mean(of))))]
        for name, of in sorted(values.items(), key=lambda item: -float(np.mean(item[1])))
    ]
    asked = ["questions", *(run["data"]["questions"] for run in runs.values()), ""]
    return table(["method", *runs, "mean"], [asked, *rows])


def compared(folders: Mapping[str, Sequence[Path]], method: str = "multihop") -> str:
    """Return the mean recall@5 of each method over sets, and the lead of one method on each, with paired tests.

    The folders of a set are those of runs with different questions; a method is that of the first run that has it.
    """
    values: dict[str, dict[str, dict[str, float]]] = {}
    ours: dict[tuple[str, str], dict[str, float]] = {}
    for label, runs in folders.items():
        for folder in runs:
            scores: dict[str, dict[str, float]] = {}
            for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                scores.setdefault(row["method"], {})[row["question"]] = row["metrics"]["recall@5"]
            for name, of in scores.items():
                if label not in values.setdefault(name, {}):
                    values[name][label], ours[name, label] = of, scores[method]
    rows: list[tuple[float, list[str]]] = []
    for other, sets in values.items():
        if len(sets) == len(folders):
            mean = 100 * float(np.mean([np.mean(list(of.values())) for of in sets.values()]))
            leads = [lead(ours[other, label], of) for label, of in sets.items()]
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
    of_method = ("expression", "questions", "metrics", "against_baseline", "tokens", "failed")
    of_run = ("graphwright", "data", "encoder", "extractor", "settings", "baseline")
    methods = {name: {key: m[key] for key in of_method if key in m} for name, m in summary["methods"].items()}
    return {**{key: summary[key] for key in of_run if key in summary}, "methods": methods}


def measure_sample(name: str, part: str, options: Namespace) -> Record:
    """Run the methods of a part on a sample of a set, and return the summary without its details."""
    place, questions, more, metric = OVERVIEW[name]
    work = options.work / "overview"
    data = linked_questions(options.data / place, options.work) if name == "cora" else options.data / place
    # Without a trained retriever `reg` reads every triple of a knowledge graph; there it is among the slow methods.
    methods = [m for m in OVERVIEW_PARTS[part] if (part, metric, m) != ("light", "hits@1", "reg")]
    if metric != "hits@1":  # over passages this instance reads every statement near a question: 10 to 20 seconds
        methods = [m for m in methods if m != "lego-15"]
    limit = (options.questions or 100) if part == "light" else options.few
    experiment = Experiment(data, held_out(methods, data.name), questions=questions, limit=limit, **more)
    home = work / place.replace("/", "-")
    index = options.work / "indexes" / ("musique-openie" if name == "musique" else Path(place).name)
    shared_index(index, experiment, options.work)
    out = home / "-".join(filter(None, (part, questions, str(limit))))
    summary = run_experiment(experiment, out, index)
    of_method = ("metrics", "milliseconds", "tokens", "failed")
    brief = {name: {key: m[key] for key in of_method} for name, m in summary["methods"].items()}
    return {**{key: summary[key] for key in ("data", "graphwright", "settings", "encoder")}, "methods": brief}


def overview(results: Mapping[str, Record]) -> str:
    """Return the page of all methods on all sets."""
    parts = ["# All methods on all sets", f"Made by `python benchmarks/quality.py --data DIR`, offline.\n{FINDINGS}"]
    for part, methods in OVERVIEW_PARTS.items():
        summaries = {name: results[name][part] for name in OVERVIEW if part in results.get(name, {})}
        if summaries:
            names = {name: OVERVIEW[name][3].replace("hits@1", "hits@1 (95 %); hit") for name in summaries}
            header = ["method", *(f"{name}: {metric}" for name, metric in names.items()), "p50 ms"]
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
        metric = OVERVIEW[name][3]
        shown = with_interval(measured["metrics"][metric]) if measured else ""
        cells.append(
            f"{shown}; {100 * measured['metrics']['hit']['mean']:.0f}" if measured and metric == "hits@1" else shown
        )
        times += [measured["milliseconds"]["p50"]] if measured else []
    return [f"`{method}`", *cells, f"{min(times):.0f} to {max(times):.0f}" if times else ""]


def with_interval(value: Record) -> str:
    """Return a mean in percent with its 95 % interval, without decimals."""
    return f"{100 * value['mean']:.0f} ({100 * value['low']:.0f}–{100 * value['high']:.0f})"


def measure_overview(part: str, options: Namespace) -> None:
    """Run a part of the methods on each set, and write the overview after each."""
    for name in options.overview_sets:
        if part == "subgraph" and OVERVIEW[name][3] != "hits@1":
            continue
        update_results(options.out / "overview.json", [name, part], measure_sample(name, part, options), overview)
        print(part, name, flush=True)


# Long answers

BASELINE = "vector"
PASSAGES, WORDS = 8, 200
SEED = 0  # of the draw of stories


@dataclass(frozen=True, repr=False)
class Opening(Operator):
    """Rank passages by their place in the document."""

    gives = ("passages",)

    def apply(self, state: State, run: Run) -> State:
        """Set the passages."""
        passages = state.graph.passages
        if passages is None:
            return state
        first = np.asarray(passages.nodes)[np.argsort(passages.start, kind="stable")]
        return state.with_(passages=Ranking.of(first, -np.arange(len(first), dtype=float)))


def story_index(folder: Path, name: str, text: str) -> Index:
    """Return the index of a story."""
    if (folder / name).exists():
        index = Index.open(folder / name)
    else:
        index = Index.create(folder / name, settings=Settings(embed=SPACES))
    index.add([Document(name, text=text)])
    return index


def quote(ix: Snapshot, question: str, nodes: Sequence[int]) -> str:
    """Quote sentences of the first passages up to so many words, in the order of the story."""
    graph = ix.graph
    begins = (
        dict(zip(graph.passages.nodes.tolist(), graph.passages.start.tolist(), strict=True)) if graph.passages else {}
    )
    texts = {node: graph.text(node) for node in nodes[:PASSAGES]}
    places: dict[str, int] = {}  # passages overlap: a sentence in two of them is one
    for node, text in texts.items():
        for first, last in sentence_spans(text):
            if 40 <= last - first <= 400:
                places.setdefault(text[first:last], begins[node] + first)
    if not places:
        return ""
    vectors = normalised(ix.encoder.encode([question, *texts.values(), *places]))
    query, whole, vectors = vectors[0], vectors[1 : len(texts) + 1], vectors[len(texts) + 1 :]
    order = most_central(vectors, vectors @ whole.mean(axis=0) + vectors @ query, len(places))
    sentences, chosen, room = list(places), [], WORDS
    for at in order.tolist():
        size = len(sentences[at].split())
        if size <= room:
            chosen.append(sentences[at])
            room -= size
    return " ".join(sorted(chosen, key=places.__getitem__))


def ask_story(index: Index, name: str, questions: Sequence[QuestionRecord], methods: Sequence[str], rows: Rows) -> None:
    """Ask the questions of a story that have no row yet."""
    ix = index.snapshot
    for method in methods:
        missing = [q for q in questions if (name, q.id, method) not in rows]
        if not missing:
            continue
        operator = Opening() if method == "opening" else make_method(method, ix).search
        for question in missing:
            begun = time.perf_counter()
            state = operator(start(question.text, ix.graph))
            seconds = time.perf_counter() - begun
            text = quote(ix, question.text, passages_of(state))
            row = {"story": name, "question": question.id, "method": method, "words": len(text.split())}
            rows.add(row | {"ms": 1000 * seconds} | summary_scores(text, question.answers))


def measure_long(options: Namespace) -> None:
    """Ask the methods on stories of SQuALITY."""
    data = read_dataset(options.data / "long" / "squality_train.jsonl")
    every = list(data.documents(print))
    drawn = sorted(random.Random(SEED).sample(range(len(every)), min(options.stories, len(every))))
    folder = options.work / "squality"
    rows = Rows(folder / "rows.jsonl", "story", "question", "method")
    methods = ["opening", *(m for m in FOR_DOCUMENTS if m in OFFLINE)]
    failures: dict[str, str] = {}
    for at in drawn:
        questions = [question for question in data.questions if every[at].id in question.gold]
        with story_index(folder, every[at].id, every[at].text) as index:
            for method in [m for m in methods if m not in failures]:
                try:
                    ask_story(index, every[at].id, questions, [method], rows)
                except GraphwrightError as error:
                    failures[method] = str(error)
        print(every[at].id, flush=True)
    if BASELINE in failures:
        raise SystemExit(failures[BASELINE])
    stories = {every[at].id for at in drawn}
    of: dict[str, list[Record]] = {method: [] for method in methods if method not in failures}
    for row in rows.rows.values():
        if row["story"] in stories and row["method"] in of:
            of[row["method"]].append(row)
    results = {
        "stories": len(drawn), "of": len(every), "questions": len(of[BASELINE]), "seed": SEED,
        "baseline": BASELINE, "passages": PASSAGES, "words": WORDS, "left out": failures,
        "methods": {name: summarise_long(own, of[BASELINE]) for name, own in of.items()},
    }  # fmt: skip
    write_results(options.out / "squality.json", results, long_page(results))
    print(long_page(results))


def summarise_long(own: Sequence[Record], baseline: Sequence[Record]) -> Record:
    """Return a method's mean scores, with intervals and p against the baseline."""
    summary: Record = {}
    for metric in SUMMARY_METRICS:
        values = [row[metric] for row in own]
        low, high = bootstrap_interval(values)
        summary[metric] = {"mean": round(float(np.mean(values)), 5), "low": round(low, 5), "high": round(high, 5)}
        if baseline is not own:
            summary[metric]["p"] = round(paired_test(values, [row[metric] for row in baseline]), 5)
    summary["words"] = round(float(np.mean([row["words"] for row in own])), 1)
    summary["ms p50"] = round(float(np.median([row["ms"] for row in own])), 1)
    return summary | {"empty": sum(not row["words"] for row in own)}


def long_page(results: Record) -> str:
    """Return the table of all methods."""
    rows, baseline = [], results["methods"][BASELINE]
    for name, values in results["methods"].items():
        cells = [interval(values[metric]) + mark(values[metric], baseline[metric]) for metric in SUMMARY_METRICS]
        rows.append([f"`{name}`", *cells, f"{values['words']:.0f}", f"{values['ms p50']:.0f}"])
    failures = "".join(f"- `{name}`: {reason}\n" for name, reason in results["left out"].items())
    return f"""# SQuALITY: answers of several sentences against human summaries

{results["questions"]} questions on {results["stories"]} of {results["of"]} stories (drawn with seed {results["seed"]}),
four summaries each; offline. Sentences of the first {PASSAGES} passages are quoted, up to {WORDS} words, for every
method alike, so that what differs is retrieval. Percent, with 95 % bootstrap intervals over questions (five of them
share a story); ↑ and ↓ mark differences from `{BASELINE}` with p < 0.05 (paired randomisation test, not corrected for
the number of tests). METEOR is without synonyms. `opening`: the first passages of the story. Times are of retrieval, on
a busy machine.

{table(["method", *SUMMARY_METRICS, "words", "p50 ms"], rows)}
{"Left out:" if failures else ""}

{failures}
Made by `python benchmarks/quality.py --data DIR --only long`. Levels cannot be compared with those of the paper, whose
answers a language model writes in its own words.
"""


def mark(value: Record, baseline: Record) -> str:
    """Return an arrow where a value differs from the baseline's."""
    if value.get("p", 1) >= 0.05:
        return ""
    return " ↑" if value["mean"] > baseline["mean"] else " ↓"


def main() -> None:
    """Measure the parts asked for."""
    sets = list(dict.fromkeys(name for name, _ in MULTIHOP.values()))
    parser = arguments(__doc__, parts=["multihop", *OVERVIEW_PARTS, "long"], sets=sets)
    parser.add_argument("--overview-sets", nargs="+", choices=list(OVERVIEW), default=list(OVERVIEW), metavar="SET")
    parser.add_argument("--questions", type=int, help="of each set: recall, light methods")
    parser.add_argument("--read", type=int, default=30, help="of each set: recall of methods that read each passage")
    parser.add_argument("--few", type=int, default=12, help="of each set: rerankers, subgraph")
    parser.add_argument("--stories", type=int, default=50, help="for long answers")
    parser.add_argument("--rows-only", action="store_true", help="leave the tables to a later call for all sets")
    options = parse(parser)
    measures = {"multihop": measure_multihop, "long": measure_long}
    for part in options.only:
        if part in measures:
            measures[part](options)
        else:
            measure_overview(part, options)


if __name__ == "__main__":
    main()
