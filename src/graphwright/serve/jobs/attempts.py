"""Attempts at jobs. Jobs that wait in the queue are batched, and share one new snapshot."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from graphwright import GraphwrightError, Index
from graphwright.extract import Extractor, GenerativeExtractor
from graphwright.models import BudgetedLLM, CachedLLM
from graphwright.serve.answer_models import AnswerModels
from graphwright.serve.catalog import Catalog
from graphwright.serve.jobs.run import JobRun, JobStoppedError, StoppableLLM, batch, perform
from graphwright.serve.jobs.uploads import UploadFolder
from graphwright.serve.settings import ServeSettings
from graphwright.store import IndexLayout

_log = logging.getLogger("graphwright.serve")
_MAX_BATCH = 100  # jobs that share a snapshot
_BATCH_SECONDS = 2.0  # in which jobs join a batch
_STORED = " Documents that had been stored before can be searched."


@dataclass(frozen=True)
class End:
    """Result of an attempt at a job: the job's state, a message, and the changes."""

    state: str
    message: str
    changes: Mapping[str, Any] | None = None


def _stopped(run: JobRun) -> End:
    return End("cancelled", "Cancelled.") if run.stopped == "cancelled" else End("queued", "")


class Attempts:
    """Runner of the jobs of a server's indexes."""

    def __init__(self, catalog: Catalog, settings: ServeSettings, models: AnswerModels, uploads: UploadFolder) -> None:
        self._catalog, self._settings, self._models, self._uploads = catalog, settings, models, uploads

    def perform(self, name: str, run: JobRun, claim: Callable[[], JobRun | None]) -> Iterator[tuple[JobRun, End]]:
        """Perform a job and those that wait behind it in one batch; yield each result. `claim`: begins the next job."""
        runs, ends = [run], list[End]()
        published = self._end(name, run, lambda: self._perform_batch(name, runs, ends, claim))
        if published.state != "done":
            note = self._publish(name) if published.state in ("failed", "cancelled") else ""
            for at, attempt in enumerate(runs):
                if at == len(ends) or ends[at].state == "done":
                    end = _stopped(attempt) if attempt.stopped else published
                    ends[at : at + 1] = [replace(end, message=end.message + note)]
        yield from zip(runs, ends, strict=True)

    def _perform_batch(
        self, name: str, runs: list[JobRun], ends: list[End], claim: Callable[[], JobRun | None]
    ) -> None:
        """Perform waiting jobs one after another, then publish their changes; append to `runs` and `ends`."""
        extractor = self._extractor(name, runs[0])
        with self._writer(name, extractor) as index, batch(index, runs):
            until = time.monotonic() + _BATCH_SECONDS
            while len(ends) < len(runs):
                run = runs[-1]
                end = self._end(name, run, lambda run=run: self._perform(run, index))  # type: ignore[misc]
                if end.state in ("failed", "cancelled") and len(runs) == 1 and not index.is_current:
                    end = replace(end, message=end.message + _STORED)
                ends.append(end)
                if len(runs) < _MAX_BATCH and time.monotonic() < until and not self._reads_with_model(name):
                    following = claim()
                    runs += [] if following is None else [following]
        self._catalog.refresh(name)  # now, so that a client that waits for the job can search its documents

    def _perform(self, run: JobRun, index: Index) -> Mapping[str, Any]:
        upload = self._uploads.open(run.job.id) if run.job.kind == "add" else None
        return perform(run, index, upload, self._settings.max_chunks)

    def _end(self, name: str, run: JobRun, act: Callable[[], Mapping[str, Any] | None]) -> End:
        """Call a function and return its result; an exception becomes a failed one."""
        try:
            changes = act()
        except JobStoppedError:
            return _stopped(run)
        except (GraphwrightError, OSError, sqlite3.Error) as error:
            return End("failed", self._catalog.without_paths(str(error)))
        except Exception:
            _log.exception("job %s of %s failed", run.job.id, name)
            return End("failed", "The job failed. The server's log has the details.")
        return End("done", "" if changes is None else _summary(changes), changes)

    def _publish(self, name: str) -> str:
        """Publish documents that a failed or cancelled job has stored; return a note if there were any."""
        with suppress(GraphwrightError, OSError, sqlite3.Error), self._writer(name, None) as index:
            if not index.is_current:
                index.add(())
                self._catalog.refresh(name)
                return _STORED
        return ""

    def _writer(self, name: str, extractor: Extractor | None) -> Index:
        return self._catalog.open_writer(name, extractor)

    def _reads_with_model(self, name: str) -> bool:
        """Return whether a language model extracts from the documents of an index."""
        return self._settings.extract and self._models.llm(name) is not None and self._models.settings(name) is not None

    def _extractor(self, name: str, run: JobRun) -> Extractor | None:
        """Return the extractor with the index's language model, None for the one without a language model."""
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
            threads=max(1, chosen.concurrency - 1),  # leaves one for questions
        )


def _least(*limits: Any) -> Any:
    """Return the smallest limit that is not None, or None."""
    return min((limit for limit in limits if limit is not None), default=None)


def _summary(changes: Mapping[str, Any]) -> str:
    """Return the changes as text.

    >>> _summary({"added": 2, "replaced": 0, "removed": 0, "unchanged": 1, "skipped": 0, "pending": 3})
    '2 added, 1 unchanged. 3 chunks were not read by the language model; try the job again.'
    """
    names = ("added", "replaced", "moved", "removed", "unchanged", "skipped")
    counts = ", ".join(f"{changes[name]:,} {name}" for name in names if changes.get(name)) or "Nothing to change"
    pending = changes["pending"]
    return f"{counts}." + f" {pending:,} chunks were not read by the language model; try the job again." * bool(pending)
