"""A server with keys over two indexes, for the security tests: what each key may do, and requests byte by byte."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.serve.conftest import Running, serving

from graphwright import Index
from graphwright.models.fake import HashEncoder
from graphwright.serve.keys import Keys

SECRET = "The password of the vault in Graz is swordfish."


@dataclass(frozen=True)
class Guarded(Running):
    """A server over the indexes "cities" and "secret"; `keys`: tokens by what they may do; `data`: its folder."""

    keys: dict[str, str]
    data: Path

    def headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.keys[key]}"}


@contextmanager
def guarding(cities: Path, data: Path, **settings: Any) -> Iterator[Guarded]:
    """Serve with keys; the client sends none."""
    secret = data.parent / "secret"
    with Index.create(secret, encoder=HashEncoder()) as index:
        index.add([{"id": "vault", "title": "Vault", "text": SECRET}])
    with closing(Keys(data)) as keys:
        tokens = {
            "read": keys.create("reader", "read", ["cities"])[0],
            "write": keys.create("writer", "write", ["cities"])[0],
            "admin": keys.create("owner", "admin")[0],
            "read all": keys.create("observer", "read")[0],
            "none": keys.create("nobody", "admin", [])[0],
        }
        tokens["revoked"], key = keys.create("former", "admin")
        keys.revoke(key.id)
    with closing(Keys(data, lambda: 1_000_000.0)) as past:
        tokens["expired"] = past.create("guest", "admin", expires=1_000_001.0)[0]
    tokens["wrong"] = tokens["admin"][:-4] + ("AAAA" if tokens["admin"][-4:] != "AAAA" else "BBBB")
    with serving(cities, secret, key=tokens["admin"], data=data, **settings) as running:
        del running.client.headers["Authorization"]
        yield Guarded(running.url, running.app, running.client, tokens, data)


def connected(running: Running) -> socket.socket:
    """Return a socket that is connected to the server."""
    address = urlsplit(running.url)
    return socket.create_connection((str(address.hostname), int(address.port or 80)), timeout=10)


def exchanged(running: Running, request: bytes) -> bytes:
    """Return what the server sends in reply to these bytes until it closes the connection."""
    with connected(running) as sock:
        sock.sendall(request)
        return received(sock)


def received(sock: socket.socket) -> bytes:
    """Return all bytes until the server closes the connection."""
    parts = []
    try:
        while part := sock.recv(65_536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def status_of(reply: bytes) -> int:
    return int(reply.split(b" ", 2)[1])
