"""Server: the shared state of all routes, their dependencies, and queries to its indexes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from graphwright import Event, Index, State
from graphwright.errors import ModelError, OptionError
from graphwright.generate import Reply
from graphwright.methods.registry import method_named
from graphwright.models import LLM, Cancellation
from graphwright.operators import Run
from graphwright.serve.authentication import RateLimits, granted
from graphwright.serve.catalog import Catalog
from graphwright.serve.jobs.queue import Jobs
from graphwright.serve.keys import Grant, Keys
from graphwright.serve.problems import NotFoundError
from graphwright.serve.settings import AnswerModels, ServeSettings
from graphwright.serve.telemetry import Telemetry
from graphwright.serve.workers import Workers

_T = TypeVar("_T")


@dataclass(frozen=True)
class Library:
    """The indexes of a server, with their worker threads, language models and jobs."""

    catalog: Catalog
    settings: ServeSettings
    models: AnswerModels
    workers: Workers
    jobs: Jobs

    @classmethod
    def of(
        cls, catalog: Catalog, settings: ServeSettings, report: Callable[[str, str, ModelError], None] | None = None
    ) -> Library:
        """Return the library of open indexes. `report`: see AnswerModels."""
        folders = {name: index.path for name, index in catalog.items()}
        models = AnswerModels(settings.llm, settings.model_servers, folders, report)
        workers = Workers(settings.threads, settings.llm_threads, settings.queue, settings.timeout)
        return cls(catalog, settings, models, workers, Jobs(catalog, settings, models))

    def visible(self, grant: Grant) -> list[str]:
        """Return the names of the indexes that a grant sees."""
        return [name for name in self.catalog if grant.sees(name)]

    def index(self, name: str, grant: Grant) -> Index:
        """Return an index. Raises NotFoundError if it does not exist, or the grant does not see it."""
        if name not in self.catalog or not grant.sees(name):
            raise NotFoundError(f"There is no index {name!r} here. GET /v1/indexes lists them.")
        return self.catalog[name]

    def facts(self, name: str) -> dict[str, Any]:
        """Return the facts about an index, in the form of IndexReply."""
        index = self.catalog[name]
        snapshot, model = index.snapshot, self.models.name(name)
        passages = snapshot.graph.passages
        return {
            "name": name,
            "documents": index.documents,
            "chunks": 0 if passages is None else len(passages),
            "nodes": len(snapshot.graph),
            "edges": len(snapshot.graph.edges),
            "default_method": index.default_method,
            "imported": index.imported is not None,
            "takes_documents": index.takes_documents and name not in self.catalog.replicas,
            "current": index.is_current,
            "llm": model,
            "reader": model if self.settings.extract else None,
            "snapshot": int(snapshot.about.get("revision", 0)),
        }

    def reporter(self, name: str) -> Callable[[Mapping[str, Any]], None]:
        """Return the function to call with each reply about an index; here it does nothing."""
        return lambda reply: None


@dataclass(frozen=True)
class Server(Library):
    """A library served over HTTP."""

    keys: Keys
    limits: RateLimits
    telemetry: Telemetry

    @property
    def closed(self) -> bool:
        """Whether requests need a key."""
        return self.keys.exist()

    def reporter(self, name: str) -> Callable[[Mapping[str, Any]], None]:
        """Return the function that records a reply about an index in metrics."""
        model = self.models.name(name)
        return lambda reply: self.telemetry.metrics.count_reply(name, reply, model)


async def server_of(request: Request) -> Server:
    """Return the server of a request."""
    server: Server = request.app.state.server
    return server


ServerOf = Annotated[Server, Depends(server_of)]
"""The server, as a parameter of a route."""


@dataclass(frozen=True)
class Call:
    """A request about the index of its path, which has the name `ix`."""

    ix: str
    index: Index
    server: Server
    request: Request

    async def run(self, work: Callable[[Cancellation], _T], *, llm: bool = False) -> _T:
        """Run work in a thread, until the client disconnects; see `Workers.run`."""
        return await self.server.workers.run(work, self.request, llm=llm)


async def call_of(ix: str, server: ServerOf, request: Request) -> Call:
    """Return the call of a request. Raises NotFoundError if the client sees no index with this name."""
    return Call(ix, server.index(ix, granted(request)), server, request)


CallOf = Annotated[Call, Depends(call_of)]
"""The call, as a parameter of a route below an index."""


@dataclass(frozen=True)
class Query:
    """A question to an index. `llm`: None for an offline answer; `deadline`: seconds until it continues without it."""

    question: str
    method: str | None = None
    top_k: int | None = None
    filter: Mapping[str, Any] | None = None
    llm: LLM | None = None
    deadline: float | None = None
    report: Callable[[Mapping[str, Any]], None] = lambda reply: None

    def retrieve(self, index: Index, cancel: Cancellation | None = None) -> dict[str, Any]:
        """Return passages and evidence. Raises OptionError for a method that only asks a language model."""
        name, options = replace(self, llm=None)._method(index)
        if method_named(name).required:
            raise OptionError(f"{name} asks a language model only, and retrieves nothing. Ask it, or name another one.")
        return self._reported(index.retrieve(self.question, name, run=_run(cancel), **options), name)

    def ask(
        self, index: Index, cancel: Cancellation | None = None, on_event: Callable[[Event], None] | None = None
    ) -> dict[str, Any]:
        """Return the answer with its citations; `on_event` is called with each event."""
        name, options = self._method(index)
        run = _run(cancel) if on_event is None else Run(cancel=cancel)
        return self._reported(index.ask(self.question, name, run=run, on_event=on_event, **options), name)

    def reply(
        self,
        index: Index,
        text: str,
        cancel: Cancellation | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> dict[str, Any]:
        """Return a text that is no answer, in the form of one; nothing is searched."""
        run = _run(cancel) if on_event is None else Run(cancel=cancel)
        state = index.ask(self.question, Reply(text), run=run, on_event=on_event)
        return self._reported(state, self._method(index)[0])

    def _reported(self, state: State, method: str) -> dict[str, Any]:
        reply = state.to_dict(method=method, top_k=self.top_k)
        self.report(reply)
        return reply

    def waits_for_llm(self, index: Index) -> bool:
        """Return whether an answer to this query asks a language model."""
        return "llm" in self._method(index)[1]

    def _method(self, index: Index) -> tuple[str, dict[str, Any]]:
        """Return the method's name and its options. Raises OptionError for an unknown one."""
        name = self.method or index.default_method
        options: dict[str, Any] = {"top_k": self.top_k, "filter": self.filter}
        if self.llm is not None and "llm" in method_named(name).options:
            options |= {"llm": self.llm, "deadline": self.deadline}
        return name, {option: value for option, value in options.items() if value is not None}


def query_to(
    library: Library,
    index: str,
    question: str,
    method: str | None = None,
    top_k: int | None = None,
    filter: Mapping[str, Any] | None = None,
    *,
    offline: bool = False,
) -> Query:
    """Return a query, with the language model unless `offline`. Raises OptionError for too long a question."""
    limit = library.settings.max_question
    if len(question) > limit:
        raise OptionError(f"The question has {len(question):,} characters; this server takes {limit:,}.")
    llm = None if offline else library.models.answering(index)
    report = library.reporter(index)
    return Query(question, method, top_k, filter, llm, library.settings.deadline, report)


def _run(cancel: Cancellation | None) -> Run:
    """Return a run that ends after the step in which it is cancelled."""
    return Run() if cancel is None else Run(cancel=cancel, on_step=lambda _: cancel.check())
