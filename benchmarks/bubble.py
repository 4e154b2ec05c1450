"""Bubble expansion: milliseconds a query on a real index and on large graphs, and how they grow with groups, B and h.

    python benchmarks/bubble.py [--index DIR --questions questions.jsonl] [--largest 1000000]

DIR is an index of the questions' corpus with passages and names embedded (Settings(embed=("passages", "names"))). Its
anchors are what LinkEntities finds. The large graphs are seeded and heavy-tailed (exponent 2.5), their vectors random, so that
nothing guides the search: the hardest case. Anchors lie two random steps from a node drawn at random ("near"), as
those of a question do, or anywhere ("far"). Models are not counted. Writes benchmarks/results/bubble.json and .png.
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np

from graphwright import Bubble, Coverage, Index, start
from graphwright.data.questions import read_questions
from graphwright.index.vector_index import joined
from graphwright.kernels.bubble import bubble, node_costs
from graphwright.kernels.csr import undirected
from graphwright.operators import LinkEntities

SYNTHETIC = {
    "heavy-tailed 51k": (51_000, 220_000),
    "heavy-tailed 200k": (200_000, 1_000_000),
    "heavy-tailed 1M": (1_000_000, 5_500_000),
}
DIMENSION = 384
USUAL = {"groups": 3, "terminals": 5, "budget": 10, "hops": 6}
VARIED = [{}, {"groups": 2}, {"groups": 5}, {"groups": 10}, {"budget": 5}, {"budget": 20}, {"budget": 50}]
VARIED += [{"hops": 1}, {"hops": 2}, {"hops": 4}, {"terminals": 1}]


def spread(milliseconds):
    p50, p95 = np.percentile(milliseconds, [50, 95])
    return {"p50 ms": round(float(p50), 2), "p95 ms": round(float(p95), 2)}


def heavy_tailed(n, m, seed=0):
    """Ends drawn in proportion to rank^(-2/3), for a degree exponent of 2.5; each node has an edge."""
    rng = np.random.default_rng(seed)
    upto = np.cumsum((np.arange(n) + 11.0) ** (-2 / 3))
    names = rng.permutation(n)

    def draw(size):
        return names[np.minimum(np.searchsorted(upto, rng.random(size) * upto[-1]), n - 1)]

    return undirected(n, np.concatenate((np.arange(n), draw(m - n))), draw(m))


def terminals(graph, rng, groups, each, near):
    """Rows of (group, node, -1), each node once in a group."""
    indptr, neighbours = graph
    centre = rng.integers(indptr.size - 1)

    def one():
        v = centre
        for _ in range(2):
            v = int(rng.choice(neighbours[indptr[v] : indptr[v + 1]]))
        return v

    rows = {(g, one() if near else int(rng.integers(indptr.size - 1)), -1) for g in range(groups) for _ in range(each)}
    return sorted(rows)


def synthetic(name, size, rounds=60):
    graph, rng = heavy_tailed(*size), np.random.default_rng(1)
    vectors = rng.standard_normal((size[0], DIMENSION), dtype=np.float32)
    for near in (True, False):
        for changed in VARIED if near else VARIED[:1]:
            setting = {**USUAL, **changed}
            spent = []
            for at in range(rounds):
                rows = terminals(graph, rng, setting["groups"], setting["terminals"], near)
                query = rng.standard_normal(DIMENSION)
                begun = time.perf_counter()
                bubble(*graph, rows, node_costs(query, vectors), hops=setting["hops"], budget=setting["budget"])
                if at:  # the first pays for what is loaded once
                    spent.append(1e3 * (time.perf_counter() - begun))
            yield {
                "graph": name,
                "nodes": size[0],
                "edges": graph[1].size // 2,
                "near": near,
                **setting,
                **spread(spent),
            }


def real(folder, questions):
    snapshot = Index.open(folder).snapshot
    index, link = joined(snapshot.names, snapshot.passages), LinkEntities(snapshot.names)
    states = [link(start(question.text, snapshot.graph)) for question in questions]
    states = [state for state in states if sum(len(anchor.nodes) > 0 for anchor in state.anchors) > 1]
    for setting in [{}, {"budget": 5}, {"budget": 20}, {"budget": 50}, {"hops": 2}, {"hops": 4}]:
        steps = Bubble(index, **setting), Coverage(index)
        spent, pieces = [[], []], []
        (steps[0] >> steps[1])(states[0])
        for state in states:
            for step, times in zip(steps, spent, strict=True):
                state = step(state)
                times.append(1e3 * (state.trace[-1].seconds - state.trace[-1].usage.seconds))
            pieces.append(len(state.evidence))
        yield {
            "graph": Path(folder).resolve().parent.name,
            "nodes": len(snapshot.graph), "edges": len(snapshot.graph.edges),
            "questions": len(states), **USUAL, **setting, "groups": "LinkEntities", "terminals": "LinkEntities",
            "pieces": float(np.mean(pieces)), **spread(spent[0]), "coverage p50 ms": spread(spent[1])["p50 ms"],
        }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--index", type=Path, help="folder of an index")
    parser.add_argument("--questions", type=Path, help="questions of its corpus")
    parser.add_argument("--largest", type=int, default=1_000_000, help="nodes of the largest synthetic graph")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "bubble.json")
    options = parser.parse_args()
    rows = []
    parts = [synthetic(name, size) for name, size in SYNTHETIC.items() if size[0] <= options.largest]
    if options.index:
        parts.insert(0, real(options.index, list(read_questions(options.questions))[:200]))
    print(
        "| graph | nodes | anchors | groups × terminals | B | h | p50 ms | p95 ms |\n|---|---|---|---|---|---|---|---|"
    )
    for part in parts:
        for row in part:
            rows.append({**row, "load": round(os.getloadavg()[0], 1)})
            anchors = {True: "near", False: "far"}.get(row.get("near"), "LinkEntities")
            print(
                f"| {row['graph']} | {row['nodes']:,} | {anchors} | {row['groups']} × {row['terminals']} "
                f"| {row['budget']} | {row['hops']} | {row['p50 ms']} | {row['p95 ms']} |",
                flush=True,
            )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(rows, indent=1) + "\n")
    plotted(rows, options.out.with_suffix(".png"))


def plotted(rows, path):
    """Draw p50 against each setting, the others as usual, a line for each graph; and against the size of graphs."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 5, figsize=(17, 3.6), sharey=True)
    near = [row for row in rows if row.get("near")]
    for axis, name in zip(axes, ("groups", "terminals", "budget", "hops"), strict=False):
        for graph in dict.fromkeys(row["graph"] for row in near):
            others = [key for key in USUAL if key != name]
            along = [r for r in near if r["graph"] == graph and all(r[key] == USUAL[key] for key in others)]
            along.sort(key=lambda row: row[name])
            axis.plot([r[name] for r in along], [r["p50 ms"] for r in along], marker="o", label=graph)
        axis.set_xlabel({"groups": "groups, m", "terminals": "terminals a group", "budget": "B", "hops": "h"}[name])
    for place in (True, False):
        usual = [r for r in rows if r.get("near") is place and all(r[key] == USUAL[key] for key in USUAL)]
        label = "anchors near" if place else "anchors far"
        axes[4].plot([r["nodes"] for r in usual], [r["p50 ms"] for r in usual], marker="o", label=label)
    axes[4].set_xlabel("nodes of the graph")
    axes[4].set_xscale("log")
    axes[0].set_ylabel("p50, ms")
    axes[0].set_yscale("log")
    for axis in (axes[0], axes[4]):
        axis.legend(frameon=False, fontsize=8)
    for axis in axes:
        axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
