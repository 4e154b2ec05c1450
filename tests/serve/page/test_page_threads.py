"""Threads: follow-ups, edited and repeated questions, and what is kept, exported and shared of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.llm_server import LLMServer
from tests.serve.conftest import Running, serving
from tests.serve.page.conftest import Opener, Screen, SlowModel, eventually, expect, wait_kept
from tests.serve.page.test_page_ask import HEBREW, reply

from graphwright import Index
from graphwright.cli.chat import markdown
from graphwright.models.fake import HashEncoder
from graphwright.models.settings import LLMSettings
from graphwright.serve.settings import ModelServer

pytestmark = pytest.mark.slow
TURNS = ("On which river does Linz lie?", "And Vienna?")
NO_STORAGE = "".join(
    f"Object.defineProperty(window, '{name}', {{ get() {{ throw new DOMException('no', 'SecurityError') }} }});"
    for name in ("indexedDB", "localStorage")
)


def ask(tab: Any, question: str, turns: int) -> None:
    """Ask in the field below a thread, and wait until this many turns are answered."""
    tab.locator("#question").fill(question)
    tab.locator("#question").press("Enter")
    tab.locator(".answer-foot").nth(turns - 1).wait_for()


@pytest.fixture
def thread(screen: Screen) -> Any:
    """A tab with a thread of two turns, which is kept."""
    tab = screen.open(index="cities")
    for at, question in enumerate(TURNS, 1):
        ask(tab, question, at)
    wait_kept(tab, len(TURNS))
    return tab


def test_follow_up_is_asked_after_turns_and_shows_what_it_means(thread: Any) -> None:
    expect(thread.locator(".turn-head h2")).to_have_text(list(TURNS))
    expect(thread.locator(".understood")).to_contain_text("Vienna")
    expect(thread.locator("#question"), "the next question can be typed").to_be_focused()
    thread.locator(".turn").first.get_by_role("link", name="Evidence").click()
    thread.locator(".turn").first.locator(".evidence").wait_for()
    expect(thread.locator(".evidence")).to_have_count(1)


def test_edited_question_removes_what_follows_after_saying_so(thread: Any) -> None:
    thread.locator(".turn").first.get_by_role("button", name="Edit").click()
    expect(thread.get_by_text("The question below builds on this one, and will be removed.")).to_be_visible()
    thread.get_by_label("Edited question").fill("On which river does Graz lie?")
    thread.get_by_label("Edited question").press("Enter")
    expect(thread.locator(".turn")).to_have_count(1)
    thread.locator(".answer-foot").wait_for()
    expect(thread).to_have_url(re.compile("Graz"))
    ask(thread, "And Vienna?", 2)
    thread.locator(".turn").first.get_by_role("button", name="Ask again").click()
    thread.get_by_role("button", name="Cancel").click()
    expect(thread.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(thread.locator(".turn")).to_have_count(2)


def test_two_meanings_are_buttons(opener: Opener, tmp_path: Path) -> None:
    with Index.create(tmp_path / "bridges", encoder=HashEncoder()) as index:
        index.add([{"id": "b", "text": "Orlen Bridge is 120 metres long. Sorn Bridge is 90 metres long."}])
    with serving(tmp_path / "bridges", data=tmp_path / "data") as running:
        screen = opener(running)
        choices = ["Orlen Bridge", "Sorn Bridge"]

        def ask_back(route: Any) -> None:
            answer = running.client.post("/v1/indexes/cities/ask", json={"question": "Orlen?"}).json()
            answer.update(answer="Do you mean Orlen Bridge or Sorn Bridge?", found=False, choices=choices)
            route.fulfill(json={**answer, "trace": [], "citations": [], "passages": []})

        screen.tab.route("**/ask", ask_back)
        tab = screen.open(index="cities", q="How long is it?")
        expect(tab.get_by_role("group", name="What is meant?").get_by_role("button")).to_have_text(choices)
        expect(tab.get_by_role("heading", name="No sure answer")).to_have_count(0)
        screen.tab.unroute("**/ask")
        tab.get_by_role("button", name="Sorn Bridge").click()
        tab.locator(".answer-foot").nth(1).wait_for()
        expect(tab.locator(".turn-head h2").nth(1)).to_have_text("Sorn Bridge")


def test_threads_are_kept_in_browser_named_and_deleted(screen: Screen, thread: Any) -> None:
    sent: list[str] = []
    thread.on("request", lambda request: sent.append(request.url) if request.method != "GET" else None)
    thread.reload()
    screen.settle()
    expect(thread.locator(".turn")).to_have_count(2)
    tab = screen.open(index="cities")
    tab.get_by_role("button", name="Rename").click()
    tab.get_by_label("Name of the thread").fill("Rivers")
    tab.get_by_label("Name of the thread").press("Enter")
    tab.get_by_role("link", name="Rivers").click()
    tab.locator(".thread-title", has_text="Rivers").wait_for()
    tab.get_by_role("button", name="Delete").click()
    tab.get_by_role("button", name="Delete this thread?").click()
    tab.locator(".suggestions").wait_for()  # the thread is gone for good
    tab.reload()
    tab.locator(".suggestions").wait_for()
    expect(tab.locator(".recent")).to_have_count(0)
    assert sent == []


def test_browser_without_storage_asks_and_says_so(opener: Opener, shared: Running) -> None:
    screen = opener(shared)
    screen.tab.add_init_script(NO_STORAGE)
    tab = screen.open(index="cities", q=TURNS[0])
    ask(tab, TURNS[1], 2)
    tab.get_by_role("link", name="New thread").click()
    expect(tab.locator(".recent")).to_contain_text("keeps no threads")


def test_two_tabs_go_on_with_one_thread(thread: Any) -> None:
    other = thread.context.new_page()
    other.goto(thread.url)
    expect(other.locator(".answer-foot")).to_have_count(2)
    ask(thread, "On which river does Graz lie?", 3)
    expect(other.locator(".turn"), "the other tab shows it").to_have_count(3)
    ask(other, "Where was Ida Pfeiffer born?", 4)
    wait_kept(thread, 4)
    expect(thread.locator(".turn")).to_have_count(4)
    thread.get_by_role("button", name="Delete").click()
    thread.get_by_role("button", name="Delete this thread?").click()
    thread.locator(".suggestions").wait_for()
    other.get_by_role("link", name="New thread").click()
    other.locator(".suggestions").wait_for()


def test_question_is_asked_again_after_reload_in_the_middle_of_its_answer(
    opener: Opener, serve_model: Callable[[Any], Running]
) -> None:
    model = SlowModel(reply("Graz lies on the Mur, says the text, and the Mur flows on [1].", HEBREW))
    model.go_on.set()
    screen = opener(serve_model(model))
    tab = screen.open(index="cities")
    ask(tab, "On which river does Graz lie?", 1)
    wait_kept(tab, 1)
    model.go_on.clear()
    tab.get_by_role("button", name="Ask again").click()
    tab.locator(".answer.writing").wait_for()
    tab.reload()
    tab.locator(".answer.writing").wait_for()
    model.go_on.set()
    tab.locator(".answer-foot", has_not_text="answered").wait_for()
    model.go_on.clear()
    tab.get_by_role("button", name="Ask again").click()
    tab.get_by_role("button", name="Stop").click()
    tab.reload()
    screen.settle()
    expect(tab.locator(".answer-foot"), "a stopped question is not asked again").to_contain_text("answered")


def test_exported_thread_is_as_chat_saves_it(thread: Any, library: Path, tmp_path: Path) -> None:
    with thread.expect_download() as download:
        thread.get_by_role("button", name="Export").click()
    download.value.save_as(tmp_path / "thread.md")
    with Index.open(library, encoder=HashEncoder()) as index:
        states: list[Any] = []
        for question in TURNS:
            states.append(index.ask(question, history=list(states)))
    assert (tmp_path / "thread.md").read_text(encoding="utf-8") == markdown(states, "cities")


def test_shared_link_asks_its_questions_after_button(opener: Opener, shared: Running, thread: Any) -> None:
    thread.get_by_role("button", name="Share").click()
    link = thread.get_by_label("Link to the thread").input_value()
    screen = opener(shared)
    asked: list[str] = []
    screen.tab.on("request", lambda request: asked.append(request.url))
    screen.tab.goto(link)
    screen.tab.get_by_role("heading", name="Shared questions").wait_for()
    screen.settle()
    expect(screen.tab.locator(".shared li")).to_have_text(list(TURNS))
    assert not any("Linz" in url or url.endswith("/ask") for url in asked), "what follows # is not sent"
    screen.tab.get_by_role("button", name="Ask these 2 questions").click()
    screen.tab.locator(".answer-foot").nth(1).wait_for()
    eventually(screen.tab, lambda: sum(url.endswith("/ask") for url in asked), 2)


def test_model_is_chosen_for_thread_and_answer_has_its_cost(opener: Opener, library: Path, tmp_path: Path) -> None:
    said = reply("Graz lies on the Mur [1].", HEBREW)
    with (
        LLMServer([said]) as small,
        LLMServer([said]) as large,
        serving(
            library,
            data=tmp_path / "data",
            llm=LLMSettings("small", small.url),
            models=(LLMSettings("large", large.url, prompt_price=1.0, completion_price=2.0),),
            model_servers=(ModelServer(large.url),),
        ) as running,
    ):
        tab = opener(running).open(index="cities")
        tab.get_by_text("Method and filters").click()
        tab.get_by_label("Answered by").select_option("large")
        ask(tab, TURNS[0], 1)
        expect(tab.locator(".answer-foot")).to_have_text(re.compile(r"large.*\$"))
        assert large.requests and not small.requests
        tab.get_by_text("Method and filters").click()
        tab.get_by_label("Answered by").select_option(label="no language model")
        count = len(large.requests)
        ask(tab, "On which river does Graz lie?", 2)
        assert len(large.requests) == count and not small.requests
        expect(tab.locator(".answer-foot").nth(1)).not_to_contain_text("tokens")
