"""The figures of docs/lego.md on MetaQA: extractions, what prunings leave, how plans are ranked, published systems.

    python benchmarks/lego_map.py --data DIR/kgqa/metaqa [--only extractions prunings plans systems] [--questions 50]

Questions are drawn by seed, as many of each number of hops (--questions; 20 for the prunings); of the training set
where plans are ranked, since the default of `Shorter` was chosen there, else of the dev set. The entities are those
given with them. All is offline, with the embedded encoder. Writes benchmarks/results/lego_map.json, part by part.
"""

import argparse
import json
import random
import time
from pathlib import Path

import numpy as np
from graphwright.models.base import metered

import graphwright as gw
from graphwright.data.questions import read_questions
from graphwright.kernels.hops import components
from graphwright.methods.papers.lego import cell, lego
from graphwright.methods.papers.lego_systems import explored, planned, selected
from graphwright.models.cache import CachedEncoder

RESULTS = Path(__file__).parent / "results" / "lego_map.json"
PPR = gw.PersonalizedPageRank(each=True) % 1000 >> gw.Induce()
REACHED = gw.ShortestPaths() >> gw.TargetAnswer()


def read_graph(folder):
    with (folder / "kb.tsv").open(encoding="utf-8") as lines:
        return gw.Graph.from_triples(tuple(line.rstrip("\n").split("\t")) for line in lines)


def sample(folder, count, split="dev", seed=0):
    """Draw `count` questions of each number of hops, each with that number."""
    drawn = []
    for hops in (1, 2, 3):
        every = read_questions(folder / f"{hops}hop_{split}.jsonl")
        drawn += [(hops, q) for q in random.Random(seed + hops).sample(every, count)]
    return drawn


def begin(graph, question):
    return gw.start(question.text, graph, entities=question.metadata["topic_entities"])


def targets(state):
    return [] if state.answer is None else [citation.text for citation in state.answer.citations]


def share(found, wanted):
    return len(set(found) & set(wanted)) / len(wanted)


def f1(found, wanted):
    common = len(set(found) & set(wanted))
    return 2 * common / (len(set(found)) + len(set(wanted))) if common else 0.0


def summary(rows):
    """Return the mean of each figure, of times the median, and the first figures by hops."""
    names = [name for name in rows[0] if name != "hops"]
    made = {n: round(float((np.median if n == "ms" else np.mean)([row[n] for row in rows])), 3) for n in names}
    by = {h: [row[names[0]] for row in rows if row["hops"] == h] for h in (1, 2, 3)}
    return made | {f"{names[0]} by hops": [round(float(np.mean(values)), 3) for values in by.values()]}


def subgraph(operator, graph, hops, question):
    """Return how many answers an extraction leaves, to how many a path leads, and what it costs."""
    state = begin(graph, question)
    begun = time.perf_counter()
    state = operator(state)
    seconds = time.perf_counter() - begun
    return {
        "answers left": share(graph.names.take(state.graph.nodes), question.answers),
        "a path leads there": share(targets(REACHED(state)), question.answers),
        "nodes": len(state.graph),
        "parts": int(components(*state.graph.adjacency).max(initial=-1)) + 1,
        "ms": 1000 * seconds,
        "hops": hops,
    }


def extractions(graph, folder, count, encoder):
    made = {name: cell(name, gw.Keep()) for name in ("PPR", "KSE-PPR", "RW", "KSE", "communities")}
    made["KSE, 2 hops"] = gw.KHop(2) % 1000 >> gw.Induce()
    return {name: (operator, subgraph) for name, operator in made.items()}, sample(folder, count)


def prunings(graph, folder, count, encoder):
    made = {}
    for kept in (64, 256):
        for by, model in (("E", encoder), ("BM25", gw.BM25())):
            for kind in ("TP", "EP", "NP"):
                made[f"{kind}-{by} {kept}"] = cell(f"PPR+{kind}-{by}", gw.Keep(), {by: model}, edges=kept)
        hidden = gw.Relations() >> gw.MaskEntities(gw.Rerank(encoder)) >> gw.EdgesBy() % kept >> gw.InduceEdges()
        made[f"EP-E masked {kept}"] = PPR >> hidden
    return {name: (operator, subgraph) for name, operator in made.items()}, sample(folder, min(count, 20))


def first_plan(operator, graph, hops, question):
    """Return how well the nodes that the first relation path leads to are the answers."""
    found = (operator % 1 >> gw.Instances() >> gw.TargetAnswer())(begin(graph, question))
    return {"F1": f1(targets(found), question.answers), "hops": hops}


def plans(graph, folder, count, encoder):
    ranked, paths = gw.Rerank(encoder), gw.RelationPaths(3)
    made = {"as it is": paths >> ranked, "masked": paths >> gw.MaskEntities(ranked)}
    for each in (0.1, 0.15, 0.2):
        made[f"masked, shorter {each}"] = paths >> gw.LengthPenalty(gw.MaskEntities(ranked), each)
    return {name: (operator, first_plan) for name, operator in made.items()}, sample(folder, count, "train", seed=1)


def answered(operator, graph, hops, question):
    """Return what is answered first, how many answers paths lead to, and what it costs."""
    state = begin(graph, question)
    begun = time.perf_counter()
    with metered() as usage:
        found = targets((operator >> gw.TargetAnswer())(state))
    seconds = time.perf_counter() - begun
    return {
        "Hits@1": gw.hits_at_1(found, question.answers),
        "recall": share(found, question.answers),
        "F1": f1(found, question.answers),
        "ms": 1000 * seconds,
        "texts": usage.texts,
        "hops": hops,
    }


def systems(graph, folder, count, encoder):
    made = {
        "rog": planned(encoder) >> gw.Instances() % 100,
        "rog, one plan": planned(encoder, 1) >> gw.Instances() % 100,
        "gsr": planned(encoder) >> gw.Instances() >> gw.InduceEdges() >> gw.ShortestPaths() % 32,
        "tog": explored(encoder),
        "lego-1": lego(1, encoder),
        "kelp": selected(encoder, encoder),
    }
    return {name: (operator, answered) for name, operator in made.items()}, sample(folder, count, seed=7)


PARTS = {"extractions": extractions, "plans": plans, "systems": systems, "prunings": prunings}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    graph, encoder = read_graph(given.data), CachedEncoder(gw.MiniLM(), memory=200_000)
    found = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
    for part in given.only:
        operators, questions = PARTS[part](graph, given.data, given.questions, encoder)
        found[part] = {"questions": len(questions)}
        for name, (operator, measure) in operators.items():
            measure(operator, graph, *questions[0])  # the first question pays for what is compiled and made once
            found[part][name] = summary([measure(operator, graph, *one) for one in questions])
            print(part, name, found[part][name], flush=True)
            given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
