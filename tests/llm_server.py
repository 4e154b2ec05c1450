"""An HTTP server with OpenAI's interface, whose responses a test scripts.

    with LLMServer(lambda asked: "Graz" if "Where" in asked["messages"][-1]["content"] else "no") as server:
        llm = OpenAILLM("any", server.url)

The argument is a function of the request's JSON, or a list with one response per request, the last for all further
ones. A response is a text (a chat completion, streamed on request), a dict (sent as JSON), or a behaviour: `Say` is a
completion in detail, `Send` any bytes. `server.requests` holds the requests: path, headers, JSON. Leaving the block
closes all connections and raises the exceptions of the function.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["Handler"], None]
Answered = str | dict[str, Any] | Behaviour


@dataclass
class Request:
    """One request; names of headers are in lower case."""

    path: str
    headers: dict[str, str]
    json: dict[str, Any]


@dataclass
class Say:
    """A chat completion. `usage`: prompt and completion tokens, None to leave it out."""

    text: str | None
    usage: tuple[int, int] | None = (7, 3)
    finish: str = "stop"
    extra: dict[str, Any] = field(default_factory=dict)

    def __call__(self, handler: Handler) -> None:
        """Send the completion, streamed where the request asks for it."""
        if handler.asked.get("stream"):
            return handler.stream(*events(self.text or "", self.finish), *self._last(handler), DONE)
        message = {"role": "assistant", "content": self.text, **self.extra}
        body: dict[str, Any] = {"choices": [{"index": 0, "message": message, "finish_reason": self.finish}]}
        if self.usage:
            body["usage"] = usage(*self.usage)
        handler.send(200, json.dumps(body))

    def _last(self, handler: Handler) -> list[str]:
        wanted = handler.asked.get("stream_options", {}).get("include_usage")
        return [event({"choices": [], "usage": usage(*self.usage)})] if self.usage and wanted else []


@dataclass
class Send:
    """Any answer: status, body (text, bytes, or a value sent as JSON), more headers."""

    status: int
    body: Any = ""
    headers: dict[str, str] = field(default_factory=dict)

    def __call__(self, handler: Handler) -> None:
        """Send the response."""
        plain = isinstance(self.body, str | bytes)
        handler.send(self.status, self.body if plain else json.dumps(self.body), self.headers)


def error(status: int, message: str, **headers: str) -> Send:
    """An error as OpenAI words it; `retry_after="3"` is the header Retry-After."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Send(status, {"error": {"message": message, "type": "error", "param": None, "code": None}}, named)


def usage(prompt: int, completion: int) -> dict[str, int]:
    """Return the token counts of a response."""
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def event(data: dict[str, Any]) -> str:
    """Return one event of a stream."""
    return f"data: {json.dumps(data)}\n\n"


def events(text: str, finish: str | None = "stop") -> list[str]:
    """The stream of a text, a word at a time."""
    first, *others = text.split(" ")
    words = ["", first, *(f" {word}" for word in others)]
    deltas: list[dict[str, Any]] = [{"delta": {"content": word}, "finish_reason": None} for word in words]
    if finish:
        deltas.append({"delta": {}, "finish_reason": finish})
    return [event({"choices": [{"index": 0, **delta}]}) for delta in deltas]


DONE = "data: [DONE]\n\n"


class Handler(BaseHTTPRequestHandler):
    """Handler of requests, which calls the behaviour of each."""

    server: LLMServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a second small write waits 40 ms for the receipt of the first
    asked: dict[str, Any]

    def do_POST(self) -> None:
        """Answer one request."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if len(body) < int(self.headers["Content-Length"]):  # the client has hung up
            self.close_connection = True
            return
        self.asked = json.loads(body)
        answer = self.server.answer(Request(self.path, {k.lower(): v for k, v in self.headers.items()}, self.asked))
        try:
            if isinstance(answer, str):
                Say(answer)(self)
            elif isinstance(answer, dict):
                self.send(200, json.dumps(answer))
            else:
                answer(self)
        except OSError:  # nobody listens any more
            self.close_connection = True

    def begin(self, status: int, headers: dict[str, str]) -> None:
        """Send the status and headers; without a length the connection's end is the body's."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if not {"Content-Length", "Transfer-Encoding"} & set(headers):
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()

    def send(self, status: int, body: str | bytes, headers: dict[str, str] | None = None) -> None:
        """Send a complete response."""
        data = body.encode() if isinstance(body, str) else body
        self.begin(status, {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})})
        self.write(data)

    def stream(self, *parts: str) -> None:
        """Send a complete stream."""
        self.begin(200, {"Transfer-Encoding": "chunked", "Content-Type": "text/event-stream"})
        for part in parts:
            self.chunk(part)
        self.write("0\r\n\r\n")

    def chunk(self, part: str) -> None:
        """Send one chunk of a chunked response."""
        data = part.encode()
        self.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def write(self, data: str | bytes) -> None:
        """Send bytes at once."""
        self.wfile.write(data.encode() if isinstance(data, str) else data)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


class LLMServer(ThreadingHTTPServer):
    """Serves on a free port while its block runs."""

    daemon_threads = False  # leaving the block waits for all that is answered

    def __init__(self, answers: Callable[[dict[str, Any]], Answered] | Sequence[Answered]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self.errors: list[BaseException] = []
        self._answers = answers
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))

    def answer(self, request: Request) -> Answered:
        """Record a request and return its response."""
        with self._lock:
            self.requests.append(request)
            at = len(self.requests) - 1
        if callable(self._answers):
            return self._answers(request.json)
        return self._answers[min(at, len(self._answers) - 1)]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Record an open connection."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a closed connection."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep what an answer raised, for the end of the block; a client that hangs up is no error here."""
        exc = sys.exc_info()[1]
        if exc is not None and not isinstance(exc, OSError):
            self.errors.append(exc)

    def __enter__(self) -> LLMServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.closing.set()
        self.shutdown()
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self.server_close()
        for error in self.errors:
            raise error
