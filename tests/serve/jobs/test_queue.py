"""Jobs change indexes one after another, report progress, stop, are tried again, and outlive their process."""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason='needs the extra "serve"')

from tests.serve.conftest import wait_until

from graphwright import Graph, Index
from graphwright.errors import LLMResponseError, OptionError, StoreError
from graphwright.index_folder import reading
from graphwright.models import Cancellation
from graphwright.models.fake import HashEncoder, ScriptedLLM
from graphwright.models.protocols import Floats
from graphwright.models.settings import LLMSettings
from graphwright.serve.catalog import Catalog
from graphwright.serve.jobs.queue import ConflictError, Jobs
from graphwright.serve.jobs.run import JobRun, JobStoppedError
from graphwright.serve.jobs.table import Job, new_id
from graphwright.serve.problems import NotFoundError
from graphwright.serve.settings import AnswerModels, ServeSettings
from graphwright.store.layout import IndexLayout
from graphwright.store.locks import writer_lock

REPLY = '{"entities": [{"name": "Mur", "type": "river", "description": "A river."}], "relations": []}'


class GateEncoder(HashEncoder):
    """An encoder that waits, while it is closed, before it encodes anything."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.waiting = threading.Event(), threading.Event()
        self.open.set()

    def encode(self, texts: Sequence[str]) -> Floats:
        if not self.open.is_set():
            self.waiting.set()
            self.open.wait(20)
        return super().encode(texts)


class Served:
    """The jobs of one index, without HTTP."""

    def __init__(self, folder: Path, encoder: HashEncoder, **settings: Any) -> None:
        self.catalog = Catalog.open([f"cities={folder}"], encoder=encoder)
        self.index = self.catalog["cities"]
        models = AnswerModels(settings.get("llm"), (), {"cities": folder})
        self.jobs = Jobs(self.catalog, ServeSettings(data=folder.parent / "data", **settings), models)

    def add(self, *texts: str, **task: Any) -> Job:
        documents = [{"id": text.split()[0], "title": "", "text": text} for text in texts]
        upload = self.jobs.uploads.store_documents(new_id(), documents)
        return self.jobs.submit("cities", "add", task, upload.folder.name)

    def remove(self, *ids: str) -> Job:
        return self.jobs.submit("cities", "remove", {"ids": list(ids)})

    def ended(self, job: Job) -> Job:
        wait_until(lambda: self.jobs.get(job.id).has_ended)
        return self.jobs.get(job.id)

    def ids(self) -> list[str]:
        return [document.id for document in self.index.list_documents()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Index.create(tmp_path / "cities", encoder=HashEncoder()).close()
    return tmp_path / "cities"


@contextmanager
def serving(folder: Path, encoder: HashEncoder | None = None, **settings: Any) -> Iterator[Served]:
    served = Served(folder, encoder or HashEncoder(), **settings)
    served.jobs.start()
    try:
        yield served
    finally:
        served.jobs.close()
        served.catalog.close()


@contextmanager
def held(folder: Path, text: str, *before: str) -> Iterator[tuple[Served, Job, Callable[[], None]]]:
    """Serve while the job that adds a text waits for the encoder, until the last value is called.

    `before`: texts that are added first.
    """
    encoder = GateEncoder()
    with serving(folder, encoder) as served:
        for other in before:
            served.ended(served.add(other))
        encoder.open.clear()
        job = served.add(text)
        wait_until(encoder.waiting.is_set)
        yield served, job, encoder.open.set


def counts(job: Job) -> tuple[int, ...]:
    changes = job.changes or {}
    return tuple(changes[name] for name in ("added", "replaced", "removed", "unchanged"))


def test_documents_are_added_replaced_and_removed_by_jobs(folder: Path) -> None:
    with serving(folder) as served:
        first = served.ended(served.add("graz lies on the Mur.", "linz lies on the Danube."))
        assert (first.state, counts(first), served.ids()) == ("done", (2, 0, 0, 0), ["graz", "linz"])
        second = served.ended(served.add("graz is a city.", "linz lies on the Danube."))
        assert counts(second) == (0, 1, 0, 1)
        third = served.ended(served.remove("linz"))
        assert (counts(third), served.ids()) == ((0, 0, 1, 0), ["graz"])
        assert served.index.is_current and "Mur" not in served.index.text("graz")


def test_jobs_are_counted_and_file_is_private(folder: Path) -> None:
    with serving(folder) as served:
        served.ended(served.add("graz lies on the Mur."))
        assert served.jobs.counts()["cities", "done"] == 1 and served.jobs.counts()["cities", "failed"] == 0
        for file in (folder.parent / "data").glob("jobs.sqlite*"):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_upload_of_running_job_is_kept_until_it_is_done(folder: Path) -> None:
    with held(folder, "graz lies on the Mur.") as (served, job, release):
        assert served.jobs.uploads.open(job.id) is not None
        release()
        wait_until(lambda: served.jobs.uploads.open(job.id) is None)
        assert served.jobs.get(job.id).state == "done"


def test_readers_do_not_wait_for_job(folder: Path) -> None:
    with held(folder, "linz lies on the Danube.", "graz lies on the Mur.") as (served, job, release):
        snapshot = served.index.snapshot
        assert served.index.retrieve("Where is Graz?", "bm25").passages is not None
        assert served.index.snapshot is snapshot
        release()
        served.ended(job)
        assert served.ids() == ["graz", "linz"]


def test_jobs_of_index_run_in_order(folder: Path) -> None:
    with serving(folder) as served:
        jobs = [served.add(f"d{i} text {i}.") if i % 2 == 0 else served.remove(f"d{i - 1}") for i in range(4)]
        assert {served.ended(job).state for job in jobs} == {"done"}
        assert served.ids() == []


def test_waiting_jobs_share_snapshot(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published, publish = list[int](), IndexLayout.publish
    monkeypatch.setattr(
        IndexLayout,
        "publish",
        lambda layout, revision, write: published.append(revision) or publish(layout, revision, write),
    )
    with held(folder, "graz lies on the Mur.") as (served, first, release):
        rest = [*(served.add(f"d{i} text {i}.") for i in range(10)), served.remove("d3"), served.remove("nowhere")]
        release()
        ended = [served.ended(job) for job in (first, *rest)]
        assert [job.state for job in ended] == ["done"] * 12 + ["failed"]
        assert [counts(job) for job in ended[:12]] == [(1, 0, 0, 0)] * 11 + [(0, 0, 1, 0)]
        assert "nowhere" in ended[12].message and len(published) == 2
        assert served.ids() == sorted({"graz", *(f"d{i}" for i in range(10))} - {"d3"})


def test_jobs_whose_snapshot_fails_all_fail_and_can_be_tried_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreError("No space left on the device.")

    with held(folder, "graz lies on the Mur.") as (served, first, release):
        rest = [served.add("linz lies on the Danube."), served.remove("nowhere")]
        with monkeypatch.context() as patch:
            patch.setattr(IndexLayout, "publish", full)
            release()
            ended = [served.ended(job) for job in (first, *rest)]
        assert [job.state for job in ended] == ["failed"] * 3 and "No space" in ended[1].message
        assert "nowhere" in ended[2].message and served.ids() == []
        assert [served.ended(served.jobs.retry(job.id)).state for job in (first, rest[0])] == ["done", "done"]
        assert served.ids() == ["graz", "linz"] and served.index.is_current


def test_job_reports_progress(folder: Path) -> None:
    with serving(folder) as served:
        seen: list[Job] = []
        served.jobs.uploads.store_documents("a1", [{"id": "x", "title": "", "text": "Graz lies on the Mur."}])
        with served.jobs.listening("a1", lambda: seen.append(served.jobs.get("a1"))):
            served.ended(served.jobs.submit("cities", "add", {}, "a1"))
        units = {state.progress.unit for state in seen if state.progress}
        assert {"documents", "passages"} <= units
        assert not served.jobs._listeners


def test_upload_in_progress_outlives_jobs_and_clock_jump(folder: Path) -> None:
    with serving(folder) as served:
        upload = served.jobs.uploads.store_documents("a1", [{"id": "x", "title": "", "text": "Graz lies on the Mur."}])
        os.utime(upload.folder, (0, 0))  # as after a jump of days
        served.ended(served.add("Another text."))
        assert served.ended(served.jobs.submit("cities", "add", {}, "a1")).state == "done"


def test_ended_job_is_forgotten_after_week(folder: Path) -> None:
    with serving(folder) as served:
        old, new = served.ended(served.add("A text.")), served.ended(served.add("Another text."))
        for job, days in ((old, 8), (new, 6)):
            at = f"{datetime.now(UTC) - timedelta(days=days):%Y-%m-%dT%H:%M:%S.000Z}"
            served.jobs._table.execute("UPDATE jobs SET finished = ? WHERE id = ?", at, job.id)
        served.ended(served.add("A third text."))
        wait_until(lambda: served.jobs._table.get(old.id) is None)
        assert served.jobs.get(new.id).state == "done"


def test_failed_job_has_reason_and_retries(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with serving(folder) as served:
        job = served.ended(served.remove("graz"))
        assert job.state == "failed" and "no document 'graz'" in job.message
        assert f"job {job.id} (remove) of cities failed: DataError" in caplog.text and "graz" not in caplog.text
        assert str(folder) not in job.message  # clients see no paths
        served.ended(served.add("graz lies on the Mur."))
        assert served.ended(served.jobs.retry(job.id)).state == "done"
        with pytest.raises(ConflictError, match="left nothing to be tried again"):
            served.jobs.retry(job.id)


def test_unexpected_error_of_job_is_not_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("graphwright.serve.jobs.run.perform", fail)
    with serving(folder) as served:
        job = served.ended(served.add("graz lies on the Mur."))
        assert (job.state, job.message) == ("failed", "The job failed. The server's log has the details.")


def test_queued_job_is_cancelled_at_once(folder: Path) -> None:
    with held(folder, "graz lies on the Mur.") as (served, running, release):
        queued = served.add("linz lies on the Danube.")
        assert served.jobs.cancel(queued.id).state == "cancelled"
        release()
        assert served.ended(running).state == "done"
        assert served.ids() == ["graz"]
        with pytest.raises(ConflictError, match="has ended already"):
            served.jobs.cancel(queued.id)


def test_cancelled_job_leaves_index_consistent(folder: Path) -> None:
    with held(folder, "linz lies on the Danube.", "graz lies on the Mur.") as (served, job, release):
        cancelled = served.jobs.cancel(job.id)
        assert not job.cancelling and not cancelled.has_ended and cancelled.cancelling
        assert cancelled.to_dict("cities")["cancelling"] and cancelled.to_dict("cities")["state"] == "running"
        release()
        ended = served.ended(job)
        assert ended.state == "cancelled" and not ended.cancelling
        assert served.index.is_current and not served.index.verify()
        again = served.ended(served.jobs.retry(job.id))
        assert again.state == "done" and served.ids() == ["graz", "linz"]


@pytest.mark.parametrize("cancel", [False, True])
def test_job_waits_for_other_writer_until_cancelled(folder: Path, cancel: bool) -> None:
    with serving(folder) as served:
        with writer_lock(folder):
            job = served.add("graz lies on the Mur.")
            wait_until(lambda: "Another process" in served.jobs.get(job.id).message)
            if cancel:
                served.jobs.cancel(job.id)
                assert served.ended(job).state == "cancelled"
        assert served.ended(job).state == ("cancelled" if cancel else "done")


def test_shutdown_requeues_running_job(folder: Path) -> None:
    with held(folder, "graz lies on the Mur.") as (served, job, release):
        jobs = [job, served.add("linz lies on the Danube.")]
        threading.Timer(0.2, release).start()
    with serving(folder) as served:
        ended = [served.ended(job) for job in jobs]
        assert [job.state for job in ended] == ["done", "done"]
        assert served.ids() == ["graz", "linz"]
        assert ended[0].attempts == 2


def orphaned(served: Served, job: Job) -> None:
    """Make a job look as if its process had been killed while it ran."""
    served.jobs._table.execute("UPDATE jobs SET state = 'running', runner = 'dead', attempts = 1 WHERE id = ?", job.id)


def killed(folder: Path, *, cancel: bool = False) -> Job:
    """Return a job of a process that was killed while it ran, perhaps after a request to cancel it."""
    served = Served(folder, HashEncoder())
    job = served.jobs._table.insert(str(folder.resolve()), "add", {}, "a1")
    served.jobs.uploads.store_documents("a1", [{"id": "graz", "title": "", "text": "Graz lies on the Mur."}])
    orphaned(served, job)
    if cancel:
        served.jobs._table.cancel(job.id)
    served.jobs.close()
    served.catalog.close()
    return job


@pytest.mark.parametrize(("cancel", "state"), [(False, "done"), (True, "cancelled")])
def test_job_of_dead_process_restarts_unless_cancelled(folder: Path, cancel: bool, state: str) -> None:
    job = killed(folder, cancel=cancel)
    with serving(folder) as after:
        assert after.ended(job).state == state and after.ids() == ["graz"] * (state == "done")


def test_stored_removal_is_published(folder: Path) -> None:
    with serving(folder) as served:
        served.ended(served.add("graz lies on the Mur.", "linz lies on the Danube."))
        job = served.ended(served.remove("graz"))
        orphaned(served, job)
    with serving(folder) as after:
        again = after.ended(job)
        assert (again.state, counts(again), after.ids()) == ("done", (0, 0, 1, 0), ["linz"])


def test_second_server_ignores_running_jobs(folder: Path) -> None:
    with held(folder, "graz lies on the Mur.") as (first, job, release):
        with serving(folder) as second:
            assert second.jobs.get(job.id).state == "running"
            assert not second.jobs._runs
        release()
        assert first.ended(job).attempts == 1


def test_jobs_of_other_indexes_are_hidden(folder: Path, tmp_path: Path) -> None:
    with serving(folder) as served:
        other = served.jobs._table.insert("/somewhere/else", "remove", {"ids": ["x"]})
        with pytest.raises(NotFoundError):
            served.jobs.get(other.id)
        assert served.jobs.find(["cities"]) == ([], 0)


def test_graph_over_limit_takes_no_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_triples([("Graz", "lies on", "Mur")])
    Index.from_graph(tmp_path / "cities", graph, encoder=HashEncoder()).close()
    monkeypatch.setattr(reading, "MAX_NORMALISED", 1)
    with (
        serving(tmp_path / "cities") as served,
        pytest.raises(OptionError, match="graph of 2 nodes, too large"),
    ):
        served.remove("Graz")


def with_model(monkeypatch: pytest.MonkeyPatch, answer: Callable[[str, str], str], **limits: Any) -> dict[str, Any]:
    """Let the server's language model be a function of its two messages."""
    monkeypatch.setattr(LLMSettings, "llm", lambda self, api_key=None: ScriptedLLM(answer))
    return {"llm": LLMSettings("test", "http://127.0.0.1:1/v1", concurrency=2), "extract": True, **limits}


def test_failed_chunks_are_retried(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = threading.Event()
    broken.set()

    def answer(system: str, user: str) -> str:
        if broken.is_set() and "Danube" in user:
            raise LLMResponseError("The reply does not fit.")
        return REPLY

    with serving(folder, **with_model(monkeypatch, answer)) as served:
        job = served.ended(served.add("graz lies on the Mur.", "linz lies on the Danube."))
        assert job.state == "done" and job.can_be_retried and served.ids() == ["graz", "linz"]
        assert job.changes is not None and (job.changes["pending"], job.changes["extracted"]) == (1, 1)
        assert job.changes["failed"] == [{"document": "linz", "chunk": 0, "reason": "The reply does not fit."}]
        broken.clear()
        again = served.ended(served.jobs.retry(job.id))
        assert again.changes is not None and (again.changes["pending"], again.changes["extracted"]) == (0, 1)
        assert not again.can_be_retried


def test_budget_ends_model_and_keeps_documents(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(system: str, user: str) -> str:
        asked.append(user)
        return REPLY

    with serving(folder, **with_model(monkeypatch, answer, max_job_tokens=10**9)) as served:
        job = served.ended(served.add("graz lies on the Mur.", "linz lies on the Danube.", max_job_tokens=10))
        assert not asked and served.ids() == ["graz", "linz"]
        assert job.changes is not None and job.changes["pending"] == 2
        assert "budget is exhausted" in job.changes["failed"][0]["reason"]


def test_cancelled_job_ends_model_call(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    class WaitingLLM(ScriptedLLM):
        def complete(self, *messages: Any, cancel: Any = None, **options: Any) -> Any:
            asked.set()
            cancel.pause(60.0)

    settings = with_model(monkeypatch, lambda system, user: REPLY)
    monkeypatch.setattr(LLMSettings, "llm", lambda self, api_key=None: WaitingLLM([]))
    with serving(folder, **settings) as served:
        job = served.add("graz lies on the Mur.")
        wait_until(asked.is_set)
        served.jobs.cancel(job.id)
        ended = served.ended(job)
        assert ended.state == "cancelled" and served.index.is_current
        assert served.ids() == ["graz"]  # the offline extractor had read it


def test_run_is_stopped_while_many_threads_begin_calls() -> None:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            run, begin = JobRun(Job(new_id(), "path", "add", {})), threading.Barrier(5)

            def ask(run: JobRun = run, begin: threading.Barrier = begin) -> list[Cancellation]:
                begin.wait()
                calls = [Cancellation() for _ in range(200)]
                for cancel in calls:
                    with suppress(JobStoppedError):
                        run.call(cancel)
                return calls

            with ThreadPoolExecutor(4) as pool:
                asked = [pool.submit(ask) for _ in range(4)]
                begin.wait()
                run.stop("cancelled")
                [each.result() for each in asked]
    finally:
        sys.setswitchinterval(usual)
