"""Bodies of requests and replies about queries."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from graphwright.serve.schemas.answers import Body, FilterBody, Reply

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


class SupportReply(Reply):
    """A source: characters of a document, counted in Unicode code points."""

    document: str
    chunk: str
    start: int
    end: int
    text: str
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
