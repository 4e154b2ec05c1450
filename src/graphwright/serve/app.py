"""The FastAPI application: routers, middleware, error handlers, startup and shutdown; uvicorn that ends requests."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Route

from graphwright import __version__
from graphwright.errors import OptionError
from graphwright.serve.added_models import AddedModels
from graphwright.serve.authentication import Authentication, RateLimits, check_exposure
from graphwright.serve.catalog import Catalog
from graphwright.serve.keys import Keys
from graphwright.serve.logs import log
from graphwright.serve.mcp.server import McpEndpoint
from graphwright.serve.problems import install_handlers
from graphwright.serve.requests import Addressing, BodyLimits, HostGuard
from graphwright.serve.routes import (
    admin,
    compatible,
    documents,
    edits,
    extraction,
    feedback,
    indexes,
    jobs,
    originals,
    page,
    retrieval,
)
from graphwright.serve.schemas.answers import PROBLEMS
from graphwright.serve.server import Library, Server
from graphwright.serve.settings import ServeSettings
from graphwright.serve.telemetry import Gauges, Observation
from graphwright.serve.watching import SourceWatch


class DrainingServer(uvicorn.Server):
    """uvicorn's server, which calls `drain` that many seconds after its shutdown began, if requests still run."""

    def __init__(self, config: uvicorn.Config, drain: Callable[[], None], seconds: float) -> None:
        super().__init__(config)
        self._drain, self._seconds = drain, seconds

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down as uvicorn does."""
        timer = asyncio.get_running_loop().call_later(self._seconds, self._drain)
        try:
            await super().shutdown(sockets)
        finally:
            timer.cancel()


def server_config(app: Any, seconds: int, **options: Any) -> uvicorn.Config:
    """Return uvicorn's configuration for the application. `seconds`: for running requests at shutdown."""
    return uvicorn.Config(
        app,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=seconds,
        **options,
    )


_ABOUT = """Answers from documents and knowledge graphs, with citations that can be checked.

Offsets count Unicode code points. Errors are problems by RFC 9457."""
_ROUTERS = (
    page.router,
    page.status_router,
    page.session_router,
    indexes.router,
    retrieval.router,
    documents.graph_router,
    retrieval.chat_router,
    compatible.router,
    compatible.ollama_router,
    documents.router,
    originals.router,
    feedback.router,
    edits.router,
    extraction.router,
    jobs.router,
    admin.key_router,
    admin.model_router,
)


def create_app(catalog: Catalog, settings: ServeSettings | None = None) -> FastAPI:
    """Return the application that serves these indexes. Raises OptionError for settings that cannot be used."""
    settings = settings or ServeSettings()
    keys = Keys(settings.data)
    try:
        check_exposure(settings, keys)
    except OptionError:
        keys.close()
        raise
    limits = RateLimits(settings.requests_per_minute, settings.failures_per_minute)
    added = AddedModels(settings.data)
    server = Server(**vars(Library.of(catalog, settings, added)), keys=keys, limits=limits, added=added)
    server.telemetry.metrics.registry.register(Gauges(server))
    app = FastAPI(
        title="graphwright",
        version=__version__,
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,
        lifespan=_lifespan,
        # FastAPI's own spans contain the query string, and so questions.
        telemetry={"auto_configure": False, "tracing": False, "metrics": False, "logs": False},
        middleware=_guards(server),
    )
    app.state.server = server
    app.state.warm = asyncio.Event()
    app.router.routes += _routes()
    install_handlers(app)

    app.state.mcp = McpEndpoint(server)
    app.router.routes += [Route(path, app.state.mcp, include_in_schema=False) for path in ("/mcp", "/mcp/")]
    app.add_middleware(Addressing, root_path=settings.root_path)  # outermost: the others need the final path
    app.openapi()  # builds the schema now: FastAPI changes the warning filters for it, which is not thread-safe
    for key in keys.all():
        for name in key.indexes or ():
            if name not in catalog and key.state(time.time()) == "active":
                fault = "the key %s (%s) is for an index %r, which this server does not serve"
                log.warning(fault, key.id, key.name, name)
    return app


@cache
def _routes() -> list[BaseRoute]:
    """Return the routes of all applications: the models of their requests and replies take long to make."""
    router = APIRouter(generate_unique_id_function=lambda route: route.name)
    for each in _ROUTERS:
        router.include_router(each, responses=PROBLEMS)
    return router.routes


def _guards(server: Server) -> list[Middleware]:
    """Return the middleware, the outermost first. Observation is outermost, so it logs errors of the others too."""
    settings = server.settings
    hosts = frozenset(host.lower() for host in (settings.host, *settings.allowed_hosts))
    return [
        Middleware(Observation, telemetry=server.telemetry),
        Middleware(HostGuard, hosts=hosts),
        Middleware(BodyLimits, max_body=settings.max_body, max_upload=settings.max_upload),
        Middleware(Authentication, keys=server.keys, limits=server.limits),
    ]


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    server: Server = app.state.server

    async def warm() -> None:  # not by the workers, which have the time limit of a request
        await asyncio.to_thread(server.catalog.answers.wait)
        await asyncio.to_thread(server.catalog.warm_up)
        app.state.warm.set()

    server.jobs.start()
    warming = asyncio.create_task(warm())
    try:
        catalog, watching = server.catalog, SourceWatch(server.catalog, server.jobs, server.settings)
        with catalog.answers.running(), catalog.refreshing(server.settings.poll_seconds), watching.running():
            async with app.state.mcp.running():
                yield
    finally:
        warming.cancel()
        server.workers.close()
        server.jobs.close()
        server.catalog.close()
        server.keys.close()
        server.added.close()
