"""Run an experiment: ask every method every question, write each result at once, and resume after interruptions."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import graphwright
from graphwright.data.records.read import checked
from graphwright.errors import DataError, ModelError, NeedsError, OptionError, cut
from graphwright.evaluate.asking import Asker, Results, Row, stable_repr
from graphwright.evaluate.experiment import Experiment, Subject, write_plan
from graphwright.evaluate.indexing import build_index, check_index, sample_index
from graphwright.evaluate.judge import Judge, judge_run
from graphwright.evaluate.report import write_report
from graphwright.evaluate.statistics import summarised
from graphwright.files import remove_drafts, whole_lines, write_text
from graphwright.index_folder.index import Index
from graphwright.models import LLM, MiniLM, NamedEncoder, ScriptedLLM
from graphwright.operators import Operator
from graphwright.search import Snapshot
from graphwright.store import Progress, writer_lock

_MAX_FAILURES = 3  # of a method that never worked, before the run ends
_VOLATILE = ("machine", "started", "continued", "baseline", "index", "commit")  # may differ when a run is resumed
_OF_INDEX = ("nodes", "edges")  # unknown before there is an index
_LIBRARIES = ("numpy", "onnxruntime")


def run(
    experiment: Experiment,
    out: str | Path,
    *,
    index: str | Path | None = None,
    encoder: NamedEncoder | None = None,
    llm: LLM | None = None,
    judge: LLM | Judge | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run an experiment in a folder and return its summary (see `summarised`).

    The folder gets `manifest.json`, `experiment.toml`, `index/` (unless an existing one is named), `results.jsonl`,
    `summary.json`, and the report (see `write_report`). After an interruption the same call resumes the run.

    Each question is asked of all methods in rotating order, after one unmeasured question. Steps that methods have in
    common are run once for a question, and charged to each method in full. `llm`: for all methods with this option.
    `judge`: judges the answers (see `judge_run`), each against the accepted ones and the baseline's.

    Raises OptionError or DataError before any work for unusable names or data, or a folder of anything else.
    """
    experiment = experiment if index is None else replace(experiment, index=Path(index))
    subject = experiment.read()
    if judge is not None and not subject.answered:
        raise OptionError("A judge needs answers, but methods only retrieve here; set answered=True.")
    if experiment.index is None and subject.over == "index":
        raise OptionError(f"{experiment.data} has questions and nothing to search; name the index that they are about.")
    job = _Job(experiment, subject, Path(out), encoder or MiniLM(), llm, progress)
    existing_manifest(job.out, job.manifest)
    job.rehearse()
    job.out.mkdir(parents=True, exist_ok=True)
    with writer_lock(job.out):
        remove_drafts(job.out)
        remove_drafts(job.out / "runs")
        results = Results(job.out / "results.jsonl", [e.name for e in job.entries], [q.id for q in subject.questions])
        job.prepare(results)
        job.ask(results)
        summary = summarised(job.manifest, job.entries, subject, results)
        rows = list(results)
        if judge is not None:
            against = experiment.against() if len(job.entries) > 1 else None
            summary["judge"] = judge_run(rows, subject.questions, judge, out, against=against, progress=progress)
        _write_json(job.out / "summary.json", summary)
        write_report(out, summary, rows)
    return summary


@dataclass
class _Job:
    """The settings of a run, for its steps."""

    experiment: Experiment
    subject: Subject
    out: Path
    encoder: NamedEncoder
    llm: LLM | None
    progress: Progress | None

    def __post_init__(self) -> None:
        self.entries = self.experiment.entries()
        self.manifest = new_manifest(self.experiment, self.subject, self.encoder.id, self.llm)
        self.folder = self.out / "index" if self.experiment.index is None else Path(self.experiment.index)

    def rehearse(self) -> None:
        """Build the methods over the given index or a tiny one, where they also answer, to find errors early."""
        if self.experiment.index is not None:
            check_index(self.folder, self.experiment, self.subject, self.encoder)
            with Index.open(self.folder, encoder=self.encoder) as opened:
                self.pipelines(opened.snapshot, self.llm)
        elif not self.folder.exists():
            with sample_index(self.experiment, self.subject, self.encoder) as snapshot:
                llm = None if self.llm is None else ScriptedLLM((), self.llm.id)
                pipelines = self.pipelines(snapshot, llm)
                names = [entry.name for entry in self.entries if isinstance(entry.method, str)]
                asker = Asker(snapshot, pipelines, (), linked=self.experiment.linked)
                asker.warm(self.subject.questions[0], names)

    def prepare(self, results: Results) -> None:
        """Build the index, and write the manifest and the plan."""
        manifest, path = self.manifest, self.out / "manifest.json"
        before = existing_manifest(self.out, manifest)
        if before is None:
            _write_json(path, manifest)
        else:
            resumed = {name: manifest[name] for name in ("started", "commit")}
            manifest |= {name: before[name] for name in ("started", "commit", "index")}
            manifest["continued"] = [*(before.get("continued") or []), *([resumed] if self.todo(results) else [])]
        if self.experiment.index is None:
            costs = build_index(self.folder, self.experiment, self.subject, self.encoder, self.progress)
            manifest["index"] = costs | manifest["index"]
        with Index.open(self.folder, encoder=self.encoder) as opened:
            pipelines = self.pipelines(opened.snapshot, self.llm)
            graph = opened.graph
            manifest["data"] |= {"nodes": len(graph), "edges": len(graph.edges), "graph": graph.checksum}
            manifest["data"]["indexes"] = opened.snapshot.fingerprints
        manifest["methods"] = {name: _expression(operator, self.llm) for name, operator in pipelines.items()}
        existing_manifest(self.out, manifest)
        _write_json(path, manifest)
        write_plan(self.out / "experiment.toml", self.experiment)

    def pipelines(self, snapshot: Snapshot, llm: LLM | None) -> dict[str, Operator]:
        """Return the pipeline of each method. Raises NeedsError or OptionError where it cannot be measured."""
        pipelines = {}
        subject = self.subject
        ranked = any(measure.kind == "retrieval" for measure in subject.measures)
        for entry in self.entries:
            method = entry.built(snapshot, llm)
            operator = method.pipeline if subject.answered else method.retrieval
            if operator.needs and not (subject.over == "graph" and operator.needs == ("anchors",)):
                raise NeedsError(
                    f"Method {entry.name!r} needs {', '.join(operator.needs)} besides a question: {operator!r}"
                )
            gives = operator.after(frozenset())
            if ranked and "passages" not in gives and not subject.answered:
                raise OptionError(f"Method {entry.name!r} ranks no passages; end it with ToPassages(): {operator!r}")
            if subject.answered and "answer" not in gives:
                raise OptionError(
                    f"Method {entry.name!r} gives no answer, but answers are measured; end it with evidence, with "
                    f"ToPassages() or with a step that answers: {operator!r}"
                )
            pipelines[entry.name] = operator
        return pipelines

    def todo(self, results: Results) -> Mapping[str, Sequence[str]]:
        """Return the methods without a result, by question id."""
        names = [entry.name for entry in self.entries]
        todo = {q.id: [name for name in names if (name, q.id) not in results] for q in self.subject.questions}
        return {id: methods for id, methods in todo.items() if methods}

    def ask(self, results: Results) -> None:
        """Ask each question of the methods without a result for it."""
        todo = self.todo(results)
        if not todo:
            return
        count, done = sum(map(len, todo.values())), 0
        with Index.open(self.folder, encoder=self.encoder) as index, results.writing() as add:
            pipelines, subject = self.pipelines(index.snapshot, self.llm), self.subject
            asker = Asker(index.snapshot, pipelines, subject.measures, linked=self.experiment.linked)
            first_question = next(question for question in subject.questions if question.id in todo)
            asker.warm(first_question, dict.fromkeys(name for names in todo.values() for name in names))
            add_guarded = _guarded(add, {row["method"] for row in results if "error" not in row})
            for at, question in enumerate(subject.questions):
                names = todo.get(question.id, ())
                first = at % max(len(names), 1)  # each method comes first, with empty caches, equally often
                asker.ask(question, (*names[first:], *names[:first]), add_guarded)
                done += len(names)
                if self.progress is not None and names:
                    self.progress("ask", done, count)


def _guarded(write: Callable[[Row], None], working: set[str]) -> Callable[[Row], None]:
    """Return the writer of rows, which stops the run if a method fails on all of its first questions."""
    failures = Counter[str]()

    def add(row: Row) -> None:
        write(row)
        error, name = row.get("error", ""), row["method"]
        if not error:
            working.add(name)
        failures[name] += bool(error)
        if failures[name] == _MAX_FAILURES and name not in working:
            raise ModelError(
                f"{name} failed on its first {_MAX_FAILURES} questions, the last time with {error.rstrip('.')}. "
                f"All results are kept. Fix the cause, then repeat the command to resume with these questions."
            )

    return add


def _expression(operator: Operator, llm: LLM | None) -> str:
    """Return the expression of a method, with the id of the language model instead of its budget and cache."""
    expression = repr(operator)
    return stable_repr(expression if llm is None else expression.replace(repr(llm), f"LLM({llm.id!r})"))


def new_manifest(experiment: Experiment, subject: Subject, encoder: str, llm: LLM | None = None) -> dict[str, Any]:
    """Return the manifest of a run; expressions and sizes are unknown before there is an index."""
    return {
        "graphwright": graphwright.__version__,
        "methods": dict.fromkeys((entry.name for entry in experiment.entries()), ""),
        "settings": {
            **{name: getattr(experiment, name) for name in ("extraction", "titles", "limit", "seed", "linked")},
            "embed": None if experiment.embed is None else list(experiment.embed),
            "questions": str(experiment.questions),
            "answered": subject.answered,
            "metrics": [measure.name for measure in subject.measures],
        },
        "data": {
            "name": subject.name,
            "documents": len(subject.documents),
            "triples": len(subject.triples),
            "over": subject.over,
            "graph": "",
            "indexes": "",
            "questions": len(subject.questions),
            "unjudged questions left out": subject.unjudged,
            "rows that could not be read": len(subject.skipped),
            "remarks": list(subject.remarks),
            "sha256": dict(subject.checksums),
        },
        "encoder": encoder,
        "llm": None if llm is None else llm.id,
        "extractor": subject.extractor.id,
        "baseline": experiment.against(),
        "index": {},
        "machine": _machine(),
        "commit": _commit(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "continued": [],
    }


def _machine() -> dict[str, Any]:
    facts = {"processors": os.cpu_count(), "platform": platform.platform(), "python": platform.python_version()}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):  # installed under another name, such as onnxruntime-gpu
            facts[name] = version(name)
    return facts


@cache
def _commit() -> str:
    """Return the commit of the package, with a + where files differ from it; "" outside of a repository."""
    folder = str(Path(graphwright.__file__).resolve().parent)
    command = ["git", "-C", folder, "describe", "--always", "--abbrev=40", "--dirty=+", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


_KEPT: Mapping[str, Any] = {  # the parts of the manifest that a resumed run keeps, with their types
    "started": str,
    "commit": str | None,
    "index": dict[str, Any],
    "continued": list[dict[str, Any]] | None,
}


def existing_manifest(out: Path, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the manifest of the run in a folder, None where there is none.

    Methods may be added, and replaced as long as there are no results. Raises OptionError for a folder with another
    run than `manifest` describes, or with anything else, and DataError for a manifest that cannot be read.
    """
    path = out / "manifest.json"
    if not path.exists():
        early = ("writer.lock", ".manifest.json.")  # what a run writes before the manifest
        if out.exists() and not (out.is_dir() and all(file.name.startswith(early) for file in out.iterdir())):
            raise OptionError(f"{out} is not empty and holds no run; give a new or empty folder.")
        return None
    try:
        existing: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        identity = _identity(existing)
        if not whole_lines(out / "results.jsonl"):
            identity["methods"] = {}
        difference = _difference(identity, _identity(manifest))
    except (OSError, ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{path} cannot be read ({error}); give a new folder, or remove this one.") from error
    for name, kind in _KEPT.items():
        checked(kind, existing.get(name), str(path), name)
    if difference:
        name, there, here = difference
        raise OptionError(
            f"{out} holds another run: there {name or 'the manifest'} is {cut(there, 120)}, and here "
            f"{cut(here, 120)}. Give another folder, or repeat that run as it was."
        )
    return existing


def _identity(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a manifest that stay equal when a run is resumed."""
    identity = {name: value for name, value in manifest.items() if name not in _VOLATILE}
    return identity | {"data": {name: value for name, value in manifest["data"].items() if name not in _OF_INDEX}}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _difference(there: Any, here: Any, name: str = "") -> tuple[str, str, str] | None:
    """Return the first difference of two manifests with both values, None where they agree; methods may be added."""
    if not isinstance(there, Mapping) or not isinstance(here, Mapping):
        # An expression that is not known yet equals any other.
        return None if there == here or "" in (there, here) else (name, _text(there), _text(here))
    if there.keys() - here.keys() or (there.keys() != here.keys() and name != "methods"):
        return name, ", ".join(there), ", ".join(here)
    parts = (_difference(there[part], here[part], f"{name} {part}".strip()) for part in there)
    return next((difference for difference in parts if difference is not None), None)


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")
