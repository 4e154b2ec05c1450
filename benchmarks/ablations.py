"""Measure the parts of BubbleRAG and PathRAG offline: lost evidence, ablations, sweeps, prompts, sparser graphs.

    python benchmarks/ablations.py --data DIR [--only bubblerag pathrag] [--sets musique-openie ...] [--questions 100]

All steps run as their offline twins, on the first questions of each set.

BubbleRAG: `final` is recall@5 of the method; `behind the items` is recall@5 of the passages behind the items (trees)
alone, which is what the items add to. Where evidence is lost is the share of the gold passages that is still present
after each step. Writes `bubblerag.json` and `bubblerag.md`.

PathRAG:

- Stages: the share of gold passages present after each stage: behind the nodes with exactly the keywords' names, behind
  the N nodes, behind the K paths, behind these and the edges of the themes; then among the first 20 and 5 passages.
- Methods: recall@2, 5, 10 and 20 beside other methods, and of `pathrag` with one thing changed; p of the paired
  randomisation test of recall@5 against `vector`. The defaults of `pathrag` were chosen on the first 100 questions of
  the first three sets; the fourth was not looked at.
- Prompts: how many paths an order moves, the estimated length of the prompt, and where in it the statements of gold
  passages (edges of paths that come from them) and the answer stand last. The paper lets a language model judge the
  orders; without one only the positions can be compared. Random is the mean of ten orders. Passages are not shown, as
  in the paper; the tokens of a prompt with five passages are given besides.
- Sparsity: recall@5 without 10 to 50 % of all edges, means over three draws; also as a plot.

Writes `pathrag.json`, `pathrag.md` and `pathrag.png`.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from harness import (
    Record,
    arguments,
    documents_of,
    evidence_of,
    figure,
    multihop_index,
    multihop_questions,
    parse,
    passages_of,
    shared_legend,
    table,
    write_results,
)
from numpy.typing import NDArray

from graphwright.data.questions import QuestionRecord
from graphwright.evaluate.indexing import thinned
from graphwright.evaluate.metrics import recall_at_k
from graphwright.evaluate.statistics import bootstrap_interval, paired_test
from graphwright.generate.path_prompts import FlatPrompt, GlobalEdges, PathPrompt
from graphwright.generate.prompts import PassagePrompt
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph
from graphwright.index.snapshot import Snapshot
from graphwright.index.vector_index import joined
from graphwright.index_folder import Index
from graphwright.methods.house import hybrid, ppr, vector
from graphwright.methods.papers.pathrag import pathrag, pathrag_lt
from graphwright.methods.registry import retrieval_part
from graphwright.models.budget import estimated_tokens
from graphwright.operators.anchors.group_anchors import GroupAnchors
from graphwright.operators.anchors.keywords import Keywords, Specialise
from graphwright.operators.anchors.link_entities import AnchorSearch, LinkEntities
from graphwright.operators.control import OnGraph
from graphwright.operators.operator import Operator
from graphwright.operators.paths.paths import FlowPaths, HopFirst, Shuffled, WithEdges
from graphwright.operators.run import Run
from graphwright.operators.search.support import SupportSearch
from graphwright.operators.select import Complement, ToPassages
from graphwright.operators.state import State, start
from graphwright.operators.subgraph.views import StatementGraph
from graphwright.operators.trees.bubble import Bubble, Coverage
from graphwright.prompts.templates import data_line

SETS = {
    "bubblerag": ("musique-openie", "musique-lexical", "hotpotqa-lexical", "2wiki-lexical"),
    "pathrag": ("musique-openie", "hotpotqa100-lexical", "2wiki-lexical", "hotpotqa-lexical"),
}
Questions = Sequence[QuestionRecord]


# BubbleRAG

BUDGET = 15  # passages
PREVIEW = 40  # passages that others are joined to
LARGE_BUDGET = 50  # items, for the shares of evidence
SWEEPS: Mapping[str, Sequence[float]] = {
    "budget": (5, 10, 20, 50),
    "alpha": (0.1, 1.0, 2.0, 5.0),
    "hops": (1, 2, 4, 6),
}
SYMBOLS = {"budget": "B", "alpha": "alpha", "hops": "h"}


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


def bubblerag_page(results: Record) -> str:
    """Return the tables of all sets."""
    about = (__doc__ or "").partition("BubbleRAG: ")[2].split(" Writes")[0]
    counts = ", ".join(f"{name} {figures['questions']}" for name, figures in results.items())
    parts = ["# BubbleRAG, offline: ablations, sweeps, losses", about, f"First questions of each set: {counts}."]
    rows = []
    for variant in next(iter(results.values()))["variants"]:
        cells = [cell for figures in results.values() for cell in figures["variants"][variant].values()]
        rows.append([variant, *("" if cell is None else f"{cell:.1f}" for cell in cells)])
    header = ["recall@5", *(f"{name}: {what}" for name in results for what in ("final", "behind the items"))]
    parts += ["## Ablations and sweeps", table(header, rows), "## Where evidence is lost"]
    parts.append("Share of the gold passages that is present after each step, in percent.")
    for name, figures in results.items():
        kinds = figures["losses"]
        losses = [[step, *(f"{kinds[kind][step]:.0f}" for kind in kinds)] for step in kinds["all"]]
        parts += [f"### {name}", table([name, *kinds], losses)]
    return "\n\n".join(parts)


def run_bubblerag(options: Namespace) -> None:
    """Measure BubbleRAG on the sets asked for."""
    results = {}
    for label in (label for label in SETS["bubblerag"] if label in options.sets):
        with Index.open(multihop_index(options, label)) as index:
            questions = multihop_questions(options, label, options.questions)
            results[label] = measure(index.snapshot, questions, label)
        write_results(options.out / "bubblerag.json", results, bubblerag_page(results))


# PathRAG

KS = (2, 5, 10, 20)
SHARES, DRAWS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5), 3
N, K = 40, 15
COLOURS = {"pathrag": "#d62728", "ppr": "#1f77b4", "vector": "#7f7f7f"}
Build = Callable[[Snapshot], Operator]
SPARSE: Mapping[str, Build] = {"pathrag": pathrag, "ppr": ppr, "vector": vector}


def nodes(ix: Snapshot) -> Operator:
    """Return the step that finds the N nodes of the keywords."""
    return Keywords() >> AnchorSearch(ix.names) % N


def paths(ix: Snapshot) -> Operator:
    """Return the steps that find the K paths."""
    return nodes(ix) >> OnGraph(StatementGraph(), FlowPaths() % K)


def by_nearness(ix: Snapshot, *, themes: bool = True) -> ToPassages:
    """Return the step that ranks passages by nearness to the question, those of the themes' edges among them."""
    edges = WithEdges(GlobalEdges(ix.triples, by_question=True)) if themes else None
    return ToPassages(20, index=ix.passages, weight=0.0, items=edges)


@dataclass(frozen=True, repr=False)
class Nothing(Operator):
    """Set empty evidence."""

    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Set the evidence."""
        return state.with_(evidence=Evidence.of_nodes([]))


METHODS: Mapping[str, Build] = {
    "vector": vector,
    "hybrid": hybrid,
    "ppr": ppr,
    "pathrag": pathrag,
    "pathrag-lt": pathrag_lt,
    "pathrag, the themes' edges and no paths": lambda ix: Nothing() >> by_nearness(ix),
    "pathrag, all nodes instead of paths": lambda ix: nodes(ix) >> by_nearness(ix),
    "pathrag, paths through passages": lambda ix: nodes(ix) >> FlowPaths() % K >> by_nearness(ix),
    "pathrag, without the themes' edges": lambda ix: paths(ix) >> by_nearness(ix, themes=False),
    "pathrag, passages by reliability": lambda ix: paths(ix) >> ToPassages(20, mentions=0.1),
    "pathrag, the last three": lambda ix: nodes(ix) >> FlowPaths() % K >> ToPassages(20, mentions=0.1),
}


def recalls(operator: Operator, ix: Snapshot, questions: Questions) -> NDArray[np.float64]:
    """Return recall at each of KS for each question: float[questions, len(KS)]."""
    retrieval, rows = retrieval_part(operator), []
    for question in questions:
        documents = documents_of(ix.graph, passages_of(retrieval(start(question.text, ix.graph))))
        rows.append([recall_at_k(documents, question.gold, k) for k in KS])
    return np.array(rows)


def stages(ix: Snapshot, questions: Questions) -> Record:
    """Return the share of gold passages after each stage."""
    graph, themes, ranked = ix.graph, GlobalEdges(ix.triples, by_question=True), by_nearness(ix)
    rows = []
    for question in questions:
        begun = nodes(ix)(start(question.text, graph))
        named = np.unique(np.concatenate([np.empty(0, np.int64), *(a.nodes for a in begun.anchors or ())]))
        joined = OnGraph(StatementGraph(), FlowPaths() % K)(begun)
        items = evidence_of(joined)
        behind = {
            "exact names": graph.chunks_of(named),
            f"{N} nodes": graph.chunks_of(evidence_of(begun).nodes),
            f"{K} paths": graph.chunks_of(items.nodes, items.edges),
            "with the themes' edges": graph.chunks_of(items.nodes, np.append(items.edges, themes(joined, Run()))),
        }
        documents = documents_of(graph, passages_of(ranked(joined)))
        row = {name: recall_at_k(documents_of(graph, ids), question.gold, len(graph)) for name, ids in behind.items()}
        row |= {f"first {k}": recall_at_k(documents, question.gold, k) for k in (20, 5)}
        rows.append(row | {"passages behind": len(behind["with the themes' edges"])})
    return means(rows)


def means(rows: Sequence[Mapping[str, Any]]) -> Record:
    """Return the mean of each value; None where no row has it."""
    values = {name: [row[name] for row in rows if row[name] is not None] for name in rows[0]}
    return {name: round(float(np.mean(column)), 4) if column else None for name, column in values.items()}


def methods(ix: Snapshot, questions: Questions) -> Record:
    """Return the recall of each method, and p of recall@5 against `vector`."""
    measured, rows = {name: recalls(build(ix), ix, questions) for name, build in METHODS.items()}, {}
    at_5 = {name: values[:, KS.index(5)] for name, values in measured.items()}
    for name, values in measured.items():
        row: Record = {f"recall@{k}": round(float(v), 4) for k, v in zip(KS, values.mean(axis=0), strict=True)}
        row["interval"] = [round(end, 4) for end in bootstrap_interval(at_5[name])]
        row["p"] = None if name == "vector" else round(paired_test(at_5[name], at_5["vector"]), 4)
        rows[name] = row
    return rows


def prompts(ix: Snapshot, questions: Questions) -> Record:
    """Return where gold statements and the answer stand, for each order and either form."""
    edges, retrieval = GlobalEdges(ix.triples, by_question=True), retrieval_part(pathrag(ix))
    states = [retrieval(start(question.text, ix.graph)) for question in questions]
    orders: dict[str, Sequence[Operator | None]] = {
        "flow": [None], "hop-first": [HopFirst()], "random": [Shuffled(seed) for seed in range(10)]
    }  # fmt: skip
    results = {}
    for form, prompt in {"paths": PathPrompt(edges=edges), "flat": FlatPrompt(edges=edges)}.items():
        for name, variants in orders.items():
            rows = []
            for order in variants:
                for question, state in zip(questions, states, strict=True):
                    ordered = state if order is None else order(state)
                    moved = share_moved(evidence_of(state), evidence_of(ordered))
                    rows.append({"moved": moved, **positions(ix, question, prompt(ordered))})
            results[f"{form}, {name}"] = means(rows)
    return results


def share_moved(before: Evidence, after: Evidence) -> float | None:
    """Return the share of paths with another rank; None where there are none."""
    pairs = list(zip(before.identities(), after.identities(), strict=True))
    return float(np.mean([a != b for a, b in pairs])) if pairs else None


def positions(ix: Snapshot, question: QuestionRecord, state: State) -> Record:
    """Return the length of a prompt, and where in it, from 0 to 1, gold statements and answers stand last."""
    graph, prompt = ix.graph, state.prompt or ""
    gold = set(question.gold)
    edges = evidence_of(state).edges.tolist()
    statements = {graph.edge_text(e) for e in edges if gold & set(documents_of(graph, graph.chunks_of((), [e])))}
    of_gold = [place for place in (position(prompt, text) for text in statements) if place is not None]
    of_answer = [place for place in (position(prompt, answer) for answer in question.answers) if place is not None]
    return {
        "tokens": estimated_tokens(prompt),
        "gold statements": len(of_gold),
        "their place": float(np.mean(of_gold)) if of_gold else None,
        "in the last third": float(np.mean(np.array(of_gold) > 2 / 3)) if of_gold else None,
        "answer is there": float(bool(of_answer)),
        "its place": max(of_answer) if of_answer else None,
    }


def position(prompt: str, text: str) -> float | None:
    """Return where a text stands last in a prompt after the question, as a share of that part."""
    shown = prompt.partition('{"question"')[2].partition("\n")[2]
    place = shown.rfind(data_line(text)[1:-1])
    return None if place < 0 else place / len(shown)


def tokens(ix: Snapshot, questions: Questions) -> Record:
    """Return the estimated tokens of a prompt with five passages, by method."""
    shown = PathPrompt(passages=5, tokens=8_000, edges=GlobalEdges(ix.triples, by_question=True))
    pipelines = {
        "pathrag": retrieval_part(pathrag(ix)) >> shown,
        "vector": retrieval_part(vector(ix)) >> PassagePrompt(5, tokens=8_000),
        "pathrag-lt": retrieval_part(pathrag_lt(ix)) >> shown,
    }
    rows = [
        {name: estimated_tokens(step(start(question.text, ix.graph)).prompt or "") for name, step in pipelines.items()}
        for question in questions
    ]
    return {name: round(value) for name, value in means(rows).items()}


def sparsity(ix: Snapshot, questions: Questions) -> Record:
    """Return recall@5 by the share of edges that is missing, for each draw."""
    results: dict[str, dict[float, list[float]]] = {name: {} for name in SPARSE}
    for share in SHARES:
        for draw in range(DRAWS if share else 1):
            sparser = thinned(ix, share, draw) if share else ix
            for name, build in SPARSE.items():
                if name != "vector" or not share:  # `vector` uses no edges
                    value = recalls(build(sparser), sparser, questions)[:, KS.index(5)].mean()
                    results[name].setdefault(share, []).append(round(float(value), 4))
    results["vector"] = dict.fromkeys(SHARES, results["vector"][0.0])
    return results


TABLES = {"stages": stages, "methods": methods, "prompts": prompts, "room": tokens, "sparsity": sparsity}


def pathrag_page(results: Record) -> str:
    """Return the tables of all sets."""
    about = (__doc__ or "").partition("PathRAG:\n\n")[2].split("\n\nWrites")[0]
    parts = ["# PathRAG: stages, ablations, prompts, sparsity", about]
    for label, figures in results["sets"].items():
        parts.append(f"## {label}, {figures['questions']} questions\n\nStages, share of gold passages in percent:")
        parts.append(table(list(figures["stages"]), [[shown(v, name) for name, v in figures["stages"].items()]]))
        parts.append(f"Methods, and pathrag with one thing changed:\n\n{methods_table(figures['methods'])}")
        rows = [[name, *(shown(v, key) for key, v in row.items())] for name, row in figures["prompts"].items()]
        header = ["prompt, order", *next(iter(figures["prompts"].values()))]
        about_places = "Prompts without passages; places in percent from the question (0) to the end (100):"
        parts.append(f"{about_places}\n\n{table(header, rows)}")
        counts = ", ".join(f"`{name}` {count:,}" for name, count in figures["room"].items())
        parts.append(f"Tokens of a prompt with passages, by estimate: {counts}.")
        sparse = [[name, *(shown(np.mean(v)) for v in row.values())] for name, row in figures["sparsity"].items()]
        parts.append(table(["recall@5 without", *(f"{100 * share:.0f} %" for share in SHARES)], sparse))
    return "\n\n".join([*parts, "![recall@5 on sparser graphs](pathrag.png)\n"])


def methods_table(figures: Record) -> str:
    """Return the table of methods."""
    rows = []
    for name, row in figures.items():
        low, high = row["interval"]
        cells = [shown(row[f"recall@{k}"]) for k in KS]
        rows.append([name, *cells, f"{100 * low:.1f}–{100 * high:.1f}", "" if row["p"] is None else row["p"]])
    return table(["method", *(f"recall@{k}" for k in KS), "interval of recall@5", "p against vector"], rows)


def shown(value: Any, name: str = "") -> str:
    """Return a value as text: counts as they are, shares in percent."""
    if value is None:
        return "–"
    if name == "tokens":
        return f"{value:.0f}"
    return f"{value:.1f}" if name in ("gold statements", "passages behind") else f"{100 * value:.1f}"


def draw_sparsity(results: Record, path: Path) -> None:
    """Draw recall@5 against the share of missing edges."""
    sets = results["sets"]
    with figure(path, 1, len(sets), (3.6 * len(sets) + 0.4, 3.2)) as (drawn, panels):
        for panel, (label, figures) in zip(panels[0], sets.items(), strict=True):
            for name, row in figures["sparsity"].items():
                levels = [100 * np.mean(values) for values in row.values()]
                panel.plot([100 * share for share in SHARES], levels, marker="o", color=COLOURS[name], label=name)
            panel.set(title=label, xlabel="edges taken away, %", ylim=(50, 100))
            panel.grid(alpha=0.3)
        panels[0][0].set_ylabel("recall@5, %")
        shared_legend(drawn, panels[0][0], len(COLOURS))


def run_pathrag(options: Namespace) -> None:
    """Measure PathRAG on the sets asked for."""
    results: Record = {"N": N, "K": K, "draws": DRAWS, "sets": {}}
    for label in (label for label in SETS["pathrag"] if label in options.sets):
        with Index.open(multihop_index(options, label)) as index:
            questions = multihop_questions(options, label, options.questions)
            measured: Record = {"questions": len(questions)}
            for name, measure_part in TABLES.items():
                measured[name] = measure_part(index.snapshot, questions)
                print(label, name, measured[name], flush=True)
        results["sets"][label] = measured
        write_results(options.out / "pathrag.json", results, pathrag_page(results))
    draw_sparsity(results, options.out / "pathrag.png")


RUNS = {"bubblerag": run_bubblerag, "pathrag": run_pathrag}


def main() -> None:
    """Measure the methods asked for."""
    parser = arguments(__doc__, parts=list(RUNS), sets=list(dict.fromkeys(SETS["bubblerag"] + SETS["pathrag"])))
    parser.add_argument("--questions", type=int, default=100, help="of each set, the first ones")
    options = parse(parser)
    for part in options.only:
        RUNS[part](options)


if __name__ == "__main__":
    main()
