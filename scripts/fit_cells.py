"""Fit the probability that a cell, which a query looks up and the embedded reader reads in its row, is the answer.

    python scripts/fit_cells.py DATA [--reader FOLDER]

DATA holds WikiTableQuestions: questions.jsonl.gz, and csv/ unpacked from tables.tar.gz. Its development questions, from
which neither the parser nor the reader has learned, are asked of their tables, and of these without the column that
answers. Of the five best queries of each, those that look up a cell are right or wrong. The weights are fitted on the
tables of the second half and written to model.json of the reader; how they do on the first half is printed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from denotations import correct
from fit_reader import fitted, logistic
from table_data import without
from tables import Rows, answer_texts, facts_of, is_first_half, read_questions, read_table

from graphwright.models.embedded.amounts import MiniLMAmounts
from graphwright.models.embedded.encoder import WEIGHTS, MiniLM
from graphwright.models.embedded.reader import MiniLMReader
from graphwright.models.embedded.reader_answers import CELL_FEATURES, cell_features
from graphwright.models.protocols import Usage
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.parser import QueryParser
from graphwright.operators.query.query import Follow
from graphwright.operators.query.tables.parser import TableQueryParser
from graphwright.operators.query.tables.reading import QUERIES, looked_up


def queries_read(
    row: dict[str, Any], table: Rows, parser: QueryParser, reader: MiniLMReader
) -> Iterator[tuple[Any, bool, str]]:
    """Yield the features of the looked up cells of each query, whether it is right, and the column it takes."""
    facts = facts_of({"rows": table})
    for own in parser.parse(row["question"], facts)[:QUERIES]:
        if rows := list(looked_up(own.query, facts)):
            texts, cells = zip(*rows, strict=True)
            read = reader.readings(row["question"], texts, Usage())
            features = [cell_features(*each, own.probability) for each in zip(texts, read, cells, strict=True)]
            assert isinstance(own.query, Follow)
            right = correct(answer_texts(Execution(facts).result(own.query), facts), row["answers"])
            yield np.array(features), right, own.query.step.relation


def measured(rows: list[tuple[Any, bool]], weights: Any) -> str:
    """Return how many queries are given from two probabilities on, and how many of them are right: before and after."""
    right = np.array([right for _, right in rows])
    before = np.array([logistic(features[0, CELL_FEATURES.index("query")]) for features, _ in rows])
    after = np.array([logistic(features @ weights).min() for features, _ in rows])
    parts = [f"{len(rows)} queries, {right.mean():.3f} right"]
    for least in (0.3, 0.5, 0.65, 0.8):
        shown = [(chance >= least).sum() for chance in (before, after)]
        good = [right[chance >= least].mean() for chance in (before, after)]
        parts.append(f"from {least}: {shown[0]} given, {good[0]:.3f} right; read, {shown[1]} and {good[1]:.3f}")
    return "\n  ".join(parts)


def main() -> None:
    """Write the weights, and print how the queries of the other half do."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--reader", type=Path, default=WEIGHTS / "minilm-reader")
    given = arguments.parse_args()
    parser, reader = TableQueryParser(MiniLM(), MiniLMAmounts()), MiniLMReader(paired=0, weights=str(given.reader))
    halves: dict[bool, list[tuple[Any, bool]]] = {True: [], False: []}
    for row in read_questions(given.data, "dev"):
        table, half = read_table(given.data / row["table"]), halves[is_first_half(row["table"])]
        found = list(queries_read(row, table, parser, reader))
        half += [(features, right) for features, right, _ in found]
        for column in {column for _, right, column in found if right}:
            less = without(table, column)
            half += [(features, right) for features, right, _ in queries_read(row, less, parser, reader)]
    weakest = [features[features[:, -1].argmin()] for features, _ in halves[False]]
    weights = fitted(np.array(weakest), [right for _, right in halves[False]])
    print(measured(halves[True], weights))
    settings = json.loads((given.reader / "model.json").read_text("utf-8"))
    settings["cell"] = dict(zip(CELL_FEATURES, weights.round(5).tolist(), strict=True))
    (given.reader / "model.json").write_text(json.dumps(settings, indent=1) + "\n", "utf-8")
    print(json.dumps(settings["cell"]))


if __name__ == "__main__":
    main()
