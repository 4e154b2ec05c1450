"""Evidence chains on MetaQA: at how many two-hop questions an answer is the end of a chain, with and without inverses.

    python benchmarks/chains.py --data DIR/kgqa/metaqa [--questions 2hop_dev] [--sample 500] [--vectors FILE.npy]

As in ReG: the PPR-1000 subgraph of the question's entity, its 500 triples nearest to the question by the embedded
encoder, chains of them, merged. The text of every triple is encoded once, and kept in FILE where one is named.
Hits@1 and F1 are those of ChainAnswer: the ends of the chain nearest to the question. Writes
benchmarks/results/chains.json.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from graphwright import (
    ChainAnswer,
    Chains,
    EdgeSearch,
    Graph,
    Induce,
    MergeChains,
    MiniLM,
    PersonalizedPageRank,
    Question,
    VectorIndex,
    hits_at_1,
    macro_f1,
    read_dataset,
    start,
)

RESULTS = Path(__file__).parent / "results"
WAYS = {"inverse": Chains(), "inverse, length 2": Chains(length=2), "head to tail": Chains(inverse=False)}


def vectors_of(graph, encoder, path):
    if path is not None and path.exists():
        return np.load(path, mmap_mode="r")
    texts = [graph.edge_text(edge) for edge in graph.edges.tolist()]
    rows = []
    for at in range(0, len(texts), 4096):
        rows.append(encoder.encode(texts[at : at + 4096]))
        print(f"{min(at + 4096, len(texts)):,} of {len(texts):,} triples encoded", flush=True)
    vectors = np.concatenate(rows)
    if path is not None:
        np.save(path, vectors)
    return vectors


def timed(operator, state):
    begun = time.perf_counter()
    after = operator(state)
    return after, (time.perf_counter() - begun) * 1e3


def ends(evidence, anchors):
    """The last node of each chain, seen from its query entity."""
    asked = {int(node) for anchor in anchors for node in anchor.nodes}
    return {int(nodes[-1] if int(nodes[0]) in asked else nodes[0]) for nodes, _ in evidence}


def measure(graph, questions, search, answer):
    pool, merge = PersonalizedPageRank(each=True) % 1000 >> Induce(), MergeChains()
    rows = {name: [] for name in WAYS}
    inside = []
    for record in questions:
        state = start(Question(record.text, record.id, record.entities, record.answers), graph)
        state = (search % 500)(pool(state))
        gold = {graph.id(name) for name in record.answers}
        inside.append(bool(gold & set(graph.ends(state.evidence.edges).tolist())))
        for name, way in WAYS.items():
            chained, chain_ms = timed(way, state)
            merged, merge_ms = timed(merge, chained)
            reply = answer(merged).answer
            said = [citation.text for citation in reply.citations]
            reached = ends(chained.evidence, state.anchors)
            rows[name].append(
                (
                    bool(gold & reached), gold <= reached, len(chained.evidence), len(merged.evidence), chain_ms,
                    merge_ms, hits_at_1(said, record.answers), macro_f1(said, list(record.answers)),
                )
            )  # fmt: skip
    return inside, rows


def summary(rows):
    table = np.array(rows, float)
    found = {
        "an answer ends a chain": table[:, 0].mean(),
        "all answers do": table[:, 1].mean(),
        "chains": table[:, 2].mean(),
        "merged": table[:, 3].mean(),
        "chains ms, median": np.median(table[:, 4]),
        "chains ms, 95th": np.quantile(table[:, 4], 0.95),
        "merging ms, median": np.median(table[:, 5]),
        "hits@1 of the nearest chain": table[:, 6].mean(),
        "F1 of the nearest chain": table[:, 7].mean(),
    }
    return {name: round(float(value), 4) for name, value in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", nargs="+", default=["2hop_dev"])
    parser.add_argument("--sample", type=int, default=500, help="questions of each file, evenly over it; 0 for all")
    parser.add_argument("--vectors", type=Path)
    given = parser.parse_args()
    encoder = MiniLM()
    results, graph, search = {}, None, None
    for name in given.questions:
        data = read_dataset(given.data, name)
        if graph is None:
            graph = Graph.from_triples(data.triples)
            search = EdgeSearch(VectorIndex.from_array(vectors_of(graph, encoder, given.vectors), encoder))
        count = min(given.sample or len(data.questions), len(data.questions))
        chosen = [data.questions[int(i)] for i in np.linspace(0, len(data.questions) - 1, count)]
        inside, rows = measure(graph, chosen, search, ChainAnswer(encoder))
        results[data.name] = {
            "questions": count,
            "an answer is in the 500 triples": round(float(np.mean(inside)), 4),
            **{way: summary(found) for way, found in rows.items()},
        }
        print(json.dumps({data.name: results[data.name]}, indent=1), flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "chains.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
