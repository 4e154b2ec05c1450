"""Measure the short answers of trained readers, without a language model.

    python benchmarks/embedded/answers.py --data DIR [--method multihop] [--readers FOLDER] [--sets musique ...]

Every question of HotpotQA, 2Wiki and MuSiQue is asked twice: of an index of its set, and of the same results with the
gold passages taken out, where nothing should be answered. `--readers`: a folder with a reader for each family of sets,
`without-hotpotqa`, `without-2wiki`, `without-musique`, trained and fitted without that family (scripts/train_reader.py,
build_reader.py, fit_reader.py); where it has but one, `open`, that one reads all sets, which it never saw. A question
without a short answer counts as F1 0. Interrupted runs continue. Writes `reader.json` and `reader.md`.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphwright.data.question_sets.questions import QuestionRecord
from graphwright.evaluate.entries import ComparedMethod, entry_of
from graphwright.evaluate.metrics import exact_match, token_f1
from graphwright.evaluate.statistics import bootstrap_interval
from graphwright.index_folder.index import Index
from graphwright.models.embedded.reader import MiniLMReader
from graphwright.models.protocols import PassageText
from graphwright.operators.state import start

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import (
    Record,
    Rows,
    arguments,
    held_out,
    multihop_index,
    multihop_questions,
    parse,
    percent,
    table,
    write_results,
)

FAMILIES = {"hotpotqa": "hotpotqa", "hotpotqa100": "hotpotqa", "2wiki": "2wiki", "musique": "musique"}
LABELS = {name: "musique-openie" if name == "musique" else name for name in FAMILIES}
RIGHT = 0.8  # token F1 from which an answer counts as right
COVERAGES = (10, 20, 30, 40, 50, 60, 80, 100)  # percent of the questions
READ = 8  # passages
THRESHOLD = 0.5  # of the confidence, from which an answer is given
LOWER = 0.2  # another one, beside it


def reader_of(options: Namespace, name: str) -> MiniLMReader:
    """Return the reader that was trained without the family of a set."""
    folders = [options.readers / f"without-{FAMILIES[name]}", options.readers / "open"]
    folder: Path = next((folder for folder in folders if folder.is_dir()), folders[0])
    return MiniLMReader(weights=str(folder))


def ask(index: Index, question: QuestionRecord, reader: MiniLMReader, method: str | ComparedMethod) -> Record:
    """Return the best answers with and without the gold passages, with their confidence and quality."""
    retrieve = entry_of(method).built(index.snapshot).search
    ranked = list(retrieve(start(question.text, index.graph)).passages or ())
    row: Record = {"id": question.id, "gold_read": sum(p.document in question.gold for p in ranked[:READ])}
    for part, passages in (("with", ranked), ("without", [p for p in ranked if p.document not in question.gold])):
        row[part] = best_answer(reader, question, [PassageText(p.title, p.text) for p in passages[:READ]])
    return row


def best_answer(reader: MiniLMReader, question: QuestionRecord, passages: Sequence[PassageText]) -> Record:
    """Return the best answer in the passages, with its confidence and quality."""
    span = next(iter(reader.read(question.text, passages)), None)
    answer = "" if span is None else span.answer(passages)
    answers = [*question.answers]
    quality = {"f1": token_f1([answer], answers), "exact": exact_match([answer], answers)}
    return {"answer": answer, "score": span.score if span else 0.0} | quality


def summarise(rows: list[Record]) -> Record:
    """Return the quality at both thresholds, and precision by coverage."""
    score, f1 = (np.array([row["with"][name] for row in rows]) for name in ("score", "f1"))
    return {
        "questions": len(rows),
        **at_threshold(rows, THRESHOLD),
        "lower": at_threshold(rows, LOWER),
        "f1_if_always_given": percent(f1),
        "calibration_error": percent(calibration_error(score, f1 >= RIGHT)),
        "curve": {str(coverage): precision(score, f1, coverage) for coverage in COVERAGES},
    }


def at_threshold(rows: list[Record], threshold: float) -> Record:
    """Return the quality where an answer is given from this confidence; without one F1 is 0."""
    score, f1, exact = (np.array([row["with"][name] for row in rows]) for name in ("score", "f1", "exact"))
    given = score >= threshold
    low, high = bootstrap_interval(f1 * given)
    return {
        "f1": percent(f1 * given),
        "f1_95": [percent(low), percent(high)],
        "exact_match": percent(exact * given),
        "given": percent(given),
        "right": percent(f1[given] >= RIGHT) if given.any() else None,
        "given_without_gold": percent(np.array([row["without"]["score"] >= threshold for row in rows])),
    }


def precision(score: NDArray[np.float64], f1: NDArray[np.float64], coverage: int) -> float | None:
    """Return the share of right answers among the surest `coverage` percent."""
    count = max(1, round(len(score) * coverage / 100))
    return percent(f1[np.argsort(-score, kind="stable")[:count]] >= RIGHT)


def calibration_error(score: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Return the mean distance of confidence from the share of right answers, in ten bins of equal size."""
    bins = np.array_split(np.argsort(score, kind="stable"), 10)
    return float(np.mean([abs(score[part].mean() - right[part].mean()) for part in bins if len(part)]))


def page(results: Record) -> str:
    """Return the tables."""
    header = ["set", "questions", "from confidence", "F1 (95 %)", "exact match", "answered, %", "of these right, %"]
    header += ["answered without gold, %", "F1 if always answered", "calibration error"]
    rows = [
        [
            *(name, of["questions"], f"{threshold:g}", f"{part['f1']} ({part['f1_95'][0]} to {part['f1_95'][1]})"),
            *(part[key] for key in ("exact_match", "given", "right", "given_without_gold")),
            *(of[key] for key in ("f1_if_always_given", "calibration_error")),
        ]
        for name, of in results["sets"].items()
        for threshold, part in ((THRESHOLD, of), (LOWER, of["lower"]))
    ]
    curve = [[name, *of["curve"].values()] for name, of in results["sets"].items()]
    return "\n\n".join(
        [
            "# Short answers of trained readers, without a language model",
            f"Passages by `{results['method']}`, the first {READ} read; an answer is given from a confidence, "
            f"by default {THRESHOLD:g}, and counts as right from a token F1 of {RIGHT:g}. Readers were trained, "
            "and their confidence fitted, without the family of sets that they read.",
            table(header, rows),
            "## Right answers among the surest, %",
            table(("set", *(f"surest {coverage} %" for coverage in COVERAGES)), curve),
            "",
        ]
    )


def main() -> None:
    parser = arguments(__doc__, sets=list(FAMILIES))
    parser.add_argument("--method", default="multihop")
    parser.add_argument("--readers", type=Path, required=True)
    parser.add_argument("--questions", type=int, help="so many of each set")
    options = parse(parser)
    sets = {}
    for name in options.sets:
        reader = reader_of(options, name)
        rows = Rows(options.work / "answers" / f"{options.method}-{name}.jsonl", "id")
        [method] = held_out([options.method], name)
        with Index.open(multihop_index(options, LABELS[name])) as index:
            questions = multihop_questions(options, LABELS[name], options.questions)
            for question in questions:
                if (question.id,) not in rows:
                    rows.add(ask(index, question, reader, method))
        sets[name] = summarise([rows[question.id,] for question in questions])
        print(table(("", name), sets[name].items()), flush=True)
    results = {"method": options.method, "sets": sets}
    write_results(options.out / "reader.json", results, page(results))


if __name__ == "__main__":
    main()
