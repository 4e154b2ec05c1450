"""Errors of the server as RFC 9457 problems: status, type, title and detail, without tracebacks."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, ClassVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from graphwright.errors import (
    BudgetError,
    DataError,
    GraphwrightError,
    ModelError,
    NeedsError,
    OptionError,
    ReplyCutError,
    StoreError,
)
from graphwright.serve.catalog import Catalog
from graphwright.serve.events import to_json
from graphwright.serve.failures import words_of
from graphwright.serve.logs import REQUEST_ID, log
from graphwright.store import BeingWritten

_KIND = "urn:graphwright:problem:"
_STATUS: tuple[tuple[type[GraphwrightError], int, str], ...] = (  # status and kind of errors; the first match
    (OptionError, 422, "option"),
    (NeedsError, 422, "option"),
    (DataError, 422, "data"),
    (BudgetError, 503, "budget"),
    (ReplyCutError, 504, "model-timeout"),
    (ModelError, 502, "model"),
    (BeingWritten, 409, "conflict"),
    (StoreError, 503, "store"),
)
_CLIENT_GONE = 499  # not a standard status; only for logs
_OPENAI = tuple(f"/v1/{name}" for name in ("chat/", "completions", "embeddings", "models", "responses"))
_OLLAMA = "/api/"  # routes whose clients expect the field `error`, as OpenAI's do, but as text


class ServeError(GraphwrightError):
    """An error of the server, with the status, kind and headers of its response.

    `retry_after`: seconds until the client should try again. The class may have it, and the message.
    """

    status: ClassVar[int] = 500
    kind: ClassVar[str] = "server"
    message: ClassVar[str] = ""
    retry_after: ClassVar[int | None] = None
    headers: Mapping[str, str] | None = None

    def __init__(self, message: str = "", retry_after: int | None = None) -> None:
        super().__init__(message or self.message)
        if (seconds := retry_after or self.retry_after) is not None:
            self.headers = {"Retry-After": str(seconds)}


class NotFoundError(ServeError):
    """A name in the address or the body does not exist, or the client may not see it."""

    status, kind = 404, "not-found"


class UnsupportedError(ServeError):
    """A request in the format of another server asks for what this one does not have."""

    status, kind = 400, "unsupported"


class TooLargeError(ServeError):
    """A body, or its unpacked content, is larger than the server accepts."""

    status, kind = 413, "too-large"


class MediaTypeError(ServeError):
    """A body has a type that the route does not accept."""

    status, kind = 415, "media-type"


class OverloadedError(ServeError):
    """Too many requests wait."""

    status, kind = 429, "overloaded"


class ShuttingDownError(ServeError):
    """The server shuts down before the request is answered."""

    status, kind, retry_after = 503, "shutting-down", 5
    message = "The server is shutting down. Try again in a few seconds."


class StartingError(ServeError):
    """The indexes are not yet open."""

    status, kind, retry_after = 503, "starting", 2
    message = (
        "The server opens its indexes and loads models; in a clone its first start also compiles kernels, which may "
        "take a minute. Try again in a few seconds."
    )


class RequestTimeoutError(ServeError):
    """A request took longer than the server allows."""

    status, kind = 504, "timeout"


class ClientGoneError(ServeError):
    """The client closed the connection before the reply."""

    status, kind = _CLIENT_GONE, "client-gone"


class ProblemResponse(JSONResponse):
    """A response of `application/problem+json`, in ASCII, because texts may contain lone surrogates."""

    media_type = "application/problem+json"

    def render(self, content: Any) -> bytes:
        """Return the problem as bytes."""
        return to_json(content).encode("ascii")


def problem_of(error: Exception) -> dict[str, Any]:
    """Return the problem that describes an error; for an unexpected error, without its message."""
    if isinstance(error, ServeError):
        return _problem(error.status, error.kind, str(error))
    for kind, status, name in _STATUS:
        if isinstance(error, kind):
            return _problem(status, name, words_of(error) or str(error))
    return _problem(500, "server", "The server failed. Its log has the details, under this request's id.")


def reported(error: Exception, catalog: Catalog) -> dict[str, Any]:
    """Return the problem of an error without the paths of indexes; an unexpected error is logged."""
    problem = problem_of(error)
    if problem["status"] == 500:
        log.error("A request failed", exc_info=error, extra={"request_id": REQUEST_ID.get()})
    return problem | {"detail": catalog.without_paths(problem["detail"])}


def openai_error(problem: Mapping[str, Any]) -> dict[str, Any]:
    """Return a problem as OpenAI's field `error`."""
    kind = problem["type"].removeprefix(_KIND)
    return {"message": problem["detail"], "type": kind, "code": kind, "param": None}


def install_handlers(app: FastAPI) -> None:
    """Install handlers that reply to every error with a problem."""
    app.add_exception_handler(GraphwrightError, _handle)
    app.add_exception_handler(Exception, _handle)
    app.add_exception_handler(RequestValidationError, _handle_validation)
    app.add_exception_handler(HTTPException, _handle_http)


async def send_problem(scope: Scope, receive: Receive, send: Send, error: Exception) -> None:
    """Reply to a request with the problem that describes an error, from middleware."""
    response = _response(Request(scope), problem_of(error), getattr(error, "headers", None))
    await response(scope, receive, send)


async def _handle(request: Request, error: Exception) -> ProblemResponse:
    problem = reported(error, request.app.state.server.catalog)
    return _response(request, problem, getattr(error, "headers", None))


async def _handle_validation(request: Request, error: Exception) -> ProblemResponse:
    errors = [
        {"pointer": "/".join(["", *map(str, item["loc"])]), "message": item["msg"]}
        for item in (error.errors() if isinstance(error, RequestValidationError) else ())
    ]
    listed = "; ".join(f"{item['pointer']}: {item['message']}" for item in errors[:5])
    problem = _problem(422, "validation", f"The request does not have the documented form. {listed}. See /docs.")
    return _response(request, problem | {"errors": errors})


async def _handle_http(request: Request, error: Exception) -> ProblemResponse:
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = str(getattr(error, "detail", "")) or HTTPStatus(status).phrase
    kinds = {404: "not-found", 405: "method-not-allowed", 413: "too-large"}
    problem = _problem(status, kinds.get(status, "http"), detail)
    return _response(request, problem, getattr(error, "headers", None))


def _problem(status: int, kind: str, detail: str) -> dict[str, Any]:
    title = "Client Closed Request" if status == _CLIENT_GONE else HTTPStatus(status).phrase
    return {"type": f"{_KIND}{kind}", "title": title, "status": status, "detail": detail}


def _response(request: Request, problem: dict[str, Any], headers: Mapping[str, str] | None = None) -> ProblemResponse:
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    if path.startswith((*_OPENAI, _OLLAMA)):
        problem = problem | {"error": problem["detail"] if path.startswith(_OLLAMA) else openai_error(problem)}
    return ProblemResponse(problem, problem["status"], headers)
