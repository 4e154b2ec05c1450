"""Folders that a server watches, and sources that it syncs at intervals: their index follows them by jobs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from graphwright import Index
from graphwright.data import watching
from graphwright.models.fake import HashEncoder

pytest.importorskip("watchfiles")
from tests.serve.conftest import serving, wait_until

from graphwright.serve import watching as serve_watching
from graphwright.serve.jobs.table import Job
from graphwright.serve.settings import SyncSource
from graphwright.serve.watching import due_at


def test_watched_folder_is_synced_by_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve_watching, "_POLL_SECONDS", 0.1)
    monkeypatch.setattr(serve_watching, "_RETRY_SECONDS", 0.1)
    monkeypatch.setattr(watching, "_QUIET", 200)
    monkeypatch.setattr(watching, "_TICK", 100)
    Index.create(tmp_path / "cities", encoder=HashEncoder()).close()
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "a.txt").write_text("Graz lies on the Mur.")
    sources = {"reports": SyncSource(folder), "site": SyncSource("https://example.org/sitemap.xml")}
    with serving(tmp_path / "cities", folders={"cities": sources}, watch=True) as running:

        def ids() -> set[str]:
            listed = running.client.get("/v1/indexes/cities/documents").json()["documents"]
            return {document["id"] for document in listed}

        wait_until(lambda: ids() == {"a.txt"}, 60)
        (folder / "b.txt").write_text("Linz lies on the Danube.")
        (folder / "a.txt").unlink()
        wait_until(lambda: ids() == {"b.txt"}, 60)
        folder.rename(tmp_path / "away")
        (tmp_path / "away" / "c.txt").write_text("Wien lies on the Danube.")
        (tmp_path / "away").rename(folder)
        wait_until(lambda: ids() == {"b.txt", "c.txt"}, 60)
        jobs = running.client.get("/v1/jobs").json()["jobs"]
        assert {job["kind"] for job in jobs} == {"sync"} and len(jobs) >= 3


MAIL = (
    "From a@example.org Mon Jan  1 10:00:00 2024\nFrom: a@example.org\nMessage-ID: <{0}@example.org>\n\nDinner {0}.\n"
)


def test_sources_are_synced_at_their_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve_watching, "_POLL_SECONDS", 0.1)
    monkeypatch.setattr(serve_watching, "_FIRST_PAUSE", timedelta(seconds=1))
    Index.create(tmp_path / "cities", encoder=HashEncoder()).close()
    (tmp_path / "team.mbox").write_text(MAIL.format(1))
    addresses = {"late": f"mbox:{tmp_path}/late.mbox", "team": f"mbox:{tmp_path}/team.mbox"}
    sources = {name: SyncSource(address, 3_600) for name, address in addresses.items()}
    sources["other"] = SyncSource(f"mbox:{tmp_path}/other.mbox")
    for _ in range(2):  # the second server finds that nothing is due
        with serving(tmp_path / "cities", data=tmp_path / "data", folders={"cities": sources}) as running:

            def states() -> dict[str, dict]:
                listed = running.client.get("/v1/indexes/cities/sources").json()["sources"]
                return {
                    source["name"]: {**source, "state": source["last"] and source["last"]["state"]} for source in listed
                }

            wait_until(lambda: states()["team"]["state"] == "done" and states()["late"]["state"], 60)
            shown = states()
            left = datetime.fromisoformat(shown["team"]["due"]) - datetime.now(UTC)
            assert timedelta(minutes=59) < left < timedelta(hours=1)
            assert (shown["team"]["kind"], shown["team"]["every"], shown["team"]["watched"]) == ("mbox", 3_600, False)
            assert (shown["other"]["state"], shown["other"]["due"]) == (None, None)
            if not (tmp_path / "late.mbox").exists():
                assert "is no mbox file" in shown["late"]["last"]["message"]
                (tmp_path / "late.mbox").write_text(MAIL.format(2))
            wait_until(lambda: states()["late"]["state"] == "done", 60)
            jobs = running.client.get("/v1/jobs").json()["jobs"]
    assert [job["state"] for job in jobs].count("done") == 2


def test_pauses_after_failures_grow_to_a_day() -> None:
    def pause(every: float, *states: str) -> timedelta:
        jobs = [Job("1", "", "sync", state=state, finished="2026-01-01T00:00:00.000Z") for state in states]
        due = due_at(SyncSource("https://example.org", every), jobs)
        assert due is not None
        return due - datetime(2026, 1, 1, tzinfo=UTC)

    assert pause(3_600, "done", "failed") == pause(3_600, "cancelled") == timedelta(hours=1)
    assert pause(3_600, "failed", "done", "failed") == timedelta(minutes=1)
    assert pause(60, *["failed"] * 4) == timedelta(minutes=8)
    assert pause(60, *["failed"] * 12) == timedelta(days=1)
    assert due_at(SyncSource("https://example.org", 60), [Job("1", "", "sync", state="running")]) is None
    assert due_at(SyncSource("https://example.org"), []) is None
