"""Progress on stderr: lines where there is no terminal, and what a reader is told during indexing."""

from __future__ import annotations

import re
import time

import pytest

from graphwright.cli import progress
from graphwright.kernels import csr
from graphwright.models.protocols import Usage


def test_progress_line_has_count_rate_and_time_left() -> None:
    assert progress.progress_text("encode", 30, 90, 0.5) == "encode: 30 of 90, 0.5/s, 0:02:00 left of this step"
    assert (
        progress.progress_text("encode", 10, 100_000, 1)
        == "encode: 10 of 100,000, 1/s, 1 day, 3:46:30 left of this step"
    )
    assert progress.progress_text("encode", 0, 90, None) == "encode: 0 of 90"
    assert progress.progress_text("encode", 97, 100, 10) == "encode: 97 of 100, 10/s, 0:00:01 left of this step"


def test_progress_prints_while_nothing_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.progress(Usage(prompt_tokens=20, completion_tokens=2), interval=0.02) as show:
        _wait(capsys, "working, 0:00:01 so far")
        for done in (0, 2, 5):
            show("encode passages", done, 10)
            time.sleep(0.01)
        text = _wait(capsys, "encode passages: 5 of 10")
        show("write the index", 0, 0)
        _wait(capsys, "write the index, 0:00:")
    assert re.search(r"encode passages: 5 of 10, .*left of this step, 0:00:\d\d so far, 22 tokens", text)


def test_progress_rate_is_the_latest_of_each_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("rich.console.monotonic", lambda: now[0])
    with progress.progress(interval=0.02) as show:
        for seconds, done in ((0, 0), (1, 600), (40, 640), (80, 680), (100, 700)):  # an earlier run had read the first
            now[0] = seconds
            show("read files", done, 1000)
            show("read passages", done % 200, 400)  # begins again
        _wait(capsys, "read passages: 100 of 400")
        show("read files", 700, 1000)
        _wait(capsys, "read files: 700 of 1,000, 1/s, 0:05:00 left of this step")


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
