"""The tools that assistants call through MCP.

A tool is a method of `Tools`. Its signature is the schema of its arguments, and its docstring is its description for a
model. A result has structured content, and a shorter text for a model.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ConfigDict, Field

from graphwright.methods.registry import METHODS
from graphwright.models import Cancellation
from graphwright.serve import views
from graphwright.serve.jobs.table import Job, new_id
from graphwright.serve.mcp import results
from graphwright.serve.mcp.results import caller, current_request, errors_as, index_name, storable
from graphwright.serve.problems import NotFoundError
from graphwright.serve.schemas.answers import FilterBody, IndexesReply, Instruction, QueryReply, QueryText, SchemaReply
from graphwright.serve.schemas.documents import DocumentsReply, EntitiesReply, EntityReply, PathsReply, QueuedReply
from graphwright.serve.server import Library, Query, query_to
from graphwright.serve.workers import Lane

_DEFAULT_CHARACTERS, _MAX_CHARACTERS = 4_000, 50_000  # of `read_passage`
_JOB_SECONDS = 60.0  # for which a tool waits for the end of a job
_POLL_SECONDS = 0.1

Question = Annotated[str, Field(min_length=1, pattern=r"\S", description="A question in natural language.")]
_METHODS: Any = {"enum": [None, *METHODS]}
MethodName = Annotated[str | None, Field(json_schema_extra=_METHODS, description="Retrieval method.")]
TopK = Annotated[int | None, Field(ge=1, le=100, description="Number of passages.")]
AsOf = Annotated[
    str | None,
    Field(max_length=40, description="A date, such as 2024-03-31; what is later, or no longer holds, is left out."),
]
IndexName = Annotated[
    str | None, Field(description="Name of the index, as `status` lists them; needed where there are several.")
]
DocumentId = Annotated[str, Field(min_length=1, max_length=1_000, description="Id of a document, as in a citation.")]
EntityName = Annotated[str, Field(min_length=1, max_length=1_000, description="Name of an entity.")]
Limit = Annotated[int, Field(ge=1, le=50, description="Number of entries.")]
Offset = Annotated[int, Field(ge=0, le=10**9, description="Entries to leave out at the beginning.")]


@dataclass(frozen=True)
class Tools:
    """The tools of the MCP server, which query and change the indexes of a library."""

    library: Library

    async def ask(
        self,
        question: Question,
        method: MethodName = None,
        top_k: TopK = None,
        as_of: AsOf = None,
        instruction: Instruction = "",
        index: IndexName = None,
    ) -> Annotated[CallToolResult, results.AnswerResult]:
        """Answer a question from the indexed documents, with citations that were checked against their text.

        Says so where no answer is sure. Keep the markers [1] and name the sources when you pass the answer on.
        """
        name, query = self._query(question, method, top_k, as_of, index, instruction)
        reply = await self._run(query.ask, lane=query.lane)
        data = results.answer_result(name, reply)
        return _result(data, results.answer_text(data))

    async def retrieve(
        self,
        question: Question,
        method: MethodName = None,
        top_k: TopK = None,
        as_of: AsOf = None,
        index: IndexName = None,
    ) -> Annotated[CallToolResult, results.RetrievalResult]:
        """Return the passages that help to answer a question, the best first, with the place of each in its document.

        Quote them with document and characters.
        """
        name, query = self._query(question, method, top_k, as_of, index)
        data = results.retrieval_result(name, await self._run(query.retrieve, lane="retrieval"))
        return _result(data, results.retrieval_text(data))

    async def query(
        self, query: QueryText, filter: FilterBody | None = None, index: IndexName = None
    ) -> Annotated[CallToolResult, QueryReply]:
        """Count, sum, compare or list what tables, records and the graph state, exactly, with sources.

        Examples: `count(tickets where status = "open" and hours > 2)`, `sum((orders where customer = "Acme").amount)`,
        `largest(3 employees by salary).name`, `"Heat".directed_by.born_in`. Types and relations with blanks stand in
        [square brackets]; `schema` lists them.
        """
        opened = self.library.catalog[self._index(index)]
        conditions = None if filter is None else filter.model_dump(exclude_none=True)
        work = lambda cancel: self.library.query(opened, query, conditions or None, cancel)  # noqa: E731
        data = await self._run(work, lane="retrieval")
        return _result(data, results.query_text(data))

    async def schema(self, index: IndexName = None) -> Annotated[CallToolResult, SchemaReply]:
        """List the types and relations that `query` may name, with their numbers and an example."""
        opened = self.library.catalog[self._index(index)]
        data = await self._run(lambda _: opened.schema())
        return _result(data, results.schema_text(data))

    async def read_passage(
        self,
        document: DocumentId,
        start: Annotated[int, Field(ge=0, description="First character, as in a citation.")] = 0,
        end: Annotated[int | None, Field(ge=0, description="End; by default 4,000 characters after the start.")] = None,
        index: IndexName = None,
    ) -> Annotated[CallToolResult, results.PassageResult]:
        """Return characters of a document, such as those around a citation."""
        name = self._index(index)
        last = start + _DEFAULT_CHARACTERS if end is None else min(end, start + _MAX_CHARACTERS)
        text = await self._run(lambda _: views.text(self.library.catalog[name], document))
        data = results.passage_result(name, document, text, start, last)
        return _result(data, results.passage_text(data))

    async def find_entities(
        self,
        query: Annotated[
            str, Field(max_length=1_000, description="A name, or its beginning; empty: the best known.")
        ] = "",
        limit: Limit = 20,
        index: IndexName = None,
    ) -> Annotated[CallToolResult, EntitiesReply]:
        """Search people, places, organisations and other entities of the knowledge graph by name."""
        opened = self.library.catalog[self._index(index)]
        entities = await self._run(lambda _: views.entities(opened.snapshot, query, limit))
        return _result({"entities": entities}, results.entities_text(entities))

    async def neighbours(
        self, entity: EntityName, limit: Limit = 20, offset: Offset = 0, index: IndexName = None
    ) -> Annotated[CallToolResult, EntityReply]:
        """Return what the documents state about an entity: statements with their passages, and related entities."""
        snapshot = self.library.catalog[self._index(index)].graph
        data = await self._run(lambda _: views.entity(snapshot, views.node_of(snapshot, entity), offset, limit))
        return _result(data, results.entity_text(data))

    async def paths_between(
        self, source: EntityName, target: EntityName, limit: Limit = 3, index: IndexName = None
    ) -> Annotated[CallToolResult, PathsReply]:
        """Return the shortest chains of statements that connect two entities."""
        opened = self.library.catalog[self._index(index)]
        paths = await self._run(lambda _: views.paths(opened.graph, source, target, limit))
        empty = f"No chain of statements connects {source} and {target}."
        return _result({"paths": paths}, results.paths_text(paths) or empty)

    async def list_documents(
        self,
        query: Annotated[str, Field(max_length=1_000, description="Text that the id or the title contains.")] = "",
        limit: Limit = 50,
        offset: Offset = 0,
        index: IndexName = None,
    ) -> Annotated[CallToolResult, DocumentsReply]:
        """List the indexed documents with their ids, titles and lengths."""
        opened = self.library.catalog[self._index(index)]
        data = await self._run(lambda _: views.documents(opened, query, offset, limit))
        return _result(data, results.documents_text(data, offset))

    async def status(self, index: IndexName = None) -> Annotated[CallToolResult, IndexesReply]:
        """List the indexes with their sizes, default methods and language models."""
        names = [name for name in self.library.visible(caller()) if index in (None, name)]
        if index is not None and not names:
            raise NotFoundError(f"There is no index {index!r}; without a name, status lists all.")
        facts = await self._run(lambda _: [self.library.facts(name) for name in names])
        return _result({"indexes": facts}, results.status_text(facts))

    async def add_document(
        self,
        text: Annotated[str, Field(min_length=1, pattern=r"\S", description="The whole text.")],
        id: Annotated[str | None, Field(min_length=1, max_length=1_000, description="A known id replaces it.")] = None,
        title: Annotated[str, Field(max_length=1_000)] = "",
        index: IndexName = None,
    ) -> Annotated[CallToolResult, QueuedReply]:
        """Add a text to an index, or replace the document of this id."""
        name, jobs = self._index(index, writes=True), self.library.jobs

        def queue(_: Cancellation) -> Job:
            jobs.check_writable(name)
            upload = jobs.uploads.store_documents(new_id(), [{"title": title, "text": text, "id": id}])
            return jobs.submit(name, "add", {}, upload.folder.name)

        return await self._ended(await self._run(queue), name)

    async def remove_document(
        self, document: DocumentId, index: IndexName = None
    ) -> Annotated[CallToolResult, QueuedReply]:
        """Remove a document from an index."""
        name, jobs = self._index(index, writes=True), self.library.jobs

        def queue(_: Cancellation) -> Job:
            jobs.check_writable(name)
            views.check_removable(self.library.catalog[name], document)
            return jobs.submit(name, "remove", {"ids": [document]})

        return await self._ended(await self._run(queue), name)

    def _query(
        self,
        question: str,
        method: str | None,
        top_k: int | None,
        as_of: str | None,
        index: str | None,
        instruction: str = "",
    ) -> tuple[str, Query]:
        """Return the name of the requested index, and a query to it."""
        name, filter = self._index(index), None if as_of is None else {"as_of": as_of}
        return name, query_to(self.library, name, question, method, top_k, filter, instruction=instruction)

    def _index(self, index: str | None, *, writes: bool = False) -> str:
        """Return the name of the requested index, and store it in the HTTP request for the audit log."""
        name, request = index_name(self.library, index), current_request()
        if request is not None:
            request.state.required = "write" if writes else "read"
            request.scope.setdefault("path_params", {})["ix"] = name
        return name

    async def _run(self, work: Callable[[Cancellation], Any], *, lane: Lane = "reads") -> Any:
        return await self.library.workers.run(work, lane=lane)

    async def _ended(self, job: Job, name: str) -> CallToolResult:
        """Wait for the end of a job, at most a minute, and return its state."""
        clock = asyncio.get_running_loop().time
        id, end = job.id, clock() + _JOB_SECONDS
        while not job.has_ended and clock() < end:
            await asyncio.sleep(_POLL_SECONDS)
            job = await self._run(lambda _: self.library.jobs.get(id))
        data = job.to_dict(name)
        return _result({"job": data}, results.job_text(data))


_READING = {
    "ask": "Ask the documents",
    "retrieve": "Find passages",
    "query": "Compute over records",
    "schema": "Names for queries",
    "read_passage": "Read a document",
    "find_entities": "Find entities",
    "neighbours": "Explore an entity",
    "paths_between": "Connect two entities",
    "list_documents": "List documents",
    "status": "Status",
}
_WRITING = {"add_document": "Add a document", "remove_document": "Remove a document"}


def tools_of(library: Library, *, writing: bool) -> list[Tool]:
    """Return the tools for the SDK. `writing`: whether to include tools that change an index."""
    return [_tool(name, library) for name in (*_READING, *(_WRITING if writing else ()))]


def _tool(name: str, library: Library) -> Tool:
    """Return the tool of a library. With a single index, the argument `index` is not documented."""
    described = _described(name)
    method: Callable[..., Awaitable[CallToolResult]] = getattr(Tools(library), name)

    async def call(**arguments: Any) -> CallToolResult:
        with errors_as(ToolError, library):
            return await method(**arguments)

    parameters = described.parameters
    if len(library.catalog) == 1:
        properties = {name: schema for name, schema in parameters["properties"].items() if name != "index"}
        parameters = {**parameters, "properties": properties}
    return described.model_copy(update={"fn": call, "parameters": parameters})


@cache
def _described(name: str) -> Tool:
    """Return a tool, of no library, that refuses unknown arguments. Its models are made once: that takes long."""
    writes = name in _WRITING
    title = (_READING | _WRITING)[name]
    traits = ToolAnnotations(
        title=title, read_only_hint=not writes, destructive_hint=writes, idempotent_hint=True, open_world_hint=False
    )
    method = getattr(object.__new__(Tools), name)
    about = " ".join((method.__doc__ or "").split())
    tool = Tool.from_function(method, title=title, description=about, annotations=traits)
    known = tool.fn_metadata.arg_model
    tool.fn_metadata.arg_model = type(known.__name__, (known,), {"model_config": ConfigDict(extra="forbid")})
    tool.parameters = tool.fn_metadata.arg_model.model_json_schema()
    return tool


def _result(data: dict[str, Any], text: str) -> CallToolResult:
    content = json.loads(storable(json.dumps(data, ensure_ascii=False)))
    return CallToolResult(content=[TextContent(text=storable(text))], structured_content=content)
