"""Replies of the routes about the graph and the texts of documents."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from graphwright.serve.schemas.answers import Reply
from graphwright.serve.schemas.documents import NamedEntity


class EntitySummary(Reply):
    """An entity in a list."""

    node: Annotated[int, Field(description="Its number in the current snapshot.")]
    name: str
    type: str
    passages: Annotated[int, Field(description="Number of passages that name it.")]
    degree: Annotated[int, Field(description="Number of its neighbours.")]


class EntitiesReply(Reply):
    """Entities, the best match first."""

    entities: list[EntitySummary]


class StatementReply(Reply):
    """A statement: an edge of the graph and the passages that state it."""

    head: str
    relation: str
    tail: str
    text: str
    passages: list[str]


class NeighbourReply(Reply):
    """The other end of a statement."""

    node: int
    name: str
    relation: str
    direction: Literal["in", "out"]


class NamingPassage(Reply):
    """A passage that names an entity."""

    node: int
    id: str | None = None
    document: str | None = None
    title: str | None = None
    start: int | None = None
    end: int | None = None


class EntityReply(EntitySummary):
    """An entity with a page of its statements, the neighbours that they name, and its passages."""

    text: str
    statements: list[StatementReply]
    total_statements: int
    passages: list[NamingPassage]  # type: ignore[assignment]
    total_passages: int
    neighbours: list[NeighbourReply]


class PathRelation(Reply):
    """A relation of a path; `forward`: whether it points along the path."""

    relation: str
    forward: bool
    text: str


class PathsReply(Reply):
    """The shortest paths between two nodes, each alternating nodes and relations; empty if there is no path."""

    paths: list[list[NamedEntity | PathRelation]]


class TextReply(Reply):
    """Characters of a document, counted in Unicode code points."""

    document: str
    start: int
    end: int
    text: str
