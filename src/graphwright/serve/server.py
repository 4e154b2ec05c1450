"""Server: the shared state of all routes, and their dependencies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from graphwright import Index
from graphwright.errors import ModelError
from graphwright.models import Cancellation
from graphwright.serve.answer_models import AnswerModels
from graphwright.serve.authentication import RateLimits, granted
from graphwright.serve.catalog import Catalog
from graphwright.serve.jobs.queue import Jobs
from graphwright.serve.keys import Grant, Keys
from graphwright.serve.problems import NotFoundError
from graphwright.serve.settings import ServeSettings
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
