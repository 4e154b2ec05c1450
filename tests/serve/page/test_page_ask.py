"""Ask: the answer streams, and every citation opens at its characters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.llm_server import LLMServer, Say, error
from tests.serve.conftest import Running, serving
from tests.serve.page.conftest import (
    GRAZ,
    HEBREW,
    LONG,
    WRAPPED,
    Opener,
    Screen,
    SlowModel,
    eventually,
    expect,
    wait_kept,
)

from graphwright import Index
from graphwright.models.fake import HashEncoder
from graphwright.models.settings import LLMSettings

pytestmark = pytest.mark.slow
QUESTION = "On which river does Graz lie?"


IN_SIGHT = "(mark) => { const {top, bottom} = mark.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight }"


def selected(tab: Any) -> str:
    """Select what is highlighted, and return the selection."""
    return tab.evaluate(
        "() => { const selection = getSelection(); selection.selectAllChildren(document.querySelector('mark'));"
        " return selection.toString() }"
    )


def marked(tab: Any, text: str) -> None:
    """Wait until these characters alone are highlighted, and in sight."""
    mark = tab.locator("mark")
    eventually(tab, lambda: mark.evaluate_all("(marks) => marks.map(({ textContent }) => textContent)"), [text])
    eventually(tab, lambda: mark.evaluate(IN_SIGHT))


def reply(text: str, *quotes: str) -> str:
    citations = [{"passage": 1, "quote": quote} for quote in quotes]
    return json.dumps({"found": True, "text": text, "answers": [], "citations": citations}, ensure_ascii=False)


def test_answer_quotes_name_sources(screen: Screen, shared: Running) -> None:
    answer = shared.client.post("/v1/indexes/cities/ask", json={"question": QUESTION}).json()
    titles = {passage["id"]: passage["title"] for passage in answer["passages"]}
    tab = screen.open(index="cities", q=QUESTION)
    expect(tab.get_by_text("No language model wrote this answer.")).to_be_visible()
    quotes = [" ".join(citation["text"].split()) for citation in answer["citations"]]
    expect(tab.locator(".quotations blockquote")).to_have_text(quotes, use_inner_text=True)
    expected = [titles[citation["chunk"]] for citation in answer["citations"]]
    expect(tab.locator(".quotations .source-title")).to_have_text(expected, use_inner_text=True)
    expect(tab.locator(".sources"), "no quote is shown twice").to_have_count(0)


def test_citation_opens_at_its_characters(screen: Screen, shared: Running) -> None:
    expected = shared.client.post("/v1/indexes/cities/ask", json={"question": QUESTION}).json()["citations"]
    assert any("😀" in GRAZ[: citation["start"]] or "🏔️" in citation["text"] for citation in expected)
    tab = screen.open()
    tab.get_by_label("Question").fill(QUESTION)
    tab.get_by_role("button", name="Ask").click()
    tab.locator(".answer-foot").wait_for()
    for number, citation in enumerate(expected, 1):
        tab.locator(f'.marker[data-citation="{number}"]').first.click()
        tab.locator(f".panel-head:has-text('{citation['start']}–{citation['end']}')").wait_for()
        marked(tab, citation["text"])
        assert selected(tab).split() == citation["text"].split()  # wrapped lines flow anew


@pytest.mark.parametrize(
    ("document", "text", "span"),
    [
        ("notes/graz.md", GRAZ, HEBREW),
        ("notes/graz.md", GRAZ, "😀 The Mur flows"),
        ("annals", LONG, "Paragraph 250 of the annals"),
        ("a/b#c?.md", "Linz lies on the Danube. Ida Pfeiffer visited Linz in 1842.", "Ida Pfeiffer visited"),
    ],
)
def test_span_address_highlights_span(screen: Screen, document: str, text: str, span: str) -> None:
    start = text.index(span)
    tab = screen.open("document", document, index="cities", start=start, end=start + len(span))
    marked(tab, span)
    assert selected(tab) == span


def test_text_around_span_loads_on_demand(screen: Screen) -> None:
    start = LONG.index("Paragraph 150")
    tab = screen.open("document", "annals", index="cities", start=start, end=start + 13)
    marked(tab, "Paragraph 150")

    def text() -> str:
        return tab.locator(".text").evaluate("(text) => text.textContent")

    assert "Paragraph 1 " not in text()
    for name, last in (("Show earlier text", "Paragraph 0 "), ("Show later text", "Paragraph 299 ")):
        button = tab.get_by_role("button", name=name)
        while button.count():
            before = len(text())
            button.click()
            eventually(tab, lambda before=before, button=button: len(text()) > before or not button.count())
        assert last in text()
    assert text() == LONG.rstrip() or LONG.startswith(text())
    assert tab.locator("mark").inner_text() == "Paragraph 150"


def test_answer_streams_and_stops(opener: Opener, serve_model: Callable[[Any], Running]) -> None:
    model = SlowModel(reply("Graz lies on the Mur, says the text, and the Mur flows on [1].", HEBREW))
    screen = opener(serve_model(model))
    tab = screen.open()
    tab.get_by_label("Question").fill(QUESTION)
    tab.keyboard.press("Enter")
    tab.locator(".answer.writing", has_text="Graz lies on").wait_for()
    expect(tab.locator(".marker"), "citations are verified at the end").to_have_count(0)
    model.go_on.set()
    tab.locator(".answer-foot").wait_for()
    tab.locator(".marker").click()
    marked(tab, HEBREW)

    model.go_on.clear()
    tab.get_by_role("button", name="Ask again").click()
    tab.locator(".answer.writing").wait_for()
    tab.get_by_role("button", name="Stop").click()
    tab.get_by_text("Stopped. What is shown is incomplete").wait_for()
    model.go_on.set()


def test_instruction_is_kept_in_browser_and_sent_with_questions(opener: Opener, library: Path, tmp_path: Path) -> None:
    model = LLMServer([Say(reply("An der Mur [1].", HEBREW))])
    with model, serving(library, llm=LLMSettings("any", model.url), data=tmp_path / "data") as running:
        screen = opener(running)
        tab = screen.open()
        tab.get_by_text("Method and filters").click()
        tab.get_by_label("How the answer is written").fill("in German, at most 80 words")
        screen.check_looks()
        tab = screen.open(index="cities", q=QUESTION)  # the page is loaded anew
        tab.locator(".answer-foot").wait_for()
        told = model.requests[-1].json["messages"][0]["content"]
        assert '{"instruction": "in German, at most 80 words"}' in told and "German" not in tab.url
        expect(tab.get_by_text("No language model wrote this answer")).to_have_count(0)
        tab = screen.open(index="cities", q=QUESTION, offline=1)
        tab.locator(".answer-foot").wait_for()
        expect(tab.get_by_text("so that it does not follow how answers are to be written")).to_have_count(1)


def test_answer_names_other_copies_and_repeats_no_headline(opener: Opener, tmp_path: Path) -> None:
    with Index.create(tmp_path / "dams", encoder=HashEncoder()) as index:
        index.add([{"id": f"{n}.txt", "text": "The Solvang dam was built by Kari Lund in 1931."} for n in "abcde"])
    with serving(tmp_path / "dams") as running:
        tab = opener(running).open(index="cities", q="Who built the Solvang dam?")
        expect(tab.locator(".copies")).to_contain_text(" and 1 more")
        expect(tab.locator(".short-answer")).to_have_text("Kari Lund")
        expect(tab.locator(".answer")).to_have_text(re.compile("^The Solvang dam"))


def test_computed_answer_says_what_was_computed_without_parentheses(opener: Opener, tmp_path: Path) -> None:
    table = tmp_path / "towns.csv"
    table.write_text("town,river,inhabitants\nGraz,Mur,295000\nLinz,Danube,210000\nSorn,Enns,1200\n")
    with Index.create(tmp_path / "towns", encoder=HashEncoder()) as index:
        index.add(table)
    with serving(tmp_path / "towns") as running:
        screen = opener(running)
        tab = screen.open(index="cities", q="Which town lies on the river Mur?")
        expect(tab.locator(".short-answer")).to_have_text("Graz")
        expect(tab.locator(".answer")).to_have_text(re.compile(r"^the town of \(towns whose river is Mur\)\s*1$"))
        screen.check_looks("answer-computed")


def test_wrapped_lines_flow(screen: Screen) -> None:
    start, end = WRAPPED.index("The rivers"), WRAPPED.index("[2]") + 4
    tab = screen.open("document", "survey.txt", index="cities", start=start, end=end)
    marked(tab, WRAPPED[start:end])
    expect(tab.locator(".text .wrap"), "not the table").to_have_count(2)
    assert selected(tab) == " ".join(WRAPPED[start:end].split())


def test_number_in_quote_is_not_citation(opener: Opener, serve_model: Callable[[Any], Running]) -> None:
    quote = "the depth of the Mur as two metres[2]."
    document = {"found": True, "text": f"{quote} [1] [2]", "answers": [], "citations": []}
    document["citations"] = [{"passage": n, "quote": text} for n, text in ((1, quote), (1, "Otto Kern, walked"))]
    screen = opener(serve_model(json.dumps(document)))
    tab = screen.open(index="cities", q="What does the report of Otto Kern give as depth of the Mur?", method="bm25")
    expect(tab.locator(".answer .marker")).to_have_text(["1", "2"])
    expect(tab.locator(".answer")).to_contain_text("metres[2].")


def test_dropped_quotes_and_unsupported_sentences_are_listed(
    opener: Opener, serve_model: Callable[[Any], Running]
) -> None:
    invented = "Graz was founded by <b>giants</b>"
    answer = "Graz lies on the Mur [1]. Giants founded it [2]."
    screen = opener(serve_model(reply(answer, "Graz lies on the Mur", invented)))
    tab = screen.open(index="cities", q=QUESTION)
    tab.get_by_text("1 quote dropped").wait_for()
    expect(tab.locator(".note li", has_text=invented)).to_have_count(1)
    expect(tab.locator(".unsupported")).to_have_count(1)
    expect(tab.locator(".note li", has_text="Giants founded it")).to_have_count(1)


def test_question_without_answer_is_shown_as_such(opener: Opener, serve_model: Callable[[Any], Running]) -> None:
    nothing = json.dumps({"found": False, "text": "", "answers": [], "citations": []})
    screen = opener(serve_model(nothing))
    tab = screen.open(index="cities", q="Who won the war of Troy?", folder="notes")
    tab.get_by_role("heading", name="No sure answer").wait_for()
    expect(tab.locator("[role=alert]")).to_have_count(0)
    expect(tab.locator(".passage").first).to_be_visible()
    tab.get_by_role("link", name="Search all documents").click()
    expect(tab).not_to_have_url(re.compile("folder"))
    screen.settle()
    expect(tab.get_by_role("heading", name="No sure answer")).to_be_visible()


def test_failed_question_is_shown(screen: Screen) -> None:
    tab = screen.open(index="cities", q=QUESTION, method="no-such-method")
    tab.get_by_role("alert").filter(has_text="no-such-method").wait_for()
    expect(tab.get_by_role("button", name="Try again")).to_have_count(1)


def test_filters_restrict_and_are_in_address(screen: Screen) -> None:
    tab = screen.open()
    tab.get_by_label("Question").fill("Which river is there?")
    tab.get_by_text("Method and filters").click()
    tab.get_by_label("Folder").fill("notes")
    expect(tab.locator("#folders option[value=notes]")).to_have_count(1)
    tab.get_by_label("Choose a condition to add").select_option("year = 2024")
    expect(tab.get_by_label("Metadata")).to_have_value("year = 2024")
    expect(tab.locator("optgroup[label=Recommended]")).to_have_count(1)
    tab.get_by_label("Passages", exact=True).fill("3")
    tab.get_by_role("button", name="Ask").click()
    tab.locator(".answer-foot").wait_for()
    for parameter in ("folder=notes", "k=3", "where=year"):
        expect(tab).to_have_url(re.compile(parameter))
    tab.get_by_role("link", name="Passages").click()
    titles = tab.locator(".passage-title")
    eventually(tab, lambda: set(titles.all_inner_texts()), {"Graz"})
    tab.reload()
    screen.settle()
    eventually(tab, lambda: set(titles.all_inner_texts()), {"Graz"})


def test_answers_are_kept_until_asked_again(screen: Screen) -> None:
    asked: list[str] = []
    screen.tab.on("request", lambda request: asked.append(request.url) if request.url.endswith("/ask") else None)
    tab = screen.open(index="cities", q=QUESTION)
    answer = tab.locator(".answer").inner_text()
    wait_kept(tab, 1)
    tab.reload()
    screen.settle()
    expect(tab.locator(".answer")).to_have_text(answer, use_inner_text=True)
    expect(tab.locator(".answer-foot")).to_contain_text("answered")
    assert len(asked) == 1
    tab.get_by_role("button", name="Ask again").click()
    expect(tab.locator(".answer-foot", has_not_text="answered"), "this answer is new").to_have_count(1)
    eventually(tab, lambda: len(asked), 2)
    tab = screen.open()
    tab.get_by_role("link", name=QUESTION, exact=True).click()
    expect(tab.locator(".answer")).to_have_text(answer, use_inner_text=True)
    assert len(asked) == 2
    tab = screen.open()
    tab.get_by_role("button", name="Delete all").click()
    tab.get_by_role("button", name="Delete 1 thread?").click()
    expect(tab.locator(".recent")).to_have_count(0)
    tab.reload()
    tab.locator(".suggestions").wait_for()
    expect(tab.locator(".recent")).to_have_count(0)


def test_skip_link_leads_to_content(screen: Screen) -> None:
    tab = screen.open("health")
    tab.keyboard.press("Tab")
    expect(tab.locator(".skip")).to_be_focused()
    tab.keyboard.press("Enter")
    expect(tab.locator("#main")).to_be_focused()
    assert "#/health" in tab.url


def test_keyboard_asks_and_checks_citation(screen: Screen) -> None:
    tab = screen.open()
    keys = tab.keyboard

    def tab_to(selector: str) -> None:
        for _ in range(40):
            keys.press("Tab")
            if tab.evaluate("(selector) => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"Tab does not reach {selector}")

    tab_to("a[href='#/documents?index=cities']")
    keys.press("Enter")
    expect(tab.locator("h1", has_text="Documents")).to_be_focused()  # a screen that comes takes the focus
    tab.locator(".document-list").wait_for()
    tab_to("a[href='#/ask?index=cities']")
    keys.press("Enter")
    expect(tab.locator("h1", has_text="What do you want to know?")).to_be_focused()
    tab_to("#question")
    keys.type(QUESTION)
    keys.press("Enter")
    tab.locator(".answer-foot").wait_for()
    tab_to(".marker")
    keys.press("Enter")
    tab.locator("mark").wait_for()
    expect(tab.locator("#panel-title")).to_be_focused()
    tab_to("[aria-label='Close the source']")
    keys.press("Escape")
    expect(tab.locator(".panel")).to_have_count(0)
    expect(tab.locator(".marker:focus"), "the focus returns to the citation").to_have_count(1)


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark", "viewport": {"width": 360, "height": 780}}])
def test_failure_of_model_is_told_above_quotations(
    opener: Opener, serve_model: Callable[[Any], Running], options: dict[str, Any]
) -> None:
    screen = opener(serve_model(error(500, "no memory at http://10.0.0.7")), **options)
    tab = screen.open(index="cities", q=QUESTION, method="bm25")
    expect(tab.locator(".fallback")).to_contain_text("failed at its provider")
    expect(tab.locator(".quotations blockquote").first).to_be_visible()
    expect(tab.locator("body")).not_to_contain_text("10.0.0.7", use_inner_text=True)
    tab.get_by_text("Details for an admin").focus()
    tab.keyboard.press("Enter")
    expect(tab.locator(".fallback details")).to_contain_text("no memory at http://10.0.0.7", use_inner_text=True)
    screen.check()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url) if request.url.endswith("/ask") else None)
    screen.open(index="cities")
    tab.get_by_role("link", name=QUESTION, exact=True).click()
    expect(tab.locator(".fallback"), "the thread tells what happened").to_contain_text("failed at its provider")
    assert not asked
    screen.open(index="cities", q=QUESTION, method="bm25")
    assert len(asked) == 1, "the question by itself is asked again"


@pytest.mark.parametrize("broken", ['{"found": true, "text": "Graz li', "<html><body>502 Bad Gateway</body></html>"])
def test_unreadable_reply_is_not_named_as_the_answer(
    opener: Opener, serve_model: Callable[[Any], Running], broken: str
) -> None:
    tab = opener(serve_model(broken)).open(index="cities", q=QUESTION, method="bm25")
    expect(tab.locator(".fallback")).to_contain_text("could not be read")
    expect(tab.get_by_text("No language model wrote this answer.")).to_be_visible()
    expect(tab.locator(".quotations blockquote").first).to_be_visible()
    expect(tab.locator(".answer-foot")).to_contain_text("any, which failed")


def test_table_and_lone_marker_of_answer_are_readable(opener: Opener, serve_model: Callable[[Any], Running]) -> None:
    table = "| River | Town |\n|---|---|\n| Mur \\| Mura | Graz [1] |\n| <b>Drava</b> | Maribor |"
    text = f"Graz lies on the Mur.\n[1]\n\n{table}\n\n| Enns | Steyr |"
    screen = opener(serve_model(reply(text, "Graz lies on the Mur")), viewport={"width": 360, "height": 780})
    tab = screen.open(index="cities", q=QUESTION, method="bm25")
    tab.locator(".answer-foot").wait_for()
    expect(tab.locator(".answer p")).to_have_text(["Graz lies on the Mur.1"], use_inner_text=True)
    expect(tab.locator(".answer th")).to_have_text(["River", "Town"])
    cells = ["Mur | Mura", "Graz1", "<b>Drava</b>", "Maribor", "Enns", "Steyr"]
    expect(tab.locator(".answer tbody td")).to_have_text(cells, use_inner_text=True)
    expect(tab.get_by_role("group", name="Table")).to_have_count(2)
    screen.check()
    tab.get_by_role("link", name="Passages").click()
    expect(tab.get_by_text("Scores of bm25: sums of BM25 over the words of the question")).to_be_visible()
    tab.get_by_role("link", name="Trace").click()
    expect(tab.get_by_role("heading", name="Rank passages by BM25 over their words")).to_have_count(1)
    screen.check()
