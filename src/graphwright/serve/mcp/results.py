"""MCP calls: rights of the caller, the requested index, errors, and results as structured content and text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any
from urllib.parse import quote

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from pydantic import BaseModel, Field
from starlette.requests import Request

from graphwright.errors import GraphwrightError, counted
from graphwright.operators import also_in
from graphwright.operators.run import NOT_FOLLOWED
from graphwright.serve.authentication import granted
from graphwright.serve.keys import LOCAL, Key
from graphwright.serve.problems import NotFoundError
from graphwright.serve.schemas.answers import PassageReply, TextReply
from graphwright.serve.server import Library
from graphwright.serve.views import document_text

ROOT = "graphwright://indexes"
"""Prefix of the addresses of resources."""
_request: ContextVar[Request | None] = ContextVar("request", default=None)


async def keep_request(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Store the HTTP request during a call, for tools and resources."""
    _request.set(ctx.request)
    return await call_next(ctx)


def current_request() -> Request | None:
    """Return the HTTP request of the current call; None over stdio."""
    return _request.get()


def caller() -> Key:
    """Return the rights of the client; over stdio, all rights."""
    request = _request.get()
    return LOCAL if request is None else granted(request)


def index_name(library: Library, name: str | None) -> str:
    """Return the name of the requested or the only index. Raises NotFoundError if it is unknown or ambiguous."""
    visible = library.visible(caller())
    if name is None and len(visible) == 1:
        return visible[0]
    if name not in visible:
        problem = "Name an index" if name is None else f"There is no index {name!r}"
        raise NotFoundError(f"{problem}; there are: {', '.join(visible) or 'none that this key sees'}.")
    return str(name)


def address(index: str, kind: str, id: str | None = None) -> str:
    """Return the address of a resource."""
    return "/".join([ROOT, *(quote(part, safe="") for part in (index, kind, *([] if id is None else [id])))])


@contextmanager
def errors_as(kind: type[Exception], library: Library) -> Iterator[None]:
    """Raise a GraphwrightError as an error of the protocol, without paths; the SDK logs and hides other errors."""
    try:
        yield
    except GraphwrightError as error:
        raise kind(library.catalog.without_paths(str(error))) from error


def storable(text: str) -> str:
    """Return a text without lone surrogates, which cannot be encoded as UTF-8."""
    return text.encode("utf-8", "replace").decode()


_SHOWN = 50  # things in the text of a query's result
Address = Annotated[str, Field(description="The document as a resource.")]


class Citation(TextReply):
    """A verified source; offsets count Unicode code points of the document's text."""

    number: Annotated[int, Field(description="Its marker in the answer.")]
    address: Address
    also_in: Annotated[list[str], Field(description="Documents with a copy of the passage.")]
    path: Annotated[
        list[str],
        Field(description="Names and relations in turn that led to it; empty unless they are few and stated."),
    ]


class AnswerResult(BaseModel):
    """An answer with its sources."""

    index: str
    question: str
    method: str
    found: Annotated[bool | None, Field(description="False where no answer is sure.")]
    answer: str | None
    short: list[str]
    citations: list[Citation]
    unsupported: Annotated[list[str], Field(description="Quotes or sentences that no passage supports.")]
    fallback: Annotated[str | None, Field(description="Why the server's language model did not answer, if it failed.")]
    instructed: Annotated[bool | None, Field(description="False where no model wrote it, so that none was instructed.")]
    notes: Annotated[list[str], Field(description="What was not searched, as where a shard does not answer.")]


class FoundPassage(PassageReply):
    """A retrieved passage."""

    address: Address


class RetrievalResult(BaseModel):
    """Passages, the best first."""

    index: str
    question: str
    method: str
    passages: list[FoundPassage]
    notes: Annotated[list[str], Field(description="What was not searched, as where a shard does not answer.")]


class PassageResult(TextReply):
    """Characters of a document."""

    address: Address
    characters: Annotated[int, Field(description="Length of the whole document.")]


Reply = Mapping[str, Any]


def answer_result(index: str, reply: Reply) -> dict[str, Any]:
    """Return an answer's structured content, given the JSON that `graphwright ask --json` prints."""
    citations = [
        {
            **_fields(Citation, citation),
            "number": number,
            "also_in": citation.get("also_in", []),
            "path": citation["shown_path"],
            "address": address(index, "documents", citation["document"]),
        }
        for number, citation in enumerate(reply["citations"], 1)
    ]
    return {**_fields(AnswerResult, reply), "index": index, "citations": citations}


def answer_text(data: Reply) -> str:
    """Return an answer with its numbered sources."""
    lines = [data["answer"] or "The documents do not answer this question."]
    if data["fallback"]:
        lines.insert(0, f"{data['fallback']} What follows was found without it.\n")
    notes = [*data["notes"], NOT_FOLLOWED] if data["instructed"] is False else data["notes"]
    if notes:
        lines += ["", *_noted(notes)]
    if data["citations"]:
        lines += ["", "Sources:"]
    for citation in data["citations"]:
        place = f"{citation['document']}, characters {citation['start']}-{citation['end']}"
        others = f", {also_in(citation['also_in'])}" if citation["also_in"] else ""
        lines.append(f"[{citation['number']}] {place}{others}: “{citation['text']}” ({citation['address']})")
    if data["unsupported"]:
        lines += ["", "Not supported by any passage:", *(f"- {text}" for text in data["unsupported"])]
    return "\n".join(lines)


def retrieval_result(index: str, reply: Reply) -> dict[str, Any]:
    """Return the structured content of a retrieval, given the JSON that `graphwright retrieve --json` prints."""
    passages = [
        {**_fields(FoundPassage, passage), "address": address(index, "documents", passage["document"])}
        for passage in reply["passages"]
    ]
    return {**_fields(RetrievalResult, reply), "index": index, "passages": passages}


def _fields(model: type[BaseModel], values: Reply) -> dict[str, Any]:
    """Return the values for the fields of a model."""
    return {name: values[name] for name in model.model_fields if name in values}


def passage_result(index: str, document: str, text: str, start: int, end: int) -> dict[str, Any]:
    """Return the structured content of a part of a document's text."""
    place = {"document": document, "address": address(index, "documents", document), "characters": len(text)}
    return {**place, **document_text(text, start, end)}


def retrieval_text(data: Reply) -> str:
    """Return numbered passages, each below its document and characters."""
    parts = [
        f"[{number}] {passage['document']}, characters {passage['start']}-{passage['end']}\n{passage['text']}"
        for number, passage in enumerate(data["passages"], 1)
    ]
    return "\n\n".join([*(parts or ["No passages were found."]), *_noted(data["notes"])])


def _noted(notes: Iterable[str]) -> list[str]:
    return [f"Note: {text}." for text in notes]


def query_text(data: Reply) -> str:
    """Return what a query gives in words, with its sources."""
    dated = zip(data["values"], data["dates"] or [""] * len(data["values"]), strict=True)
    shown = [f"{name} ({date})" if date else name for name, date in dated]
    value = ", ".join(shown[:_SHOWN]) if data["value"] is None else str(data["value"])
    rest = data["count"] - _SHOWN if data["value"] is None else 0
    lines = [f"{data['words']}: {value or 'nothing'}{f' and {rest} more' if rest > 0 else ''} {data['unit']}".rstrip()]
    lines += data["notes"]
    if data["support"]:
        lines += ["", f"Sources ({len(data['support'])} of {data['support_count']}):"]
    for source in data["support"]:
        lines.append(f"- {source['document']}, characters {source['start']}-{source['end']}: “{source['text']}”")
    return "\n".join(lines)


def schema_text(data: Reply) -> str:
    """Return types and relations, one a line."""
    types = [f"type {item['name']} ({item['count']}): {', '.join(item['relations'])}" for item in data["types"]]
    relations = [f"relation {item['name']} ({item['count']}): {item['example']}" for item in data["relations"]]
    return "\n".join([*types, *relations]) or "The index states no facts."


def passage_text(data: Reply) -> str:
    """Return characters of a document below a line with their position."""
    place = f"{data['document']}, characters {data['start']}-{data['end']} of {data['characters']}"
    return f"{place}\n\n{data['text']}"


def entities_text(entities: Iterable[Reply]) -> str:
    """Return entities, one a line."""
    lines = [
        f"{entity['name']}{' (' + entity['type'] + ')' if entity['type'] else ''}: "
        f"{counted(entity['passages'], 'passage')}, {counted(entity['degree'], 'neighbour')}"
        for entity in entities
    ]
    return "\n".join(lines) or "No entity has such a name."


def entity_text(data: Reply) -> str:
    """Return an entity with its statements, one a line, and its passages."""
    lines = [data["text"], "", f"Statements ({data['total_statements']} in all):"]
    lines += [
        f"- {statement['head']} — {statement['relation']} → {statement['tail']}: {statement['text']} "
        f"[{', '.join(statement['passages'])}]"
        for statement in data["statements"]
    ]
    places = [
        f"{passage['document']} {passage['start']}-{passage['end']}"
        for passage in data["passages"]
        if passage.get("document")
    ]
    return "\n".join([*lines, "", f"Passages ({data['total_passages']} in all): {'; '.join(places) or 'none'}"])


def paths_text(paths: Iterable[Iterable[Reply]]) -> str:
    """Return paths, one a line."""
    return "\n".join("".join(map(_step, path)) for path in paths)


def _step(part: Reply) -> str:
    if "name" in part:
        return str(part["name"])
    return f" —{part['relation']}→ " if part["forward"] else f" ←{part['relation']}— "


def documents_text(data: Reply, offset: int) -> str:
    """Return documents, one a line."""
    lines = [
        f"{item['id']}{': ' + item['title'] if item['title'] else ''} ({item['characters']} characters)"
        for item in data["documents"]
    ]
    shown = f"{offset + 1}-{offset + len(lines)} of {data['total']}" if lines else f"none of {data['total']}"
    return "\n".join([f"Documents {shown}:", *lines])


def status_text(indexes: Iterable[Reply]) -> str:
    """Return facts about indexes, one a line."""
    return "\n".join(
        f"{index['name']}: {index['documents']} documents, {index['chunks']} passages, {index['edges']} edges; "
        f"method {index['default_method']}; "
        + (f"answers by {index['llm']}" if index["llm"] else "answers are quotations")
        for index in indexes
    )


def job_text(job: Reply) -> str:
    """Return the state of a job."""
    if job["state"] in ("queued", "running"):
        return f"The job {job['id']} is {job['state']}; it goes on by itself."
    return f"{job['state'].capitalize()}: {job['message']}"
