"""Events around a process: its parent dies, or the clock of the machine jumps."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.faults.conftest import CORPUS
from tests.faults.fork_server import ALL, ENCODER

from graphwright import Index

PROGRAM = """
import sys
from graphwright.cli.app import main
main(["index", sys.argv[1], "--into", sys.argv[2]])
"""
PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_orphaned_child_leaves_index_that_completes(tmp_path: Path) -> None:
    docs = tmp_path / "docs.jsonl"
    docs.write_text("\n".join(CORPUS[:40]), encoding="utf-8")
    command = [sys.executable, "-c", PARENT, PROGRAM, str(docs), str(tmp_path / "index")]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not (tmp_path / "index").exists() and time.monotonic() < until:
        time.sleep(0.01)
    os.kill(parent.pid, signal.SIGKILL)  # the child lives, and nobody reads what it prints
    for pipe in (parent.stdout, parent.stderr):
        assert pipe is not None
        pipe.close()
    parent.wait()
    command = [sys.executable, "-c", PROGRAM, str(docs), str(tmp_path / "index")]
    again = subprocess.run(command, capture_output=True)
    while again.returncode and b"another process is indexing" in again.stderr and time.monotonic() < until:
        time.sleep(0.2)
        again = subprocess.run(command, capture_output=True)
    assert again.returncode == 0, again.stderr
    with Index.open(tmp_path / "index") as index:
        assert index.documents == 40 and index.is_current and index.verify() == []


def test_clock_jumps_are_tolerated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither locks nor revisions depend on the time of day; files from the future are no newer."""
    jumps = iter([4e9, 0.0] * 1_000_000)
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    with Index.create(tmp_path / "index", encoder=ENCODER, settings=ALL) as index:
        for line in CORPUS[:3]:
            index.add([json.loads(line)])
            for path in (tmp_path / "index").rglob("*"):
                os.utime(path, (4e9, 4e9))
        index.remove([json.loads(CORPUS[0])["id"]])
        assert index.documents == 2 and index.is_current and index.verify() == []
