"""The command line for tests: run in this process, or the words that run it in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from unittest import mock

from graphwright.cli.app import main

TERMINAL = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
PROGRAM = [sys.executable, "-m", "graphwright"]


def graphwright(
    *arguments: object, encoding: str = "utf-8", columns: int | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in this process; a bug is raised.

    `columns`: the width of a terminal that shows colours. `variables`: of the environment.
    """
    command, code = list(map(str, arguments)), 0
    out, err = (TextIOWrapper(BytesIO(), encoding=encoding, newline="\n") for _ in range(2))
    terminal = TERMINAL if columns is None else {"COLUMNS": str(columns), "FORCE_COLOR": "1"}
    environment = mock.patch.dict(os.environ, {**terminal, "GRAPHWRIGHT_TRACEBACK": "1", **variables})
    with environment, redirect_stdout(out), redirect_stderr(err):
        try:
            main(command)
        except SystemExit as end:
            code = int(end.code or 0)
    return subprocess.CompletedProcess(command, code, _text(out), _text(err))


def _text(stream: TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, BytesIO)
    return buffer.getvalue().decode()
