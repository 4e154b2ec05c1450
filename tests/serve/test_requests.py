"""Hosts, origins, names that look like paths, and bodies that are too large or malformed, over sockets."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import pytest
from tests.serve.conftest import Running
from tests.serve.guarded import Guarded, exchanged, status_of

from graphwright.serve import requests

RETRIEVE = "/v1/indexes/cities/retrieve"
TRAVERSALS = ["..", ".", "../secret", "..%2fsecret", "%2e%2e", "%2e%2e%2fcities", "cities/../secret", "cities%2f..%2fsecret", "cities%00", "C:%5C", "%2Fetc%2Fpasswd", "....//", "cities%0d%0aX-Injected:%201"]  # fmt: skip  # noqa: E501


def head(path: str, *, method: str = "GET", host: str = "127.0.0.1", close: bool = True, **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *(["Connection: close"] if close else [])]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


# --- Hosts and origins, without keys, where everything else is allowed


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:9", "192.0.2.7", "localhost."])
def test_own_addresses_are_answered(server: Running, host: str) -> None:
    assert status_of(exchanged(server, head("/v1/indexes", host=host))) == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8000", "127.0.0.1@evil.example", "a b", "", "evil.example#127.0.0.1", "0x7f.1.evil", "x" * 300])  # fmt: skip  # noqa: E501
def test_request_for_unknown_host_is_refused(server: Running, host: str) -> None:
    for path in ("/v1/indexes", "/healthz", "/session", "/"):
        reply = exchanged(server, head(path, host=host))
        assert status_of(reply) in (400, 421) and b"cities" not in reply


def test_two_hosts_or_none_are_refused(server: Running) -> None:
    two = b"GET /v1/indexes HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert status_of(exchanged(server, two)) in (400, 421)
    assert status_of(exchanged(server, b"GET /v1/indexes HTTP/1.0\r\n\r\n")) in (400, 421)


def test_forwarded_headers_are_ignored(server: Running) -> None:
    forged = {"X-Forwarded-Host": "localhost", "Forwarded": "host=localhost", "X-Forwarded-For": "127.0.0.1"}
    assert status_of(exchanged(server, head("/v1/indexes", host="evil.example", **forged))) == 421


FOREIGN = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://127.0.0.1.evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_other_site_reads_and_changes_nothing(server: Running, headers: dict[str, str]) -> None:
    body = json.dumps({"question": "Where does Graz lie?"})
    simple = {**headers, "Content-Type": "text/plain"}  # what a form of another site may send without being asked
    for reply in (
        server.client.post(RETRIEVE, content=body, headers=simple),
        server.client.get("/v1/indexes", headers=headers),
        server.client.delete("/session", headers=headers),
    ):
        assert reply.status_code == 403 and "passages" not in reply.text and "cities" not in reply.text
        assert "access-control-allow-origin" not in reply.headers


def test_refusal_names_origin_and_host(server: Running) -> None:
    headers = {"Origin": "https://wiki.example.org:8443", "Host": "localhost"}
    detail = server.client.get("/v1/indexes", headers=headers).json()["detail"]
    assert "Origin is 'https://wiki.example.org:8443', Host is 'localhost'" in detail and "proxy" in detail
    detail = server.client.get("/v1/indexes", headers={"Sec-Fetch-Site": "cross-site"}).json()["detail"]
    assert "Origin" not in detail


def test_cors_allows_no_other_origin(server: Running) -> None:
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    reply = server.client.options(RETRIEVE, headers=asked)
    assert reply.status_code >= 400
    assert not [name for name in reply.headers if name.startswith("access-control-")]


def test_foreign_link_opens_page_without_data(server: Running) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert server.client.get("/healthz", headers=link).status_code == 200
    assert server.client.get("/v1/indexes", headers=link).status_code == 403


def test_every_reply_has_security_headers(guarded: Guarded) -> None:
    for path in ("/healthz", "/v1/indexes", "/nothing", "/openapi.json", "/"):
        reply = guarded.client.get(path, headers=guarded.headers("admin"))
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "http" not in policy and "*" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff" and reply.headers["x-frame-options"] == "DENY"
        assert reply.headers["referrer-policy"] == "no-referrer" and reply.headers["x-request-id"]
        assert "server" not in reply.headers


def test_request_ids_are_taken_if_plain(server: Running) -> None:
    assert server.client.get("/healthz", headers={"X-Request-ID": "trace-0001"}).headers["x-request-id"] == "trace-0001"
    for bad in ("a b", "<script>", "x" * 65, 'a"b', "short"):
        assert server.client.get("/healthz", headers={"X-Request-ID": bad}).headers["x-request-id"] != bad


# --- Names


@pytest.mark.parametrize("name", TRAVERSALS)
def test_names_in_addresses_are_not_paths(guarded: Guarded, name: str) -> None:
    key = guarded.headers("read")
    for path in (
        f"/v1/indexes/{name}",
        f"/v1/indexes/{name}/documents/vault/text",
        f"/v1/indexes/cities/documents/{name}/text",
        f"/v1/indexes/cities/entities/{name}",
        f"/v1/jobs/{name}",
        f"/v1/models/{name}",
        f"/assets/{name}",
        f"/assets/../{name}/v1/indexes",
        f"/{name}/v1/indexes/secret",
    ):
        reply = exchanged(guarded, head(path, **key))
        assert status_of(reply) in (307, 400, 401, 404, 422), path
        for leak in (b"swordfish", b"root:", str(guarded.data).encode(), b"\nX-Injected", b"Traceback"):
            assert leak not in reply, path


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "..", "cities/../secret", "file:///etc/passwd", "\x00", "secret"])  # fmt: skip  # noqa: E501
def test_names_in_bodies_are_not_paths(guarded: Guarded, name: str) -> None:
    asked = "What is the password of the vault?"
    chat = {"messages": [{"role": "user", "content": asked}]}
    for path, body in (
        (RETRIEVE, {"question": asked, "method": name}),
        (RETRIEVE, {"question": asked, "filter": {"folder": name}}),
        (RETRIEVE, {"question": asked, "filter": {"documents": [name]}}),
        (RETRIEVE, {"question": asked, "index": name}),
        (RETRIEVE, {"question": asked, "retriever": name}),
        (RETRIEVE, {"question": asked, "llm": f"openai:m@http://{name}"}),
        ("/v1/indexes/cities/compare", {"question": asked, "methods": [name]}),
        ("/v1/chat/completions", {"model": name, **chat}),
        ("/v1/chat/completions", {"model": f"cities:{name}", **chat}),
        ("/v1/embeddings", {"model": name, "input": asked}),
        ("/v1/responses", {"model": name, "input": asked}),
        ("/api/chat", {"model": name, **chat}),
    ):
        reply = guarded.client.post(path, json=body, headers=guarded.headers("read"))
        assert reply.status_code in (404, 422), (path, body)
        assert "swordfish" not in reply.text and str(guarded.data.parent) not in reply.text


# --- Bodies


@pytest.fixture
def short_drain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "_DRAIN_S", 0.1)


def test_declared_large_body_is_not_read(guarded: Guarded, short_drain: None) -> None:
    begun = time.monotonic()
    request = head(RETRIEVE, method="POST", Content_Length="999999999999", close=False, **guarded.headers("read"))
    reply = exchanged(guarded, request)
    assert status_of(reply) == 413 and b"application/problem+json" in reply and b"connection: close" in reply.lower()
    assert time.monotonic() - begun < 5


def test_actual_large_body_is_cut(guarded: Guarded, short_drain: None) -> None:
    chunk = b"1000\r\n" + b"a" * 4096 + b"\r\n"
    request = head(RETRIEVE, method="POST", Transfer_Encoding="chunked", close=False, **guarded.headers("read"))
    assert status_of(exchanged(guarded, request + chunk * 6)) == 413


@pytest.mark.parametrize("length", ["-1", "+5", "1e3", "0x10", "5, 6", "", "9" * 5_000])
def test_non_numeric_length_is_refused(guarded: Guarded, length: str) -> None:
    request = head(RETRIEVE, method="POST", Content_Length=length, **guarded.headers("read"))
    assert status_of(exchanged(guarded, request + b"{}")) in (400, 413)


def test_two_lengths_are_refused(guarded: Guarded) -> None:
    both = {"Content_Length": "2", "Transfer_Encoding": "chunked"}
    smuggled = head(RETRIEVE, method="POST", close=False, **both, **guarded.headers("read"))
    smuggled += b"0\r\n\r\n" + head("/v1/indexes/secret", **guarded.headers("read"))
    assert b"swordfish" not in (reply := exchanged(guarded, smuggled)) and status_of(reply) in (400, 422)


BODIES = [
    *(b"", b"{", b"null", b"[]", b'"x"', b"\xff\xfe\x00", b'{"question": 1}', b'{"question": ""}', b"[" * 10_000),
    *(b'{"question": "a", "top_k": 1e99}', b'{"question": "a", "top_k": -1}', b'{"question": "a", "unknown": 1}'),
    *(b'{"question": "a", "stream": "maybe"}', b'{"question": "\\ud800", "top_k": 0}', b'{"question": NaN}'),
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:40]))
def test_malformed_body_has_no_traceback(guarded: Guarded, body: bytes) -> None:
    for path in (RETRIEVE, "/v1/indexes/cities/ask", "/v1/chat/completions", "/v1/responses", "/api/chat"):
        headers = {**guarded.headers("read"), "Content-Type": "application/json"}
        reply = guarded.client.post(path, content=body, headers=headers)
        assert reply.status_code in (400, 413, 422), reply.text
        assert reply.headers["content-type"] == "application/problem+json"
        assert "Traceback" not in reply.text and ".py" not in reply.text


def test_long_question_is_refused(guarded: Guarded) -> None:
    reply = guarded.client.post(RETRIEVE, json={"question": "a" * 9_000}, headers=guarded.headers("read"))
    assert reply.status_code == 422


def test_body_of_get_is_limited(guarded: Guarded) -> None:
    reply = guarded.client.request("GET", "/v1/indexes", content=b"a" * 30_000, headers=guarded.headers("read"))
    assert reply.status_code == 413
    assert "connection" not in reply.headers, "the body was not read to its end, so the connection may be reset"


def test_other_methods_and_upgrades_are_refused(guarded: Guarded, tmp_path: Path) -> None:
    key = guarded.headers("admin")
    for method in ("TRACE", "CONNECT", "PROPFIND", "PUT"):
        assert status_of(exchanged(guarded, head("/v1/indexes", method=method, **key))) in (400, 404, 405)
    upgrade = {"Upgrade": "websocket", "Sec_WebSocket_Key": "x", "Sec_WebSocket_Version": "13"}
    assert status_of(exchanged(guarded, head("/v1/indexes", **upgrade))) == 401


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate, gzip"])
def test_compressed_body_is_refused_by_its_coding(server: Running, coding: str) -> None:
    body = gzip.compress(json.dumps({"question": "Where is Graz?"}).encode())
    headers = {"Content-Encoding": coding, "Content-Type": "application/json"}
    reply = server.client.post(RETRIEVE, content=body, headers=headers)
    assert reply.status_code == 415 and coding in reply.json()["detail"]
