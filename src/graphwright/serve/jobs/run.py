"""One attempt at a job: the change to the index, its progress, and its cancellation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakSet

from graphwright import Document, Index
from graphwright.data import ReadOptions, Skipped
from graphwright.data.document import split
from graphwright.errors import DataError, GraphwrightError, ModelError, StoreError
from graphwright.models import LLM, Cancellation, Completion, Usage
from graphwright.models.protocols import Cancel, OnText, Schema
from graphwright.serve.jobs.table import Job, Progress
from graphwright.serve.jobs.uploads import Upload
from graphwright.store import Changes

_UNITS = {"read documents": "documents", "read files (kB)": "kB", "extract": "chunks", "refine": "values"}
_MAX_FAILED = 100  # failed parts that are listed
_POLL_SECONDS = 0.5  # between two checks whether another process still writes


class JobStoppedError(GraphwrightError):
    """A job was cancelled, or its server shuts down."""


class JobRun:
    """One attempt at a job. Thread-safe: one thread works, others read the progress and stop it."""

    def __init__(self, job: Job, on_change: Callable[[], None] = lambda: None) -> None:
        """Take the job; `on_change` is called after each change of the progress."""
        self.job = job
        self.usage = Usage()
        self.progress: Progress | None = None
        self.message = ""
        self.stopped = ""  # "cancelled", or "shutdown"
        self.cancellations = WeakSet[Cancellation]()  # of calls of language models that may wait for a reply
        self._flag = threading.Event()
        self._on_change = on_change

    def stop(self, reason: str) -> None:
        """End the attempt at its next check; later reasons are ignored."""
        self.stopped = self.stopped or reason
        self._flag.set()
        for cancel in list(self.cancellations):
            cancel.set()

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
        self, system: str, user: str, *, schema: Schema = None, on_text: OnText = None, cancel: Cancel = None
    ) -> Completion:
        """Answer one prompt as the model does. Raises JobStoppedError, which extractors do not catch."""
        cancel = cancel or Cancellation()
        self.run.cancellations.add(cancel)
        self.run.check()
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
        while True:
            while index.is_being_written:
                runs[0].wait("Another process writes this index; waiting for it.")
            try:
                stack.enter_context(index.batch(report))
                break
            except StoreError:
                if not index.is_being_written:  # no other process was faster
                    raise
        yield


def perform(run: JobRun, index: Index, upload: Upload | None, max_chunks: int | None = None) -> dict[str, Any]:
    """Perform a job on an index; return the changes as JSON. Without an `upload`, failed chunks are extracted again."""
    skipped: list[Skipped] = []
    return facts(_change(run, index, upload, max_chunks, skipped), skipped)


def _change(
    run: JobRun, index: Index, upload: Upload | None, max_chunks: int | None, skipped: list[Skipped]
) -> Changes:
    task, report, usage = run.job.task, run.report, run.usage
    if run.job.kind == "sync":
        return index.sync(Path(task["folder"]), report, usage=usage, options=ReadOptions(outside=False))
    if run.job.kind == "add":
        documents = () if upload is None else upload.documents(skipped.append, run.check)
        transform = None if max_chunks is None else partial(_limited, most=max_chunks)
        return index.add(documents, report, usage=usage, transform=transform)
    ids = list(task["ids"])
    try:
        return index.remove(ids, report, usage=usage)
    except DataError:
        if run.job.attempts == 1:
            raise
        changes = index.add((), report, usage=usage)  # removed before the interruption, but not published
        changes.removed = ids
        return changes


def _limited(documents: Iterable[Document], most: int) -> Iterator[Document]:
    """Yield documents. Raises DataError, so that none is added, if they have more than `most` chunks in all."""
    chunks = 0
    for document in documents:
        chunks += len(split(document))
        if chunks > most:
            raise DataError(
                f"The documents have more than {most:,} passages, the limit of this server for one job (max_chunks); "
                f"with {document.id} they have {chunks:,}. Nothing was added. Send fewer at a time, or raise the limit."
            )
        yield document


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
        "usage": {
            "llm_calls": usage.llm_calls,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cost": round(usage.cost, 6),
        },
    }
