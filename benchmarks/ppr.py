"""Personalised PageRank: our top k against python-igraph, in one run, as ratios; recall of the exact top k.

    python benchmarks/ppr.py --graphs FOLDER [--largest 1000000] [--k 20 100 1000]

FOLDER holds real graphs: METIS (.graph), else edge lists (a line of two ids) or, as .dat, a row of
neighbours for each node, its count first. Synthetic graphs are seeded: heavy-tailed (exponent 2.5), and
two kinds on which a push has it hard: a grid with gaps, like roads, and blocks of nodes much alike.
igraph's own solver (PRPACK) is the exact reference. Writes benchmarks/results/ppr.json.
"""

import argparse
import json
import time
from pathlib import Path

import igraph
import numpy as np

from graphwright.kernels.csr import undirected
from graphwright.kernels.ppr import push_ppr

RESTART = 0.15


def heavy_tailed(n, m, seed=0):
    """Ends drawn in proportion to rank^(-2/3), for a degree exponent of 2.5; each node has an edge."""
    rng = np.random.default_rng(seed)
    upto = np.cumsum((np.arange(n) + 11.0) ** (-2 / 3))
    names = rng.permutation(n)

    def draw(size):
        return names[np.minimum(np.searchsorted(upto, rng.random(size) * upto[-1]), n - 1)]

    return undirected(n, np.concatenate((np.arange(n), draw(m - n))), draw(m))


def grid(side, gaps=0.15, seed=0):
    """A square grid, of whose edges a share is missing."""
    at = np.arange(side * side).reshape(side, side)
    heads = np.concatenate((at[:, :-1].ravel(), at[:-1].ravel()))
    tails = np.concatenate((at[:, 1:].ravel(), at[1:].ravel()))
    kept = np.random.default_rng(seed).random(heads.size) >= gaps
    return undirected(side * side, heads[kept], tails[kept])


def blocks(n, size, inside=5, between=1, seed=0):
    """Blocks of `size` nodes with so many edges a node inside, and between any two."""
    rng = np.random.default_rng(seed)
    heads, far = rng.integers(0, n, inside * n), rng.integers(0, n, (2, between * n))
    tails = heads // size * size + rng.integers(0, size, heads.size)
    return undirected(n, np.concatenate((heads, far[0])), np.concatenate((tails, far[1])))


SYNTHETIC = {
    "heavy-tailed 15k": (15_000, lambda: heavy_tailed(15_000, 60_000)),
    "100k": (100_000, lambda: heavy_tailed(100_000, 550_000)),
    "grid 90k": (90_000, lambda: grid(300)),
    "blocks of 500, 100k": (100_000, lambda: blocks(100_000, 500)),
    "blocks of 10k, 100k": (100_000, lambda: blocks(100_000, 10_000)),
    "1M": (1_000_000, lambda: heavy_tailed(1_000_000, 5_500_000)),
}


def _metis(lines):
    header, *rows = [line.split() for line in lines if not line.startswith("%")]
    step = 2 if header[2:] and header[2].endswith("1") else 1
    return [(v, int(u) - 1) for v, row in enumerate(rows[: int(header[0])]) for u in row[::step]]


def read(path):
    lines = path.read_text().splitlines()
    if path.suffix == ".graph":
        pairs = _metis(lines)
    elif path.suffix == ".dat":
        pairs = [(v, int(u)) for v, line in enumerate(lines) for u in line.split()[1:]]
    else:
        pairs = [line.split()[:2] for line in lines if line and not line.startswith("#")]
    ids, ends = np.unique(np.array(pairs, np.int64), return_inverse=True)
    ends = ends.reshape(-1, 2)
    return undirected(ids.size, ends[:, 0], ends[:, 1])


def timed(call, inputs):
    """Milliseconds of each call, and what it returned."""
    spent, results = [], []
    for one in inputs:
        begin = time.perf_counter()
        results.append(call(one))
        spent.append((time.perf_counter() - begin) * 1e3)
    return np.array(spent), results


def measure(name, graph, ks, judged):
    indptr, neighbours = graph
    n = indptr.size - 1
    seeds = np.random.default_rng(1).choice(np.flatnonzero(np.diff(indptr)), 100).astype(np.int32)
    heads = np.repeat(np.arange(n), np.diff(indptr))
    once = heads < neighbours
    theirs = igraph.Graph(n, np.column_stack((heads[once], neighbours[once])))
    slow, exact = timed(
        lambda s: theirs.personalized_pagerank(reset_vertices=[int(s)], damping=1 - RESTART), seeds[:judged]
    )
    exact = [np.array(scores) for scores in exact]
    every, full = timed(lambda s: push_ppr(*graph, [s], restart=RESTART), seeds[: min(judged, 5)])
    error = max(np.abs(truth[nodes] - scores).sum() for truth, (nodes, scores) in zip(exact, full, strict=False))
    for k in ks:
        push_ppr(*graph, seeds[:1], restart=RESTART, k=k)
        spent, found = timed(lambda s, k=k: push_ppr(*graph, [s], restart=RESTART, k=k), seeds)
        recalls = []
        for truth, (nodes, _) in zip(exact, found, strict=False):
            size = min(k, np.count_nonzero(truth > 1e-15))
            bound = np.partition(truth, n - size)[n - size] * (1 - 1e-6)
            recalls.append(np.count_nonzero(truth[nodes] >= bound) / size)
        yield {
            "graph": name, "nodes": n, "edges": neighbours.size // 2, "k": k, "seeds": seeds.size,
            "p50_ms": np.median(spent), "p95_ms": np.quantile(spent, 0.95), "igraph_p50_ms": np.median(slow),
            "ratio": np.median(slow) / np.median(spent), "recall": np.mean(recalls), "least": min(recalls),
            "judged": judged, "exact_p50_ms": np.median(every), "exact_l1": error,
        }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--graphs", type=Path, help="folder of real graphs")
    parser.add_argument("--largest", type=int, default=1_000_000, help="nodes of the largest synthetic graph")
    parser.add_argument("--k", type=int, nargs="+", default=[20, 100, 1000])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "ppr.json")
    options = parser.parse_args()
    graphs = {name: make for name, (nodes, make) in SYNTHETIC.items() if nodes <= options.largest}
    if options.graphs:
        files = sorted(path for path in options.graphs.iterdir() if path.suffix != ".md")
        graphs = {path.stem: (lambda p=path: read(p)) for path in files} | graphs
    rows = []
    print("| graph | nodes | edges | k | p50 ms | p95 ms | igraph ms | ratio | recall@k (least) | exact ms |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, make in graphs.items():
        graph = make()
        for row in measure(name, graph, options.k, 20 if graph[0].size < 500_000 else 10):
            rows.append({key: round(v, 10) if isinstance(v, float) else v for key, v in row.items()})
            print(
                "| {graph} | {nodes:,} | {edges:,} | {k} | {p50_ms:.2f} | {p95_ms:.2f} | "
                "{igraph_p50_ms:.1f} | {ratio:.0f} | "
                "{recall:.3f} ({least:.2f}) | {exact_p50_ms:.1f} |".format(**row),
                flush=True,
            )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
