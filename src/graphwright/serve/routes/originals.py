"""Routes about the file that a document was read from: the file, its pages as pictures, and where a text stands."""

from __future__ import annotations

from functools import partial
from typing import IO, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response, StreamingResponse
from starlette.background import BackgroundTask

from graphwright.data.formats.parsing.pdf_image import page_image, page_marks
from graphwright.models import Cancellation
from graphwright.serve import views
from graphwright.serve.authentication import READ
from graphwright.serve.originals import Original
from graphwright.serve.problems import NotFoundError
from graphwright.serve.requests import document_id
from graphwright.serve.schemas.documents import PageMark
from graphwright.serve.server import Call, CallOf
from graphwright.text.places import Places

router = APIRouter(prefix="/v1/indexes/{ix}/documents/{document}", tags=["documents"], dependencies=READ)
DocumentPath = Annotated[
    str, Path(max_length=10_000, description="Id of a document, percent-encoded.", examples=["graz.md"])
]
Place = Annotated[int | None, Query(ge=0, le=2**40, description="A character of the document.")]
_ANY = "application/octet-stream"  # whatever the file is, so that no browser shows it as a page of this server


def _content(media_type: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {media_type: {"schema": {"type": "string"}}}}}


@router.get("/original", response_class=Response, responses=_content(_ANY))
async def original(document: DocumentPath, call: CallOf) -> Response:
    """Download the file that a document was read from, as it was uploaded."""

    def opened(_: Cancellation) -> tuple[IO[bytes], str]:
        found = _original(call, document_id(document))
        return found.file().open() if found.inner else found.path.open("rb"), _name(found)

    return download(*await call.run(opened), _ANY)


@router.get("/pages/{page}", response_class=Response, responses=_content("image/png"))
async def document_page(document: DocumentPath, page: Annotated[int, Path(ge=1, le=10**6)], call: CallOf) -> Response:
    """Return a page of a PDF or a picture as PNG."""

    def drawn(_: Cancellation) -> bytes:
        data, places = _pages(call, document_id(document))
        if page > len(places.starts):
            raise NotFoundError(f"The document has {len(places.starts):,} pages, and no page {page:,}.")
        return page_image(data, page)

    return Response(await call.run(drawn), media_type="image/png")


@router.get("/marks", response_model=list[PageMark])
async def document_marks(document: DocumentPath, call: CallOf, start: Place = 0, end: Place = 0) -> Any:
    """Return where characters of a document stand on the pages of its PDF or picture."""

    def marked(_: Cancellation) -> list[dict[str, int]]:
        data, places = _pages(call, id := document_id(document))
        marks = page_marks(data, places, call.index.text(id), start or 0, end or 0)
        return [dict(zip(PageMark.model_fields, (page, *box), strict=True)) for page, box in marks]

    return await call.run(marked)


def download(file: IO[bytes], name: str, media_type: str) -> StreamingResponse:
    """Return a file, which is closed at the end, as one that a browser saves under a name."""
    attachment = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    headers = {"Content-Disposition": attachment, "Content-Length": str(file.seek(0, 2))}
    file.seek(0)
    parts, closing = iter(partial(file.read, 2**18), b""), BackgroundTask(file.close)
    return StreamingResponse(parts, media_type=media_type, headers=headers, background=closing)


def original_facts(call: Call, document: str) -> dict[str, Any] | None:
    """Return the original of a document in the form of OriginalReply; None without one."""
    found, places = call.server.jobs.originals.of(call.index.path, document), call.index.places(document)
    pages = len(places.starts) if places is not None and places.boxes else 0
    return found and {"name": _name(found), "pages": pages}


def _name(original: Original) -> str:
    return (original.document if original.inner else original.sent).rpartition("/")[2]


def _original(call: Call, document: str) -> Original:
    """Return the original of a document. Raises NotFoundError if there is none."""
    views.check_document(call.index.graph, document)
    found = call.server.jobs.originals.of(call.index.path, document)
    if found is None:
        raise NotFoundError(f"No file of {document!r} is kept: none was uploaded, or there was no room for it.")
    return found


def _pages(call: Call, document: str) -> tuple[bytes, Places]:
    """Return the PDF of a document, and its places. Raises NotFoundError if it is none."""
    found, places = _original(call, document), call.index.places(document)
    if places is None or not places.boxes:
        raise NotFoundError(f"{document!r} has no pages; only those of PDF and pictures can be shown.")
    return found.file().data(), places
