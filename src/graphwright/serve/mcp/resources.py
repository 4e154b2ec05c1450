"""Resources of the MCP server: documents, entities and facts about indexes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from mcp.server import MCPServer
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp_types import ListResourcesResult, Resource

from graphwright.graph.columns import Listed
from graphwright.serve.mcp.calls import ROOT, address, caller, errors_as, index_name, storable
from graphwright.serve.security.grants import Grant
from graphwright.serve.server import Library
from graphwright.serve.views import documents, graph

_MAX_STATEMENTS = 100  # of an entity
# Ids of documents may look like paths, but are not.
_IDS = ResourceSecurity(reject_path_traversal=False, reject_absolute_paths=False)


def add_resources(server: MCPServer[Any], library: Library) -> None:
    """Add the resources of a library to a server."""

    async def read(work: Callable[[], str]) -> str:
        with errors_as(ResourceNotFoundError, library):
            return storable(await library.workers.run(lambda _: work()))

    @server.resource(f"{ROOT}/{{index}}/documents/{{document}}", mime_type="text/plain", security=_IDS)
    async def document(index: str, document: str) -> str:
        """The text of a document."""
        return await read(lambda: documents.text(library.catalog[index_name(library, index)], document))

    @server.resource(f"{ROOT}/{{index}}/entities/{{entity}}", mime_type="application/json", security=_IDS)
    async def entity(index: str, entity: str) -> str:
        """Statements, neighbours and passages of an entity."""

        def described() -> str:
            snapshot = library.catalog[index_name(library, index)].graph
            return json.dumps(graph.entity(snapshot, graph.node_of(snapshot, entity), 0, _MAX_STATEMENTS))

        return await read(described)

    @server.resource(f"{ROOT}/{{index}}/stats", mime_type="application/json")
    async def stats(index: str) -> str:
        """Sizes, method and language model of an index."""
        return await read(lambda: json.dumps(library.facts(index_name(library, index))))


@dataclass(frozen=True)
class ResourceList:
    """Middleware that lists the resources visible to the client, page by page; the SDK's list is the same for all."""

    library: Library
    page: int

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Answer `resources/list`, and pass on everything else."""
        if ctx.method != "resources/list" or ctx.request_id is None:
            return await call_next(ctx)
        cursor = str((ctx.params or {}).get("cursor") or "")
        first, grant = int(cursor) if cursor.isdecimal() else 0, caller()
        resources = await self.library.workers.run(lambda _: self._listed(grant, first))
        following = str(first + self.page) if len(resources) > self.page else None
        return ListResourcesResult(resources=resources[: self.page], next_cursor=following)

    def _listed(self, grant: Grant, first: int) -> list[Resource]:
        """Return the resources from number `first` on, one more than a page."""
        entries = (
            (name, document)
            for name in self.library.visible(grant)
            for document in chain((None,), documents.listed(self.library.catalog[name]))
        )
        return [_resource(*entry) for entry in islice(entries, first, first + self.page + 1)]


def _resource(index: str, document: Listed | None) -> Resource:
    """Return the resource of a document, None for the facts about the index."""
    if document is None:
        about = "Sizes, method and language model of the index."
        uri, name = address(index, "stats"), f"{index}: stats"
        return Resource(uri=uri, name=name, mime_type="application/json", description=about)
    return Resource(
        uri=address(index, "documents", document.id),
        name=document.id,
        title=document.title or None,
        mime_type="text/plain",
        description=f"{document.characters:,} characters, in the index {index}",
    )
