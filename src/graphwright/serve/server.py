"""Server: the shared state of all routes, their dependencies, and queries to its indexes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from graphwright import Event, Index
from graphwright.errors import OptionError
from graphwright.generate import Message
from graphwright.methods.registry import method_named
from graphwright.models import Cancellation
from graphwright.serve import answering
from graphwright.serve.added_models import AddedModels
from graphwright.serve.answering import FAILED_CALL, Asking, Retrieving
from graphwright.serve.authentication import RateLimits, granted
from graphwright.serve.catalog import Catalog, Work
from graphwright.serve.events import JSONReply, to_json
from graphwright.serve.failures import WatchedLLM
from graphwright.serve.jobs.queue import Jobs
from graphwright.serve.jobs.table import Job
from graphwright.serve.keys import Key, Keys
from graphwright.serve.problems import NotFoundError
from graphwright.serve.processes import Processes
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
        if (number := settings.processes) > 1:
            catalog.answers = Processes(number, catalog, settings.log_format)
        folders, telemetry = {name: index.path for name, index in catalog.items()}, Telemetry(settings.data)
        models = AnswerModels(
            settings.llm, settings.model_servers, folders, telemetry.fail_call, settings.models, number
        )
        if added is not None:
            added.offer_to(models)
        for name, record in catalog.records.items():
            models.choose(name, record.model)
        workers = Workers(max(settings.threads, number), settings.llm_threads, settings.queue, settings.timeout)
        return cls(catalog, settings, models, workers, Jobs(catalog, settings, models), telemetry)

    def visible(self, grant: Key) -> list[str]:
        """Return the names of the indexes that a grant sees."""
        return [name for name in self.catalog if grant.sees(name)]

    def index(self, name: str, grant: Key) -> Index:
        """Return an index. Raises NotFoundError if it does not exist, or the grant does not see it."""
        index = self.catalog.get(name)
        if index is None or not grant.sees(name):
            raise NotFoundError(f"There is no index {name!r} here. GET /v1/indexes lists them.")
        return index

    def query(self, index: Index, query: str, filter: Mapping[str, Any] | None, cancel: Cancellation) -> dict[str, Any]:
        """Return what a query gives (see `Index.query`)."""
        work = partial(answering.query, query, filter)
        reply: dict[str, Any] = self.catalog.answers.do(index, work, cancel, lambda kind, data: None)
        return reply

    def facts(self, name: str) -> dict[str, Any]:
        """Return the facts about an index, in the form of IndexReply."""
        index = self.catalog[name]
        snapshot, model, record = index.snapshot, self.models.name(name), self.catalog.records.get(name)
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
            "own": record is not None,
            "former": [] if record is None else record.former,
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


ServerOf = Annotated[Server, Depends(server_of)]  # the server, as a parameter of a route


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

    async def reply(self, work: Callable[[Cancellation], Any], *, lane: Lane = "reads") -> JSONReply:
        """Return the result of work as JSON, which is encoded in its thread."""
        return JSONReply(await self.run(lambda cancel: to_json(work(cancel)), lane=lane))

    async def submit(self, kind: str, task: Mapping[str, Any] | Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """Queue a job on the index, with a task or one that is made in a thread; return the reply that names it."""

        def queue(_: Cancellation) -> Job:
            return self.server.jobs.submit(self.ix, kind, task() if callable(task) else task)

        return {"job": (await self.run(queue)).to_dict(self.ix)}


async def call_of(ix: str, server: ServerOf, request: Request) -> Call:
    """Return the call of a request. Raises NotFoundError if the client sees no index with this name."""
    return Call(ix, server.index(ix, granted(request)), server, request)


CallOf = Annotated[Call, Depends(call_of)]  # the call, as a parameter of a route below an index


@dataclass(frozen=True)
class Query:
    """A question to the index `name`. `llm`: the language model, None for an offline answer; `model`: its name."""

    library: Library
    name: str
    index: Index
    asked: Asking
    llm: WatchedLLM | None
    model: str | None

    @property
    def lane(self) -> Lane:
        """The lane of an answer to this query: whether it asks a language model."""
        return "answers" if self.llm is None or "llm" not in method_named(self.asked.method).options else "llm"

    def retrieve(self, cancel: Cancellation) -> dict[str, Any]:
        """Return passages and evidence. Raises OptionError for a method that only asks a language model."""
        asked = self.asked
        if method_named(asked.method).required:
            raise OptionError(
                f"{asked.method} asks a language model only, and retrieves nothing. Ask it, or name another one."
            )
        work = Retrieving(asked.question, asked.method, asked.top_k, asked.filter)
        return self._counted(self._done(work, cancel))

    def ask(
        self,
        cancel: Cancellation,
        on_event: Callable[[Event], None] | None = None,
        history: Sequence[Message] | None = None,
    ) -> dict[str, Any]:
        """Return the answer with its citations; `on_event` is called with each event. `history`: as in `Index.ask`."""
        turns = None if history is None else tuple(history)
        work = replace(self.asked, history=turns, streams=on_event is not None)
        return self._counted(self._done(work, cancel, on_event))

    def compare(self, others: Sequence[Query], cancel: Cancellation) -> list[dict[str, Any]]:
        """Return the answers of this query and of others to the same index, which differ in their methods."""
        asked = (self.asked, *(other.asked for other in others))
        return [self._counted(reply) for reply in self._done(partial(answering.compare, asked), cancel)]

    def _counted(self, reply: dict[str, Any]) -> dict[str, Any]:
        self.library.telemetry.metrics.count_reply(self.name, reply, self.model)
        return reply

    def _done(self, work: Work, cancel: Cancellation, on_event: Callable[[Event], None] | None = None) -> Any:
        def send(kind: Any, data: Any) -> None:
            if kind == FAILED_CALL and self.llm is not None:
                self.llm.report(data)
            elif on_event is not None:
                on_event(Event(kind, data))

        return self.library.catalog.answers.do(self.index, work, cancel, send)


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
    settings, opened = library.settings, library.catalog[index]
    if len(question) > (limit := settings.max_question):
        raise OptionError(f"The question has {len(question):,} characters; this server takes {limit:,}.")
    name = method_named(method or opened.default_method).name
    llm = None if offline else library.models.answering(index, model)
    told = "\n".join(part for part in (settings.instruction, instruction) if part.strip())
    asked = Asking(question, name, top_k, filter, llm and llm.llm, settings.deadline, told, for_admin)
    return Query(library, index, opened, asked, llm, model or library.models.name(index))
