"""Have a scripted model that knows the gold passages choose rightly at each step, and see what a method does with it.

    python benchmarks/oracle.py --data DIR [--sets NAME ...] [--methods NAME ...] [--questions 50] [--trace]

A language model may choose well or badly; this measures what the method loses where every choice is right
(`benchmarks/oracle_llm.py`). The pool are the passages behind the evidence of a method, before it is cut to 15.
Methods without a language model in their retrieval are there for comparison; those whose evidence are passages rank
100 of them, which are their pool. In the table, in percent:

- recall@5 and recall@15,
- gold passages in the pool: less than 90 is marked by *; and those of them that state an edge of the evidence,
- of the pool the share among the 15 passages: less than 95 is marked by *, as the order or the budget loses them.

With --trace each question with a loss is printed, with the gold passages that each step reaches: behind the anchors
after a step that sets anchors, behind the evidence after one that sets it, else the passages. The page counts the steps
after which gold passages are lost: "anchors" where no step reaches them, "order" where they are in the pool, but not
among the 15. Writes `oracle.json` and `oracle.md`.
"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from harness import (
    MULTIHOP,
    Record,
    Rows,
    arguments,
    documents_of,
    multihop_index,
    multihop_questions,
    parse,
    passages_of,
    percent,
    table,
    update_results,
)
from oracle_llm import OracleLLM

from graphwright.data.question_sets.questions import QuestionRecord
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph
from graphwright.index_folder.index import Index
from graphwright.methods.registry import METHODS, make_method
from graphwright.operators.state import State, Step, start
from graphwright.search.snapshot import Snapshot

SETS = ("musique", "2wiki", "musique-openie")
BUDGET = 15
MIN_POOL, MIN_KEPT = 90.0, 95.0
OF_PAPERS: Mapping[str, Sequence[str]] = {
    "bubblerag": ["bubblerag"],
    "pathrag": ["pathrag", "pathrag-lt"],
    "lego": [*(f"lego-{number}" for number in (3, 4, 5, 7, 8, 9, 11, 13, 15)), "rog", "gsr", "kelp", "tog"],
    "reg": ["reg", "gcr"],
    "fastinsight": ["fastinsight", "fastinsight-entities"],
}
"""Methods of the five papers and of their tables."""
OTHERS = ("lightrag-local", "lightrag-global", "lightrag-hybrid", "hipporag2")
METHOD_NAMES = [*(name for names in OF_PAPERS.values() for name in names), *OTHERS]
ALONE = ("reg", "fastinsight", "fastinsight-entities")
"""Methods without a language model in their retrieval."""
RANKED = {"hipporag2": 100, "fastinsight": 100}
"""Methods whose evidence are the passages that they rank: as many are their pool."""
COLUMNS = {
    "5": "recall@5",
    "15": "recall@15",
    "pool": "in the pool",
    "stated": "stating it",
    "kept": "of the pool in the 15",
}


@dataclass(frozen=True)
class Trail:
    """The documents that a step reaches: behind the field that it sets."""

    step: str
    field: str
    documents: frozenset[str]


def main() -> None:
    """Measure the methods on the sets, or print where they lose gold passages."""
    parser = arguments(__doc__, sets=tuple(MULTIHOP))
    parser.set_defaults(sets=list(SETS))
    parser.add_argument("--methods", nargs="+", default=METHOD_NAMES, metavar="METHOD")
    parser.add_argument("--questions", type=int, default=50, help="of each set")
    parser.add_argument("--trace", action="store_true", help="print the steps of each question with a loss")
    options = parse(parser)
    for label in options.sets:
        measure(options, label, options.methods, options.questions, trace=options.trace)


def measure(options: Namespace, label: str, methods: Sequence[str], count: int, *, trace: bool = False) -> None:
    """Ask the questions of one set, and write its table; with `trace` only print the losses."""
    ix, questions = Index.open(multihop_index(options, label)).snapshot, multihop_questions(options, label, count)
    chunks = chunks_by_document(ix)
    rows = Rows(options.work / "oracle.jsonl", "set", "method", "question")
    for method in methods:
        for question in questions:
            key = label, method, question.id
            if trace or key not in rows:
                figures, trails = asked(ix, method, question, chunks)
                rows.add(dict(zip(("set", "method", "question"), key, strict=True)) | figures)
                if trace and figures["lost"]:
                    print(shown(method, question, figures, trails), flush=True)
        row = summary([rows[label, method, question.id] for question in questions])
        print(label, method, row, flush=True)
        if not trace:
            update_results(options.out / "oracle.json", [label, method], row, page, order=METHOD_NAMES)


def chunks_by_document(ix: Snapshot) -> Mapping[str, list[int]]:
    """Return the chunk nodes of each document."""
    chunks: dict[str, list[int]] = {}
    for node in ix.passages.ids.tolist():
        for document in documents_of(ix.graph, [node]):
            chunks.setdefault(document, []).append(node)
    return chunks


def asked(
    ix: Snapshot, name: str, question: QuestionRecord, chunks: Mapping[str, list[int]]
) -> tuple[Record, list[Trail]]:
    """Return the figures of a question, and what each step reaches."""
    gold = set(question.gold)
    model = OracleLLM(
        ix.graph, [node for document in question.gold for node in chunks.get(document, ())], question.text
    )
    method = make_method(name, ix, **choosing(name, model), top_k=RANKED.get(name, BUDGET))
    state = method.retrieval(start(question.text, ix.graph))
    ranked = documents_of(ix.graph, passages_of(state))
    behind_items, stating = pool_of(state)
    first, pool = set(ranked[:BUDGET]) & gold, gold.intersection(ranked if name in RANKED else behind_items)
    trails = list(trails_of(state))
    lost = Counter(lost_at(document, trails) for document in sorted(gold - first))
    return {
        "gold": len(gold), "5": len(set(ranked[:5]) & gold), "15": len(first), "pool": len(pool),
        "stated": len(stating & gold),        "kept": len(pool & first), "lost": dict(lost),
    }, trails  # fmt: skip


def choosing(name: str, model: OracleLLM) -> Record:
    """Return the argument of a method that is the language model of its retrieval; none for a method without one."""
    if name in ALONE:
        return {}
    declared = METHODS[name].options
    return {next(option for option in ("retrieval_llm", "decoder", "llm") if option in declared): model}


def pool_of(state: State) -> tuple[set[str], set[str]]:
    """Return the documents behind the evidence and the ranked items, and those that state an edge of them."""
    graph, ranking = state.graph, state.passages
    parts = [items for items in (state.evidence, None if ranking is None else ranking.items) if items is not None]
    stating = {document for items in parts for document in documents_of(graph, graph.chunks_of((), items.edges))}
    return {document for items in parts for document in behind(graph, items)}, stating


def behind(graph: Graph, items: Evidence | None) -> list[str]:
    """Return the documents that state the edges of items, or name their nodes."""
    return [] if items is None else documents_of(graph, graph.chunks_of(items.nodes, items.edges))


def trails_of(state: State) -> Iterator[Trail]:
    """Yield what each step reaches, from the first that sets anchors on; all steps where none does."""
    before, trails = None, list[Trail]()
    for step in state.trace:
        trail = None if step.after is None else trail_of(step, step.after, before)
        before = step.after
        if trail is not None:
            trails.append(trail)
    first = next((at for at, trail in enumerate(trails) if trail.field == "anchors"), 0)
    yield from trails[first:]


def trail_of(step: Step, after: State, before: State | None) -> Trail | None:
    """Return what a step reaches by the field that it changes, None if it changes none."""
    for name in ("passages", "evidence", "anchors"):
        new, old = getattr(after, name), getattr(before, name, None)
        if new is not None and (old is None or _identity(new) != _identity(old)):
            return Trail(step.operator.partition("(")[0], name, frozenset(_documents(after, name)))
    return None


def _identity(value: object) -> object:
    """Return what tells a changed field from an unchanged one: a ranking is bound anew in each state."""
    return id(getattr(value, "ids", value))


def _documents(state: State, field: str) -> list[str]:
    """Return the documents behind the anchors, behind the evidence, or of the passages."""
    if field == "anchors":
        anchors = state.anchors or ()
        nodes, edges = ([i for a in anchors for i in getattr(a, name).tolist()] for name in ("nodes", "edges"))
        return documents_of(state.graph, state.graph.chunks_of(nodes, edges))
    return behind(state.graph, state.evidence) if field == "evidence" else documents_of(state.graph, passages_of(state))


def lost_at(document: str, trails: Sequence[Trail]) -> str:
    """Return the step after which a document is not reached any more; "anchors" if none does, "order" at the end."""
    reached = [at for at, trail in enumerate(trails) if document in trail.documents]
    if not reached:
        return "anchors"
    lost = trails[min(reached[-1] + 1, len(trails) - 1)]
    return "order" if lost.field == "passages" else lost.step


def summary(rows: Sequence[Record]) -> Record:
    """Return the row of a method: means over questions, and the gold passages that were lost, by step."""
    shares: Record = {
        name: percent([row[name] / row["gold"] for row in rows]) for name in ("5", "15", "pool", "stated")
    }
    pools = sum(row["pool"] for row in rows)
    lost = sum((Counter(row["lost"]) for row in rows), Counter[str]())
    kept = round(100 * sum(row["kept"] for row in rows) / pools, 1) if pools else None
    return {"questions": len(rows), **shares, "kept": kept, "lost": dict(lost.most_common())}


def shown(method: str, question: QuestionRecord, figures: Record, trails: Sequence[Trail]) -> str:
    """Return a question with a loss: the gold documents that each step reaches, and where the others were lost."""
    head = f"\n{method}: {question.text} ({question.id})\n  gold: {', '.join(question.gold)}"
    steps = [
        f"  {trail.step:<24}{trail.field:<10}{len(trail.documents):>6}  gold: "
        + (", ".join(document for document in question.gold if document in trail.documents) or "-")
        for trail in trails
    ]
    lost = ", ".join(f"{count} at {step}" for step, count in figures["lost"].items())
    return "\n".join([head, *steps, f"  lost: {lost}; {figures['pool']} of {figures['gold']} in the pool"])


def page(results: Record) -> str:
    """Return the tables of all sets."""
    about = " ".join((__doc__ or "").partition("--trace]\n\n")[2].partition("\n\n")[0].split())
    parts = [
        "# Methods with right choices",
        about,
        f"* below {MIN_POOL:g} in the pool, {MIN_KEPT:g} of these in the 15.",
    ]
    for label, methods in results.items():
        count = max(row["questions"] for row in methods.values())
        rows = [[f"`{name}`", *map(partial(cell, row), COLUMNS), losses(row)] for name, row in methods.items()]
        parts += [f"## {label}, {count} questions", table(["method", *COLUMNS.values(), "lost at"], rows)]
    return "\n\n".join(parts) + "\n"


def cell(row: Record, name: str) -> str:
    """Return a figure, marked where it is below its threshold."""
    value, least = row[name], {"pool": MIN_POOL, "kept": MIN_KEPT}.get(name, 0.0)
    return "–" if value is None else f"{value:.1f}{' *' if value < least else ''}"


def losses(row: Record) -> str:
    """Return the steps at which gold passages were lost, with their number."""
    return ", ".join(f"{step} {count}" for step, count in row["lost"].items()) or "–"


if __name__ == "__main__":
    main()
