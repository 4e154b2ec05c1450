"""The command line called in this process: starting Python takes most of a run, and some tests run many commands."""

from __future__ import annotations

import subprocess
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

from graphwright.cli.app import main


def called(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command as tests/cli/test_app.py does in a process of its own; an error that nobody meant is raised."""
    given, out, err, code = list(map(str, arguments)), StringIO(), StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(given)
        except SystemExit as end:
            code = int(end.code or 0)
    return subprocess.CompletedProcess(given, code, out.getvalue(), err.getvalue())
