"""A real server on loopback over a small index, for the tests of this folder."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("fastapi", reason='needs the extra "serve"')
httpx = pytest.importorskip("httpx")
import uvicorn  # noqa: E402

from graphwright import Index  # noqa: E402
from graphwright.models.fake import HashEncoder  # noqa: E402
from graphwright.serve.app import create_app  # noqa: E402
from graphwright.serve.catalog import Catalog  # noqa: E402
from graphwright.serve.connections import timed_protocol  # noqa: E402
from graphwright.serve.settings import ServeSettings  # noqa: E402

if TYPE_CHECKING:
    from tests.serve.security.guarded import Guarded

EMOJI = "🏔️ Graz lies on the Mur in Styria. 😀 The Mur flows into the Drava. גרץ היא עיר."
DOCUMENTS = [
    {"id": "graz", "title": "Graz", "text": EMOJI},
    {"id": "a/b#c.md", "title": "Linz", "text": "Linz lies on the Danube. Ida Pfeiffer visited Linz in 1842."},
    {"id": "pfeiffer", "title": "Ida Pfeiffer", "text": "Ida Pfeiffer was born in Vienna. Ida Pfeiffer travelled."},
    {"id": "vienna", "title": "Vienna", "text": "Vienna lies on the Danube. Vienna is the capital of Austria."},
]


@dataclass(frozen=True)
class Running:
    """A running server: its address, its application, and a client of it."""

    url: str
    app: Any
    client: httpx.Client


@contextmanager
def serving(
    folder: Path, *others: Path, key: str | None = None, ready: bool = True, **settings: Any
) -> Iterator[Running]:
    """Serve an index folder as "cities", and others by their names, in a thread, on a free port.

    `key`: that the client sends. `ready`: whether to wait until it is ready.
    """
    catalog = Catalog.open([f"cities={folder}", *others], encoder=HashEncoder())
    app = create_app(catalog, ServeSettings(**{"data": folder.parent / "data", **settings}))
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        http=timed_protocol(app.state.server.settings.slow_body),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}{app.state.server.settings.root_path}"
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=url, timeout=30, headers=headers) as client:
        wait_until(lambda: server.started and (not ready or client.get("/readyz").status_code == 200))
        yield Running(url, app, client)
    server.should_exit = True
    thread.join(10)


def wait_until(condition: Callable[[], Any], seconds: float = 20.0) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition was not met in time"
        time.sleep(0.02)


def events_of(text: str) -> list[tuple[str, Any]]:
    """Return the kind and the data of each event of a stream; comments are left out."""
    events = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            data = lines["data"]
            events.append((lines.get("event", ""), data if data == "[DONE]" else json.loads(data)))
    return events


@pytest.fixture(scope="session")
def cities(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small index."""
    folder = tmp_path_factory.mktemp("serve") / "cities"
    with Index.create(folder, encoder=HashEncoder()) as index:
        index.add(DOCUMENTS)
    return folder


@pytest.fixture(scope="session")
def server(cities: Path) -> Iterator[Running]:
    """A server that many tests share."""
    with serving(cities) as running:
        yield running


@pytest.fixture(scope="session")
def guarded(cities: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A server with keys that many tests share; it does not slow down wrong ones."""
    from tests.serve.security.guarded import guarding

    folder = tmp_path_factory.mktemp("guarded") / "data"
    with guarding(cities, folder, failures_per_minute=100_000, slow_body=1.5, max_body=20_000) as running:
        yield running
