"""ReG offline: labels, three retrievers trained on them, and the answers that these give; on MetaQA and PathQuestion.

    python benchmarks/reg.py --data DIR/kgqa [--work FOLDER] [--train 2650] [--questions 500]
                             [--only labels sample path triple entity weak shares united budget baselines pathquestion]

Needs torch. Trains on --train questions of each number of hops of MetaQA's training set, drawn by seed, with one model
for all hops, and asks --questions dev questions of each (evenly over the file; 0 for all) with the entities given with
them. What answers is `explained` and `TargetAnswer(tied=True)`, as `--method reg --retriever FILE` does without a
language model. Times are of one thread, in a warm process. FOLDER keeps labels and checkpoints, so that a part can be
made again alone. Writes benchmarks/results/reg.json and .md.
"""

import argparse
import itertools
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import graphwright as gw
from graphwright.data.datasets import read_dataset
from graphwright.generate.chains import ChainPrompt
from graphwright.generate.targets import TargetAnswer
from graphwright.graph.walks import relation_words
from graphwright.index.snapshot import Snapshot
from graphwright.index.vector_index import VectorIndex
from graphwright.index.word_index import WordIndex
from graphwright.learn.checkpoint import read_checkpoint
from graphwright.learn.candidates import examples_of
from graphwright.learn.labels import intersection, make_labels, union
from graphwright.learn.refine import CosineRefiner, NeighbourRefiner, ShortestPathLabels
from graphwright.learn.registry import load_retriever, train_retriever
from graphwright.learn.training import Schedule
from graphwright.methods.papers.lego_systems import planned
from graphwright.methods.papers.reg import explained, gnn_rag, retrieved, subgraphrag
from graphwright.models.budget import estimated_tokens
from graphwright.operators.paths.relation_paths import Instances

RESULTS = Path(__file__).parent / "results"
LEVELS = ("path", "triple", "entity")
EPOCHS = {"path": 20, "triple": 16, "entity": 8}
SHARES = (0.05, 0.1, 0.2, 0.4, 0.8)
BUDGETS = (50, 100, 200, 500, 1000)
QTYPE = {
    "actor": "starred_actors", "director": "directed_by", "writer": "written_by", "genre": "has_genre",
    "year": "release_year", "language": "in_language", "tags": "has_tags", "tag": "has_tags",
    "imdbrating": "has_imdb_rating", "imdbvotes": "has_imdb_votes",
}  # fmt: skip


def snapshot_of(triples, encoder):
    """A snapshot of a graph without vectors: all that training needs."""
    graph = gw.Graph.from_triples(triples)
    nothing = VectorIndex.from_array(np.empty((0, 384), np.float32), encoder)
    return Snapshot(graph, nothing, WordIndex.of([], np.empty(0, np.int64)), None, None, encoder, {})


class MetaQA:
    def __init__(self, data, work, encoder, train, asked):
        self.work, self.encoder = work, encoder
        sets = [read_dataset(data / "metaqa", f"{hops}hop_train") for hops in (1, 2, 3)]
        self.ix = snapshot_of(sets[0].triples, encoder)
        rng = np.random.default_rng(0)
        self.drawn = [[one.questions[i] for i in rng.permutation(len(one.questions))[:train]] for one in sets]
        self.type = {question.id: question.type for part in self.drawn for question in part}
        self.dev = []
        for hops in (1, 2, 3):
            every = read_dataset(data / "metaqa", f"{hops}hop_dev").questions
            count = min(asked or len(every), len(every))
            self.dev.append([every[int(i)] for i in np.linspace(0, len(every) - 1, count)])

    def labels(self, refiner, count=None):
        some = [question for part in self.drawn for question in part[:count]]
        examples = examples_of(some, self.ix.graph)
        name = f"{refiner.id}-{len(some)}"
        return make_labels(self.ix.graph, examples, refiner, self.work / f"labels-{name}.jsonl")

    def trained(self, level, name, labels, epochs=None):
        """Train a retriever, or read the one that was trained before; with the seconds that it took."""
        path = self.work / f"{level}-{name}.retriever"
        if not path.exists():
            begun = time.perf_counter()
            made = train_retriever(self.ix, labels, level, schedule=Schedule(epochs=epochs or EPOCHS[level]))
            made.about["seconds"] = time.perf_counter() - begun
            made.save(path)
        made = read_checkpoint(path)
        return load_retriever(made, self.encoder), made.about["seconds"]

    def answered(self, retriever):
        return self.by(explained(retriever))

    def by(self, finds, every=1):
        return {f"{hops} hops": by(self.ix.graph, finds, part[::every]) for hops, part in enumerate(self.dev, 1)}


def asked(graph, retriever, questions):
    return by(graph, explained(retriever), questions)


def begun(graph, question):
    known = gw.Question(question.text, question.id, question.entities, question.answers)
    return gw.start(known, graph, entities=question.entities)


def by(graph, finds, questions):
    """Return how well questions are answered with what the best pieces lead to, and how long finding these takes."""
    answers = TargetAnswer(tied=True)
    said, gold, spent = [], [], []
    for question in questions:
        state = begun(graph, question)
        clock = time.perf_counter()
        state = finds(state)
        spent.append((time.perf_counter() - clock) * 1e3)
        reply = answers(state).answer
        said.append([one.text for one in reply.citations])
        gold.append(list(question.answers))
    return {
        "questions": len(questions),
        "Hit@1": mean([gw.hits_at_1(one, right) for one, right in zip(said, gold, strict=True)]),
        "Hit": mean([gw.hit(one, right) for one, right in zip(said, gold, strict=True)]),
        "macro F1": round(gw.macro_f1(said, gold), 4),
        "micro F1": round(gw.micro_f1(said, gold), 4),
        "ms": round(float(np.median(spent)), 1),
    }


def mean(values):
    return round(float(np.mean(values)), 4)


def gold_path(graph, kind):
    """The relation path that a question of MetaQA was made from, by its type."""
    number = {name: at for at, name in enumerate(graph.columns.relations)}
    parts = kind.split("_to_")
    steps = itertools.pairwise(parts)
    return tuple(2 * number[QTYPE[b]] + 1 if a == "movie" else 2 * number[QTYPE[a]] for a, b in steps)


def judged(graph, labels, types):
    """Compare labels with the paths that the questions were made from: what is spurious, and what is missing."""
    right = wrong = there = alone = 0
    for row in labels.rows:
        gold = gold_path(graph, types[row.example.id])
        ways = [kept.candidate.ways for kept in row.paths]
        right += gold in ways
        wrong += sum(way != gold for way in ways)
        there += bool(ways)
        alone += ways == [gold]
    count = len(labels.rows)
    return {
        **{name: round(value, 2) for name, value in labels.summary().items()},
        "with the path that it was made from": round(right / count, 4),
        "with no other": round(alone / count, 4),
        "spurious paths": wrong,
        "spurious share of the kept": round(wrong / max(wrong + right, 1), 4),
    }


def do_labels(sets, found):
    every = {
        "weak": ShortestPathLabels(),
        "near": CosineRefiner(sets.encoder),
        "explains": NeighbourRefiner(sets.encoder),
    }
    made = {name: sets.labels(refiner) for name, refiner in every.items()}
    rows = {name: judged(sets.ix.graph, one, sets.type) for name, one in made.items()}
    pair = made["explains"], made["near"]
    for name, one in (("explains and near", intersection(*pair)), ("explains or near", union(*pair))):
        rows[name] = judged(sets.ix.graph, one, sets.type)
    found["labels"] = rows


def do_sample(sets, found):
    """List the labels of 50 questions, to be judged by hand (docs/training.md says how they were)."""
    refined, weak = (
        sets.labels(NeighbourRefiner(sets.encoder)),
        {row.example.id: row for row in sets.labels(ShortestPathLabels()).rows},
    )
    rows = []
    for at in sorted(np.random.default_rng(14).choice(len(refined.rows), 50, replace=False).tolist()):
        row, graph = refined.rows[at], sets.ix.graph
        kept = {one.candidate.ways for one in row.paths}
        dropped = [one.candidate.ways for one in weak[row.example.id].paths if one.candidate.ways not in kept]
        said = ["; ".join(relation_words(graph, way) for way in ways) for ways in (sorted(kept), dropped[:4])]
        rows.append([row.example.text, *said, str(len(dropped))])
    lines = ["# Labels of 50 questions of MetaQA (WikiMovies; Creative Commons), drawn by seed", ""]
    lines += table(["question", "kept", "dropped, the first four", "dropped"], rows)
    (RESULTS / "reg_labels.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found["sample"] = {"questions": len(rows), "dropped": sum(int(row[3]) for row in rows)}


def do_level(sets, found, level):
    labels = sets.labels(NeighbourRefiner(sets.encoder))
    retriever, seconds = sets.trained(level, "explains", labels)
    found[level] = {"questions": len(labels.rows), "training s": round(seconds), **sets.answered(retriever)}


def do_weak(sets, found):
    """What refinement is worth: the same trained on the weak labels (w/o S(I), Table 4), and on the two united."""
    weak = sets.labels(ShortestPathLabels())
    found["weak"] = {}
    for level in ("path", "triple"):
        retriever, seconds = sets.trained(level, "weak", weak)
        found["weak"][level] = {"training s": round(seconds), **sets.answered(retriever)}
    refined, _ = sets.trained("triple", "explains", sets.labels(NeighbourRefiner(sets.encoder)))
    found["weak"]["triple, not reorganised"] = sets.by(retrieved(retriever, 500, 1000))
    found["weak"]["triple, refined, not reorganised"] = sets.by(retrieved(refined, 500, 1000))


def do_shares(sets, found):
    """Data efficiency (Figure 4a), of the path retriever: with refined and with weak labels of a share of the set."""
    found["shares"] = {}
    for name, refiner in (("explains", NeighbourRefiner(sets.encoder)), ("weak", ShortestPathLabels())):
        for share in SHARES:
            labels = sets.labels(refiner, max(1, round(share * len(sets.drawn[0]))))
            retriever, _ = sets.trained("path", f"{name}-{share:g}", labels, 40)
            found["shares"][f"{name}, {share:.0%}"] = sets.answered(retriever)


def do_united(sets, found):
    """Trained on the union and on the intersection of two label sets (as Table 6), by the path retriever."""
    pair = [sets.labels(refiner) for refiner in (NeighbourRefiner(sets.encoder), CosineRefiner(sets.encoder))]
    found["united"] = {}
    for name, labels in (("near alone", pair[1]), ("union", union(*pair)), ("intersection", intersection(*pair))):
        retriever, _ = sets.trained("path", name.replace(" ", "-"), labels)
        found["united"][name] = {"labels, mean": mean([len(row.paths) for row in labels.rows])}
        found["united"][name] |= sets.answered(retriever)


def do_budget(sets, found):
    """F1 and recall by K (Figure 4b), and what reorganising makes of K triples: chains, lines, tokens (Figure 2b)."""
    retriever, _ = sets.trained("triple", "explains", None)
    graph, some = sets.ix.graph, [question for part in sets.dev for question in part[::5]]
    found["budget"] = {}
    for k in BUDGETS:
        row = by(graph, explained(retriever, k), some)
        triples = retrieved(retriever, k, 1000)
        counts, tokens, plain, recall, spent = [], [], [], [], []
        for question in some:
            state = triples(begun(graph, question))
            clock = time.perf_counter()
            made = (gw.Chains(3) >> gw.MergeChains())(state)
            spent.append((time.perf_counter() - clock) * 1e3)
            ends = set(graph.names.take(np.unique(graph.ends(state.evidence.edges))))
            recall.append(np.mean([answer in ends for answer in question.answers]))
            counts.append(len(made.evidence))
            tokens.append(estimated_tokens("\n".join(ChainPrompt(characters=10**7)._lines(made))))
            plain.append(estimated_tokens("\n".join(state.evidence.texts(graph))))
        row |= {"recall of answers": mean(recall), "chains": mean(counts), "ms of chains": round(np.median(spent), 1)}
        found["budget"][str(k)] = row | {"tokens of chains": mean(tokens), "tokens of triples": mean(plain)}


def do_baselines(sets, found):
    """What the papers that ReG is compared with do, as expressions over the retrievers trained here."""
    triple, _ = sets.trained("triple", "weak", None)
    path, _ = sets.trained("path", "weak", None)
    found["baselines"] = {
        "SubgraphRAG (weak labels, triples as they are)": sets.by(subgraphrag(triple), 5),
        "SubgraphRAG, refined labels": sets.by(subgraphrag(sets.trained("triple", "explains", None)[0]), 5),
        "RoG (planner trained on weak labels)": sets.by(planned(path) >> Instances() % 500, 5),
        "RoG, refined labels": sets.by(planned(sets.trained("path", "explains", None)[0]) >> Instances() % 500, 5),
    }
    if (sets.work / "entity-explains.retriever").exists():
        entity, _ = sets.trained("entity", "explains", None)
        found["baselines"]["GNN-RAG (graph network, shortest paths)"] = sets.by(gnn_rag(entity), 5)


def split(questions, seed=0):
    """Part PathQuestion by gold path, since its questions are paraphrases: (learn, ask)."""
    paths = sorted({json.dumps(question.metadata["gold_path"]) for question in questions})
    asked = set(np.random.default_rng(seed).permutation(paths)[: len(paths) // 4].tolist())
    parts = ([], [])
    for question in questions:
        parts[json.dumps(question.metadata["gold_path"]) in asked].append(question)
    return parts


def do_pathquestion(sets, found, data):
    found["PathQuestion"] = {}
    for name in ("pq-2h", "pql-2h"):
        one = read_dataset(data / name, "questions")
        ix = snapshot_of(one.triples, sets.encoder)
        learn, ask = split(one.questions)
        labels = make_labels(
            ix.graph, examples_of(learn, ix.graph), NeighbourRefiner(sets.encoder), sets.work / f"{name}.jsonl"
        )
        other = sets.trained("path", "explains", None)[0]
        row = {"learned": len(labels.rows), "path, trained on MetaQA": asked(ix.graph, other, ask)}
        for level in ("path", "triple"):
            made = train_retriever(ix, labels, level, schedule=Schedule(epochs=60, patience=10))
            made = load_retriever(made, sets.encoder)
            row[level] = asked(ix.graph, made, ask)
            if level == "path" and name == "pq-2h":
                found["PathQuestion"]["MetaQA, path trained on pq-2h"] = sets.answered(made)
        found["PathQuestion"][name] = row


def markdown(found):
    lines = ["# ReG offline", "", "Made by `python benchmarks/reg.py`; one thread.", ""]
    if "labels" in found:
        names = list(found["labels"])
        heads = list(dict.fromkeys(head for row in found["labels"].values() for head in row))
        cells = [[head, *(str(found["labels"][name].get(head, "")) for name in names)] for head in heads]
        lines += ["## Labels", "", *table(["", *names], cells), ""]
    keys = ("questions", "Hit@1", "Hit", "macro F1", "micro F1", "ms")
    rows = [[name, set_, *(str(row[key]) for key in keys)] for name, set_, row in answered(found)]
    lines += ["## Answers", "", *table(["retriever", "set", *keys], rows)]
    if "budget" in found:
        heads = list(next(iter(found["budget"].values())))
        rows = [[k, *(str(row[head]) for head in heads)] for k, row in found["budget"].items()]
        lines += ["", "## By the number of triples", "", *table(["K", *heads], rows)]
    return "\n".join(lines) + "\n"


def answered(found):
    """Yield what was asked, of what set, and what came of it."""
    parts = {f"{level}, {found[level]['questions']:,} learned": found[level] for level in LEVELS if level in found}
    for level, row in found.get("weak", {}).items():
        parts[level if "refined" in level else f"{level}, weak labels"] = row
    parts |= {f"path, {name} of the set": row for name, row in found.get("shares", {}).items()}
    parts |= {f"path, labels: {name}": row for name, row in found.get("united", {}).items()}
    for name, row in {**parts, **found.get("baselines", {}), **found.get("PathQuestion", {})}.items():
        yield from ((name, set_, one) for set_, one in row.items() if isinstance(one, dict))


def table(header, rows):
    return ["| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *rows)]


def main():
    parts = [
        "labels",
        "sample",
        "path",
        "triple",
        "entity",
        "weak",
        "shares",
        "united",
        "budget",
        "baselines",
        "pathquestion",
    ]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--train", type=int, default=2650)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    given = parser.parse_args()
    torch.set_num_threads(1)
    work = given.work or Path(tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    sets = MetaQA(given.data, work, gw.MiniLM(), given.train, given.questions)
    out = RESULTS / "reg.json"
    do = {"labels": do_labels, "sample": do_sample, "weak": do_weak, "shares": do_shares}
    do |= {"united": do_united, "budget": do_budget, "baselines": do_baselines}
    for part in given.only:
        found = {}
        if part in LEVELS:
            do_level(sets, found, part)
        elif part == "pathquestion":
            do_pathquestion(sets, found, given.data)
        else:
            do[part](sets, found)
        found = (json.loads(out.read_text()) if out.exists() else {}) | found
        out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        out.with_suffix(".md").write_text(markdown(found), encoding="utf-8")
        print(part, json.dumps(found.get(part, found.get("PathQuestion"))), flush=True)


if __name__ == "__main__":
    main()
