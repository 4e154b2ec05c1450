"""Targets of fuzzing: requests to a server, by their bodies, by their addresses, and byte by byte."""

from __future__ import annotations

import atexit
import json
import logging
import re
import socket
import threading
import time
from collections.abc import Iterable
from functools import cache, partial

import uvicorn

from fuzzing.seeds import JSON
from fuzzing.target import Target, scratch
from graphwright.index_folder.index import Index
from graphwright.models.fake import HashEncoder
from graphwright.serve.app import create_app, server_config
from graphwright.serve.catalog import Catalog
from graphwright.serve.settings import ServeSettings

__all__ = ["targets"]

ENCODER = HashEncoder(8)
TIMEOUT = 30.0  # seconds for a response
BOUNDARY = b"x1x"
UPLOAD = b"""--x1x\r
Content-Disposition: form-data; name="file"; filename="a.txt"\r
Content-Type: text/plain\r
\r
Graz lies on the Mur.\r
--x1x--\r
"""
RAW = (
    b"GET /v1/indexes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"POST /v1/indexes/cities/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 19\r\nConnection: close\r\n\r\n"
    b'{"question": "Mur"}',
)
ADDRESSES = tuple(
    path.encode()
    for path in (
        "/v1/indexes/cities/documents?q=a&offset=0&limit=10",
        "/v1/indexes/cities/documents/a%2Fb%23c.md/text?start=0&end=5",
        "/v1/indexes/cities/entities?q=Graz",
        "/v1/indexes/cities/entities/0",
        "/v1/indexes/cities/paths?from=0&to=1",
        "/v1/jobs/x/events",
        "/readyz",
    )
)
PARTS = (
    *(b"%00", b"%ff", b"%2F", b"%", b"..", b"//", b"?", b"&", b"=", b"-1", b"9" * 30, b"#", b"\xc3\xa9", b"%ED%A0%80"),
)
LINES = (
    *(b"\r\n", b"\n", b"\0", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n"),
    *(b"Host: evil\r\n", b"Authorization: Bearer x\r\n", b"Accept: text/event-stream\r\n", b"X: " + b"y" * 70_000),
)
BODIES = {
    "ask": (
        b'{"question": "Where?", "method": "bm25", "top_k": 3, "filter": {"documents": ["a/b#c.md"]}}',
        b'{"question": "Where?", "stream": true}',
    ),
    "compare": (b'{"question": "Where?", "methods": ["bm25", "vector"]}',),
    "chat": (
        b'{"model": "cities:bm25", "messages": [{"role": "user", "content": "Where?"}], "stream": true}',
        b'{"model": "cities", "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}',
    ),
    "estimate": (b'{"documents": [{"id": "a", "text": "Graz lies on the Mur.", "metadata": {"a": 1}}]}',),
    "mcp": (
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": '
        b'{"name": "ask", "arguments": {"question": "a"}}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "graphwright://x"}}',
    ),
}
PLACES = {
    "ask": "/v1/indexes/cities/ask",
    "compare": "/v1/indexes/cities/compare",
    "chat": "/v1/chat/completions",
    "estimate": "/v1/indexes/cities/documents/estimate",
    "mcp": "/mcp",
}


@cache
def address() -> tuple[str, int]:
    """Serve a small index until this process ends; return the host and the port."""
    folder = scratch() / "served"
    with Index.create(folder, encoder=ENCODER) as index:
        index.add([{"id": "a/b#c.md", "title": "Graz", "text": "Graz lies on the Mur."}])
    catalog = Catalog.open([f"cities={folder}"], encoder=ENCODER)
    app = create_app(catalog, ServeSettings(data=scratch() / "served-data"))
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    config = server_config(app, 1)
    for name in ("uvicorn", "python_multipart"):
        logging.getLogger(name).addHandler(logging.NullHandler())
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()

    def stop() -> None:
        server.should_exit = True
        thread.join(10)

    atexit.register(stop)
    end = time.monotonic() + TIMEOUT
    while not server.started and time.monotonic() < end:
        time.sleep(0.02)
    return "127.0.0.1", listening.getsockname()[1]


_PATIENCE = 1.0  # seconds without a byte after which the server is held to wait for the rest of a request


def _response(request: bytes, seconds: float = TIMEOUT) -> bytes:
    """Send bytes, and return all that comes back. Raises TimeoutError if nothing comes for some seconds."""
    received = b""
    with socket.create_connection(address(), timeout=seconds) as connection:
        try:
            connection.sendall(request)
            while part := connection.recv(65_536):
                received += part
        except ConnectionError:  # the server need not read to the end what it refuses
            pass
    return received


def _checked(received: bytes) -> str:
    """Return the status of a response; the server must not have failed, and errors are problems."""
    if not received:
        return "closed"
    head, _, body = received.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    assert status < 500 or status in (501, 503, 504), received[-300:]
    if status >= 400 and b"application/problem+json" in head:
        assert json.loads(body)["status"] == status
    return str(status)


def post(place: str, data: bytes, content_type: str = "application/json") -> str:
    """Post a body."""
    lines = [f"POST {place} HTTP/1.1", "Host: localhost", f"Content-Type: {content_type}", "Connection: close"]
    lines += ["Accept: application/json, text/event-stream", f"Content-Length: {len(data)}", "", ""]
    return _checked(_response("\r\n".join(lines).encode() + data))


def get(data: bytes) -> str:
    """Get an address."""
    path = data.replace(b" ", b"").replace(b"\r", b"").replace(b"\n", b"")
    return _checked(_response(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))


def raw(data: bytes) -> str:
    """Send the bytes as they are, and check the first response.

    A request that ends early is answered twice: what is left of the bytes is another, malformed request. Where the
    server waits for more bytes, it must answer another connection.
    """
    try:
        received = _response(data, _PATIENCE)
    except TimeoutError:
        assert get(b"/healthz") == "200"
        return "waits"
    head, blank, rest = received.partition(b"\r\n\r\n")
    length = re.search(rb"(?im)^content-length: *(\d+)", head)
    return _checked(head + blank + (rest if length is None else rest[: int(length[1])]))


def targets() -> Iterable[Target]:
    """Yield the targets."""
    for name, seeds in BODIES.items():
        yield Target(f"post-{name}", partial(post, PLACES[name]), seeds, JSON)
    upload = partial(post, PLACES["estimate"], content_type=f"multipart/form-data; boundary={BOUNDARY.decode()}")
    parts = (b"\r\n", b"--x1x", b"--x1x--", b'name="a"', b'filename="../a"', b"\0")
    yield Target("post-files", upload, (UPLOAD,), parts)
    yield Target("get", get, ADDRESSES, PARTS)
    yield Target("http", raw, RAW, LINES)
