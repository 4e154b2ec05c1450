"""Measure what each step of BubbleRAG contributes offline: ablations, sweeps of its parameters, and lost evidence.

    python benchmarks/bubblerag.py --data DIR [--sets musique-openie ...] [--questions 100]

`final` is recall@5 of the method; `behind the items` is recall@5 of the passages behind the items (trees) alone, which
is what the items add to. Where evidence is lost is the share of the gold passages that is still present after each
step. All steps run as their offline twins. Writes `bubblerag.json` and `bubblerag.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from harness import (
    Record,
    arguments,
    documents_of,
    evidence_of,
    multihop_index,
    multihop_questions,
    parse,
    passages_of,
    table,
    write_results,
)

from graphwright.data.questions import QuestionRecord
from graphwright.evaluate.metrics import recall_at_k
from graphwright.graph.graph import Graph
from graphwright.index.snapshot import Snapshot
from graphwright.index.vector_index import joined
from graphwright.index_folder import Index
from graphwright.operators.anchors.group_anchors import GroupAnchors
from graphwright.operators.anchors.keywords import Keywords
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.anchors.relax import Specialise
from graphwright.operators.operator import Operator
from graphwright.operators.search.support import SupportSearch
from graphwright.operators.select import Complement, ToPassages
from graphwright.operators.state import State, start
from graphwright.operators.trees.bubble import Bubble
from graphwright.operators.trees.coverage import Coverage

BUDGET = 15  # passages
PREVIEW = 40  # passages that others are joined to
LARGE_BUDGET = 50  # items, for the shares of evidence
SWEEPS: Mapping[str, Sequence[float]] = {
    "budget": (5, 10, 20, 50),
    "alpha": (0.1, 1.0, 2.0, 5.0),
    "hops": (1, 2, 4, 6),
}
SYMBOLS = {"budget": "B", "alpha": "alpha", "hops": "h"}
SETS = ("musique-openie", "musique-lexical", "hotpotqa-lexical", "2wiki-lexical")


class Steps:
    """The steps of the method over one index, to be left out or changed; common beginnings are run once."""

    def __init__(self, ix: Snapshot, questions: Sequence[QuestionRecord]) -> None:
        self.ix, self.questions = ix, questions
        self.vectors = joined(ix.names, ix.passages) if ix.names is not None else ix.passages
        preview = LinkEntities(ix.names) >> SupportSearch(ix.passages, ix.words) % PREVIEW >> ToPassages(BUDGET)
        self.first = [preview(start(question.text, ix.graph)) for question in questions]
        self._after: dict[tuple[str, int], list[State]] = {}

    def groups(self, *, specialise: bool = True) -> Operator:
        """Return the steps that make the anchor groups."""
        steps = Keywords() >> Specialise() if specialise else Keywords()
        return steps >> GroupAnchors(self.ix.names, self.ix.triples, self.ix.words)

    def items(self, n: int = 3, hops: int = 6, budget: int = 10, alpha: float = 1.0, ranked: bool = True) -> Operator:
        """Return the steps that find and rank the items."""
        bubble: Operator = Bubble(self.vectors, hops, budget)
        return (bubble >> Coverage(self.vectors, alpha) if ranked else bubble) % n

    def complement(self, **options: Any) -> Operator:
        """Return the step that completes the passages."""
        return Complement(self.ix.passages, self.ix.words, **options) % BUDGET

    def run(self, steps: Operator, states: list[State]) -> list[State]:
        """Return the states after some steps, run once."""
        key = repr(steps), id(states)
        if key not in self._after:
            self._after[key] = [steps(state) for state in states]
        return self._after[key]

    def with_items(self, groups: Operator, items: Operator) -> tuple[list[State], list[State]]:
        """Return the states with the items, and those with the passages of the preview before them."""
        alone = self.run(items, self.run(groups, self.first))
        pairs = zip(self.first, alone, strict=True)
        both = [a.with_(evidence=evidence_of(a).union(evidence_of(b))) for a, b in pairs]
        return alone, both

    def recall(self, states: Sequence[State]) -> float:
        """Return recall@5 in percent."""
        pairs = zip(states, self.questions, strict=True)
        return 100 * float(np.mean([recall(self.ix.graph, passages_of(s), q.gold, 5) for s, q in pairs]))


def recall(graph: Graph, nodes: Sequence[int], gold: Sequence[str], k: int | None = None) -> float:
    """Return the share of the gold documents among the first k."""
    documents = documents_of(graph, nodes)
    return recall_at_k(documents, gold, k or max(len(documents), 1))


def variants(steps: Steps) -> Iterator[tuple[str, float, float | None]]:
    """Yield each variant's name, recall@5 of the method, and recall@5 behind the items where there are any."""
    groups, items = steps.groups(), steps.items()
    changed = {
        "the method": (groups, items),
        "without specialisation": (steps.groups(specialise=False), items),
        "without ranking: the first items found": (groups, steps.items(ranked=False)),
    }
    for name, values in SWEEPS.items():
        options: list[Record] = [{name: value} for value in values]
        changed |= {f"{SYMBOLS[name]} = {o[name]:g}": (groups, steps.items(**o)) for o in options}
    for name, pair in changed.items():
        alone, both = steps.with_items(*pair)
        behind = [ToPassages(BUDGET)(state) for state in alone]
        yield name, steps.recall([steps.complement()(state) for state in both]), steps.recall(behind)
    yield "without items: the preview's 40 completed", steps.recall([steps.complement()(s) for s in steps.first]), None
    few = [s if s.evidence is None else s.with_(evidence=s.evidence.top(BUDGET)) for s in steps.first]
    yield "without items: the preview's 15 completed", steps.recall([steps.complement()(s) for s in few]), None
    yield "without completion: the preview", steps.recall(steps.first), None
    without = {
        "completion without overlap": {"overlap": 0.0},
        "completion without what was taken": {"joined": 0.0},
        "completion without statements": {"stated": 0.0},
        "completion without connections": {"about": 0.0, "stated": 0.0, "shared": 0.0, "joined": 0.0},
    }
    both = steps.with_items(groups, items)[1]
    for name, weights in without.items():
        yield name, steps.recall([steps.complement(**weights)(state) for state in both]), None


def shares(steps: Steps) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield each question's type, and the share of its gold passages that is present after each step."""
    graph = steps.ix.graph
    passages = set() if graph.passages is None else set(graph.passages.nodes.tolist())

    def near(state: State) -> list[int]:
        """Return the passages among the evidence, and those next to it."""
        nodes = np.empty(0, np.int64) if state.evidence is None else np.asarray(state.evidence.nodes, np.int64)
        return [v for v in np.append(nodes, graph.adjacency.rows(nodes)).tolist() if v in passages]

    anchored = steps.run(steps.groups(), steps.first)
    large = steps.run(Bubble(steps.vectors, budget=LARGE_BUDGET), anchored)
    best = steps.run(Bubble(steps.vectors) >> Coverage(steps.vectors) % 3, anchored)
    both = steps.with_items(steps.groups(), steps.items())[1]
    order = Complement(steps.ix.passages, steps.ix.words) % 300
    for at, question in enumerate(steps.questions):
        first, gold = steps.first[at], question.gold
        seeds = [anchor.seeds(graph) for anchor in anchored[at].anchors or ()]
        named = np.unique(np.concatenate([np.empty(0, np.int64), *seeds]))
        at_anchors = [v for v in np.append(named, graph.adjacency.rows(named)).tolist() if v in passages]
        evidence = [] if first.evidence is None else first.evidence.nodes.tolist()
        completed = passages_of(order(both[at]))
        present = {
            f"preview, {BUDGET}": recall(graph, passages_of(first), gold, BUDGET),
            f"preview, {PREVIEW}": recall(graph, evidence, gold, PREVIEW),
            "next to an anchor": recall(graph, at_anchors, gold),
            f"next to an item, B = {LARGE_BUDGET}": recall(graph, near(large[at]), gold),
            "next to the best 3 of B = 10": recall(graph, near(best[at]), gold),
        }
        present |= {f"first {k} of completion": recall(graph, completed, gold, k) for k in (300, 15, 10, 5)}
        yield question.type or f"{len(set(gold))} passages", present


def measure(ix: Snapshot, questions: Sequence[QuestionRecord], label: str) -> Record:
    """Return the variants and the losses of a set."""
    steps = Steps(ix, questions)
    results: Record = {"questions": len(questions), "variants": {}, "losses": {}}
    for name, final, behind in variants(steps):
        results["variants"][name] = {"final": final, "behind": behind}
        print(label, name, results["variants"][name], flush=True)
    by_type: dict[str, list[dict[str, float]]] = {}
    for kind, present in shares(steps):
        by_type.setdefault(kind, []).append(present)
    by_type["all"] = [present for rows in by_type.values() for present in rows]
    for kind, rows in by_type.items():
        means = {name: 100 * float(np.mean([row[name] for row in rows])) for name in rows[0]}
        results["losses"][kind] = {"questions": len(rows), **means}
    return results


def page(results: Record) -> str:
    """Return the tables of all sets."""
    about = (__doc__ or "").split("\n\n")[2]
    counts = ", ".join(f"{name} {found['questions']}" for name, found in results.items())
    parts = ["# BubbleRAG, offline: ablations, sweeps, losses", about, f"First questions of each set: {counts}."]
    rows = []
    for variant in next(iter(results.values()))["variants"]:
        cells = [cell for found in results.values() for cell in found["variants"][variant].values()]
        rows.append([variant, *("" if cell is None else f"{cell:.1f}" for cell in cells)])
    header = ["recall@5", *(f"{name}: {what}" for name in results for what in ("final", "behind the items"))]
    parts += ["## Ablations and sweeps", table(header, rows), "## Where evidence is lost"]
    parts.append("Share of the gold passages that is present after each step, in percent.")
    for name, found in results.items():
        kinds = found["losses"]
        losses = [[step, *(f"{kinds[kind][step]:.0f}" for kind in kinds)] for step in kinds["all"]]
        parts += [f"### {name}", table([name, *kinds], losses)]
    return "\n\n".join(parts)


def main() -> None:
    """Measure the sets asked for."""
    parser = arguments(__doc__, sets=SETS)
    parser.add_argument("--questions", type=int, default=100, help="of each set, the first ones")
    options = parse(parser)
    results = {}
    for label in options.sets:
        with Index.open(multihop_index(options, label)) as index:
            questions = multihop_questions(options, label, options.questions)
            results[label] = measure(index.snapshot, questions, label)
        write_results(options.out / "bubblerag.json", results, page(results))


if __name__ == "__main__":
    main()
