"""Servers of language models that misbehave, each in one way, over HTTP and TLS."""

from __future__ import annotations

import json
import random
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["ATTACKS", "KEY", "Server", "certificate", "certificates"]

KEY = "sk-proj-0123456789abc"
RETRY_AFTER = (
    *("0", "-5", "1e999", "nan", "9" * 5000, "601", "1.5.5", "", "soon", "\u0663", "0x10"),
    *("Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 99 Foo 10000 00:00:00 GMT"),
)
WRONG: tuple[Any, ...] = (
    *(None, True, -1, 0, 1.5, 10**400, "text", "", [], {}, [None], [[]]),
    *({"text": 5}, [{"text": "x"}], "\ud800", "\x1b[2J"),
)
REPLY: dict[str, Any] = {
    "id": "a",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Graz."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3},
}
EVENT: dict[str, Any] = {
    "choices": [{"index": 0, "delta": {"content": "Graz."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3},
}
VECTORS: dict[str, Any] = {"data": [{"index": 0, "embedding": [0.5, 0.5]}], "usage": {"prompt_tokens": 7}}


@dataclass
class Server:
    """A server of raw bytes.

    `answer`: called with each connection, after its request was read if `reads`; `other`: the address of another one.
    """

    answer: Callable[[socket.socket], None]
    context: ssl.SSLContext | None = None
    requests: list[bytes] = field(default_factory=list)
    other: str = ""
    reads: bool = True
    closing: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def serving(self) -> Iterator[int]:
        """Serve on a free port while the block runs."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.settimeout(0.05)
            thread = threading.Thread(target=self._serve, args=(listening,))
            thread.start()
            try:
                yield listening.getsockname()[1]
            finally:
                self.closing.set()
                thread.join()

    def _serve(self, listening: socket.socket) -> None:
        threads = []
        while not self.closing.is_set():
            with suppress(TimeoutError):
                connection, _ = listening.accept()
                threads.append(threading.Thread(target=self._handle, args=(connection,)))
                threads[-1].start()
        for thread in threads:
            thread.join()

    def _handle(self, connection: socket.socket) -> None:
        with suppress(OSError, ssl.SSLError), connection:
            connection.settimeout(3)
            wrapped = connection if self.context is None else self.context.wrap_socket(connection, server_side=True)
            with wrapped:
                if self.reads:
                    self.requests.append(_request(wrapped))
                self.answer(wrapped)

    def slowly(self, connection: socket.socket, data: bytes, seconds: float = 0.05) -> None:
        """Send data a byte at a time, again and again, until nobody listens."""
        while not self.closing.wait(seconds):
            for at in range(len(data)):
                connection.sendall(data[at : at + 1])
                if self.closing.wait(seconds):
                    return


def _request(connection: socket.socket) -> bytes:
    """Return the request with its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65_536)
        if not part:
            return data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length and (part := connection.recv(65_536)):
        body += part
    return head + b"\r\n\r\n" + body


def response(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """Return the bytes of a response that closes the connection."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("utf-8") + body


def _replaced(value: Any, rng: random.Random) -> Any:
    """Return a JSON value in which one part has a wrong type or is missing."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        name = rng.choice(list(value))
        if rng.random() < 0.1:
            return {key: part for key, part in value.items() if key != name}
        return {**value, name: _replaced(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        return [_replaced(value[0], rng), *value[1:]]
    return rng.choice(WRONG)


def wrong_types(server: Server, connection: socket.socket, rng: random.Random) -> None:
    """Send a reply with a value of another type."""
    whole = VECTORS if b"/embeddings" in server.requests[-1].split(b"\r\n", 1)[0] else REPLY
    if whole is REPLY and rng.random() < 0.5:
        events = [json.dumps(_replaced(EVENT, rng)) for _ in range(rng.randrange(1, 4))]
        text = "".join(f"data: {event}\n\n" for event in [*events, json.dumps(EVENT), "[DONE]"])
    else:
        text = json.dumps(_replaced(whole, rng))
    connection.sendall(response(text.replace(str(10**400), "9" * 5000).encode()))


def retry_after(server: Server, connection: socket.socket, rng: random.Random) -> None:
    """Refuse with an extreme Retry-After."""
    status = rng.choice(("429 Too Many Requests", "503 Unavailable", "200 OK"))
    connection.sendall(response(b'{"error": {"message": "busy"}}', status, f"Retry-After: {rng.choice(RETRY_AFTER)}"))


def redirects(server: Server, connection: socket.socket, rng: random.Random) -> None:
    """Redirect to itself, to another host, or to a file."""
    outside = server.other.partition(":")[2]
    places = ("/v1/chat/completions", server.other, server.other, outside, "file:///etc/passwd", "", "\x00")
    place = rng.choice(places)
    status = rng.choice(("301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent", "300 Many"))
    connection.sendall(response(b"", status, f"Location: {place}"))


def slow(server: Server, connection: socket.socket, rng: random.Random) -> None:
    """Send headers, a body or events a byte at a time, or nothing."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    begin, part = rng.choice(
        (
            (b"", b"HTTP/1.1 200 OK\r\nX-Slow: a\r\n"),
            (head, b"data: {"),
            (head, b": comment\n\n"),
            (head, b'data: {"choices": [{"delta": {"content": "a"}}]}\n\n'),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b" "),
            (b"HTTP/1.1 500 Error\r\n\r\n", b"x"),
            (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"),
            (b"", b""),
        )
    )
    connection.sendall(begin)
    server.slowly(connection, part, rng.choice((0.0, 0.01, 0.05)))


def broken_http(server: Server, connection: socket.socket, rng: random.Random) -> None:
    """Break the protocol, or the connection."""
    whole = response(json.dumps(REPLY).encode())
    stream = "".join(
        f"data: {json.dumps({'choices': [{'delta': {'content': word}}]})}\n\n" for word in ("Graz", " lies")
    )
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n"
    choices = (
        whole[: rng.randrange(len(whole))],
        whole.replace(b"Content-Length: ", b"Content-Length: -"),
        whole.replace(b"Content-Length: ", b"Content-Length: 9" + b"9" * 30),
        whole.replace(b"HTTP/1.1 200", b"HTTP/9.9 200"),
        whole.replace(b"HTTP/1.1 200", b"HTTP/1.1 \xb2\xb2\xb2"),
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nAuthorization: Bearer " + KEY.encode() + b"\r\nbad header " + KEY.encode() + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + rng.randbytes(100),
        chunked + b"zz\r\n" + stream.encode(),
        chunked + f"{len(stream.encode()):x}\r\n{stream}\r\n".encode(),
        b"SSH-2.0-OpenSSH\r\n",
        rng.randbytes(rng.randrange(200)),
        response(b"[" * 100_000),
        response(KEY.encode() * 10),
        response(json.dumps({**REPLY, "key": KEY}).encode().replace(b"k", b"\\u006b")),
    )
    connection.sendall(rng.choice(choices))
    if rng.random() < 0.3:  # a reset instead of an end
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def certificates(server: Server, connection: socket.socket, rng: random.Random) -> None:
    """Answer as asked; reached only over TLS that is not valid."""
    connection.sendall(response(json.dumps(REPLY).encode()))


def handshakes(server: Server, connection: socket.socket, rng: random.Random) -> None:
    """Answer a handshake of TLS with something else, slowly, or not at all."""
    alert, hello = b"\x15\x03\x03\x00\x02\x02\x28", b"\x16\x03\x03\x40\x00\x02"
    reply, noise = response(json.dumps(REPLY).encode()), rng.randbytes(5_000)
    choices = (reply, alert, hello, hello + noise, noise[:300], b"")
    connection.sendall(rng.choice(choices))
    if rng.random() < 0.5:
        server.slowly(connection, rng.randbytes(50))


ATTACKS: dict[str, Callable[[Server, socket.socket, random.Random], None]] = {
    "wrong types": wrong_types,
    "retry-after": retry_after,
    "redirects": redirects,
    "slow": slow,
    "broken HTTP": broken_http,
    "certificates": certificates,
    "handshakes": handshakes,
}


def certificate(folder: Path) -> ssl.SSLContext:
    """Return the context of a server with a certificate that nobody has signed."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    options = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=localhost"]
    command = ["openssl", "req", *options, "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context
