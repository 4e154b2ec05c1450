"""Ask language models and encoders behind hostile servers, over HTTP and TLS.

Each attack is a server that misbehaves in one way: redirects, bytes that come slowly, certificates that nobody has
signed, broken handshakes, values of wrong types in bodies and events, extremes of Retry-After, and responses that are
no HTTP or cut anywhere. A call ends within its timeouts in a reply or in an error of graphwright. Usage stays finite.
The key is in no error and no reply, and reaches no other server. No thread and no open file is left. The clients are
that of OpenAI's interface and a function.
"""

from __future__ import annotations

import gc
import json
import random
import ssl
import threading
import time
import urllib.request
from argparse import Namespace
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness import Record
from pydantic import BaseModel

from attacks.hostile_servers import ATTACKS, KEY, Server, certificate, certificates
from graphwright.errors import GraphwrightError
from graphwright.models.budget import Prices
from graphwright.models.openai.http import Clock
from graphwright.models.openai.llm import OpenAILLM
from graphwright.models.openai.model import OpenAIEncoder
from graphwright.models.protocols import Usage
from graphwright.models.registry import FunctionEncoder, FunctionLLM

__all__ = ["ATTACKS", "attack", "run"]

TIMEOUT = 0.6  # seconds for one reply
MAX_SECONDS = 20.0  # for a call with a retry, on a busy machine


class Place(BaseModel):
    """A schema of replies."""

    name: str


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
        OpenAIEncoder("m", call.url, KEY, **options).encode(["Graz"], call.usage)
        return
    llm = OpenAILLM("m", call.url, KEY, max_tokens=100, **options)
    reply = llm.complete("", "Where?", usage=call.usage, schema=call.schema, on_text=call.on_text)
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


CLIENTS: dict[str, Callable[[Call], None]] = {"openai": by_openai, "function": by_function}


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
    before = _threads()
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
    if client == "openai":  # a function follows redirects
        problems += ["it went to another server"] * any(elsewhere.requests)
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
    while _threads() > before and time.monotonic() < end:
        time.sleep(0.02)
    return _threads() - before


def _threads() -> int:
    """Return the number of threads without those of the event loop of the process, which stay."""
    return sum(not thread.name.startswith(("graphwright-http", "asyncio_")) for thread in threading.enumerate())


def _open_files() -> int:
    """Return the number of open files; 0 where it is unknown."""
    gc.collect()
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


def run(options: Namespace) -> Record:
    """Attack until the time is over; return the outcomes and the failures."""
    rng, outcomes, failures = random.Random(options.seed), Counter[str](), list[str]()
    end = time.monotonic() + 60 * options.minutes
    with TemporaryDirectory() as folder:
        tls = {"certificates": certificate(Path(folder))}
        for client in CLIENTS:  # what is opened once is open before files are counted
            for name in attacks_on(client):
                attack(name, rng, tls.get(name), client)
        files = _open_files()
        while time.monotonic() < end and len(failures) < 20:
            for client in CLIENTS:
                for name in attacks_on(client):
                    outcome, problems = attack(name, rng, tls.get(name), client)
                    outcomes[outcome] += 1
                    failures += problems
        if (more := _open_files() - files) > 0:
            failures.append(f"{more} more files are open than in the beginning")
    return {"outcomes": dict(sorted(outcomes.items())), "failures": failures}
