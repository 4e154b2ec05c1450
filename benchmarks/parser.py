"""Measure the offline query parser over graphs: share of questions whose best query gives the answers, and its time.

    python benchmarks/parser.py --data FOLDER [--set written metaqa-1 …] [--weights FILE] [--questions 300] [--show]

Sets: written (the graphs of `scripts/parser/closed_graphs`), languages (those of `other_languages`), metaqa-1,
metaqa-2, metaqa-3, pq-2h, pql-2h. No fit of the weights of the package has seen any of them. Prints for each set: exact
(the set of answers), those whose answer is given (a probability of at least 0.5) and right, given and wrong, Brier
score of the probability, and milliseconds a question; of the written graphs also how many questions without an answer
are given one, and the figures of each form of query.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "scripts"))

from parser_data import KGQA, Asked, asked_of, facts_of, form_of, read_kgqa

from graphwright.models.embedded.amounts import MiniLMAmounts
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.embedded.encoder import QUERIES, MiniLM
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.graphs.generation import FORMS
from graphwright.operators.query.graphs.parser import GraphQueryParser
from graphwright.operators.query.graphs.scorer import WEIGHTS
from graphwright.operators.query.result import RECORDED
from graphwright.search.facts import Facts
from graphwright.text.names import normal_form

WRITTEN = {"written": "closed_graphs", "languages": "other_languages"}
"""Sets of written questions, with their folders in `scripts/parser`."""


class Row(NamedTuple):
    """A question: whether its best query is right, and how probable; whether it has an answer; seconds; its form."""

    right: bool
    probability: float
    answered: bool
    seconds: float
    form: str


def answers_of(execution: Execution, asked: Asked) -> object:
    """Return the answers of a question as they are compared; None where there are none."""
    if isinstance(asked.gold, list):
        return frozenset(map(normal_form, map(str, asked.gold)))
    return None if asked.gold is None else _compared(execution, execution.result(asked.gold))


def _compared(execution: Execution, result: object) -> object:
    if isinstance(result, np.ndarray):
        return frozenset(map(normal_form, execution.facts.texts(result.tolist())))
    return result


def rows_of(facts: Facts, asked: Sequence[Asked], parser: GraphQueryParser, show: bool) -> list[Row]:
    """Ask questions over the facts of a graph."""
    rows, execution = [], Execution(facts)
    parser.parse(asked[0].text, facts)
    for question in asked:
        started = time.perf_counter()
        queries = parser.parse(question.text, facts)
        seconds = time.perf_counter() - started
        gold = answers_of(execution, question)
        given = _compared(execution, execution.result(queries[0].query)) if queries else None
        right = gold is not None and given == gold
        probability = queries[0].probability if queries else 0.0
        rows.append(Row(right, probability, gold is not None, seconds, form_name(question)))
        if show and not right:
            print(f"{question.text}\n    {rows[-1].probability:.2f} {queries[0].query if queries else None}")
    return rows


def form_name(asked: Asked) -> str:
    """Return the form of a question's query, "" where it has none."""
    return "" if asked.gold is None or isinstance(asked.gold, list) else FORMS[form_of(asked.gold)]


def report_forms(rows: Sequence[Row]) -> None:
    """Print the share of questions of each form whose best query is right, and those given and right, and wrong."""
    for form in FORMS:
        if own := [row for row in rows if row.form == form]:
            given = [row.right for row in own if row.probability >= RECORDED]
            right, wrong = sum(given) / len(own), (len(given) - sum(given)) / len(own)
            exact = np.mean([row.right for row in own])
            print(
                f"    {form}: {len(own)} questions, exact {exact:.3f}, given and right {right:.3f}, wrong {wrong:.3f}"
            )


def report(name: str, rows: Sequence[Row]) -> None:
    """Print the figures of a set."""
    asked, others = [row for row in rows if row.answered], [row for row in rows if not row.answered]
    exact = np.mean([row.right for row in asked])
    right = np.mean([row.right and row.probability >= RECORDED for row in asked])
    wrong = np.mean([not row.right and row.probability >= RECORDED for row in asked])
    brier = np.mean([(row.probability - row.right) ** 2 for row in rows])
    median, late = np.quantile([row.seconds for row in rows], [0.5, 0.95]) * 1000
    line = (
        f"{name}: {len(asked)} questions, exact {exact:.3f}, given and right {right:.3f}, given and wrong {wrong:.3f}"
    )
    if others:
        given = np.mean([row.probability >= RECORDED for row in others])
        line += f", given one of {len(others)} without an answer {given:.3f}"
    print(f"{line}, Brier {brier:.3f}, {median:.0f} ms, p95 {late:.0f} ms", flush=True)


def main() -> None:
    """Measure the sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with kgqa")
    sets = [*WRITTEN, *KGQA]
    parser.add_argument("--set", nargs="*", default=sets, choices=sets, help="sets")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="weights of the parser")
    parser.add_argument("--questions", type=int, default=300, help="questions of each set of KGQA")
    parser.add_argument("--show", action="store_true", help="print the questions that go wrong")
    options = parser.parse_args()
    asker = GraphQueryParser(MiniLM(), MiniLMCrossEncoder(QUERIES), MiniLMAmounts(), options.weights)
    for name in options.set:
        if name in WRITTEN:
            graphs = {of: rows_of(facts, asked, asker, options.show) for of, facts, asked in asked_of(WRITTEN[name])}
            if name == "languages":
                for language, rows in graphs.items():
                    report(language, rows)
            every = [row for rows in graphs.values() for row in rows]
            report(name, every)
            report_forms(every)
            continue
        data = options.data / "kgqa"
        asked = read_kgqa(data, name, options.questions, measured=True, seed=1)
        report(name, rows_of(facts_of(data / KGQA[name][0] / "kb.tsv"), asked, asker, options.show))


if __name__ == "__main__":
    main()
