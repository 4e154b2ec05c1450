"""One fork server for all tests of a process, as it takes two seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

import pytest
from tests.faults.fork_server import ForkServer

CORPUS = (files("graphwright") / "cli" / "demo_corpus" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    with ForkServer() as server:
        yield server
