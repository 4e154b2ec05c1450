"""Types in the page: given with a new index, suggested, replaced by reading again, and a filter of the graph."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.llm_server import LLMServer
from tests.serve.conftest import Running
from tests.serve.page.conftest import Opener, eventually, expect
from tests.serve.routes.test_extraction import ACME, FIRMS, PEOPLE, add, made, schema
from tests.shared.served import serving_home

from graphwright.models.settings import LLMSettings

pytestmark = pytest.mark.slow
FIELD = "Types to look for"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Running]:
    with serving_home(tmp_path / "home") as running:
        yield running


def test_admin_replaces_a_schema_and_a_faulty_one_names_its_line(opener: Opener, home: Running) -> None:
    made(home, "firms", extraction_schema=PEOPLE)
    add(home, "firms", ACME)
    screen = opener(home)
    tab = screen.open("settings", index="firms")
    field = tab.get_by_label(FIELD)
    expect(field).to_have_value(PEOPLE)
    screen.settle()
    field.fill(f"{PEOPLE}\n[entities.firm]\nsynonym = ['company']")
    tab.get_by_role("button", name="Read again with these types").click()
    tab.get_by_text("line 5: 'synonym' in [entities.firm] is unknown").wait_for()
    screen.check_looks("faulty")
    file = {"name": "schema.toml", "mimeType": "application/toml", "buffer": FIRMS.encode()}
    tab.get_by_label("Take a schema.toml").set_input_files(file)
    expect(field).to_have_value(FIRMS)
    tab.get_by_role("button", name="Read again with these types").click()
    tab.get_by_text("found outside the types").wait_for()
    tab.get_by_role("button", name="Read the documents again", exact=True).wait_for()  # it is that of the index
    assert schema(home)["entities"] == ["person", "company"]
    screen.check_looks("settings")
    field.fill("")
    tab.get_by_role("button", name="Suggest what is frequent").click()
    expect(field).to_have_value(re.compile(r"\[entities\.person\]"))
    field.fill("")
    tab.get_by_role("button", name="Read again without types").click()
    tab.get_by_role("button", name="Read the documents again", exact=True).wait_for()
    assert schema(home)["toml"] == ""


def test_model_suggests_types_and_its_cost_is_shown_first(opener: Opener, tmp_path: Path) -> None:
    person = {"name": "person", "description": "A human being.", "examples": ["Ida Stone"]}
    with (
        LLMServer([json.dumps({"entities": [person], "relations": []})]) as model,
        serving_home(tmp_path / "home", llm=LLMSettings("small", model.url)) as home,
    ):
        made(home, "firms", model="small", extraction="llm")
        add(home, "firms", ACME)
        screen = opener(home)
        tab = screen.open("settings", index="firms")
        screen.settle()
        tab.get_by_role("button", name="Have small suggest some").click()
        expect(tab.get_by_label(FIELD)).to_have_value(re.compile(r"\[entities\.person\]"))
        tab.get_by_role("button", name="Read again with these types").click()
        tab.get_by_text("Of each call for the types").wait_for()
        assert schema(home)["toml"] == ""
        screen.check_looks("price")
        tab.get_by_role("button", name="Read again", exact=True).click()
        tab.locator(".job.done").first.wait_for()
        assert schema(home)["entities"] == ["person"]


def test_graph_is_filtered_by_a_type(opener: Opener, home: Running) -> None:
    screen = opener(home)
    tab = screen.open("new")
    tab.get_by_label("Name", exact=True).fill("firms")
    tab.get_by_text("Types of things to look for").click()
    tab.get_by_label(FIELD).fill(FIRMS)
    screen.check_looks("new")
    tab.get_by_role("button", name="Make the index").click()
    tab.get_by_text("Or paste a text").wait_for()
    add(home, "firms", ACME)
    tab = screen.open("graph", index="firms")
    tab.get_by_role("combobox", name="Type").select_option("person (2)")
    tab.get_by_text("of the type person").wait_for()
    tab.get_by_role("link", name="Bob Miller").wait_for()
    names = tab.get_by_role("group", name="The best connected entities").get_by_role("link")
    eventually(tab, lambda: {name.split(" ")[0] for name in names.all_text_contents()}, {"Ida", "Bob"})
    screen.check_looks("graph")
    tab.get_by_label("Name of an entity").fill("Acme")
    tab.get_by_role("button", name="Search").click()
    tab.get_by_text("No name of the type person is like “Acme”").wait_for()
    tab.get_by_role("combobox", name="Type").select_option("All")
    tab.get_by_role("link", name="Acme Ltd").wait_for()


def test_edits_are_downloaded_and_imported(opener: Opener, home: Running) -> None:
    for name in ("first", "second"):
        made(home, name)
        add(home, name, ACME)
    screen = opener(home)
    tab = screen.open("graph", index="first")
    tab.get_by_text("Add an entity").click()
    tab.get_by_label("Name", exact=True).fill("Leoben")
    tab.get_by_role("button", name="Save").click()
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Download the edits").click()
    path = Path(download.value.path())
    assert json.loads(path.read_text())["change"]["name"] == "Leoben"
    tab = screen.open("graph", index="second")
    tab.get_by_label("Import edits").set_input_files({"name": "no.jsonl", "mimeType": "text/plain", "buffer": b"{}\n{"})
    tab.get_by_text("Line 2 of the file is not JSON").wait_for()
    tab.get_by_label("Import edits").set_input_files({"name": "no.jsonl", "mimeType": "text/plain", "buffer": b"{}\n"})
    tab.get_by_text("edit 1: {} is not an edit").wait_for()
    tab.get_by_label("Import edits").set_input_files(path)
    tab.get_by_text("1 edit by hand").wait_for()
    screen.check_looks("edits")


def test_refit_without_enough_feedback_is_explained(opener: Opener, home: Running) -> None:
    made(home, "firms")
    add(home, "firms", ACME)
    quotes = [{"document": "d0", "quote": "Ida Stone leads it."}]
    body = {"question": "Who leads Acme?", "verdict": "wrong", "answers": ["Ida Stone"], "quotes": quotes}
    assert home.client.post("/v1/indexes/firms/feedback", json=body).status_code == 201
    tab = opener(home).open("settings", index="firms")
    tab.get_by_role("button", name="Refit the ranking to it").click()
    tab.get_by_text("1 question with right passages").wait_for()
