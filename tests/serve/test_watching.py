"""Folders that a server watches: their index follows them by jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphwright import Index
from graphwright.data import watching
from graphwright.models.fake import HashEncoder

pytest.importorskip("watchfiles")
from tests.serve.conftest import serving, wait_until

from graphwright.serve import watching as serve_watching


def test_watched_folder_is_synced_by_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve_watching, "_POLL_SECONDS", 0.1)
    monkeypatch.setattr(serve_watching, "_RETRY_SECONDS", 0.1)
    monkeypatch.setattr(watching, "_QUIET", 200)
    monkeypatch.setattr(watching, "_TICK", 100)
    Index.create(tmp_path / "cities", encoder=HashEncoder()).close()
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "a.txt").write_text("Graz lies on the Mur.")
    settings = {"folders": {"cities": {"reports": folder, "site": "https://example.org/sitemap.xml"}}, "watch": True}
    with serving(tmp_path / "cities", **settings) as running:

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
