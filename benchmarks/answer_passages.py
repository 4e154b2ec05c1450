"""Compare the short answers that the same readers give from the passages of two methods, question by question.

    python benchmarks/answer_passages.py --data DIR --readers FOLDER [--before FILE] [--sets musique ...]

So the effect of the passages is told from that of the readers. FILE holds the documents that another method retrieved,
by set and question, best first; by default those of `ppr` as it was before `multihop`, when it was the default and its
constants had been chosen on these sets. `--readers`: as for answers.py. The passages of `multihop` are retrieved with
scorers that were fitted without the source of the set. Interrupted runs continue. Writes `answer_passages.json` and
`answer_passages.md`.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from answers import FAMILIES, LABELS, LOWER, READ, RIGHT, THRESHOLD, best_answer, reader_of
from harness import (
    Record,
    Rows,
    arguments,
    held_out,
    multihop_index,
    multihop_questions,
    p_value,
    parse,
    percent,
    table,
    write_results,
)
from numpy.typing import NDArray
from stamps import RESULTS

from graphwright.data.documents import read_documents
from graphwright.data.questions import QuestionRecord
from graphwright.evaluate.entries import entry_of
from graphwright.evaluate.statistics import bootstrap_interval, paired_test
from graphwright.index_folder import Index
from graphwright.methods.registry import retrieval_part
from graphwright.models.protocols import PassageText
from graphwright.operators.state import start

METHOD = "multihop"
SIDES = ("before", "now")
MEASURES = ("F1 if always answered", "right, %", f"F1 from {LOWER:g}", f"F1 from {THRESHOLD:g}")


def lists_of(options: Namespace, name: str, questions: Sequence[QuestionRecord]) -> Iterator[list[str]]:
    """Yield the documents that the method retrieves for each question, best first."""
    [method] = held_out([METHOD], name)
    with Index.open(multihop_index(options, LABELS[name])) as index:
        retrieve = retrieval_part(entry_of(method).built(index.snapshot))
        for question in questions:
            passages = retrieve(start(question.text, index.graph)).passages or ()
            yield [passage.document for passage in passages][:READ]


def rows_of(options: Namespace, name: str, before: Mapping[str, Sequence[str]]) -> list[Record]:
    """Return the answers to each question from both lists of passages."""
    reader = reader_of(options, name)
    rows = Rows(options.work / "answer-passages" / f"{name}.jsonl", "id")
    folder = options.data / "multihop" / name
    texts = {row.id: PassageText(row.title, row.text) for row in read_documents([folder / "corpus.jsonl"], print)}
    questions = multihop_questions(options, LABELS[name])
    for question, now in zip(questions, lists_of(options, name, questions), strict=True):
        if (question.id,) not in rows:
            row: Record = {"id": question.id}
            for side, documents in (("before", before[question.id][:READ]), ("now", now)):
                answer = best_answer(reader, question, [texts[document] for document in documents])
                row[side] = answer | {"gold_read": len({*documents} & {*question.gold})}
            rows.add(row)
    return [rows[question.id,] for question in questions]


def measures(rows: Sequence[Record], side: str) -> dict[str, NDArray[np.float64]]:
    """Return the value of each question by measure."""
    f1, score = (np.array([row[side][field] for row in rows], float) for field in ("f1", "score"))
    return dict(
        zip(MEASURES, (f1, (f1 >= RIGHT).astype(float), f1 * (score >= LOWER), f1 * (score >= THRESHOLD)), strict=True)
    )


def compared(rows: Sequence[Record]) -> Record:
    """Return the means of both sides, the difference with its 95 % interval, and p of a paired randomisation test."""
    before, now = (measures(rows, side) for side in SIDES)
    result: Record = {"questions": len(rows)}
    for side in SIDES:
        result[f"gold passages read, {side}"] = float(np.mean([row[side]["gold_read"] for row in rows]))
    for name in MEASURES:
        low, high = bootstrap_interval(now[name] - before[name])
        result[name] = {
            "before": percent(before[name]),
            "now": percent(now[name]),
            "difference": percent(now[name] - before[name]),
            "interval": [percent(low), percent(high)],
            "p": round(paired_test(now[name], before[name]), 4),
        }
    return result


def page(results: Mapping[str, Record]) -> str:
    """Return the tables."""
    lines = []
    for name, result in results.items():
        for measure in MEASURES:
            of = result[measure]
            low, high = of["interval"]
            difference = f"{of['difference']:+.1f} ({low:+.1f} to {high:+.1f})"
            lines.append([name, result["questions"], measure, of["before"], of["now"], difference, p_value(of["p"])])
    header = ["set", "questions", "measure", "passages of before", f"passages of `{METHOD}`", "difference (95 %)", "p"]
    about = (
        f"The same readers, which never saw these sets, read the first {READ} passages of `ppr` as it was before "
        f"`{METHOD}`, and those of `{METHOD}`. Paired by question. Made by `python benchmarks/answer_passages.py`."
    )
    return f"# Short answers by the passages that are read\n\n{about}\n\n{table(header, lines)}"


def main() -> None:
    """Read, compare and write."""
    parser = arguments(__doc__, sets=list(FAMILIES))
    parser.add_argument("--readers", type=Path, required=True)
    parser.add_argument("--before", type=Path, default=RESULTS / "passages_before.json")
    options = parse(parser)
    lists = json.loads(options.before.read_text(encoding="utf-8"))
    results: dict[str, Record] = {}
    pooled: list[Record] = []
    for name in options.sets:
        rows = rows_of(options, name, lists[name])
        pooled += rows
        results[name] = compared(rows)
        print(table(("", name), results[name].items()), flush=True)
    results["all"] = compared(pooled)
    write_results(options.out / "answer_passages.json", results, page(results))


if __name__ == "__main__":
    main()
