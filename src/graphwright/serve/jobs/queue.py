"""The job queue: changes to the indexes of a server, performed in order by one thread for each index.

A job is stored in `jobs.sqlite` before its request is answered, and its documents in a folder beside it until it is
done. If the process is killed, the next server of the index restarts the job; stored documents are not processed again.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from graphwright.data import is_database
from graphwright.errors import OptionError, StoreError
from graphwright.extract import Excerpt, Schema
from graphwright.serve.catalog import Catalog
from graphwright.serve.feedback import Feedback
from graphwright.serve.jobs.run import Attempts, JobRun
from graphwright.serve.jobs.table import ENDED, Job, JobTable, State, new_id
from graphwright.serve.jobs.uploads import UploadFolder
from graphwright.serve.logs import log
from graphwright.serve.originals import Originals
from graphwright.serve.problems import NotFoundError, OverloadedError, ServeError
from graphwright.serve.settings import AnswerModels, ServeSettings
from graphwright.store import writer_lock
from graphwright.store.locks import is_written

_RETENTION = timedelta(days=7)  # of ended jobs, and of the documents of failed ones
_MAX_QUEUED = 1_000  # jobs of one index
_STOP_TIMEOUT = 5.0  # seconds for running jobs to stop at shutdown


class ConflictError(ServeError):
    """The state of a job does not allow the action."""

    status, kind = 409, "conflict"


class JobFailedError(ServeError):
    """A job has failed."""

    status, kind = 500, "job-failed"


class Jobs:
    """The jobs of a server. Thread-safe; `start` and `close` must be called in the same thread."""

    def __init__(self, catalog: Catalog, settings: ServeSettings, models: AnswerModels | None = None) -> None:
        """Take indexes, settings and language models. Nothing is written before the first job or `start`."""
        self._catalog, self._settings = catalog, settings
        self._runner = new_id()
        self.uploads = UploadFolder(settings.data / "uploads", self._runner)
        self._held = ExitStack()  # open files, and the lock that marks this process as running
        self._attempts = Attempts(catalog, settings, models or AnswerModels(None), self.uploads, self._held)
        self._lock = threading.RLock()
        self._threads: dict[str, threading.Thread] = {}  # by name of the index
        self._runs: dict[str, JobRun] = {}  # by id of the job
        self._listeners: dict[str, list[Callable[[], None]]] = {}  # by id of the job
        self._closing = False

    @property
    def _runners(self) -> Path:
        return self._settings.data / "runners"

    @cached_property
    def _table(self) -> JobTable:
        return self._held.enter_context(closing(JobTable(self._settings.data / "jobs.sqlite")))

    @property
    def originals(self) -> Originals:
        """The uploaded files that documents were read from."""
        return self._attempts.originals

    @property
    def feedback(self) -> Feedback:
        """What readers said of answers; entries that quote removed text are deleted after each job."""
        return self._attempts.feedback

    def start(self) -> None:
        """Queue the running jobs of servers that have ended, and begin all waiting jobs."""
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
        self._delete_old()
        self.originals.sweep()
        self.feedback.sweep_all(self._catalog.values())
        for name in self._catalog:
            self._wake(name)

    def submit(self, name: str, kind: str, task: Mapping[str, Any], id: str | None = None) -> Job:
        """Queue a change; documents are in upload `id`. Raises OptionError if there can be none, or OverloadedError."""
        self.check_writable(name, documents=kind != "rebuild" and not is_database(task.get("folder")))
        path = self._path(name)
        if self._table.find([path], "queued", limit=1)[1] >= _MAX_QUEUED:
            raise OverloadedError(f"{_MAX_QUEUED:,} jobs wait for {name}. Try again when some are done.", 60)
        job = self._table.insert(path, kind, task, id)
        self._wake(name)
        return job

    def check_writable(self, name: str, *, documents: bool = True) -> None:
        """Raise OptionError for a replica; for `documents` also for an imported graph that is too large for some."""
        if name in self._catalog.replicas:
            raise OptionError(
                f"{name} is a replica of an index on object storage and cannot be changed here. Change a pulled copy "
                f"(graphwright pull), then push it: this server follows within {self._settings.poll_seconds:g} seconds."
            )
        index = self._catalog[name]
        if documents and not index.takes_documents:
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

    def syncs(self, name: str, folder: str, limit: int = 1) -> list[Job]:
        """Return the last syncs of an index with a source, the newest first."""
        return [self._current(job) for job in self._table.syncs(self._path(name), folder, limit)]

    def counts(self) -> dict[tuple[str, str], int]:
        """Return the number of jobs by index and state, zeros included."""
        counts = self._table.counts()
        return {
            (name, state): counts.get((str(index.path.resolve()), state), 0)
            for name, index in self._catalog.items()
            for state in get_args(State)
        }

    def index_of(self, job: Job) -> str:
        """Return the name of the index that a job changes."""
        return self._names[job.path]

    def cancel(self, id: str) -> Job:
        """Cancel a job; a running one ends at its next step. Raises ConflictError for one that has ended."""
        job = self.get(id)
        if job.has_ended:
            raise ConflictError(f"The job {id} has ended already ({job.state}).")
        with self._lock:  # otherwise a job that begins between the two would not be stopped
            self._table.cancel(id)
            run = self._runs.get(id)
        if run is not None:
            run.stop("cancelled")
        self._notify(id)
        return self.get(id)

    def retry(self, id: str) -> Job:
        """Queue a job again that failed, was cancelled, or left chunks unread. Raises ConflictError for others."""
        job = self.get(id)
        if not job.can_be_retried or not self._table.queue_again(id, ENDED):
            raise ConflictError(f"The job {id} is {job.state} and left nothing to be tried again.")
        self._wake(self.index_of(job))
        self._notify(id)
        return self.get(id)

    def outdated_chunks(self, name: str, schema: Schema | None) -> list[Excerpt]:
        """Return the chunks that a job "reextract" would read. `schema`: its new one."""
        return self._attempts.outdated_chunks(name, schema)

    @contextmanager
    def listening(self, id: str, on_change: Callable[[], None]) -> Iterator[None]:
        """Call a function, in the job's thread, after each change of a job during the block."""
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
        """Stop running jobs, which the next server restarts, and release files and locks."""
        with self._lock:
            self._closing = True
            runs, threads = list(self._runs.values()), list(self._threads.values())
        for run in runs:
            run.stop("shutdown")
        for thread in threads:
            thread.join(_STOP_TIMEOUT / len(threads))
        self._held.close()
        shutil.rmtree(self._runners / self._runner, ignore_errors=True)

    @contextmanager
    def idle(self, name: str) -> Iterator[None]:
        """Begin no job of an index during the block. Raises ConflictError if one runs or waits."""
        with self._lock:
            if name in self._threads:
                raise ConflictError(f"{name} is being changed. Wait until its jobs have ended, or cancel them.")
            yield

    @property
    def _names(self) -> dict[str, str]:
        return {str(index.path.resolve()): name for name, index in self._catalog.items()}

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
        """Start the thread of an index unless it runs. It ends when no job waits."""
        with self._lock:
            if name not in self._threads and name in self._catalog and not self._closing:
                thread = threading.Thread(target=self._work, args=(name,), name=f"graphwright-job-{name}", daemon=True)
                self._threads[name] = thread
                thread.start()

    def _work(self, name: str) -> None:
        """Perform the jobs of an index until none waits."""
        while True:
            try:
                with self._lock:  # otherwise a job queued between the two statements would never start
                    run = self._claim(name)
                    if run is None:
                        del self._threads[name]
                        return
            except StoreError:
                log.exception("the jobs of %s cannot be read", name)
                with self._lock:
                    del self._threads[name]
                return
            for attempt in self._attempts.perform(name, run, lambda: self._claim(name, joins=True)):
                self._record(attempt)

    def _claim(self, name: str, *, joins: bool = False) -> JobRun | None:
        """Begin the next job of an index, None if none waits; `joins`: none that cannot share a snapshot."""
        with self._lock:
            job = None if self._closing else self._table.claim(self._path(name), self._runner, joins=joins)
            if job is None:
                return None
            run = self._runs[job.id] = JobRun(job, lambda: self._notify(job.id))
            return run

    def _record(self, run: JobRun) -> None:
        id, end = run.job.id, run.end
        assert end is not None  # it was performed
        try:
            if end.state == "queued":
                self._table.queue_again(id, ("running",))
            else:
                self._table.finish(id, end.state, end.message, end.changes)
                if end.state == "done":
                    self.uploads.delete(id)
                self._delete_old()
        except StoreError:  # the server was closed meanwhile; the next one restarts the job
            log.warning("job %s ended as %s, which could not be recorded", id, end.state)
        with self._lock:
            del self._runs[id]
        self._notify(id)

    def _delete_old(self) -> None:
        self._table.delete_old(_RETENTION)
        self.uploads.delete_others(self._table.ids(), lambda runner: is_written(self._runners / runner))


def unknown_job(id: str) -> NotFoundError:
    """Return the error for a job that does not exist, or that the client must not see."""
    return NotFoundError(f"There is no job {id!r}. GET /v1/jobs lists them, until a week after their end.")
