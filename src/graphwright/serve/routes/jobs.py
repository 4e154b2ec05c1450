"""Routes about jobs: list, follow, cancel and retry."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Path, Query

from graphwright.serve.authentication import READ, WRITE, GrantOf
from graphwright.serve.events import EventStream, event
from graphwright.serve.jobs.queue import JobFailedError, unknown_job
from graphwright.serve.jobs.table import Job, State
from graphwright.serve.keys import Key
from graphwright.serve.problems import ShuttingDownError, problem_of
from graphwright.serve.schemas.answers import event_stream
from graphwright.serve.schemas.documents import JobReply, JobsReply
from graphwright.serve.server import Server, ServerOf

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
_EVENTS = event_stream("Events of the job.", "progress", "done", "error")
_PAUSE = 0.1  # seconds between two events of progress
_RECHECK_SECONDS = 5.0  # between two reads of a job without a notification, which another server may run

JobId = Annotated[str, Path(max_length=100, examples=["8f14e45fceea167a"])]


@router.get("", response_model=JobsReply, dependencies=READ)
async def jobs(
    server: ServerOf,
    grant: GrantOf,
    index: Annotated[str | None, Query(max_length=1_000, description="Name of an index, by default all.")] = None,
    state: Annotated[State | None, Query(description="By default every state.")] = None,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Any:
    """List jobs, the newest first."""
    if index is not None:
        server.index(index, grant)
    names = server.visible(grant) if index is None else [index]
    listed, total = await run_sync(lambda: server.jobs.find(names, state, offset=offset, limit=limit))
    return {"jobs": [_shown(job, server) for job in listed], "total": total}


@router.get("/{id}", response_model=JobReply, dependencies=READ)
async def one_job(id: JobId, server: ServerOf, grant: GrantOf) -> Any:
    """Return a job with its progress."""
    return _shown(await _visible(id, server, grant), server)


@router.get("/{id}/events", responses=_EVENTS, dependencies=READ)
async def events(id: JobId, server: ServerOf, grant: GrantOf) -> EventStream:
    """Follow a job: `progress` whenever it changes, then `done`, or `error` for one that failed."""
    await _visible(id, server, grant)
    return EventStream(_followed(id, server))


@router.post("/{id}/cancel", response_model=JobReply, dependencies=WRITE)
async def cancel(id: JobId, server: ServerOf, grant: GrantOf) -> Any:
    """Cancel a job. Changes that are stored already remain, and the index stays consistent."""
    await _visible(id, server, grant)
    return _shown(await run_sync(server.jobs.cancel, id), server)


@router.post("/{id}/retry", response_model=JobReply, dependencies=WRITE)
async def retry(id: JobId, server: ServerOf, grant: GrantOf) -> Any:
    """Retry a job that failed, was cancelled, or left chunks that the language model has not read."""
    await _visible(id, server, grant)
    return _shown(await run_sync(server.jobs.retry, id), server)


async def _visible(id: str, server: Server, grant: Key) -> Job:
    """Return a job of an index that the grant sees. Raises NotFoundError for any other."""
    job = await run_sync(server.jobs.get, id)
    if not grant.sees(server.jobs.index_of(job)):
        raise unknown_job(id)  # the same error, to hide that the job exists
    return job


async def _followed(id: str, server: Server) -> AsyncIterator[bytes]:
    changed, loop = asyncio.Event(), asyncio.get_running_loop()

    def notice() -> None:
        loop.call_soon_threadsafe(changed.set)

    with server.jobs.listening(id, notice):
        last = None
        while True:
            changed.clear()
            job = await run_sync(server.jobs.get, id)
            if job.has_ended:
                break
            if job != last:
                yield event("progress", _shown(job, server))
                last = job
                await asyncio.sleep(_PAUSE)
            try:
                await server.workers.wait_for(changed, _RECHECK_SECONDS)
            except ShuttingDownError as error:
                yield event("error", problem_of(error))  # ends this stream only: the next server restarts the job
                return
    if job.state == "failed":
        yield event("error", {**problem_of(JobFailedError(job.message)), "job": _shown(job, server)})
    else:
        yield event("done", _shown(job, server))


def _shown(job: Job, server: Server) -> dict[str, Any]:
    return job.to_dict(server.jobs.index_of(job))
