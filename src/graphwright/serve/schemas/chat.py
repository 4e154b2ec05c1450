"""Bodies of the OpenAI-compatible routes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from graphwright.errors import OptionError
from graphwright.serve.chat.conversation import Message
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

    def texts(self) -> list[Message]:
        """Return the messages with their texts."""
        return [Message(message.role, message.text()) for message in self.messages]


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
