"""Attempts at jobs: the change to the index, its progress and cancellation; waiting jobs share one new snapshot."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar
from weakref import WeakSet

from graphwright import Index
from graphwright.data import GraphDatabase, ReadOptions, Skipped
from graphwright.errors import DataError, GraphwrightError, ModelError, counted
from graphwright.evaluate import JudgedQuestion, fit_gate
from graphwright.extract import Excerpt, Extractor, GenerativeExtractor, Schema
from graphwright.models import LLM, BudgetedLLM, CachedLLM, Cancellation, Completion, Usage
from graphwright.models.protocols import Cancel, OnText
from graphwright.models.protocols import Schema as ReplySchema
from graphwright.serve.catalog import Catalog
from graphwright.serve.feedback import Feedback, question_set
from graphwright.serve.jobs.table import Job, Progress
from graphwright.serve.jobs.uploads import Upload, UploadFolder
from graphwright.serve.logs import log
from graphwright.serve.originals import Originals
from graphwright.serve.settings import AnswerModels, ServeSettings
from graphwright.store import BeingWritten, Changes, Edit, IndexLayout

_T = TypeVar("_T")
_UNITS = {
    "read documents": "documents",
    "read files (kB)": "kB",
    "fetch files": "files",
    "extract": "chunks",
    "refine": "values",
    "rank": "questions",
    "split documents": "documents",
}
_MAX_FAILED = 100  # failed parts that are listed
_POLL_SECONDS = 0.5  # between two checks whether another process still writes


class JobStoppedError(GraphwrightError):
    """A job was cancelled, or its server shuts down."""


@dataclass(frozen=True)
class End:
    """Result of an attempt at a job: the job's state, a message, and the changes."""

    state: str
    message: str
    changes: Mapping[str, Any] | None = None


class JobRun:
    """One attempt at a job. Thread-safe: one thread works, others read the progress and stop it."""

    def __init__(self, job: Job, on_change: Callable[[], None] = lambda: None) -> None:
        """Take the job; `on_change` is called after each change of the progress."""
        self.job = job
        self.usage = Usage()
        self.progress: Progress | None = None
        self.message = ""
        self.stopped = ""  # "cancelled", or "shutdown"
        self.end: End | None = None
        self._cancellations = WeakSet[Cancellation]()  # of calls of language models that may wait for a reply
        self._lock = threading.Lock()
        self._flag = threading.Event()
        self._on_change = on_change

    def stop(self, reason: str) -> None:
        """End the attempt at its next check; later reasons are ignored."""
        self.stopped = self.stopped or reason
        self._flag.set()
        with self._lock:
            waiting = list(self._cancellations)
        for cancel in waiting:
            cancel.set()

    def call(self, cancel: Cancellation) -> None:
        """Begin a call of a language model, which `stop` ends. Raises JobStoppedError if the attempt is to end."""
        with self._lock:
            self._cancellations.add(cancel)
        self.check()

    def check(self) -> None:
        """Raise JobStoppedError if the attempt is to end."""
        if self._flag.is_set():
            raise JobStoppedError(f"The job was stopped ({self.stopped}).")

    def report(self, work: str, done: int, total: int) -> None:
        """Set the progress; a `progress` callback for Index. Raises JobStoppedError if the attempt is to end."""
        self.check()
        self.show(work, done, total)

    def show(self, work: str, done: int, total: int) -> None:
        """Set the progress."""
        unit = _UNITS.get(work, work.removeprefix("encode "))
        self.progress, self.message = Progress(done, total, unit) if total else None, work
        self._on_change()

    def wait(self, message: str) -> None:
        """Pause briefly and show the reason as message. Raises JobStoppedError if the attempt is to end."""
        if self.message != message:
            self.message = message
            self._on_change()
        self._flag.wait(_POLL_SECONDS)
        self.check()

    def current(self, job: Job) -> Job:
        """Return a job of the table with the progress of this attempt."""
        return replace(job, progress=self.progress, message=self.message)


@dataclass(frozen=True)
class StoppableLLM:
    """A language model whose calls end when a job is stopped, even while they wait for a reply."""

    llm: LLM
    run: JobRun

    @property
    def id(self) -> str:
        """Name of the model."""
        return self.llm.id

    def complete(
        self, system: str, user: str, *, schema: ReplySchema = None, on_text: OnText = None, cancel: Cancel = None
    ) -> Completion:
        """Answer one prompt as the model does. Raises JobStoppedError, which extractors do not catch."""
        cancel = cancel or Cancellation()
        self.run.call(cancel)
        try:
            return self.llm.complete(system, user, schema=schema, on_text=on_text, cancel=cancel)
        except ModelError:
            self.run.check()
            raise


@contextmanager
def batch(index: Index, runs: Sequence[JobRun]) -> Iterator[None]:
    """Publish the changes of several jobs at the end of the block; first wait until no other process writes the index.

    `runs`: the attempts in the block; the list may grow. Raises JobStoppedError if the first is stopped while it waits,
    or all are stopped while the changes are published.
    """

    def report(work: str, done: int, total: int) -> None:
        if all(run.stopped for run in runs):
            runs[0].check()
        for run in runs:
            run.show(work, done, total)

    with ExitStack() as stack:
        _when_free(runs[0], index, lambda: stack.enter_context(index.batch(report)))
        yield


def _when_free(run: JobRun, index: Index, write: Callable[[], _T]) -> _T:
    """Write an index once no other process writes it, and return the result. Raises JobStoppedError."""
    while True:
        while index.is_being_written:
            run.wait("Another process writes this index; waiting for it.")
        try:
            return write()
        except BeingWritten:  # another process was faster
            pass


def sync_database(run: JobRun, index: Index) -> dict[str, Any]:
    """Make an imported graph match its database; return the changed nodes and relationships in the form of `facts`."""
    database = GraphDatabase(str(run.job.task["folder"]))
    rows = _when_free(run, index, lambda: index.sync_graph(database, run.report))
    counts = {"added": rows.added, "replaced": rows.changed, "removed": rows.removed, "unchanged": rows.unchanged}
    return facts(Changes(), []) | counts


def perform(run: JobRun, index: Index, upload: Upload | None) -> dict[str, Any] | str:
    """Perform a job; return the changes as JSON, or in words. Without an `upload` failed chunks are extracted again."""
    task, report, usage, skipped = run.job.task, run.report, run.usage, list[Skipped]()
    match run.job.kind:
        case "edit":
            index.edit(*map(Edit.of_dict, task["edits"]), strict=task["strict"], progress=report)
            made = counted(len(task["edits"]), "edit")
            return f"{made} made." if task["edits"] else "The index has all of these edits."
        case "undo":
            stored = {edit.id for edit in index.edits()}
            if run.job.attempts == 1 or stored.intersection(task["ids"]):  # else it was undone before an interruption
                index.undo(*task["ids"], progress=report)
            return "The edit is undone."
        case "sync":
            changes = index.sync(str(task["folder"]), report, usage=usage, options=ReadOptions(outside=False))
        case "add":
            documents = () if upload is None else upload.documents(skipped.append, run.check)
            changes = index.add(documents, report, usage=usage)
        case "reextract":
            schema = None if task["schema"] is None else Schema.of_toml(task["schema"])
            changes = index.reextract(progress=report, usage=usage, schema=schema)
        case _:
            changes = _removed(run, index, list(task["ids"]))
    return facts(changes, skipped)


def _removed(run: JobRun, index: Index, ids: list[str]) -> Changes:
    try:
        return index.remove(ids, run.report, usage=run.usage)
    except DataError:
        if run.job.attempts == 1:
            raise
        changes = index.add((), run.report, usage=run.usage)  # removed before the interruption, but not published
        changes.removed = ids
        return changes


def facts(changes: Changes, skipped: list[Skipped]) -> dict[str, Any]:
    """Return the changes of a job as JSON for clients: counts, the first failed parts, and the model's usage.

    >>> shown = facts(Changes(added=["a"], pending=[("a", 0, "no reply")]), [Skipped("b.bin", "binary, not text")])
    >>> shown["added"], shown["pending"], [part["document"] for part in shown["failed"]]
    (1, 1, ['b.bin', 'a'])
    """
    failed: list[Mapping[str, Any]] = [
        {"document": part.path, "chunk": None, "reason": part.reason} for part in [*skipped, *changes.skipped]
    ]
    failed += [
        {"document": document, "chunk": ordinal, "reason": reason} for document, ordinal, reason in changes.pending
    ]
    names = ("added", "replaced", "moved", "removed", "unchanged", "retained")
    usage = changes.usage
    return {
        **{name: len(getattr(changes, name)) for name in names},
        "failed": failed[:_MAX_FAILED],
        "skipped": len(skipped) + len(changes.skipped),
        "pending": len(changes.pending),
        "extracted": changes.extracted,
        "off_schema": changes.off_schema,
        "usage": {
            "llm_calls": usage.llm_calls,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cost": round(usage.cost, 6),
        },
    }


_MAX_BATCH = 100  # jobs that share a snapshot
_BATCH_SECONDS = 2.0  # in which jobs join a batch
_REBUILT = "The index was rebuilt before."
_STORED = " Documents that had been stored before can be searched."


def _stopped(run: JobRun) -> End:
    return End("cancelled", "Cancelled.") if run.stopped == "cancelled" else End("queued", "")


class Attempts:
    """Runner of the jobs of a server's indexes. `held`: closes what it opens."""

    def __init__(
        self, catalog: Catalog, settings: ServeSettings, models: AnswerModels, uploads: UploadFolder, held: ExitStack
    ) -> None:
        self._catalog, self._settings, self._models, self._uploads = catalog, settings, models, uploads
        self._held = held

    @cached_property
    def originals(self) -> Originals:
        """The files that documents were read from."""
        return self._held.enter_context(closing(Originals(self._settings)))

    @cached_property
    def feedback(self) -> Feedback:
        """What readers said of answers."""
        return self._held.enter_context(closing(Feedback(self._settings.data)))

    def perform(self, name: str, run: JobRun, claim: Callable[[], JobRun | None]) -> list[JobRun]:
        """Perform a job and those that wait behind it in one batch; return all, ended. `claim`: begins the next job."""
        runs = [run]
        rebuild, change = partial(self._perform_rebuild, name, run), partial(self._perform_batch, name, runs, claim)
        published = self._end(name, run, rebuild if run.job.kind == "rebuild" else change)
        if published.state != "done":
            note = self._publish(name) if published.state in ("failed", "cancelled") else ""
            for attempt in runs:
                if attempt.end is None or attempt.end.state == "done":
                    end = _stopped(attempt) if attempt.stopped else published
                    attempt.end = replace(end, message=end.message + note)
        self.originals.sweep(self._catalog[name].path)
        self.feedback.sweep(self._catalog[name])
        return runs

    def _perform_batch(self, name: str, runs: list[JobRun], claim: Callable[[], JobRun | None]) -> None:
        """Perform waiting jobs one after another, then publish their changes; append to `runs`."""
        extractor = None if runs[0].job.kind == "remove" else self._extractor(name, runs[0])
        with self._catalog.open_writer(name, extractor) as index:
            if not runs[0].job.reads_database:
                with batch(index, runs):
                    self._perform_documents(name, index, runs, claim)
            if (last := runs[-1]).end is None:  # it reads a database, and publishes the graph itself
                last.end = self._end(name, last, partial(sync_database, last, index))
        self._catalog.refresh(name)  # now, so that a client that waits for the job can search its documents

    def _perform_documents(
        self, name: str, index: Index, runs: list[JobRun], claim: Callable[[], JobRun | None]
    ) -> None:
        """Perform waiting jobs one after another, until one reads a database."""
        until = time.monotonic() + _BATCH_SECONDS
        while (run := runs[-1]).end is None and not run.job.reads_database:
            upload = self._uploads.open(run.job.id) if run.job.kind == "add" else None
            refit, change = partial(self._refit, name, run, index), partial(perform, run, index, upload)
            end = self._end(name, run, refit if run.job.kind == "refit" else change)
            self.originals.keep(index.path, () if upload is None else upload.sources)
            if end.state in ("failed", "cancelled") and len(runs) == 1 and not index.is_current:
                end = replace(end, message=end.message + _STORED)
            run.end = end
            if len(runs) < _MAX_BATCH and time.monotonic() < until and not self._reads_with_model(name):
                following = claim()
                runs += [] if following is None else [following]

    def _refit(self, name: str, run: JobRun, index: Index) -> str:
        """Fit the ranking of an index to the feedback on what is served of it, or undo this; return it in words."""
        if run.job.task["undo"]:
            index.set_gate(0)
            return "Passages are ranked as the package does."
        served = self._catalog[name]
        rows = list(question_set(self.feedback.entries(served)))

        def questions() -> Iterator[JudgedQuestion]:
            for done, row in enumerate(rows):
                run.report("rank", done, len(rows))
                yield JudgedQuestion.of_row(row)

        fit = fit_gate(served.snapshot, questions())
        index.set_gate(fit.gate)
        return f"{fit.words}."

    def _perform_rebuild(self, name: str, run: JobRun) -> None:
        """Rebuild an index, all or nothing; then let the language model read the chunks that wait for it, if any do."""
        task, index = run.job.task, self._catalog[name]
        settings: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in task["settings"].items()
        }
        encoder = task["encoder"] or self._catalog.encoder(name)
        changes = _when_free(run, index, lambda: Index.rebuild(index.path, encoder, run.report, **settings))
        self._catalog.refresh(name)
        end, extractor = End("done", "", facts(changes, [])), self._extractor(name, run)
        if changes.pending and extractor is not None:
            end = self._end(name, run, lambda: self._read_pending(name, run, extractor))
        message = f"{end.message} {_REBUILT}" if end.changes is None else _summary(run.job, end.changes)
        run.end = replace(end, message=message)

    def _read_pending(self, name: str, run: JobRun, extractor: Extractor) -> dict[str, Any]:
        with self._catalog.open_writer(name, extractor) as index, batch(index, [run]):
            changes = index.add((), run.report, usage=run.usage)
        self._catalog.refresh(name)
        return facts(changes, [])

    def _end(self, name: str, run: JobRun, act: Callable[[], Mapping[str, Any] | str | None]) -> End:
        """Call a function and return its result; an exception becomes a failed one."""
        try:
            changes = act()
        except JobStoppedError:
            return _stopped(run)
        except (GraphwrightError, OSError, sqlite3.Error) as error:
            log.warning("job %s (%s) of %s failed: %s", run.job.id, run.job.kind, name, type(error).__name__)
            return End("failed", self._catalog.without_paths(str(error)))
        except Exception:
            log.exception("job %s of %s failed", run.job.id, name)
            return End("failed", "The job failed. The server's log has the details.")
        if changes is None or isinstance(changes, str):
            return End("done", changes or "")
        return End("done", _summary(run.job, changes), changes)

    def _publish(self, name: str) -> str:
        """Publish documents that a failed or cancelled job has stored; return a note if there were any."""
        with suppress(GraphwrightError, OSError, sqlite3.Error), self._catalog.open_writer(name) as index:
            if not index.is_current:
                index.add(())
                self._catalog.refresh(name)
                return _STORED
        return ""

    def _reads_with_model(self, name: str) -> bool:
        """Return whether a language model extracts from the documents of an index."""
        reads = self._catalog.record(name, self._settings.extract).extraction == "llm"
        return reads and self._models.llm(name) is not None

    def outdated_chunks(self, name: str, schema: Schema | None) -> list[Excerpt]:
        """Return the chunks that a job "reextract" would read. `schema`: its new one."""
        with self._catalog.open_writer(name, self._extractor(name)) as index:
            return index.chunks_to_reextract(schema=schema)

    def _extractor(self, name: str, run: JobRun | None = None) -> Extractor | None:
        """Return the extractor with the index's language model, None for the one without a language model.

        `run`: the attempt that it works for, which ends and limits its calls; None where it makes none.
        """
        llm, chosen = self._models.llm(name), self._models.settings(name)
        if llm is None or chosen is None or not self._reads_with_model(name):
            return None
        if run is not None:
            task, limits = run.job.task, ("max_job_tokens", "max_job_cost")
            tokens, cost = (_least(task.get(limit), getattr(self._settings, limit)) for limit in limits)
            if tokens is not None or cost is not None:
                llm = BudgetedLLM(llm, tokens, cost)
            llm = StoppableLLM(CachedLLM(llm, IndexLayout(self._catalog[name].path).replies), run)
        return GenerativeExtractor(
            llm,
            extraction=chosen.extraction,
            gleanings=chosen.gleanings,
            threads=max(1, chosen.concurrency - 1),  # leaves one for questions
        )


def _least(*limits: Any) -> Any:
    return min((limit for limit in limits if limit is not None), default=None)


def _summary(job: Job, changes: Mapping[str, Any]) -> str:
    names = ("added", "replaced", "moved", "removed", "unchanged", "skipped")
    parts = ["Rebuilt"] * (job.kind == "rebuild")
    parts += [f"{changes[name]:,} {name}" for name in names if changes.get(name)]
    parts += [f"{counted(changes['extracted'], 'chunk')} read again"] * (job.kind in ("reextract", "rebuild"))
    parts += [f"{changes['off_schema']:,} found outside the schema"] * bool(changes["off_schema"])
    counts = ", ".join(parts) or "Nothing to change"
    pending = changes["pending"]
    return f"{counts}." + f" {pending:,} chunks were not read by the language model; try the job again." * bool(pending)
