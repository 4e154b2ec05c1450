"""Bodies of requests and replies about questions, queries, methods and indexes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from graphwright.operators.state import MAX_QUESTION

_MAX_PASSAGES = 200
_MAX_METHODS = 6

Question = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_QUESTION,
        description="The question.",
        examples=["On which river does Graz lie?"],
        pattern=r"\S",
    ),
]
MethodName = Annotated[
    str | None,
    Field(max_length=100, description="A name that GET /v1/methods lists; by default the index's.", examples=["ppr"]),
]
TopK = Annotated[
    int | None, Field(ge=1, le=_MAX_PASSAGES, description="Number of passages, by default the method's.", examples=[10])
]

Instruction = Annotated[
    str,
    Field(
        max_length=2_000,
        description="How the language model is to write the answer, by default in the language of the question.",
        examples=["for customers, in German, at most 80 words"],
    ),
]


class Body(BaseModel):
    """The body of a request. Unknown fields are errors, so that misspelt names are reported."""

    model_config = ConfigDict(extra="forbid")


class RangeBody(Body):
    """A range of numbers or dates, such as 9.5, 2024 or 2024-03-01."""

    at_least: str | int | float | None = None
    more_than: str | int | float | None = None
    at_most: str | int | float | None = None
    less_than: str | int | float | None = None


class FilterBody(Body):
    """The documents to search. They must meet all given conditions; other documents are not visible."""

    documents: Annotated[list[str] | None, Field(max_length=10_000, description="Ids of documents.")] = None
    folder: Annotated[str | None, Field(description="Folder that the ids lie in.", examples=["reports/2024"])] = None
    metadata: Annotated[
        dict[str, str | int | float | bool | RangeBody] | None,
        Field(description="Values or ranges by name.", examples=[{"year": 2024, "date": {"at_least": "2024-03"}}]),
    ] = None
    as_of: Annotated[
        str | None,
        Field(
            description="A date; later documents and versions, and statements that do not hold then, are left out.",
            examples=["2024-03"],
        ),
    ] = None


class Asked(Body):
    """A question, with the options of all routes."""

    question: Question
    top_k: TopK = None
    filter: Annotated[FilterBody | None, Field(description="Documents to search.", examples=[None])] = None
    offline: Annotated[
        bool, Field(description="Answer without the server's language model; without effect where there is none.")
    ] = False


class QuestionBody(Asked):
    """A question to one index."""

    method: MethodName = None
    stream: Annotated[bool, Field(description="Stream events, as with Accept: text/event-stream.")] = False


class TurnBody(Body):
    """A message of a conversation."""

    role: Literal["user", "assistant"]
    content: Annotated[str, Field(max_length=100_000)]


class AskBody(QuestionBody):
    """A question to answer, alone or after others."""

    history: Annotated[
        list[TurnBody] | None,
        Field(max_length=200, description="Messages before it, oldest first; [] for the first turn of a conversation."),
    ] = None
    model: Annotated[
        str | None, Field(max_length=200, description="One of the index's `models`; by default its own, `llm`.")
    ] = None
    instruction: Instruction = ""


class CompareBody(Asked):
    """A question to several methods."""

    methods: Annotated[
        list[Annotated[str, Field(max_length=100)]],
        Field(min_length=1, max_length=_MAX_METHODS, description="Names of methods.", examples=[["bm25", "ppr"]]),
    ]


class Reply(BaseModel):
    """The body of a reply."""


class TextReply(Reply):
    """Characters of a document, counted in Unicode code points."""

    document: str
    start: int
    end: int
    text: str


class CitationReply(TextReply):
    """A verified source of a statement."""

    chunk: str
    path: Annotated[list[str], Field(description="Names and relations in turn: the walk that led to the passage.")]
    shown_path: Annotated[list[str], Field(description="The part to show: at most three stated relations, or none.")]
    also_in: Annotated[list[str], Field(description="Documents with a copy of the passage.")] = []


class PassageReply(TextReply):
    """A retrieved passage."""

    id: str
    title: str
    score: float


class AnchorReply(Reply):
    """An entity or a relation that the question refers to."""

    text: str
    kind: str
    weight: float
    nodes: list[str]
    edges: list[list[str]]


class EvidenceReply(Reply):
    """An item of evidence: nodes, and edges as head, relation, tail."""

    nodes: list[str]
    edges: list[list[str]]
    score: float | None


class AskedQueryReply(Reply):
    """The query that the question was understood to ask of the facts."""

    query: Annotated[str, Field(description="The query as text, as the route `query` takes it.")]
    words: Annotated[str, Field(description="The query in English words.")]
    probability: Annotated[float, Field(description="The probability that the question asks this.")]


class RetrievalReply(Reply):
    """Passages and evidence for a question, as printed by `graphwright retrieve --json`."""

    question: str
    turn: Annotated[str | None, Field(description="The turn of a conversation that was taken to ask the question.")]
    method: str
    query: Annotated[AskedQueryReply | None, Field(description="Null where nothing is computed.")]
    passages: list[PassageReply]
    notes: Annotated[list[str], Field(description="What was not searched, as where a shard does not answer.")]
    anchors: list[AnchorReply]
    evidence: list[EvidenceReply]
    usage: dict[str, Any]
    trace: list[dict[str, Any]]


class AnswerReply(RetrievalReply):
    """An answer with its sources, as printed by `graphwright ask --json`."""

    found: Annotated[bool | None, Field(description="False where no answer is sure.")]
    answer: Annotated[str | None, Field(description="The text, with markers [1] that number the citations.")]
    short: list[str]
    headline: Annotated[str, Field(description="The beginning of the text that tells what is found, or nothing.")] = ""
    verified: Annotated[
        bool | None, Field(description="Whether every sentence has a quote of the documents, which it may misread.")
    ]
    unsupported: Annotated[list[str], Field(description="Sentences that rest on no verified quote.")]
    dropped: Annotated[list[str], Field(description="Quotes that are in no passage.")]
    choices: Annotated[list[str], Field(description="Names that a turn may mean, if the answer asks which.")]
    citations: list[CitationReply]
    fallback: Annotated[str | None, Field(description="Why the language model did not answer, if it failed.")] = None
    fallback_details: Annotated[str | None, Field(description="The same in detail, for the scope admin alone.")] = None
    instructed: Annotated[
        bool | None, Field(description="Whether a language model was told the instruction; null without one.")
    ] = None


class CompareReply(Reply):
    """The answers of several methods, in the order asked."""

    question: str
    results: list[AnswerReply]


class IndexReply(Reply):
    """An index."""

    name: str
    documents: int
    chunks: int
    nodes: int
    edges: int
    default_method: str
    imported: Annotated[bool, Field(description="Whether a graph was imported; documents may have been added to it.")]
    takes_documents: Annotated[
        bool, Field(description="False for a replica, and for an imported graph that is too large for documents.")
    ]
    current: Annotated[bool, Field(description="False where some stored documents cannot be searched yet.")]
    llm: Annotated[str | None, Field(description="The language model that answers; null: answers are quotations.")]
    models: Annotated[list[str], Field(description="The language models that a question may choose.")]
    reader: Annotated[str | None, Field(description="The language model that reads documents that are added, if any.")]
    extraction: Annotated[str | None, Field(description="mentions, rules or llm; null: what suits the language.")]
    own: Annotated[bool, Field(description="Whether it was made on this server, and can be renamed and deleted.")]
    former: Annotated[list[str], Field(description="Names that it had before.")]
    gate: Annotated[float, Field(description="What feedback has changed in the ranking; 0: nothing.")]
    snapshot: Annotated[int, Field(description="Revision of the documents that are searched.")]


class IndexesReply(Reply):
    """The indexes that this client may see; `new` is null if it can make none."""

    indexes: list[IndexReply]
    new: Annotated[dict[str, list[str]] | None, Field(description="Languages and models of an index to make.")] = None


class MethodReply(Reply):
    """A retrieval method."""

    name: str
    group: Annotated[str, Field(description="The heading of its group; a group's methods follow one another.")]
    about: str
    options: dict[str, Any]
    needs_llm: Annotated[bool, Field(description="Whether it has no offline form.")]


class MethodsReply(Reply):
    """All retrieval methods."""

    methods: list[MethodReply]


class ProblemReply(Reply):
    """An error, by RFC 9457."""

    type: Annotated[str, Field(examples=["urn:graphwright:problem:not-found"])]
    title: Annotated[str, Field(examples=["Not Found"])]
    status: Annotated[int, Field(examples=[404])]
    detail: Annotated[str, Field(examples=["There is no index 'x' here. GET /v1/indexes lists them."])]


def event_stream(description: str, *kinds: str) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI reply of a route that may send events of these kinds, or of the default kind."""
    properties = {"data": {"type": "string"}, **({"event": {"type": "string", "enum": list(kinds)}} if kinds else {})}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {200: {"description": description, "content": {"text/event-stream": {"schema": schema}}}}


PROBLEMS: dict[int | str, dict[str, Any]] = {  # the error replies of every route, for OpenAPI
    status: {"description": text, "content": {"application/problem+json": {"schema": ProblemReply.model_json_schema()}}}
    for status, text in (("4XX", "The request cannot be met."), ("5XX", "The server failed."))
}

QueryText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=8_000,
        pattern=r"\S",
        description="The query, in the notation of docs/queries.md.",
        examples=['count(tickets where status = "open" and hours > 2)'],
    ),
]


class QueryBody(Body):
    """A query over the statements of the graph and the records of the documents."""

    query: QueryText
    filter: Annotated[FilterBody | None, Field(description="Documents to search.", examples=[None])] = None


class SupportReply(TextReply):
    """A source."""

    chunk: str
    path: Annotated[list[str], Field(description="Subject, relation and object of the fact.")]
    location: Annotated[str, Field(description="Page or cell in the file of the document.")] = ""


class QueryReply(Reply):
    """What a query gives, as printed by `graphwright query --json`."""

    query: Annotated[str, Field(description="The query, as it was understood.")]
    words: Annotated[str, Field(description="The query in English words.")]
    value: Annotated[
        str | float | int | bool | None, Field(description="A number, yes or no, or a date; null for a set.")
    ]
    unit: str
    values: Annotated[list[str], Field(description="The names of the things of a set, 1,000 at most.")]
    dates: Annotated[
        list[str], Field(description="Of each name the dates of its statements, where these differ in time.")
    ]
    count: Annotated[int, Field(description="The number of things that are found, counted, or whose values are taken.")]
    rows: Annotated[list[dict[str, str]], Field(description="The fields of each record of a set, 1,000 at most.")]
    support: Annotated[list[SupportReply], Field(description="Sources, ten at most.")]
    support_count: Annotated[int, Field(description="The number of statements and records that support the result.")]
    notes: Annotated[list[str], Field(description="What else to know, such as values that were left out.")]


class TypeReply(Reply):
    """A type of things."""

    name: str
    count: int
    relations: Annotated[list[str], Field(description="The relations that things of this type have.")]


class RelationReply(Reply):
    """A relation, or a field of records."""

    name: str
    count: Annotated[int, Field(description="The number of its facts.")]
    example: Annotated[str, Field(description="One object.")]


class SchemaReply(Reply):
    """The names that queries may use, the most frequent first, 200 of each kind at most."""

    types: list[TypeReply]
    relations: list[RelationReply]
