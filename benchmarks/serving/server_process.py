"""A server process over one index, and the connections of the clients that load it."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness import Record

COMMAND = [sys.executable, "-c", "from graphwright.cli.app import main; main()"]


@dataclass
class Served:
    """A running server."""

    host: str
    port: int
    process: subprocess.Popen[str]

    def memory(self) -> float:
        """Return its resident memory in MB."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 1e6

    def private_memory(self) -> list[float]:
        """Return the memory in MB that each of its processes shares with no other one, its own first."""
        lines = [Path(f"/proc/{id}/smaps_rollup").read_text().splitlines() for id in self._processes()]
        return [sum(int(line.split()[1]) for line in each if line.startswith("Private_")) / 1e3 for each in lines]

    def seconds(self) -> float:
        """Return the processor time that it and its processes have used."""
        fields = [Path(f"/proc/{id}/stat").read_text().rpartition(")")[2].split() for id in self._processes()]
        return sum(int(each[11]) + int(each[12]) for each in fields) / 100

    def _processes(self) -> list[int]:
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [self.process.pid, *(int(id) for task in tasks for id in task.read_text().split())]


@contextmanager
def serving(index: Path, **settings: Any) -> Iterator[Served]:
    """Run a server over an index, and wait until it is ready."""
    with tempfile.TemporaryDirectory() as folder:
        file, log = Path(folder) / "server.toml", Path(folder) / "log"
        llm = settings.pop("llm", {})
        lines = [f"{name} = {json.dumps(value)}" for name, value in {"port": 0, "data": folder, **settings}.items()]
        lines += ["[llm]", *(f"{name} = {json.dumps(value)}" for name, value in llm.items())] if llm else []
        file.write_text("\n".join(lines))
        with log.open("w") as output:
            command = [*COMMAND, "serve", f"wiki={index}", "--settings", str(file)]
            process = subprocess.Popen(command, stderr=output, text=True)
        try:
            yield _ready(process, log)
        finally:
            process.terminate()
            process.wait(30)


def _ready(process: subprocess.Popen[str], log: Path) -> Served:
    while " at http://" not in log.read_text():
        if process.poll() is not None:
            raise SystemExit(log.read_text())
        time.sleep(0.1)
    address = urlsplit(log.read_text().partition(" at ")[2].split()[0])
    served = Served(str(address.hostname), int(address.port or 0), process)

    async def ready() -> bool:
        async with connected(served) as client:
            return (await client.ask("GET", "/readyz"))[0] == 200

    while not asyncio.run(ready()):
        time.sleep(0.5)
    return served


@dataclass
class Client:
    """A connection that is kept open."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, method: str, path: str, body: Record | None = None) -> tuple[int, bytes]:
        """Send a request; return the status and the body."""
        status, length = await self.send(method, path, body)
        return status, await self.reader.readexactly(length)

    async def send(self, method: str, path: str, body: Record | None = None) -> tuple[int, int]:
        """Send a request; return the status and the length of the body, 0 for a stream."""
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        self.writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        lines = (await self.reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        lengths = [int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:")]
        return int(lines[0].split()[1]), sum(lengths)


@asynccontextmanager
async def connected(served: Served) -> AsyncIterator[Client]:
    """Open a connection for the block."""
    reader, writer = await asyncio.open_connection(served.host, served.port, limit=2**22)
    try:
        yield Client(reader, writer)
    finally:
        writer.close()
