"""Routes about edits by hand: make, list and undo them; suggestions of duplicates."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from graphwright.errors import DataError, OptionError
from graphwright.serve.authentication import READ, WRITE, GrantOf
from graphwright.serve.problems import NotFoundError
from graphwright.serve.schemas.answers import Body, Reply
from graphwright.serve.schemas.documents import QueuedReply
from graphwright.serve.server import CallOf
from graphwright.store import KINDS, Edit, change_of

router = APIRouter(prefix="/v1/indexes/{ix}", tags=["edits"])
_CHANGE = {"kind": "merge", "names": ["Gratz"], "into": "Graz"}


class EditsBody(Body):
    """Changes of the graph by hand, applied in order, all or none."""

    changes: Annotated[
        list[dict[str, Any]],
        Field(
            min_length=1,
            max_length=1_000,
            description=f"Each with its kind ({', '.join(KINDS)}) and the fields of it, see docs/edits.md.",
            examples=[[_CHANGE]],
        ),
    ]
    who: Annotated[str, Field(max_length=200, description="Author (default: the name of the key).")] = ""
    why: Annotated[str, Field(max_length=1_000, examples=["a typo"])] = ""


class ImportBody(Body):
    """Edits of another index, as `GET …/edits` and the lines of `graphwright edit export` have them."""

    edits: Annotated[
        list[dict[str, Any]],
        Field(
            min_length=1,
            max_length=10_000,
            examples=[[{"change": _CHANGE, "time": "2026-03-01T12:00:00.000Z", "who": "Ida", "why": "a typo"}]],
        ),
    ]


class EditReply(Reply):
    """An edit: its change, also in words, its author and its time."""

    id: str
    words: Annotated[str, Field(examples=["merge Gratz into Graz"])]
    change: Annotated[dict[str, Any], Field(examples=[_CHANGE])]
    time: str
    who: str
    why: str
    idle: Annotated[str, Field(description="Why it changes nothing now, or not all that it says.")]


class EditsReply(Reply):
    """The edits in the order in which they are applied."""

    edits: list[EditReply]


class DuplicateReply(Reply):
    """Two entities that may be one, the better connected first."""

    first: str
    second: str
    score: Annotated[float, Field(description="From 0 to 1.")]
    reasons: list[str]


class DuplicatesReply(Reply):
    """Suggested duplicates, the likeliest first."""

    duplicates: list[DuplicateReply]


@router.get("/edits", response_model=EditsReply, dependencies=READ)
async def edits(call: CallOf) -> Any:
    """List the edits by hand."""
    return {"edits": await call.run(lambda _: [edit.shown() for edit in call.index.edits()])}


@router.post("/edits", status_code=202, response_model=QueuedReply, dependencies=WRITE)
async def edit(body: EditsBody, call: CallOf, grant: GrantOf) -> Any:
    """Change the graph by hand. The job fails, and changes nothing, if a change names what is not there."""
    made = Edit.made(map(change_of, body.changes), body.who or grant.name, body.why)
    return await call.submit("edit", {"edits": [edit.to_dict() for edit in made], "strict": True})


@router.post("/edits/import", status_code=202, response_model=QueuedReply, dependencies=WRITE)
async def import_edits(body: ImportBody, call: CallOf) -> Any:
    """Apply the edits of another index, with their authors and times.

    Those that the index has already are left as they are; those that name what is not there wait for it.
    """
    made = [_edit(number, value) for number, value in enumerate(body.edits, start=1)]

    def task() -> dict[str, Any]:
        known = {edit.id for edit in call.index.edits()}
        return {"edits": [edit.to_dict() for edit in made if edit.id not in known], "strict": False}

    return await call.submit("edit", task)


def _edit(number: int, value: object) -> Edit:
    try:
        return Edit.of_dict(value)
    except OptionError as error:
        raise DataError(f"edit {number}: {error} Nothing was imported.") from error


@router.delete("/edits/{id}", status_code=202, response_model=QueuedReply, dependencies=WRITE)
async def undo(id: str, call: CallOf) -> Any:
    """Undo an edit. The graph becomes the one that would have been built without it."""

    def task() -> dict[str, Any]:
        if all(edit.id != id for edit in call.index.edits()):
            raise NotFoundError(f"There is no edit {id!r} in this index. GET /v1/indexes/{call.ix}/edits lists them.")
        return {"ids": [id]}

    return await call.submit("undo", task)


@router.get("/duplicates", response_model=DuplicatesReply, dependencies=READ)
async def duplicates(
    call: CallOf, limit: Annotated[int, Query(ge=1, le=200, description="Number of pairs.")] = 20
) -> Any:
    """Suggest pairs of entities that may be one, with the reasons.

    Accept a pair by an edit of the kind merge, refuse it by one of the kind keep-apart.
    """
    pairs = await call.run(lambda _: call.index.suggest_duplicates(limit))
    return {"duplicates": [pair._asdict() for pair in pairs]}
