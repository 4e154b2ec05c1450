"""Running an experiment: every method asked every question, each result written as it is known."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from graphwright.data.questions import QuestionRecord
from graphwright.errors import NeedsError, OptionError
from graphwright.evaluate.corpus import checked, made
from graphwright.evaluate.experiment import Builder, Experiment
from graphwright.evaluate.manifest import described, resumed, write_json
from graphwright.evaluate.results import Results, Row, row
from graphwright.evaluate.summary import markdown, summarised
from graphwright.folder import Index
from graphwright.index.build import Progress
from graphwright.index.lock import writer_lock
from graphwright.methods.registry import retrieval_part
from graphwright.models.base import NamedEncoder, metered
from graphwright.models.minilm import MiniLM
from graphwright.retrieve.state import Question

__all__ = ["run"]


def run(
    experiment: Experiment,
    out: str | Path,
    *,
    index: str | Path | None = None,
    encoder: NamedEncoder | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run an experiment in a folder and return its summary (see `summarised`).

    The folder gets `manifest.json`, `index/` (unless `index` names one that holds the same corpus),
    `results.jsonl`, `summary.json` and `summary.md`. Interrupted at any moment, the same call goes on
    where it stopped; on a finished run it only makes the summary again. Each method is given an index
    opened anew, so that it pays for the encoding of its own questions, and one question beforehand that
    does not count.

    Raises OptionError or DataError before any work if names or data cannot be used, or if the folder holds
    another run or anything else.
    """
    out, encoder = Path(out), encoder or MiniLM()
    subject = experiment.read()
    manifest = described(experiment, subject, encoder.id)
    resumed(out, manifest)
    if index is not None:
        checked(Path(index), experiment, subject, encoder)
    out.mkdir(parents=True, exist_ok=True)
    with writer_lock(out):
        if (before := resumed(out, manifest)) is not None:
            manifest |= {"started": before["started"], "index": before["index"]}
        else:
            write_json(out / "manifest.json", manifest)
        folder = out / "index" if index is None else Path(index)
        if index is None:
            manifest["index"] = made(folder, experiment, subject, encoder, progress) | manifest["index"]
        manifest["methods"] = _expressions(folder, experiment, encoder)
        resumed(out, manifest)
        write_json(out / "manifest.json", manifest)
        results = Results(out / "results.jsonl", list(manifest["methods"]), [q.id for q in subject.questions])
        for name, method in experiment.named().items():
            todo = [question for question in subject.questions if (name, question.id) not in results]
            if todo:
                with closing(Index.open(folder, encoder=encoder)) as opened:
                    _ask(name, method, todo, opened, results, progress)
        summary = summarised(manifest, results)
        write_json(out / "summary.json", summary)
        (out / "summary.md").write_text(markdown(summary), encoding="utf-8")
    return summary


def _expressions(folder: Path, experiment: Experiment, encoder: NamedEncoder) -> dict[str, str]:
    """Return what each method is over the index, having checked that each can be asked and measured."""
    expressions = {}
    with closing(Index.open(folder, encoder=encoder)) as index:
        for name, method in experiment.named().items():
            operator = retrieval_part(index.pipeline(method))
            if operator.needs:
                needs = ", ".join(operator.needs)
                raise NeedsError(f"method {name!r} needs {needs} besides a question: {operator!r}")
            if "chunks" not in operator.after(frozenset()):
                raise OptionError(f"method {name!r} ranks no passages; end it with Sources(): {operator!r}")
            expressions[name] = repr(operator)
    return expressions


def _ask(
    name: str,
    method: str | Builder,
    questions: Sequence[QuestionRecord],
    index: Index,
    results: Results,
    progress: Progress | None,
) -> None:
    # Compiles kernels and opens files. Not the question itself: its vector would be remembered.
    index.retrieve(f"{questions[0].text} (not counted)", method)
    with results.writing() as add:
        for done, question in enumerate(questions, 1):
            add(_asked(name, method, question, index))
            if progress is not None:
                progress(f"ask {name}", done, len(questions))


def _asked(name: str, method: str | Builder, question: QuestionRecord, index: Index) -> Row:
    asked = Question(question.text, question.id)
    begun = time.perf_counter()
    with metered() as usage:
        state = index.retrieve(asked, method)
    return row(name, question, state, time.perf_counter() - begun, usage)
