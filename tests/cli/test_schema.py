"""Schemas on the command line: indexing by one, replacing it, its estimate, and suggestions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.command import graphwright
from tests.llm_server import LLMServer

from graphwright import Index
from graphwright.extract import Schema

SCHEMA = """
[entities.person]
description = "A human being."

[entities.company]
description = "A business that sells goods or services."

[relations."founded by"]
pairs = [["company", "person"]]
"""
ACME = "Acme Ltd was founded by Ida Stone in 1974. Ida Stone leads it. Bob Miller repairs the pumps of Acme Ltd."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "acme.txt").write_text(ACME, encoding="utf-8")
    (tmp_path / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    yield tmp_path


def texts(folder: Path) -> set[str]:
    with Index.open(folder / "ix") as index:
        return {index.graph.text(node) for node in range(len(index.graph))}


def test_empty_index_with_schema_is_sound(folder: Path) -> None:
    with Index.create(folder / "ix", schema=Schema.read(folder / "schema.toml")) as index:
        assert index.verify() == []
        index.reextract(schema=Schema())
        assert index.verify() == []


def test_index_with_schema_types_entities_and_later_documents(folder: Path) -> None:
    done = graphwright("index", "docs", "--into", "ix", "--schema", "schema.toml")
    assert done.returncode == 0 and "do not fit the schema, without a type" in done.stdout, done.stderr
    assert {"Acme Ltd (company)", "Ida Stone (person)", "1974"} <= texts(folder)
    (folder / "docs" / "more.txt").write_text("Otto Berg met Ida Stone.", encoding="utf-8")
    assert graphwright("sync", "docs", "--into", "ix").returncode == 0
    assert "Otto Berg (person)" in texts(folder)
    facts = graphwright("info", "ix").stdout
    assert "entities: person, company" in facts and "+schema:" in facts
    assert Schema.of_toml(graphwright("schema", "show", "--index", "ix").stdout) == Schema.read("schema.toml")


def test_index_with_model_counts_what_its_replies_do_not_fit(folder: Path) -> None:
    city = {"name": "Leoben", "type": "city", "description": "A city."}
    with LLMServer(lambda asked: json.dumps({"entities": [city], "relations": []})) as server:
        model = ["--llm", "any", "--base-url", server.url]
        done = graphwright("index", "docs", "--into", "ix", "--schema", "schema.toml", "--json", *model)
    assert json.loads(done.stdout)["off_schema"] == 1, done.stderr


def test_reextract_with_schema_replaces_and_removes_it(folder: Path) -> None:
    assert graphwright("index", "docs", "--into", "ix").returncode == 0
    Path("schema.toml").write_text(f"strict = true\n{SCHEMA}", encoding="utf-8")
    done = graphwright("reextract", "--index", "ix", "--schema", "schema.toml", "--json")
    assert json.loads(done.stdout)["off_schema"] and not any(text.startswith("1974") for text in texts(folder))
    again = graphwright("reextract", "--index", "ix", "--schema", "schema.toml")
    assert "nothing to change" in again.stdout, again.stderr
    assert graphwright("reextract", "--index", "ix", "--schema", "none").returncode == 0
    assert "1974 (date)" in texts(folder) and "no schema" in graphwright("schema", "show", "--index", "ix").stderr


def test_schema_that_differs_or_is_wrong_changes_nothing(folder: Path) -> None:
    assert graphwright("index", "docs", "--into", "ix").returncode == 0
    Path("wrong.toml").write_text("[entities", encoding="utf-8")
    for arguments, message in (
        (["index", "docs", "--into", "ix", "--schema", "schema.toml"], "without a schema"),
        (["index", "docs", "--into", "new", "--schema", "wrong.toml"], "wrong.toml: it is not TOML"),
        (["reextract", "acme.txt", "--index", "ix", "--schema", "schema.toml"], "leave out the ids"),
        (["schema", "suggest", "docs", "--index", "ix"], "leave one of them out"),
    ):
        done = graphwright(*arguments)
        assert done.returncode == 2 and message in done.stderr, done.stderr
    assert graphwright("schema", "check", "none.toml").returncode == 1 and not Path("new").exists()


def test_query_counts_types_of_schema_and_of_columns_of_its_names(folder: Path) -> None:
    Path("docs/staff.csv").write_text("person,salary\nOmar Diaz,5000\nIda Stone,6000\n", encoding="utf-8")
    assert graphwright("index", "docs", "--into", "ix", "--schema", "schema.toml").returncode == 0
    people = graphwright("query", "person", "--index", "ix").stdout.splitlines()
    assert people == ["Bob Miller", "Ida Stone", "Omar Diaz"]
    listed = json.loads(graphwright("query", "--index", "ix", "--json").stdout)["types"]
    (company,) = (kind for kind in listed if kind["name"] == "company")
    companies = graphwright("query", "company", "--index", "ix").stdout.splitlines()
    assert company["count"] == len(companies) and "Acme Ltd" in companies and "founded by" in company["relations"]
    assert graphwright("verify", "ix").returncode == 0


def test_query_lists_types_without_statements(folder: Path) -> None:
    dates = SCHEMA + '[entities.date]\ndescription = "A day or a year."\n'
    Path("dates.toml").write_text(dates, encoding="utf-8")
    Path("docs/note.txt").write_text("The bridge was closed in 1974.", encoding="utf-8")
    assert graphwright("index", "docs/note.txt", "--into", "ix", "--schema", "dates.toml").returncode == 0
    assert "date (1)" in graphwright("query", "--index", "ix").stdout.splitlines()


def test_schema_of_imported_graph_types_added_documents(folder: Path) -> None:
    Path("graph.tsv").write_text("Ida Stone\tlives in\tLeoben\n", encoding="utf-8")
    assert graphwright("import", "graph.tsv", "--into", "ix").returncode == 0
    assert graphwright("reextract", "--index", "ix", "--schema", "schema.toml").returncode == 0
    assert graphwright("index", "docs", "--into", "ix").returncode == 0
    assert "Ida Stone" in graphwright("query", "person", "--index", "ix").stdout
    assert graphwright("verify", "ix").returncode == 0


def test_estimate_with_schema_says_what_it_adds(folder: Path) -> None:
    done = graphwright("index", "docs", "--into", "ix", "--schema", "schema.toml", "--estimate")
    assert "the schema's 3 types" in done.stderr and not Path("ix").exists()
    estimates = json.loads(graphwright("index", "docs", "--into", "ix", "--estimate", "--json").stdout)
    assert estimates["full"]["schema_tokens"] == 0


def test_suggest_offline_lists_types_columns_and_relations(folder: Path) -> None:
    rows = "employee,employer\nIda Stone,Acme Ltd\nBob Miller,Acme Ltd\nOtto Berg,Northwind Ltd\n"
    Path("docs/staff.csv").write_text(rows, encoding="utf-8")
    suggested = Schema.of_toml(graphwright("schema", "suggest", "docs").stdout)
    names = {kind.name: kind.examples for kind in suggested.entities}
    assert "person" in names and "Acme Ltd" in names["employer"]


def test_suggest_with_model_keeps_what_is_sound(folder: Path) -> None:
    person = {"name": "person", "description": "A human being.", "examples": ["Ida Stone"]}
    pairs = [["person", "company"], ["person", "person"]]
    said = {"entities": [person, person], "relations": [{"name": "knows", "description": "", "pairs": pairs}]}
    with LLMServer(lambda asked: json.dumps(said)) as server:
        done = graphwright("schema", "suggest", "docs", "--llm", "any", "--base-url", server.url)
    suggested = Schema.of_toml(done.stdout)
    assert [kind.name for kind in suggested.entities] == ["person"] and ACME[:40] in str(server.requests[0].json)
    assert suggested.relations[0].pairs == (("person", "person"),)


def test_suggest_of_nothing_says_what_to_do(folder: Path) -> None:
    Path("docs/acme.txt").write_text("nothing here", encoding="utf-8")
    done = graphwright("schema", "suggest", "docs")
    assert done.returncode == 1 and "write the schema by hand" in done.stderr
