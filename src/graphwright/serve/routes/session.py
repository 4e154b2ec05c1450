"""Routes of the page's session: a key is exchanged for a cookie that scripts cannot read."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import Field

from graphwright.serve.schemas.answers import Body, Reply
from graphwright.serve.security.authentication import COOKIE, UnauthorizedError, session_token
from graphwright.serve.security.grants import LOCAL, Grant
from graphwright.serve.server import Server, ServerOf

router = APIRouter(prefix="/session", tags=["session"])


class KeyBody(Body):
    """A key."""

    key: Annotated[str, Field(min_length=1, max_length=8_192, examples=["gw_0a1b2c3d_…"])]


class SessionReply(Reply):
    """The identity and the rights of the client."""

    closed: Annotated[bool, Field(description="Whether requests need a key.")]
    signed_in: Annotated[bool, Field(description="Whether this request had a valid key or session, or needs none.")]
    name: Annotated[str | None, Field(description="Name of the key.", examples=["reader"])] = None
    scope: Annotated[str | None, Field(description="read, write or admin.", examples=["read"])] = None
    indexes: Annotated[list[str] | None, Field(description="Names of the indexes that the client sees.")] = None


@router.get("", response_model=SessionReply)
async def session(server: ServerOf, request: Request) -> SessionReply:
    """Return whether a key is needed, and the rights of the client."""
    return _reply(server, getattr(request.state, "grant", None))


@router.post("", response_model=SessionReply)
async def sign_in(body: KeyBody, server: ServerOf, request: Request, response: Response) -> SessionReply:
    """Exchange a key for a session cookie, which is valid only for requests of the page."""
    if not server.closed:
        return _reply(server, LOCAL)
    grant = server.keys.check(body.key.strip())
    if grant is None:
        raise server.limits.refuse(request.scope, UnauthorizedError("The key is unknown, expired or revoked."))
    token, seconds = server.keys.open_session(grant, server.settings.session_hours * 3600)
    response.set_cookie(COOKIE, token, max_age=seconds, **_cookie(server, request))
    return _reply(server, grant)


@router.delete("", status_code=204)
async def sign_out(server: ServerOf, request: Request) -> Response:
    """End the session."""
    token = session_token(request.headers)
    if token is not None:
        server.keys.close_session(token)
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, **_cookie(server, request))
    return response


def _reply(server: Server, grant: Grant | None) -> SessionReply:
    if grant is None:
        return SessionReply(closed=server.closed, signed_in=False)
    names = server.visible(grant)
    return SessionReply(closed=server.closed, signed_in=True, name=grant.name, scope=grant.scope, indexes=names)


def _cookie(server: Server, request: Request) -> dict[str, Any]:
    """Return the attributes of the cookie: for this server's path, not readable by scripts or other sites."""
    path = server.settings.root_path or "/"
    return {"path": path, "httponly": True, "samesite": "strict", "secure": request.url.scheme == "https"}
