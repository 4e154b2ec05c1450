"""Progress on stderr: lines where there is no terminal, and what a reader is told during indexing."""

from __future__ import annotations

import re
import time

import pytest

from graphwright.cli import progress
from graphwright.kernels import csr
from graphwright.models.protocols import Usage


def test_progress_line_has_count_rate_and_time_left() -> None:
    assert progress.progress_text("encode", 30, 90, 60) == "encode: 30 of 90, 0.5/s, 0:02:00 left of this step"
    assert (
        progress.progress_text("encode", 10, 100_000, 10)
        == "encode: 10 of 100,000, 1/s, 1 day, 3:46:30 left of this step"
    )
    assert progress.progress_text("encode", 0, 90, 60) == "encode: 0 of 90"
    assert progress.progress_text("encode", 97, 100, 10) == "encode: 97 of 100, 10/s, 0:00:01 left of this step"


def test_progress_phase_without_count_shows_elapsed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    lines = progress._Lines(None, _start=0.0)
    lines.show("encode passages", 10, 10)
    lines.show("write the index", 0, 0)
    now = 65.0
    assert lines.line() == "write the index, 0:01:05 so far"
    now = 75.0
    assert lines.line() == "write the index, 0:01:15 so far"


def test_progress_prints_while_nothing_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    lines = progress._Lines(Usage(prompt_tokens=20, completion_tokens=2), interval=0.02)
    with lines.running() as show:
        _wait(capsys, "working")
        show("encode passages", 0, 10)
        time.sleep(0.01)
        show("encode passages", 5, 10)
        text = _wait(capsys, "encode passages: 5 of 10")
    assert re.search(r"encode passages: 5 of 10, .*left of this step, 0:00:\d\d so far, 22 tokens", text)


def test_progress_rate_counts_from_phase_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    lines = progress._Lines(None)
    lines.show("read files", 0, 1000)
    lines.show("read passages", 0, 400)
    now = 10.0
    lines.show("read passages", 200, 400)
    assert lines.line().startswith("read passages: 200 of 400, 20/s, 0:00:10 left")
    now = 20.0
    lines.show("read files", 500, 1000)
    assert lines.line().startswith("read files: 500 of 1,000, 25/s, 0:00:20 left")
    lines.show("read passages", 0, 300)  # of the next documents
    now = 30.0
    lines.show("read passages", 100, 300)
    assert lines.line().startswith("read passages: 100 of 300, 10/s, 0:00:20 left")


def test_progress_time_left_follows_the_latest_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    lines = progress._Lines(None)
    for seconds, done in ((0, 0), (1, 600), (40, 640), (80, 680), (100, 700)):  # the first were read by an earlier run
        now[0] = seconds
        lines.show("read files (kB)", done, 1000)
    assert lines.line().startswith("read files (kB): 700 of 1,000, 1/s, 0:05:00 left of this step")


def _wait(capsys: pytest.CaptureFixture[str], expected: str) -> str:
    deadline, text = time.monotonic() + 20, ""
    while expected not in text and time.monotonic() < deadline:
        time.sleep(0.02)
        text += capsys.readouterr().err
    assert expected in text
    return text


def test_first_run_reports_kernel_compilation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csr, "compiled_before", lambda: False)
    progress.note_compilation()
    assert "compiles its kernels, once" in capsys.readouterr().err
    monkeypatch.setattr(csr, "compiled_before", lambda: True)
    progress.note_compilation()
    assert not capsys.readouterr().err
