"""How long a user waits: warm retrieval by step, PPR alone against python-igraph, a cold command, the bare import.

    python benchmarks/latency.py --index DIR --questions questions.jsonl [--rounds 3] [--methods bubblerag ...]

DIR is an index of the questions' corpus (`graphwright index corpus.jsonl --into DIR`). Each question is asked after a
warm-up, its encoding included, from an index opened anew for each round. Writes benchmarks/results/latency.json.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import igraph
import numpy as np

from graphwright import Index, start
from graphwright.data.questions import read_questions
from graphwright.kernels.ppr import push_ppr
from graphwright.methods.registry import retrieval_part
from graphwright.operators.subgraph.walk import seeds

RESULTS = Path(__file__).parent / "results"


def spread(seconds):
    p50, p95 = 1000 * np.percentile(seconds, [50, 95])
    return {"p50 ms": round(float(p50), 2), "p95 ms": round(float(p95), 2)}


def warm(folder, questions, rounds, method="ppr"):
    whole, steps, encoder = [], {}, []
    for _ in range(rounds):
        # Opened anew, so that no question's vector is remembered.
        index = Index.open(folder)
        operator = retrieval_part(index.pipeline(method))
        operator(start("What is asked first pays for what is loaded once?", index.graph))
        for question in questions:
            begun = time.perf_counter()
            state = operator(start(question.text, index.graph))
            whole.append(time.perf_counter() - begun)
            encoder.append(sum(step.usage.seconds for step in state.trace))
            for step in state.trace:
                steps.setdefault(step.operator, []).append(step.seconds)
        index.close()
    return {**spread(whole), "encoder": spread(encoder), "steps": {name: spread(s) for name, s in steps.items()}}


def walks(folder, questions, k=500, restart=0.5):
    """PPR alone, from the seeds that method ppr has, ours and igraph's on the same graph."""
    index = Index.open(folder)
    steps = retrieval_part(index.pipeline("ppr")).steps
    indptr, neighbours = index.graph.adjacency
    owners = np.repeat(np.arange(len(index.graph)), np.diff(indptr))
    once = owners < neighbours
    other = igraph.Graph(n=len(index.graph), edges=np.stack((owners[once], neighbours[once]), 1).tolist())
    ours, theirs, recall = [], [], []
    for question in questions[:100]:
        state = steps[1](steps[0](start(question.text, index.graph)))
        nodes, weights = seeds(state)
        push_ppr(indptr, neighbours, nodes, weights, restart=restart, k=k)
        begun = time.perf_counter()
        found, _ = push_ppr(indptr, neighbours, nodes, weights, restart=restart, k=k)
        ours.append(time.perf_counter() - begun)
        reset = np.zeros(len(index.graph))
        reset[nodes] = weights
        begun = time.perf_counter()
        scores = np.array(other.personalized_pagerank(reset=reset, damping=1 - restart, implementation="prpack"))
        theirs.append(time.perf_counter() - begun)
        exact = np.lexsort((np.arange(len(scores)), -scores))[:k]
        recall.append(len(np.intersect1d(found, exact)) / k)
    ratio = float(np.median(theirs) / np.median(ours))
    size = {"nodes": len(index.graph), "edges": len(index.graph.edges), "k": k, "restart": restart}
    return {
        **size,
        "ours": spread(ours),
        "igraph": spread(theirs),
        "ratio": round(ratio, 1),
        "recall": round(float(np.mean(recall)), 4),
    }


def command(arguments, rounds):
    seconds = []
    for _ in range(rounds + 1):
        begun = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        seconds.append(time.perf_counter() - begun)
    return spread(seconds[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--methods", nargs="*", default=[], help="further methods, the first 100 questions")
    given = parser.parse_args()
    questions = read_questions(given.questions)
    run = "from graphwright.cli.app import main; main()"
    found = {
        "passages": Index.open(given.index).info()["chunks"],
        "retrieve, warm": warm(given.index, questions, given.rounds),
        "further methods, warm": {m: warm(given.index, questions[:100], 1, m) for m in given.methods},
        "ppr alone": walks(given.index, questions),
        "ask, cold process": command(["-c", run, "ask", questions[0].text, "--index", str(given.index)], 5),
        "import graphwright": command(["-c", "import graphwright"], 5),
        "python alone": command(["-c", "pass"], 5),
    }
    name = f"latency-{given.questions.parent.name}.json"
    (RESULTS / name).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
