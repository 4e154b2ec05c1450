"""Resources of the MCP server: documents, entities and facts about indexes, and the completion of their names."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp.server import MCPServer
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp_types import Completion, CompletionArgument, CompletionContext, ListResourcesResult, Resource

from graphwright.serve.mcp.calls import ROOT, address, caller, errors_as, index_name, storable
from graphwright.serve.security.grants import Grant
from graphwright.serve.server import Library
from graphwright.serve.views import documents, graph

_MAX_STATEMENTS = 100  # of an entity
_MAX_COMPLETIONS = 20
# Ids of documents may look like paths, but are not.
_IDS = ResourceSecurity(reject_path_traversal=False, reject_absolute_paths=False)


def add_resources(server: MCPServer[Any], library: Library) -> None:
    """Add the resources of a library, and the completion of their names, to a server."""

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

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(_: Any, argument: CompletionArgument, context: CompletionContext | None) -> Completion:
        index = ((context.arguments if context else None) or {}).get("index")
        values = await library.workers.run(lambda _: completions(library, argument.name, argument.value, index))
        return Completion(values=values[:_MAX_COMPLETIONS], has_more=len(values) > _MAX_COMPLETIONS)


def completions(library: Library, name: str, begun: str, index: str | None) -> list[str]:
    """Return values of an argument that begin with, or contain, a text, from the indexes that the caller sees."""
    visible = library.visible(caller())
    if name == "index":
        return [other for other in visible if other.startswith(begun)]
    chosen = index if index in visible else visible[0] if len(visible) == 1 else None
    if chosen is None:
        return []
    opened = library.catalog[chosen]
    if name == "document":
        listed = documents.documents(opened, begun, 0, _MAX_COMPLETIONS + 1)
        return [document["id"] for document in listed["documents"]]
    if name == "entity":
        return [entity["name"] for entity in graph.entities(opened.snapshot, begun, _MAX_COMPLETIONS + 1)]
    return []


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
        resources: list[Resource] = []
        skip = first
        for name in self.library.visible(grant):
            resources += [_stats(name)] if skip == 0 and len(resources) <= self.page else []
            left = self.page + 1 - len(resources)
            listed = documents.documents(self.library.catalog[name], "", max(skip - 1, 0), left)
            resources += [_document(name, document) for document in listed["documents"]]
            skip = max(skip - 1 - listed["total"], 0)
        return resources


def _stats(index: str) -> Resource:
    about = "Sizes, method and language model of the index."
    return Resource(
        uri=address(index, "stats"), name=f"{index}: stats", mime_type="application/json", description=about
    )


def _document(index: str, document: dict[str, Any]) -> Resource:
    return Resource(
        uri=address(index, "documents", document["id"]),
        name=document["id"],
        title=document["title"] or None,
        mime_type="text/plain",
        description=f"{document['characters']:,} characters, in the index {index}",
    )
