"""A real server on loopback over a small index, for the tests of this folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("fastapi", reason='needs the extra "serve"')
httpx = pytest.importorskip("httpx")
from tests.shared import Running, wait_until  # noqa: E402, F401
from tests.shared import serving as testing_serving  # noqa: E402

from graphwright import Index  # noqa: E402
from graphwright.models.fake import HashEncoder  # noqa: E402

if TYPE_CHECKING:
    from tests.serve.guarded import Guarded

EMOJI = "🏔️ Graz lies on the Mur in Styria. 😀 The Mur flows into the Drava. גרץ היא עיר."
DOCUMENTS = [
    {"id": "graz", "title": "Graz", "text": EMOJI},
    {"id": "a/b#c.md", "title": "Linz", "text": "Linz lies on the Danube. Ida Pfeiffer visited Linz in 1842."},
    {"id": "pfeiffer", "title": "Ida Pfeiffer", "text": "Ida Pfeiffer was born in Vienna. Ida Pfeiffer travelled."},
    {"id": "vienna", "title": "Vienna", "text": "Vienna lies on the Danube. Vienna is the capital of Austria."},
]


@contextmanager
def serving(folder: Path, *others: Path, **settings: Any) -> Iterator[Running]:
    """Serve an index folder as "cities", and others by their names."""
    with testing_serving(f"cities={folder}", *others, **settings) as running:
        yield running


def events_of(text: str) -> list[tuple[str, Any]]:
    """Return the kind and the data of each event of a stream; comments are left out."""
    events = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            data = lines["data"]
            events.append((lines.get("event", ""), data if data == "[DONE]" else json.loads(data)))
    return events


@pytest.fixture(scope="session")
def cities(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small index."""
    folder = tmp_path_factory.mktemp("serve") / "cities"
    with Index.create(folder, encoder=HashEncoder()) as index:
        index.add(DOCUMENTS)
    return folder


@pytest.fixture(scope="session")
def server(cities: Path) -> Iterator[Running]:
    """A server that many tests share."""
    with serving(cities) as running:
        yield running


@pytest.fixture(scope="session")
def guarded(cities: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A server with keys that many tests share; it does not slow down wrong ones."""
    from tests.serve.guarded import guarding

    folder = tmp_path_factory.mktemp("guarded") / "data"
    with guarding(cities, folder, failures_per_minute=100_000, max_body=20_000) as running:
        yield running
