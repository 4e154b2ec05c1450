"""Conversations on the command line: through a pipe, as JSON, and on a pseudo-terminal."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest import mock

import pytest
from tests.cli.command import PROGRAM, TERMINAL, graphwright
from tests.llm_server import LLMServer

from graphwright import Index

pty = pytest.importorskip("pty")
DOCUMENTS = [
    {"id": "organ", "text": "Nils Berg repaired the organ of Tarnby in 1903."},
    {"id": "bells", "text": "Eva Lund repaired the bells of Tarnby in 1911."},
    {"id": "kell", "text": "Kell has 12,000 inhabitants. Its mayor is Ruth Abel. There is a harbour in Kell."},
    {"id": "vorm", "text": "Vorm has 45,000 inhabitants. Its mayor is Otto Lind. There is a castle in Vorm."},
    {"id": "road", "text": "From Kell to Vorm it is 30 kilometres."},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("chat") / "index"
    Index.create(folder).add(DOCUMENTS)
    return folder


def piped(text: str | bytes, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the conversation in this process, with its lines from a pipe."""
    lines = io.TextIOWrapper(io.BytesIO(text.encode() if isinstance(text, str) else text), encoding="utf-8")
    with mock.patch.object(sys, "stdin", lines):
        return graphwright("chat", *arguments)


def test_piped_lines_are_turns_with_citations(folder: Path) -> None:
    out = piped("Who repaired the organ of Tarnby?\n\nno, I meant the bells\nThank you!", "--index", folder)
    assert out.returncode == 0 and "[1] organ  characters 0-" in out.stdout and "Eva Lund" in out.stdout
    assert "taken to mean: Who repaired the bells of Tarnby?" in out.stderr
    assert out.stdout.endswith("\n\nThis asks nothing of the documents.\n") and "> " not in out.stdout


def test_piped_bad_lines_are_reported_and_the_next_is_answered(folder: Path) -> None:
    lines = [
        b"/nwe",
        b"/save",
        b"/new town",
        b"/sources",
        b"x" * 100_001,
        b"\xff\xfe",
        b"Who repaired the organ?",
        b"/quit",
    ]
    out = piped(b"\r\n".join(lines), "--index", folder)
    assert out.returncode == 1 and "Nils Berg" in out.stdout
    for message in ("Did you mean '/new'?", "give /save FILE", "give /new\n", "Ask a question first", "100,001"):
        assert message in out.stderr, message


def test_json_is_one_object_a_turn(folder: Path) -> None:
    turns = "How far is it from Kell to Vorm?\nWho is its mayor?\nVorm\n/sources\n/etc\n/etc/passwd has what?\n"
    out = piped(turns, "--index", folder, "--json")
    first, back, chosen, error, last = map(json.loads, out.stdout.splitlines())
    assert first["found"] and first["turn"] is None
    assert set(back["choices"]) == {"Kell", "Vorm"} and back["found"] is False and not back["passages"]
    assert chosen["turn"] == "Vorm" and chosen["question"] == "Who is its mayor? (Vorm)" and chosen["citations"]
    assert error["error"] == "OptionError" and "passwd" in (last["turn"] or last["question"])


def test_new_forgets_the_turns_before(folder: Path) -> None:
    out = piped("Who repaired the organ of Tarnby?\n/new\nno, I meant the bells\n", "--index", folder, "--json")
    assert json.loads(out.stdout.splitlines()[-1])["turn"] is None


def test_save_writes_turns_meanings_and_citations(folder: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.md"
    there.write_text("mine")
    question, thread = "Who repaired the organ of Tarnby?", tmp_path / "the thread.md"
    out = piped(
        f"/save {thread}\n{question}\n/save '{thread}'\nno, I meant the bells\n/save {thread}\n/save {there}\n",
        "--index",
        folder,
    )
    text = thread.read_text()
    assert f"## {question}\n" in text and "*Taken to mean: Who repaired the bells of Tarnby?*" in text
    assert "- [1] organ characters 0-" in text and "- [1] bells characters 0-" in text
    assert there.read_text() == "mine" and "exists already" in out.stderr and "nothing to save" in out.stderr


def test_method_and_top_k_are_those_of_ask(folder: Path) -> None:
    options = ("--index", folder, "--method", "bm25", "--top-k", 1)
    reply = json.loads(piped("Who repaired the organ of Tarnby?", *options, "--json").stdout)
    assert reply["method"] == "bm25" and len(reply["passages"]) == 1
    assert len(piped("Who repaired the organ?\n/sources\n", *options).stdout.split("organ#0\t")) == 2


class Terminal:
    """The program on a pseudo-terminal."""

    def __init__(self, *arguments: object) -> None:
        self.master, inner = pty.openpty()
        environment = {**os.environ, **TERMINAL}
        self.process = subprocess.Popen(
            [*PROGRAM, *map(str, arguments)],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env=environment,
            start_new_session=True,
        )
        os.close(inner)
        self.shown, self.read = "", 0
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        try:
            while part := os.read(self.master, 4096):
                self.shown += part.decode(errors="replace")
        except OSError:  # the end of a terminal on Linux
            return

    def type(self, text: str) -> None:
        self.read = len(self.shown)
        os.write(self.master, text.encode())

    def expect(self, text: str, seconds: float = 240.0) -> str:
        """Wait until a text is shown after what was typed."""
        end = time.monotonic() + seconds
        while text not in self.shown[self.read :]:
            assert time.monotonic() < end and self.process.poll() is None, self.shown
            time.sleep(0.02)
        return self.shown[self.read :]


@pytest.mark.slow
def test_terminal_session_survives_ctrl_c_and_ends_with_ctrl_d(folder: Path) -> None:
    terminal = Terminal("chat", "--index", folder)
    terminal.expect("> ")
    terminal.type("half a quest")
    terminal.expect("half a quest")
    os.kill(terminal.process.pid, signal.SIGINT)
    terminal.expect("\n> ")
    terminal.type("Who repaired the organ of Tarnby?\n")
    assert "[1] organ" in terminal.expect("no language model") and "Passages" not in terminal.shown
    terminal.expect("\n> ")
    terminal.type("/sources\n")
    assert "organ#0" in terminal.expect("\n> ")
    terminal.type("no, I meant the bells\n")
    terminal.expect("taken to mean: Who repaired the bells of Tarnby?")
    terminal.expect("no language model")
    terminal.type("\x04")
    assert terminal.process.wait(60) == 0


@pytest.mark.slow
def test_terminal_ctrl_c_stops_an_answer_and_not_the_conversation(folder: Path) -> None:
    asked = threading.Event()

    def model(*_: object) -> str:
        if not asked.is_set():
            asked.set()
            time.sleep(30)
        return '{"found": true, "text": "Eva Lund.", "answers": ["Eva Lund"], "citations": []}'

    with LLMServer(model) as server:
        terminal = Terminal("chat", "--index", folder, "--llm", "m", "--base-url", server.url)
        terminal.expect("> ")
        terminal.type("Who repaired the organ of Tarnby?\n")
        assert asked.wait(240)
        os.kill(terminal.process.pid, signal.SIGINT)
        terminal.expect("the answer was stopped", 20)
        terminal.expect("\n> ")
        terminal.type("Who repaired the bells of Tarnby?\n")
        terminal.expect("1 call,")
        terminal.type("/quit\n")
        assert terminal.process.wait(60) == 0
