"""Ask every method a few questions of a graph of facts, of relation paths and of documents: does it run, cite, abstain?

    python benchmarks/methods.py --data DIR [--sets metaqa pq-2h hotpotqa100] [--methods gcr 'lego-*'] [--questions 30]
                                 [--seconds 60]

All is offline, so a language model's steps are done by its twin; `vanilla` and `cot`, which have none, are left out. A
method is asked up to --questions, at least two, and no more of them once it has used --seconds of processor time. A row
is kept for each set and method below --work: interrupted, the same call continues. Every call writes what is there to
`methods.json` and `methods.md`.

Questions of MetaQA and PathQuestion are the first of the order that `lego.py` asks in, with the entities given; those
of HotpotQA are the first of the set. MetaQA has vectors of names alone, so that encoders read the triples there.
Figures are means over the questions, the first one, which compiles, left out of the time:

- answered: the share that is answered at all; cited: of these, the share whose citations are verified.
- Hits@1 of graphs: whether the first name that the evidence leads to is an answer; recall of graphs: the share of the
  answers among the names that the first 32 items lead to; of documents, of the gold passages among the first 15.
- ms: processor time, the median, all threads together; tokens: those that encoders and cross-encoders read, each
  relation once a method, as an open index keeps vectors.
- abstained: of three questions that neither graph nor documents answer, given without entities.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from harness import (
    Record,
    Rows,
    arguments,
    documents_of,
    evidence_of,
    mean,
    multihop_index,
    multihop_questions,
    parse,
    passages_of,
    table,
    update_results,
)
from published.lego import SETS as GRAPHS
from published.lego import questions as graph_questions
from published.lego import targets_of

from graphwright.data.question_sets.datasets import read_dataset
from graphwright.evaluate.measures import path_quality
from graphwright.evaluate.metrics import hits_at_1
from graphwright.generate.path_answers import TargetAnswer
from graphwright.graph.graph import Graph
from graphwright.index_folder.index import Index
from graphwright.methods.registry import METHODS
from graphwright.operators.run import Run
from graphwright.operators.state import Question, State

DOCUMENTS = "hotpotqa100"
SETS = ("metaqa", "pq-2h", DOCUMENTS)
OFFLINE = [name for name, method in METHODS.items() if not method.required]
EMBEDDED = {"metaqa": ("names",), "pq-2h": ("names", "triples")}  # 133,582 triples take minutes
ITEMS, PASSAGES = 32, 15  # that are judged
UNANSWERABLE = (
    "Who designed the third lighthouse of Port Quillmere?",
    "Which chess opening did the robot Zanzibel-9 prefer?",
    "What colour was the ink of Ottoline Varkesh's last letter?",
)
COLUMNS = ("questions", "answered", "cited", "Hits@1", "recall", "ms", "tokens", "abstained")


def index_of(options: Namespace, name: str) -> Index:
    """Return the index of a set; it is made once."""
    if name == DOCUMENTS:
        return Index.open(multihop_index(options, name))
    folder: Path = options.work / "indexes" / f"{name}-graph"
    if folder.exists():
        return Index.open(folder)
    triples = read_dataset(options.data / "kgqa" / name, GRAPHS[name][0]).triples or ()
    return Index.from_graph(folder, Graph.from_triples(triples), embed=EMBEDDED[name])


def questions_of(options: Namespace, name: str) -> Sequence[Any]:
    """Return the questions of a set."""
    if name == DOCUMENTS:
        return multihop_questions(options, name, options.questions)
    return graph_questions(options.data / "kgqa" / name, options.questions)


def judged(state: State, question: Any, documents: bool) -> Record:
    """Return the figures of one answer."""
    answer = state.answer
    found = answer is not None and answer.found
    row: Record = {"answered": float(found), "cited": float(answer.verified) if answer is not None and found else None}
    if documents:
        named = set(documents_of(state.graph, passages_of(state)[:PASSAGES]))
        return row | {"recall": float(np.mean([gold in named for gold in question.gold]))}
    few = state.with_(evidence=evidence_of(state).top(ITEMS), answer=None)
    row["Hits@1"] = hits_at_1(targets_of(TargetAnswer()(few)), question.answers)
    return row | {"recall": path_quality(few, question.answers).recall}


def asked(index: Index, method: str, questions: Sequence[Any], seconds: float, documents: bool) -> Record:
    """Ask a method, and return its figures."""
    rows: list[Record] = []
    used: list[float] = []
    for question in questions:
        given = Question(question.text, question.id, () if documents else question.entities)
        run, begun = Run(), time.process_time()
        state = index.ask(given, method, run=run)
        used.append(time.process_time() - begun)
        rows.append(judged(state, question, documents) | {"tokens": run.usage.tokens})
        if len(used) >= 2 and sum(used) > seconds:
            break
    figures = {key: mean([r[key] for r in rows if r[key] is not None] or [0.0], 3) for key in rows[0]}
    abstained = sum(not _answered(index, method, text) for text in UNANSWERABLE)
    return figures | {
        "questions": len(rows),
        "ms": round(1e3 * float(np.median(used[1:])), 1),
        "tokens": round(figures["tokens"]),
        "abstained": abstained,
    }


def _answered(index: Index, method: str, question: str) -> bool:
    answer = index.ask(question, method).answer
    return answer is not None and answer.found


def page(results: Record) -> str:
    """Return the tables of all sets."""
    about = (__doc__ or "").partition("All is offline")[2].partition("A row")[0]
    figures = (__doc__ or "").partition("Questions of MetaQA")[2]
    parts = [
        "# Every method on three sets: runs, cites, abstains",
        "Made by `python benchmarks/methods.py --data DIR`. All is offline" + about.rstrip(),
        "Questions of MetaQA" + figures.rstrip(),
    ]
    for name in (name for name in SETS if name in results):
        columns = [column for column in COLUMNS if any(column in row for row in results[name].values())]
        body = [(f"`{at}`", *(row.get(c, "") for c in columns)) for at, row in results[name].items()]
        parts += [f"## {name}", table(("method", *columns), body)]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Ask what has no row yet, and write all rows."""
    parser = arguments(__doc__, sets=SETS)
    parser.add_argument("--methods", nargs="+", default=["*"], help="names, or patterns of them")
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=60.0, help="processor time after which no question is begun")
    options = parse(parser)
    rows = Rows(options.work / "methods.jsonl", "set", "method")
    chosen = [name for name in OFFLINE if any(fnmatchcase(name, pattern) for pattern in options.methods)]
    sets = [name for name in SETS if name in options.sets]
    for name in sets:
        missing = [method for method in chosen if (name, method) not in rows]
        if not missing:
            continue
        questions = questions_of(options, name)
        for method in missing:
            # Opened anew: an open index keeps the vectors that an earlier method has asked for.
            figures = asked(index_of(options, name), method, questions, options.seconds, name == DOCUMENTS)
            rows.add({"set": name, "method": method} | figures)
            print(name, method, figures, flush=True)
    for name in sets:
        own = {method: rows[name, method] for method in OFFLINE if (name, method) in rows}
        of = {at: {k: v for k, v in row.items() if k not in ("set", "method")} for at, row in own.items()}
        update_results(options.out / "methods.json", [name], of, page, SETS)


if __name__ == "__main__":
    main()
