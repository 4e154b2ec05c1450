"""The graph is edited by hand on the page: an entity is corrected, a duplicate merged, an edit undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.serve.conftest import Running, serving
from tests.serve.page.conftest import Opener, eventually, expect

from graphwright import Graph, Index
from graphwright.models.fake import HashEncoder

pytestmark = pytest.mark.slow


@pytest.fixture
def towns(tmp_path: Path) -> Iterator[Running]:
    with Index.create(tmp_path / "cities", encoder=HashEncoder(), extractor="rules") as index:
        index.add([{"id": "a", "text": "Graz lies on the Mur. Ida Huber lives in Graz. Gratz is a town in Styria."}])
    with serving(tmp_path / "cities") as running:
        yield running


def test_duplicate_is_merged_and_the_edit_undone(opener: Opener, towns: Running) -> None:
    screen = opener(towns)
    tab = screen.open("graph", index="cities")
    tab.get_by_text("1 pair of names that may be one").click()
    tab.get_by_role("button", name="Merge Gratz into Graz").click()
    tab.get_by_text("1 edit by hand").click()
    screen.check()
    tab.get_by_role("button", name="Undo: merge Gratz into Graz").click()
    tab.get_by_text("1 pair of names that may be one").wait_for()


def test_entity_is_renamed_in_its_form(opener: Opener, towns: Running) -> None:
    screen = opener(towns)
    tab = screen.open("graph", index="cities", node="Ida Huber")
    tab.get_by_text("Correct this entity").click()
    screen.check()
    tab.get_by_label("New name").fill("Ida Berger")
    tab.get_by_label("Reason").fill("she married")
    tab.get_by_role("button", name="Save").click()
    tab.get_by_role("heading", name="Ida Berger").wait_for()


def test_imported_graph_is_edited(opener: Opener, tmp_path: Path) -> None:
    graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Gratz", "lies in", "Styria")])
    Index.from_graph(tmp_path / "rivers", graph, encoder=HashEncoder()).close()
    with serving(tmp_path / "rivers") as running:
        screen = opener(running)
        tab = screen.open("graph", index="cities", node="Styria")
        tab.get_by_text("Correct this entity").click()
        tab.get_by_label("New name").fill("Steiermark")
        tab.get_by_role("button", name="Save").click()
        tab.get_by_role("heading", name="Steiermark").wait_for()
        screen.close()


def test_wrong_edit_is_explained(opener: Opener, towns: Running) -> None:
    tab = opener(towns).open("graph", index="cities", node="Graz")
    tab.get_by_text("Correct this entity").click()
    tab.get_by_role("combobox", name="Change").select_option("Merge into another entity")
    tab.locator(".edit-form").get_by_label("Name of the other entity").fill("Linz")
    tab.get_by_role("button", name="Save").click()
    tab.get_by_text("there is no entity 'Linz'").wait_for()


def test_statement_and_entity_are_added_and_an_entity_split(opener: Opener, towns: Running) -> None:
    screen = opener(towns)
    tab = screen.open("graph", index="cities", node="Ida Huber")
    tab.get_by_text("Correct this entity").click()
    tab.get_by_role("combobox", name="Change").select_option("Add a statement")
    tab.get_by_label("Relation").fill("works in")
    tab.locator(".edit-form").get_by_label("Name of the other entity").fill("Graz")
    tab.get_by_role("button", name="Save").click()
    expect(tab.locator(".statements li", has_text="works in")).to_have_count(1)
    tab = screen.open("graph", index="cities")
    tab.get_by_text("Add an entity").click()
    tab.get_by_label("Name", exact=True).fill("Leoben")
    tab.get_by_label("Type").fill("town")
    screen.check()
    tab.get_by_role("button", name="Save").click()
    tab.get_by_text("2 edits by hand").wait_for()
    tab = screen.open("graph", index="cities", node="Gratz")
    tab.get_by_text("Correct this entity").click()
    tab.get_by_role("combobox", name="Change").select_option("Split off in some documents")
    tab.get_by_label("Its name there").fill("Gratz (Styria)")
    tab.get_by_label("Documents, one a line").fill("a")
    screen.check()
    tab.get_by_role("button", name="Save").click()
    eventually(tab, lambda: len(towns.client.get("/v1/indexes/cities/edits").json()["edits"]), 3)
    screen.open("graph", index="cities").get_by_text("3 edits by hand").wait_for()
