"""OpenTelemetry spans of requests, retrievals and LLM calls, with the GenAI semantic conventions.

Nothing is traced or exported unless an address is configured. Spans contain texts of questions and answers only if
`content` is set.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from graphwright.errors import OptionError
from graphwright.models.openai.model import checked_address

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

_ADDRESS = "OTEL_EXPORTER_OTLP_ENDPOINT"
_TRACES = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_NANO = 1_000_000_000


def trace_address(address: str | None, environment: Mapping[str, str]) -> str | None:
    """Return the URL for spans of a collector's address, else of OpenTelemetry's variables; None if neither is set."""
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true" or environment.get("OTEL_TRACES_EXPORTER") == "none":
        return None
    base = address or environment.get(_ADDRESS)
    whole = None if address else environment.get(_TRACES)
    if not (base or whole):
        return None
    return whole or f"{checked_address(str(base))}/v1/traces"


class Tracing:
    """Spans of a separate provider, which other libraries in the process do not use."""

    def __init__(self, provider: TracerProvider, *, content: bool = False) -> None:
        self._provider, self._content = provider, content
        self._tracer = provider.get_tracer("graphwright")

    @classmethod
    def exporting(cls, address: str, *, content: bool = False) -> Tracing:
        """Create tracing that exports to a URL. Raises OptionError without the packages of the extra `otel`."""
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise OptionError(
                f'spans cannot be sent to {address}: {error.name} is not installed. pip install "graphwright[otel]"'
            ) from error
        name = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "graphwright"}
        provider = TracerProvider(resource=Resource.create(name))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=address)))
        return cls(provider, content=content)

    @contextmanager
    def request(self, method: str, headers: Mapping[str, str]) -> Iterator[Span]:
        """Trace a request during the block, in the trace of its header `traceparent`."""
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        parent = TraceContextTextMapPropagator().extract(headers)
        span = self._tracer.start_span(method, parent, SpanKind.SERVER, {"http.request.method": method})
        try:
            yield span
        finally:
            span.end()

    def end_request(self, span: Span, method: str, route: str | None, status: int, request_id: str) -> None:
        """Record the result of a request, without its URL, which may contain questions."""
        from opentelemetry.trace import StatusCode

        if route is not None:
            span.update_name(f"{method} {route}")
            span.set_attribute("http.route", route)
        span.set_attributes({"http.response.status_code": status, "graphwright.request.id": request_id})
        if status >= 500:
            span.set_attribute("error.type", str(status))
            span.set_status(StatusCode.ERROR)

    def reply(self, index: str, reply: Mapping[str, Any], model: str | None, span: Span | None = None) -> None:
        """Trace the retrieval and the LLM calls of a reply that was just computed, in the JSON of the command line.

        The times of the steps come from its trace, and end now. `span`: the span of the request.
        """
        from opentelemetry.trace import set_span_in_context

        steps = reply.get("trace", ())
        begin = time.time_ns() - sum(_nano(step) for step in steps)
        ends = [begin]
        for step in steps:
            ends.append(ends[-1] + _nano(step))
        first = next((i for i, step in enumerate(steps) if str(step["operator"]).startswith("Generate")), len(steps))
        context = None if span is None else set_span_in_context(span)
        retrieval = self._span(f"retrieval {index}", context, begin, self._retrieval(index, reply))
        inside = set_span_in_context(retrieval)
        for at, step in enumerate(steps):
            if step["llm_calls"] and model is not None:
                answers = at >= first
                attributes = self._chat(model, step, reply if answers else None)
                self._span(f"chat {model}", context if answers else inside, ends[at], attributes, client=True).end(
                    ends[at + 1]
                )
        retrieval.end(ends[first])

    def _span(
        self, name: str, context: Context | None, begin: int, attributes: dict[str, Any], *, client: bool = False
    ) -> Span:
        from opentelemetry.trace import SpanKind

        kind = SpanKind.CLIENT if client else SpanKind.INTERNAL
        return self._tracer.start_span(name, context, kind, attributes, start_time=begin)

    def _retrieval(self, index: str, reply: Mapping[str, Any]) -> dict[str, Any]:
        passages = reply.get("passages", ())
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "retrieval",
            "gen_ai.data_source.id": index,
            "gen_ai.request.top_k": len(passages),
            "graphwright.method": str(reply.get("method")),
        }
        if self._content:
            documents = [{"id": passage["id"], "score": passage["score"]} for passage in passages]
            attributes["gen_ai.retrieval.query.text"] = reply["question"]
            attributes["gen_ai.retrieval.documents"] = json.dumps(documents)
        return attributes

    def _chat(self, model: str, step: Mapping[str, Any], answer: Mapping[str, Any] | None) -> dict[str, Any]:
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": model,
            "gen_ai.usage.input_tokens": step["prompt_tokens"],
            "gen_ai.usage.output_tokens": step["completion_tokens"],
            "graphwright.step": str(step["operator"]).partition("(")[0],
            "graphwright.llm_calls": step["llm_calls"],
            "graphwright.cost": step["cost"],
        }
        if self._content and answer is not None:
            parts = [{"type": "text", "content": answer.get("answer") or ""}]
            attributes["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": parts}])
        return attributes

    def close(self) -> None:
        """Export the remaining spans."""
        self._provider.shutdown()


def _nano(step: Mapping[str, Any]) -> int:
    return int(step["seconds"] * _NANO)
