"""Chat completions in OpenAI's format: conversations, bodies, and replies with citations and sources."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode

from pydantic import BaseModel, ConfigDict, Field

from graphwright import Graph
from graphwright.errors import OptionError
from graphwright.generate import SOURCES
from graphwright.operators import also_in
from graphwright.serve.events import event
from graphwright.serve.schemas.answers import Body, CitationReply, FilterBody, Reply, TopK


class _OpenAIBody(BaseModel):
    """A body of OpenAI's interface. Other fields, such as temperature, are accepted and ignored."""

    model_config = ConfigDict(extra="allow")


class PartBody(_OpenAIBody):
    """A part of a message; only text is read."""

    type: str
    text: str | None = None


class MessageBody(_OpenAIBody):
    """A message of a conversation."""

    role: Annotated[str, Field(examples=["user"])]
    content: Annotated[str | list[PartBody] | None, Field(examples=["On which river does Graz lie?"])] = None

    def text(self) -> str:
        """Return its text. Raises OptionError for a part of a user's message that is not text."""
        if not isinstance(self.content, list):
            return self.content or ""
        other = [part.type for part in self.content if part.type not in ("text", "refusal")]
        if other and self.role == "user":
            raise OptionError(f"A message has a part of type {other[0]!r}; only text can be answered. Leave it out.")
        return "\n".join(part.text for part in self.content if part.text)


class StreamOptions(_OpenAIBody):
    """Options of a stream."""

    include_usage: bool = False


class OwnOptions(Body):
    """Options beyond OpenAI's interface; the `openai` client sends them as extra_body={"graphwright": {…}}."""

    footer: Annotated[bool | None, Field(description="End the text with its sources (default: the server's).")] = None
    top_k: TopK = None
    filter: Annotated[FilterBody | None, Field(description="Documents to search.", examples=[None])] = None
    offline: Annotated[bool, Field(description="Answer without the server's language model.")] = False


class ChatBody(_OpenAIBody):
    """A conversation; its last message of a user is the question."""

    model: Annotated[str, Field(max_length=300, description="INDEX or INDEX:METHOD.", examples=["my-index"])]
    messages: Annotated[list[MessageBody], Field(min_length=1, max_length=2_000)]
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: Annotated[int | None, Field(ge=1, le=1, description="Number of answers: 1.")] = None
    graphwright: OwnOptions = OwnOptions()


class ModelReply(Reply):
    """A model: an index with its default method or a named one."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class ModelsReply(Reply):
    """The models that this client may use."""

    object: Literal["list"]
    data: list[ModelReply]


class CitedReply(CitationReply):
    """A citation with its number in the text, the title of its document, and its URL on the page."""

    number: int
    title: str
    url: str


class ChatReply(Reply):
    """A chat completion with the further fields `citations` and `graphwright`."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[dict[str, Any]]
    usage: dict[str, int]
    citations: list[CitedReply]
    graphwright: dict[str, Any]


_MARKER = re.compile(r"\[(\d+(?:, ?\d+)*)\]")
_MARKUP = re.compile(r"([\\`*_\[\]<>])")
_MAX_QUOTE = 120  # characters of a quotation in the list of sources
_CHECKED = "\n\nChecked against the documents:\n"
"""Separates a streamed draft from the verified answer, if they differ."""


def with_addresses(output: Mapping[str, Any], base: str, index: str, graph: Graph) -> dict[str, Any]:
    """Add number, document title and URL to each citation of an answer. `base`: the page's URL, ending in a slash."""
    titles = {passage["id"]: passage["title"] for passage in output["passages"]}
    citations = [
        {
            "number": number,
            **cited,
            "title": titles.get(cited["chunk"]) or cited["document"] or cited["chunk"],
            "url": citation_url(base, index, cited, graph),
        }
        for number, cited in enumerate(output["citations"], 1)
    ]
    return {**output, "citations": citations}


def citation_url(base: str, index: str, citation: Mapping[str, Any], graph: Graph) -> str:
    """Return the URL that shows a citation on the page: characters of a document, or a node of a graph."""
    if citation["document"] and graph.passages is not None:
        place = urlencode({"index": index, "start": citation["start"], "end": citation["end"]})
        return f"{base}#/document/{quote(citation['document'], safe='', errors='replace')}?{place}"
    nodes = graph.ids(citation["chunk"]).tolist()
    return f"{base}#/graph?{urlencode({'index': index, **({'node': nodes[0]} if nodes else {})})}"


def url_citations(text: str, citations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the annotations of a message: one for each marker, and one at the end for each citation without a marker.

    `citations`: with `url` and `title`. Positions are characters (Unicode code points) of the message.

    >>> cited = [{"url": "http://x/#/document/graz?index=a&start=0&end=4", "title": "Graz"}]
    >>> url_citations("😀 The Mur. [1]", cited)[0]["url_citation"]["start_index"]
    11
    """
    places = [(number, *span) for numbers, span in _markers(text, citations) for number in numbers]
    marked = {number for number, *_ in places}
    places += [(n, len(text), len(text)) for n in range(1, len(citations) + 1) if n not in marked]
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "url": citations[number - 1]["url"],
                "title": citations[number - 1]["title"],
                "start_index": start,
                "end_index": end,
            },
        }
        for number, start, end in places
        if 0 < number <= len(citations)
    ]


def _markers(text: str, citations: list[dict[str, Any]]) -> Iterator[tuple[list[int], tuple[int, int]]]:
    """Yield the numbers and the span of each marker. A marker inside a quotation is text of the document, and skipped.

    >>> list(_markers("Its cause is unknown[1]. [1, 2]", [{"text": "Its cause is unknown[1]."}, {"text": "[2]"}]))
    [([1, 2], (25, 31))]
    """
    quotes = {quote for cited in citations if "[" in (quote := " ".join(cited.get("text", "").split()))}
    quoted = [match.span() for quote in quotes for match in re.finditer(re.escape(quote), text)]
    for match in _MARKER.finditer(text):
        if not any(start <= match.start() and match.end() <= end for start, end in quoted):
            yield list(map(int, match[1].split(","))), match.span()


def sources(citations: list[dict[str, Any]]) -> str:
    """Return the list of sources below an answer, in Markdown; empty without citations."""
    lines = []
    for number, cited in enumerate(citations, 1):
        text = " ".join(cited["text"].split())
        short = text if len(text) <= _MAX_QUOTE else f"{text[:_MAX_QUOTE].rpartition(' ')[0]} …"
        others = also_in(cited.get("also_in", ()))
        copies = f" ({_plain(others)})" if others else ""
        lines.append(f"[{number}] [{_plain(cited['title'])}]({cited['url']}): “{_plain(short)}”{copies}")
    return SOURCES + "\n".join(lines) if lines else ""


def _plain(text: str) -> str:
    """Escape a text for Markdown."""
    return _MARKUP.sub(r"\\\1", text)


@dataclass
class ChatWriter:
    """Writer of one chat completion. `footer`: append the sources; `include_usage`: send the usage last."""

    id: str
    created: int
    model: str
    footer: bool = False
    include_usage: bool = False
    _written: list[str] = field(default_factory=list, repr=False)

    def completion(self, output: Mapping[str, Any]) -> dict[str, Any]:
        """Return an answer (State.to_dict) as one chat completion."""
        citations, text = output["citations"], output["answer"] or ""
        message = {
            "role": "assistant",
            "content": text + (sources(citations) if self.footer else ""),
            "refusal": None,
            "annotations": url_citations(text, citations),
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return {**self._head("chat.completion"), "choices": [choice], "usage": _usage(output), **_extra_fields(output)}

    async def chunks(self, events: AsyncIterator[tuple[str, Mapping[str, Any]]]) -> AsyncIterator[bytes]:
        """Yield the encoded chunks for the events of an answer; its text streams as it is written."""
        yield self._chunk({"role": "assistant", "content": ""})
        async for kind, data in events:
            if kind == "token" and data["text"]:
                self._written.append(data["text"])
                yield self._chunk({"content": data["text"]})
            elif kind == "done":
                for chunk in self._end(data):
                    yield chunk
        yield b"data: [DONE]\n\n"

    def _end(self, output: Mapping[str, Any]) -> Iterator[bytes]:
        """Yield the last chunks of a stream: the rest of the text, the citations, the usage."""
        citations, final, draft = output["citations"], output["answer"] or "", "".join(self._written)
        if final.startswith(draft):
            rest, offset = final[len(draft) :], 0
        else:  # markers were renumbered, or quotes are in no passage
            rest, offset = _CHECKED + final, len(draft) + len(_CHECKED)
        rest += sources(citations) if self.footer else ""
        if rest:
            yield self._chunk({"content": rest})
        places = url_citations(final, citations)
        for place in places:
            place["url_citation"]["start_index"] += offset
            place["url_citation"]["end_index"] += offset
        yield self._chunk({"annotations": places}, "stop", _extra_fields(output))
        if self.include_usage:
            yield event("", {**self._head("chat.completion.chunk"), "choices": [], "usage": _usage(output)})

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, extra: dict[str, Any] | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return event("", {**self._head("chat.completion.chunk"), "choices": [choice], **(extra or {})})

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def _usage(output: Mapping[str, Any]) -> dict[str, int]:
    prompt, completion = output["usage"]["prompt_tokens"], output["usage"]["completion_tokens"]
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _extra_fields(output: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that OpenAI does not have: `citations`, and `graphwright` with facts about the answer."""
    names = ("question", "method", "found", "short", "verified", "unsupported", "dropped", "turn", "choices")
    facts = {name: output[name] for name in (*names, "fallback")}
    return {"citations": output["citations"], "graphwright": facts}
