"""How far the pieces of bubble expansion are from the best: exact group Steiner trees of random small graphs.

    python benchmarks/steiner.py [--graphs 500]

The cost of a piece is the sum of 1 - cos(question, node) over its nodes, terminals free, as in the expansion. The best
piece that holds a node of every group is found exactly, by dynamic programming over sets of groups (Dreyfus and Wagner,
1971, on nodes); Bubble's is the cheapest of its first B pieces that covers all groups. Seeded. Writes
benchmarks/results/steiner.md.
"""

import argparse
import heapq
from pathlib import Path

import numpy as np

from graphwright.kernels.bubble import bubble, node_costs
from graphwright.kernels.csr import undirected

RESULTS = Path(__file__).parent / "results"
NODES, EXTRA, TERMINALS = 30, 25, 2
GROUPS, BUDGETS = (2, 3, 4, 5), (1, 5, 10, 20, 50)


def world(rng, groups):
    """A connected random graph, a cost for each node, and groups of terminals that cost nothing."""
    order = rng.permutation(NODES)
    tree = [(order[i], order[rng.integers(i)]) for i in range(1, NODES)]
    edges = np.array(tree + [tuple(rng.choice(NODES, 2, replace=False)) for _ in range(EXTRA)], np.int32)
    graph = undirected(NODES, np.ascontiguousarray(edges[:, 0]), np.ascontiguousarray(edges[:, 1]))
    members = [set(rng.choice(NODES, TERMINALS, replace=False).tolist()) for _ in range(groups)]
    costs = rng.uniform(0.2, 1.0, NODES)
    return graph, members, costs


def best(graph, members, costs):
    """The least cost of a tree with a node of each group: best[mask][v] over sets of groups and a node of the tree."""
    indptr, near = graph
    full = (1 << len(members)) - 1
    least = np.full((full + 1, NODES), np.inf)
    for g, nodes in enumerate(members):
        for v in nodes:
            least[1 << g, v] = costs[v]
    for mask in range(1, full + 1):
        part = (mask - 1) & mask
        while part:
            least[mask] = np.minimum(least[mask], least[part] + least[mask ^ part] - costs)
            part = (part - 1) & mask
        heap = [(cost, v) for v, cost in enumerate(least[mask]) if cost < np.inf]
        heapq.heapify(heap)
        while heap:
            cost, v = heapq.heappop(heap)
            if cost <= least[mask, v]:
                for u in near[indptr[v] : indptr[v + 1]]:
                    if cost + costs[u] < least[mask, u]:
                        least[mask, u] = cost + costs[u]
                        heapq.heappush(heap, (least[mask, u], int(u)))
    return float(least[full].min())


def found(graph, members, costs, budget):
    """The least cost of Bubble's pieces that cover all groups, infinite if none does."""
    rows = sorted((g, v, -1) for g, nodes in enumerate(members) for v in nodes)
    covering = [np.inf]
    cosines = 1 - costs
    vectors = np.stack((cosines, np.sqrt(1 - cosines**2)), axis=1).astype(np.float32)
    for meeting in bubble(*graph, rows, node_costs((1.0, 0.0), vectors), hops=NODES, budget=budget):
        nodes = {int(v) for walk in meeting.walks for v in walk}
        if all(nodes & group for group in members):
            covering.append(sum(costs[v] for v in nodes))
    return float(min(covering))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=500, help="for each number of groups")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    header = ["groups", *(f"B = {budget}" for budget in BUDGETS)]
    lines = ["| " + " | ".join(header) + " |", "| " + " | ".join(["---"] * len(header)) + " |"]
    for groups in GROUPS:
        ratios = {budget: [] for budget in BUDGETS}
        for _ in range(given.graphs):
            graph, members, costs = world(rng, groups)
            costs[sorted(set().union(*members))] = 0.0
            exact = best(graph, members, costs)
            for budget in BUDGETS:
                cost = found(graph, members, costs, budget)
                # A piece of terminals alone costs nothing: then both do, or Bubble's is not the best.
                ratios[budget].append(1.0 if cost <= exact + 1e-6 else cost / exact if exact else np.inf)
        cells = []
        for budget in BUDGETS:
            of = np.array(ratios[budget])
            covers = np.isfinite(of)
            ratio = f"{of[covers].mean():.3f}" if covers.any() else "-"
            cells.append(f"{100 * np.mean(of <= 1 + 1e-6):.0f} % / {100 * covers.mean():.0f} % / {ratio}")
        lines.append("| " + " | ".join([str(groups), *cells]) + " |")
        print(lines[-1], flush=True)
    text = (
        "# Bubble expansion against exact group Steiner trees\n\n"
        f"{given.graphs} random graphs of {NODES} nodes and up to {NODES - 1 + EXTRA} edges for each number of "
        f"groups, {TERMINALS} terminals a group (`python benchmarks/steiner.py`). In each cell: in how many graphs the "
        "cheapest of the first B pieces that cover every group is as cheap as the best there is / in how many any "
        "piece covers every group / the mean ratio of the costs where one does.\n\n" + "\n".join(lines) + "\n"
    )
    (RESULTS / "steiner.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
