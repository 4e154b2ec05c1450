"""Telemetry: the metrics, spans, logs and audit log of a server."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphwright.errors import ModelError, StoreError
from graphwright.serve.answer_models import reason_of
from graphwright.serve.security.grants import Grant
from graphwright.serve.telemetry.logs import REQUEST_ID, AuditLog
from graphwright.serve.telemetry.metrics import Metrics
from graphwright.serve.telemetry.tracing import Tracing
from graphwright.store import IndexLayout

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from graphwright.serve.server import Server

_access = logging.getLogger("graphwright.serve.security.authentication")
_log = logging.getLogger("graphwright.serve")


@dataclass
class RequestRecord:
    """Facts about one request, filled in while it runs.

    `path`: without the query string, which may have a question. `route`: the matched pattern. `audited`: whether the
    request is a change. `status`: 0 if the client disconnected before a response.
    """

    id: str
    method: str
    path: str
    client: str = ""
    route: str | None = None
    index: str | None = None
    grant: Grant | None = None
    audited: bool = False
    status: int = 0
    begun: float = field(default_factory=time.perf_counter)


class Telemetry:
    """Metrics, the audit log if there is a data folder, and spans if they are configured."""

    def __init__(self, folder: Path | None = None, tracing: Tracing | None = None) -> None:
        self.metrics = Metrics()
        self._audit = None if folder is None else AuditLog(folder)
        self._tracing = tracing

    @contextmanager
    def request(self, record: RequestRecord, headers: Mapping[str, str]) -> Iterator[Span | None]:
        """Trace a request during the block; record it in metrics, log and audit log at its end."""
        traced = nullcontext() if self._tracing is None else self._tracing.request(record.method, headers)
        with traced as span:
            try:
                yield span
            finally:
                self._end(record)
                if self._tracing is not None and span is not None:
                    self._tracing.end_request(span, record.method, record.route, record.status, record.id)

    def _end(self, record: RequestRecord) -> None:
        seconds = time.perf_counter() - record.begun
        self.metrics.count_request(record.method, record.route, record.status, seconds)
        key = None if record.grant is None else record.grant.key_id
        who = {"request_id": record.id, "key": key, "client": record.client}
        _access.info(
            "%s %s", record.method, record.path, extra={**who, "status": record.status, "seconds": round(seconds, 4)}
        )
        if record.audited:
            action = f"{record.method} {record.route or record.path}"
            self.audit(action, record.grant, index=record.index, path=record.path, status=record.status, **who)

    def audit(self, action: str, grant: Grant | None, **facts: Any) -> None:
        """Write a change to the audit log. `facts`: its index, target and status."""
        if self._audit is not None:
            holder = {} if grant is None else {"key": grant.key_id, "name": grant.name, "scope": grant.scope}
            self._audit.write({"action": action, **holder, **facts})

    def log_failure(self, record: RequestRecord, error: Exception) -> None:
        """Log an unexpected exception of a request, with its traceback."""
        _log.error("%s %s failed", record.method, record.path, exc_info=error, extra={"request_id": record.id})

    def count_reply(
        self, index: str, reply: Mapping[str, Any], model: str | None = None, span: Span | None = None
    ) -> None:
        """Record a reply in metrics and spans. `model`: of the index; `span`: of the request."""
        self.metrics.count_reply(index, reply, model)
        if self._tracing is not None:
            self._tracing.reply(index, reply, model, span)

    def fail_call(self, index: str, model: str, error: ModelError) -> None:
        """Count a failed call of a language model, and log the reason with the request's id."""
        self.metrics.count_failed_call(index, model)
        _log.warning(
            "the language model %s failed: %s",
            *(model, reason_of(error)),
            extra={"index": index, "request_id": REQUEST_ID.get()},
        )

    def close(self) -> None:
        """Export the remaining spans."""
        if self._tracing is not None:
            self._tracing.close()


def gauges(server: Server) -> Iterator[tuple[str, str, Mapping[str, str], float]]:
    """Yield the gauges: pending requests, jobs, and the age of each snapshot."""
    yield "graphwright_queue", "Requests that are computed or wait.", {}, float(server.workers.pending)
    with suppress(StoreError):  # the file of jobs is busy
        for (name, state), number in server.jobs.counts().items():
            yield "graphwright_jobs", "Jobs of the last week.", {"index": name, "state": state}, float(number)
    for name, index in server.catalog.items():
        layout = IndexLayout(index.path)
        with suppress(OSError, StoreError):  # while a writer replaces it
            age = max(0.0, time.time() - (layout.path / layout.current()).stat().st_mtime)
            yield "graphwright_snapshot_age_seconds", "Seconds since the snapshot was made.", {"index": name}, age
