"""Measure FastInsight against its baselines on corpus graphs, with one cross-encoder and a budget of 100 (Table 3).

    python benchmarks/published/fastinsight.py --data DIR [--sets scifact cisi ...] [--questions N] [--no-sweeps]
                                                   [--methods 'lightrag*' 'pathrag*']

Writes `corpora/corpora.md` (a table for each set and their average, correlations as in Table 6), and a JSON file for
each set, from which `papers.py` makes the tables of Figures 4 to 7.

Recall is capped at what 10 places can hold; a document has the rank of its first passage; TR is the topological recall
of the first ten passages on the graph of passages that refer to each other. Model outputs are shared by all methods of
a question, and charged to each method with the time that they took. Those named "(blend)" blend the cross-encoder's
score with that of their search, the others rank by it alone. Methods named "(vector)" begin with vectors alone, as
FastInsight does and the paper has it, the others with vectors and words, `multihop-rerank` with `ppr`; it is no method
for corpus graphs, and shows what as many readings can do. HippoRAG 2, LightRAG and PathRAG need a graph of entities:
"(adapted)" they walk, go one step or find paths on the graph of passages (see `adapted.py`); without that they are our
methods, from entities and relations to passages.

A set with `-entities` behind its name is a text-rich knowledge graph (section 4.2.2): nodes are the entities of its
passages, and the relevant ones are those of gold documents. Cora has no questions and is asked synthetic ones, each
about two linked documents. Of sets that the embedded cross-encoder was trained on (scifact, 2wiki) only the questions
held out of its training are asked.

The cross-encoder reads 320 to 490 different pairs a question: at 10 ms a pair, 15 minutes for the 236 questions of
scifact on two idle cores; --no-sweeps reads a third less. --methods asks some methods alone, and puts their rows beside
those of the same questions that are there already, without p values. Interrupted runs continue; other weights, settings
or another index begin a new file below --work.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.data.question_sets.questions import QuestionRecord
from graphwright.errors import DataError
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.metrics import capped_recall_at_k, ndcg_at_k, topological_recall
from graphwright.evaluate.statistics import bootstrap_interval, paired_test
from graphwright.graph.graph import ABOUT, MENTIONS, Graph
from graphwright.index_folder.index import Index
from graphwright.methods.house import BLEND
from graphwright.methods.registry import make_method
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.control import OnGraph, Reached, Repeat
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.run import ModelMemory, Run
from graphwright.operators.search.search import VectorSearch
from graphwright.operators.select import ToPassages
from graphwright.operators.state import Question, State, start
from graphwright.operators.subgraph.narrow import Frontier, Unseen
from graphwright.operators.subgraph.views import EntityGraph, PassageGraph, entity_vectors
from graphwright.search.snapshot import Snapshot

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import (
    SPACES,
    Record,
    Rows,
    arguments,
    documents_of,
    evidence_of,
    linked_questions,
    p_value,
    parse,
    passages_of,
    read_results,
    shared_index,
    table,
    update_results,
    write_page,
    write_results,
)  # fmt: skip
from reading_data import REAL, Asked
from stamps import made_by, states_in, together

from published.adapted import adapted
from published.budgets import budget_gain, rankings_by_budget

ENTITIES = "-entities"
SETS = ("scifact", "cisi", "cranfield", "cora", "musique", "hotpotqa100", "2wiki", f"scifact{ENTITIES}")
BUDGET, BATCH, K = 100, 10, 10
BUDGETS = tuple(range(BATCH, BUDGET + 1, BATCH))
SWEEPS = {"alpha": (0.0, 0.1, 0.2, 0.4, 0.6, 0.8), "beta": (0.0, 0.5, 1.0, 2.0, 4.0)}
DEFAULTS = {"alpha": 0.2, "beta": 1.0}
BASELINE = "rerank (vector)"  # the reranking baseline of the paper
RERANKERS = ("rerank", "rerank (vector)", "gar", "gar (vector)", "fastinsight")
METRICS = {"recall": "recall@10", "ndcg": "nDCG@10"}
LABELS = {"hyde": "hyde (its offline twin, feedback)"}


class CorpusGraph:
    """A set with its index, and every method over the graph of its passages."""

    named: Sequence[str] = (
        "bm25", "vector", "hyde", "hybrid", "hipporag2 (adapted)", "lightrag (adapted)", "pathrag (adapted)",
        "lightrag-local", "lightrag-global", "lightrag-hybrid", "pathrag", "ppr", "rerank", "rerank (vector)",
        "rerank (blend)", "gar", "gar (vector)", "gar (blend)", "fastinsight", "fastinsight (blend)", "multihop-rerank",
        "multihop-rerank (vector)",
    )  # fmt: skip

    def __init__(self, folder: Path, options: Namespace) -> None:
        self.work = options.work / "corpora"
        experiment = Experiment(linked_questions(folder, options.work), ("vector",), embed=SPACES)
        self.data, self.encoder, self.model = experiment.read(), MiniLM(), MiniLMCrossEncoder()
        self.name = self.data.name
        place = options.work / "indexes" / self.name
        shared_index(place, experiment, options.work)
        self.index = Index.open(place, encoder=self.encoder)
        self.ix: Snapshot = self.index.snapshot
        self.questions = [q for q in self.data.questions if held_out(self.name, q)][: options.questions]
        wanted = options.methods or ["*"]
        self.named = [name for name in self.named if any(fnmatchcase(name, pattern) for pattern in wanted)]
        self.methods = {name: self.method(name) for name in self.named}
        sweeps = {} if options.no_sweeps or options.methods else SWEEPS
        self.swept = {
            f"{name}={value:g}": self.fastinsight(**{name: value})
            for name, values in sweeps.items()
            for value in values
            if value != DEFAULTS[name]
        }

    @cached_property
    def graph(self) -> Graph:
        """The corpus graph."""
        return PassageGraph()(self.ix.graph)

    @cached_property
    def nodes(self) -> NDArray[Any]:
        """Ids of all nodes that can be retrieved."""
        return np.array(sorted(node for nodes in self.chunks.values() for node in nodes), np.int64)

    @cached_property
    def chunks(self) -> dict[str, list[int]]:
        """The passages of each document."""
        chunks: dict[str, list[int]] = {}
        passages = self.ix.graph.passages
        for node in () if passages is None else passages.nodes.tolist():
            chunks.setdefault(documents_of(self.ix.graph, [node])[0], []).append(node)
        return chunks

    def method(self, name: str) -> Operator:
        """Return the retrieval of a method."""
        method, _, variant = name.partition(" ")
        near = VectorSearch(self.ix.passages)
        if variant == "(adapted)":
            return OnGraph(PassageGraph(), adapted(method, self.ix.passages)) % BUDGET >> ToPassages()
        if method == "fastinsight":
            return self.fastinsight(**({"blend": BLEND} if variant == "(blend)" else {}))
        options: Record = {"first": near} if variant == "(vector)" else {}
        if method in ("rerank", "gar"):
            options |= {"cross_encoder": self.model, "budget": BUDGET, "blend": BLEND if variant == "(blend)" else 1.0}
        if method == "multihop-rerank":  # reads each of its 25 passages once, and again in three contexts
            options |= {"cross_encoder": self.model, "pool": BUDGET // 4}
        return make_method(method, self.ix, top_k=BUDGET, **options).search

    def fastinsight(self, **options: float) -> Operator:
        """Return FastInsight with some options."""
        options_: Record = {"cross_encoder": self.model, "budget": BUDGET, **options}
        return make_method("fastinsight", self.ix, top_k=BUDGET, **options_).search

    def retrieved(self, state: State) -> list[int]:
        """Return the nodes that a method retrieved, best first."""
        return passages_of(state)

    def relevant(self, question: QuestionRecord) -> list[int]:
        """Return the relevant nodes."""
        return [node for document in question.gold for node in self.chunks.get(document, ())]

    def quality(self, nodes: Sequence[int], question: QuestionRecord) -> list[float]:
        """Return recall and nDCG of the first ten documents."""
        documents = documents_of(self.ix.graph, nodes)
        return [round(metric(documents, question.gold, K), 5) for metric in (capped_recall_at_k, ndcg_at_k)]

    def settings(self) -> Record:
        """Return what results depend on, except the code and the machine."""
        operators = {name: repr(operator) for name, operator in (self.methods | self.swept).items()}
        models = {"cross_encoder": self.model.id, "encoder": self.encoder.id}
        return {"operators": operators, "graph": self.graph.checksum, "k": K, **models, **self.data.checksums}

    def ask(self, question: QuestionRecord) -> Record:
        """Ask one question by every method and with every setting; return its row."""
        memory, relevant = ModelMemory(), self.relevant(question)
        row: Record = {"question": question.id, "methods": {}, "curves": {}, "gain": {}, "swept": {}}
        for name, operator in self.methods.items():
            state, seconds = self.run(operator, question, memory)
            nodes = self.retrieved(state)
            tr = round(topological_recall(self.graph, nodes[:K], relevant), 5)
            row["methods"][name] = [*self.quality(nodes, question), tr, round(1000 * seconds, 2)]
            if name in RERANKERS:
                row["curves"][name], row["gain"][name] = self.by_budget(state, question, relevant)
        for name, operator in self.swept.items():
            row["swept"][name] = self.quality(self.retrieved(self.run(operator, question, memory)[0]), question)
        return row

    def run(self, operator: Operator, question: QuestionRecord, memory: ModelMemory) -> tuple[State, float]:
        """Return the state after a method, and the seconds that it would have taken alone."""
        run = Run(memory=memory, charged=set())
        begun = time.perf_counter()
        state = operator(start(Question(question.text, question.id), self.ix.graph), run)
        return state, time.perf_counter() - begun + run.usage.saved

    def by_budget(self, state: State, question: QuestionRecord, relevant: list[int]) -> tuple[list[Any], list[float]]:
        """Return quality and topological recall at each budget, and the gain after the first batch."""
        ranked = rankings_by_budget(state, BATCH)
        recalls = {read: topological_recall(self.graph, nodes, relevant) for read, nodes in ranked.items()}
        curve = []
        for budget in BUDGETS:
            # A method that ran out of passages keeps what it had.
            read = max((read for read in ranked if read <= budget), default=min(ranked))
            curve.append([read, *self.quality(ranked[read].tolist(), question), round(recalls[read], 5)])
        gain = budget_gain(self.graph, ranked, relevant)
        return curve, [round(value, 5) for value in gain]


class EntityCorpus(CorpusGraph):
    """A set as a text-rich knowledge graph: the relevant nodes are the entities that gold documents name."""

    named = ("vector", "lightrag (adapted)", "pathrag (adapted)", "rerank (vector)", "gar (vector)", "fastinsight")

    def __init__(self, folder: Path, options: Namespace) -> None:
        super().__init__(folder, options)
        self.name += ENTITIES

    @cached_property
    def graph(self) -> Graph:
        """The graph of entities."""
        return EntityGraph()(self.ix.graph)

    @cached_property
    def nodes(self) -> NDArray[Any]:
        """Ids of all entities that passages name."""
        return self.entities([node for nodes in self.chunks.values() for node in nodes])

    def entities(self, passages: Sequence[int]) -> NDArray[Any]:
        """Return the entities that passages name."""
        rows = self.ix.graph.columns.by_relation(ABOUT, MENTIONS)
        return np.unique(rows.rows(np.array(passages, np.int64)))

    def method(self, name: str) -> Operator:
        """Return the retrieval of a method."""
        vectors, rank = entity_vectors(self.ix.graph, self.ix.passages), Rerank(self.model)
        near = VectorSearch(vectors)
        alternate = (Keep() | Frontier() % BATCH) >> rank >> (Keep() | Unseen(near) % BATCH) >> rank
        methods: dict[str, Callable[[], Operator]] = {
            "vector": lambda: OnGraph(EntityGraph(), near % BUDGET),
            "lightrag (adapted)": lambda: OnGraph(EntityGraph(), adapted("lightrag", vectors)) % BUDGET,
            "pathrag (adapted)": lambda: OnGraph(EntityGraph(), adapted("pathrag", vectors)) % BUDGET,
            "rerank (vector)": lambda: OnGraph(EntityGraph(), near % BUDGET >> rank),
            "gar (vector)": lambda: OnGraph(
                EntityGraph(), near % BATCH >> rank >> Repeat(alternate, until=Reached(nodes=BUDGET))
            ),
            "fastinsight": self.fastinsight,
        }
        return methods[name]()

    def fastinsight(self, **options: float) -> Operator:
        """Return FastInsight with some options."""
        options_: Record = {"cross_encoder": self.model, "budget": BUDGET, **options}
        # The last step ranks passages by the entities; here the entities are measured.
        return make_method("fastinsight-entities", self.ix, **options_).search

    def retrieved(self, state: State) -> list[int]:
        """Return the entities that a method retrieved, best first; of a path the first new one first."""
        return list(dict.fromkeys(evidence_of(state).nodes.tolist()))

    def relevant(self, question: QuestionRecord) -> list[int]:
        """Return the relevant entities."""
        ids: list[int] = self.entities(super().relevant(question)).tolist()
        return ids

    def quality(self, nodes: Sequence[int], question: QuestionRecord) -> list[float]:
        """Return recall and nDCG of the first ten entities."""
        relevant = self.relevant(question)
        return [round(metric(list(nodes), relevant, K), 5) for metric in (capped_recall_at_k, ndcg_at_k)]


def held_out(name: str, question: QuestionRecord) -> bool:
    """Return whether the embedded cross-encoder was not trained on a question."""
    return name not in REAL or Asked(question.id, question.text, [], []).held_out


def folder_of(data: Path, name: str) -> Path:
    """Return the folder of a set."""
    for folder in (data / "ir" / name, data / "multihop" / name):
        if folder.is_dir():
            return folder
    raise DataError(f"There is no folder {name} in {data}/ir or {data}/multihop.")


def ask_all(corpus: CorpusGraph) -> list[Record]:
    """Return the rows of all questions; those of an interrupted run are read."""
    digest = blake2b(json.dumps(corpus.settings(), sort_keys=True).encode(), digest_size=6).hexdigest()
    rows = Rows(corpus.work / corpus.name / f"rows-{digest}.jsonl", "question")
    missing = [question for question in corpus.questions if (question.id,) not in rows]
    if missing:
        corpus.ask(replace(missing[0], text=f"{missing[0].text} (not counted)"))  # compiles kernels, opens files
    for number, question in enumerate(missing, 1):
        rows.add(corpus.ask(question))
        print(f"\r{corpus.name}: {number} of {len(missing)} ", end="", file=sys.stderr)
    return [rows[(question.id,)] for question in corpus.questions]


def summarised(corpus: CorpusGraph, rows: Sequence[Record]) -> Record:
    """Return the means of a set with their intervals and tests, and the curves of its figures."""
    values = {name: np.array([row["methods"][name] for row in rows]) for name in corpus.named}
    rerankers = [name for name in RERANKERS if name in values]
    methods = summaries_of(values)
    degrees = np.diff(corpus.graph.adjacency.indptr)[corpus.nodes]
    return {
        "set": corpus.name,
        "questions": len(rows),
        "nodes": len(degrees),
        "links": int(degrees.sum() // 2),
        "alone": int((degrees == 0).sum()),
        "encoder": corpus.encoder.id,
        "cross_encoder": corpus.model.id,
        "methods": methods,
        "curves": {name: np.mean([row["curves"][name] for row in rows], axis=0).tolist() for name in rerankers},
        "sweeps": sweep_curves(methods["fastinsight"], rows),
        "correlations": {name: correlations([row["gain"][name] for row in rows]) for name in rerankers},
        "quarters": {name: quarters(values[name][:, 0], values["vector"][:, 2]) for name in rerankers},
    }


def summaries_of(values: Mapping[str, NDArray[Any]]) -> Record:
    """Return the means of each method."""
    return {name: method_summary(own, values.get(BASELINE), name) for name, own in values.items()}


def method_summary(values: NDArray[Any], baseline: NDArray[Any] | None, name: str) -> Record:
    """Return the means of a method, and without p values where the baseline was not asked."""
    summary: Record = {"tr": values[:, 2].mean(), "ms": float(np.median(values[:, 3]))}
    for at, metric in enumerate(METRICS):
        low, high = bootstrap_interval(values[:, at])
        summary[metric] = {"mean": values[:, at].mean(), "low": low, "high": high}
        if baseline is not None and name != BASELINE:
            summary[metric]["p"] = paired_test(values[:, at], baseline[:, at])
    return summary


def sweep_curves(default: Record, rows: Sequence[Record]) -> Record:
    """Return recall and nDCG by the values of alpha and beta."""
    swept = {name: np.mean([row["swept"][name] for row in rows], axis=0).tolist() for name in rows[0]["swept"]}
    usual = [default[metric]["mean"] for metric in METRICS]
    curves = {
        name: [[value, *swept.get(f"{name}={value:g}", usual)] for value in values] for name, values in SWEEPS.items()
    }
    return curves if swept else {}


def correlations(gains: Sequence[Sequence[float]]) -> Record:
    """Return the correlations of recall and of MissTR after the first batch with the recall gained later (Table 6).

    `open`: that of MissTR over the questions for which the first batch left something to gain; for the others both are
    0, which alone makes a correlation.
    """
    points = np.array(gains)

    def with_gain(some: NDArray[Any], column: int) -> float | None:
        values, gained = some[:, column], some[:, 2]
        varied = len(some) > 2 and values.std() > 0 < gained.std()
        return float(np.corrcoef(values, gained)[0, 1]) if varied else None

    incomplete = points[points[:, 0] < 1]
    return {"recall": with_gain(points, 0), "missed": with_gain(points, 1), "open": with_gain(incomplete, 1)}


def quarters(recalls: NDArray[Any], first: NDArray[Any]) -> list[float]:
    """Return the mean recall of each quarter of the questions by the topological recall of vector search, rising."""
    return [float(recalls[part].mean()) for part in np.array_split(np.argsort(first, kind="stable"), 4)]


def added(path: Path, corpus: CorpusGraph, rows: Sequence[Record]) -> Record:
    """Add methods to the summary of a set, and return it. Raises SystemExit if that is of other questions."""
    before = read_results(path)
    if before.get("questions") != len(rows):
        raise SystemExit(f"{path} is of {before.get('questions', 0)} questions, these methods of {len(rows)}.")
    methods = before["methods"] | summaries_of(
        {name: np.array([row["methods"][name] for row in rows]) for name in corpus.named}
    )
    order = [name for name in type(corpus).named if name in methods]
    states = together([states_in(path), made_by()])
    return update_results(path, ["methods"], {name: methods[name] for name in order}, states=states)


def averaged(summaries: Sequence[Record]) -> Record:
    """Return the mean of the sets' means, of the methods that all sets have."""
    sets = [summary["methods"] for summary in summaries]
    means = {}
    for name in (name for name in sets[0] if all(name in of for of in sets)):
        means[name] = {metric: {"mean": np.mean([of[name][metric]["mean"] for of in sets])} for metric in METRICS}
        means[name] |= {what: np.mean([of[name][what] for of in sets]) for what in ("tr", "ms")}
    return means


def methods_table(methods: Record) -> str:
    """Return the table of a set."""
    rows = []
    for name, values in methods.items():
        cells = [cell(methods, name, metric) for metric in METRICS]
        rows.append([LABELS.get(name, name), *cells, f"{100 * values['tr']:.1f}", f"{values['ms']:,.0f}"])
    return table(["method", *METRICS.values(), "TR@10", "p50 ms"], rows)


def cell(methods: Record, name: str, metric: str) -> str:
    """Return a mean, the best in bold, with its interval and p where a single set has them."""
    value = methods[name][metric]
    mean = f"{100 * value['mean']:.1f}"
    if mean == f"{100 * max(values[metric]['mean'] for values in methods.values()):.1f}":
        mean = f"**{mean}**"
    if "low" not in value:
        return mean
    p = f", {p_value(value['p'])}" if "p" in value else ""
    return f"{mean} ({100 * value['low']:.1f}–{100 * value['high']:.1f}{p})"


def correlation_table(summaries: Sequence[Record]) -> str:
    """Return the correlations of all sets."""
    names = [name for name in RERANKERS if not name.startswith("rerank")]
    header = ["set", *(f"{name}, {what}" for name in names for what in ("recall", "MissTR", "MissTR where open"))]
    rows = []
    for summary in summaries:
        of = summary["correlations"]
        values = [of.get(name, {}).get(what) for name in names for what in ("recall", "missed", "open")]
        rows.append([summary["set"], *("" if value is None else f"{value:.2f}" for value in values)])
    return table(header, rows)


def page(summaries: Sequence[Record]) -> str:
    """Return the tables of all sets."""
    parts = [
        "# Retrieval on corpus graphs",
        f"Cross-encoder {summaries[0]['cross_encoder']}, encoder {summaries[0]['encoder']}, budget {BUDGET}, batch "
        f"{BATCH}. Percent with 95 % bootstrap intervals over questions; p: paired randomisation test against "
        f"{BASELINE}. Rerankers begin with vectors and words, multihop-rerank with ppr, those named (vector) and "
        "fastinsight with vectors alone. Times of one question are medians, with the encoding of the question and "
        "every pair that the method read. Of sets that the embedded cross-encoder was trained on only the questions "
        "held out of that are asked.",
    ]
    for s in summaries:
        kind = "entities" if s["set"].endswith(ENTITIES) else "passages"
        counts = f"{s['questions']:,} questions; {s['nodes']:,} {kind}, {s['links']:,} pairs of them linked, "
        parts.append(f"## {s['set']}\n\n{counts}{s['alone']:,} without a link.\n\n{methods_table(s['methods'])}")
    of_passages = [summary for summary in summaries if not summary["set"].endswith(ENTITIES)]
    if len(of_passages) > 1:
        parts.append(f"## Average of {len(of_passages)} sets of passages\n\n{methods_table(averaged(of_passages))}")
    parts.append(
        "## Correlations with the gain\n\nCorrelation of recall and of MissTR after the first batch with the recall "
        "gained from there to the end of the budget; where open: over the questions for which the first batch left "
        f"something to gain, as for the others both are 0.\n\n{correlation_table(summaries)}"
    )
    return "\n\n".join(parts)


def main() -> None:
    """Measure the sets asked for."""
    parser = arguments(__doc__, sets=SETS)
    parser.add_argument("--questions", type=int, help="of each set, the first ones")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help="only these methods, or patterns of them")
    parser.add_argument("--no-sweeps", action="store_true", help="keep alpha and beta at their defaults")
    options = parse(parser)
    out = options.out / "corpora"
    out.mkdir(exist_ok=True)
    for name in options.sets:
        kind = EntityCorpus if name.endswith(ENTITIES) else CorpusGraph
        corpus = kind(folder_of(options.data, name.removesuffix(ENTITIES)), options)
        with corpus.index:
            rows, path = ask_all(corpus), out / f"{name}.json"
            summary = added(path, corpus, rows) if options.methods else summarised(corpus, rows)
        if not options.methods:
            write_results(path, summary)
        print(methods_table(summary["methods"]), flush=True)
    files = [out / f"{name}.json" for name in SETS if (out / f"{name}.json").exists()]
    summaries, states = [read_results(file) for file in files], together(map(states_in, files))
    write_page(out / "corpora.md", page(summaries), states)


if __name__ == "__main__":
    main()
