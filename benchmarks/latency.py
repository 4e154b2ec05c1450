"""Measure what users wait for: retrieval, indexing, changes, and the testbed.

    python benchmarks/latency.py --data DIR [--only retrieve index update testbed]

- retrieve: warm retrieval by step with the encoding of the question, further methods, and PageRank alone against
  python-igraph. Each round opens the index anew, so that no question's vector is remembered. Writes
  `latency-hotpotqa.json` and `latency-musique.json`.
- index: the time of indexing HotpotQA's passages over the encoder's own, with passages or all texts embedded. Writes
  `indexing.json`.
- update: documents added, replaced and removed, against building anew and as the index grows. A hash of words takes the
  encoder's place, because its time is that of the new texts alone. Writes `updates.json`.
- testbed: ten methods asked on MuSiQue one by one without sharing: the time of all that a run does with a question
  (asking, measuring, writing) against the seconds of the methods. And the fifteen instances of LEGO-GraphRAG on MetaQA
  over two relations, together in one process against each in a process of its own; those in which the cross-encoder
  reads every triple take seconds a question and are asked --heavy questions. Writes `testbed.json`.
"""

from __future__ import annotations

import tempfile
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from harness import (
    FIRST_QUESTION,
    SPACES,
    Record,
    arguments,
    elapsed,
    multihop_index,
    multihop_questions,
    parse,
    percentiles,
    table,
    update_results,
    write_results,
)  # fmt: skip
from scale import WordTable, in_process, varied_documents

from graphwright.data.document import Document
from graphwright.data.documents import read_documents
from graphwright.evaluate.asking import Asker, Results
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.indexing import build_index
from graphwright.index_folder.index import Index
from graphwright.kernels.ppr import push_ppr
from graphwright.methods.registry import default_method
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.protocols import Usage
from graphwright.operators.operator import Then
from graphwright.operators.state import start
from graphwright.operators.subgraph.pagerank import seeds
from graphwright.store.settings import Settings
from kernels import igraph_of

DEFAULT = default_method(imported=False)


# Retrieval

METHODS: Mapping[str, Sequence[str]] = {
    "hotpotqa": ("vector", "hybrid", "ppr", "hipporag2", "pathrag", "bubblerag", "ircot"),
    "musique-openie": ("ppr",),
}


def warm(folder: Path, questions: Sequence[str], rounds: int, method: str) -> Record:
    """Return the times of a method's retrieval, of the encoder in it, and of each step."""
    whole, encoder = [], []
    steps: dict[str, list[float]] = {}
    for _ in range(rounds):
        with Index.open(folder) as index:
            operator = index.method(method).search
            operator(start(FIRST_QUESTION, index.graph))
            for question in questions:
                begun = time.perf_counter()
                state = operator(start(question, index.graph))
                whole.append(time.perf_counter() - begun)
                encoder.append(sum(step.usage.seconds for step in state.trace))
                for step in state.trace:
                    steps.setdefault(step.operator, []).append(step.seconds)
    by_step = {name: percentiles(seconds) for name, seconds in steps.items()}
    return {**percentiles(whole), "encoder": percentiles(encoder), "steps": by_step}


def pagerank(folder: Path, questions: Sequence[str], k: int = 500, restart: float = 0.5) -> Record:
    """Return the times of PageRank alone from the seeds of method `ppr`, ours and igraph's on the same graph."""
    with Index.open(folder) as index:
        graph, steps = index.graph, index.method("ppr").search
        first = Then(steps.steps[:2]) if isinstance(steps, Then) else steps
        indptr, neighbours = graph.adjacency
        other = igraph_of((indptr, neighbours))
        ours, theirs, recalls = [], [], []
        for question in questions:
            nodes, weights = seeds(first(start(question, graph)))
            push_ppr(indptr, neighbours, nodes, weights, restart=restart, k=k)
            begun = time.perf_counter()
            best, _ = push_ppr(indptr, neighbours, nodes, weights, restart=restart, k=k)
            ours.append(time.perf_counter() - begun)
            reset = np.zeros(len(graph))
            reset[nodes] = weights
            begun = time.perf_counter()
            ranks = other.personalized_pagerank(reset=reset, damping=1 - restart, implementation="prpack")
            theirs.append(time.perf_counter() - begun)
            scores = np.array(ranks)
            exact = np.lexsort((np.arange(len(scores)), -scores))[:k]
            recalls.append(len(np.intersect1d(best, exact)) / k)
        return {
            "nodes": len(graph), "edges": len(graph.edges), "k": k, "restart": restart, "ours": percentiles(ours),
            "igraph": percentiles(theirs), "ratio": round(float(np.median(theirs) / np.median(ours)), 1),
            "recall": round(float(np.mean(recalls)), 4),
        }  # fmt: skip


def measure_retrieval(options: Namespace) -> None:
    """Measure retrieval on two indexes."""
    for label, methods in METHODS.items():
        folder = multihop_index(options, label)
        questions = [question.text for question in multihop_questions(options, label, options.questions)]
        with Index.open(folder) as index:
            passages = index.info()["chunks"]
        results = {
            "passages": passages,
            "methods, warm": {
                DEFAULT: warm(folder, questions, options.rounds, DEFAULT),
                **{method: warm(folder, questions[:100], 1, method) for method in methods},
            },
            "ppr alone": pagerank(folder, questions[:100]),
        }
        print(label, results, flush=True)
        write_results(options.out / f"latency-{label.partition('-')[0]}.json", results, retrieval_page(results))


def retrieval_page(results: Record) -> str:
    """Return the times of one index as tables."""
    methods = [
        [f"`{name}`", of["p50 ms"], of["p95 ms"], of["encoder"]["p50 ms"]]
        for name, of in results["methods, warm"].items()
    ]
    ranks = results["ppr alone"]
    alone = [ranks["nodes"], ranks["edges"], *ranks["ours"].values(), *ranks["igraph"].values()]
    alone += [ranks["ratio"], ranks["recall"]]
    parts = {
        f"{results['passages']:,} passages": table(
            ["method", "p50 ms", "p95 ms", "of that the encoder, p50 ms"], methods
        ),
        "PageRank alone": table(
            ["nodes", "edges", "p50 ms", "p95 ms", "igraph, p50 ms", "igraph, p95 ms", "times as fast", "recall"],
            [[f"{value:,}" for value in alone]],
        ),
    }
    return "# Latency\n\n" + "\n\n".join(f"## {title}\n\n{rows}" for title, rows in parts.items())


# Indexing

EMBEDDED = {"passages": ("passages",), "all texts": ("passages", "names", "triples")}


def measure_indexing(options: Namespace) -> None:
    """Measure the time of indexing over that of the encoder."""
    corpus, results = options.data / "multihop/hotpotqa/corpus.jsonl", {}
    for name, embed in EMBEDDED.items():
        with tempfile.TemporaryDirectory() as folder:
            begun, usage = time.perf_counter(), Usage()
            with Index.create(Path(folder) / "index", settings=Settings(embed=embed)) as index:
                changes = index.add(islice(read_documents([corpus], print), options.documents), usage=usage)
                seconds = time.perf_counter() - begun
                info = index.info()
        results[name] = {
            **{key: info[key] for key in ("documents", "nodes", "edges")},
            "texts encoded": changes.texts,
            "seconds": round(seconds, 2),
            "encoder seconds": round(usage.seconds, 2),
            "whole / encoder": round(seconds / usage.seconds, 3),
            "parts": {part: round(value, 2) for part, value in changes.seconds.items()},
            "texts a second": round(usage.texts / usage.seconds),
            "index MB": round(info["bytes"] / 1e6, 1),
        }
        print(name, results[name], flush=True)
    write_results(options.out / "indexing.json", results, indexing_page(results))


def indexing_page(results: Record) -> str:
    """Return the times of indexing as a table."""
    columns = ("passages", "names", "triples")
    rows = [
        [name, *(f"{of['texts encoded'].get(kind, 0):,}" for kind in columns), of["encoder seconds"], of["seconds"],
         of["whole / encoder"], of["index MB"]]
        for name, of in results.items()
    ]  # fmt: skip
    head = ["vectors of", *columns, "encoder, s", "in all, s", "in all / encoder", "index, MB"]
    return f"# Indexing\n\n{table(head, rows)}"


# Changes of an index

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
FEW, MANY = 100, 1_000  # documents that are added to an index of each size


def tenth(documents: Sequence[Document], repeats: int) -> Record:
    """Return the times of changing a tenth of an index, over the time of building it."""
    part = documents[: len(documents) // 10]
    changed = [Document(d.id, f"{d.text} Changed.", d.title, whole=True) for d in part]
    times: list[dict[str, float]] = []
    for _ in range(repeats):
        with (
            tempfile.TemporaryDirectory() as folder,
            Index.create(Path(folder) / "index", encoder=WordTable()) as index,
        ):
            rebuild = elapsed(lambda index=index: index.add(documents))[1]  # type: ignore[misc]
            replaced = elapsed(lambda index=index: index.add(changed))[1]  # type: ignore[misc]
            removed = elapsed(lambda index=index: index.remove(d.id for d in part))[1]  # type: ignore[misc]
            added = elapsed(lambda index=index: index.add(part))[1]  # type: ignore[misc]
            single = elapsed(lambda index=index: index.remove([part[0].id]))[1]  # type: ignore[misc]
        times.append(
            {
                "rebuild seconds": rebuild,
                "remove a tenth / rebuild": removed / rebuild,
                "add a tenth / rebuild": added / rebuild,
                "replace a tenth / rebuild": replaced / rebuild,
                "remove one / rebuild": single / rebuild,
            }
        )
    return {"documents": len(documents), **{name: round(median(row[name] for row in times), 4) for name in times[0]}}


def growth(documents: Sequence[Document], sizes: Sequence[int], repeats: int) -> list[Record]:
    """Return the cost of a document and of a change, whatever it changes, as an index grows.

    At each size a hundred documents are added, then a thousand, and removed again. A document's cost is the difference
    over nine hundred; a change's is the rest of the hundred's time: reading the store, merging, writing the snapshot.
    """
    rows: list[Record] = []
    more, documents = documents[-MANY:], documents[:-MANY]
    with (
        tempfile.TemporaryDirectory() as folder,
        Index.create(Path(folder) / "index", encoder=WordTable()) as index,
    ):
        previous = 0
        for size in sizes:
            index.add(documents[previous:size])
            previous = size
            few, many, out = [], [], []
            for _ in range(repeats):
                few.append(elapsed(lambda: index.add(more[:FEW]))[1])
                index.remove(d.id for d in more[:FEW])
                many.append(elapsed(lambda: index.add(more))[1])
                out.append(elapsed(lambda: index.remove(d.id for d in more))[1])
            document = (median(many) - median(few)) / (MANY - FEW)
            change = median(few) - FEW * document
            rows.append(
                {
                    "chunks": size,
                    "nodes": len(index.graph),
                    "edges": len(index.graph.edges),
                    "ms for each document added": round(1000 * document, 3),
                    "seconds for each change": round(change, 3),
                    "the same, ms for each chunk held": round(1000 * change / size, 4),
                    "seconds to remove a thousand": round(median(out), 3),
                }
            )
            print(rows[-1], flush=True)
    return rows


def measure_updates(options: Namespace) -> None:
    """Measure changes of an index."""
    sizes = [size for size in SIZES if size <= options.documents]
    documents = list(islice(varied_documents(options.data), max(sizes, default=1_000) + MANY))
    tenth(documents[:200], 1)  # compiles the kernels
    rows = growth(documents, sizes, options.rounds)
    results = {"tenth": tenth(documents[:5_000], options.rounds), "growth": rows}
    write_results(options.out / "updates.json", results)


# The testbed

MULTIHOP_METHODS = (
    *("vector", "bm25", "hybrid", "ppr", "hyde", "hipporag2", "lightrag-hybrid", "pathrag", "bubblerag", "ircot"),
)
LIGHT = tuple(f"lego-{n}" for n in (1, 2, 3, 6, 7, 10, 12, 14, 15))
HEAVY = tuple(f"lego-{n}" for n in (4, 5, 8, 9, 11, 13))
QUESTIONS = 200


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
                entry.name: entry.built(index.snapshot).search
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
    experiment = Experiment(
        options.data / "multihop/musique", MULTIHOP_METHODS, embed=SPACES, limit=options.questions or 200
    )
    prepared = Prepared(experiment, options.work / "testbed" / "musique")
    asked = {name: prepared.ask((name,), together=False) for name in MULTIHOP_METHODS}
    wall, own = sum(whole for whole, _ in asked.values()), sum(of[name] for name, (_, of) in asked.items())
    count = len(prepared.subject.questions)
    return {
        "questions": count,
        "share of the methods' time": round(wall / own - 1, 4),
        "ms a question": round((wall - own) / len(MULTIHOP_METHODS) / count * 1e3, 3),
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
    folder = options.work / "testbed" / "metaqa"
    groups = {
        "all fifteen": ((*LIGHT, *HEAVY), options.heavy),
        "the nine that read little": (LIGHT, options.questions or 200),
    }
    for label, (names, count) in groups.items():
        experiment = Experiment(
            options.data / "kgqa/metaqa", names, questions="2hop_dev", limit=count, answered=False, metrics=("path f1",)
        )
        prepared = Prepared(experiment, folder)
        apart, own = 0.0, {}
        for name in names:
            seconds, of = in_process(ask_alone, experiment, folder, name)
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


def measure_testbed(options: Namespace) -> None:
    """Measure the cost of the testbed beside the methods, and what sharing steps saves."""
    (options.work / "testbed").mkdir(exist_ok=True)
    path = options.out / "testbed.json"
    for name, measure in {"overhead": overhead, "sharing": sharing}.items():
        print(name, update_results(path, [name], measure(options))[name], flush=True)


PARTS = {
    "retrieve": measure_retrieval,
    "index": measure_indexing,
    "update": measure_updates,
    "testbed": measure_testbed,
}


def main() -> None:
    """Measure the parts asked for."""
    parser = arguments(__doc__, parts=list(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--questions", type=int, help="of each set, the first ones (testbed: 200)")
    parser.add_argument("--heavy", type=int, default=10, help="for the testbed, instances that read every triple")
    parser.add_argument("--documents", type=int, default=SIZES[-1], help="of the corpora, the first ones")
    options = parse(parser)
    for part in options.only:
        PARTS[part](options)


if __name__ == "__main__":
    main()
