"""The options that choose where chunks are extracted and texts encoded."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.command import graphwright
from tests.shared import CORPUS


def test_documents_are_indexed_in_processes(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for row in CORPUS:
        (tmp_path / "docs" / f"{row['id']}.txt").write_text(row["text"], encoding="utf-8")
    done = graphwright("index", tmp_path / "docs", "--into", tmp_path / "index", "--engine", "local", "--workers", 1)
    assert done.returncode == 0 and f"{len(CORPUS)} added" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--engine", "spark"), "choose from local, ray"),
        (("--workers", 2), "add --engine local or --engine ray"),
        (("--engine", "local", "--address", "auto"), "choose the engine ray"),
    ],
)
def test_contradicting_engine_options_are_refused(tmp_path: Path, options: tuple[object, ...], message: str) -> None:
    done = graphwright("index", tmp_path, "--into", tmp_path / "index", *options)
    assert done.returncode == 2 and message in done.stderr and not (tmp_path / "index").exists()
