"""Behaviours of a server of models that break HTTP in several ways, and a clock without waiting."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field

from tests.llm_server import Behaviour, Handler

from graphwright.models import Cancellation
from graphwright.models.openai.http import Clock


def silent(handler: Handler) -> None:
    """Never answer."""
    handler.server.closing.wait(30)
    handler.close_connection = True


@dataclass
class Waiting:
    """Never answer; `left` is set when the client closes the connection."""

    left: threading.Event = field(default_factory=threading.Event)

    def __call__(self, handler: Handler) -> None:
        """Wait until the client or the server closes the connection."""
        handler.connection.settimeout(0.02)
        while not handler.server.closing.is_set():
            with suppress(TimeoutError):
                if not handler.connection.recv(1):
                    self.left.set()
                    break
        handler.close_connection = True


def hang_up(handler: Handler) -> None:
    """Close the connection without an answer."""
    handler.close_connection = True


def cut(body: bytes | str, promised: int = 10_000) -> Behaviour:
    """Send less than was promised."""

    def behave(handler: Handler) -> None:
        handler.begin(200, {"Content-Length": str(promised), "Content-Type": "application/json"})
        handler.write(body)
        handler.close_connection = True

    return behave


def cut_stream(*parts: str) -> Behaviour:
    """Stream some events, then close the connection in the middle."""

    def behave(handler: Handler) -> None:
        handler.begin(200, {"Transfer-Encoding": "chunked", "Content-Type": "text/event-stream"})
        for part in parts:
            handler.chunk(part)
        handler.close_connection = True

    return behave


def endless(part: str, seconds: float = 0.0, before: str = "", headers: bool = False) -> Behaviour:
    """Send `before`, then `part` again and again until nobody listens, every so many seconds; even as headers."""

    def behave(handler: Handler) -> None:
        if headers:
            handler.write("HTTP/1.1 200 OK\r\nX-Slow: ")
        else:
            handler.begin(200, {"Content-Type": "text/event-stream" if part.startswith("data") else "application/json"})
        handler.write(before)
        while not handler.server.closing.wait(seconds):
            handler.write(part)

    return behave


class Watch:
    """A clock that jumps instead of waiting; `slept` says how long each wait would have been."""

    def __init__(self) -> None:
        self.at = 0.0
        self.slept: list[float] = []
        self._lock = threading.Lock()
        self.clock = Clock(date=time.time, sleep=self.sleep)

    def sleep(self, cancel: Cancellation, seconds: float) -> None:
        """Record a wait and move the clock by it."""
        with self._lock:
            self.slept.append(seconds)
            self.at += seconds
