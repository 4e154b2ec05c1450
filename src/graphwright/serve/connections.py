"""uvicorn with a timeout for request headers, and with a reply to every request at shutdown.

uvicorn limits the idle time of a connection, but not the time of a request's headers: a client that sends a byte a
minute keeps a connection open for ever. At shutdown it cuts off running requests after some seconds.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol


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


def server_config(app: Any, slow_body: float, seconds: int, **options: Any) -> uvicorn.Config:
    """Return uvicorn's configuration for the application. `seconds`: for running requests at shutdown."""
    return uvicorn.Config(
        app,
        http=timed_protocol(slow_body),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=seconds,
        **options,
    )


def timed_protocol(seconds: float) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol, which closes a connection when the headers of a request take longer than this."""
    base: Any = AutoHTTPProtocol

    class TimedProtocol(base):  # type: ignore[misc]
        _head_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._await_head()

        def data_received(self, data: bytes) -> None:
            cycle = self.cycle
            if cycle is None or cycle.response_complete:
                self._await_head()
            super().data_received(data)
            if self.cycle is not None and self.cycle is not cycle:
                self._end_wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._end_wait()
            super().connection_lost(exc)

        def _await_head(self) -> None:
            if self._head_timer is None:
                self._head_timer = self.loop.call_later(seconds, self.transport.close)

        def _end_wait(self) -> None:
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None

    return TimedProtocol
