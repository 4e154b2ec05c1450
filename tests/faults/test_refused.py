"""A process that runs out of file descriptors says so: nothing is called damaged, and nothing is rebuilt."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.faults.conftest import CORPUS
from tests.faults.fork_server import ForkServer
from tests.faults.index_state import state, write_corpus

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")

ERRORS = ("StoreError", "DataError", "OSError")
DAMAGE = ("cut short", "damaged", "Restore", "repair", "Build the index again", "indexing into", "disk")


@pytest.mark.parametrize("job", ["ask", "verify", "add"])
def test_too_many_open_files_are_reported(job: str, server: ForkServer, tmp_path: Path) -> None:
    folder, docs = tmp_path / "index", write_corpus(tmp_path / "docs", CORPUS[:12], 1)
    assert server.run("add", folder, docs).code == 0
    before, outcomes = state(folder), set()
    more = write_corpus(tmp_path / "more", CORPUS[20:21], 1)
    for limit in range(4, 60, 7):
        done = server.run(job, folder, more if job == "add" else "ppr", files=limit)
        said = [str(report) for report in done.reports if report[0] in (*ERRORS, "problem")]
        outcomes.add(bool(said))
        assert done.code in (0, 1) and (said or done.code == 0), (limit, done)
        for text in said:
            assert "too many" in text.lower() and not any(word in text for word in DAMAGE), (limit, text)
        if job == "add" and not said:
            break
    assert outcomes == {True, False}
    if job != "add":
        assert state(folder) == before
