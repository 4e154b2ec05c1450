"""Routes of feedback: what a reader says of an answer; its list, questions made of it, and a ranking fitted to them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import Field

from graphwright.models import Cancellation
from graphwright.serve.authentication import GrantOf, require
from graphwright.serve.events import to_json
from graphwright.serve.feedback import Entry, Quote, question_set
from graphwright.serve.problems import NotFoundError
from graphwright.serve.schemas.answers import Body, Question, Reply
from graphwright.serve.schemas.documents import QueuedReply
from graphwright.serve.server import CallOf

router = APIRouter(prefix="/v1/indexes/{ix}/feedback", tags=["feedback"])
_READ, _WRITE, _ADMIN = [require("read")], [require("write")], [require("admin")]
_JSON_LINES = "application/x-ndjson"


class QuoteBody(Body):
    """Text of a document that the answer cites, or that holds the right answer."""

    document: Annotated[str, Field(min_length=1, max_length=1_000, description="The document's id.")]
    quote: Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S", description="Its text, unchanged.")]
    right: Annotated[bool, Field(description="Whether it holds the answer.")] = True


class FeedbackBody(Body):
    """What a reader says of an answer."""

    question: Question
    verdict: Literal["helpful", "wrong"]
    answer: Annotated[str, Field(max_length=20_000, description="The text of the answer that was shown.")] = ""
    answers: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"\S")], ...],
        Field(max_length=10, description="Right answers, alternatives of each other.", examples=[["Mur"]]),
    ] = ()
    quotes: Annotated[
        tuple[QuoteBody, ...],
        Field(max_length=50, description="What the answer cites, and what holds the right answer.", examples=[[]]),
    ] = ()
    comment: Annotated[str, Field(max_length=2_000)] = ""


class RefitBody(Body):
    """A fit of the ranking, or its end."""

    undo: Annotated[bool, Field(description="Go back to the ranking of the package.")] = False


class EntryReply(FeedbackBody):
    """Feedback that is kept."""

    id: str
    given: Annotated[str, Field(description="When it was given.")]
    by: Annotated[str, Field(description="Name of the key that it came with.")]


class FeedbackReply(Reply):
    """The feedback on an index, the newest first."""

    feedback: list[EntryReply]
    total: int


@router.post("", status_code=201, response_model=EntryReply, dependencies=_READ)
async def give_feedback(body: FeedbackBody, call: CallOf, grant: GrantOf) -> Any:
    """Keep what a reader says of an answer, as long as the documents have the text that it quotes."""
    quotes = tuple(Quote(**quote.model_dump()) for quote in body.quotes)
    entry = Entry(**{**body.model_dump(), "quotes": quotes}, by=grant.name)
    return await call.run(lambda _: call.server.jobs.feedback.add(call.index, entry))


@router.get("", response_model=FeedbackReply, dependencies=_WRITE)
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
    dependencies=_WRITE,
)
async def feedback_questions(call: CallOf) -> Response:
    """Return the questions that have a right answer or passage, as `graphwright evaluate --data` reads them."""

    def lines(_: Cancellation) -> str:
        return "".join(f"{to_json(row)}\n" for row in question_set(call.server.jobs.feedback.entries(call.index)))

    return Response(await call.run(lines), media_type=_JSON_LINES)


@router.post("/refit", status_code=202, response_model=QueuedReply, dependencies=_ADMIN)
async def refit(call: CallOf, body: RefitBody | None = None) -> Any:
    """Fit the ranking to the right passages of the feedback, as `graphwright feedback refit`.

    The job fails, and changes nothing, unless the right passages of held-out questions are surely ranked higher.
    """
    return await call.submit("refit", {"undo": body is not None and body.undo})


@router.delete("/{id}", status_code=204, dependencies=_WRITE)
async def delete_feedback(id: str, call: CallOf) -> Response:
    """Delete an entry."""
    if not await call.run(lambda _: call.server.jobs.feedback.delete(call.index, id)):
        raise NotFoundError(f"There is no feedback {id!r}. GET /v1/indexes/{call.ix}/feedback lists it.")
    return Response(status_code=204)
