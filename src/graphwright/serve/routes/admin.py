"""Routes of an admin for all indexes: keys, and language models that are added while the server runs."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import Field

from graphwright.errors import OptionError
from graphwright.models import LLMSettings
from graphwright.serve.authentication import GrantOf, require
from graphwright.serve.jobs.queue import ConflictError
from graphwright.serve.keys import expiry
from graphwright.serve.problems import NotFoundError
from graphwright.serve.schemas.answers import Body, Reply
from graphwright.serve.server import Server, ServerOf

key_router = APIRouter(prefix="/v1/keys", tags=["keys"])
model_router = APIRouter(prefix="/v1/language-models", tags=["language models"])
_ADMIN = [require("admin", every_index=True)]


class NewKeyBody(Body):
    """A key to make, as by `graphwright keys create`."""

    name: Annotated[str, Field(min_length=1, max_length=100, examples=["reader"])]
    scope: Literal["read", "write", "admin"] = "read"
    indexes: Annotated[list[str] | None, Field(min_length=1, description="Those that it sees; null is all.")] = None
    expires: Annotated[str | None, Field(description="12h, 90d, 2w, 1y or a date; null is never.")] = None


class KeyReply(Reply):
    """A key, of which only the id can be read. `own`: whether the request was sent with it, or in a session of it."""

    id: str
    name: str
    scope: str
    indexes: list[str] | None
    state: Literal["active", "expired", "revoked"]
    created: str
    expires: str | None
    used: str | None
    revoked: str | None
    own: bool


class NewKeyReply(KeyReply):
    """A new key."""

    key: Annotated[str, Field(description="The key, which is shown only now.", examples=["gw_0a1b2c3d_…"])]


class KeysReply(Reply):
    """All keys, the oldest first."""

    keys: list[KeyReply]


@key_router.get("", response_model=KeysReply, dependencies=_ADMIN)
async def keys(server: ServerOf, grant: GrantOf) -> Any:
    """List the keys; none of them can be read again."""
    listed, now = await run_sync(server.keys.all), time.time()
    return {"keys": [{**key.to_dict(now), "own": key.id == grant.id} for key in listed]}


@key_router.post("", status_code=201, response_model=NewKeyReply, dependencies=_ADMIN)
async def create_key(body: NewKeyBody, server: ServerOf, grant: GrantOf) -> Any:
    """Make a key, which only this reply shows. The first is an admin's: from then on every request needs a key."""
    for name in body.indexes or ():
        server.index(name, grant)
    if not server.closed and (body.scope != "admin" or body.indexes is not None):
        raise OptionError("From the first key on every request needs one. Give it the scope admin and all indexes.")
    now = time.time()
    expires = None if body.expires is None else expiry(body.expires, now)
    token, key = await run_sync(server.keys.create, body.name, body.scope, body.indexes, expires)
    await run_sync(server.keys.audit, "keys create", grant.name, key)
    return {"key": token, **key.to_dict(now), "own": False}


@key_router.delete("/{id}", status_code=204, dependencies=_ADMIN)
async def revoke_key(id: str, server: ServerOf, grant: GrantOf) -> Response:
    """Revoke a key at once, and end its sessions; not the key of the request itself."""
    if id == grant.id:
        raise ConflictError("That key sent this request. Revoke it by another one, or by graphwright keys revoke.")
    if id not in [key.id for key in await run_sync(server.keys.all)]:
        raise NotFoundError(f"There is no key {id!r}. GET /v1/keys lists them.")
    key = await run_sync(server.keys.revoke, id)
    await run_sync(server.keys.audit, "keys revoke", grant.name, key)
    return Response(status_code=204)


class LanguageModelBody(Body):
    """A language model to add. No key is taken: that of its server is in the environment."""

    model: Annotated[str, Field(max_length=200, examples=["qwen2.5:7b"], description="Its name on its server.")]
    base_url: Annotated[str | None, Field(description="Address that server.toml has; null is OpenAI's.")] = None
    max_tokens: int = 2048
    timeout: Annotated[float, Field(description="Seconds of a reply.")] = 120.0
    prompt_price: Annotated[float | None, Field(description="Of a million tokens; of two prices both or none.")] = None
    completion_price: float | None = None


class LanguageModelReply(LanguageModelBody):
    """A language model. `indexes`: those that it answers, unless a question chooses another one."""

    added: Annotated[bool, Field(description="Whether it was added here, and can be deleted; else settings name it.")]
    usable: Annotated[bool, Field(description="False: left out at the start, for a reason that the log has.")]
    indexes: list[str]


class LanguageModelsReply(Reply):
    """All language models. `addresses`: of servers that an added one may be on."""

    models: list[LanguageModelReply]
    addresses: list[str]


@model_router.get("", response_model=LanguageModelsReply, dependencies=_ADMIN)
async def language_models(server: ServerOf) -> Any:
    """List the language models of the settings and those that were added."""
    return {"models": await run_sync(_models, server), "addresses": server.models.addresses}


@model_router.post("", status_code=201, response_model=LanguageModelReply, dependencies=_ADMIN)
async def add_language_model(body: LanguageModelBody, server: ServerOf) -> Any:
    """Add a language model, which every question and index may choose from now on."""
    await run_sync(server.added.add, LLMSettings(**body.model_dump()), server.models)
    return next(model for model in await run_sync(_models, server) if model["model"] == body.model)


@model_router.delete("/{model:path}", status_code=204, dependencies=_ADMIN)
async def delete_language_model(model: str, server: ServerOf) -> Response:
    """Delete a language model that was added here, and answers no index."""
    found = [known for known in await run_sync(_models, server) if known["model"] == model]
    added = [known for known in found if known["added"]]
    if not found:
        raise NotFoundError(f"There is no language model {model!r}. GET /v1/language-models lists them.")
    if not added:
        raise ConflictError(f"{model} is in the settings of the server or of an index; remove it there.")
    if added[0]["indexes"]:
        raise ConflictError(f"{model} answers {', '.join(added[0]['indexes'])}. Choose another model there first.")
    await run_sync(server.added.remove, model, server.models)
    return Response(status_code=204)


def _models(server: Server) -> list[dict[str, Any]]:
    """Return the models in the form of LanguageModelReply, those of the settings first."""
    added, left_out, models = server.added.all(), server.added.left_out, server.models
    own = {settings.model for settings in added} - left_out
    rows = [(settings, False, True) for settings in list(models.named.values()) if settings.model not in own]
    rows += [(settings, True, settings.model not in left_out) for settings in added]
    return [
        {
            **{name: getattr(settings, name) for name in LanguageModelBody.model_fields},
            "added": is_added,
            "usable": usable,
            "indexes": [name for name in server.catalog if usable and models.settings(name) == settings],
        }
        for settings, is_added, usable in rows
    ]
