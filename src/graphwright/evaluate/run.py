"""Running an experiment: every method asked every question, each result written as it is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphwright.data.questions import QuestionRecord
from graphwright.errors import ModelError, NeedsError, OptionError
from graphwright.evaluate.asking import Asker
from graphwright.evaluate.corpus import checked, made, sample
from graphwright.evaluate.entries import Entry
from graphwright.evaluate.experiment import Experiment, Subject
from graphwright.evaluate.judge import Judge, judge_run, verdicts
from graphwright.evaluate.manifest import described, resumed, write_json
from graphwright.evaluate.plan import write_plan
from graphwright.evaluate.report import write_report
from graphwright.evaluate.results import Results, Row, lasting
from graphwright.evaluate.summary import summarised
from graphwright.files import clean
from graphwright.index.build import Progress
from graphwright.index.locks import writer_lock
from graphwright.index.snapshot import Snapshot
from graphwright.index_folder import Index
from graphwright.methods.registry import retrieval_part
from graphwright.models.fake import ScriptedLLM
from graphwright.models.minilm import MiniLM
from graphwright.models.protocols import LLM, NamedEncoder
from graphwright.operators.operator import Operator

__all__ = ["run"]

_FAILURES = 3


def run(
    experiment: Experiment,
    out: str | Path,
    *,
    index: str | Path | None = None,
    encoder: NamedEncoder | None = None,
    llm: LLM | None = None,
    judge: LLM | Judge | None = None,
    together: bool = True,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run an experiment in a folder and return its summary (see `summarised`).

    The folder gets `manifest.json`, `experiment.toml`, `index/` (unless there is one that holds the same corpus or
    graph: `index`, which takes the place of the experiment's), `results.jsonl`, `summary.json`, and the report (see
    `write_report`). Interrupted at any moment, the same call goes on where it stopped; on a finished run it only makes
    the summary and the report again.

    Questions are asked one after the other, each by all methods in turn, a different one first each time. Steps that
    methods have in common are done once for a question, and each method bears what they took; with `together` False
    every method is on its own, over an index opened anew. A question beforehand that does not count has kernels
    compiled and files opened. `llm`: for all methods that take one. `judge`: has the answers judged (see `judge_run`),
    each against those that are accepted, and against the baseline's.

    Raises OptionError or DataError before any work if names or data cannot be used, or if the folder holds
    another run or anything else.
    """
    out, encoder = Path(out), encoder or MiniLM()
    experiment = experiment if index is None else replace(experiment, index=Path(index))
    index = experiment.index
    subject = experiment.read()
    if judge is not None and not subject.answered:
        raise OptionError("answers are to be judged, and methods only retrieve; have them answer (answered=True).")
    if index is None and subject.over == "index":
        raise OptionError(f"{experiment.data} has questions and nothing to search; name an index that they are about.")
    manifest = described(experiment, subject, encoder.id, llm)
    resumed(out, manifest)
    if index is not None:
        checked(Path(index), experiment, subject, encoder)
        with Index.open(index, encoder=encoder) as opened:
            _pipelines(experiment, subject, opened.snapshot, llm)
    elif not (out / "index").exists():
        with sample(experiment, subject, encoder) as few:
            _rehearsed(experiment, subject, few, llm)
    out.mkdir(parents=True, exist_ok=True)
    with writer_lock(out):
        clean(out)
        clean(out / "runs")
        results = Results(
            out / "results.jsonl", [e.name for e in experiment.entries()], [q.id for q in subject.questions]
        )
        if (before := resumed(out, manifest)) is None:
            write_json(out / "manifest.json", manifest)
        else:
            again = {name: manifest[name] for name in ("started", "commit")}
            more = [again] if _todo(subject.questions, experiment.entries(), results) else []
            manifest |= {name: before[name] for name in ("started", "commit", "index")}
            manifest["continued"] = [*before.get("continued", []), *more]
        folder = out / "index" if index is None else Path(index)
        if index is None:
            manifest["index"] = made(folder, experiment, subject, encoder, progress) | manifest["index"]
        with Index.open(folder, encoder=encoder) as opened:
            pipelines = _pipelines(experiment, subject, opened.snapshot, llm)
            graph = opened.graph
            manifest["data"] |= {"nodes": len(graph), "edges": len(graph.edges), "graph": graph.checksum}
        manifest["methods"] = {name: _shown(operator, llm) for name, operator in pipelines.items()}
        resumed(out, manifest)
        write_json(out / "manifest.json", manifest)
        write_plan(out / "experiment.toml", experiment)
        for group in [experiment.entries()] if together else [[entry] for entry in experiment.entries()]:
            _ask(experiment, subject, group, folder, encoder, llm, results, progress)
        summary = summarised(manifest, experiment.entries(), subject, results)
        rows: Iterable[Row] = results
        if judge is not None:
            against = experiment.against() if len(pipelines) > 1 else None
            summary["judge"] = judge_run(results, subject.questions, judge, out, against=against, progress=progress)
            said = verdicts(results, subject.questions, judge, out)
            rows = (row | {"judged": said.get((row["method"], row["question"]))} for row in results)
        write_json(out / "summary.json", summary)
        asked = {q.id: {"text": q.text, "answers": q.answers, "gold": q.gold} for q in subject.questions}
        write_report(out, summary, rows, asked)
    return summary


def _shown(operator: Operator, llm: LLM | None) -> str:
    """Return the expression of a method; of a language model what changes its replies, not its budget or cache."""
    shown = repr(operator)
    return lasting(shown if llm is None else shown.replace(repr(llm), f"LLM({llm.id!r})"))


def _pipelines(
    experiment: Experiment, subject: Subject, snapshot: Snapshot, llm: LLM | None, of: Sequence[Entry] | None = None
) -> dict[str, Operator]:
    """Return what each method is over the index, having checked that each can be asked and measured."""
    found = {}
    ranked = any(measure.kind == "retrieval" for measure in subject.measures)
    for entry in experiment.entries() if of is None else of:
        operator = entry.built(snapshot, llm)
        if not subject.answered:
            operator = retrieval_part(operator)
        if operator.needs and not (subject.over == "graph" and operator.needs == ("anchors",)):
            needs = ", ".join(operator.needs)
            raise NeedsError(f"method {entry.name!r} needs {needs} besides a question: {operator!r}")
        gives = operator.after(frozenset())
        if ranked and "passages" not in gives and not subject.answered:
            raise OptionError(f"method {entry.name!r} ranks no passages; end it with Sources(): {operator!r}")
        if "answer" not in gives and all(measure.kind == "answer" for measure in subject.measures):
            raise OptionError(f"method {entry.name!r} gives no answer, which is all that is measured: {operator!r}")
        found[entry.name] = operator
    return found


def _rehearsed(experiment: Experiment, subject: Subject, few: Snapshot, llm: LLM | None) -> None:
    """Build the methods over a tiny index, and ask each a question: what would fail at all does so before any work.

    Language models that are given are not asked, and so functions, which may have their own, are not either.
    """
    pipelines = _pipelines(experiment, subject, few, None if llm is None else ScriptedLLM((), llm.id))
    written = [entry.name for entry in experiment.entries() if isinstance(entry.method, str)]
    Asker(few, pipelines, (), linked=experiment.linked).warm(subject.questions[0], written)


def _ask(
    experiment: Experiment,
    subject: Subject,
    group: Sequence[Entry],
    folder: Path,
    encoder: NamedEncoder,
    llm: LLM | None,
    results: Results,
    progress: Progress | None,
) -> None:
    todo = _todo(subject.questions, group, results)
    count = sum(map(len, todo.values()))
    if not count:
        return
    with Index.open(folder, encoder=encoder) as index, results.writing() as add:
        pipelines = _pipelines(experiment, subject, index.snapshot, llm, group)
        linked = experiment.linked
        asker = Asker(index.snapshot, pipelines, subject.measures, linked=linked, together=len(group) > 1)
        first = next(question for question in subject.questions if question.id in todo)
        asker.warm(first, dict.fromkeys(name for names in todo.values() for name in names))
        done, add = 0, _ending(add, results)
        for at, question in enumerate(subject.questions):
            names = todo.get(question.id, ())
            first_at = at % max(len(names), 1)  # no method is always the one that finds nothing prepared
            asker.ask(question, (*names[first_at:], *names[:first_at]), add)
            done += len(names)
            if progress is not None and names:
                progress("ask" if len(group) > 1 else f"ask {group[0].name}", done, count)


def _ending(add: Callable[[Row], None], results: Results) -> Callable[[Row], None]:
    """Return what adds rows, and ends the run where a method fails from the beginning on.

    A method that was answered once goes on, whatever some questions do to it.
    """
    failures, working = Counter[str](), {row["method"] for row in results if "error" not in row}

    def adding(row: Row) -> None:
        add(row)
        error, name = row.get("error", ""), row["method"]
        if not error:
            working.add(name)
        failures[name] += bool(error)
        if failures[name] == _FAILURES and name not in working:
            raise ModelError(
                f"{name} failed on its first {_FAILURES} questions, the last time with {error.rstrip('.')}. "
                f"What was found so far is kept: once that is mended, the same command goes on, and asks these again."
            )

    return adding


def _todo(questions: Sequence[QuestionRecord], group: Sequence[Entry], results: Results) -> Mapping[str, Sequence[str]]:
    """Return the methods that are still to be asked each question, by its id."""
    todo = {q.id: [entry.name for entry in group if (entry.name, q.id) not in results] for q in questions}
    return {name: methods for name, methods in todo.items() if methods}
