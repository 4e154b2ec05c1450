"""A server over index folders, on a free port, while a block runs."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from graphwright.models import HashEncoder

if TYPE_CHECKING:
    import httpx

    from graphwright.serve.catalog import Catalog


@dataclass(frozen=True)
class Running:
    """A running server: its address, its application, and a client of it."""

    url: str
    app: Any
    client: httpx.Client


@contextmanager
def serving(
    folder: str | Path, *others: str | Path, key: str | None = None, ready: bool = True, **settings: Any
) -> Iterator[Running]:
    """Serve index folders, made with `HashEncoder`, in a thread, on a free port of this machine.

    A folder is served by its own name, `NAME=DIR` by another one. `key`: the key that the client sends. `ready`:
    whether to wait until the server is ready. `settings`: fields of `ServeSettings`. Needs the extra `serve`.
    """
    from graphwright.serve.catalog import Catalog

    data = Path(str(folder).rpartition("=")[2]).parent / "data"
    catalog = Catalog.open([folder, *others], encoder=HashEncoder())
    with _running(catalog, key, ready, {"data": data, **settings}) as running:
        yield running


@contextmanager
def serving_home(home: Path, encoder: HashEncoder | None = None, **settings: Any) -> Iterator[Running]:
    """Serve the indexes of a folder, in which others can be made; see `serving`. `encoder`: of those in the folder."""
    from graphwright.serve.catalog import Catalog

    settings = {"data": home.parent / "data", **settings}
    with _running(Catalog.open([], encoder=encoder, home=home), None, True, settings) as running:
        yield running


class _Hurried:
    """asyncio with pauses of a tenth, for uvicorn, which looks every 0.1 seconds whether it is to end."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    def sleep(self, seconds: float) -> Coroutine[Any, Any, None]:
        """Pause."""
        return asyncio.sleep(seconds / 10)


@contextmanager
def _running(catalog: Catalog, key: str | None, ready: bool, settings: dict[str, Any]) -> Iterator[Running]:
    import httpx
    import uvicorn

    from graphwright.serve.app import create_app, server_config
    from graphwright.serve.settings import ServeSettings

    with mock.patch("fastapi.applications.get_openapi", _api):
        app = create_app(catalog, ServeSettings(**settings))
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as `graphwright serve` does: else 40 ms a reply
    server = uvicorn.Server(server_config(app, 2))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}{app.state.server.settings.root_path}"
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    with mock.patch("uvicorn.server.asyncio", _Hurried()):
        thread.start()
        with httpx.Client(base_url=url, timeout=30, headers=headers) as client:
            wait_until(lambda: server.started and (not ready or client.get("/readyz").status_code == 200))
            yield Running(url, app, client)
        server.should_exit = True
        thread.join(10)


_BUILT: list[dict[str, Any]] = []


def _api(**described: Any) -> dict[str, Any]:
    """Return the schema of the API, which is the same for all servers, and takes most of the time of making one."""
    from fastapi.openapi.utils import get_openapi

    if not _BUILT:
        _BUILT.append(get_openapi(**described))
    return _BUILT[0]


def wait_until(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    """Wait until a condition holds. Raises TimeoutError where it does not within these seconds."""
    end, pause = time.monotonic() + seconds, 0.002
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"the condition was not met within {seconds} seconds")
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
