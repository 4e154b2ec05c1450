"""Jobs: changes to the indexes of a server, done one after another by one thread for each index.

Jobs that wait behind one another share one snapshot, so that many small changes cost one merge.

A job is in `jobs.sqlite` before its request is answered, and its documents are in a folder beside it until it is done.
If the process ends in between, also by kill -9, the next server of the index begins the job again; whatever the index
had stored by then costs nothing the second time.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from graphwright import Index
from graphwright.errors import GraphwrightError, OptionError, StoreError
from graphwright.extract import Extractor, GenerativeExtractor
from graphwright.models import BudgetedLLM, CachedLLM
from graphwright.serve.answer_models import AnswerModels
from graphwright.serve.catalog import Catalog
from graphwright.serve.jobs.run import JobRun, JobStoppedError, StoppableLLM, batch, perform
from graphwright.serve.jobs.table import ENDED, STATES, Job, JobTable, new_id
from graphwright.serve.jobs.uploads import UploadFolder
from graphwright.serve.problems import NotFoundError, OverloadedError, ServeError
from graphwright.serve.settings import ServeSettings
from graphwright.store.layout import IndexLayout, is_written, writer_lock

_log = logging.getLogger("graphwright.serve")
_KEPT = timedelta(days=7)  # after which an ended job is forgotten, with the documents of one that failed
_MAX_QUEUED = 1_000  # jobs of one index
_TOGETHER = 100  # jobs that share a snapshot
_COLLECTED = 2.0  # seconds in which jobs join it
_STORED = " Documents that had been stored before can be searched."
_PATIENCE = 5.0  # seconds at the end of the server for running jobs to stop


class ConflictError(ServeError):
    """A job is not in a state in which this can be done."""

    status: ClassVar[int] = 409
    kind: ClassVar[str] = "conflict"


class JobFailedError(ServeError):
    """A job has failed."""

    status: ClassVar[int] = 500
    kind: ClassVar[str] = "job-failed"


@dataclass(frozen=True)
class _End:
    """How an attempt at a job ended: the job's state, a message, and what it changed."""

    state: str
    message: str
    changes: Mapping[str, Any] | None = None


def _stopped(run: JobRun) -> _End:
    return _End("cancelled", "Cancelled.") if run.stopped == "cancelled" else _End("queued", "")


class Jobs:
    """The jobs of a server. Threads may share it; `start` and `close` are called in one and the same thread."""

    def __init__(self, catalog: Catalog, settings: ServeSettings, models: AnswerModels | None = None) -> None:
        """Take the indexes, the settings, and the language models that may read documents.

        Nothing is written before the first job or `start`.
        """
        self._catalog, self._settings = catalog, settings
        self._models = models or AnswerModels(None)
        self._runner = new_id()
        self.uploads = UploadFolder(settings.data / "uploads", self._runner)
        self._held = ExitStack()  # the lock that shows that this process lives
        self._lock = threading.Lock()
        self._threads: dict[str, threading.Thread] = {}  # by name of the index
        self._runs: dict[str, JobRun] = {}  # by id of the job
        self._listeners: dict[str, list[Callable[[], None]]] = {}  # by id of the job
        self._closing = False

    @property
    def _runners(self) -> Path:
        return self._settings.data / "runners"

    @cached_property
    def _table(self) -> JobTable:
        return JobTable(self._settings.data / "jobs.sqlite")

    def start(self) -> None:
        """Queue the jobs of servers that have ended, and begin all that wait."""
        folder = self._runners / self._runner
        table = self._table
        folder.mkdir(parents=True)
        self._held.enter_context(writer_lock(folder))
        for runner in table.runners():
            if not is_written(folder.parent / runner):
                table.release(runner)
        for other in folder.parent.iterdir():
            if other.name != self._runner and not is_written(other):
                shutil.rmtree(other, ignore_errors=True)
        self._forget_old()
        for name in self._catalog:
            self._wake(name)

    def submit(self, name: str, kind: str, task: Mapping[str, Any], id: str | None = None) -> Job:
        """Queue a change of an index and return the job; the documents of `id` have been stored before.

        Raises OptionError for an index that cannot be changed, OverloadedError where too many jobs wait.
        """
        self.check_writable(name)
        path = self._path(name)
        if self._table.find([path], "queued", limit=1)[1] >= _MAX_QUEUED:
            raise OverloadedError(f"{_MAX_QUEUED:,} jobs wait for {name}. Try again when some are done.", 60)
        job = self._table.insert(path, kind, task, id)
        self._wake(name)
        return job

    def check_writable(self, name: str) -> None:
        """Raise OptionError for a replica, and an imported graph that is too large for documents beside it."""
        if name in self._catalog.replicas:
            raise OptionError(
                f"{name} is a replica of an index on object storage and cannot be changed here. Change a pulled copy "
                f"(graphwright pull), then push it: this server follows within {self._settings.poll_seconds:g} seconds."
            )
        index = self._catalog[name]
        if not index.takes_documents:
            raise OptionError(
                f"{name} is an imported graph of {len(index.graph):,} nodes, too large for documents beside it. "
                f"Index them into a folder of their own."
            )

    def get(self, id: str) -> Job:
        """Return a job with its progress. Raises NotFoundError if there is none, or its index is not served."""
        job = self._table.get(id)
        if job is None or job.path not in self._names:
            raise unknown_job(id)
        return self._current(job)

    def find(
        self, names: list[str], state: str | None = None, *, offset: int = 0, limit: int = 100
    ) -> tuple[list[Job], int]:
        """Return jobs of these indexes, the newest first, and the number of all."""
        jobs, total = self._table.find(map(self._path, names), state, offset=offset, limit=limit)
        return [self._current(job) for job in jobs], total

    def counts(self) -> dict[tuple[str, str], int]:
        """Return the number of jobs by index and state, also where there is none."""
        counts = self._table.counts()
        return {(name, state): counts.get((self._path(name), state), 0) for name in self._catalog for state in STATES}

    def index_of(self, job: Job) -> str:
        """Return the name of the index that a job changes."""
        return self._names[job.path]

    def cancel(self, id: str) -> Job:
        """Cancel a job; one that runs ends soon. Raises ConflictError for one that has ended."""
        job = self.get(id)
        if job.has_ended:
            raise ConflictError(f"The job {id} has ended already ({job.state}).")
        self._table.cancel(id)
        if (run := self._runs.get(id)) is not None:
            run.stop("cancelled")
        self._notify(id)
        return self.get(id)

    def retry(self, id: str) -> Job:
        """Queue a job again that failed, was cancelled, or left chunks unread. Raises ConflictError for another."""
        job = self.get(id)
        if not job.can_be_retried or not self._table.queue_again(id, ENDED):
            raise ConflictError(f"The job {id} is {job.state} and left nothing to be tried again.")
        self._wake(self.index_of(job))
        self._notify(id)
        return self.get(id)

    @contextmanager
    def listening(self, id: str, on_change: Callable[[], None]) -> Iterator[None]:
        """Call a function after each change of a job inside the block, in the job's thread."""
        with self._lock:
            self._listeners.setdefault(id, []).append(on_change)
        try:
            yield
        finally:
            with self._lock:
                self._listeners[id].remove(on_change)
                if not self._listeners[id]:
                    del self._listeners[id]

    def close(self) -> None:
        """Stop running jobs, which the next server begins again, and release what is held."""
        with self._lock:
            self._closing = True
            runs, threads = list(self._runs.values()), list(self._threads.values())
        for run in runs:
            run.stop("shutdown")
        for thread in threads:
            thread.join(_PATIENCE / len(threads))
        if "_table" in vars(self):
            self._table.close()
        self._held.close()
        shutil.rmtree(self._settings.data / "runners" / self._runner, ignore_errors=True)

    @cached_property
    def _names(self) -> dict[str, str]:
        return {self._path(name): name for name in self._catalog}

    def _path(self, name: str) -> str:
        return str(self._catalog[name].path.resolve())

    def _current(self, job: Job) -> Job:
        run = self._runs.get(job.id)
        return job if run is None or job.state != "running" else run.current(job)

    def _notify(self, id: str) -> None:
        with self._lock:
            listeners = list(self._listeners.get(id, ()))
        for listener in listeners:
            listener()

    def _wake(self, name: str) -> None:
        """Start the thread of an index unless it runs; it ends when no job waits."""
        with self._lock:
            if name not in self._threads and not self._closing:
                thread = threading.Thread(target=self._work, args=(name,), name=f"graphwright-job-{name}", daemon=True)
                self._threads[name] = thread
                thread.start()

    def _work(self, name: str) -> None:
        """Do the jobs of an index until none waits."""
        while True:
            try:
                with self._lock:  # or a job could be queued between the two, and wait for ever
                    run = self._claim(name)
                    if run is None:
                        del self._threads[name]
                        return
            except StoreError:
                _log.exception("the jobs of %s cannot be read", name)
                with self._lock:
                    del self._threads[name]
                return
            self._attempt(name, run)

    def _claim(self, name: str) -> JobRun | None:
        """Begin the next job of an index, None if none waits; the lock is held."""
        job = None if self._closing else self._table.claim(self._path(name), self._runner)
        if job is None:
            return None
        run = self._runs[job.id] = JobRun(job, lambda: self._notify(job.id))
        return run

    def _attempt(self, name: str, run: JobRun) -> None:
        """Do a job, and with it those that wait behind it, which share one snapshot; record how each ended."""
        runs, ends = [run], list[_End]()
        published = self._end(name, run, lambda: self._perform_together(name, runs, ends))
        if published.state != "done":
            note = self._publish(name) if published.state in ("failed", "cancelled") else ""
            for at, one in enumerate(runs):
                if at == len(ends) or ends[at].state == "done":
                    end = _stopped(one) if one.stopped else published
                    ends[at : at + 1] = [replace(end, message=end.message + note)]
        for one, end in zip(runs, ends, strict=True):
            self._record(one, end)

    def _perform_together(self, name: str, runs: list[JobRun], ends: list[_End]) -> None:
        """Perform jobs until none waits, each by itself, and publish what they did; adds to `runs` and `ends`."""
        extractor = self._extractor(name, runs[0])
        with self._writer(name, extractor) as index, batch(index, runs):
            until = time.monotonic() + _COLLECTED
            while len(ends) < len(runs):
                run = runs[-1]
                end = self._end(name, run, lambda run=run: self._perform(run, index))  # type: ignore[misc]
                if end.state in ("failed", "cancelled") and len(runs) == 1 and not index.is_current:
                    end = replace(end, message=end.message + _STORED)
                ends.append(end)
                if len(runs) < _TOGETHER and time.monotonic() < until and not self._reads_with_model(name):
                    with self._lock:
                        following = self._claim(name)
                    runs += [] if following is None else [following]
        self._catalog.refresh(name)  # a client that waits for a job finds what it has added

    def _perform(self, run: JobRun, index: Index) -> Mapping[str, Any]:
        upload = self.uploads.open(run.job.id) if run.job.kind == "add" else None
        return perform(run, index, upload, self._settings.max_chunks)

    def _end(self, name: str, run: JobRun, act: Callable[[], Mapping[str, Any] | None]) -> _End:
        """Call a function and return how it ended."""
        try:
            changes = act()
        except JobStoppedError:
            return _stopped(run)
        except (GraphwrightError, OSError, sqlite3.Error) as error:
            return _End("failed", self._catalog.without_paths(str(error)))
        except Exception:
            _log.exception("job %s of %s failed", run.job.id, name)
            return _End("failed", "The job failed. The server's log has the details.")
        return _End("done", "" if changes is None else _summary(changes), changes)

    def _record(self, run: JobRun, end: _End) -> None:
        """Record how a job ended."""
        id = run.job.id
        try:
            if end.state == "queued":
                self._table.queue_again(id, ("running",))
            else:
                self._table.finish(id, end.state, end.message, end.changes)
                if end.state == "done":
                    self.uploads.delete(id)
                self._forget_old()
        except StoreError:  # the server was closed meanwhile: the next one begins the job again
            _log.warning("job %s ended as %s, which could not be recorded", id, end.state)
        with self._lock:
            del self._runs[id]
        self._notify(id)

    def _publish(self, name: str) -> str:
        """Make all that a job stored before it ended searchable; return a note where there was something."""
        with suppress(GraphwrightError, OSError, sqlite3.Error), self._writer(name, None) as index:
            if not index.is_current:
                index.add(())
                self._catalog.refresh(name)
                return _STORED
        return ""

    def _writer(self, name: str, extractor: Extractor | None) -> Index:
        return self._catalog.open_writer(name, extractor)

    def _reads_with_model(self, name: str) -> bool:
        """Whether a language model reads the documents of an index."""
        return self._settings.extract and self._models.llm(name) is not None and self._models.settings(name) is not None

    def _extractor(self, name: str, run: JobRun) -> Extractor | None:
        """Return the extractor that asks the index's language model, None for the one that needs none."""
        llm, chosen = self._models.llm(name), self._models.settings(name)
        if llm is None or chosen is None or not self._settings.extract or run.job.kind == "remove":
            return None
        task, limits = run.job.task, ("max_job_tokens", "max_job_cost")
        tokens, cost = (_least(task.get(limit), getattr(self._settings, limit)) for limit in limits)
        if tokens is not None or cost is not None:
            llm = BudgetedLLM(llm, tokens, cost)
        cached = CachedLLM(llm, IndexLayout(self._catalog[name].path).replies)
        return GenerativeExtractor(
            StoppableLLM(cached, run),
            extraction=chosen.extraction,
            gleanings=chosen.gleanings,
            threads=max(1, chosen.concurrency - 1),  # a question finds one free
        )

    def _forget_old(self) -> None:
        before = datetime.now(UTC) - _KEPT
        self._table.delete_old(before.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
        self.uploads.delete_others(self._table.ids(), lambda runner: is_written(self._runners / runner))


def _least(*limits: Any) -> Any:
    """Return the least of the limits that are given, None where none is."""
    return min((limit for limit in limits if limit is not None), default=None)


def _summary(changes: Mapping[str, Any]) -> str:
    """Return the changes in a sentence or two.

    >>> _summary({"added": 2, "replaced": 0, "removed": 0, "unchanged": 1, "skipped": 0, "pending": 3})
    '2 added, 1 unchanged. 3 chunks were not read by the language model; try the job again.'
    """
    names = ("added", "replaced", "removed", "unchanged", "skipped")
    counts = ", ".join(f"{changes[name]:,} {name}" for name in names if changes[name]) or "Nothing to change"
    pending = changes["pending"]
    return f"{counts}." + f" {pending:,} chunks were not read by the language model; try the job again." * bool(pending)


def unknown_job(id: str) -> NotFoundError:
    """Return the error for a job that there is not, or that the client must not see."""
    return NotFoundError(f"There is no job {id!r}. GET /v1/jobs lists them, until a week after their end.")
