"""Measure the parts of BubbleRAG and PathRAG offline: lost evidence, ablations, sweeps, prompts, sparser graphs.

    python benchmarks/published/ablations.py --data DIR [--only bubblerag pathrag] [--sets NAME ...] [--questions 100]

All steps run as their offline twins, on the first questions of each set.

BubbleRAG: recall@5 and recall@15 of the method, in percent, and of the method with one thing changed. Where evidence is
lost is the share of the gold passages that is still present after each step. Writes `bubblerag.json` and
`bubblerag.md`.

PathRAG:

- Stages: the share of gold passages present after each stage: behind the nodes with exactly the keywords' names, behind
  the N nodes, behind the K paths, behind these and the edges of the themes; then among the first 15 and 5 passages.
- Methods: recall@2, 5, 10 and 15 beside other methods, and of `pathrag` with one thing changed; p of the paired
  randomisation test of recall@5 against `vector`. The defaults of `pathrag` were chosen on the first 100 questions of
  the first three sets; the fourth was not looked at.
- Prompts: how many paths an order moves, the estimated length of the prompt, and where in it the statements of gold
  passages (edges of paths that come from them) and the answer stand last. The paper lets a language model judge the
  orders; without one only the positions can be compared. Random is the mean of ten orders. Passages are not shown, as
  in the paper; the tokens of a prompt with five passages are given besides.
- Sparsity: recall@5 without 10 to 50 % of all edges, means over three draws; also as a plot.

Writes `pathrag.json` and `pathrag.md`.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.data.question_sets.questions import QuestionRecord
from graphwright.evaluate.metrics import recall_at_k
from graphwright.evaluate.statistics import bootstrap_interval, paired_test
from graphwright.generate.contexts import PassageContext
from graphwright.generate.path_contexts import FlatContext, GlobalEdges, PathContext
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Graph
from graphwright.index_folder.index import Index
from graphwright.kernels.csr import Csr
from graphwright.methods.house import hybrid, ppr, vector
from graphwright.methods.method import Method
from graphwright.methods.papers.paths import pathrag, pathrag_lt
from graphwright.methods.papers.trees import anchor_groups, evidence_graphs, node_vectors
from graphwright.models.budget import estimated_tokens
from graphwright.operators.anchors.group_anchors import GroupAnchors
from graphwright.operators.anchors.keywords import NamesAndPhrases
from graphwright.operators.anchors.link_entities import AnchorSearch
from graphwright.operators.control import OnGraph
from graphwright.operators.grow import Grow
from graphwright.operators.operator import Operator
from graphwright.operators.paths.node_paths import FlowPaths, HopFirst, Shuffled, WithEdges
from graphwright.operators.run import Run
from graphwright.operators.search.search import SharedBudget, VectorSearch
from graphwright.operators.select import ToPassages
from graphwright.operators.state import State, start
from graphwright.operators.subgraph.views import StatementGraph
from graphwright.operators.trees import Bubble, Coverage, Unite
from graphwright.prompts.templates import data_line
from graphwright.search.snapshot import Snapshot

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
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
    united,
    update_results,
)

SETS = {
    "bubblerag": ("musique-openie", "2wiki"),
    "pathrag": ("musique-openie", "hotpotqa100", "2wiki", "hotpotqa"),
}
Questions = Sequence[QuestionRecord]


# BubbleRAG

BUDGET, PREVIEW = 15, 5  # passages
LARGE_BUDGET = 50  # items, for the shares of evidence
SWEEPS: Mapping[str, Sequence[Any]] = {
    "budget": (5, 10, 20, 50),
    "hops": (1, 2, 4, 6),
    "depth": (0, 2, 4, 6, 8),
    "alpha": (0.1, 1.0, 2.0, 5.0),
    "n": (1, 3, 5, 10),
}
SYMBOLS = {"budget": "B", "hops": "h", "depth": "d", "alpha": "alpha", "n": "n"}


class Steps:
    """The steps of the method over one index, to be left out or changed; common beginnings are run once."""

    def __init__(self, ix: Snapshot, questions: Sequence[QuestionRecord]) -> None:
        self.ix, self.questions = ix, questions
        begun = [start(question.text, ix.graph) for question in questions]
        self.nearest = self.run(VectorSearch(ix.passages) % BUDGET >> ToPassages(), begun)
        self.anchored = self.run(anchor_groups(ix), self.nearest)

    def run(self, steps: Operator, states: Sequence[State]) -> list[State]:
        """Return the states after some steps."""
        return [steps(state) for state in states]

    def passages(self, states: Sequence[State], preview: int = PREVIEW) -> list[list[int]]:
        """Return the passages that the method makes of evidence graphs, after a preview of so many."""
        ending = Unite() >> SharedBudget(ToPassages(index=self.ix.passages), BUDGET, preview)
        return [passages_of(state) for state in self.run(ending, states)]

    def recalls(self, passages: Sequence[Sequence[int]]) -> Record:
        """Return recall@5 and recall@15 in percent, and the mean number of passages."""
        pairs = list(zip(passages, self.questions, strict=True))
        at = {k: float(np.mean([recall(self.ix.graph, ids, q.gold, k) for ids, q in pairs])) for k in (5, BUDGET)}
        return {f"recall@{k}": 100 * value for k, value in at.items()} | {"passages": np.mean([*map(len, passages)])}


def recall(graph: Graph, nodes: Sequence[int], gold: Sequence[str], k: int | None = None) -> float:
    """Return the share of the gold documents among the first k."""
    documents = documents_of(graph, nodes)
    return recall_at_k(documents, gold, k or max(len(documents), 1))


def variants(steps: Steps) -> Iterator[tuple[str, Record]]:
    """Yield the name of each variant and its recall."""
    ix, graphs = steps.ix, partial(evidence_graphs, steps.ix)
    vectors = node_vectors(ix)
    standard = steps.run(graphs(), steps.anchored)
    yield "the method", steps.recalls(steps.passages(standard))
    unspecific = NamesAndPhrases() >> GroupAnchors(ix.names, ix.triples, ix.words)
    yield "without specialisation", steps.recalls(steps.passages(steps.run(unspecific >> graphs(), steps.nearest)))
    changed: dict[str, Operator] = {
        "without expansion: the anchors": Bubble(vectors, hops=0) >> Coverage(vectors) % BUDGET,
        "without ranking: the first graphs found": OnGraph(StatementGraph(), Bubble(vectors) % 3) >> Grow(ix.triples),
        "without growth": graphs(depth=0),
        "passages as nodes of the graph": Bubble(united(vectors, ix.passages))
        >> Coverage(vectors) % 3
        >> Grow(ix.triples),
    }
    for name, values in SWEEPS.items():
        changed |= {f"{SYMBOLS[name]} = {value:g}": graphs(**{name: value}) for value in values}
    for name, operator in changed.items():
        yield name, steps.recalls(steps.passages(steps.run(operator, steps.anchored)))
    for preview in (0, 1, 3, 7, 10):
        name = f"preview of {preview}" if preview else "without the preview's passages"
        yield name, steps.recalls(steps.passages(standard, preview))
    yield "the nearest passages alone: `vector`", steps.recalls([passages_of(state) for state in steps.nearest])


def shares(steps: Steps) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield each question's type, and the share of its gold passages that is present after each step."""
    graph, ix = steps.ix.graph, steps.ix
    vectors, statements = node_vectors(ix), StatementGraph()

    def behind(state: State) -> list[int]:
        """Return the passages behind the evidence."""
        items = evidence_of(state)
        passages: list[int] = graph.chunks_of(items.nodes, items.edges).tolist()
        return passages

    many = steps.run(OnGraph(statements, Bubble(vectors, budget=LARGE_BUDGET)), steps.anchored)
    best = steps.run(evidence_graphs(ix, depth=0), steps.anchored)
    grown = steps.run(evidence_graphs(ix), steps.anchored)
    final = steps.passages(grown)
    for at, question in enumerate(steps.questions):
        gold, anchors = question.gold, steps.anchored[at].anchors or ()
        nodes, edges = ({int(i) for anchor in anchors for i in getattr(anchor, name)} for name in ("nodes", "edges"))
        present = {
            f"preview, {PREVIEW}": recall(graph, passages_of(steps.nearest[at])[:PREVIEW], gold),
            "behind an anchor": recall(graph, graph.chunks_of(sorted(nodes), sorted(edges)).tolist(), gold),
            f"behind a graph, B = {LARGE_BUDGET}": recall(graph, behind(many[at]), gold),
            "behind the best 3 of B = 10": recall(graph, behind(best[at]), gold),
            "behind these, grown": recall(graph, behind(grown[at]), gold),
        }
        present |= {f"first {k}": recall(graph, final[at], gold, k) for k in (15, 10, 5)}
        yield question.type or f"{len(set(gold))} passages", present


def measure(ix: Snapshot, questions: Sequence[QuestionRecord], label: str) -> Record:
    """Return the variants and the losses of a set."""
    steps = Steps(ix, questions)
    results: Record = {"questions": len(questions), "variants": {}, "losses": {}}
    for name, recalls in variants(steps):
        results["variants"][name] = recalls
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
        rows.append([variant, *(f"{cell:.1f}" for cell in cells)])
    measures = ("recall@5", f"recall@{BUDGET}", "passages")
    header = ["", *(f"{name}: {what}" for name in results for what in measures)]
    parts += ["## Ablations and sweeps", table(header, rows), "## Where evidence is lost"]
    parts.append("Share of the gold passages that is present after each step, in percent.")
    for name, figures in results.items():
        kinds = figures["losses"]
        losses = [[step, *(f"{kinds[kind][step]:.0f}" for kind in kinds)] for step in kinds["all"]]
        parts += [f"### {name}", table([name, *kinds], losses)]
    return "\n\n".join(parts)


def run_bubblerag(options: Namespace) -> None:
    """Measure BubbleRAG on the sets asked for."""
    for label in (label for label in SETS["bubblerag"] if label in options.sets):
        with Index.open(multihop_index(options, label)) as index:
            questions = multihop_questions(options, label, options.questions)
            measured = measure(index.snapshot, questions, label)
        update_results(options.out / "bubblerag.json", [label], measured, bubblerag_page, SETS["bubblerag"])


# PathRAG

KS = (2, 5, 10, 15)
SHARES, DRAWS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5), 3
N, K = 40, 15
Build = Callable[[Snapshot], Operator | Method]
SPARSE: Mapping[str, Build] = {"pathrag": pathrag, "ppr": ppr, "vector": vector}


def nodes(ix: Snapshot) -> Operator:
    """Return the step that finds the N nodes of the keywords."""
    return NamesAndPhrases() >> AnchorSearch(ix.names) % N


def paths(ix: Snapshot) -> Operator:
    """Return the steps that find the K paths."""
    return nodes(ix) >> OnGraph(StatementGraph(), FlowPaths() % K)


def by_evidence(ix: Snapshot, *, themes: bool = True) -> ToPassages:
    """Return the step that ranks the passages of the paths, and after them those of the themes' edges."""
    edges = WithEdges(GlobalEdges(ix.triples, by_question=True)) if themes else None
    return ToPassages(BUDGET, index=ix.passages, items=edges)


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
    "pathrag, the themes' edges and no paths": lambda ix: Nothing() >> by_evidence(ix),
    "pathrag, all nodes instead of paths": lambda ix: nodes(ix) >> by_evidence(ix),
    "pathrag, paths through passages": lambda ix: nodes(ix) >> FlowPaths() % K >> by_evidence(ix),
    "pathrag, without the themes' edges": lambda ix: paths(ix) >> by_evidence(ix, themes=False),
    "pathrag, the last two": lambda ix: nodes(ix) >> FlowPaths() % K >> by_evidence(ix, themes=False),
}


def recalls(method: Operator | Method, ix: Snapshot, questions: Questions) -> NDArray[np.float64]:
    """Return recall at each of KS for each question: float[questions, len(KS)]."""
    search, rows = method.search if isinstance(method, Method) else method, []
    for question in questions:
        documents = documents_of(ix.graph, passages_of(search(start(question.text, ix.graph))))
        rows.append([recall_at_k(documents, question.gold, k) for k in KS])
    return np.array(rows)


def stages(ix: Snapshot, questions: Questions) -> Record:
    """Return the share of gold passages after each stage."""
    graph, themes, ranked = ix.graph, GlobalEdges(ix.triples, by_question=True), by_evidence(ix)
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
        row |= {f"first {k}": recall_at_k(documents, question.gold, k) for k in (BUDGET, 5)}
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
    edges, retrieval = GlobalEdges(ix.triples, by_question=True), pathrag(ix).search
    states = [retrieval(start(question.text, ix.graph)) for question in questions]
    orders: dict[str, Sequence[Operator | None]] = {
        "flow": [None], "hop-first": [HopFirst()], "random": [Shuffled(seed) for seed in range(10)]
    }  # fmt: skip
    results = {}
    for form, context in {"paths": PathContext(edges=edges), "flat": FlatContext(edges=edges)}.items():
        for name, variants in orders.items():
            rows = []
            for order in variants:
                for question, state in zip(questions, states, strict=True):
                    ordered = state if order is None else order(state)
                    moved = share_moved(evidence_of(state), evidence_of(ordered))
                    rows.append({"moved": moved, **positions(ix, question, context(ordered))})
            results[f"{form}, {name}"] = means(rows)
    return results


def share_moved(before: Evidence, after: Evidence) -> float | None:
    """Return the share of paths with another rank; None where there are none."""
    pairs = list(zip(before.identities(), after.identities(), strict=True))
    return float(np.mean([a != b for a, b in pairs])) if pairs else None


def positions(ix: Snapshot, question: QuestionRecord, state: State) -> Record:
    """Return the length of a prompt, and where in it, from 0 to 1, gold statements and answers stand last."""
    graph, prompt = ix.graph, prompt_of(state)
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


def prompt_of(state: State) -> str:
    """Return the user prompt of a state's context, "" without one."""
    return "" if state.context is None else state.context.prompt[1]


def position(prompt: str, text: str) -> float | None:
    """Return where a text stands last in a prompt after the question, as a share of that part."""
    shown = prompt.partition('{"question"')[2].partition("\n")[2]
    place = shown.rfind(data_line(text)[1:-1])
    return None if place < 0 else place / len(shown)


def tokens(ix: Snapshot, questions: Questions) -> Record:
    """Return the estimated tokens of a prompt with five passages, by method."""
    shown = PathContext(passages=5, tokens=8_000, edges=GlobalEdges(ix.triples, by_question=True))
    pipelines = {
        "pathrag": pathrag(ix).search >> shown,
        "vector": vector(ix).search >> PassageContext(5, tokens=8_000),
        "pathrag-lt": pathrag_lt(ix).search >> shown,
    }
    rows = [
        {name: estimated_tokens(prompt_of(step(start(question.text, ix.graph)))) for name, step in pipelines.items()}
        for question in questions
    ]
    return {name: round(value) for name, value in means(rows).items()}


def thinned(ix: Snapshot, share: float, seed: int = 0) -> Snapshot:
    """Return a snapshot without a random share of its edges, for the sparsity experiment of PathRAG (RQ3, Figure 3).

    Edges of all relations are drawn alike, mentions included. With the same seed a larger share removes a superset.
    Nodes, passages and vectors stay, and so do the passages that an entity comes from; edges are renumbered.
    """
    columns = ix.graph.columns
    count = len(columns.heads)
    remaining = np.sort(np.random.default_rng(seed).permutation(count)[round(share * count) :])
    sparser = replace(
        columns,
        heads=columns.heads[remaining],
        tails=columns.tails[remaining],
        relation=columns.relation[remaining],
        edge_text=None if columns.edge_text is None else columns.edge_text[remaining],
        edge_chunks=None if columns.edge_chunks is None else _rows(columns.edge_chunks, remaining),
    )
    triples = ix.triples
    if triples is not None:
        row_of = np.arange(count, dtype=np.int32) if triples.row_of is None else triples.row_of
        triples = replace(triples, row_of=row_of[remaining])
    return replace(ix, graph=Graph(sparser), triples=triples)


def _rows(csr: Csr, rows: Ints) -> Csr:
    lengths = csr.indptr[rows + 1] - csr.indptr[rows]
    return Csr(np.concatenate(([0], np.cumsum(lengths))), csr.rows(rows).astype(np.int32))


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
    return "\n\n".join(parts) + "\n"


def methods_table(figures: Record) -> str:
    """Return the table of methods."""
    rows = []
    for name, row in figures.items():
        low, high = row["interval"]
        cells = [shown(row.get(f"recall@{k}")) for k in KS]
        rows.append([name, *cells, f"{100 * low:.1f}–{100 * high:.1f}", "" if row["p"] is None else row["p"]])
    return table(["method", *(f"recall@{k}" for k in KS), "interval of recall@5", "p against vector"], rows)


def shown(value: Any, name: str = "") -> str:
    """Return a value as text: counts as they are, shares in percent."""
    if value is None:
        return "–"
    if name == "tokens":
        return f"{value:.0f}"
    return f"{value:.1f}" if name in ("gold statements", "passages behind") else f"{100 * value:.1f}"


def run_pathrag(options: Namespace) -> None:
    """Measure PathRAG on the sets asked for."""
    path = options.out / "pathrag.json"
    for label in (label for label in SETS["pathrag"] if label in options.sets):
        with Index.open(multihop_index(options, label)) as index:
            questions = multihop_questions(options, label, options.questions)
            measured: Record = {"questions": len(questions), "N": N, "K": K, "draws": DRAWS}
            for name, measure_part in TABLES.items():
                measured[name] = measure_part(index.snapshot, questions)
                print(label, name, measured[name], flush=True)
        update_results(path, ["sets", label], measured, pathrag_page, SETS["pathrag"])


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
