"""One server of a real language model for the whole session, shared by the processes of pytest-xdist."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from tests.real_model.llama_server import missing, shared_server

REQUIRED = "GRAPHWRIGHT_REAL_MODEL"


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the server. Without it tests are skipped, or fail where GRAPHWRIGHT_REAL_MODEL is "required"."""
    if reason := missing():
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    # Two threads of llama.cpp wait for each other in a loop, which takes many times longer beside other busy processes.
    with shared_server(shared, threads=1) as url:
        yield url
