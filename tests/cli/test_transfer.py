"""The commands that push and pull an index."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command import graphwright

from graphwright import Index

pytest.importorskip("obstore", reason='needs the extra "remote"')


def test_index_is_pushed_and_pulled(tmp_path: Path) -> None:
    folder, copy, url = tmp_path / "index", tmp_path / "copy", f"{tmp_path.as_uri()}/bucket"
    Index.create(folder).close()
    done = graphwright("push", folder, url)
    assert done.returncode == 0 and done.stdout.startswith("sent ") and done.stdout.rstrip().endswith(url)
    assert "has all of" in graphwright("push", folder, url).stdout
    done = graphwright("pull", url, copy)
    assert done.returncode == 0 and done.stdout.startswith("fetched ") and f"--index {copy}" in done.stderr
    assert "has all of" in graphwright("pull", url, copy).stdout
    assert json.loads(graphwright("pull", url, copy, "--json").stdout)["changed"] is False
    assert graphwright("verify", "--index", copy).returncode == 0
    with Index.create(tmp_path / "other") as other:
        other.add([{"id": "graz", "text": "Graz lies on the Mur."}])
    done = graphwright("push", tmp_path / "other", url)
    assert done.returncode == 1 and "--force" in done.stderr
    done = graphwright("push", tmp_path / "other", url, "--force", "--prune", "--json")
    assert json.loads(done.stdout)["pruned"] > 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("push", "none", "file:///tmp/bucket-of-tests"), 1, "is not an index"),
        (("push", "none", "ftp://x/y"), 2, "not a URL of object storage"),
        (("pull", "file:///none-of-tests", "copy"), 1, "there is no folder"),
        (("pull", "s3://user:secret@bucket", "copy"), 2, "read from the environment"),
        (("serve", "ftp://x/y"), 2, "not a URL of object storage"),
    ],
)
def test_push_and_pull_mistakes_are_explained(arguments: tuple[str, ...], code: int, message: str) -> None:
    done = graphwright(*arguments)
    assert done.returncode == code and message in done.stderr and "secret" not in done.stderr
