"""The fork server, and the documents of the demo."""

from __future__ import annotations

from importlib.resources import files

import pytest
from tests.faults.fork_server import ForkServer

CORPUS = (files("graphwright") / "cli" / "demo_corpus" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="session")
def server(fork_server: ForkServer) -> ForkServer:
    return fork_server
