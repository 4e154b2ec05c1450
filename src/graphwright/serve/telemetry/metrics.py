"""Prometheus metrics of the server, in a separate registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

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

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Media type of `Metrics.text`."""
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
Gauges = Callable[[], Iterable[tuple[str, str, Mapping[str, str], float]]]
"""A function that yields the current gauges as (name, description, labels, value)."""


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

    def add_gauges(self, gauges: Gauges) -> None:
        """Add gauges, which are computed at each scrape."""
        self.registry.register(_Gauges(gauges))

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
            self._counters["llm_calls"].labels(*labels, "replied").inc(usage["llm_calls"])
            self._counters["tokens"].labels(*labels, "prompt").inc(usage["prompt_tokens"])
            self._counters["tokens"].labels(*labels, "completion").inc(usage["completion_tokens"])
            self._counters["cost"].labels(*labels).inc(usage["cost"])

    def count_failed_call(self, index: str, model: str) -> None:
        """Count a call of a language model without a reply in the requested form."""
        self._counters["llm_calls"].labels(index, model, "failed").inc()

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)


class _Gauges(Collector):
    """Collector that computes gauges at each scrape."""

    def __init__(self, gauges: Gauges) -> None:
        self._gauges = gauges

    def collect(self) -> Iterable[Metric]:
        families: dict[str, GaugeMetricFamily] = {}
        for name, description, labels, value in self._gauges():
            family = families.setdefault(name, GaugeMetricFamily(name, description, labels=list(labels)))
            family.add_metric(list(labels.values()), value)
        return families.values()

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that registering does not compute the gauges."""
        return ()


def operator_name(step: Mapping[str, Any]) -> str:
    """Return the name of a step's operator without its arguments.

    >>> operator_name({"operator": "VectorSearch(passages) % 10"})
    'VectorSearch'
    """
    name = str(step["operator"]).partition("(")[0].strip()
    return name if name.isidentifier() else "other"
