"""No route without a key, with a wrong one, or with one of too narrow a scope; sessions; indexes out of scope."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.serve.guarded import Guarded, guarding

pytest.importorskip("fastapi", reason='needs the extra "serve"')
from fastapi.routing import iter_route_contexts
from starlette.testclient import TestClient

from graphwright.errors import OptionError
from graphwright.serve.authentication import COOKIE, Require, check_exposure, is_public
from graphwright.serve.keys import SCOPES, Keys
from graphwright.serve.settings import ServeSettings

OPEN = {"/healthz", "/session"}
GENERATED = {"/openapi.json", "/docs"}  # behind the middleware alone, as they have no dependencies


@pytest.fixture(scope="module")
def limited(cities: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A server with low limits, below a sub-path."""
    limits = {"requests_per_minute": 5, "failures_per_minute": 10}
    with guarding(cities, tmp_path_factory.mktemp("limited") / "data", root_path="/wiki", **limits) as running:
        yield running


def routes(guarded: Guarded) -> Iterator[tuple[str, str, Any]]:
    """Yield method, path with parameters filled in, and required scope of every route; None for mounted ones."""
    for route in iter_route_contexts(guarded.app.routes):
        path = str(route.path)
        if path in OPEN or is_public(path) or is_public(f"{path}/"):
            continue
        filled = re.sub(r"\{(\w+)(?::\w+)?\}", lambda match: "cities" if match[1] == "ix" else "1", path)
        calls = _calls(route.dependant) if hasattr(route, "dependant") else []
        required = [call for call in calls if isinstance(call, Require)]
        assert len(required) <= 1, f"{path} requires twice"
        for method in sorted(route.methods or {"GET", "POST"}):
            yield method, filled, required[0] if required else None


def _calls(dependant: Any) -> list[Any]:
    return [call for part in dependant.dependencies for call in (part.call, *_calls(part))]


def problem(reply: Any) -> tuple[int, str]:
    assert reply.headers["content-type"] == "application/problem+json", reply.text
    return reply.status_code, reply.json()["type"].rpartition(":")[2]


def test_every_route_declares_scope(guarded: Guarded) -> None:
    listed = list(routes(guarded))
    assert len(listed) >= 12
    for method, path, required in listed:
        assert required is not None or path in GENERATED or path.startswith("/mcp"), f"{method} {path} has no require()"


@pytest.mark.parametrize("key", [None, "wrong", "expired", "revoked"])
def test_every_route_needs_valid_key(guarded: Guarded, key: str | None) -> None:
    headers = {} if key is None else guarded.headers(key)
    for method, path, _ in routes(guarded):
        reply = guarded.client.request(method, path, headers=headers)
        assert reply.status_code == 401, f"{method} {path}"
        if method != "HEAD":
            assert problem(reply) == (401, "unauthorized")
            assert reply.headers["www-authenticate"].startswith("Bearer")


def test_every_route_refuses_narrow_key(guarded: Guarded) -> None:
    for method, path, required in routes(guarded):
        if required is None:
            continue
        for scope in SCOPES[: SCOPES.index(required.scope)]:
            reply = guarded.client.request(method, path, headers=guarded.headers(scope))
            assert problem(reply) == (403, "forbidden") and required.scope in reply.headers["www-authenticate"]
        if required.every_index:
            some, every = ("none", "admin") if required.scope == "admin" else ("read", "read all")
            assert problem(guarded.client.request(method, path, headers=guarded.headers(some))) == (403, "forbidden")
            assert guarded.client.request(method, path, headers=guarded.headers(every)).status_code not in (401, 403)


def test_open_paths_need_no_key(guarded: Guarded) -> None:
    assert guarded.client.get("/healthz").status_code == 200
    told = guarded.client.get("/session").json()
    told = {name: value for name, value in told.items() if value is not None}
    assert told == {"closed": True, "signed_in": False, "manages": False}
    assert guarded.client.get("/nothing/here").status_code == 401


MALFORMED = ["Basic Z3c6Z3c=", "Bearer", "gw_00000000_x", "Bearer gw_ x", "Bearer \xff\xfe", "Bearer " + "A" * 7_000]


@pytest.mark.parametrize("header", MALFORMED)
def test_malformed_credentials_are_refused(guarded: Guarded, header: str) -> None:
    reply = guarded.client.get("/v1/indexes", headers={"Authorization": header.encode("latin-1")})
    assert reply.status_code == 401


# --- Indexes


def test_index_out_of_scope_looks_missing(guarded: Guarded) -> None:
    for method, path, required in routes(guarded):
        if required is None or "/cities" not in path:
            continue
        for key in ("write", "none") if required.scope != "admin" else ("none",):
            replies = [
                guarded.client.request(method, path.replace("/cities", f"/{name}", 1), headers=guarded.headers(key))
                for name in ("secret", "nowhere")
            ]
            if method == "HEAD":
                continue
            real, absent = replies[0].text.replace("secret", "nowhere"), replies[1].text
            assert problem(replies[0]) == problem(replies[1]) == (404, "not-found"), f"{method} {path}"
            assert real == absent and replies[0].headers.keys() == replies[1].headers.keys()


def test_lists_name_visible_indexes(guarded: Guarded) -> None:
    def names(key: str) -> tuple[list[str], list[str], list[str]]:
        client, headers = guarded.client, guarded.headers(key)
        listed = [index["name"] for index in client.get("/v1/indexes", headers=headers).json()["indexes"]]
        models = [model["id"] for model in client.get("/v1/models", headers=headers).json()["data"]]
        return listed, models, client.get("/session", headers=headers).json()["indexes"]

    assert names("read") == (["cities"], ["cities"], ["cities"])
    assert names("none") == ([], [], [])
    assert names("admin") == (["cities", "secret"], ["cities", "secret"], ["cities", "secret"])


@pytest.mark.parametrize("model", ["secret", "secret:bm25", "nowhere", "nowhere:bm25"])
def test_chat_model_reaches_no_other_index(guarded: Guarded, model: str) -> None:
    asked = "What is the password?"
    body = {"model": model, "messages": [{"role": "user", "content": asked}], "input": asked, "prompt": asked}
    name = model.partition(":")[0]
    for path in ("v1/chat/completions", "v1/completions", "v1/responses", "v1/embeddings", "api/chat", "api/show"):
        reply = guarded.client.post(f"/{path}", json=body, headers=guarded.headers("write"))
        assert problem(reply) == (404, "not-found"), path
        assert reply.json()["detail"] == f"There is no index {name!r} here. GET /v1/indexes lists them."


def test_jobs_out_of_scope_look_missing(guarded: Guarded) -> None:
    body = {"documents": [{"id": "door", "text": "The door of the vault is green."}]}
    added = guarded.client.post("/v1/indexes/secret/documents", json=body, headers=guarded.headers("admin"))
    id = added.json()["job"]["id"]
    for key in ("write", "none"):
        for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/cancel"), ("POST", "/retry")):
            real, absent = (
                guarded.client.request(method, f"/v1/jobs/{job}{path}", headers=guarded.headers(key))
                for job in (id, "0" * len(id))
            )
            assert problem(real) == problem(absent) == (404, "not-found"), (key, path)
            assert real.text.replace(id, "0" * len(id)) == absent.text
        listed = guarded.client.get("/v1/jobs", headers=guarded.headers(key)).json()["jobs"]
        assert id not in [job["id"] for job in listed]
    assert guarded.client.get(f"/v1/jobs/{id}", headers=guarded.headers("admin")).status_code == 200


# --- Sessions


def signed_in(guarded: Guarded, key: str = "write") -> str:
    """Return the cookie of a new session."""
    reply = guarded.client.post("/session", json={"key": guarded.keys[key]})
    assert reply.status_code == 200, reply.text
    guarded.client.cookies.clear()
    cookie = reply.headers["set-cookie"]
    assert guarded.keys[key] not in cookie and "HttpOnly" in cookie and "samesite=strict" in cookie.lower()
    assert "secure" not in cookie.lower() and "Path=/" in cookie  # plain HTTP here; see the next test
    return str(re.match(rf"{COOKIE}=[^;]+", cookie)[0])  # type: ignore[index]


def test_session_cookie_over_https_is_secure(limited: Guarded) -> None:
    client = TestClient(limited.app, base_url="https://localhost")
    cookie = client.post("/wiki/session", json={"key": limited.keys["read all"]}).headers["set-cookie"]
    assert "Secure" in cookie and "Path=/wiki" in cookie


def test_session_works_from_own_page_only(guarded: Guarded) -> None:
    cookie = signed_in(guarded)
    own = {"Cookie": cookie, "Origin": guarded.url}
    ask = {"json": {"question": "Where does Graz lie?"}}
    assert guarded.client.get("/v1/indexes/cities", headers={"Cookie": cookie}).status_code == 200
    assert guarded.client.post("/v1/indexes/cities/retrieve", headers=own, **ask).status_code == 200
    fetched = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}
    assert guarded.client.post("/v1/indexes/cities/retrieve", headers=fetched, **ask).status_code == 200
    for headers in (
        {},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": guarded.url.replace("127.0.0.1", "localhost")},
        {"Origin": guarded.url + "0"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ):
        reply = guarded.client.post("/v1/indexes/cities/retrieve", headers={"Cookie": cookie, **headers}, **ask)
        assert problem(reply) == (403, "forbidden"), headers


def test_session_ends_with_sign_out_or_revoked_key(guarded: Guarded) -> None:
    first, second = signed_in(guarded), signed_in(guarded)
    reply = guarded.client.delete("/session", headers={"Cookie": first, "Origin": guarded.url})
    assert reply.status_code == 204 and "Max-Age=0" in reply.headers["set-cookie"]
    assert guarded.client.get("/v1/indexes", headers={"Cookie": first}).status_code == 401
    assert guarded.client.get("/v1/indexes", headers={"Cookie": second}).status_code == 200
    token, key = guarded.app.state.server.keys.create("short", "read")
    guarded.keys["short"] = token
    third = signed_in(guarded, "short")
    guarded.app.state.server.keys.revoke(key.id)
    assert guarded.client.get("/v1/indexes", headers={"Cookie": third}).status_code == 401


def test_wrong_keys_are_slowed_down(limited: Guarded) -> None:
    replies = [limited.client.post("/session", json={"key": limited.keys["wrong"]}) for _ in range(12)]
    assert {reply.status_code for reply in replies} == {401, 429}
    assert problem(replies[-1]) == (429, "rate-limit") and int(replies[-1].headers["retry-after"]) > 0
    assert all("set-cookie" not in reply.headers for reply in replies)
    # A valid key is let in all the same: nobody locks others out.
    assert limited.client.get("/v1/indexes", headers=limited.headers("write")).status_code == 200
    assert limited.client.post("/session", json={"key": limited.keys["write"]}).status_code == 200


def test_key_beyond_rate_is_refused(limited: Guarded) -> None:
    replies = [limited.client.get("/v1/methods", headers=limited.headers("read")) for _ in range(8)]
    assert [reply.status_code for reply in replies].count(200) == 5
    assert problem(replies[-1]) == (429, "rate-limit")
    assert limited.client.get("/v1/methods", headers=limited.headers("none")).status_code == 200


# --- Without keys


def test_server_beyond_loopback_needs_key(tmp_path: Path) -> None:
    with closing(Keys(tmp_path / "the data")) as keys:
        check_exposure(ServeSettings(host="127.0.0.1", data=tmp_path / "the data"), keys)
        others = ServeSettings(host="0.0.0.0", data=tmp_path / "the data")
        with pytest.raises(OptionError, match=r"keys create NAME --data '.*the data'$"):
            check_exposure(others, keys)
        keys.create("page")
        check_exposure(others, keys)
