"""Replies about jobs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from graphwright.serve.schemas.answers import Reply

State = Literal["queued", "running", "done", "failed", "cancelled"]


class ProgressReply(Reply):
    """Progress of a running job."""

    done: int
    total: int
    unit: str


class FailedPart(Reply):
    """A file, or a chunk of a document, that could not be read."""

    document: str
    chunk: int | None
    reason: str


class ChangesReply(Reply):
    """Changes by a job: numbers of documents, and the first parts that failed."""

    added: int
    replaced: int
    removed: int
    unchanged: int
    retained: Annotated[int, Field(description="Documents that stay because unreadable files may hold them.")]
    failed: list[FailedPart]
    skipped: Annotated[int, Field(description="Number of files and rows that were not read.")]
    pending: Annotated[int, Field(description="Number of chunks that the language model has not read.")]
    extracted: Annotated[int, Field(description="Number of chunks that the language model has read.")]
    usage: dict[str, Any]


class JobReply(Reply):
    """A change of an index."""

    id: str
    index: str
    kind: Literal["add", "remove", "sync"]
    state: State
    cancelling: Annotated[bool, Field(description="Whether it is cancelled, and runs until its next step.")]
    created: str
    started: str | None
    finished: str | None
    attempts: int
    progress: ProgressReply | None
    message: str
    changes: ChangesReply | None


class QueuedReply(Reply):
    """The job queued by a request."""

    job: JobReply


class JobsReply(Reply):
    """Jobs, the newest first, and the number of all matches."""

    jobs: list[JobReply]
    total: int
