"""`graphwright keys`: the key is printed once, and the file and the audit log never hold it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.command import graphwright

from graphwright.serve.security.keys import Keys


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def keys(data: Path) -> Iterator[Keys]:
    with closing(Keys(data)) as opened:
        yield opened


def test_key_is_created_listed_and_revoked(data: Path, keys: Keys) -> None:
    made = graphwright("keys", "create", "wiki page", "--index", "wiki", "--index", "mail", "--data", data)
    token = made.stdout.strip()
    grant = keys.check(token)
    assert grant is not None and (grant.scope, grant.indexes) == ("read", ("wiki", "mail"))
    assert token not in made.stderr and "shown only now" in made.stderr
    (listed,) = json.loads(graphwright("keys", "list", "--json", "--data", data).stdout)
    assert (listed["name"], listed["state"], listed["expires"]) == ("wiki page", "active", None)
    table = graphwright("keys", "list", "--data", data).stdout
    assert "wiki, mail" in table and token[12:] not in table
    assert graphwright("keys", "revoke", listed["id"], "--data", data).returncode == 0
    assert keys.check(token) is None and "revoked" in graphwright("keys", "list", "--data", data).stdout
    entries = [json.loads(line) for line in (data / "audit.jsonl").read_text().splitlines()]
    assert [entry["action"] for entry in entries] == ["keys create", "keys revoke"]
    assert token[12:] not in (data / "audit.jsonl").read_text()


def test_key_expires(data: Path, keys: Keys) -> None:
    made = json.loads(graphwright("keys", "create", "guest", "--expires", "90d", "--json", "--data", data).stdout)
    (key,) = keys.all()
    assert (
        made["id"] == key.id
        and key.expires is not None
        and key.expires - key.created == pytest.approx(90 * 86_400, abs=5)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "x", "--scope", "root"], "the scopes are read, write, admin"),
        (["create", "x", "--expires", "soon"], "--expires is 'soon'"),
        (["create", "x", "--expires", "2001-01-01"], "give a later time"),
        (["revoke", "12345678"], "no key '12345678'"),
    ],
)
def test_wrong_key_options_are_explained(data: Path, arguments: list[str], message: str) -> None:
    done = graphwright("keys", *arguments, "--data", data)
    assert done.returncode == 2 and message in done.stderr
    assert graphwright("keys", "list", "--data", data).stdout == ""


def test_key_without_name_gets_user_name(data: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    def unnamed() -> str:
        raise KeyError("getpwuid(): uid not found: 10001")

    monkeypatch.setattr("getpass.getuser", unnamed)
    monkeypatch.setattr("os.getuid", lambda: 10001)
    made = graphwright("keys", "create", "operator", "--data", data)
    assert made.returncode == 0 and keys.check(made.stdout.strip()) is not None
    assert json.loads((data / "audit.jsonl").read_text())["name"] == "uid 10001"


def test_key_index_names_are_checked_by_server(data: Path) -> None:
    made = graphwright("keys", "create", "reader", "--index", "wikki", "--data", data)
    assert made.returncode == 0 and "the server logs a warning for unknown ones" in made.stderr
