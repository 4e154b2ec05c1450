"""Feedback below an answer: one press, or a short form with the right answer and passages, by keyboard too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import Running, serving
from tests.serve.page.conftest import Opener, expect

pytestmark = pytest.mark.slow
QUESTION = "On which river does Graz lie?"
PATH = "/v1/indexes/cities/feedback"


@pytest.fixture
def own(library: Path, tmp_path: Path) -> Iterator[Running]:
    with serving(library, data=tmp_path / "data") as running:
        yield running


def kept(server: Running) -> list[dict[str, Any]]:
    return server.client.get(PATH).json()["feedback"]


def test_helpful_is_kept_with_cited_passages(opener: Opener, own: Running) -> None:
    screen = opener(own)
    tab = screen.open(index="cities", q=QUESTION)
    tab.get_by_role("button", name="Helpful").click()
    tab.get_by_text("Thank you. The server keeps it.").wait_for()
    screen.check("helpful")
    answer = own.client.post("/v1/indexes/cities/ask", json={"question": QUESTION}).json()
    [entry] = kept(own)
    assert (entry["question"], entry["verdict"], entry["answer"]) == (QUESTION, "helpful", answer["answer"])
    assert [quote["quote"] for quote in entry["quotes"]] == [citation["text"] for citation in answer["citations"]]
    assert entry["answers"] == answer["short"] and all(quote["right"] for quote in entry["quotes"])
    tab.get_by_role("link", name="Trace").click()
    tab.locator(".trace").wait_for()
    tab.get_by_role("link", name="Answer").click()
    expect(tab.get_by_role("button", name="Helpful", pressed=True)).to_be_visible()


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark", "viewport": {"width": 360, "height": 780}}])
def test_wrong_is_corrected_by_keyboard(opener: Opener, own: Running, options: dict[str, Any]) -> None:
    screen = opener(own, **options)
    tab = screen.open(index="cities", q=QUESTION)
    tab.get_by_role("button", name="Wrong").press("Enter")
    expect(tab.get_by_label("The right answer, if you know it")).to_be_focused()
    tab.keyboard.type("the Mur")
    tab.keyboard.press("Tab")
    passage = tab.locator(".feedback-form input[type=checkbox]").first
    expect(passage).to_be_focused()
    tab.keyboard.press("Space")
    expect(passage).to_be_checked()
    screen.check(f"wrong-{options.get('color_scheme', 'light')}")
    tab.keyboard.press("Enter")
    tab.get_by_text("Thank you. The server keeps it.").wait_for()
    expect(tab.get_by_role("button", name="Wrong")).to_be_focused()
    [entry] = kept(own)
    assert (entry["verdict"], entry["answers"]) == ("wrong", ["the Mur"])
    assert [quote["right"] for quote in entry["quotes"]] == [True, *[False] * (len(entry["quotes"]) - 1)]


def test_admin_reads_downloads_and_deletes_feedback(opener: Opener, own: Running) -> None:
    quotes = [{"document": "vienna", "quote": "Vienna lies on the Danube."}]
    body = {"question": QUESTION, "verdict": "wrong", "answers": ["the Mur"], "quotes": quotes, "comment": "It's not."}
    assert own.client.post(PATH, json=body).status_code == 201
    screen = opener(own, viewport={"width": 360, "height": 780})
    tab = screen.open("settings", index="cities")
    tab.get_by_text("Right answer: the Mur").wait_for()
    screen.check("settings")
    with tab.expect_download() as download:
        tab.get_by_role("link", name="Download its questions").click()
    assert json.loads(Path(download.value.path()).read_text())["gold_ids"] == ["vienna"]
    tab.get_by_role("button", name="Delete", exact=True).click()
    tab.get_by_role("button", name="Delete this?").click()
    tab.get_by_text("Nobody has said yet").wait_for()
    assert kept(own) == []


def test_form_is_cancelled_and_failure_is_shown(opener: Opener, own: Running) -> None:
    screen = opener(own)
    tab = screen.open(index="cities", q=QUESTION)
    tab.get_by_role("button", name="Wrong").click()
    expect(tab.get_by_label("The right answer, if you know it")).to_be_focused()
    expect(tab.get_by_text("Passages that hold it")).to_be_visible()
    tab.keyboard.press("Escape")
    expect(tab.get_by_text("Passages that hold it")).to_have_count(0)
    assert kept(own) == []
    tab.route(f"**{PATH}", lambda route: route.abort())
    tab.get_by_role("button", name="Helpful").click()
    tab.get_by_text("The server does not answer").wait_for()
    assert kept(own) == []
