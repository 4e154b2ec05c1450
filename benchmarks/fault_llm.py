"""Ask language models and encoders behind hostile servers, over HTTP and TLS.

Each attack is a server that misbehaves in one way: redirects, bytes that come slowly, certificates that nobody has
signed, broken handshakes, values of wrong types in bodies and events, extremes of Retry-After, and responses that are
no HTTP or cut anywhere. A call ends within its timeouts in a reply or in an error of graphwright. Usage stays finite.
The key is in no error and no reply, and reaches no other server. No thread and no open file is left. The clients are
that of OpenAI's interface, LiteLLM, and a plain function.
"""

from __future__ import annotations

import gc
import json
import random
import socket
import ssl
import struct
import subprocess
import threading
import time
import urllib.request
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness import Record
from pydantic import BaseModel

from graphwright.errors import GraphwrightError
from graphwright.models.budget import Prices
from graphwright.models.litellm import LiteLLM, LiteLLMEncoder
from graphwright.models.openai.encoder import OpenAIEncoder
from graphwright.models.openai.llm import OpenAILLM
from graphwright.models.openai.rate import Clock
from graphwright.models.protocols import Usage
from graphwright.models.registry import FunctionEncoder, FunctionLLM

__all__ = ["ATTACKS", "attack", "run"]

KEY = "sk-proj-0123456789abc"
TIMEOUT = 0.6  # seconds for one reply
MAX_SECONDS = 20.0  # for a call with a retry, on a busy machine
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


class Place(BaseModel):
    """A schema of replies."""

    name: str


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
    lines = [
        f"HTTP/1.1 {status}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    return "\r\n".join([*lines, *headers, "", ""]).encode("utf-8") + body


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
    place = rng.choice(
        (
            "/v1/chat/completions",
            server.other,
            server.other,
            server.other.partition(":")[2],
            "file:///etc/passwd",
            "",
            "\x00",
        )
    )
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
    choices = (
        response(json.dumps(REPLY).encode()),
        alert,
        hello,
        hello + rng.randbytes(5_000),
        rng.randbytes(300),
        b"",
    )
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


@dataclass
class Call:
    """A call of a model at an address: what it asks for, and what it has got."""

    url: str
    kind: str
    waited: list[float] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    @property
    def schema(self) -> type[BaseModel] | None:
        """The schema of the reply."""
        return Place if self.kind == "schema" else None

    @property
    def on_text(self) -> Callable[[str], None] | None:
        """What receives a streamed reply."""
        return self.texts.append if self.kind == "stream" else None


def by_openai(call: Call) -> None:
    """Call by the client of OpenAI's interface."""
    clock = Clock(sleep=lambda cancel, seconds: call.waited.append(seconds))
    options: dict[str, Any] = {"timeout": TIMEOUT, "retries": 1, "clock": clock, "prices": Prices(1.0, 1.0)}
    if call.kind == "encoder":
        OpenAIEncoder("m", call.url, KEY, **options).encode_metered(["Graz"], call.usage)
        return
    llm = OpenAILLM("m", call.url, KEY, max_tokens=100, **options)
    reply = llm.complete_metered("", "Where?", call.usage, schema=call.schema, on_text=call.on_text)
    call.texts.append(reply.text)


def by_litellm(call: Call) -> None:
    """Call by LiteLLM."""
    options: dict[str, Any] = {"timeout": TIMEOUT, "retries": 1, "prices": Prices(1.0, 1.0)}
    if call.kind == "encoder":
        LiteLLMEncoder("openai/m", call.url, KEY, **options).encode_metered(["Graz"], call.usage)
        return
    llm = LiteLLM("openai/m", call.url, KEY, max_tokens=100, **options)
    reply = llm.complete("", "Where?", schema=call.schema, on_text=call.on_text)
    call.usage.add(reply.usage)
    call.texts.append(reply.text)


def by_function(call: Call) -> None:
    """Call by a function that posts the prompt and takes the reply apart without any check."""
    address = f"{call.url}/{'embeddings' if call.kind == 'encoder' else 'chat/completions'}"

    def post(prompt: Any) -> Any:
        request = urllib.request.Request(address, json.dumps({"prompt": prompt}).encode())
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            return json.loads(response.read(1 << 20))

    if call.kind == "encoder":
        FunctionEncoder(lambda texts: [row["embedding"] for row in post(texts)["data"]]).encode(["Graz"])
        return
    model = FunctionLLM(lambda prompt: post(prompt)["choices"][0]["message"]["content"])
    reply = model.complete("", "Where?", schema=call.schema, on_text=call.on_text)
    call.usage.add(reply.usage)
    call.texts.append(reply.text)


CLIENTS: dict[str, Callable[[Call], None]] = {"openai": by_openai, "litellm": by_litellm, "function": by_function}


def attacks_on(client: str) -> list[str]:
    """Return the attacks that a client is to stand; how long a function waits is its own affair."""
    return [name for name in ATTACKS if client != "function" or name != "slow"]


def attack(
    name: str, rng: random.Random, context: ssl.SSLContext | None = None, client: str = "openai"
) -> tuple[str, list[str]]:
    """Call a hostile server once; return the outcome and the broken promises. `context`: of "certificates"."""
    server = Server(lambda connection: ATTACKS[name](server, connection, rng), context)
    server.reads = name != "handshakes"
    elsewhere = Server(lambda connection: certificates(elsewhere, connection, rng))
    before = threading.active_count()
    with elsewhere.serving() as other, server.serving() as port:
        server.other = f"http://127.0.0.1:{other}/v1"
        url = f"{'https' if name in ('certificates', 'handshakes') else 'http'}://localhost:{port}/v1"
        call = Call(url, rng.choice(("whole", "stream", "schema", "encoder")))
        begun, outcome, problems = time.monotonic(), "a reply", list[str]()
        try:
            CLIENTS[client](call)
        except GraphwrightError as error:
            outcome = type(error).__name__
            shown = f"{error!r} {vars(error)} {error.__cause__!r} {error.__cause__ and vars(error.__cause__)}"
            problems += ["the key is in the error"] * (KEY in shown and client != "function")
        except BaseException as error:
            problems.append(f"{type(error).__name__}: {str(error)[:200]}")
        problems += _problems_of(call, time.monotonic() - begun)
    if client != "function":  # whose text is its own
        problems += ["the key is in the text"] * (KEY in "".join(call.texts))
    if client == "openai":  # the others follow redirects
        problems += ["it went to another server"] * any(elsewhere.requests)
    elif client == "litellm":
        problems += ["the key went to another server"] * any(KEY.encode() in request for request in elsewhere.requests)
    if url.startswith("https"):
        problems += ["the request was sent without a valid certificate"] * any(server.requests)
        problems += ["it was answered without a valid certificate"] * (outcome == "a reply")
    if (left := _threads_left(before)) > 0:
        problems.append(f"{left} threads are left")
    return f"{client}, {name}: {outcome}", [f"{client}, {name}, {call.kind}: {problem}" for problem in problems]


def _problems_of(call: Call, seconds: float) -> list[str]:
    """Return the broken promises about the time and the usage of a call."""
    usage, counted = call.usage, call.usage.prompt_tokens + call.usage.completion_tokens + call.usage.tokens
    problems = [f"it took {seconds:.1f} s"] * (seconds > MAX_SECONDS)
    problems += [f"it waited {wait:.0f} s" for wait in call.waited if not 0 <= wait <= 600]
    return problems + [f"usage {usage}"] * (not (0 <= counted < 10**10 and 0 <= usage.cost < 10**6))


def _threads_left(before: int) -> int:
    """Return how many threads more than before run after a moment."""
    end = time.monotonic() + MAX_SECONDS
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.02)
    return threading.active_count() - before


def _open_files() -> int:
    """Return the number of open files; 0 where it is unknown."""
    gc.collect()
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--clients", nargs="+", choices=list(CLIENTS), default=list(CLIENTS), metavar="CLIENT")


def run(options: Namespace) -> Record:
    """Attack until the time is over; return the outcomes and the failures. LiteLLM is left out where it is missing."""
    rng, outcomes, failures = random.Random(options.seed), Counter[str](), list[str]()
    clients = [name for name in options.clients if name != "litellm" or find_spec("litellm")]
    end = time.monotonic() + 60 * options.minutes
    with TemporaryDirectory() as folder:
        tls = {"certificates": certificate(Path(folder))}
        for client in clients:  # what is opened once is open before files are counted
            for name in attacks_on(client):
                attack(name, rng, tls.get(name), client)
        files = _open_files()
        while time.monotonic() < end and len(failures) < 20:
            for client in clients:
                for name in attacks_on(client):
                    outcome, problems = attack(name, rng, tls.get(name), client)
                    outcomes[outcome] += 1
                    failures += problems
        if (more := _open_files() - files) > 0:
            failures.append(f"{more} more files are open than in the beginning")
    return {"outcomes": dict(sorted(outcomes.items())), "failures": failures}
