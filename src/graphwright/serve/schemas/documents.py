"""Bodies of requests and replies about documents, their texts and the graph."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from graphwright.serve.jobs.table import Kind, Progress, State
from graphwright.serve.schemas.answers import Body, Reply


class FailedPart(Reply):
    """A file, or a chunk of a document, that could not be read."""

    document: str
    chunk: int | None
    reason: str


class ChangesReply(Reply):
    """Changes by a job: numbers of documents, and the first parts that failed."""

    added: int
    moved: int = 0
    replaced: int
    removed: int
    unchanged: int
    retained: Annotated[int, Field(description="Documents that stay because unreadable files may hold them.")]
    failed: list[FailedPart]
    skipped: Annotated[int, Field(description="Number of files and rows that were not read.")]
    pending: Annotated[int, Field(description="Number of chunks that the language model has not read.")]
    extracted: Annotated[int, Field(description="Number of chunks that a language model has read, or a rebuild.")]
    off_schema: Annotated[int, Field(description="Number of entities and relations found that fit no type.")] = 0
    usage: dict[str, Any]


class JobReply(Reply):
    """A change of an index."""

    id: str
    index: str
    kind: Kind
    state: State
    cancelling: Annotated[bool, Field(description="Whether it is cancelled, and runs until its next step.")]
    created: str
    started: str | None
    finished: str | None
    attempts: int
    progress: Progress | None
    message: str
    changes: ChangesReply | None


class QueuedReply(Reply):
    """The job queued by a request."""

    job: JobReply


class JobsReply(Reply):
    """Jobs, the newest first, and the number of all matches."""

    jobs: list[JobReply]
    total: int


_MAX_DOCUMENTS = 10_000
_MAX_ID = 1_000
_RESERVED = {"id", "text", "title", "links"}


class DocumentBody(Body):
    """A document as text."""

    id: Annotated[
        str | None,
        Field(min_length=1, max_length=_MAX_ID, description="By default made from the text.", examples=["graz.md"]),
    ] = None
    title: Annotated[str, Field(max_length=_MAX_ID, examples=["Graz"])] = ""
    text: Annotated[str, Field(min_length=1, pattern=r"\S", examples=["Graz lies on the Mur in Styria."])]
    metadata: Annotated[
        dict[str, str | int | float | bool],
        Field(default_factory=dict, max_length=100, description="Values by name.", examples=[{"year": 2024}]),
    ]

    @field_validator("metadata")
    @classmethod
    def _check_names(cls, metadata: dict[str, Any]) -> dict[str, Any]:
        if reserved := sorted(_RESERVED & metadata.keys()):
            raise ValueError(f"{', '.join(reserved)} cannot be names of metadata")
        return metadata


class DocumentsBody(Body):
    """Documents to add; those with a known id are replaced."""

    documents: Annotated[list[DocumentBody], Field(min_length=1, max_length=_MAX_DOCUMENTS)]


class SyncBody(Body):
    """A folder of the server to read again."""

    folder: Annotated[str, Field(max_length=200, description="Its name in server.toml.", examples=["reports"])]


class SourceReply(Reply):
    """A folder or another source that the index can be synced with."""

    name: str
    kind: Annotated[str, Field(description="folder, or the scheme of its address.", examples=["https"])]
    watched: Annotated[bool, Field(description="Whether a change of its files is synced at once.")]
    every: Annotated[float | None, Field(description="Seconds after which it is synced again.")]
    due: Annotated[str | None, Field(description="When it is synced next, later after failures.")]
    last: Annotated[JobReply | None, Field(description="The last sync, of the last week.")]


class SourcesReply(Reply):
    """The sources of an index."""

    sources: list[SourceReply]


class ListedDocument(Reply):
    """A document in a list."""

    id: str
    title: str
    characters: int
    chunks: int


class DocumentsReply(Reply):
    """Documents by id, and the number of all matches."""

    documents: list[ListedDocument]
    total: int


class NamedEntity(Reply):
    """An entity by its number and its name."""

    node: Annotated[int, Field(description="Its number in the current snapshot.")]
    name: str


class DocumentChunk(Reply):
    """A passage of a document."""

    id: str
    start: int
    end: int
    entities: list[NamedEntity]


class OriginalReply(Reply):
    """The file that a document was read from."""

    name: str
    pages: Annotated[int, Field(description="Of a PDF, which can be seen as pictures; else 0.")]


class PageMark(Reply):
    """A rectangle on a page, in 1/10,000 of its width and height from the top left."""

    page: Annotated[int, Field(description="Counted from 1.")]
    left: int
    top: int
    right: int
    bottom: int


class DocumentReply(Reply):
    """A document with its passages."""

    id: str
    title: str
    characters: int
    metadata: dict[str, str]
    chunks: list[DocumentChunk]
    original: Annotated[OriginalReply | None, Field(description="Null where no uploaded file is kept.")]


class EstimateReply(Reply):
    """Estimated work and cost of reading documents."""

    llm: Annotated[str | None, Field(description="The language model that would read them; null: none, at no cost.")]
    chunks: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    hours: float | None
    cost: float | None
    schema_tokens: Annotated[int, Field(description="Tokens of each prompt that list the types of the schema.")]
    skipped: list[FailedPart]


class EntitySummary(NamedEntity):
    """An entity in a list."""

    type: str
    passages: Annotated[int, Field(description="Number of passages that name it.")]
    degree: Annotated[int, Field(description="Number of its neighbours.")]


class EntitiesReply(Reply):
    """Entities, the best match first."""

    entities: list[EntitySummary]


class LinkedEntitiesReply(EntitiesReply):
    """Entities with the lines between them."""

    links: Annotated[list[tuple[int, int]], Field(description="The pairs of them that are neighbours.")]


class TypeCount(Reply):
    """A type of entities."""

    name: str
    count: int


class TypesReply(Reply):
    """The types of entities, the most frequent first."""

    types: list[TypeCount]


class FiltersReply(Reply):
    """What documents can be chosen by."""

    folders: list[str]
    metadata: Annotated[dict[str, list[str]], Field(description="The most frequent values of each field.")]


class StatementReply(Reply):
    """A statement: an edge of the graph and the passages that state it."""

    head: str
    relation: str
    tail: str
    text: str
    passages: list[str]


class NeighbourReply(NamedEntity):
    """The other end of a statement."""

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
