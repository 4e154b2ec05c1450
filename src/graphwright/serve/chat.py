"""Completions in OpenAI's format: conversations, bodies, and replies with citations and sources."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, NamedTuple
from urllib.parse import quote, urlencode

from pydantic import BaseModel, ConfigDict, Field

from graphwright import Graph
from graphwright.errors import OptionError
from graphwright.generate import SOURCES
from graphwright.operators import also_in
from graphwright.serve.events import EventStream, event
from graphwright.serve.problems import UnsupportedError, openai_error
from graphwright.serve.schemas.answers import Body, CitationReply, FilterBody, Instruction, Reply, TopK


class OpenAIBody(BaseModel):
    """A body of OpenAI's interface. Other fields, such as temperature, are accepted and ignored."""

    model_config = ConfigDict(extra="allow")


class PartBody(OpenAIBody):
    """A part of a message; only text is read."""

    type: str
    text: str | None = None


class MessageBody(OpenAIBody):
    """A message of a conversation."""

    role: Annotated[str, Field(examples=["user"])]
    content: Annotated[str | list[PartBody] | None, Field(examples=["On which river does Graz lie?"])] = None
    images: Annotated[list[str] | None, Field(max_length=0, description="None: only text can be answered.")] = None

    def text(self) -> str:
        """Return its text. Raises OptionError for a part of a user's message that is not text."""
        if not isinstance(self.content, list):
            return self.content or ""
        other = [part.type for part in self.content if part.type not in ("text", "input_text", "refusal")]
        if other and self.role == "user":
            raise OptionError(f"A message has a part of type {other[0]!r}; only text can be answered. Leave it out.")
        return "\n".join(part.text for part in self.content if part.text)


class StreamOptions(OpenAIBody):
    """Options of a stream."""

    include_usage: bool = False


class OwnOptions(Body):
    """Options beyond OpenAI's interface; the `openai` client sends them as extra_body={"graphwright": {…}}."""

    footer: Annotated[bool | None, Field(description="End the text with its sources (default: the server's).")] = None
    top_k: TopK = None
    filter: Annotated[FilterBody | None, Field(description="Documents to search.", examples=[None])] = None
    offline: Annotated[bool, Field(description="Answer without the server's language model.")] = False
    instruction: Instruction = ""


class ModelBody(OpenAIBody):
    """A body that names a model."""

    model: Annotated[str, Field(max_length=300, description="INDEX or INDEX:METHOD.", examples=["my-index"])]


MaxTokens = Annotated[int | None, Field(ge=1, description="Where the text is cut; four bytes of UTF-8 are a token.")]
Messages = Annotated[list[MessageBody], Field(min_length=1, max_length=2_000)]
Stop = Annotated[
    str | Annotated[list[str], Field(max_length=16)] | None, Field(description="Texts before which the answer ends.")
]


class AskingBody(ModelBody):
    """A body that asks a model for one answer."""

    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: Annotated[int | None, Field(ge=1, le=1, description="Number of answers: 1.")] = None
    stop: Stop = None
    max_tokens: MaxTokens = None
    graphwright: OwnOptions = OwnOptions()


class ChatBody(AskingBody):
    """A conversation; its last message of a user is the question."""

    messages: Messages
    max_completion_tokens: MaxTokens = None
    response_format: Any = None


class CompletionBody(AskingBody):
    """A question in the older form of OpenAI's interface."""

    prompt: str | Annotated[list[str], Field(min_length=1, max_length=1)]


def refuse_format(name: str, value: Any) -> None:
    """Raise UnsupportedError where a field asks for another form than text."""
    if value not in (None, "", {}, {"type": "text"}):
        reason = f"the answer is text with citations; leave {name} out, or use the type text."
        raise UnsupportedError(f"{name} asks for another form than text, but {reason}")


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


class AnsweredReply(Reply):
    """A reply of a model, with the further fields `citations` and `graphwright`."""

    model: str
    citations: list[CitedReply]
    graphwright: dict[str, Any]


class ChatReply(AnsweredReply):
    """A completion of a conversation or a text."""

    id: str
    object: Literal["chat.completion", "text_completion"]
    created: int
    choices: list[dict[str, Any]]
    usage: dict[str, int]


_MARKER = re.compile(r"\[(\d+(?:, ?\d+)*)\]")
_MARKUP = re.compile(r"([\\`*_\[\]<>])")
_MAX_QUOTE = 120  # characters of a quotation in the list of sources
_CHECKED = "\n\nChecked against the documents:\n"  # before the verified answer, if the streamed draft differs


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


def url_citations(text: str, citations: list[dict[str, Any]], before: int = 0) -> list[dict[str, Any]]:
    """Return the annotations of a message: one for each marker, and one at the end for each citation without a marker.

    `citations`: with `url` and `title`. Positions are characters (Unicode code points) of the message, of which so many
    are `before` the text.

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
                "start_index": before + start,
                "end_index": before + end,
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


class Said(NamedTuple):
    """What a reply says: text, annotations, "stop" or "length", tokens of prompt and completion, and our own fields."""

    text: str
    annotations: list[dict[str, Any]]
    finish: str
    tokens: tuple[int, int]
    more: dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """Where the text of an answer ends: after its sources or without them, before `stop`, after `max_tokens`."""

    footer: bool = False
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None

    def cut(self, text: str) -> tuple[str, str]:
        """Return a text up to its end, and why it ends there.

        >>> Limits(stop=("x",), max_tokens=3).cut("It is next to it."), Limits(max_tokens=3).cut("It lies on the Mur.")
        (('It is ne', 'stop'), ('It lies on t', 'length'))
        """
        end = min((at for stop in self.stop if (at := text.find(stop)) >= 0), default=len(text))
        if self.max_tokens is None:
            return text[:end], "stop"
        size = 4 * self.max_tokens
        fitting = len(text[:end].encode("utf-8", "replace")[:size].decode("utf-8", "ignore"))
        return text[:fitting], "stop" if fitting == end else "length"

    def said(self, output: Mapping[str, Any], draft: str = "") -> Said:
        """Return what a reply says of an answer (State.to_dict). `draft`: text that was streamed before."""
        citations, answer, usage = output["citations"], output["answer"] or "", output["usage"]
        text, finish = self.cut(answer + (sources(citations) if self.footer else ""))
        before = "" if text.startswith(draft) else draft + _CHECKED  # markers renumbered, or quotes in no passage
        places, end = url_citations(answer, citations, len(before)), len(before + text)
        kept = [place for place in places if place["url_citation"]["end_index"] <= end]
        tokens = usage["prompt_tokens"], usage["completion_tokens"]
        return Said(before + text, kept, finish, tokens, _extra_fields(output))

    async def spoken(self, events: AsyncIterator[tuple[str, Mapping[str, Any]]]) -> AsyncIterator[str | Said]:
        """Yield the pieces of an answer's text as it is written, and at last what the reply says."""
        written, sent, held = "", "", max(map(len, self.stop), default=1) - 1  # what may be the beginning of a stop
        async for kind, data in events:
            said = self.said(data, sent) if kind == "done" else None
            written += data["text"] if kind == "token" else ""
            text = self.cut(written)[0][: max(0, len(written) - held)] if said is None else said.text
            if len(text) > len(sent):
                yield text[len(sent) :]
                sent = text
            if said is not None:
                yield said


@dataclass
class ChatWriter:
    """Writer of one chat completion. `include_usage`: send the usage last."""

    model: str
    include_usage: bool = False
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: float = field(default_factory=time.time)
    response: ClassVar[type[EventStream]] = EventStream
    names: ClassVar[tuple[str, str, str]] = "chatcmpl", "chat.completion", "chat.completion.chunk"

    def whole(self, said: Said) -> dict[str, Any]:
        """Return a reply as one object."""
        message = {"role": "assistant", "content": said.text, "refusal": None, "annotations": said.annotations}
        reply = self._reply(self.names[1], self.choice("message", message), said.finish)
        return {**reply, "usage": _usage(said.tokens), **said.more}

    async def stream(self, spoken: AsyncIterator[str | Said]) -> AsyncIterator[bytes]:
        """Yield the encoded chunks of a reply; its text streams as it is written."""
        yield self._chunk({"role": "assistant", "content": ""})
        async for said in spoken:
            if isinstance(said, str):
                yield self._chunk({"content": said})
                continue
            yield self._chunk({"annotations": said.annotations}, said.finish, said.more)
            if self.include_usage:
                yield event("", {**self._reply(self.names[2]), "choices": [], "usage": _usage(said.tokens)})
        yield b"data: [DONE]\n\n"

    def failed(self, problem: Mapping[str, Any]) -> bytes:
        """Return the last chunk of a stream that fails."""
        return event("", {"error": openai_error(problem)})

    def choice(self, name: str, message: dict[str, Any]) -> dict[str, Any]:
        """Return the part of a choice that holds a message."""
        return {name: message}

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, more: Mapping[str, Any] | None = None) -> bytes:
        return event("", {**self._reply(self.names[2], self.choice("delta", delta), finish), **(more or {})})

    def _reply(self, kind: str, choice: Mapping[str, Any] | None = None, finish: str | None = None) -> dict[str, Any]:
        choices = [{"index": 0, **(choice or {}), "logprobs": None, "finish_reason": finish}]
        head = {"id": f"{self.names[0]}-{self.id}", "object": kind, "created": int(self.created), "model": self.model}
        return {**head, "choices": choices}


class CompletionWriter(ChatWriter):
    """Writer of one completion in the older form of OpenAI's interface."""

    names = "cmpl", "text_completion", "text_completion"

    def choice(self, name: str, message: dict[str, Any]) -> dict[str, Any]:
        """Return the text of a message."""
        return {"text": message.get("content", "")}


def _usage(tokens: tuple[int, int]) -> dict[str, int]:
    return {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}


def _extra_fields(output: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that OpenAI does not have: `citations`, and `graphwright` with facts about the answer."""
    names = ("question", "method", "found", "short", "verified", "unsupported", "dropped", "turn", "choices")
    facts = {name: output[name] for name in (*names, "fallback")}
    return {"citations": output["citations"], "graphwright": facts}
