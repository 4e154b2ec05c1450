"""Server: the shared state of all routes, their dependencies, and queries to its indexes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from graphwright import Event, Index, State
from graphwright.errors import OptionError
from graphwright.generate import Message
from graphwright.methods.registry import method_named
from graphwright.models import Cancellation
from graphwright.operators import Run
from graphwright.operators.run import NOT_FOLLOWED
from graphwright.search.snapshot import SnapshotCache
from graphwright.serve.added_models import AddedModels
from graphwright.serve.authentication import RateLimits, granted
from graphwright.serve.catalog import Catalog
from graphwright.serve.failures import WatchedLLM
from graphwright.serve.jobs.queue import Jobs
from graphwright.serve.keys import Key, Keys
from graphwright.serve.problems import NotFoundError
from graphwright.serve.settings import AnswerModels, ServeSettings
from graphwright.serve.telemetry import Telemetry
from graphwright.serve.workers import Lane, Workers

_T = TypeVar("_T")


@dataclass(frozen=True)
class Library:
    """The indexes of a server, with their worker threads, language models and jobs."""

    catalog: Catalog
    settings: ServeSettings
    models: AnswerModels
    workers: Workers
    jobs: Jobs
    telemetry: Telemetry

    @classmethod
    def of(cls, catalog: Catalog, settings: ServeSettings, added: AddedModels | None = None) -> Library:
        """Return the library of open indexes. `added`: further models that every question may choose."""
        folders, telemetry = {name: index.path for name, index in catalog.items()}, Telemetry(settings.data)
        models = AnswerModels(settings.llm, settings.model_servers, folders, telemetry.fail_call, settings.models)
        if added is not None:
            added.offer_to(models)
        for name, record in catalog.records.items():
            models.choose(name, record.model)
        workers = Workers(settings.threads, settings.llm_threads, settings.queue, settings.timeout)
        return cls(catalog, settings, models, workers, Jobs(catalog, settings, models), telemetry)

    def visible(self, grant: Key) -> list[str]:
        """Return the names of the indexes that a grant sees."""
        return [name for name in self.catalog if grant.sees(name)]

    def index(self, name: str, grant: Key) -> Index:
        """Return an index. Raises NotFoundError if it does not exist, or the grant does not see it."""
        if name not in self.catalog or not grant.sees(name):
            raise NotFoundError(f"There is no index {name!r} here. GET /v1/indexes lists them.")
        return self.catalog[name]

    def facts(self, name: str) -> dict[str, Any]:
        """Return the facts about an index, in the form of IndexReply."""
        index = self.catalog[name]
        snapshot, model = index.snapshot, self.models.name(name)
        passages, extraction = snapshot.graph.passages, self.catalog.record(name, self.settings.extract).extraction
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
            "models": self.models.choices(name),
            "reader": model if extraction == "llm" else None,
            "extraction": extraction,
            "own": name in self.catalog.records,
            "gate": index.gate,
            "snapshot": int(snapshot.about.get("revision", 0)),
        }


@dataclass(frozen=True)
class Server(Library):
    """A library served over HTTP."""

    keys: Keys
    limits: RateLimits
    added: AddedModels

    @property
    def closed(self) -> bool:
        """Whether requests need a key."""
        return self.keys.exist()


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

    async def run(self, work: Callable[[Cancellation], _T], *, lane: Lane = "reads") -> _T:
        """Run work in a thread, until the client disconnects; see `Workers.run`."""
        return await self.server.workers.run(work, self.request, lane=lane)

    async def submit(self, kind: str, task: Mapping[str, Any]) -> dict[str, Any]:
        """Queue a job on the index; return the reply that names it."""
        return {"job": (await self.run(lambda _: self.server.jobs.submit(self.ix, kind, task))).to_dict(self.ix)}


async def call_of(ix: str, server: ServerOf, request: Request) -> Call:
    """Return the call of a request. Raises NotFoundError if the client sees no index with this name."""
    return Call(ix, server.index(ix, granted(request)), server, request)


CallOf = Annotated[Call, Depends(call_of)]
"""The call, as a parameter of a route below an index."""


_searched: SnapshotCache[None] = SnapshotCache()


@dataclass(frozen=True)
class Query:
    """A question to an index.

    `llm`: None for an offline answer; `deadline`: seconds until it continues without it; `instruction`: for its text.
    `for_admin`: whether the reply tells details of a failure of the language model.
    """

    index: Index
    question: str
    method: str
    top_k: int | None
    filter: Mapping[str, Any] | None
    llm: WatchedLLM | None
    deadline: float | None
    instruction: str
    report: Callable[[Mapping[str, Any]], None]
    for_admin: bool = False

    def retrieve(self, cancel: Cancellation) -> dict[str, Any]:
        """Return passages and evidence. Raises OptionError for a method that only asks a language model."""
        if method_named(self.method).required:
            raise OptionError(
                f"{self.method} asks a language model only, and retrieves nothing. Ask it, or name another one."
            )
        return self._reported(self.index.retrieve(self.question, self.method, run=_run(cancel), **self._options()))

    def warm_up(self, cancel: Cancellation) -> None:
        """Search by the method, unless this snapshot was searched by it, so that no time is that of loading."""

        def search() -> None:
            self.index.retrieve(self.question, self.method, run=_run(cancel))

        if not method_named(self.method).required:
            _searched.get(self.index.graph.columns, self.method, search)

    def ask(
        self,
        cancel: Cancellation,
        on_event: Callable[[Event], None] | None = None,
        history: Sequence[Message] | None = None,
    ) -> dict[str, Any]:
        """Return the answer with its citations; `on_event` is called with each event. `history`: as in `Index.ask`."""
        models = {"llm": self.llm, "deadline": self.deadline} if self.lane == "llm" else {}

        def forward(event: Event) -> None:
            if on_event is not None:
                on_event(Event("done", self._told(event.data)) if event.kind == "done" else event)

        options = self._options(history=history, on_event=on_event and forward, instruction=self.instruction, **models)
        return self._told(self._reported(self.index.ask(self.question, self.method, run=_run(cancel), **options)))

    @property
    def lane(self) -> Lane:
        """The lane of an answer to this query: whether it asks a language model."""
        return "answers" if self.llm is None or "llm" not in method_named(self.method).options else "llm"

    def _options(self, **more: Any) -> dict[str, Any]:
        options = {"top_k": self.top_k, "filter": self.filter, **more}
        return {name: value for name, value in options.items() if value is not None}

    def _told(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        quoted = any(NOT_FOLLOWED in step["notes"] for step in reply["trace"])
        told = {**reply, "fallback": self.llm and self.llm.fallback}
        told["instructed"] = not quoted if self.instruction else None
        if self.llm and self.for_admin and (details := self.llm.fallback_details):
            told["fallback_details"] = details
        return told

    def _reported(self, state: State) -> dict[str, Any]:
        reply = state.to_dict(method=self.method, top_k=self.top_k)
        self.report(reply)
        return reply


def query_to(
    library: Library,
    index: str,
    question: str,
    method: str | None,
    top_k: int | None,
    filter: Mapping[str, Any] | None,
    *,
    offline: bool = False,
    model: str | None = None,
    instruction: str = "",
    for_admin: bool = False,
) -> Query:
    """Return a query, with a language model unless `offline`; by default that of the index.

    `instruction`: for the text of the answer, after that of the server. `for_admin`: tell details of a model's failure.

    Raises OptionError for too long a question, an unknown method, and a model that cannot be chosen.
    """
    limit, opened = library.settings.max_question, library.catalog[index]
    if len(question) > limit:
        raise OptionError(f"The question has {len(question):,} characters; this server takes {limit:,}.")
    name = method_named(method or opened.default_method).name
    llm = None if offline else library.models.answering(index, model)
    answering = model or library.models.name(index)

    def report(reply: Mapping[str, Any]) -> None:
        library.telemetry.metrics.count_reply(index, reply, answering)

    settings = library.settings
    told = "\n".join(part for part in (settings.instruction, instruction) if part.strip())
    return Query(opened, question, name, top_k, filter, llm, settings.deadline, told, report, for_admin)


def _run(cancel: Cancellation) -> Run:
    """Return a run that ends after the step in which it is cancelled."""
    return Run(cancel=cancel, on_step=lambda _: cancel.check())
