"""PathRAG taken apart, offline, on the multihop sets: what each stage loses, its ablations (RQ2), sparser graphs (RQ3).

    pip install -e ".[bench]"
    python benchmarks/pathrag.py --data DIR/multihop --runs runs/recall [--sets musique-openie ...] [--questions 100]

Asks indexes with passages, names and triples embedded, DIR/<set>-<extraction>/index, which are made where they are
missing. For each set:

- Stages: the share of gold passages that is still there after each stage, whatever its rank: behind the nodes of
  exactly the keywords' names, behind the N nodes, behind the K paths, behind these and the edges of the themes; then
  among the 20 and the 5 passages given.
- Methods: recall@2, 5, 10, 20 beside other methods, with the p-value of the paired randomisation test of recall@5
  against `vector`; and of `pathrag` with one thing changed. What `pathrag` is was chosen on the first three of the
  sets (their first 100 questions); the fourth was not looked at.
- Prompts: how many paths an order moves, how long the prompt is, by estimate, and what stands where in it, last: the
  statements of gold passages (the edges of paths that come from them), and the answer. The paper has a language model
  judge the orders; what can be said without one is where the evidence stands, which is why there is an order. Random
  is the mean of ten. Passages are not shown, as in the paper; tokens of the prompt with five are given besides.
- Sparsity: recall@5 with 10 to 50 % of all edges taken away, means over three draws; also as a plot.

Writes benchmarks/results/pathrag.json, pathrag.md and pathrag.png. About fifteen minutes on two cores.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from graphwright import (
    AnchorSearch,
    Evidence,
    FlatPrompt,
    FlowPaths,
    GlobalEdges,
    HopFirst,
    Index,
    Keywords,
    Operator,
    PassagePrompt,
    PathPrompt,
    Shuffled,
    StatementGraph,
    ToPassages,
    start,
)
from graphwright.data.questions import read_questions
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.indexing import thinned
from graphwright.evaluate.metrics import recall_at_k
from graphwright.evaluate.run import run
from graphwright.evaluate.statistics import bootstrap_interval, paired_test
from graphwright.methods.house.baselines import hybrid, vector
from graphwright.methods.house.multihop import ppr
from graphwright.methods.papers.pathrag import pathrag, pathrag_lt
from graphwright.methods.registry import retrieval_part
from graphwright.models.budget import estimated_tokens
from graphwright.prompts.templates import data_line

RESULTS = Path(__file__).parent / "results"
SETS = ("musique-openie", "hotpotqa100-lexical", "2wiki-lexical", "hotpotqa-lexical")
SPACES = ("passages", "names", "triples")
KS = (2, 5, 10, 20)
SHARES, DRAWS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5), 3
SPARSE = {"pathrag": pathrag, "ppr": ppr, "vector": vector}
N, K = 40, 15
COLOURS = {"pathrag": "#d62728", "ppr": "#1f77b4", "vector": "#7f7f7f"}


def through_passages(ix):
    """The graph with its passages as nodes, so that paths lead through them."""
    edges = GlobalEdges(ix.triples, asked=True)
    return Keywords() >> AnchorSearch(ix.names) % N >> FlowPaths() % K >> ToPassages(20, index=ix.passages, weight=0.0, items=WithEdges(edges))


def by_reliability(ix):
    """Passages in the order of the best path that they stand behind."""
    return Keywords() >> AnchorSearch(ix.names) % N >> OnGraph(StatementGraph(), FlowPaths() % K) >> ToPassages(20, mentions=0.1)


def without_themes(ix):
    """Passages behind the paths alone."""
    return Keywords() >> AnchorSearch(ix.names) % N >> OnGraph(StatementGraph(), FlowPaths() % K) >> ToPassages(20, index=ix.passages, weight=0.0)


def without_paths(ix):
    """Passages behind the edges of the themes alone."""
    edges = GlobalEdges(ix.triples, asked=True)
    return Nothing() >> ToPassages(20, index=ix.passages, weight=0.0, items=WithEdges(edges))


def nodes_instead(ix):
    """Passages behind the N nodes, whether paths join them or not, and the edges of the themes."""
    edges = GlobalEdges(ix.triples, asked=True)
    return Keywords() >> AnchorSearch(ix.names) % N >> ToPassages(20, index=ix.passages, weight=0.0, items=WithEdges(edges))


class Nothing(Operator):
    """No evidence."""

    gives = ("evidence",)

    def apply(self, state, run):
        return state.with_(evidence=Evidence.of_nodes([]))

    def __repr__(self):
        return "Nothing()"


def as_it_was(ix):
    """Through passages, by reliability, without the edges of the themes."""
    return Keywords() >> AnchorSearch(ix.names) % N >> FlowPaths() % K >> ToPassages(20, mentions=0.1)


METHODS = {
    "vector": vector,
    "hybrid": hybrid,
    "ppr": ppr,
    "pathrag": pathrag,
    "pathrag-lt": pathrag_lt,
    "pathrag, the themes' edges and no paths": without_paths,
    "pathrag, all nodes instead of paths": nodes_instead,
    "pathrag, paths through passages": through_passages,
    "pathrag, without the themes' edges": without_themes,
    "pathrag, passages by reliability": by_reliability,
    "pathrag, the last three": as_it_was,
}


def opened(label, given):
    """Return the index and the questions of a set; the index is made where it is missing."""
    name, extraction = label.rsplit("-", 1)
    folder = given.runs / label
    if not (folder / "index").exists():
        run(Experiment(given.data / name, ("vector",), extraction=extraction, embed=SPACES), folder)
    questions = [q for q in read_questions(given.data / name / "questions.jsonl") if q.gold]
    return Index.open(folder / "index"), questions[: given.questions]


def documents(ix, chunks):
    """Return the distinct documents of passages, in order."""
    passages = ix.graph.passages
    numbers = passages.document[np.searchsorted(passages.nodes, chunks)]
    return list(dict.fromkeys(passages.documents[int(number)] for number in numbers))


def recalls(operator, ix, questions):
    """Return recall at each of KS for each question: float[questions, len(KS)]."""
    operator = retrieval_part(operator)
    found = (documents(ix, operator(start(q.text, ix.graph)).passages.ids) for q in questions)
    return np.array([[recall_at_k(ranked, q.gold, k) for k in KS] for q, ranked in zip(questions, found, strict=True)])


def stages(ix, questions):
    graph, themes = ix.graph, GlobalEdges(ix.triples, asked=True)
    rows = []
    for q in questions:
        nodes = (Keywords() >> AnchorSearch(ix.names) % N)(start(q.text, graph))
        exact = np.unique(np.concatenate([np.empty(0, np.int64), *(anchor.nodes for anchor in nodes.anchors)]))
        paths = OnGraph(StatementGraph(), FlowPaths() % K)(nodes)
        given = documents(ix, ToPassages(20, index=ix.passages, weight=0.0, items=WithEdges(themes))(paths).passages.ids)
        behind = {
            "exact names": graph.chunks_of(exact),
            f"{N} nodes": graph.chunks_of(nodes.evidence.nodes),
            f"{K} paths": graph.chunks_of(paths.evidence.nodes, paths.evidence.edges),
            "with the themes' edges": graph.chunks_of(
                paths.evidence.nodes, np.append(paths.evidence.edges, themes(paths))
            ),
        }
        row = {name: recall_at_k(documents(ix, chunks), q.gold, len(graph)) for name, chunks in behind.items()}
        row |= {f"first {k}": recall_at_k(given, q.gold, k) for k in (20, 5)}
        rows.append(row | {"passages behind": len(behind["with the themes' edges"])})
    return means(rows)


def means(rows):
    every = {name: [row[name] for row in rows if row[name] is not None] for name in rows[0]}
    return {name: round(float(np.mean(values)), 4) if values else None for name, values in every.items()}


def compared(ix, questions):
    found, table = {}, {}
    for name, build in METHODS.items():
        found[name] = recalls(build(ix), ix, questions)
        row = {f"recall@{k}": round(float(value), 4) for k, value in zip(KS, found[name].mean(axis=0), strict=True)}
        own = found[name][:, KS.index(5)]
        row["interval"] = [round(end, 4) for end in bootstrap_interval(own)]
        row["p"] = None if name == "vector" else round(paired_test(own, found["vector"][:, KS.index(5)]), 4)
        table[name] = row
    return table


def prompts(ix, questions):
    """Where gold statements and the answer stand, for each order and either form; random is the mean of ten."""
    edges = GlobalEdges(ix.triples, asked=True)
    states = [retrieval_part(pathrag(ix))(start(q.text, ix.graph)) for q in questions]
    orders = {"flow": [None], "hop-first": [HopFirst()], "random": [Shuffled(seed) for seed in range(10)]}
    forms = {"paths": PathPrompt(edges=edges), "flat": FlatPrompt(edges=edges)}
    table = {}
    for form, prompt in forms.items():
        for name, several in orders.items():
            rows = []
            for order in several:
                for q, state in zip(questions, states, strict=True):
                    ordered = state if order is None else order(state)
                    rows.append({"moved": moved(state.evidence, ordered.evidence), **placed(ix, q, prompt(ordered))})
            table[f"{form}, {name}"] = means(rows)
    return table


def moved(before, after):
    """Return the share of paths whose rank is another; None where there are none."""
    pairs = list(zip(before.identities(), after.identities(), strict=True))
    return float(np.mean([a != b for a, b in pairs])) if pairs else None


def placed(ix, question, state):
    """Return how long a prompt is, and where in it, from 0 to 1, gold statements and answers last stand."""
    graph, prompt = ix.graph, state.prompt
    gold = {node for node in graph.passages.nodes.tolist() if graph.passages.of(node).document in question.gold}
    stated = {
        graph.edge_text(int(edge))
        for edge in state.evidence.edges
        if gold.intersection(graph.chunks_of((), [int(edge)]).tolist())
    }
    at = [place for place in (position(prompt, text) for text in stated) if place is not None]
    answered = [place for place in (position(prompt, answer) for answer in question.answers) if place is not None]
    return {
        "tokens": estimated_tokens(prompt),
        "gold statements": len(at),
        "their place": float(np.mean(at)) if at else None,
        "in the last third": float(np.mean(np.array(at) > 2 / 3)) if at else None,
        "answer is there": float(bool(answered)),
        "its place": max(answered) if answered else None,
    }


def position(prompt, text):
    """Return where a text stands last in what a prompt shows after the question, as a share of that."""
    shown = prompt.partition('{"question"')[2].partition("\n")[2]
    place = shown.rfind(data_line(text)[1:-1])
    return None if place < 0 else place / len(shown)


def room(ix, questions):
    """Tokens of a prompt as each method has it."""
    edges, rows = GlobalEdges(ix.triples, asked=True), []
    shown = {"pathrag": (pathrag, PathPrompt(edges=edges, passages=5)), "vector": (vector, PassagePrompt())}
    shown["pathrag-lt"] = (pathrag_lt, shown["pathrag"][1])
    parts = {name: retrieval_part(build(ix)) >> prompt for name, (build, prompt) in shown.items()}
    for q in questions:
        rows.append({name: estimated_tokens(p(start(q.text, ix.graph)).prompt) for name, p in parts.items()})
    return {name: round(value) for name, value in means(rows).items()}


def sparsity(ix, questions):
    table = {name: {} for name in SPARSE}
    for share in SHARES:
        for draw in range(DRAWS if share else 1):
            sparser = thinned(ix, share, draw) if share else ix
            for name, build in SPARSE.items():
                if name != "vector" or not share:  # it sees no edges
                    found = recalls(build(sparser), sparser, questions)[:, KS.index(5)].mean()
                    table[name].setdefault(share, []).append(round(float(found), 4))
    table["vector"] = dict.fromkeys(SHARES, table["vector"][0.0])
    return table


TABLES = {"stages": stages, "methods": compared, "prompts": prompts, "room": room, "sparsity": sparsity}


def markdown(found):
    parts = ["# PathRAG, taken apart\n", __doc__.split("\n\n", 2)[2].split("\n\nWrites")[0], ""]
    for label, of in found["sets"].items():
        parts.append(f"## {label}, {of['questions']} questions\n\nStages, share of gold passages in percent:\n")
        parts.append(grid([list(of["stages"]), [shown(v, k) for k, v in of["stages"].items()]]))
        rows = [["method", *(f"recall@{k}" for k in KS), "interval of recall@5", "p against vector"]]
        for name, row in of["methods"].items():
            low, high = row["interval"]
            cells = [shown(row[f"recall@{k}"]) for k in KS]
            rows.append([name, *cells, f"{100 * low:.1f}–{100 * high:.1f}", "" if row["p"] is None else str(row["p"])])
        parts.append("\nMethods, and pathrag with one thing changed:\n\n" + grid(rows))
        rows = [["prompt, order", *next(iter(of["prompts"].values()))]]
        rows += [[name, *(shown(v, k) for k, v in row.items())] for name, row in of["prompts"].items()]
        parts.append(
            "\nPrompts without passages; places in percent from the question (0) to the end (100):\n\n" + grid(rows)
        )
        tokens = ", ".join(f"`{name}` {count:,}" for name, count in of["room"].items())
        parts.append(f"\nTokens of a prompt with passages, by estimate: {tokens}.\n")
        rows = [["recall@5 without", *(f"{100 * share:.0f} %" for share in SHARES)]]
        rows += [[name, *(shown(np.mean(v)) for v in row.values())] for name, row in of["sparsity"].items()]
        parts.append(grid(rows) + "\n")
    parts.append("![recall@5 on sparser graphs](pathrag.png)\n")
    return "\n".join(parts)


def shown(value, name=""):
    if value is None:
        return "–"
    return (
        f"{value:.1f}"
        if name in ("gold statements", "passages behind")
        else (f"{value:.0f}" if name == "tokens" else f"{100 * value:.1f}")
    )


def grid(rows):
    header, *body = rows
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def draw(found, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sets = found["sets"]
    figure, panels = plt.subplots(
        1, len(sets), figsize=(3.6 * len(sets) + 0.4, 3.2), squeeze=False, layout="constrained"
    )
    for panel, (label, of) in zip(panels[0], sets.items(), strict=True):
        for name, row in of["sparsity"].items():
            levels = [100 * np.mean(values) for values in row.values()]
            panel.plot([100 * share for share in SHARES], levels, marker="o", color=COLOURS[name], label=name)
        panel.set(title=label, xlabel="edges taken away, %", ylim=(50, 100))
        panel.grid(alpha=0.3)
    panels[0][0].set_ylabel("recall@5, %")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=Path, default=Path("runs/recall"))
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    found = {"N": N, "K": K, "draws": DRAWS, "sets": {}}
    for label in given.sets:
        index, questions = opened(label, given)
        with index:
            of = {"questions": len(questions)}
            for name, measure in TABLES.items():
                of[name] = measure(index.snapshot, questions)
                print(label, name, json.dumps(of[name]), flush=True)
            found["sets"][label] = of
        (given.out / "pathrag.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (given.out / "pathrag.md").write_text(markdown(found), encoding="utf-8")
    draw(found, given.out / "pathrag.png")


if __name__ == "__main__":
    main()
