"""The command that divides an index."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.command import graphwright

from graphwright import Index
from graphwright.models.fake import HashEncoder


def test_shard_divides_index_and_names_the_address(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", encoder="minilm") as index:
        index.add([{"id": f"d{n}", "text": f"Bertha founded abbey {n} in Graz."} for n in range(5)])
    done = graphwright("shard", tmp_path / "index", "--into", tmp_path / "shards", "--shards", "2")
    assert done.returncode == 0 and f"--index ray://{tmp_path / 'shards'}" in done.stderr, done.stderr
    counts = list[int]()
    for number in range(2):
        with Index.open(tmp_path / "shards" / f"shard-{number}") as shard:
            counts.append(shard.documents)
    assert sum(counts) == 5 and min(counts) > 0


@pytest.mark.parametrize(
    ("shards", "folder", "code", "message"),
    [
        ("1", "new", 2, "greater than or equal to 2"),
        ("2", "none", 1, "is not an index folder"),
        ("2", "full", 1, "is not empty"),
    ],
)
def test_shard_of_wrong_input_fails(tmp_path: Path, shards: str, folder: str, code: int, message: str) -> None:
    index = tmp_path / ("none" if folder == "none" else "index")
    Index.create(tmp_path / "index", encoder=HashEncoder()).close()
    into = tmp_path / ("index" if folder == "full" else "shards")
    done = graphwright("shard", index, "--into", into, "--shards", shards)
    assert done.returncode == code and message in done.stderr, done.stderr
    assert not (tmp_path / "shards").exists()
