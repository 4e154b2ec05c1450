"""The fifteen instances of LEGO-GraphRAG on MetaQA: what each module keeps, what is answered first, how long it takes.

    python benchmarks/lego.py --data DIR/kgqa/metaqa [--questions 200] [--encoder minilm|hash] [--instances 1 12 14]

Questions are dev questions, as many of each number of hops, drawn by seed; the entities are those given with them. All
is offline: E is the encoder, and L stands for a language model but is a cross-encoder, another model than E, named in
the results: findings about language models are not testable here. Writes benchmarks/results/lego.json.
"""

import argparse
import json
import random
from pathlib import Path

import numpy as np

from graphwright import Graph, HashEncoder, MiniLM, OverlapCrossEncoder, hits_at_1, start
from graphwright.data.questions import read_questions
from graphwright.generate.targets import TargetAnswer
from graphwright.methods.lego import INSTANCES, lego
from graphwright.models.base import metered

RESULTS = Path(__file__).parent / "results"
ENCODERS = {"hash": HashEncoder, "minilm": MiniLM}
NARROWED = ("Induce()", "InduceEdges()")
SHOWN = ("SE recall", "PR recall", "Hits@1", "SE ms", "PR ms", "ms p50")


def read_graph(folder):
    with (folder / "kb.tsv").open(encoding="utf-8") as lines:
        return Graph.from_triples(tuple(line.rstrip("\n").split("\t")) for line in lines)


def sample(folder, count, seed=0):
    """Draw as many questions of 1, 2 and 3 hops, or one more of the first; each with its hops."""
    drawn = []
    for hops in (1, 2, 3):
        every = read_questions(folder / f"{hops}hop_dev.jsonl")
        drawn += [(hops, q) for q in random.Random(seed + hops).sample(every, (count + 3 - hops) // 3)]
    return drawn


def share(found, wanted):
    return len(set(found) & set(wanted)) / len(wanted)


def f1(found, wanted):
    common = len(set(found) & set(wanted))
    return 2 * common / (len(set(found)) + len(wanted)) if common else 0.0


def ask(operator, graph, question):
    """Return what one question gives: quality of either module, seconds of either, texts that models read."""
    with metered() as usage:
        state = operator(start(question.text, graph, entities=question.metadata["topic_entities"]))
    parts = [0.0, 0.0]
    retrieving = max(at for at, step in enumerate(state.trace) if step.operator in NARROWED) + 1
    for at, step in enumerate(state.trace):
        parts[at >= retrieving] += step.seconds
    answers = question.answers
    targets = [citation.text for citation in state.answer.citations]
    return {
        "SE recall": share(graph.names.take(state.graph.nodes), answers),
        "PR recall": share(targets, answers),
        "PR F1": f1(targets, answers),
        "Hits@1": hits_at_1(targets, answers),
        "paths": len(state.evidence),
        "edges": len(state.graph.edges),
        "SE ms": 1000 * parts[0],
        "PR ms": 1000 * parts[1],
        "texts": usage.texts,
    }


def summary(rows):
    mean = {name: round(float(np.mean([row[name] for row in rows])), 4) for name in rows[0]}
    return mean | {"ms p50": round(float(np.median([row["SE ms"] + row["PR ms"] for row in rows])), 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--encoder", choices=ENCODERS, default="minilm")
    parser.add_argument("--instances", type=int, nargs="+", default=list(INSTANCES))
    parser.add_argument("--out", type=Path, default=RESULTS / "lego.json")
    given = parser.parse_args()
    graph, questions = read_graph(given.data), sample(given.data, given.questions)
    encoder, judge = ENCODERS[given.encoder](), OverlapCrossEncoder()
    found = {
        "graph": repr(graph),
        "questions": len(questions),
        "E": repr(encoder),
        "L": f"{judge!r}: a cross-encoder in place of a language model",
        "instances": {},
    }
    for number in given.instances:
        operator = lego(number, encoder, judge) >> TargetAnswer()
        ask(operator, graph, questions[0][1])  # the first question pays for what is compiled and loaded once
        rows = [(hops, ask(operator, graph, question)) for hops, question in questions]
        by_hops = {hops: summary([row for h, row in rows if h == hops]) for hops in (1, 2, 3)}
        row = {"made of": list(INSTANCES[number]), **summary([row for _, row in rows]), **by_hops}
        found["instances"][f"lego-{number}"] = row
        print(f"lego-{number}", *INSTANCES[number], {name: row[name] for name in SHOWN}, flush=True)
        given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")  # a run may be broken off


if __name__ == "__main__":
    main()
