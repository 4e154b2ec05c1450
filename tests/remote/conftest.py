"""URLs on each kind of object storage, whose servers run until the last test."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from tests.remote.servers import azure, s3


@pytest.fixture(scope="session")
def server() -> Iterator[Callable[[str], str]]:
    """A function that returns the URL of a bucket on a kind of object storage, whose server it starts once."""
    with ExitStack() as stack, pytest.MonkeyPatch.context() as monkeypatch:
        yield cache(lambda kind: stack.enter_context({"s3": s3, "azure": azure}[kind](monkeypatch)))


@pytest.fixture(params=["file", "s3", "azure"], ids=["folder", "server_s3", "server_azure"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An unused URL on each kind of object storage."""
    if request.param == "file":
        return f"{tmp_path.as_uri()}/bucket"
    start: Callable[[str], str] = request.getfixturevalue("server")
    return f"{start(request.param)}/{uuid.uuid4()}/wiki"
