"""The edit commands: make, list, undo, export and import edits, and suggest duplicates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command import graphwright

from graphwright import Index


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with Index.create("index", extractor="rules") as index:
        index.add([{"id": "a", "text": "Graz lies on the Mur. Ida Huber lives in Graz. Gratz is a town in Styria."}])
    return tmp_path / "index"


def run(folder: Path, *words: str, code: int = 0) -> str:
    done = graphwright("edit", *words, "--index", folder)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


def names(folder: Path) -> set[str]:
    with Index.open(folder) as index:
        return set(index.graph.names)


def test_suggested_duplicate_is_merged_listed_and_undone(folder: Path) -> None:
    assert "Gratz?  spelled alike" in run(folder, "suggest").replace("Graz?", "Gratz?")
    made = run(folder, "merge", "Gratz", "--to", "Graz", "--why", "a typo", "--who", "Ida")
    id, words = made.split(maxsplit=1)
    assert words.strip() == "merge Gratz into Graz" and "Gratz" not in names(folder)
    (listed,) = json.loads(run(folder, "list", "--json"))
    assert (listed["id"], listed["who"], listed["why"], listed["idle"]) == (id, "Ida", "a typo", "")
    assert listed["change"] == {"kind": "merge", "names": ["Gratz"], "into": "Graz"}
    assert "a typo" in run(folder, "list")
    assert run(folder, "undo", id) == "undid 1 edit\n" and "Gratz" in names(folder)
    run(folder, "apart", "Graz", "Gratz")
    assert json.loads(run(folder, "suggest", "--json")) == []


def test_each_kind_of_edit_has_a_command(folder: Path) -> None:
    run(folder, "rename", "Ida Huber", "Ida Berger")
    run(folder, "retype", "Graz", "city")
    run(folder, "split", "Graz", "Graz (castle)", "--document", "a")
    run(folder, "add", "Keplerbrücke", "--type", "bridge", "--text", "A bridge.")
    run(folder, "add", "Keplerbrücke", "crosses", "Mur", "--text", "The Keplerbrücke crosses the Mur.")
    run(folder, "delete", "Keplerbrücke", "crosses", "Mur")
    run(folder, "delete", "Styria")
    found = names(folder)
    assert {"Ida Berger", "Graz (castle)", "Keplerbrücke"} <= found and not {"Ida Huber", "Styria"} & found


def test_documents_that_are_counted_are_not_those_of_edits(folder: Path) -> None:
    run(folder, "add", "Keplerbrücke")
    done = graphwright("show", "b", "--index", folder)
    assert done.returncode == 2 and "no document 'b' among the 1 of" in done.stderr


def test_exported_edits_are_imported_once(folder: Path, tmp_path: Path) -> None:
    run(folder, "rename", "Mur", "Mura")
    run(folder, "export", "--to", "edits.jsonl")
    assert json.loads(run(folder, "export", "--to", "-")) == json.loads(Path("edits.jsonl").read_text("utf-8"))
    assert "exists already" in run(folder, "export", "--to", "edits.jsonl", code=2)
    run(folder, "undo", json.loads(run(folder, "list", "--json"))[0]["id"])
    assert run(folder, "import", "edits.jsonl") == "imported 1 edit\n" and "Mura" in names(folder)
    assert run(folder, "import", "edits.jsonl") == "imported 0 edits\n"
    with Index.open(folder) as index:
        index.remove(["a"])
    done = graphwright("edit", "list", "--index", folder)
    assert "changes nothing, or not all, now: there is no entity 'Mur'." in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["merge", "Grtz", "--to", "Graz"], 1, "no entity 'Grtz'"),
        (["merge", "Gratz"], 2, "Missing option '--to'"),
        (["delete", "Graz", "lies on"], 2, "not 2 arguments"),
        (["add", "Graz", "is", "Mur", "--type", "x"], 2, "is for an entity"),
        (["rename", "Graz", ""], 2, "is empty"),
        (["undo", "123"], 1, "has no edit '123'"),
        (["import", "missing.jsonl"], 1, "is no file"),
    ],
)
def test_wrong_edit_is_one_message_and_changes_nothing(folder: Path, words: list[str], code: int, message: str) -> None:
    error = run(folder, *words, code=code)
    assert message in error and "Traceback" not in error
    assert json.loads(run(folder, "list", "--json")) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: Expecting"),
        ("[]", "line 2: [] is not an edit"),
        ('{"time": "", "who": "", "why": "", "change": {"kind": "renam"}}', "Did you mean 'rename'?"),
        ('{"time": "", "who": "", "why": "", "change": {"kind": "rename", "name": "a"}}', "needs 'to'"),
        ('{"time": "", "who": "", "why": "", "change": {"kind": "delete", "name": ["a"]}}', "must be a text"),
    ],
)
def test_wrong_line_of_an_import_is_named(folder: Path, line: str, message: str) -> None:
    run(folder, "rename", "Mur", "Mura")
    run(folder, "export", "--to", "edits.jsonl")
    with Path("edits.jsonl").open("a", encoding="utf-8") as file:
        file.write(line)
    assert message in run(folder, "import", "edits.jsonl", code=1)
