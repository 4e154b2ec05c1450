"""The command watch, in a process of its own, which ends by Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.command import PROGRAM, graphwright
from tests.shared import wait_until

pytest.importorskip("watchfiles")


def test_watch_syncs_on_changes_and_retries_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()

    def changes(*_: Path) -> Iterator[bool]:
        yield True  # the folder is empty
        yield False
        (docs / "a.txt").write_text("Graz lies on the Mur.")
        yield False  # without a change the failure is tried again
        yield False
        (docs / "b.txt").write_text("Linz lies on the Danube.")
        yield True
        raise KeyboardInterrupt

    monkeypatch.setattr("graphwright.cli.watching._RETRY_SECONDS", 0.0)
    monkeypatch.setattr("graphwright.data.watched", changes)
    done = graphwright("watch", docs, "--into", tmp_path / "ix")
    lines = [line for line in done.stdout.splitlines() if not line.startswith(str(tmp_path))]
    assert done.returncode == 0 and lines == ["1 added", "1 added, 1 unchanged"]
    assert done.stderr.count("nothing to read") == 1 and done.stderr.endswith("stopped watching\n")


@pytest.mark.slow
def test_watch_follows_the_folder_until_interrupted(tmp_path: Path) -> None:
    docs, output, errors = tmp_path / "docs", tmp_path / "out", tmp_path / "err"
    docs.mkdir()
    command = [*PROGRAM, "watch", str(docs), "--into", str(docs / ".graphwright")]
    with output.open("w") as out, errors.open("w") as err, subprocess.Popen(command, stdout=out, stderr=err) as process:
        try:
            wait_until(lambda: "tried again every 10 s" in errors.read_text(), 60)
            (docs / "a.txt").write_text("Graz lies on the Mur.")
            wait_until(lambda: "1 added" in output.read_text(), 60)
            (docs / "b.bin").write_bytes(bytes(range(256)))
            (docs / "a.txt").rename(docs / "c.txt")
            wait_until(lambda: "1 skipped, 1 renamed" in output.read_text(), 60)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
        finally:
            process.kill()
    assert errors.read_text().startswith("graphwright: nothing to read") and "Traceback" not in errors.read_text()
    assert errors.read_text().endswith("stopped watching\n")


def test_watch_wrong_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    for place, code, message in (("a.txt", 2, "watch takes a folder"), ("none", 1, "does not exist")):
        done = graphwright("watch", tmp_path / place, "--into", tmp_path / "ix")
        assert done.returncode == code and message in done.stderr and not (tmp_path / "ix").exists()
