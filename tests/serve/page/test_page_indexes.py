"""Indexes in the page: the first one of a server without any, with its files; settings, a copy, and the end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.llm_server import LLMServer
from tests.serve.conftest import Running, wait_until
from tests.serve.page.conftest import Opener, expect, wait_kept
from tests.shared.served import serving_home

from graphwright.models.settings import LLMSettings

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Running]:
    """A server without an index."""
    with serving_home(tmp_path / "home", llm=LLMSettings("small", "http://127.0.0.1:9/v1")) as running:
        yield running


def test_first_index_is_made_by_keyboard_and_answers(opener: Opener, home: Running) -> None:
    screen = opener(home)
    tab = screen.open()
    tab.get_by_role("heading", name="Ask about your documents").wait_for()
    screen.check_looks()
    tab.get_by_label("Name", exact=True).focus()
    tab.keyboard.type("Flüsse: alle")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("alert"), "the name is refused with the reason, and stays").to_contain_text(":")
    expect(tab.get_by_label("Name", exact=True)).to_have_value("Flüsse: alle")
    tab.get_by_label("Name", exact=True).fill("Flüsse")
    tab.get_by_label("Without a language model").check()
    files = [
        {"name": f"{name}.txt", "mimeType": "text/plain", "buffer": f"{name} lies on the {river}.".encode()}
        for name, river in zip(("Steyr", "Krems", "Leoben", "Hall", "Gmunden"), ("Enns", "Danube") * 3, strict=False)
    ]
    tab.get_by_label("Choose files").set_input_files(files)
    tab.get_by_text("5 files chosen").wait_for()
    tab.get_by_role("button", name="Make the index and read the files").press("Enter")
    tab.get_by_text("5 documents can be asked about now.").wait_for()
    expect(tab.locator(".jobs li"), "the first files are searchable before the last").to_have_count(2)
    screen.check_looks()
    tab.get_by_role("link", name="Ask about these").press("Enter")
    tab.get_by_role("heading", name="What do you want to know?").wait_for()
    assert home.client.get("/v1/indexes/Flüsse").json()["llm"] is None


def test_admin_makes_keys_and_adds_a_model(opener: Opener, home: Running) -> None:
    screen = opener(home)
    tab = screen.open("keys")
    screen.check_looks()
    tab.get_by_label("Name", exact=True).fill("owner")
    tab.get_by_role("button", name="Make the key").click()
    tab.get_by_text("this session").wait_for()
    key = tab.get_by_label("The key, which is shown only now").input_value()
    assert key.startswith("gw_")
    tab.get_by_label("Name", exact=True).fill("reader")
    tab.get_by_role("button", name="Make the key").click()
    tab.get_by_role("button", name="Revoke").click()
    tab.get_by_role("button", name="Revoke for good?").wait_for()
    screen.check_looks()
    tab.get_by_role("button", name="Revoke for good?").click()
    tab.get_by_text("revoked").wait_for()
    tab.get_by_role("link", name="Language models").click()
    tab.get_by_role("heading", name="Language models").wait_for()
    tab.get_by_label("Name", exact=True).fill("team/large")
    tab.get_by_role("button", name="Add the model").click()
    tab.get_by_role("button", name="Delete").wait_for()
    screen.check_looks()
    headers = {"Authorization": f"Bearer {key}"}
    assert home.client.get("/v1/indexes", headers=headers).json()["new"]["models"] == ["small", "team/large"]
    delete = tab.get_by_role("button", name="Delete")
    delete.click()
    expect(delete).to_be_focused()  # it asks
    delete.click()
    expect(delete).to_have_count(0)
    assert home.client.get("/v1/indexes", headers=headers).json()["new"]["models"] == ["small"]


def test_admin_is_told_how_a_server_of_models_is_listed(opener: Opener, tmp_path: Path) -> None:
    with serving_home(tmp_path / "home") as running:
        screen = opener(running)
        tab = screen.open("models")
        expect(tab.locator("pre")).to_contain_text("[[model_servers]]")
        expect(tab.get_by_role("button", name="Add the model")).to_have_count(0)
        screen.check_looks()


def test_admin_rebuilds_index_after_its_cost_and_readers_follow(opener: Opener, tmp_path: Path) -> None:
    model = LLMServer([json.dumps({"entities": [], "relations": []})])
    with model, serving_home(tmp_path / "home", llm=LLMSettings("reader", model.url)) as home:
        read = {"name": "notes", "model": "reader", "extraction": "llm"}
        assert home.client.post("/v1/indexes", json=read).status_code == 201
        text = " ".join(f"Krems lies on the river {at}." for at in range(20))
        home.client.post("/v1/indexes/notes/documents", json={"documents": [{"id": "krems", "text": text}]})
        wait_until(lambda: home.client.get("/v1/indexes/notes").json()["chunks"] == 1 and len(model.requests) == 1)
        screen = opener(home)
        tab = screen.open("settings", index="notes")
        tab.get_by_role("button", name="Rebuild the index").wait_for()
        tab.get_by_label("Tokens of a passage").fill("32")
        tab.get_by_role("button", name="Rebuild the index").click()
        expect(tab.get_by_role("alert")).to_contain_text("overlap must be less")
        tab.get_by_label("Overlap").fill("0")
        tab.get_by_role("button", name="Rebuild the index").click()
        tab.get_by_role("region", name="Estimate").wait_for()
        screen.check_looks()
        tab.get_by_role("button", name="Rebuild, and read them again").click()
        tab.locator(".job.done", has_text="Rebuilding the index").wait_for()
        screen.check_looks()
        assert home.client.get("/v1/indexes/notes/rebuild").json()["chunk_tokens"] == 32
        assert home.client.get("/v1/indexes/notes").json()["chunks"] == len(model.requests) - 1 > 3


def test_thread_follows_index_that_another_browser_renames(opener: Opener, home: Running) -> None:
    assert home.client.post("/v1/indexes", json={"name": "drafts", "model": None}).status_code == 201
    text = "Steyr lies on the Enns. Krems lies on the Danube."
    home.client.post("/v1/indexes/drafts/documents", json={"documents": [{"id": "towns", "text": text}]})
    wait_until(lambda: home.client.get("/v1/indexes/drafts").json()["chunks"] == 1)
    screen = opener(home)
    tab = screen.open(index="drafts", q="On which river does Steyr lie?")
    wait_kept(tab, 1)
    for name in ("minutes", "annals"):
        former = home.client.get("/v1/indexes").json()["indexes"][0]["name"]
        home.client.patch(f"/v1/indexes/{former}", json={"name": name}).raise_for_status()
        tab.locator("#question").fill("And Krems?")
        tab.locator("#question").press("Enter")
        tab.locator(".answer-foot").nth(1 + (name == "annals")).wait_for()
        expect(tab).to_have_url(re.compile(f"index={name}"))
    tab = screen.open(index="annals")
    expect(tab.locator(".recent")).to_contain_text("On which river does Steyr lie?")
    screen.open("documents", index="drafts")
    expect(tab).to_have_url(re.compile("index=annals"))


def test_index_is_renamed_copied_and_deleted_by_its_typed_name(opener: Opener, home: Running) -> None:
    assert home.client.post("/v1/indexes", json={"name": "drafts"}).status_code == 201
    assert home.client.post("/v1/indexes", json={"name": "kept"}).status_code == 201
    screen = opener(home)
    tab = screen.open("documents", index="drafts")
    tab.get_by_role("link", name="Settings").click()
    tab.get_by_role("heading", name="Settings of drafts").wait_for()
    screen.check_looks()
    tab.get_by_label("Name", exact=True).fill("minutes")
    tab.get_by_label("Names by their spelling").check()
    tab.get_by_role("button", name="Save").click()
    tab.get_by_role("heading", name="Settings of minutes").wait_for()
    assert home.client.get("/v1/indexes/minutes").json()["extraction"] == "rules"
    tab.get_by_role("button", name="Read the documents again").click()
    tab.locator(".job.done", has_text="Reading the documents again").wait_for()
    with tab.expect_download() as download:
        tab.get_by_role("link", name="Download the index folder").click()
    assert download.value.suggested_filename == "minutes.zip"
    delete = tab.get_by_role("button", name="Delete this index")
    tab.get_by_label("Name of the index").fill("minute")
    expect(delete).to_be_disabled()
    tab.get_by_label("Name of the index").fill("minutes")
    delete.click()
    tab.get_by_role("heading", name="Documents", level=1).wait_for()
    assert [index["name"] for index in home.client.get("/v1/indexes").json()["indexes"]] == ["kept"]
