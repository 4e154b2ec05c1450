"""All screens: accessible, narrow, dark, below a sub-path, and safe from scripts in documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import Running, serving
from tests.serve.guarded import Guarded, guarding
from tests.serve.page.conftest import ATTACK, Opener, Screen, eventually, expect, wait_kept

pytestmark = pytest.mark.slow
QUESTION = "Where was Ida Pfeiffer born?"
ATTACK_QUESTION = f"Where does Mallory live? {ATTACK}"
SCREENS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "blank": ("ask", "", {}),
    "answer": ("ask", "", {"q": QUESTION}),
    "shared": ("ask", "", {"questions": f'["{QUESTION}", "And Graz?"]'}),
    "source": ("ask", "", {"q": QUESTION, "source": "vienna", "from": 0, "to": 26}),
    "evidence": ("evidence", "", {"q": QUESTION}),
    "passages": ("passages", "", {"q": QUESTION}),
    "trace": ("trace", "", {"q": QUESTION}),
    "compare": ("compare", "", {"q": QUESTION, "a": "vector", "b": "bm25"}),
    "documents": ("documents", "", {}),
    "document": ("document", "notes/graz.md", {"start": 0, "end": 20}),
    "graph": ("graph", "", {}),
    "entity": ("graph", "", {"node": "Ida Pfeiffer"}),
    "health": ("health", "", {}),
    "no document": ("document", "absent", {}),
    "no screen": ("nowhere", "", {}),
}
LOOKS = {
    "wide": {"viewport": {"width": 1280, "height": 900}},
    "narrow": {"viewport": {"width": 360, "height": 740}},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
}


@pytest.mark.parametrize("look", LOOKS)
def test_every_screen_is_accessible_and_fits(opener: Opener, shared: Running, look: str) -> None:
    screen = opener(shared, **LOOKS[look])
    for name, (path, rest, query) in SCREENS.items():
        tab = screen.open(path, rest, index="cities", **query)
        tab.evaluate("() => document.querySelectorAll('details').forEach((details) => (details.open = true))")
        eventually(tab, lambda name=name: [f"{name}: {fault}" for fault in screen.faults()], [])


def test_navigation_is_on_one_line_at_every_width(screen: Screen) -> None:
    tab = screen.open("ask", index="cities")
    for width in (360, 768, 900, 1000, 1100):
        tab.set_viewport_size({"width": width, "height": 740})
        lines = tab.evaluate(
            "() => [...document.querySelectorAll('.nav span')].map((one) => one.getClientRects().length)"
        )
        assert lines == [1] * 6, width
        eventually(tab, screen.faults, [])


@pytest.mark.parametrize("name", ["answer", "evidence", "passages", "trace", "compare"])
def test_script_in_documents_and_questions_is_text(screen: Screen, name: str) -> None:
    path, rest, query = SCREENS[name]
    tab = screen.open(path, rest, index="cities", **{**query, "q": ATTACK_QUESTION})
    check_harmless(tab)
    if name in ("answer", "passages", "compare"):
        expect(tab.locator("main")).to_contain_text(ATTACK)


def test_script_in_ids_titles_and_names_is_text(screen: Screen) -> None:
    tab = screen.open("documents", index="cities")
    expect(tab.locator(".document-list")).to_contain_text(f"Attack {ATTACK}")
    check_harmless(tab)
    tab.get_by_role("link", name="Attack").click()
    expect(tab.locator(".text")).to_contain_text(ATTACK)
    check_harmless(tab)
    for path, rest, query in (
        ("graph", "", {"node": ATTACK}),
        ("graph", "", {"q": ATTACK}),
        ("document", ATTACK, {}),
        ("ask", "", {"index": ATTACK}),
        ("documents", "", {"find": ATTACK}),
    ):
        check_harmless(screen.open(path, rest, **{"index": "cities", **query}))
    wait_kept(screen.open("ask", "", index="cities", q=ATTACK_QUESTION), 1)
    tab = screen.open("ask")  # the history shows the question
    expect(tab.locator(".recent")).to_contain_text(ATTACK)
    check_harmless(tab)


def check_harmless(tab: Any) -> None:
    expect(tab).to_have_title(re.compile("· graphwright$"))
    expect(tab.locator("main img, main script, main iframe")).to_have_count(0)


def test_dark_switch_persists(screen: Screen) -> None:
    tab = screen.open()

    def paper() -> str:
        return tab.evaluate("() => getComputedStyle(document.body).backgroundColor")

    light = paper()
    tab.get_by_role("button", name="Colours of the system").click()
    tab.get_by_role("button", name="Light colours").click()
    tab.get_by_role("button", name="Dark colours").wait_for()
    dark = paper()
    assert dark != light
    tab.reload()
    screen.settle()
    assert paper() == dark
    tab.get_by_role("button", name="Dark colours").click()
    eventually(tab, paper, light)


def test_page_works_below_sub_path(opener: Opener, library: Path, tmp_path: Path) -> None:
    with serving(library, root_path="/deep/wiki", data=tmp_path / "data") as running:
        screen = opener(running)
        tab = screen.open(index="cities", q=QUESTION)
        tab.locator(".marker").first.click()
        tab.locator("mark").wait_for()
        tab.get_by_role("link", name="Graph", exact=True).click()
        tab.locator(".overview a").first.wait_for()


def test_unreachable_server_is_shown(opener: Opener, library: Path, tmp_path: Path) -> None:
    with serving(library, data=tmp_path / "data") as running:
        screen = opener(running)
        tab = screen.open()
    tab.get_by_label("Question").fill(QUESTION)
    tab.get_by_role("button", name="Ask").click()
    tab.get_by_role("alert").filter(has_text="The server does not answer").wait_for()
    screen.errors.clear()  # Chromium reports the lost connection


@pytest.fixture(scope="module")
def closed(cities: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A server that needs a key."""
    with guarding(cities, tmp_path_factory.mktemp("closed") / "data") as running:
        yield running


def test_key_opens_page_and_sign_out_closes_it(opener: Opener, closed: Guarded) -> None:
    screen = opener(closed)
    tab = screen.open("documents")
    tab.get_by_role("heading", name="Sign in").wait_for()
    screen.check()
    expect(tab.get_by_label("Key")).to_be_focused()
    tab.keyboard.type("gw_wrong")
    tab.keyboard.press("Enter")
    tab.get_by_role("alert").filter(has_text="unknown, expired or revoked").wait_for()
    tab.get_by_label("Key").fill(closed.keys["read"])
    tab.keyboard.press("Enter")
    tab.locator(".document-list").wait_for()
    expect(tab.locator("option"), "the other index is not for this key").to_have_text(["cities"])
    expect(tab.locator(".drop"), "this key may not write").to_have_count(0)
    assert tab.evaluate("() => document.cookie") == "", "scripts do not see the session"
    assert closed.keys["read"] not in tab.evaluate("() => JSON.stringify(localStorage)")
    tab.reload()
    tab.locator(".document-list").wait_for()
    tab.get_by_role("button", name="Sign out").click()
    tab.get_by_role("heading", name="Sign in").wait_for()
    tab.reload()
    tab.get_by_role("heading", name="Sign in").wait_for()
