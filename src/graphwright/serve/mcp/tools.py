"""The tools that assistants call through MCP: their arguments, what they do, and results with citations.

Each result has two forms: structured content, and a text that says the same to a model in fewer tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from graphwright.index_folder.index import Index
from graphwright.models.protocols import Cancellation
from graphwright.serve.answer_models import AnswerModels
from graphwright.serve.catalog import Catalog
from graphwright.serve.jobs.queue import Jobs
from graphwright.serve.jobs.table import new_id
from graphwright.serve.mcp.results import (
    AnswerResult,
    PassageResult,
    RetrievalResult,
    StatusResult,
    answer_result,
    answer_text,
    documents_text,
    entities_text,
    entity_text,
    job_text,
    passage_text,
    paths_text,
    retrieval_result,
    retrieval_text,
    status_text,
)
from graphwright.serve.problems import NotFoundError
from graphwright.serve.questions import Query, check_length
from graphwright.serve.schemas.documents import DocumentsReply, QueuedReply
from graphwright.serve.schemas.graph import EntitiesReply, EntityReply, PathsReply
from graphwright.serve.security.grants import Grant
from graphwright.serve.settings import ServeSettings
from graphwright.serve.views import documents as document_views
from graphwright.serve.views import graph as graph_views
from graphwright.serve.workers import Workers

ROOT = "graphwright://indexes"
"""Beginning of the addresses of resources."""
_DEFAULT_CHARACTERS, _MAX_CHARACTERS = 4_000, 50_000  # of a passage that is read
_JOB_SECONDS = 60.0  # that a tool waits for a job to end
_POLL = 0.1


@dataclass(frozen=True)
class Library:
    """What tools work on: indexes by name, threads to work in, and jobs that change indexes."""

    catalog: Catalog
    workers: Workers
    settings: ServeSettings
    models: AnswerModels
    jobs: Jobs
    report: Callable[[str, Mapping[str, Any]], None] = lambda name, reply: None


@dataclass(frozen=True)
class Call:
    """The call of a tool: for whom, and on which index."""

    library: Library
    grant: Grant
    name: str
    index: Index
    cancel: Cancellation


class Result(NamedTuple):
    """The result of a tool: as data, and as text."""

    data: dict[str, Any]
    text: str


class Arguments(BaseModel):
    """The arguments of a tool; one that is not documented is an error."""

    model_config = ConfigDict(extra="forbid")
    index: Annotated[
        str | None, Field(description="Name of the index, as `status` lists them; needed where there are several.")
    ] = None


_A = TypeVar("_A", bound=Arguments)
_Work = Callable[[Call, _A], Result]
Question = Annotated[str, Field(min_length=1, pattern=r"\S", description="A question in natural language.")]
MethodName = Annotated[str | None, Field(max_length=100, description="Retrieval method, by default the index's.")]
Text = Annotated[str, Field(min_length=1, max_length=1_000)]
Limit = Annotated[int, Field(ge=1, le=50, description="Number of entries.")]
Offset = Annotated[int, Field(ge=0, le=10**9, description="Entries to leave out at the beginning.")]


class QuestionArguments(Arguments):
    """A question."""

    question: Question
    method: MethodName = None
    top_k: Annotated[int | None, Field(ge=1, le=100, description="Number of passages.")] = None


class PassageArguments(Arguments):
    """Characters of a document."""

    document: Annotated[Text, Field(description="Id of a document, as in a citation.")]
    start: Annotated[int, Field(ge=0, description="First character, as in a citation.")] = 0
    end: Annotated[int | None, Field(ge=0, description="End; by default 4,000 characters after the start.")] = None


class SearchArguments(Arguments):
    """A name, or the beginning of one."""

    query: Annotated[str, Field(max_length=1_000, description="A name, or its beginning; empty: the best known.")] = ""
    limit: Limit = 20


class EntityArguments(Arguments):
    """An entity."""

    entity: Annotated[Text, Field(description="Its name.")]
    limit: Limit = 20
    offset: Offset = 0


class PathArguments(Arguments):
    """Two entities."""

    source: Annotated[Text, Field(description="Name of the first entity.")]
    target: Annotated[Text, Field(description="Name of the second entity.")]
    limit: Limit = 3


class ListArguments(Arguments):
    """Documents to list."""

    query: Annotated[str, Field(max_length=1_000, description="Text that the id or the title contains.")] = ""
    limit: Limit = 50
    offset: Offset = 0


class AddArguments(Arguments):
    """A document to add."""

    text: Annotated[str, Field(min_length=1, pattern=r"\S", description="The whole text.")]
    id: Annotated[str | None, Field(min_length=1, max_length=1_000, description="A known id replaces it.")] = None
    title: Annotated[str, Field(max_length=1_000)] = ""


class RemoveArguments(Arguments):
    """A document to remove."""

    document: Annotated[Text, Field(description="Its id.")]


@dataclass(frozen=True)
class Tool(Generic[_A]):
    """A tool. `work` runs in a thread; `writes`: whether it changes an index, `destroys`: whether something is lost."""

    work: _Work[_A]
    title: str
    arguments: type[_A]
    reply: type[BaseModel]
    writes: bool = False
    destroys: bool = False
    one_index: bool = True

    @property
    def name(self) -> str:
        """The name of its function, without the underscore."""
        return self.work.__name__.lstrip("_")

    @property
    def about(self) -> str:
        """The documentation of its function, which tells a model when to call it."""
        return " ".join((self.work.__doc__ or "").split())

    async def call(self, library: Library, grant: Grant, name: str, arguments: _A) -> Result:
        """Return the result, computed in a worker's thread; a change is waited for a while."""
        index = library.catalog[name]
        llm = self.name == "ask" and library.models.llm(name) is not None
        result = await library.workers.run(
            lambda cancel: self.work(Call(library, grant, name, index, cancel), arguments), llm=llm
        )
        return await _waited(library, name, result) if self.writes else result


TOOLS: dict[str, Tool[Any]] = {}
"""All tools by name."""


def _tool(title: str, arguments: type[_A], reply: type[BaseModel], **traits: bool) -> Callable[[_Work[_A]], _Work[_A]]:
    """Return the decorator that adds a function to TOOLS. `traits`: writes, destroys, one_index."""

    def added(work: _Work[_A]) -> _Work[_A]:
        tool = Tool(work, title, arguments, reply, **traits)
        TOOLS[tool.name] = tool
        return work

    return added


async def _waited(library: Library, name: str, result: Result) -> Result:
    """Return the state of a job when it has ended, or after some time if it runs longer."""
    id, end = result.data["job"]["id"], asyncio.get_running_loop().time() + _JOB_SECONDS
    job = await library.workers.run(lambda _: library.jobs.get(id))
    while not job.has_ended and asyncio.get_running_loop().time() < end:
        await asyncio.sleep(_POLL)
        job = await library.workers.run(lambda _: library.jobs.get(id))
    data = {"job": job.to_dict(name)}
    return Result(data, job_text(data["job"]))


def address(index: str, kind: str, id: str | None = None) -> str:
    """Return the address of a resource.

    >>> address("wiki", "documents", "a/b#c.md")
    'graphwright://indexes/wiki/documents/a%2Fb%23c.md'
    """
    return "/".join([ROOT, *(quote(part, safe="") for part in (index, kind, *([] if id is None else [id])))])


@_tool("Ask the documents", QuestionArguments, AnswerResult)
def _ask(call: Call, given: QuestionArguments) -> Result:
    """Answer a question from the indexed documents, with citations that were checked against their text.

    Says so where the documents do not answer it. Keep the markers [1] and name the sources when you pass the answer
    on.
    """
    reply = _query(call, given).ask(call.index, call.cancel)
    call.library.report(call.name, reply)
    data = answer_result(call.name, reply, lambda document: address(call.name, "documents", document))
    return Result(data, answer_text(data))


@_tool("Find passages", QuestionArguments, RetrievalResult)
def _retrieve(call: Call, given: QuestionArguments) -> Result:
    """Return the passages that help to answer a question, the best first, with the place of each in its document.

    Quote them with document and characters.
    """
    reply = _query(call, given).retrieve(call.index, call.cancel)
    call.library.report(call.name, reply)
    data = retrieval_result(call.name, reply, lambda document: address(call.name, "documents", document))
    return Result(data, retrieval_text(data))


def _query(call: Call, given: QuestionArguments) -> Query:
    settings = call.library.settings
    llm = call.library.models.answering(call.name)
    check_length(given.question, settings)
    return Query(given.question, given.method, given.top_k, None, llm, settings.deadline)


@_tool("Read a document", PassageArguments, PassageResult)
def _read_passage(call: Call, given: PassageArguments) -> Result:
    """Return characters of a document, such as those around a citation."""
    document_views.check_document(call.index.graph, given.document)
    text = call.index.text(given.document)
    end = given.start + _DEFAULT_CHARACTERS if given.end is None else min(given.end, given.start + _MAX_CHARACTERS)
    part = graph_views.document_text(text, given.start, end)
    data = {
        "document": given.document,
        "address": address(call.name, "documents", given.document),
        "characters": len(text),
        **part,
    }
    return Result(data, passage_text(data))


@_tool("Find entities", SearchArguments, EntitiesReply)
def _find_entities(call: Call, given: SearchArguments) -> Result:
    """Search people, places, organisations and other entities of the knowledge graph by name."""
    data = {"entities": graph_views.entities(call.index.snapshot, given.query, given.limit)}
    return Result(data, entities_text(data))


@_tool("Explore an entity", EntityArguments, EntityReply)
def _neighbours(call: Call, given: EntityArguments) -> Result:
    """Return what the documents state about an entity: statements with their passages, and related entities."""
    graph = call.index.graph
    data = graph_views.entity(graph, graph_views.node_of(graph, given.entity), given.offset, given.limit)
    return Result(data, entity_text(data))


@_tool("Connect two entities", PathArguments, PathsReply)
def _paths_between(call: Call, given: PathArguments) -> Result:
    """Return the shortest chains of statements that connect two entities."""
    graph = call.index.graph
    ends = graph_views.node_of(graph, given.source), graph_views.node_of(graph, given.target)
    data = {"paths": graph_views.paths(graph, *ends, given.limit)}
    return Result(data, paths_text(data, given.source, given.target))


@_tool("List documents", ListArguments, DocumentsReply)
def _list_documents(call: Call, given: ListArguments) -> Result:
    """List the indexed documents with their ids, titles and lengths."""
    data = document_views.documents(call.index, given.query, given.offset, given.limit)
    return Result(data, documents_text(data, given.offset))


@_tool("Status", Arguments, StatusResult, one_index=False)
def _status(call: Call, given: Arguments) -> Result:
    """List the indexes with their sizes, default methods and language models."""
    library = call.library
    names = [name for name in library.catalog if call.grant.sees(name) and given.index in (None, name)]
    if given.index is not None and not names:
        raise NotFoundError(f"There is no index {given.index!r}; without a name, status lists all.")
    data = {"indexes": [index_status(library, name) for name in names]}
    return Result(data, status_text(data))


def index_status(library: Library, name: str) -> dict[str, Any]:
    """Return facts about an index."""
    index = library.catalog[name]
    graph = index.graph
    return {
        "name": name,
        "documents": index.documents,
        "passages": 0 if graph.passages is None else len(graph.passages),
        "entities_and_passages": len(graph),
        "edges": len(graph.edges),
        "default_method": index.default_method,
        "language_model": library.models.name(name),
        "current": index.is_current,
        "being_written": index.is_being_written,
    }


@_tool("Add a document", AddArguments, QueuedReply, writes=True, destroys=True)
def _add_document(call: Call, given: AddArguments) -> Result:
    """Add a text to an index, or replace the document of this id."""
    jobs = call.library.jobs
    jobs.check_writable(call.name)
    upload = jobs.uploads.store_documents(new_id(), [{"title": given.title, "text": given.text, "id": given.id}])
    job = jobs.submit(call.name, "add", {}, upload.folder.name)
    return Result({"job": job.to_dict(call.name)}, "")


@_tool("Remove a document", RemoveArguments, QueuedReply, writes=True, destroys=True)
def _remove_document(call: Call, given: RemoveArguments) -> Result:
    """Remove a document from an index."""
    jobs = call.library.jobs
    jobs.check_writable(call.name)
    document_views.check_removable(call.index, given.document)
    job = jobs.submit(call.name, "remove", {"ids": [given.document]})
    return Result({"job": job.to_dict(call.name)}, "")
