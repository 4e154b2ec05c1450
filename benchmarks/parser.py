"""Measure the offline query parser over graphs: share of questions whose best query gives the answers, and its time.

    python benchmarks/parser.py --data FOLDER [--set metaqa-1 …] [--weights FILE] [--questions 300] [--show]

Sets: metaqa-1, metaqa-2, metaqa-3, pq-2h, pql-2h. For figures with a source left out give weights that
`scripts/fit_parser.py --leave-out SOURCE --into FILE` wrote; those of the package have seen questions of each source.
Prints for each set: exact (the set of answers), hits@1, Brier score of the probability, and milliseconds a question.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "scripts"))

from parser_data import KGQA, Asked, facts_of, read_kgqa

from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.graphs.parser import GraphQueryParser
from graphwright.operators.query.graphs.scorer import WEIGHTS
from graphwright.search.facts import Facts
from graphwright.text.names import normal_form


def measure(name: str, facts: Facts, asked: list[Asked], parser: GraphQueryParser, show: bool) -> None:
    """Ask the questions of a set and print its figures."""
    rows, execution = [], Execution(facts)
    parser.parse(asked[0].text, facts)
    for text, answers in asked:
        started = time.perf_counter()
        queries = parser.parse(text, facts)
        seconds = time.perf_counter() - started
        result = execution.result(queries[0].query) if queries else None
        given = facts.texts(result.tolist()) if isinstance(result, np.ndarray) else []
        forms, gold = set(map(normal_form, given)), {normal_form(str(answer)) for answer in answers}  # type: ignore[union-attr]
        right, probability = forms == gold, queries[0].probability if queries else 0.0
        rows.append((right, bool(given) and normal_form(given[0]) in gold, (probability - right) ** 2, seconds))
        if show and not right:
            print(f"{text}\n    {queries[0].query if queries else None}")
    exact, hits, brier, _ = np.mean(rows, axis=0)
    median, late = np.quantile([row[3] for row in rows], [0.5, 0.95]) * 1000
    print(
        f"{name}: exact {exact:.3f}, hits@1 {hits:.3f}, Brier {brier:.3f}, {median:.0f} ms, p95 {late:.0f} ms",
        flush=True,
    )


def main() -> None:
    """Measure the sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with kgqa")
    parser.add_argument("--set", nargs="*", default=list(KGQA), choices=list(KGQA), help="sets")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="weights of the parser")
    parser.add_argument("--questions", type=int, default=300, help="questions of each set")
    parser.add_argument("--show", action="store_true", help="print the questions that go wrong")
    options = parser.parse_args()
    for name in options.set:
        data = options.data / "kgqa"
        asked = read_kgqa(data, name, options.questions, measured=True, seed=1)
        measure(
            name,
            facts_of(data / KGQA[name][0] / "kb.tsv"),
            asked,
            GraphQueryParser(MiniLM(), options.weights),
            options.show,
        )


if __name__ == "__main__":
    main()
