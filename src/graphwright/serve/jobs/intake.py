"""Intake of documents: stores the body of a request, JSON or files, as an upload."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from graphwright.serve.jobs.uploads import Limits, Sent, Upload
from graphwright.serve.problems import MediaTypeError
from graphwright.serve.schemas.documents import DocumentsBody
from graphwright.serve.server import Server


def _schema() -> dict[str, Any]:
    """Return the schema of the JSON body without references, which would not resolve inside the OpenAPI document."""
    schema = DocumentsBody.model_json_schema()
    schema["properties"]["documents"]["items"] = schema.pop("$defs")["DocumentBody"]
    return schema


BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": _schema()},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "properties": {
                        "files": {
                            "type": "array",
                            "items": {"type": "string", "format": "binary"},
                            "description": "Files of text, and zip or tar.gz archives of them.",
                        }
                    },
                }
            },
        },
    }
}
"""The body of requests with documents, for OpenAPI."""


async def received(request: Request, server: Server, id: str) -> Upload:
    """Store the documents of a request's body for the job `id`.

    Raises RequestValidationError for an invalid body, MediaTypeError for an unsupported type, TooLargeError and
    ArchiveError for archives that exceed a limit or cannot be unpacked.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        body = await request.body()
        return await server.workers.run(lambda _: _store_json(body, server, id), request)
    if kind != "multipart/form-data":
        raise MediaTypeError(f"The body is {kind or 'of no type'}; send application/json or multipart/form-data.")
    return await _receive_files(request, server, id)


def _store_json(body: bytes, server: Server, id: str) -> Upload:
    try:
        documents = DocumentsBody.model_validate_json(body).documents
    except ValidationError as error:
        raise _invalid([{**item, "loc": ("body", *item["loc"])} for item in error.errors(include_url=False)]) from error
    return server.jobs.uploads.store_documents(id, (document.model_dump() for document in documents))


async def _receive_files(request: Request, server: Server, id: str) -> Upload:
    settings = server.settings
    limits = Limits(settings.max_files, settings.max_unpacked)
    try:
        form = await request.form(max_files=settings.max_files, max_fields=100)
    except HTTPException as error:
        raise _invalid([{"loc": ("body",), "msg": str(error.detail)}]) from error
    try:
        files = [Sent(part.filename or "", part.file) for _, part in form.multi_items() if isinstance(part, UploadFile)]
        if not files:
            raise _invalid([{"loc": ("body", "files"), "msg": "no file was sent"}])
        store = partial(server.jobs.uploads.store_files, id, files, limits)
        return await server.workers.run(lambda _: store())
    finally:
        await form.close()


def _invalid(errors: list[Any]) -> RequestValidationError:
    return RequestValidationError(errors)
