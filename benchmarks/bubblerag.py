"""BubbleRAG on the multihop sets: ablations, sweeps over B, d, alpha and h, and where evidence is lost.

    python benchmarks/bubblerag.py --data DIR/multihop [--indexes runs/recall] [--questions 100] [--sets ...]

The indexes are those of `benchmarks/recall.py`, which is run first. All steps are offline. `final` is recall@5 of the
passages that the method gives; `behind the pieces` that of the passages which the pieces alone lead to, as the paper
has them, in the order of the pieces. Writes benchmarks/results/bubblerag.md and .json.
"""

import argparse
import json
from pathlib import Path

import numpy as np

import graphwright as gw
from graphwright.data.questions import read_questions

RESULTS = Path(__file__).parent / "results"
SETS = {
    "musique-openie": "musique",
    "musique-lexical": "musique",
    "hotpotqa-lexical": "hotpotqa",
    "2wiki-lexical": "2wiki",
}
BUDGET, BEGIN = 15, 40  # passages in all; those that others are joined to
SWEEPS = {"budget": (5, 10, 20, 50), "depth": (0, 2, 4, 6, 8), "alpha": (0.1, 1.0, 2.0, 5.0), "hops": (1, 2, 4, 6)}
SYMBOLS = {"budget": "B", "depth": "d", "alpha": "alpha", "hops": "h"}


class Parts:
    """The steps of the method over one index, each to be left out or changed; what begins alike is done once."""

    def __init__(self, ix, questions):
        self.ix, self.vectors, self.questions = ix, gw.joined(ix.names, ix.passages), questions
        self.group = gw.GroupAnchors(ix.names, ix.triples, ix.words)
        begin = gw.Link(ix.names) >> gw.SupportSearch(ix.passages, ix.words) % BEGIN >> gw.Sources(BUDGET)
        self.first = [begin(gw.start(question.text, ix.graph)) for question in questions]
        self.after = {}

    def groups(self, latent=True, specialise=True, relax=True):
        steps = gw.LatentKeywords() if latent else gw.Keywords()
        steps = steps >> gw.Specialise() if specialise else steps
        return (steps >> gw.Relax(None, self.ix.names, self.ix.triples) if relax else steps) >> self.group

    def pieces(self, n=3, hops=6, budget=10, alpha=1.0, depth=6, ranked=True):
        found = gw.Bubble(self.vectors, hops, budget)
        best = (found >> gw.Coverage(self.vectors, alpha) if ranked else found) % n
        return best >> gw.Grow(None, self.ix.triples, depth)

    def complement(self, **changed):
        return gw.Complement(self.ix.passages, self.ix.words, **changed) % BUDGET

    def run(self, steps, states):
        """Return the states after steps, kept by the expression of all that was done."""
        key = repr(steps), id(states)
        if key not in self.after:
            self.after[key] = [steps(state) for state in states]
        return self.after[key]

    def found(self, groups, pieces):
        """Return the states with the pieces, and those with the passages of the beginning before them."""
        alone = self.run(pieces, self.run(groups, self.first))
        both = [a.with_(evidence=a.evidence.union(b.evidence)) for a, b in zip(self.first, alone, strict=True)]
        return alone, both

    def recall(self, states):
        """Return recall@5 in percent."""
        pairs = zip(states, self.questions, strict=True)
        return 100 * float(np.mean([recall(self.ix.graph, s.chunks.ids, q.gold, 5) for s, q in pairs]))


def variants(parts):
    """Yield the name of each variant with recall@5 of the method and of the pieces alone, None where it has none."""
    full = parts.groups(), parts.pieces()
    changed = {
        "the method": full,
        "without latent inference": (parts.groups(latent=False), full[1]),
        "without specialisation": (parts.groups(specialise=False), full[1]),
        "without relaxation": (parts.groups(relax=False), full[1]),
        "without ranking: the first pieces found": (full[0], parts.pieces(ranked=False)),
        "without growth": (full[0], parts.pieces(depth=0)),
    }
    for name, values in SWEEPS.items():
        changed |= {f"{SYMBOLS[name]} = {v:g}": (full[0], parts.pieces(**{name: v})) for v in values}
    for name, steps in changed.items():
        alone, both = parts.found(*steps)
        behind = [gw.Sources(BUDGET)(state) for state in alone]
        yield name, parts.recall([parts.complement()(state) for state in both]), parts.recall(behind)
    yield "without pieces: the beginning completed", parts.recall([parts.complement()(s) for s in parts.first]), None
    few = [state.with_(evidence=state.evidence.top(BUDGET)) for state in parts.first]
    yield "without pieces: the preview completed", parts.recall([parts.complement()(s) for s in few]), None
    yield "without completion: the preview", parts.recall(parts.first), None
    for name, options in {
        "completion without overlap": {"overlap": 0.0},
        "completion without what was taken": {"joined": 0.0},
        "completion without statements": {"stated": 0.0},
        "completion without connections": {"about": 0.0, "stated": 0.0, "shared": 0.0, "joined": 0.0},
    }.items():
        both = parts.found(*full)[1]
        yield name, parts.recall([parts.complement(**options)(state) for state in both]), None


def recall(graph, nodes, gold, k):
    documents = list(dict.fromkeys(graph.passages.of(int(node)).document for node in nodes))[:k]
    return len(set(gold).intersection(documents)) / len(set(gold))


def losses(parts):
    """Yield for each question its type and the share of its passages that is there after each step."""
    graph, most = parts.ix.graph, 50
    passages = set(graph.passages.nodes.tolist())

    def touched(nodes):
        """The passages among the nodes, and those next to one."""
        ids = np.asarray(nodes, np.int64)
        return [v for v in np.append(ids, graph.columns.adjacency.rows(ids)).tolist() if v in passages]

    anchored = parts.run(parts.groups(), parts.first)
    found = parts.run(gw.Bubble(parts.vectors, budget=most), anchored)
    ranked = parts.run(gw.Bubble(parts.vectors) >> gw.Coverage(parts.vectors) % 3, anchored)
    grown = parts.run(parts.pieces(), anchored)
    for at, question in enumerate(parts.questions):
        first, gold = parts.first[at], question.gold
        named = [int(v) for anchor in anchored[at].anchors for v in anchor.seeds(graph)]
        reached = gw.Complement(parts.ix.passages, parts.ix.words)
        order = (reached % 300)(parts.found(parts.groups(), parts.pieces())[1][at]).chunks.ids
        yield (
            question.type or f"{len(set(gold))} passages",
            {
                f"preview, {BUDGET}": recall(graph, first.chunks.ids, gold, BUDGET),
                f"beginning, {BEGIN}": recall(graph, first.evidence.nodes, gold, BEGIN),
                "next to an anchor": recall(graph, touched(named), gold, None),
                f"next to a piece, B = {most}": recall(graph, touched(found[at].evidence.nodes), gold, None),
                "next to the best 3 of B = 10": recall(graph, touched(ranked[at].evidence.nodes), gold, None),
                "next to these, grown": recall(graph, touched(grown[at].evidence.nodes), gold, None),
                "first 300 of completion": recall(graph, order, gold, 300),
                "first 15": recall(graph, order, gold, 15),
                "first 10": recall(graph, order, gold, 10),
                "first 5": recall(graph, order, gold, 5),
            },
        )


def table(header, rows):
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in (header, ["---"] * len(header), *rows)) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--indexes", type=Path, default=Path("runs/recall"))
    parser.add_argument("--questions", type=int, default=100, help="of each set, the first ones")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    given = parser.parse_args()
    results = {}
    for name in given.sets:
        ix = gw.Index.open(given.indexes / name / "index").snapshot
        questions = [q for q in read_questions(given.data / SETS[name] / "questions.jsonl") if q.gold][
            : given.questions
        ]
        parts = Parts(ix, questions)
        of = results[name] = {"questions": len(questions), "variants": {}, "losses": {}}
        for variant, final, behind in variants(parts):
            of["variants"][variant] = {"final": final, "behind": behind}
            print(name, variant, of["variants"][variant], flush=True)
        by = {}
        for kind, shares in losses(parts):
            by.setdefault(kind, []).append(shares)
        by["all"] = [shares for rows in by.values() for shares in rows]
        of["losses"] = {
            kind: {"questions": len(rows), **{key: 100 * float(np.mean([r[key] for r in rows])) for key in rows[0]}}
            for kind, rows in by.items()
        }
    (RESULTS / "bubblerag.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "bubblerag.md").write_text(page(results), encoding="utf-8")


def page(results):
    lines = ["# BubbleRAG, offline: ablations, sweeps, losses\n", *(__doc__.strip().split("\n\n")[1:2]), ""]
    names = list(results)
    lines.append("First questions of each set: " + ", ".join(f"{n} {results[n]['questions']}" for n in names) + ".\n")
    variants = list(results[names[0]]["variants"])
    rows = []
    for variant in variants:
        cells = []
        for name in names:
            row = results[name]["variants"][variant]
            cells += [f"{row['final']:.1f}", "" if row["behind"] is None else f"{row['behind']:.1f}"]
        rows.append([variant, *cells])
    header = ["recall@5", *(f"{name}: {what}" for name in names for what in ("final", "behind the pieces"))]
    lines += ["## Ablations and sweeps\n", table(header, rows), "## Where evidence is lost\n"]
    lines.append("Share of the gold passages that is there after each step, in percent.\n")
    for name in names:
        kinds = results[name]["losses"]
        steps = list(kinds["all"])
        lines += [f"### {name}\n", table([name, *kinds], [[s, *(f"{kinds[k][s]:.0f}" for k in kinds)] for s in steps])]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
