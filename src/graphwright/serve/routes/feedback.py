"""Routes of feedback: what a reader says of an answer; its list, questions made of it, and a ranking fitted to them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import Field

from graphwright.models import Cancellation
from graphwright.serve.authentication import ADMIN, READ, WRITE, GrantOf
from graphwright.serve.events import to_json
from graphwright.serve.feedback import Entry, FeedbackBody, question_set
from graphwright.serve.problems import NotFoundError
from graphwright.serve.schemas.answers import Body, Reply
from graphwright.serve.schemas.documents import QueuedReply
from graphwright.serve.server import CallOf

router = APIRouter(prefix="/v1/indexes/{ix}/feedback", tags=["feedback"])
_JSON_LINES = "application/x-ndjson"


class RefitBody(Body):
    """A fit of the ranking, or its end."""

    undo: Annotated[bool, Field(description="Go back to the ranking of the package.")] = False


class FeedbackReply(Reply):
    """The feedback on an index, the newest first."""

    feedback: list[Entry]
    total: int


@router.post("", status_code=201, response_model=Entry, dependencies=READ)
async def give_feedback(body: FeedbackBody, call: CallOf, grant: GrantOf) -> Any:
    """Keep what a reader says of an answer, as long as the documents have the text that it quotes."""
    return await call.run(lambda _: call.server.jobs.feedback.add(call.index, body, grant.name))


@router.get("", response_model=FeedbackReply, dependencies=WRITE)
async def list_feedback(
    call: CallOf, offset: Annotated[int, Query(ge=0, le=10**9)] = 0, limit: Annotated[int, Query(ge=1, le=1_000)] = 100
) -> Any:
    """List the feedback on an index, the newest first."""
    entries = await call.run(lambda _: call.server.jobs.feedback.entries(call.index)[::-1])
    return {"feedback": entries[offset : offset + limit], "total": len(entries)}


@router.get(
    "/questions",
    response_class=Response,
    responses={200: {"description": "JSON lines.", "content": {_JSON_LINES: {"schema": {"type": "string"}}}}},
    dependencies=WRITE,
)
async def feedback_questions(call: CallOf) -> Response:
    """Return the questions that have a right answer or passage, as `graphwright evaluate --data` reads them."""

    def lines(_: Cancellation) -> str:
        return "".join(f"{to_json(row)}\n" for row in question_set(call.server.jobs.feedback.entries(call.index)))

    return Response(await call.run(lines), media_type=_JSON_LINES)


@router.post("/refit", status_code=202, response_model=QueuedReply, dependencies=ADMIN)
async def refit(call: CallOf, body: RefitBody | None = None) -> Any:
    """Fit the ranking to the right passages of the feedback, as `graphwright feedback refit`.

    The job fails, and changes nothing, unless the right passages of held-out questions are surely ranked higher.
    """
    return await call.submit("refit", {"undo": body is not None and body.undo})


@router.delete("/{id}", status_code=204, dependencies=WRITE)
async def delete_feedback(id: str, call: CallOf) -> Response:
    """Delete an entry."""
    if not await call.run(lambda _: call.server.jobs.feedback.delete(call.index, id)):
        raise NotFoundError(f"There is no feedback {id!r}. GET /v1/indexes/{call.ix}/feedback lists it.")
    return Response(status_code=204)
