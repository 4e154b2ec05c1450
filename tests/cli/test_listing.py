"""The query command: a table on a terminal, lines elsewhere, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command import graphwright
from tests.operators.query.tickets import tickets_table

from graphwright import Index


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("query") / "index"
    with Index.create(place) as index:
        index.add([tickets_table(60), {"id": "b.txt", "text": "Graz lies on the Mur."}])
    return place


def test_query_number_is_one_line(folder: Path) -> None:
    done = graphwright("query", 'count(tickets where status = "open")', "--index", folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "40\n", "")


def test_query_set_of_records_is_a_line_each_below_the_columns(folder: Path) -> None:
    done = graphwright("query", "first(2 tickets)", "--index", folder)
    assert done.stdout == "id\tstatus\towner\nT0\tclosed\tUdo\nT1\topen\tIda\n"


def test_query_set_of_values_is_a_name_a_line(folder: Path) -> None:
    assert sorted(graphwright("query", "tickets.owner", "--index", folder).stdout.split()) == ["Ida", "Udo"]


def test_query_yes_or_no(folder: Path) -> None:
    done = graphwright("query", 'exists(tickets where owner = "Ida")', "--index", folder)
    assert done.stdout == "yes\n"


def test_query_on_a_terminal_shows_words_table_and_sources(folder: Path) -> None:
    done = graphwright("query", 'tickets where owner = "Ida"', "--index", folder, columns=100)
    for part in ("tickets whose owner is Ida", "status", "T1", "Sources", "tickets.csv", "T1 | open | Ida"):
        assert part in done.stdout
    assert "20 of 30 things are shown" in done.stderr


def test_query_json_has_what_the_library_gives(folder: Path) -> None:
    text = 'tickets where status = "closed" and owner = "Udo"'
    with Index.open(folder) as index:
        assert json.loads(graphwright("query", text, "--index", folder, "--json").stdout) == index.query(text).to_dict()


def test_query_filter_hides_other_documents(folder: Path) -> None:
    done = graphwright("query", "count(everything where has status)", "--index", folder, "--document", "b.txt")
    assert done.returncode != 0 and "There is no relation 'status'" in done.stderr


def test_query_unknown_value_is_noted(folder: Path) -> None:
    done = graphwright("query", 'count(tickets where owner = "Idda")', "--index", folder)
    assert done.stdout == "0\n" and "Did you mean 'Ida'?" in done.stderr


@pytest.mark.parametrize(("text", "message"), [("count(tickets", "at its end"), ("tickts", "Did you mean 'tickets'?")])
def test_query_error_names_place_or_near_name(folder: Path, text: str, message: str) -> None:
    done = graphwright("query", text, "--index", folder)
    assert done.returncode != 0 and message in done.stderr and not done.stdout


def test_query_without_text_lists_types_and_relations(folder: Path) -> None:
    done = graphwright("query", "--index", folder)
    assert "tickets (60): id, status, owner\n" in done.stdout and ".status (60): closed\n" in done.stdout
    assert json.loads(graphwright("query", "--index", folder, "--json").stdout)["types"][0]["count"] == 60
