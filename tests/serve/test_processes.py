"""A server whose questions are answered by processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.faulty_server import Waiting
from tests.llm_server import Answered, LLMServer, error
from tests.serve.conftest import DOCUMENTS, Running, events_of, serving, wait_until
from tests.shared import answer_reply

from graphwright import Index
from graphwright.models.fake import HashEncoder
from graphwright.models.settings import LLMSettings

INDEX = "/v1/indexes/cities"
QUESTION = {"question": "On which river does Graz lie?", "method": "bm25"}
OFFLINE = {**QUESTION, "offline": True}
REPLY = answer_reply("Graz lies on the Mur [1].", (1, "Graz lies on"))


@dataclass
class Pair:
    """A server with two processes that answer, and the answers of its language model, the last for all further ones."""

    running: Running
    answers: list[Answered] = field(default_factory=lambda: [REPLY])
    asked: int = 0

    def ask(self, **body: Any) -> httpx.Response:
        return httpx.post(f"{self.running.url}{INDEX}/ask", json={**QUESTION, **body}, timeout=30)

    @property
    def ready(self) -> int:
        count: int = self.running.app.state.server.catalog.answers.ready
        return count

    def kill_busy(self) -> None:
        """Kill the process that answers a question."""
        (busy,) = (each for each in self.running.app.state.server.catalog.answers._processes if each.calls)
        busy.kill()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair") / "cities"
    with Index.create(folder, encoder=HashEncoder()) as index:
        index.add(DOCUMENTS)
    pair: Pair

    def answer(_: object) -> Answered:
        pair.asked += 1
        return pair.answers.pop(0) if len(pair.answers) > 1 else pair.answers[0]

    with (
        LLMServer(answer) as model,
        serving(folder, ready=False, processes=2, deadline=None, llm=LLMSettings("any", model.url)) as running,
    ):
        wait_until(lambda: running.client.get("/readyz").status_code == 200, 90)
        pair = Pair(running)
        yield pair


@pytest.mark.parametrize(
    ("route", "body"),
    [
        (f"{INDEX}/retrieve", OFFLINE),
        (f"{INDEX}/ask", OFFLINE),
        (f"{INDEX}/ask", {**OFFLINE, "stream": True}),
        (f"{INDEX}/ask", {**OFFLINE, "history": [{"role": "user", "content": "Where was Ida Pfeiffer born?"}]}),
        (f"{INDEX}/compare", {"question": QUESTION["question"], "methods": ["bm25", "vector"], "offline": True}),
        (f"{INDEX}/query", {"query": '"Graz".[lies on'}),
        (f"{INDEX}/ask", {**OFFLINE, "filter": {"documents": ["nowhere"]}}),
        ("/v1/chat/completions", {"model": "cities", "messages": [{"role": "user", "content": QUESTION["question"]}]}),
    ],
)
def test_processes_reply_as_server_alone(pair: Pair, server: Running, route: str, body: dict[str, Any]) -> None:
    body = {**body, "graphwright": {"offline": True}} if "messages" in body else body
    replies = [running.client.post(route, json=body) for running in (pair.running, server)]
    assert replies[0].status_code == replies[1].status_code
    told = [_without_times(events_of(reply.text) if "stream" in body else reply.json()) for reply in replies]
    assert told[0] == told[1]


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        times = ("seconds", "model_seconds", "id", "created", "url")
        return {name: _without_times(part) for name, part in value.items() if name not in times}
    return [_without_times(part) for part in value] if isinstance(value, list | tuple) else value


def test_failed_call_of_model_is_told_and_counted(pair: Pair) -> None:
    pair.answers[:] = [error(500, "no memory")]
    told = pair.ask().json()
    assert "failed at its provider" in told["fallback"] and told["citations"]
    metrics = pair.running.client.get("/metrics").text
    assert 'graphwright_llm_calls_total{index="cities",model="any",outcome="failed"}' in metrics
    assert "graphwright_processes 2.0" in metrics


def test_documents_of_job_are_searched_by_every_process_when_done(pair: Pair) -> None:
    document = {"id": "bruck", "title": "Bruck", "text": "Bruck lies on the Leitha."}
    job = pair.running.client.post(f"{INDEX}/documents", json={"documents": [document]}).json()["job"]["id"]
    wait_until(lambda: pair.running.client.get(f"/v1/jobs/{job}").json()["state"] == "done")
    with ThreadPoolExecutor(8) as pool:
        bodies = [{"question": "On which river does Bruck lie?", "offline": True}] * 16
        answers = list(pool.map(lambda body: pair.ask(**body).json()["answer"], bodies))
    assert all("the Leitha" in answer for answer in answers)


@pytest.mark.parametrize("stream", [False, True])
def test_call_of_model_ends_when_client_disconnects(pair: Pair, stream: bool) -> None:
    waiting = Waiting()
    pair.answers[:], pair.asked = [waiting], 0
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{pair.running.url}{INDEX}/ask", json={**QUESTION, "stream": stream}, timeout=1)
    assert waiting.left.wait(10)
    wait_until(lambda: pair.running.app.state.server.workers.pending == 0)


def test_question_of_killed_process_is_answered_by_another(pair: Pair) -> None:
    wait_until(lambda: pair.ready == 2, 60)
    pair.answers[:], pair.asked = [Waiting(), REPLY], 0
    with ThreadPoolExecutor(1) as pool:
        reply = pool.submit(pair.ask)
        wait_until(lambda: pair.asked == 1)
        pair.kill_busy()
        assert reply.result(30).json()["answer"] == "Graz lies on the Mur [1]." and pair.asked == 2
    wait_until(lambda: pair.ready == 2, 60)


def test_stream_of_killed_process_ends_with_error(pair: Pair) -> None:
    wait_until(lambda: pair.ready == 2, 60)
    pair.answers[:], pair.asked = [Waiting(), REPLY], 0
    with ThreadPoolExecutor(1) as pool:
        reply = pool.submit(pair.ask, stream=True)
        wait_until(lambda: pair.asked == 1)
        pair.kill_busy()
        kind, problem = events_of(reply.result(30).text)[-1]
    assert (kind, problem["status"]) == ("error", 503) and "process that answers this question" in problem["detail"]
    assert pair.ask(offline=True).status_code == 200


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="children are read from /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_processes_end_with_server(tmp_path: Path, number: int, code: int) -> None:
    Index.create(tmp_path / "cities").close()
    command = [sys.executable, "-m", "graphwright", "serve", str(tmp_path / "cities"), "--port", "0"]
    command += ["--processes", "2", "--data", str(tmp_path / "data")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]
        wait_until(lambda: httpx.get(f"{url}readyz").status_code == 200, 90)
        children = [pid for task in Path(f"/proc/{process.pid}/task").iterdir() for pid in _children(task)]
        assert len(children) >= 2
        process.send_signal(number)
        assert process.wait(30) == code
    wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))


def _children(task: Path) -> list[str]:
    return (task / "children").read_text().split()
