"""Wrong uses of the address of a graph database; tests/build/imports/test_database_import.py has the right ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.command import graphwright

from graphwright import Index


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("import", "bolt://me:secret@host", "--into", "new"), "without a path, a user or a password"),
        (("import", "bolt://", "--into", "new"), "an address is bolt://HOST"),
        (("import", "bolt://host:abc", "--into", "new"), "an address is bolt://HOST"),
        (("import", "bolt://host/rivers", "--into", "new"), "Give the database by --database"),
        (("import", "bolt://host", "films.tsv", "--into", "new"), "is imported alone"),
        (("import", "bolt://host", "--header", "--into", "new"), "leave them out for bolt://host"),
        (("import", "bolt://host", "--names", "films.tsv", "--into", "new"), "leave out names"),
        (("import", "films.tsv", "--user", "me", "--into", "new"), "not for films.tsv"),
        (("sync", "bolt://host", "--into", "index", "--include", "*.md"), "leave out the options for documents"),
        (("sync", "bolt://host", "--into", "index"), "was not imported from a graph database"),
        (("sync", ".", "--into", "index", "--changed-by", "at"), "--changed-by is for a graph database"),
        (("query", "--cypher", "--index", "index"), "--cypher takes a query"),
        (("query", "MATCH (n) RETURN n", "--cypher", "--index", "index"), "was not imported from a graph database"),
    ],
)
def test_wrong_use_of_graph_database_is_explained(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "films.tsv").write_text("Heat\tyear\t1995\n")
    Index.create(tmp_path / "index").close()
    done = graphwright(*arguments)
    assert done.returncode == 2 and message in done.stderr and "secret" not in done.stderr
    assert not (tmp_path / "new").exists()
