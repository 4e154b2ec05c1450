"""Retrieval on corpus graphs: FastInsight against its baselines, with one cross-encoder and a budget of 100 (Table 3).

    python benchmarks/corpora.py --data DIR [--sets scifact cisi ...] [--questions N] [--out benchmarks/results/corpora]

For each set the index is made once (lexical extraction, and what documents refer to where the set says it), and every
method is asked every question. Writes corpora.md (a table for each set and their average, correlations as in Table 6),
a JSON file for each set with the numbers of each question, and the figures: nDCG@10 and recall@10 against the passages
read (as Figure 4), recall@10 by quartiles of topological recall (Figure 5), topological recall over the budget (Figure
6), MissTR against what was gained (Table 6), sensitivity to alpha and beta (Figure 7).

Recall is capped at what 10 places can hold, documents count where their first passage stands; TR is that of the ten
first passages on the graph of passages that refer to each other. A method opens the index for itself and so pays for
the encoding of its own questions. A pair of question and passage is read once and its latent shared by all methods and
settings; its time is added to the time of each method that asks for it, as if it had read it itself. Methods named
"(vector)" begin with the vectors alone, as FastInsight does and the paper has it, the others with vectors and words,
`multihop-rerank` with `ppr`; it is no method for corpus graphs, and shows what the same number of readings can do. HippoRAG 2
and LightRAG are for graphs of entities; "adapted" they walk, or go one step, on the graph of passages.

A set with `-entities` behind its name is a text-rich knowledge graph instead (section 4.2.2): nodes are the entities of
its passages, and all those of gold documents should be found.

A set that has links and no questions, as cora, is asked synthetic ones that need two linked documents each. Of sets
that the embedded cross-encoder was trained on (scifact, 2wiki) only the questions that were held out of that are asked.

What it takes: the cross-encoder reads 320 to 490 different pairs a question for everything together, and all else takes
less than a second, so at 10 ms a pair three to four seconds on two idle cores: 15 minutes for the 236 questions of
scifact and as many for cranfield's 225, 10 for 2wiki's 163, 5 for each hundred of the others; --no-sweeps reads a third
less. Each question's result is written as it comes, under --runs, and an interrupted run goes on where it stopped;
another model or other weights of it, another index or setting begin a new file there.
"""

import argparse
import json
import shutil
import sys
import time
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np
from corpora_figures import draw

from graphwright import (
    EncoderCrossEncoder,
    Frontier,
    Index,
    Keep,
    EntityGraph,
    PassageGraph,
    PersonalizedPageRank,
    Reached,
    Repeat,
    Rerank,
    SentenceTransformerEncoder,
    SentenceTransformerSparseEncoder,
    ToPassages,
    SparseIndex,
    SparseSearch,
    Unseen,
    VectorIndex,
    VectorSearch,
    start,
)
from graphwright.data.documents import read_documents
from graphwright.data.questions import write_questions
from graphwright.errors import DataError
from graphwright.evaluate.metrics import budget_gain, rankings_by_budget, recall_by_budget
from graphwright.evaluate.indexing import build_index
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.metrics import capped_recall_at_k, ndcg_at_k, topological_recall
from graphwright.evaluate.statistics import bootstrap_interval, paired_test
from graphwright.evaluate.synthetic import two_document_questions
from graphwright.graph.graph import ABOUT, MENTIONS
from graphwright.methods.registry import pipeline, retrieval_part
from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.control import OnGraph
from graphwright.operators.search.hipporag import PhraseSeeds
from graphwright.operators.state import Question
from graphwright.operators.subgraph.views import EntityGraph, entity_vectors
from graphwright.operators.subgraph.views import RELATIONS, PassageGraph

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
from reading_data import REAL, Asked

SETS = ("scifact", "cisi", "cranfield", "cora", "musique", "hotpotqa100", "2wiki", "scifact-entities")
ENTITIES = "-entities"
BUDGET, BATCH, K = 100, 10, 10
SYNTHETIC = 200  # questions of a set that has none
BUDGETS = tuple(range(BATCH, BUDGET + 1, BATCH))
ALPHAS, BETAS = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8), (0.0, 0.5, 1.0, 2.0, 4.0)
USUAL = {"alpha": 0.2, "beta": 1.0}
BASELINE = "rerank (vector)"  # Re2 as the paper has it
METRICS = ("recall", "ndcg")
# Each with its name in the registry, and whether its first search is to be that of vectors alone.
METHODS = {
    "bm25": ("bm25", False),
    "vector": ("vector", False),
    "hyde": ("hyde", False),
    "hybrid": ("hybrid", False),
    "hipporag2 (adapted)": (None, True),
    "lightrag (adapted)": (None, True),
    "ppr": ("ppr", False),
    "rerank": ("rerank", False),
    "rerank (vector)": ("rerank", True),
    "gar": ("gar", False),
    "gar (vector)": ("gar", True),
    "fastinsight": ("fastinsight", False),
    "multihop-rerank": ("multihop-rerank", False),
    "multihop-rerank (vector)": ("multihop-rerank", True),
}
READING = ("rerank", "rerank (vector)", "gar", "gar (vector)", "fastinsight")
LABELS = {"hyde": "hyde (its offline twin, feedback)"}
LOADED = {"SPLADE": "sparse", "Contriever": "dense"}  # by the arguments that name their weights


class Shared:
    """A cross-encoder that reads a pair of question and text once, and tells what a method that asked would have paid.

    Latents are kept until `forget`, which the next question calls for. `pairs` and `seconds` are of what was asked for
    since `begin`, each pair once, at the time that it took when it was read; `spent` is the time that reading really
    took since then.
    """

    def __init__(self, model):
        self.model = model
        self.forget()
        self.begin()

    def __repr__(self):
        return repr(self.model)

    @property
    def id(self):
        return getattr(self.model, "id", repr(self.model))

    def forget(self):
        self.known = {}

    def begin(self):
        self.asked, self.spent = {}, 0.0

    @property
    def pairs(self):
        return len(self.asked)

    @property
    def seconds(self):
        return sum(self.known[pair][1] for pair in self.asked)

    def latents(self, query, texts):
        new = [text for text in dict.fromkeys(texts) if (query, text) not in self.known]
        if new:
            begun = time.perf_counter()
            rows = self.model.latents(query, new)
            took = time.perf_counter() - begun
            self.spent += took
            self.known |= {(query, text): (row, took / len(new)) for text, row in zip(new, rows, strict=True)}
        self.asked |= dict.fromkeys((query, text) for text in texts)
        return np.stack([self.known[query, text][0] for text in texts])

    def head(self, latents):
        return self.model.head(latents)


def cross_encoder(name):
    if name == "dot":
        return EncoderCrossEncoder(MiniLM())
    from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder

    return MiniLMCrossEncoder()


def folder_of(data, name):
    for folder in (data / name, data / "ir" / name, data / "multihop" / name):
        if folder.is_dir():
            return folder
    raise DataError(f"no folder {name} in {data}, nor in ir or multihop there.")


def asked(folder, runs):
    """Return the folder, or where it has no questions another that has synthetic ones beside copies of its files."""
    if any((folder / name).exists() for name in ("questions.jsonl", "queries.jsonl")):
        return folder
    made_of = runs / folder.name / "data" / folder.name
    if not (made_of / "questions.jsonl").exists():
        made_of.mkdir(parents=True, exist_ok=True)
        for path in folder.glob("*.[jt]s*"):
            shutil.copyfile(path, made_of / path.name)
        documents = list(read_documents([*folder.glob("corpus.jsonl*")], lambda skipped: None))
        write_questions(made_of / "questions.jsonl", two_document_questions(documents, SYNTHETIC))
    return made_of


def unseen(data):
    """Return the questions of a set that the embedded cross-encoder was not trained on."""
    return [q for q in data.questions if data.name not in REAL or Asked(q.id, q.text, [], []).held_out]


class Subject:
    """A set with its index and every method over it: on the graph of its passages, where documents should be found."""

    named = tuple(METHODS)

    def __init__(self, folder, runs, model, given):
        experiment = Experiment(asked(folder, runs), ("vector",))
        self.data, self.encoder, self.model = experiment.read(), MiniLM(), model
        self.name, self.index, self.relations = self.data.name, runs / self.data.name / "index", tuple(given.relations)
        self.index.parent.mkdir(parents=True, exist_ok=True)
        build_index(self.index, experiment, self.data, self.encoder, None)
        self.questions = unseen(self.data)[: given.questions]
        self.weights = {name: getattr(given, argument) for name, argument in LOADED.items()}
        self.opened, self.methods, self.swept = [], {}, {}  # name to operator and the graph it was built over
        self.named += tuple(name for name in LOADED if self.weights[name] and self.named == Subject.named)
        for name in self.named:
            self.opened.append(Index.open(self.index, encoder=self.encoder))
            ix = self.opened[-1].snapshot
            self.methods[name] = self.method(name, ix), ix.graph
        for option, values in (("alpha", ALPHAS), ("beta", BETAS)) if not given.no_sweeps else ():
            for value in values:
                if value != USUAL[option]:
                    self.swept[f"{option}={value:g}"] = self.fastinsight(ix, **{option: value}), ix.graph
        self.whole, passages = ix.graph, ix.graph.passages  # of the last one opened; all are alike
        self.document = {int(node): passages.of(int(node)).document for node in passages.nodes}
        self.chunks = {}
        for node, document in self.document.items():
            self.chunks.setdefault(document, []).append(node)

    @cached_property
    def graph(self):
        """The corpus graph."""
        return PassageGraph(self.whole, relations=self.relations)

    @property
    def nodes(self):
        """Ids of all that can be found."""
        return self.graph.passages.nodes

    def method(self, name, ix):
        if name in LOADED:
            return self.loaded(name, ix)
        registered, vector = METHODS[name]
        if registered is None:
            return self.adapted(name, ix)
        if registered == "fastinsight":
            return self.fastinsight(ix)
        options = {"first": VectorSearch(ix.passages)} if vector else {}
        if registered in ("rerank", "gar"):
            options |= {"cross_encoder": self.model, "budget": BUDGET}
        if registered == "multihop-rerank":  # each of its 25 passages once, and once more for each of three contexts
            options |= {"cross_encoder": self.model, "pool": BUDGET // 4}
        if registered == "gar":
            options |= {"relations": self.relations}
        return retrieval_part(pipeline(registered, ix, top_k=BUDGET, **options))

    def adapted(self, name, ix):
        """Return what is left of a method for entities on a graph of passages, which is all that there is to name.

        HippoRAG 2: a walk from the five nearest and, a little, from all others; LightRAG: the forty nearest, and after
        them what is next to each, so that its first ten are those of the vectors.
        """
        near = VectorSearch(ix.passages)
        if name.startswith("hipporag2"):
            found = near % 5 >> PhraseSeeds(ix.passages) >> PersonalizedPageRank(0.5)
        else:
            found = near % 40 >> (Keep() | Frontier())
        return OnGraph(PassageGraph(relations=self.relations), found) % BUDGET >> ToPassages()

    def loaded(self, name, ix):
        if name == "SPLADE":
            encoder = SentenceTransformerSparseEncoder(self.weights[name])
            search = SparseSearch(SparseIndex.of(ix.graph, encoder))
        else:
            encoder, nodes = SentenceTransformerEncoder(self.weights[name]), ix.graph.passages.nodes
            vectors = encoder.encode([ix.graph.reading(int(node)) for node in nodes])
            row_of = np.full(len(ix.graph), -1, np.int32)
            row_of[nodes] = np.arange(len(nodes))
            search = VectorSearch(VectorIndex(vectors, row_of, encoder))
        return search % BUDGET >> ToPassages()

    def fastinsight(self, ix, **options):
        options |= {"cross_encoder": self.model, "budget": BUDGET, "relations": self.relations}
        return retrieval_part(pipeline("fastinsight", ix, top_k=BUDGET, **options))

    def found(self, state):
        """Return the nodes that a method found, best first."""
        return state.passages.ids

    def ids(self, nodes):
        """Return what nodes are measured as: the documents of passages."""
        return [self.document[int(node)] for node in nodes]

    def gold(self, question):
        return question.gold

    def oracle(self, question):
        """Return the nodes that should be found."""
        return [node for document in question.gold for node in self.chunks.get(document, ())]

    def settings(self):
        """All that a result depends on but the code and the machine."""
        operators = {name: repr(operator) for name, (operator, _) in (self.methods | self.swept).items()}
        models = {"cross_encoder": self.model.id, "encoder": self.encoder.id}  # operators do not name their weights
        return {"operators": operators, "graph": self.graph.checksum, "k": K, **models, **self.data.checksums}

    def quality(self, nodes, question):
        return [round(f(self.ids(nodes), self.gold(question), K), 5) for f in (capped_recall_at_k, ndcg_at_k)]

    def ask(self, operator, graph, question):
        state = start(Question(question.text, question.id), graph)
        self.model.begin()
        begun = time.perf_counter()
        state = operator(state)
        seconds = time.perf_counter() - begun - self.model.spent + self.model.seconds
        return state, seconds

    def result(self, question):
        """Ask one question by every method and with every setting."""
        self.model.forget()
        oracle = self.oracle(question)
        row = {"question": question.id, "methods": {}, "curves": {}, "gain": {}, "swept": {}}
        for name, method in self.methods.items():
            state, seconds = self.ask(*method, question)
            nodes = self.found(state)
            tr = round(topological_recall(self.graph, nodes[:K], oracle), 5)
            row["methods"][name] = [*self.quality(nodes, question), tr, round(1000 * seconds, 2), self.model.pairs]
            if name in READING:
                row["curves"][name], row["gain"][name] = self.reading(state, question, oracle)
        for name, method in self.swept.items():
            row["swept"][name] = self.quality(self.found(self.ask(*method, question)[0]), question)
        return row

    def reading(self, state, question, oracle):
        """What a method that reads had found at each budget, one that ran out of passages what it had then."""
        ranked = rankings_by_budget(state, BATCH)
        over = recall_by_budget(self.graph, ranked, oracle)
        curve = []
        for budget in BUDGETS:
            read = max((read for read in ranked if read <= budget), default=min(ranked))
            curve.append([read, *self.quality(ranked[read], question), round(over[read], 5)])
        gained = budget_gain(self.graph, ranked, oracle)
        return curve, [round(value, 5) for value in (gained.recall, gained.missed, gained.gained)]

    def close(self):
        for index in self.opened:
            index.close()


class Entities(Subject):
    """A set as a text-rich knowledge graph: entities should be found, all that gold documents name."""

    named = ("vector", "lightrag (adapted)", "rerank (vector)", "gar (vector)", "fastinsight")

    def __init__(self, folder, runs, model, given):
        super().__init__(folder, runs, model, given)
        self.name += ENTITIES

    @cached_property
    def graph(self):
        return EntityGraph()(self.whole)

    @cached_property
    def nodes(self):
        return np.unique(self.holds.rows(self.whole.passages.nodes))

    @property
    def holds(self):
        return self.whole.columns.by_relation(ABOUT, MENTIONS)

    def method(self, name, ix):
        near, rank = VectorSearch(entity_vectors(ix.graph, ix.passages)), Rerank(self.model)
        turns = (Keep() | Frontier() % BATCH) >> rank >> (Keep() | Unseen(near) % BATCH) >> rank
        return {
            "vector": OnGraph(EntityGraph(), near % BUDGET),
            "lightrag (adapted)": OnGraph(EntityGraph(), near % 40 >> (Keep() | Frontier())) % BUDGET,
            "rerank (vector)": OnGraph(EntityGraph(), near % BUDGET >> rank),
            "gar (vector)": OnGraph(EntityGraph(), near % BATCH >> rank >> Repeat(turns, until=Reached(nodes=BUDGET))),
            "fastinsight": self.fastinsight(ix),
        }[name]

    def fastinsight(self, ix, **options):
        options |= {"cross_encoder": self.model, "budget": BUDGET}
        return retrieval_part(pipeline("fastinsight-entities", ix, **options))

    def found(self, state):
        return state.evidence.nodes

    def ids(self, nodes):
        return np.asarray(nodes).tolist()

    def gold(self, question):
        return self.oracle(question)

    def oracle(self, question):
        return np.unique(self.holds.rows(np.array(super().oracle(question), np.int64))).tolist()


def results_of(subject, path):
    """Return each question's row, asking what is not in the file; a line cut short is asked again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    held = path.read_bytes() if path.exists() else b""
    whole = held[: held.rfind(b"\n") + 1]
    rows = {row["question"]: row for row in map(json.loads, whole.splitlines())}
    todo = [question for question in subject.questions if question.id not in rows]
    if todo:
        warm = replace(todo[0], text=f"{todo[0].text} (not counted)")
        subject.result(warm)  # compiles kernels, opens files, links passages
    if len(whole) < len(held):
        path.write_bytes(whole)
    begun = time.perf_counter()
    with path.open("a", encoding="utf-8", newline="\n") as file:
        for done, question in enumerate(todo, 1):
            row = rows[question.id] = subject.result(question)
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
            file.flush()
            left = (time.perf_counter() - begun) / done * (len(todo) - done)
            print(f"\r{path.parent.name}: {done} of {len(todo)}, {left / 60:.0f} min left ", end="", file=sys.stderr)
    print(file=sys.stderr)
    return [rows[question.id] for question in subject.questions]


def summarised(subject, rows):
    """Return the means of a set with their intervals and tests, and the curves of its figures."""
    of = {name: np.array([row["methods"][name] for row in rows]) for name in subject.named}
    reading = [name for name in READING if name in of]
    methods = {}
    for name, values in of.items():
        entry = {"tr": values[:, 2].mean(), "ms": float(np.median(values[:, 3])), "pairs": values[:, 4].mean()}
        for at, metric in enumerate(METRICS):
            low, high = bootstrap_interval(values[:, at])
            entry[metric] = {"mean": values[:, at].mean(), "low": low, "high": high}
            if name != BASELINE:
                entry[metric]["p"] = paired_test(values[:, at], of[BASELINE][:, at])
        methods[name] = entry
    swept = {name: np.mean([row["swept"][name] for row in rows], axis=0).tolist() for name in rows[0]["swept"]}
    usual = [methods["fastinsight"][metric]["mean"] for metric in METRICS]
    sweeps = {
        option: [[value, *swept.get(f"{option}={value:g}", usual)] for value in values]
        for option, values in (("alpha", ALPHAS), ("beta", BETAS))
        if swept
    }
    degrees = np.diff(subject.graph.columns.adjacency.indptr)[subject.nodes]
    return {
        "set": subject.name,
        "questions": len(rows),
        "nodes": len(degrees),
        "links": int(degrees.sum() // 2),
        "alone": int((degrees == 0).sum()),
        "encoder": subject.encoder.id,
        "cross_encoder": subject.model.id,
        "methods": methods,
        "curves": {name: np.mean([row["curves"][name] for row in rows], axis=0).tolist() for name in reading},
        "sweeps": sweeps,
        "correlations": {name: correlations(rows, name) for name in reading},
        "rows": [{name: row[name] for name in ("question", "methods", "gain", "swept")} for row in rows],
    }


def correlations(rows, name):
    """Return those of recall and of MissTR after the first batch with the recall gained from there (Table 6).

    `open`: that of MissTR over the questions for which the first batch left something to gain; for the others both are
    0, which alone makes a correlation.
    """
    points = np.array([row["gain"][name] for row in rows])

    def with_gain(some, column):
        values, gained = some[:, column], some[:, 2]
        varied = len(some) > 2 and values.std() > 0 < gained.std()
        return float(np.corrcoef(values, gained)[0, 1]) if varied else None

    left = points[points[:, 0] < 1]
    return {"recall": with_gain(points, 0), "missed": with_gain(points, 1), "open": with_gain(left, 1)}


def averaged(summaries):
    """Return the mean of the sets' means, each set of passages counting alike."""
    sets = [summary["methods"] for summary in summaries]
    return {
        name: {
            **{metric: {"mean": np.mean([of[name][metric]["mean"] for of in sets])} for metric in METRICS},
            **{what: np.mean([of[name][what] for of in sets]) for what in ("tr", "ms", "pairs")},
        }
        for name in sets[0]
    }


def table(methods):
    header = ["method", "recall@10", "nDCG@10", "TR@10", "p50 ms", "pairs read"]
    lines = [header, ["---", *["---:"] * (len(header) - 1)]]
    for name, entry in methods.items():
        numbers = [f"{entry['ms']:,.0f}", f"{entry['pairs']:.0f}"]
        cells = [cell(methods, name, metric) for metric in METRICS]
        lines.append([LABELS.get(name, name), *cells, f"{100 * entry['tr']:.1f}", *numbers])
    lines += [[name, *["not run here"] * 2, *[""] * 3] for name in LOADED if name not in methods]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def cell(methods, name, metric):
    """Write a mean, the best in bold, with its interval and p where a single set has them."""
    value = methods[name][metric]
    mean = f"{100 * value['mean']:.1f}"
    if mean == f"{100 * max(entry[metric]['mean'] for entry in methods.values()):.1f}":
        mean = f"**{mean}**"
    if "low" not in value:
        return mean
    p = "" if "p" not in value else ", p < 0.001" if value["p"] < 0.001 else f", p {value['p']:.3f}"
    return f"{mean} ({100 * value['low']:.1f}–{100 * value['high']:.1f}{p})"


def correlation_table(summaries):
    names = [name for name in READING if not name.startswith("rerank")]
    heads = [f"{name}, {what}" for name in names for what in ("recall", "MissTR", "MissTR where open")]
    lines = [["set", *heads], ["---", *["---:"] * len(heads)]]
    for summary in summaries:
        of = summary["correlations"]
        found = [of[name][what] if name in of else None for name in names for what in ("recall", "missed", "open")]
        lines.append([summary["set"], *("" if value is None else f"{value:.2f}" for value in found)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def report(summaries):
    one = summaries[0]
    parts = [
        "# Retrieval on corpus graphs\n",
        f"Cross-encoder {one['cross_encoder']}, encoder {one['encoder']}, budget {BUDGET}, batch {BATCH}. Percent with "
        f"95 % bootstrap intervals over questions; p: paired randomisation test against {BASELINE}. Methods that read "
        "begin with vectors and words, multihop-rerank with ppr, those named (vector) and fastinsight with vectors alone. "
        "Times of one question are medians, with the encoding of the question and every pair that the method read. "
        "SPLADE and Contriever run where a folder of their weights is given (--sparse, --dense). Of sets that the "
        "embedded cross-encoder was trained on only the questions held out of that are asked.\n",
    ]
    for s in summaries:
        kind = "entities" if s["set"].endswith(ENTITIES) else "passages"
        parts.append(f"## {s['set']}\n\n{s['questions']:,} questions; {s['nodes']:,} {kind}, {s['links']:,} pairs "
                     f"of them linked, {s['alone']:,} {kind} without a link.\n\n{table(s['methods'])}")  # fmt: skip
    of_passages = [s for s in summaries if not s["set"].endswith(ENTITIES)]
    if len(of_passages) > 1:
        parts.append(f"## Average of {len(of_passages)} sets of passages\n\n{table(averaged(of_passages))}")
    parts.append(
        "## What the gain goes with\n\nCorrelation of recall and of MissTR after the first batch with the recall "
        "gained from there to the end of the budget; where open: over the questions for which the first batch left "
        f"something to gain, as for the others both are 0.\n\n{correlation_table(summaries)}"
    )
    return "\n".join(parts)


def written(summary, path):
    """Write JSON with one question a line."""
    rows = ",\n  ".join(json.dumps(row, separators=(",", ":")) for row in summary["rows"])
    rest = json.dumps({name: value for name, value in summary.items() if name != "rows"}, indent=1)
    path.write_text(f'{rest[:-2]},\n "rows": [\n  {rows}\n ]\n}}\n', encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--questions", type=int, help="only the first so many of each set")
    parser.add_argument("--cross-encoder", choices=["embedded", "dot"], default="embedded")
    parser.add_argument("--sparse", help="SPLADE: a name on Hugging Face, or a folder (needs the extra sbert)")
    parser.add_argument("--dense", help="Contriever, likewise")
    parser.add_argument("--relations", nargs="+", choices=RELATIONS, default=RELATIONS, help="what joins passages")
    parser.add_argument("--no-sweeps", action="store_true", help="leave alpha and beta as they are")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "corpora")
    parser.add_argument("--runs", type=Path, default=Path("runs/corpora"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    model, summaries = Shared(cross_encoder(given.cross_encoder)), []
    for name in given.sets:
        kind = Entities if name.endswith(ENTITIES) else Subject
        subject = kind(folder_of(given.data, name.removesuffix(ENTITIES)), given.runs, model, given)
        digest = blake2b(json.dumps(subject.settings(), sort_keys=True).encode(), digest_size=6).hexdigest()
        rows = results_of(subject, given.runs / subject.name / f"{given.cross_encoder}-{digest}.jsonl")
        summaries.append(summarised(subject, rows))
        subject.close()
        written(summaries[-1], given.out / f"{name}.json")
        (given.out / "corpora.md").write_text(report(summaries), encoding="utf-8")
        print(table(summaries[-1]["methods"]), flush=True)
    draw(summaries, given.out)


if __name__ == "__main__":
    main()
