"""Telemetry: metrics, logs and audit log of a server, and the outermost middleware, which feeds them."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphwright.errors import StoreError
from graphwright.serve.authentication import SAFE_METHODS, client_address, route_path
from graphwright.serve.keys import Key
from graphwright.serve.logs import REQUEST_ID, audit, log
from graphwright.serve.problems import send_problem
from graphwright.store import IndexLayout

if TYPE_CHECKING:
    from graphwright.serve.server import Server

_access = logging.getLogger("graphwright.serve.authentication")


class Telemetry:
    """Metrics, and the audit log in the data folder."""

    def __init__(self, folder: Path) -> None:
        self.metrics = Metrics()
        self._folder = folder

    def end_request(self, scope: Scope, id: str, status: int, seconds: float) -> None:
        """Record a request in metrics, log and, if it is a change, audit log.

        `status`: 0 if the client disconnected before a response. The grant, the route and the index are those that
        inner middleware and routes have put into `scope`. The log has no query string, which may have a question.
        """
        state, method, path = scope["state"], scope["method"], route_path(scope)
        route: str | None = getattr(scope.get("route"), "path", None)
        grant: Key | None = state.get("grant")
        self.metrics.count_request(method, route, status, seconds)
        key = None if grant is None else grant.id or None
        who = {"request_id": id, "key": key, "client": client_address(scope)}
        _access.info("%s %s", method, path, extra={**who, "status": status, "seconds": round(seconds, 4)})
        is_change = method not in SAFE_METHODS and state.get("required", "read") != "read"
        if is_change:
            holder = {} if grant is None else {"name": grant.name, "scope": grant.scope}
            target = {"index": scope.get("path_params", {}).get("ix"), "path": path, "status": status}
            audit(self._folder, {"action": f"{method} {route or path}", **holder, **target, **who})

    def fail_call(self, index: str, model: str, reason: str) -> None:
        """Count a failed call of a language model, and log the reason with the request's id."""
        self.metrics.count_call(index, model, "failed")
        log.warning(
            "the language model %s failed: %s",
            *(model, reason),
            extra={"index": index, "request_id": REQUEST_ID.get()},
        )


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"  # media type of `Metrics.text`
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
_COUNTERS = {
    "requests": ("Requests.", "method", "route", "status"),
    "answers": ("Answers and retrievals.", "index", "method", "found"),
    "llm_calls": ("Calls of language models.", "index", "model", "outcome"),
    "tokens": ("Tokens of language models.", "index", "model", "kind"),
    "cost": ("Money spent, in the currency of prices.", "index", "model"),
}
_HISTOGRAMS = {
    "request": ("Seconds of requests.", "method", "route"),
    "step": ("Seconds of the steps of methods.", "operator"),
}


class Metrics:
    """Counters, histograms and gauges. Labels are names of the server's configuration, never text of a request."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._counters = {
            name: Counter(f"graphwright_{name}", about, labels, registry=self.registry)
            for name, (about, *labels) in _COUNTERS.items()
        }
        self._seconds = {
            name: Histogram(f"graphwright_{name}_seconds", about, labels, buckets=_SECONDS, registry=self.registry)
            for name, (about, *labels) in _HISTOGRAMS.items()
        }
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)

    def count_request(self, method: str, route: str | None, status: int, seconds: float) -> None:
        """Count a request. `route`: the matched pattern, or None."""
        method, route = method if method in _METHODS else "other", route or "none"
        self._counters["requests"].labels(method, route, str(status)).inc()
        self._seconds["request"].labels(method, route).observe(seconds)

    def count_reply(self, index: str, reply: Mapping[str, Any], model: str | None) -> None:
        """Count a reply in the JSON of the command line. `model`: the language model, if any."""
        outcome = {None: "none", True: "yes", False: "no"}[reply.get("found")]
        self._counters["answers"].labels(index, str(reply.get("method")), outcome).inc()
        for step in reply.get("trace", ()):
            self._seconds["step"].labels(operator_name(step)).observe(step["seconds"])
        usage = reply.get("usage", {})
        if usage.get("llm_calls"):
            labels = index, model or "none"
            self.count_call(*labels, "replied", usage["llm_calls"])
            self._counters["tokens"].labels(*labels, "prompt").inc(usage["prompt_tokens"])
            self._counters["tokens"].labels(*labels, "completion").inc(usage["completion_tokens"])
            self._counters["cost"].labels(*labels).inc(usage["cost"])

    def count_call(self, index: str, model: str, outcome: str, number: int = 1) -> None:
        """Count calls of a language model. `outcome`: "replied", or "failed" without a reply in the requested form."""
        self._counters["llm_calls"].labels(index, model, outcome).inc(number)

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)


class Gauges(Collector):
    """Gauges of a server, computed at each scrape: pending requests, jobs, and the age of each snapshot."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def collect(self) -> Iterable[Metric]:
        """Yield the gauges."""
        pending = self._server.workers.pending
        yield GaugeMetricFamily("graphwright_queue", "Requests that are computed or wait.", pending)
        yield GaugeMetricFamily("graphwright_processes", "Processes that answer.", self._server.catalog.answers.ready)
        jobs = GaugeMetricFamily("graphwright_jobs", "Jobs of the last week.", labels=["index", "state"])
        with suppress(StoreError):  # the file of jobs is busy
            for labels, number in self._server.jobs.counts().items():
                jobs.add_metric(labels, number)
        yield jobs
        about = "Seconds since the snapshot was made."
        ages = GaugeMetricFamily("graphwright_snapshot_age_seconds", about, labels=["index"])
        for name, index in self._server.catalog.items():
            layout = IndexLayout(index.path)
            with suppress(OSError, StoreError):  # while a writer replaces it
                made = (layout.path / layout.current()).stat().st_mtime
                ages.add_metric([name], max(0.0, time.time() - made))
        yield ages

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that registering does not compute the gauges."""
        return ()


def operator_name(step: Mapping[str, Any]) -> str:
    """Return the name of a step's operator without its arguments."""
    name = str(step["operator"]).partition("(")[0].strip()
    return name if name.isidentifier() else "other"


PAGE_POLICY = (  # Content-Security-Policy of the page and of /docs: no inline and no external resources
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_DATA_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"  # of everything that is not a page
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


@dataclass(frozen=True)
class Observation:
    """ASGI middleware: request ids, security headers, logs, metrics, audit; an exception is logged, not shown."""

    app: ASGIApp
    telemetry: Telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")  # of a proxy
        id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = id
        REQUEST_ID.set(id)
        status, begun = 0, time.perf_counter()

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(message, id)
            await send(message)

        try:
            await self.app(scope, receive, observed)
        except Exception as error:
            if status:  # the response has begun and cannot be replaced
                raise
            what = scope["method"], route_path(scope)
            log.error("%s %s failed", *what, exc_info=error, extra={"request_id": id})
            await send_problem(scope, receive, observed, error)
        finally:
            self.telemetry.end_request(scope, id, status, time.perf_counter() - begun)


def _add_headers(message: Message, request_id: str) -> None:
    message.setdefault("headers", [])
    headers = MutableHeaders(scope=message)
    policy = PAGE_POLICY if headers.get("content-type", "").startswith("text/html") else _DATA_POLICY
    headers.update({**_HEADERS, "x-request-id": request_id, "content-security-policy": policy})
    headers.setdefault("cache-control", "no-store")
