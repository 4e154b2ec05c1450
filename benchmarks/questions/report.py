"""Ask everyday questions, and report the verdicts as tables and results."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from harness import Record, table

from graphwright import Index
from graphwright.errors import GraphwrightError
from graphwright.models.settings import LLMSettings
from graphwright.operators.state import Answer
from questions.score import KINDS, VERDICTS, Question, verdict

HALVES = ("open", "closed")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that choose the method, the language model and the half of the questions."""
    parser.add_argument("--method", help="method that answers; the index's default method if it is left out")
    parser.add_argument("--llm", help="language model that answers; without it answers are offline")
    parser.add_argument("--base-url", help="address of the language model's server")
    parser.add_argument("--half", choices=[*HALVES, "both"], default="open", help="nobody tunes on the closed half")
    parser.add_argument("--show", action="store_true", help="print each question with its answer and verdict")


def method_options(options: Namespace) -> dict[str, Any]:
    """Return the arguments of `Index.ask` that the command line asks for."""
    chosen: dict[str, Any] = {} if options.method is None else {"method": options.method}
    if options.llm:
        chosen["llm"] = LLMSettings(options.llm, base_url=options.base_url).llm()
    return chosen


def of_half(questions: Iterable[Question], half: str) -> list[Question]:
    """Return the questions of one half, or of both."""
    return [question for question in questions if half in (question.half, "both")]


def asked(index: Index, question: Question, chosen: Mapping[str, Any], text_of: Callable[[str], str]) -> Record:
    """Ask a question, and return its row; a question whose answer fails counts as not answered."""
    try:
        answer, error = index.ask(question.question, **chosen).answer, ""
    except GraphwrightError as failure:
        answer, error = None, f"{type(failure).__name__}: {failure}"
    answer = answer or Answer("", found=False)
    mark = "missed" if error else verdict(question, answer, text_of)
    names = ("id", "source", "half", "kind", "variant")
    row = {name: getattr(question, name) for name in names} | {"verdict": mark, "short": list(answer.short)}
    return row | {"found": answer.found, "text": answer.text} | ({"error": error} if error else {})


def ask_all(index: Index, questions: Sequence[Question], options: Namespace) -> list[Record]:
    """Ask every question, and return its rows; with `options.show` each is printed."""
    chosen, text_of, rows = method_options(options), cache(index.text), []
    for question in questions:
        rows.append(asked(index, question, chosen, text_of))
        if options.show:
            print(shown(question, rows[-1]), flush=True)
    return rows


def shown(question: Question, row: Record) -> str:
    """Return a question with its answer, verdict and what a good answer says, as lines of text."""
    answer = row["text"].replace("\n", " ") if row["found"] else f"(not found) {row['text']}"
    lines = [f"{row['verdict']:8}{question.id}  {question.question}", f"        answer: {answer}"]
    lines += [f"        short:  {'; '.join(row['short'])}"] * bool(row["short"])
    lines += [f"        error:  {row['error']}"] if "error" in row else []
    return "\n".join([*lines, f"        good:   {question.good}", ""])


def groups(rows: Sequence[Record]) -> list[tuple[str, list[Record]]]:
    """Return the rows in groups: all, answerable, each half, kind, variant and source."""
    answerable = [row for row in rows if row["kind"] != "unanswerable"]
    named = [("all", list(rows)), ("answerable", answerable)]
    fields = (("half", HALVES), ("kind", KINDS), ("variant", _present(rows, "variant")))
    for field, values in (*fields, ("source", _present(rows, "source"))):
        named += [(f"{field} {value}", [row for row in rows if row[field] == value]) for value in values]
    return [(name, group) for name, group in named if group]


def _present(rows: Iterable[Record], field: str) -> list[str]:
    return sorted({row[field] for row in rows} - {""})


def summary(rows: Sequence[Record]) -> Record:
    """Return the number of questions and of each verdict, by group."""
    counted = {name: (len(group), Counter(row["verdict"] for row in group)) for name, group in groups(rows)}
    return {name: {"questions": n} | {mark: marks[mark] for mark in VERDICTS} for name, (n, marks) in counted.items()}


def page(counts: Record) -> str:
    """Return the table of verdicts in percent, by group, and the share of unanswerable questions recognised."""
    header = ("", "questions", *(f"{mark} %" for mark in VERDICTS))
    lines = [
        (name, group["questions"], *(f"{100 * group[mark] / group['questions']:.0f}" for mark in VERDICTS))
        for name, group in counts.items()
    ]
    unanswerable = counts.get("kind unanswerable")
    recognised = f"{100 * unanswerable['good'] / unanswerable['questions']:.0f} %" if unanswerable else "none asked"
    return f"{table(header, lines)}\nUnanswerable questions recognised: {recognised}.\n"


def results(rows: Sequence[Record], method: str, options: Namespace) -> Record:
    """Return the results to store: what answered, the counts, and the verdict of each question, without texts."""
    answered_by = {"method": method, "llm": options.llm, "half": options.half}
    verdicts = [{name: row[name] for name in ("id", "verdict", "found", "short")} for row in rows]
    return {**answered_by, "counts": summary(rows), "verdicts": verdicts}
