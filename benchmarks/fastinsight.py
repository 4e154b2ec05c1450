"""GRanker and STeX without their models: a query's loop on graphs of the size of ACL-OCL, in milliseconds.

    python benchmarks/fastinsight.py [--nodes 402742] [--edges 5840449] [--queries 100]

Seeded heavy-tailed graphs, of degree exponent 3 as citation networks have it and 2.5 with larger hubs, and unit
vectors of 384 numbers, each near that of a node it is linked with. Budget 100, batch 10, as the paper has them: ten
times GRanker, nine times STeX. Latents come from a table and their time is left out, so that what is left is ours.
`all` is the whole expression after the vector search, `kernels` what is compiled. Before each of the three the
vectors are searched, as before a query, so that no row of a neighbour lies in the processor's cache. Processor time of
the thread, as other work may share the machine; it still counts what that work costs in shared caches.
Writes benchmarks/results/fastinsight.json.
"""

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from graphwright import Evidence, GRanker, Graph, Keep, Reached, Repeat, STeX, VectorIndex, start
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import Columns
from graphwright.kernels.frontier import Around, products, smooth

BATCH, BUDGET, DIMENSION = 10, 100, 384
clock = time.thread_time


def graph_of(n, m, exponent, seed=0):
    """Ends drawn in proportion to rank^(-1/(exponent - 1)); each node has an edge."""
    rng = np.random.default_rng(seed)
    upto = np.cumsum((np.arange(n) + 11.0) ** (-1 / (exponent - 1)))
    order = rng.permutation(n).astype(np.int32)

    def draw(size):
        return order[np.minimum(np.searchsorted(upto, rng.random(size) * upto[-1]), n - 1)]

    heads, tails = np.concatenate((np.arange(n, dtype=np.int32), draw(m - n))), draw(m)
    names = TextColumn.of(str(v) for v in range(n))
    relations = TextColumn.of(["cites"])
    return Graph(Columns(names, heads, tails, np.zeros(m, np.int32), relations, np.zeros(n, np.uint8)))


def vectors_of(graph, seed=1):
    """Unit vectors: noise, plus half of that of the node which the first edge leads to."""
    own = np.random.default_rng(seed).normal(size=(len(graph), DIMENSION)).astype(np.float32)
    first = graph.columns.tails[: len(graph)]
    for begin in range(0, len(own), 50_000):
        own[begin : begin + 50_000] += 0.5 * own[first[begin : begin + 50_000]]
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    return own


class Told:
    """Models that look up: a text is a node's number. The time they take adds up in `spent`."""

    def __init__(self, vectors):
        self.vectors, self.spent = vectors, 0.0

    def __repr__(self):
        return "Told()"

    def encode(self, texts):
        return self._timed(lambda: self.vectors[[int(text) for text in texts]])

    def latents(self, query, texts):
        return self._timed(lambda: self.vectors[[int(text) for text in texts]] * self.vectors[int(query)])

    def head(self, latents):
        return self._timed(lambda: latents.sum(axis=1))

    def without(self, work, *given):
        """Return how many milliseconds a call takes without these models, and what it gives."""
        self.spent, begin = 0.0, clock()
        found = work(*given)
        return (clock() - begin - self.spent) * 1e3, found

    def _timed(self, work):
        begin = clock()
        found = work()
        self.spent += clock() - begin
        return found


def kernels(graph, around, vectors, query, lists):
    """Run the kernels over the lists of nodes of a loop; return milliseconds, and how many neighbours the last has."""
    adjacency = graph.columns.adjacency
    latents = np.zeros((BUDGET, DIMENSION), np.float32)
    begin = clock()
    around.forget()
    for nodes in lists:
        smooth(*adjacency, nodes, latents[: len(nodes)], 0.2)
        if len(nodes) < BUDGET:
            around.scores(nodes, lambda rows: products(vectors, rows, vectors[query]), k=BATCH)
    spent = (clock() - begin) * 1e3
    every, _ = around.scores(lists[-2], lambda rows: products(vectors, rows, vectors[query]))
    return spent, len(every)


def apart(ranker, stex, states):
    """Run the two operators alone on the states of a loop: a trace is timed by the clock on the wall."""
    for state in states:
        if len(state.evidence) < BUDGET:
            stex(state)
        ranker(state)


def measure(graph, vectors, queries):
    model = Told(vectors)
    index = VectorIndex(vectors, None, model)
    vars(index)["checksum"] = "0" * 16  # as of an index that was opened: 600 MB need not be read to print it
    ranker, stex, around = GRanker(model), STeX(index) % BATCH, Around(*graph.columns.adjacency)
    run = ranker >> Repeat((Keep() | stex) >> ranker, until=Reached(nodes=BUDGET))
    others = GRanker(model), STeX(index) % BATCH  # that remember nothing of what those met
    spent, neighbours = defaultdict(list), []
    for at, query in enumerate(queries):
        seeds = np.sort(np.argpartition(-(vectors @ vectors[query]), BATCH)[:BATCH])
        state = start(str(query), graph, evidence=Evidence.of_nodes(seeds))
        whole, after = model.without(run, state)
        found = [step.after.evidence for step in after.trace if step.operator.startswith("GRanker")]
        vectors @ vectors[query]  # as before: no row that is sought lies in the processor's cache
        compiled, size = kernels(graph, around, vectors, query, [evidence.nodes for evidence in found])
        states = [state.with_(evidence=evidence) for evidence in found]
        vectors @ vectors[query]
        both, _ = model.without(apart, *others, states)
        if at:  # the first compiles
            neighbours.append(size)
            for name, value in (("all", whole), ("granker_and_stex", both), ("kernels", compiled)):
                spent[name].append(value)
    degrees = np.diff(graph.columns.adjacency.indptr)
    return {
        "nodes": len(graph), "edges": len(graph.edges), "largest_degree": int(degrees.max()),
        "queries": len(neighbours), "neighbours_at_the_end": int(np.median(neighbours)),
        **{name: {"p50_ms": round(float(np.median(v)), 2), "p95_ms": round(float(np.quantile(v, 0.95)), 2)}
           for name, v in spent.items()},
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=402_742)
    parser.add_argument("--edges", type=int, default=5_840_449)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--exponents", type=float, nargs="+", default=[3.0, 2.5])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "fastinsight.json")
    given = parser.parse_args()
    results = []
    for exponent in given.exponents:
        graph = graph_of(given.nodes, given.edges, exponent)
        queries = np.random.default_rng(2).choice(given.nodes, given.queries + 1, replace=False).tolist()
        results.append({"exponent": exponent, **measure(graph, vectors_of(graph), queries)})
        print(json.dumps(results[-1]), flush=True)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
