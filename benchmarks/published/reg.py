"""Measure ReG offline: labels, three retrievers trained on them, and their answers, on MetaQA and PathQuestion.

    python benchmarks/published/reg.py --data DIR [--only labels sample path triple entity most weak shares united
                                         budget baselines pathquestion unseen seeds] [--train 2650] [--questions 500]
                                         [--epochs 80 --patience 80]

Trains on --train questions of each number of hops of MetaQA's training set, drawn by seed, with one model for all hops,
and asks --questions dev questions of each (evenly over the file; 0 for all) with their gold entities. Answers are those
of `explained` and `TargetAnswer(tied=True)`, as `--method reg --retriever FILE` gives without a language model. Times
are of one thread, in a warm process. Labels and checkpoints are kept below --work, so that a part can be repeated.
All but labels and sample need torch. Triple and entity retrievers of MetaQA are trained for 16 and 8 epochs, those of
paths as by default; with --epochs 80 and --patience 80 as in the paper, of another --work. Writes `reg.json`, `reg.md`
and `reg_labels.md`.

- labels: three refiners, their union and intersection, against the relation paths that the questions were made from.
- sample: the labels of 50 questions, to be judged by hand (see docs/training.md).
- path, triple, entity: the retriever of each level, trained on refined labels.
- most: that of paths, trained on 2,650 questions of each number of hops.
- weak: all levels on shortest paths (without refinement, Table 4), and triples that are not reorganised.
- shares: the path retriever by the share of the training set (Figure 4a).
- united: the path retriever on the union and the intersection of two label sets (as Table 6).
- budget: F1 and recall by K (Figure 4b), and the size of chains and of triples (Figure 2b).
- baselines: SubgraphRAG, RoG and GNN-RAG as expressions over the retrievers trained here.
- pathquestion: retrievers trained on PathQuestion, split by gold path, since its questions are paraphrases.
- unseen: the ablations on relation paths that no training question asks for, in PathQuestion, and on MetaQA's
  retrievers carried over to it (Table 7).
- seeds: pathquestion with three seeds each, and the share of questions whose answer the question itself names.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphwright.data.question_sets.datasets import read_dataset
from graphwright.evaluate.metrics import hit, hits_at_1, macro_f1, micro_f1
from graphwright.generate.path_answers import TargetAnswer
from graphwright.generate.path_contexts import ChainContext
from graphwright.graph.graph import Graph
from graphwright.graph.walks import relation_words
from graphwright.learn.candidates import examples_of
from graphwright.learn.labels import Labels, intersection, make_labels, union
from graphwright.learn.refine import CosineRefiner, NeighbourRefiner, Refiner, ShortestPathLabels
from graphwright.learn.registry import load_retriever, train_retriever
from graphwright.learn.retriever import Retriever, read_checkpoint
from graphwright.learn.training import Schedule
from graphwright.methods.papers.lego_systems import planned
from graphwright.methods.papers.paths import explained, gnn_rag, retrieved, subgraphrag
from graphwright.models.budget import estimated_tokens
from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.operator import Operator
from graphwright.operators.paths.chains import Chains, MergeChains
from graphwright.operators.paths.relation_paths import Instances
from graphwright.operators.state import Question, State, start
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.snapshot import Snapshot
from graphwright.search.vector_index import VectorIndex

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import Record, arguments, evidence_of, mean, parse, table, update_results, write_page

EPOCHS = {"triple": 16, "entity": 8}  # the path level takes its default
LEVELS = ("path", "triple", "entity")
UNORGANISED = {"not reorganised": "weak", "refined, not reorganised": "explains"}  # ablations, and their labels
SHARES = (0.05, 0.1, 0.2, 0.4, 0.8)
BUDGETS = (50, 100, 200, 500, 1000)
SEEDS = (0, 1, 2)
MOST = 2650  # training questions of each number of hops
STUDENT = 4.303  # 97.5th percentile of Student's t with two degrees of freedom
RELATION_OF = {
    "actor": "starred_actors", "director": "directed_by", "writer": "written_by", "genre": "has_genre",
    "year": "release_year", "language": "in_language", "tags": "has_tags", "tag": "has_tags",
    "imdbrating": "has_imdb_rating", "imdbvotes": "has_imdb_votes",
}  # fmt: skip
"""Relations of MetaQA by the words of its question types."""
IN_PERCENT = (
    "Hit@1", "Hit", "macro F1", "micro F1", "recall of answers", "answer named", "Hit@1 by seed", "mean", "± (95 %)",
)  # fmt: skip
FIGURES = ("questions", "Hit@1", "Hit", "macro F1", "micro F1", "ms")


def snapshot_of(triples: Any, encoder: MiniLM) -> Snapshot:
    """Return a snapshot of a graph without vectors, which is enough for training."""
    empty = VectorIndex.from_array(np.empty((0, 384), np.float32), encoder)
    words = WordIndex.of([], np.empty(0, np.int64))
    return Snapshot(Graph.from_triples(triples), empty, words, None, None, encoder, {})


class MetaQA:
    """The questions of MetaQA that are trained on and asked, and the labels and retrievers made of them."""

    def __init__(self, options: Namespace) -> None:
        self.data, self.work, self.encoder = options.data / "kgqa", options.work / "reg", MiniLM()
        self.work.mkdir(exist_ok=True)
        sets = [read_dataset(self.data / "metaqa", f"{hops}hop_train") for hops in (1, 2, 3)]
        self.ix = snapshot_of(sets[0].triples, self.encoder)
        rng = np.random.default_rng(0)
        self.train = [[s.questions[i] for i in rng.permutation(len(s.questions))[: options.train]] for s in sets]
        self.type = {question.id: question.type for part in self.train for question in part}
        self.dev = []
        for hops in (1, 2, 3):
            every = read_dataset(self.data / "metaqa", f"{hops}hop_dev").questions
            count = min(options.questions or len(every), len(every))
            self.dev.append([every[int(i)] for i in np.linspace(0, len(every) - 1, count)])
        self.epochs, self.patience = options.epochs, options.patience
        self.refined, self.near = NeighbourRefiner(self.encoder), CosineRefiner(self.encoder)

    def labels(self, refiner: Refiner, count: int | None = None) -> Labels:
        """Return the labels of the first training questions of each number of hops, made once."""
        questions = [question for part in self.train for question in part[:count]]
        examples = examples_of(questions, self.ix.graph)
        return make_labels(self.ix.graph, examples, refiner, self.work / f"labels-{refiner.id}-{len(questions)}.jsonl")

    def retriever(self, level: str, name: str = "explains", labels: Labels | None = None) -> tuple[Retriever, float]:
        """Return a retriever and its seconds of training; it is trained once."""
        path = self.work / f"{level}-{name}.retriever"
        if not path.exists():
            schedule = Schedule(epochs=self.epochs or EPOCHS.get(level), patience=self.patience)
            begun = time.perf_counter()
            checkpoint = train_retriever(self.ix, labels or self.labels(self.refined), level, schedule=schedule)
            about = {**checkpoint.about, "seconds": time.perf_counter() - begun}
            replace(checkpoint, about=about).save(path)
        checkpoint = read_checkpoint(path)
        return load_retriever(checkpoint, self.encoder), float(checkpoint.about["seconds"])

    def answers(self, operator: Operator, every: int = 1) -> Record:
        """Return the quality of an operator on the dev questions, by hops."""
        parts = enumerate(self.dev, 1)
        return {f"{hops} hops": answer_quality(self.ix.graph, operator, part[::every]) for hops, part in parts}


def begin(graph: Graph, question: Any) -> State:
    """Return the start state of a question with its gold entities."""
    asked = Question(question.text, question.id, question.entities, question.answers)
    return start(asked, graph, entities=question.entities)


def answer_quality(graph: Graph, operator: Operator, questions: Sequence[Any]) -> Record:
    """Return the quality of the nodes that the best items lead to, and the time of retrieval."""
    respond = TargetAnswer(tied=True)
    answers, gold, seconds = [], [], []
    for question in questions:
        state = begin(graph, question)
        begun = time.perf_counter()
        state = operator(state)
        seconds.append(time.perf_counter() - begun)
        answer = respond(state).answer
        answers.append([citation.text for citation in answer.citations] if answer else [])
        gold.append(list(question.answers))
    pairs = list(zip(answers, gold, strict=True))
    return {
        "questions": len(questions),
        "Hit@1": mean([hits_at_1(names, right) for names, right in pairs]),
        "Hit": mean([hit(names, right) for names, right in pairs]),
        "macro F1": round(macro_f1(answers, gold), 4),
        "micro F1": round(micro_f1(answers, gold), 4),
        "ms": round(1e3 * float(np.median(seconds)), 1),
    }


def gold_path(graph: Graph, kind: str) -> tuple[int, ...]:
    """Return the relation path that a question of MetaQA was made from, by its type."""
    number = {name: at for at, name in enumerate(graph.columns.relations)}
    steps = itertools.pairwise(kind.split("_to_"))
    return tuple(2 * number[RELATION_OF[b]] + 1 if a == "movie" else 2 * number[RELATION_OF[a]] for a, b in steps)


def judged(graph: Graph, labels: Labels, types: Mapping[str, str]) -> Record:
    """Compare labels with the paths that the questions were made from: spurious ones, and missing ones."""
    right = spurious = alone = 0
    for row in labels.rows:
        gold = gold_path(graph, types[row.example.id])
        ways = [path.candidate.ways for path in row.paths]
        right += gold in ways
        spurious += sum(way != gold for way in ways)
        alone += ways == [gold]
    count = len(labels.rows)
    return {
        **{name: round(value, 2) for name, value in labels.summary().items()},
        "with the path that it was made from": round(right / count, 4),
        "with no other": round(alone / count, 4),
        "spurious paths": spurious,
        "spurious share of the kept": round(spurious / max(spurious + right, 1), 4),
    }


def measure_labels(sets: MetaQA, options: Namespace) -> Record:
    """Compare the labels of three refiners."""
    refiners: dict[str, Refiner] = {"weak": ShortestPathLabels(), "near": sets.near, "explains": sets.refined}
    labels = {name: sets.labels(refiner) for name, refiner in refiners.items()}
    labels["explains and near"] = intersection(labels["explains"], labels["near"])
    labels["explains or near"] = union(labels["explains"], labels["near"])
    return {name: judged(sets.ix.graph, each, sets.type) for name, each in labels.items()}


def measure_sample(sets: MetaQA, options: Namespace) -> Record:
    """List the labels of 50 questions, to be judged by hand."""
    refined, graph, rows = sets.labels(sets.refined), sets.ix.graph, []
    weak = {row.example.id: row for row in sets.labels(ShortestPathLabels()).rows}
    for at in sorted(np.random.default_rng(14).choice(len(refined.rows), 50, replace=False).tolist()):
        row = refined.rows[at]
        chosen = {path.candidate.ways for path in row.paths}
        dropped = [p.candidate.ways for p in weak[row.example.id].paths if p.candidate.ways not in chosen]
        texts = ["; ".join(relation_words(graph, way) for way in ways) for ways in (sorted(chosen), dropped[:4])]
        rows.append([row.example.text, *texts, len(dropped)])
    title = "# Labels of 50 questions of MetaQA (WikiMovies; Creative Commons), drawn by seed"
    page = table(["question", "kept", "dropped, the first four", "dropped"], rows)
    write_page(options.out / "reg_labels.md", f"{title}\n\n{page}")
    return {"questions": len(rows), "dropped": sum(int(row[3]) for row in rows)}


def measure_level(sets: MetaQA, level: str, name: str = "explains") -> Record:
    """Train and ask the retriever of a level; `name` is that of its file."""
    labels = sets.labels(sets.refined)
    retriever, seconds = sets.retriever(level, name, labels)
    return {"questions": len(labels.rows), "training s": round(seconds), **sets.answers(explained(retriever))}


def measure_most(sets: MetaQA, options: Namespace) -> Record:
    """Train the retriever of paths on more questions than the others."""
    return measure_level(MetaQA(Namespace(**{**vars(options), "train": MOST})), "path", "most")


def measure_weak(sets: MetaQA, options: Namespace) -> Record:
    """Train on shortest paths, and leave out reorganising."""
    weak, results = sets.labels(ShortestPathLabels()), {}
    for level in LEVELS:
        retriever, seconds = sets.retriever(level, "weak", weak)
        results[level] = {"training s": round(seconds), **sets.answers(explained(retriever))}
    for level, (name, label) in itertools.product(("triple", "entity"), UNORGANISED.items()):
        results[f"{level}, {name}"] = sets.answers(retrieved(sets.retriever(level, label)[0], 500, 1000))
    return results


def measure_shares(sets: MetaQA, options: Namespace) -> Record:
    """Train on shares of the training set."""
    refiners: dict[str, Refiner] = {"explains": sets.refined, "weak": ShortestPathLabels()}
    results = {}
    for (name, refiner), share in itertools.product(refiners.items(), SHARES):
        labels = sets.labels(refiner, max(1, round(share * len(sets.train[0]))))
        retriever, _ = sets.retriever("path", f"{name}-{share:g}", labels)
        results[f"{name}, {share:.0%}"] = sets.answers(explained(retriever))
    return results


def measure_united(sets: MetaQA, options: Namespace) -> Record:
    """Train on combinations of two label sets."""
    refined, near, results = sets.labels(sets.refined), sets.labels(sets.near), {}
    variants = {"near alone": near, "union": union(refined, near), "intersection": intersection(refined, near)}
    for name, labels in variants.items():
        retriever, _ = sets.retriever("path", name.replace(" ", "-"), labels)
        results[name] = {"labels, mean": mean([len(row.paths) for row in labels.rows])}
        results[name] |= sets.answers(explained(retriever))
    return results


def measure_budget(sets: MetaQA, options: Namespace) -> Record:
    """Measure answers, recall, and the size of chains by the number of triples."""
    retriever, _ = sets.retriever("triple")
    graph, questions = sets.ix.graph, [question for part in sets.dev for question in part[::5]]
    context, results = ChainContext(tokens=10**7), {}
    for k in BUDGETS:
        search, rows = retrieved(retriever, k, 1000), []
        for question in questions:
            state = search(begin(graph, question))
            begun = time.perf_counter()
            merged = (Chains(3) >> MergeChains())(state)
            seconds = time.perf_counter() - begun
            evidence = evidence_of(state)
            ends = set(graph.names.take(np.unique(graph.ends(evidence.edges))))
            recall = float(np.mean([answer in ends for answer in question.answers]))
            shown = context(merged).context
            chains = [] if shown is None else shown.before
            sizes = [estimated_tokens("\n".join(lines)) for lines in (chains, evidence.texts(graph))]
            rows.append((recall, len(evidence_of(merged)), *sizes, 1e3 * seconds))
        recalls, chains_, of_chains, of_triples, ms = np.array(rows).T
        results[str(k)] = answer_quality(graph, explained(retriever, k), questions) | {
            "recall of answers": mean(recalls),
            "chains": mean(chains_),
            "ms of chains": round(float(np.median(ms)), 1),
            "tokens of chains": mean(of_chains),
            "tokens of triples": mean(of_triples),
        }
    return results


def measure_baselines(sets: MetaQA, options: Namespace) -> Record:
    """Ask the methods that ReG is compared with."""
    triple = {name: sets.retriever("triple", name)[0] for name in ("weak", "explains")}
    path = {name: sets.retriever("path", name)[0] for name in ("weak", "explains")}
    operators = {
        "SubgraphRAG (weak labels, triples as they are)": subgraphrag(triple["weak"]),
        "SubgraphRAG, refined labels": subgraphrag(triple["explains"]),
        "RoG (planner trained on weak labels)": planned(path["weak"]) >> Instances() % 500,
        "RoG, refined labels": planned(path["explains"]) >> Instances() % 500,
        "GNN-RAG (graph network, shortest paths)": gnn_rag(sets.retriever("entity")[0]),
    }
    return {name: sets.answers(operator, 5) for name, operator in operators.items()}


def gold_path_key(question: Any) -> str:
    """Return the path that a question of PathQuestion was made from."""
    return json.dumps(question.metadata["gold_path"])


def gold_relations_key(question: Any) -> str:
    """Return the relations of that path."""
    return json.dumps([relation for _, relation, _ in question.metadata["gold_path"]])


def split_by(questions: Sequence[Any], key: Callable[[Any], str]) -> tuple[list[Any], list[Any]]:
    """Part questions by a key, a quarter of whose values is held out: questions to learn from, and questions to ask."""
    keys = sorted({key(question) for question in questions})
    held_out = set(np.random.default_rng(0).permutation(keys)[: len(keys) // 4].tolist())
    parts: tuple[list[Any], list[Any]] = ([], [])
    for question in questions:
        parts[key(question) in held_out].append(question)
    return parts


def pathquestion(
    sets: MetaQA, name: str, refiner: Refiner | None = None, key: Callable[[Any], str] = gold_path_key
) -> tuple[Snapshot, Labels, list[Any]]:
    """Return the graph of a set of PathQuestion, the labels of what is learned, and the questions to ask."""
    data, choice = read_dataset(sets.data / name, "questions"), refiner or sets.refined
    ix = snapshot_of(data.triples, sets.encoder)
    learn, ask = split_by(data.questions, key)
    file = sets.work / f"{name}-{key.__name__}-{choice.id}.jsonl"
    return ix, make_labels(ix.graph, examples_of(learn, ix.graph), choice, file), ask


def measure_pathquestion(sets: MetaQA, options: Namespace) -> Record:
    """Train and ask retrievers on PathQuestion, and carry them over from and to MetaQA."""
    results: Record = {}
    for name in ("pq-2h", "pql-2h"):
        ix, labels, ask = pathquestion(sets, name)
        row: Record = {"learned": len(labels.rows)}
        row["path, trained on MetaQA"] = answer_quality(ix.graph, explained(sets.retriever("path")[0]), ask)
        for level in ("path", "triple"):
            checkpoint = train_retriever(ix, labels, level, schedule=Schedule(epochs=60, patience=10))
            operator = explained(load_retriever(checkpoint, sets.encoder))
            row[level] = answer_quality(ix.graph, operator, ask)
            if level == "path" and name == "pq-2h":
                results["MetaQA, path trained on pq-2h"] = sets.answers(operator)
        results[name] = row
    return results


def measure_unseen(sets: MetaQA, options: Namespace) -> Record:
    """Ask for relation paths that no training question asked for, without refinement and without reorganising."""
    results: Record = {}
    refiners: dict[str, Refiner] = {"weak": ShortestPathLabels(), "explains": sets.refined}
    for name, (label, refiner) in itertools.product(("pq-2h", "pql-2h"), refiners.items()):
        ix, labels, ask = pathquestion(sets, name, refiner, gold_relations_key)
        chosen = [ask[int(at)] for at in np.linspace(0, len(ask) - 1, min(options.questions or len(ask), len(ask)))]
        for level in LEVELS:
            own = train_retriever(ix, labels, level, schedule=Schedule(epochs=60, patience=10))
            carried = sets.retriever(level, label, sets.labels(refiner))[0]
            for origin, retriever in (("its own set", load_retriever(own, sets.encoder)), ("MetaQA", carried)):
                row = results.setdefault(f"{name}, trained on {origin}", {})
                if label == "weak" and level != "path":
                    row[f"{level}, w/o S(I) & S(II)"] = answer_quality(
                        ix.graph, retrieved(retriever, 500, 1000), chosen
                    )
                title = f"{level}, w/o S(I)" if label == "weak" else f"{level}, ReG"
                row[title] = answer_quality(ix.graph, explained(retriever), chosen)
        print(results, flush=True)
    return results


def measure_seeds(sets: MetaQA, options: Namespace) -> Record:
    """Train on PathQuestion with several seeds."""
    results: Record = {}
    for name, level in itertools.product(("pq-2h", "pql-2h"), ("path", "triple")):
        ix, labels, ask = pathquestion(sets, name)
        hits = []
        for seed in SEEDS:
            checkpoint = train_retriever(ix, labels, level, schedule=Schedule(epochs=60, patience=10, seed=seed))
            operator = explained(load_retriever(checkpoint, sets.encoder))
            hits.append(answer_quality(ix.graph, operator, ask)["Hit@1"])
        named = [bool(set(question.answers) & set(question.entities)) for question in ask]
        results[f"{name}, {level}"] = {
            "questions": len(ask),
            "answer named": mean(named),
            "Hit@1 by seed": hits,
            "mean": mean(hits),
            "± (95 %)": round(STUDENT * float(np.std(hits, ddof=1)) / len(hits) ** 0.5, 4),
        }
        print(results, flush=True)
    return results


PARTS: Mapping[str, Callable[[MetaQA, Namespace], Record]] = {
    "labels": measure_labels,
    "sample": measure_sample,
    "path": lambda sets, options: measure_level(sets, "path"),
    "triple": lambda sets, options: measure_level(sets, "triple"),
    "entity": lambda sets, options: measure_level(sets, "entity"),
    "most": measure_most,
    "weak": measure_weak,
    "shares": measure_shares,
    "united": measure_united,
    "budget": measure_budget,
    "baselines": measure_baselines,
    "pathquestion": measure_pathquestion,
    "unseen": measure_unseen,
    "seeds": measure_seeds,
}


def shown(name: str, value: Any) -> str:
    """Return a figure as text: shares in percent."""
    if isinstance(value, list):
        return ", ".join(shown(name, each) for each in value)
    if name in IN_PERCENT or name.startswith(("with ", "spurious share")):
        return f"{100 * value:.1f}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def page(results: Record) -> str:
    """Return the tables of all parts."""
    parts = ["# ReG offline", "Made by `python benchmarks/published/reg.py`; one thread. Shares are in percent."]
    if "labels" in results:
        labels = results["labels"]
        names = list(dict.fromkeys(name for row in labels.values() for name in row))
        rows = [[name, *(shown(name, row[name]) if name in row else "" for row in labels.values())] for name in names]
        parts += ["## Labels", table(["", *labels], rows)]
    rows = [
        [name, set_, *(shown(figure, row[figure]) for figure in FIGURES)] for name, set_, row in answer_rows(results)
    ]
    parts += ["## Answers", table(["retriever", "set", *FIGURES], rows)]
    if "budget" in results:
        heads = list(next(iter(results["budget"].values())))
        rows = [[k, *(shown(head, row[head]) for head in heads)] for k, row in results["budget"].items()]
        parts += ["## By the number of triples", table(["K", *heads], rows)]
    if "seeds" in results:
        heads = list(next(iter(results["seeds"].values())))
        rows = [[name, *(shown(head, row[head]) for head in heads)] for name, row in results["seeds"].items()]
        parts += ["## PathQuestion by seed", table(["set, level", *heads], rows)]
    return "\n\n".join(parts)


def answer_rows(results: Record) -> Iterator[tuple[str, str, Record]]:
    """Yield each retriever, the set it was asked, and its figures."""
    trained = {"path": "path", "most": "path", "triple": "triple", "entity": "entity"}
    parts = {
        f"{level}, {results[part]['questions']:,} learned": results[part]
        for part, level in trained.items()
        if part in results
    }
    for level, row in results.get("weak", {}).items():
        parts[level if "refined" in level else f"{level}, weak labels"] = row
    parts |= {f"path, {name} of the set": row for name, row in results.get("shares", {}).items()}
    parts |= {f"path, labels: {name}": row for name, row in results.get("united", {}).items()}
    tables = (results.get(part, {}) for part in ("baselines", "pathquestion", "unseen"))
    for name, row in {name: row for table_ in (parts, *tables) for name, row in table_.items()}.items():
        yield from ((name, set_, figures) for set_, figures in row.items() if isinstance(figures, dict))


def main() -> None:
    """Measure the parts asked for."""
    parser = arguments(__doc__, parts=list(PARTS))
    parser.add_argument("--train", type=int, default=MOST)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--epochs", type=int, help="of MetaQA's retrievers; the paper's is 80")
    parser.add_argument("--patience", type=int, help="epochs without a better one after which training stops")
    options = parse(parser)
    if set(options.only) - {"labels", "sample"}:
        import torch

        torch.set_num_threads(1)
    sets, path = MetaQA(options), options.out / "reg.json"
    for part in options.only:
        results = update_results(path, [part], PARTS[part](sets, options), page, list(PARTS))
        print(part, results[part], flush=True)


if __name__ == "__main__":
    main()
