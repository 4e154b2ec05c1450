"""Fixtures of the tests of clients: no keys or proxies of the environment, and a check for connections left open."""

import gc

import pytest
from tests.faulty_server import Watch


@pytest.fixture(autouse=True, scope="module")
def older_objects():
    gc.collect()
    gc.freeze()  # so that the collection after each test looks at that test's objects only
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    yield
    gc.collect()  # whatever leaves a socket open fails here, in the test that did it


@pytest.fixture
def watch():
    return Watch()
