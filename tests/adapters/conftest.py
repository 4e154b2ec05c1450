"""An index that opens by its path: with the embedded encoder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.shared import CORPUS

from graphwright import Index


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of an index of CORPUS."""
    path = tmp_path_factory.mktemp("adapters") / "index"
    with Index.create(path) as index:
        index.add(CORPUS)
    yield path
