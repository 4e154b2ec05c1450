"""Kill a server at random moments while jobs change its index, and start it again over the same folders.

A client adds, replaces, uploads, deletes and cancels, and asks questions meanwhile; then the server gets SIGKILL, or
SIGTERM, and the next one begins. The last server is left alone until no job waits. Then each job whose acceptance was
reported is there and has ended; the documents are those of the jobs in their order, where a cancelled job may have
stored its documents or not; the index has no damage, and no upload is left. No question fails while a server lives, and
no reply is one of 5xx but 503 from a server that is ending.
"""

from __future__ import annotations

import http.client
import json
import random
import signal
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from harness import Record, scratch_folder
from serving.server_process import Served, serving

from graphwright.index_folder.index import Index

IDS = [f"d{number}.txt" for number in range(6)]
FIRST = {"id": "first", "text": "Graz lies on the Mur in Styria."}
BOUNDARY = "graphwright-part"
PATIENCE = 120.0  # seconds in which a job ends, as long as some wait
Texts = dict[str, str | None]
"""The text of each document that a job changes, None for one that it deletes."""


@dataclass
class Attempt:
    """A requested change: its texts, its job where acceptance was reported, and whether that was cancelled."""

    texts: Texts
    job: str | None = None
    cancelled: bool = False


@dataclass
class Attack:
    """A client of servers that are killed, and what it knows of them."""

    rng: random.Random
    index: Path
    data: Path
    attempts: list[Attempt] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    version: int = 0

    def round(self, seconds: float) -> None:
        """Start a server, change and ask for some seconds, and end it."""
        with serving(self.index, data=str(self.data)) as served:
            end = time.monotonic() + seconds
            with suppress(OSError, http.client.HTTPException):
                while time.monotonic() < end:
                    self.request(served)
            number = signal.SIGKILL if self.rng.random() < 0.8 else signal.SIGTERM
            if self.rng.random() < 0.5:  # while a request is on its way
                with suppress(OSError, http.client.HTTPException):
                    self.request(served, kill=number)
            served.process.send_signal(number)
            code = served.process.wait(60)
            self.counts[f"ended by {number.name}"] += 1
            if number == signal.SIGTERM and code not in (0, -signal.SIGTERM):
                self.failures.append(f"after SIGTERM the server ended with {code}")

    def request(self, served: Served, kill: signal.Signals | None = None) -> None:
        """Send one request, drawn at random; with `kill` the server is ended before its reply is read."""
        kind = self.rng.choices(["add", "upload", "delete", "cancel", "ask"], [4, 2, 2, 1, 3])[0]
        self.counts[kind] += 1
        if kind == "ask":
            status, body = self.send(served, "POST", "/retrieve", {"question": "Where does Graz lie?"}, kill)
            if status != 200 or "first" not in {p["document"] for p in body.get("passages", [])}:
                self.unexpected("ask", status, body)
        elif kind == "cancel":
            if jobs := [attempt for attempt in self.attempts if attempt.job]:
                last = jobs[-1]
                last.cancelled = True  # perhaps, if the reply is lost
                status, body = self.send(served, "POST", f"/v1/jobs/{last.job}/cancel", {}, kill)
                if status not in (200, 409):
                    self.unexpected("cancel", status, body)
        else:
            self.change(served, kind, kill)

    def change(self, served: Served, kind: str, kill: signal.Signals | None) -> None:
        """Request a change."""
        self.version += 1
        some = self.rng.sample(IDS, self.rng.randint(1, 3) if kind != "delete" else 1)
        texts: Texts = {id: f"Town{self.version} lies on River{self.version}. It is {id}." for id in some}
        if kind == "delete":
            texts = dict.fromkeys(some)
        attempt = Attempt(texts)
        self.attempts.append(attempt)
        if kind == "add":
            documents = [{"id": id, "text": text} for id, text in texts.items()]
            status, body = self.send(served, "POST", "/documents", {"documents": documents}, kill)
        elif kind == "upload":
            status, body = self.send(served, "POST", "/documents", _parts(texts), kill)
        else:
            status, body = self.send(served, "DELETE", f"/documents/{quote(some[0], safe='')}", None, kill)
        if status == 202:
            attempt.job = body["job"]["id"]
        elif status == 404 and kind == "delete":
            self.attempts.remove(attempt)
        else:
            self.unexpected(kind, status, body)

    def send(
        self, served: Served, method: str, path: str, body: Record | bytes | None, kill: signal.Signals | None = None
    ) -> tuple[int, Any]:
        """Send a request; return the status and the reply. A path that is not of /v1 is of the index."""
        connection = http.client.HTTPConnection(served.host, served.port, timeout=60)
        data, form = (body, f"multipart/form-data; boundary={BOUNDARY}") if isinstance(body, bytes) else (b"", "")
        if not form:
            data, form = b"" if body is None else json.dumps(body).encode(), "application/json"
        try:
            address = path if path.startswith("/v1/") else f"/v1/indexes/wiki{path}"
            connection.request(method, address, data, {"Content-Type": form})
            if kill is not None:
                time.sleep(self.rng.random() * 0.05)
                served.process.send_signal(kill)
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read() or b"{}")
        finally:
            connection.close()

    def unexpected(self, kind: str, status: int, body: Any) -> None:
        """Note a reply that no promise allows."""
        if status != 503:
            self.failures.append(f"{kind}: {status} {str(body)[:300]}")

    def settle(self) -> None:
        """Let a server finish all jobs, and compare what is there with what was accepted."""
        with serving(self.index, data=str(self.data)) as served:
            jobs, waiting, last = list[Record](), -1, time.monotonic()
            while time.monotonic() - last < PATIENCE:
                _, body = self.send(served, "GET", "/v1/jobs?limit=1000", None)
                jobs = body["jobs"][::-1]  # the newest are listed first
                if (count := sum(job["finished"] is None for job in jobs)) != waiting:
                    waiting, last = count, time.monotonic()
                if not waiting:
                    break
                time.sleep(0.2)
        if waiting:
            states = Counter(job["state"] for job in jobs if job["finished"] is None)
            self.failures.append(f"no job ended for {PATIENCE:g} s: {dict(states)}")
        self.counts.update(f"jobs {job['state']}" for job in jobs)
        self.compare(jobs)
        if left := [path for path in (self.data / "uploads").rglob("*") if path.is_file()]:
            kept = {job["id"] for job in jobs if job["state"] != "done"}
            self.failures += [f"an upload is left: {path}" for path in left if not kept & set(path.parts)]

    def compare(self, jobs: list[Record]) -> None:
        """Compare the documents of the index with those of the jobs."""
        known = {job["id"] for job in jobs}
        missing = [attempt.job for attempt in self.attempts if attempt.job and attempt.job not in known]
        self.failures += [f"the accepted job {id} is not there" for id in missing]
        possible = self.possible(jobs)
        with Index.open(self.index, encoder="minilm") as index:
            self.failures += [problem.problem for problem in index.verify()]
            passages = index.graph.passages
            stored = set() if passages is None else {document.id for document in passages.listed()}
            for id, texts in possible.items():
                text = index.text(id) if id in stored else None
                if text not in texts:
                    self.failures.append(f"{id} has the text {text!r}, not one of {sorted(map(str, texts))}")

    def possible(self, jobs: list[Record]) -> dict[str, set[str | None]]:
        """Return the texts that each document may have after the jobs, None if it may be gone."""
        by_id = {attempt.job: attempt for attempt in self.attempts if attempt.job}
        lost = [attempt for attempt in self.attempts if not attempt.job]
        possible: dict[str, set[str | None]] = {id: {None} for id in IDS}
        possible[FIRST["id"]] = {FIRST["text"]}
        for job in jobs:
            attempt, state = by_id.get(job["id"]), job["state"]
            if attempt is None:  # its acceptance was never read: it is any that was lost
                for other in lost:
                    _add(possible, other.texts)
            elif state == "done":
                for id, text in attempt.texts.items():
                    possible[id] = {text}
            else:
                _add(possible, attempt.texts)
                if state == "cancelled" and not attempt.cancelled:
                    self.failures.append(f"the job {job['id']} is cancelled, and nobody asked for it")
                if state == "failed" and None not in attempt.texts.values():  # a document may be gone already
                    self.failures.append(f"the job {job['id']} failed: {job['message']}")
        return possible


def _add(possible: dict[str, set[str | None]], texts: Texts) -> None:
    for id, text in texts.items():
        possible[id].add(text)


def _parts(texts: Texts) -> bytes:
    """Return files as a body of multipart/form-data."""
    head = 'Content-Disposition: form-data; name="files"; filename='
    parts = [f'--{BOUNDARY}\r\n{head}"{id}"\r\n\r\n{text}\r\n' for id, text in texts.items()]
    return f"{''.join(parts)}--{BOUNDARY}--\r\n".encode()


def attack(rng: random.Random, folder: Path, servers: int, seconds: float = 2.0) -> Attack:
    """End so many servers, each after up to `seconds`, then let one more finish; return what was found."""
    with Index.create(folder / "index", encoder="minilm") as index:
        index.add([FIRST])
    made = Attack(rng, folder / "index", folder / "data")
    made.data.mkdir()
    for _ in range(servers):
        made.round(rng.random() * seconds)
    made.settle()
    return made


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--servers", type=int, default=8, help="servers that are ended, over one folder")


def run(options: Namespace) -> Record:
    """Attack fresh folders in turn, for the time given."""
    rng, counts, failures = random.Random(options.seed), Counter[str](), list[str]()
    end = time.monotonic() + 60 * options.minutes
    while time.monotonic() < end and len(failures) < 20:
        with scratch_folder() as folder:
            made = attack(rng, folder, options.servers)
        counts.update(made.counts)
        failures += made.failures
    return {"counts": dict(sorted(counts.items())), "failures": failures}
