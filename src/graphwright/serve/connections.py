"""uvicorn with a reply to every request at shutdown, where it cuts off running requests after some seconds."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn


class DrainingServer(uvicorn.Server):
    """uvicorn's server, which calls `drain` that many seconds after its shutdown began, if requests still run."""

    def __init__(self, config: uvicorn.Config, drain: Callable[[], None], seconds: float) -> None:
        """Take uvicorn's configuration, the function that ends running requests, and the seconds until it is called."""
        super().__init__(config)
        self._drain, self._seconds = drain, seconds

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down as uvicorn does."""
        timer = asyncio.get_running_loop().call_later(self._seconds, self._drain)
        try:
            await super().shutdown(sockets)
        finally:
            timer.cancel()


def server_config(app: Any, seconds: int, **options: Any) -> uvicorn.Config:
    """Return uvicorn's configuration for the application. `seconds`: for running requests at shutdown."""
    return uvicorn.Config(
        app,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=seconds,
        **options,
    )
