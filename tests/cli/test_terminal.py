"""Terminal output: what is cleaned, and where; output that cannot be written.

Progress on stderr: lines where there is no terminal, and what a reader is told during indexing.
"""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text
from tests.cli.command import PROGRAM, graphwright

from graphwright import Graph, Index, cli
from graphwright.cli import terminal as progress
from graphwright.cli.terminal import clean, console, note, plain_table, print_json, say
from graphwright.cli.terminal import progress as show_progress
from graphwright.data.duckdb_session import duckdb_session
from graphwright.models.protocols import Usage

EVIL = "a\x1b[31mb\x9b2Jc\x1b]0;d\x07e\x1bf\u202eg\u2066h\u200bi\U000e0041j\u200dk\x8el"
CLEAN = "abc]0;defghijkl"
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is of Linux")


def test_controls_and_invisible_characters_are_removed() -> None:
    assert clean(EVIL) == CLEAN


@pytest.mark.parametrize("text", ["naïve\tcafé\n", "می‌خواهم", "क्‍ष", "👩‍❤️‍👨", "日本語", "שלום", "\U0001f44d\U0001f3fd"])
def test_ordinary_text_of_any_script_is_kept(text: str) -> None:
    assert clean(text) == text


@given(st.text(st.sampled_from("ab\x1b\x9b[]0;m\x07\x9c\\\x90\u200d\ufe0f\u202e\u200b😀")))
def test_cleaned_text_has_no_controls(text: str) -> None:
    cleaned = clean(text)
    assert not set(cleaned) & set("\x1b\x9b\x07\x9c\x90\u202e\u200b")


def test_every_print_function_cleans(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    say(EVIL)
    note(EVIL)
    table = plain_table(EVIL)
    table.add_column(EVIL)
    table.add_row(EVIL, Text(EVIL))
    console().print(EVIL, Text(EVIL), table)
    with show_progress() as show:
        show(EVIL, 1, 2)
    out, err = capsys.readouterr()
    assert out.count(CLEAN) == 7 and err.count(CLEAN) >= 1
    assert not set(out + err) & set("\x1b\x9b\x07\x8e\u202e\u2066\u200b\U000e0041\u200d")


def test_bracketed_text_is_not_markup(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("[red]a[/red] [link=http://x]b[/link]")
    assert capsys.readouterr().out == "[red]a[/red] [link=http://x]b[/link]\n"


def test_json_is_exact_and_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({EVIL: [EVIL, "é日"]})
    line = capsys.readouterr().out
    assert json.loads(line) == {EVIL: [EVIL, "é日"]} and "é日" in line
    assert clean(line) == line


def test_commands_print_by_terminal_functions_only() -> None:
    for path in Path(cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and path.name != "terminal.py":
                assert ast.unparse(node.func) not in ("print", "Console", "sys.stdout.write", "sys.stderr.write"), path


def test_file_names_and_usage_errors_are_cleaned(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Graz lies on the Mur.")
    (tmp_path / "docs" / "b\x1b[31m\u202e.bin").write_bytes(bytes(range(256)) * 20)
    done = graphwright("index", tmp_path / "docs", "--into", tmp_path / "index")
    assert done.returncode == 0 and "b.bin: binary" in done.stderr
    missing = graphwright("index", tmp_path / "c\x1b[31m", "--into", tmp_path / "index")
    wrong = graphwright("info", "--evil\x1b[31m\u202e")
    assert (missing.returncode, wrong.returncode) == (1, 2) and "No such option: --evil" in wrong.stderr
    assert not set(done.stderr + missing.stderr + wrong.stderr) & set("\x1b\u202e")


def streams(buffered: bool) -> dict[str, str]:
    """Return the environment of a process whose streams have buffers or none."""
    return {**os.environ, "PYTHONUNBUFFERED": "" if buffered else "1"}


@needs_full
@pytest.mark.parametrize(
    ("arguments", "buffered"),
    [(["methods", "--json"], True), (["methods"], False), (["--version"], False), (["--help"], True)],
)
def test_full_disk_prints_one_error_line(arguments: list[str], buffered: bool) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, env=streams(buffered)
        )
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("graphwright: ") and "No space left on device" in done.stderr


@needs_full
def test_unwritable_messages_end_no_command(tmp_path: Path) -> None:
    Index.from_graph(tmp_path / "index", Graph.from_triples([("Graz", "lies on", "Mur")]), embed=()).close()
    export = ["export", "--index", tmp_path / "index", "--to", "-", "--format", "csv"]
    with open("/dev/full", "w") as full:
        for buffered in (True, False):
            done = subprocess.run(
                [*PROGRAM, *export], stdout=subprocess.PIPE, stderr=full, text=True, timeout=60, env=streams(buffered)
            )
            assert done.returncode == 0 and "Graz" in done.stdout


def test_closed_streams_are_reported() -> None:
    command = f"{sys.executable} -c 'from graphwright.cli.app import main; main()'"
    closed = subprocess.run([f"{command} methods --json >&-"], shell=True, capture_output=True, text=True, timeout=60)
    assert closed.returncode == 1 and "stdout is closed" in closed.stderr
    silent = subprocess.run([f"{command} info --json 2>&-"], shell=True, capture_output=True, text=True, timeout=60)
    assert silent.returncode == 2 and json.loads(silent.stdout)["error"] == "OptionError"


def test_ctrl_c_stops_duckdb() -> None:
    def interrupt() -> None:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    try:
        with pytest.raises(KeyboardInterrupt), duckdb_session() as db:
            thread.start()
            db.execute("SELECT count(*) FROM range(30_000_000_000)")
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)


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


def test_progress_of_several_steps_has_the_time_left_of_all(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("rich.console.monotonic", lambda: now[0])
    with progress.progress(interval=0.02, whole=True) as show:
        for seconds, done in ((0, 0), (10, 100), (20, 200)):
            now[0] = seconds
            show("read files (kB)", done, 1000)
        _wait(capsys, "read files (kB): 200 of 1,000, 10/s, 0:02:20 left,")
        show("encode triples", 0, 500)
        for seconds, done in ((30, 0), (35, 500), (40, 1000)):
            now[0] = seconds
            show("encode names", done, 2000)
        _wait(capsys, "encode names: 1,000 of 2,000, 100/s, 0:01:10 left,")
        show("write the index", 0, 0)
        _wait(capsys, "write the index, 0:")
    with progress.progress(interval=0.02) as show:
        for seconds, done in ((50, 0), (55, 50), (60, 100)):
            now[0] = seconds
            show("read files (kB)", done, 1000)
        _wait(capsys, "0:01:30 left of this step")


def _wait(capsys: pytest.CaptureFixture[str], expected: str) -> str:
    deadline, text = time.monotonic() + 20, ""
    while expected not in text and time.monotonic() < deadline:
        time.sleep(0.02)
        text += capsys.readouterr().err
    assert expected in text
    return text
