"""Flow paths (PathRAG) between 40 clustered nodes: time, pairs joined and edges looked at, at three thresholds.

    python benchmarks/flow.py [--queries 30] [--graphs small large]

Graphs are seeded and heavy-tailed (degree exponent 2.5). A query's 40 nodes are those that walks of one to three steps
from one node reach, so that they lie close together, as nodes found for one question do. What is timed is the whole
operator, with the edges of every path (every one of them, and the 15 best), models excluded: of each query the
fastest of three runs, as far as other work on the machine lets it. Writes benchmarks/results/flow.json.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Columns, Graph
from graphwright.kernels.flow import flow_paths
from graphwright.retrieve.flow import FlowPaths
from graphwright.retrieve.state import start

SIZES = {"small": (57_000, 93_000), "large": (402_742, 5_840_000)}
THRESHOLDS = (1e-2, 1e-4, 1e-6)
NODES, KEPT = 40, 15


def heavy_tailed(n, m, seed=0):
    """Ends drawn in proportion to rank^(-2/3), for a degree exponent of 2.5; each node begins an edge."""
    rng = np.random.default_rng(seed)
    upto = np.cumsum((np.arange(n) + 11.0) ** (-2 / 3))
    names = rng.permutation(n)

    def draw(size):
        return names[np.minimum(np.searchsorted(upto, rng.random(size) * upto[-1]), n - 1)].astype(np.int32)

    heads = np.concatenate((np.arange(n, dtype=np.int32), draw(m - n)))
    columns = Columns(
        names=TextColumn.of(map(str, range(n))),
        heads=heads,
        tails=draw(m),
        relation=np.zeros(m, np.int32),
        relations=TextColumn.of(["r"]),
        kinds=np.zeros(n, np.uint8),
    )
    return Graph(columns)


def cluster(graph, rng):
    """40 nodes around one: the ends of walks of one to three steps from it."""
    indptr, neighbours = graph.adjacency
    while True:
        first = int(rng.integers(len(graph)))
        found = {first}
        for _ in range(50 * NODES):
            at = first
            for _ in range(int(rng.integers(1, 4))):
                at = int(neighbours[rng.integers(indptr[at], indptr[at + 1])])
            found.add(at)
            if len(found) == NODES:
                return np.array(sorted(found))


def timed(op, state):
    """Milliseconds by the clock, and of the processor, which other work on the machine does not add to."""
    begin, used = time.perf_counter(), time.thread_time()
    op(state)
    return (time.perf_counter() - begin) * 1e3, (time.thread_time() - used) * 1e3


def measure(name, graph, queries):
    rng = np.random.default_rng(1)
    clusters = [cluster(graph, rng) for _ in range(queries)]
    for threshold in THRESHOLDS:
        row = {"graph": name, "nodes": len(graph), "edges": len(graph.edges), "threshold": threshold}
        for label, op in (("all", FlowPaths(threshold=threshold)), ("best", FlowPaths(threshold=threshold) % KEPT)):
            spent = []
            for ends in clusters:
                state = start("?", graph, evidence=Evidence.of_nodes(ends))
                spent.append(min(timed(op, state) for _ in range(3)))
            clock, processor = np.array(spent).T
            row |= {f"{label}_p50_ms": np.median(clock), f"{label}_p95_ms": np.quantile(clock, 0.95)}
            row |= {f"{label}_p50_cpu_ms": np.median(processor)}
        joined, touched, paths = [], [], []
        for ends in clusters:
            table, _, looked_at, _ = flow_paths(*graph.adjacency, ends, decay=0.7, threshold=threshold)
            last = table[np.arange(len(table)), (table >= 0).sum(axis=1) - 1]
            pairs = np.sort(np.stack((table[:, 0], last), axis=1), axis=1)
            joined.append(len(np.unique(pairs, axis=0)) / (NODES * (NODES - 1) / 2))
            touched.append(looked_at)
            paths.append(len(table))
        yield row | {
            "joined": np.mean(joined),
            "touched": np.mean(touched),
            "paths": np.mean(paths),
            "queries": queries,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--graphs", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "flow.json")
    options = parser.parse_args()
    rows = []
    print("| graph | nodes | edges | θ | p50 ms | p95 ms | p50 CPU | p50 of % 15 | joined | edges touched | paths |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in options.graphs:
        graph = heavy_tailed(*SIZES[name])
        _ = graph.adjacency, graph.columns.out, graph.columns.into
        for row in measure(name, graph, options.queries):
            rows.append({key: round(float(v), 7) if isinstance(v, float) else v for key, v in row.items()})
            print(
                "| {graph} | {nodes:,} | {edges:,} | {threshold:g} | {all_p50_ms:.1f} | {all_p95_ms:.1f} | "
                "{all_p50_cpu_ms:.1f} | {best_p50_ms:.1f} | {joined:.0%} | {touched:,.0f} | {paths:,.0f} |".format(
                    **row
                ),
                flush=True,
            )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
