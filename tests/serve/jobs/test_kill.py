"""Jobs of a server that is killed are begun again by the next one, and nothing that was accepted is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason='needs the extra "serve"')

from tests.serve.conftest import httpx, wait_until

from graphwright import Index
from graphwright.models.fake import HashEncoder

SERVER = """
import os, socket, sys, time
from pathlib import Path
import uvicorn
from graphwright.models.fake import HashEncoder
from graphwright.serve.app import create_app
from graphwright.serve.catalog import Catalog
from graphwright.serve.app import DrainingServer
from graphwright.serve.settings import ServeSettings

class SlowEncoder(HashEncoder):
    def encode(self, texts):
        os.write(1, f"{texts[0]}{os.linesep}".encode())  # in one piece: several threads do
        time.sleep(float(sys.argv[2]))
        return super().encode(texts)

folder = Path(sys.argv[1])
app = create_app(Catalog.open([folder], encoder=SlowEncoder()), ServeSettings(data=folder.parent / "data"))
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=4)
DrainingServer(config, app.state.server.workers.end, 0.5).run(sockets=[listening])
"""
DOCUMENTS = "/v1/indexes/cities/documents"


@contextmanager
def process(folder: Path, seconds: float) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """Run a server as a process of its own, whose encoder takes some seconds for each batch; kill it at the end."""
    command = [sys.executable, "-c", SERVER, str(folder), str(seconds)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert running.stdout is not None
    with running.stdout, httpx.Client(base_url=f"http://127.0.0.1:{running.stdout.readline().strip()}") as client:
        try:
            wait_until(lambda: answers(client), 60)
            yield running, client
        finally:
            running.kill()
            running.wait()


def answers(client: httpx.Client) -> bool:
    try:
        return bool(client.get("/healthz").status_code == 200)
    except httpx.TransportError:
        return False


def states(client: httpx.Client) -> dict[str, str]:
    jobs: list[dict[str, Any]] = client.get("/v1/jobs").json()["jobs"]
    return {job["id"]: job["state"] for job in jobs}


@pytest.mark.slow
def test_killed_server_loses_no_job(tmp_path: Path) -> None:
    folder = tmp_path / "cities"
    with Index.create(folder, encoder=HashEncoder()) as index:
        index.add([{"id": "old", "text": "Vienna lies on the Danube."}])
    with process(folder, 5.0) as (running, client):
        text = {"documents": [{"id": "graz", "text": "Graz lies on the Mur."}]}
        replies = [
            client.post(DOCUMENTS, json=text),
            client.post(DOCUMENTS, files={"files": ("linz.md", b"Linz lies on the Danube.")}),
            client.delete(f"{DOCUMENTS}/old"),
        ]
        ids = [reply.json()["job"]["id"] for reply in replies]
        wait_until(lambda: states(client)[ids[0]] == "running")
        running.send_signal(signal.SIGKILL)
        running.wait()
    with process(folder, 0.0) as (_, client):
        wait_until(lambda: set(states(client).values()) == {"done"}, 60)
        assert set(states(client)) == set(ids)
        wait_until(lambda: not list((tmp_path / "data" / "uploads").glob("*/*")))
        attempts = client.get(f"/v1/jobs/{ids[0]}").json()["attempts"]
        listed = client.get(DOCUMENTS).json()["documents"]
    assert attempts == 2 and [document["id"] for document in listed] == ["graz", "linz.md"]
    with Index.open(folder, encoder=HashEncoder()) as index:
        assert not index.verify()


@pytest.mark.slow
def test_stopped_server_requeues_job(tmp_path: Path) -> None:
    folder = tmp_path / "cities"
    Index.create(folder, encoder=HashEncoder()).close()
    with process(folder, 3.0) as (running, client), ThreadPoolExecutor(1) as pool:
        reply = client.post(DOCUMENTS, content=json.dumps({"documents": [{"id": "graz", "text": "Graz. On the Mur."}]}),
                            headers={"Content-Type": "application/json"})  # fmt: skip
        id = reply.json()["job"]["id"]
        wait_until(lambda: states(client)[id] == "running")
        events = pool.submit(client.get, f"/v1/jobs/{id}/events", timeout=60)
        time.sleep(1)
        running.send_signal(signal.SIGTERM)
        running.wait(30)
    last = events.result().text.split("\n\n")[-2]
    assert last.startswith("event: error") and "shutting-down" in last
    with process(folder, 0.0) as (_, client):
        wait_until(lambda: states(client)[id] == "done", 60)
        assert client.get(DOCUMENTS).json()["total"] == 1


@pytest.mark.slow
def test_running_requests_get_reply_at_shutdown(tmp_path: Path) -> None:
    with Index.create(tmp_path / "cities", encoder=HashEncoder()) as index:
        index.add([{"id": "graz", "text": "Graz lies on the Mur."}])
    bodies: list[dict[str, Any]] = [{"question": "Where is Graz?"}, {"question": "Where is the Mur?", "stream": True}]
    with process(tmp_path / "cities", 6.0) as (running, client), ThreadPoolExecutor(2) as pool:
        ask = partial(client.post, "/v1/indexes/cities/ask", timeout=60)
        replies = [pool.submit(ask, json=body) for body in bodies]
        begun, questions = set[str](), {str(body["question"]) for body in bodies}
        while not questions <= begun:
            assert running.poll() is None and running.stdout is not None
            begun.add(running.stdout.readline().strip())
        time.sleep(1.5)  # a stream begins to be sent after a second without an event
        running.send_signal(signal.SIGTERM)
        whole, stream = (reply.result() for reply in replies)
        running.wait(60)
    assert whole.status_code == 503 and whole.json()["type"].endswith("shutting-down")
    assert stream.status_code == 200 and stream.text.split("\n\n")[-2].startswith("event: error")
    assert "shutting-down" in stream.text
