"""Flow paths (PathRAG) between 40 clustered nodes: time, pairs joined and edges looked at, at three thresholds.

    python benchmarks/flow.py [--queries 30] [--graphs small middle large]

Graphs are seeded and heavy-tailed (degree exponent 2.5). A query's 40 nodes are those that walks of one to three steps
from one node reach, so that they lie close together, as nodes found for one question do. What is timed is the whole
operator, with the edges of every path (every one of them, and the 15 best), models excluded: of each query the
fastest of three runs, as far as other work on the machine lets it. How that grows with the number of nodes N and with
the graph is drawn besides. Writes benchmarks/results/flow.json and flow.png.
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
from graphwright.operators.paths.flow import FlowPaths
from graphwright.operators.state import start

SIZES = {"small": (57_000, 93_000), "middle": (150_000, 750_000), "large": (402_742, 5_840_000)}
THRESHOLDS = (1e-2, 1e-4, 1e-6)
NODES, KEPT = 40, 15
GROWN = (10, 20, 40, 60, 80)  # N, for the plot


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


def cluster(graph, rng, nodes=NODES):
    """Nodes around one: the ends of walks of one to three steps from it."""
    indptr, neighbours = graph.adjacency
    while True:
        first = int(rng.integers(len(graph)))
        found = {first}
        for _ in range(50 * nodes):
            at = first
            for _ in range(int(rng.integers(1, 4))):
                at = int(neighbours[rng.integers(indptr[at], indptr[at + 1])])
            found.add(at)
            if len(found) == nodes:
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


def grown(graph, queries):
    """Yield N, threshold and the median milliseconds of queries with N nodes."""
    for nodes in GROWN:
        rng = np.random.default_rng(2)
        states = [start("?", graph, evidence=Evidence.of_nodes(cluster(graph, rng, nodes))) for _ in range(queries)]
        for threshold in THRESHOLDS:
            op = FlowPaths(threshold=threshold)
            yield nodes, threshold, float(np.median([min(timed(op, state)[0] for _ in range(2)) for state in states]))


def plotted(rows, growth, path):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(growth) + 1, figsize=(4.2 * (len(growth) + 1), 3.6), sharey=True)
    for axis, (name, points) in zip(axes, growth.items(), strict=False):
        for threshold in THRESHOLDS:
            along = [(nodes, ms) for nodes, t, ms in points if t == threshold]
            axis.plot(*zip(*along, strict=True), marker="o", label=f"θ = {threshold:g}")
        axis.set_title(f"{name}: {SIZES[name][0]:,} nodes, {SIZES[name][1]:,} edges", fontsize=9)
        axis.set_xlabel("nodes joined, N")
    for threshold in THRESHOLDS:
        along = [(row["edges"], row["all_p50_ms"]) for row in rows if row["threshold"] == threshold]
        axes[-1].plot(*zip(*along, strict=True), marker="o", label=f"θ = {threshold:g}")
    axes[-1].set_title("N = 40", fontsize=9)
    axes[-1].set_xlabel("edges of the graph")
    axes[-1].set_xscale("log")
    axes[0].set_ylabel("p50, ms")
    axes[0].set_yscale("log")
    axes[0].legend(frameon=False, fontsize=8)
    for axis in axes:
        axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--graphs", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "flow.json")
    options = parser.parse_args()
    rows, growth = [], {}
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
        growth[name] = list(grown(graph, max(options.queries // 3, 1)))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(rows, indent=1) + "\n")
    plotted(rows, growth, options.out.with_suffix(".png"))


if __name__ == "__main__":
    main()
