"""Ask: the answer streams, and every citation opens at its characters."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.llm_server import LLMServer, Say, error
from tests.serve.conftest import Running, serving
from tests.serve.page.conftest import GRAZ, HEBREW, LONG, WRAPPED, Opener, Screen, SlowModel

from graphwright import Index
from graphwright.models.fake import HashEncoder
from graphwright.models.settings import LLMSettings

pytestmark = pytest.mark.slow
QUESTION = "On which river does Graz lie?"


def selected(tab: Any) -> str:
    """Select what is highlighted, and return the selection."""
    return tab.evaluate(
        "() => { const selection = getSelection(); selection.selectAllChildren(document.querySelector('mark'));"
        " return selection.toString() }"
    )


def marked(tab: Any) -> str:
    tab.locator("mark").wait_for()
    return tab.locator("mark").evaluate("(mark) => mark.textContent")


def reply(text: str, *quotes: str) -> str:
    citations = [{"passage": 1, "quote": quote} for quote in quotes]
    return json.dumps({"found": True, "text": text, "answers": [], "citations": citations}, ensure_ascii=False)


def test_answer_quotes_name_sources(screen: Screen, shared: Running) -> None:
    answer = shared.client.post("/v1/indexes/cities/ask", json={"question": QUESTION}).json()
    titles = {passage["id"]: passage["title"] for passage in answer["passages"]}
    tab = screen.open(index="cities", q=QUESTION)
    assert tab.get_by_text("No language model wrote this answer.").is_visible()
    quotes = [text.split() for text in tab.locator(".quotations blockquote").all_inner_texts()]
    assert quotes == [citation["text"].split() for citation in answer["citations"]]
    expected = [titles[citation["chunk"]] for citation in answer["citations"]]
    assert tab.locator(".quotations .source-title").all_inner_texts() == expected
    assert tab.locator(".sources").count() == 0, "no quote is shown twice"


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
        # Another document may be cited at the same characters, and is shown until this one has come.
        tab.wait_for_function("(text) => document.querySelector('mark')?.textContent === text", arg=citation["text"])
        assert marked(tab) == citation["text"]
        assert selected(tab).split() == citation["text"].split()  # wrapped lines flow anew
        assert tab.locator("mark").evaluate(
            "(mark) => { const {top, bottom} = mark.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight }"
        )


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
    assert marked(tab) == span
    assert selected(tab) == span
    assert tab.locator("mark").evaluate("(mark) => mark.getBoundingClientRect().bottom <= innerHeight")


def test_text_around_span_loads_on_demand(screen: Screen) -> None:
    start = LONG.index("Paragraph 150")
    tab = screen.open("document", "annals", index="cities", start=start, end=start + 13)
    assert "Paragraph 1 " not in tab.locator(".text").inner_text()
    for button, last in (("Show earlier text", "Paragraph 0 "), ("Show later text", "Paragraph 299 ")):
        while tab.get_by_role("button", name=button).count():
            before = tab.locator(".text").evaluate("(text) => text.textContent.length")
            tab.get_by_role("button", name=button).click()
            tab.wait_for_timeout(100)
            assert tab.locator(".text").evaluate("(text) => text.textContent.length") >= before
        assert last in tab.locator(".text").inner_text()
    assert tab.locator(".text").evaluate("(text) => text.textContent") == LONG.rstrip() or LONG.startswith(
        tab.locator(".text").evaluate("(text) => text.textContent")
    )
    assert marked(tab) == "Paragraph 150"


def test_answer_streams_and_stops(opener: Opener, serve_model: Callable[[Any], Running]) -> None:
    model = SlowModel(reply("Graz lies on the Mur, says the text, and the Mur flows on [1].", HEBREW))
    screen = opener(serve_model(model))
    tab = screen.open()
    tab.get_by_label("Question").fill(QUESTION)
    tab.keyboard.press("Enter")
    tab.locator(".answer.writing", has_text="Graz lies on").wait_for()
    assert tab.locator(".marker").count() == 0, "citations are verified at the end"
    model.go_on.set()
    tab.locator(".answer-foot").wait_for()
    tab.locator(".marker").click()
    assert marked(tab) == HEBREW

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
        for width, colours in ((1280, "light"), (360, "light"), (360, "dark")):
            tab.set_viewport_size({"width": width, "height": 800})
            tab.emulate_media(color_scheme=colours)
            assert screen.overflow() <= 0 and screen.violations() == []
        tab = screen.open(index="cities", q=QUESTION)  # the page is loaded anew
        tab.locator(".answer-foot").wait_for()
        told = model.requests[-1].json["messages"][0]["content"]
        assert '{"instruction": "in German, at most 80 words"}' in told and "German" not in tab.url
        assert tab.get_by_text("No language model wrote this answer").count() == 0
        tab = screen.open(index="cities", q=QUESTION, offline=1)
        tab.locator(".answer-foot").wait_for()
        assert tab.get_by_text("so that it does not follow how answers are to be written").count() == 1


def test_answer_names_other_copies_and_repeats_no_headline(opener: Opener, tmp_path: Path) -> None:
    with Index.create(tmp_path / "dams", encoder=HashEncoder()) as index:
        index.add([{"id": f"{n}.txt", "text": "The Solvang dam was built by Kari Lund in 1931."} for n in "abcde"])
    with serving(tmp_path / "dams") as running:
        tab = opener(running).open(index="cities", q="Who built the Solvang dam?")
        tab.locator(".copies").wait_for()
        assert " and 1 more" in tab.locator(".copies").inner_text()
        assert tab.locator(".short-answer").inner_text() == "Kari Lund"
        assert tab.locator(".answer").inner_text().startswith("The Solvang dam")


def test_wrapped_lines_flow(screen: Screen) -> None:
    start, end = WRAPPED.index("The rivers"), WRAPPED.index("[2]") + 4
    tab = screen.open("document", "survey.txt", index="cities", start=start, end=end)
    assert marked(tab) == WRAPPED[start:end]
    assert tab.locator(".text .wrap").count() == 2, "not the table"
    assert selected(tab) == " ".join(WRAPPED[start:end].split())


def test_number_in_quote_is_not_citation(opener: Opener, serve_model: Callable[[Any], Running]) -> None:
    quote = "the depth of the Mur as two metres[2]."
    document = {"found": True, "text": f"{quote} [1] [2]", "answers": [], "citations": []}
    document["citations"] = [{"passage": n, "quote": text} for n, text in ((1, quote), (1, "Otto Kern, walked"))]
    screen = opener(serve_model(json.dumps(document)))
    tab = screen.open(index="cities", q="What does the report of Otto Kern give as depth of the Mur?", method="bm25")
    markers = tab.locator(".answer .marker").all_inner_texts()
    assert markers == ["1", "2"] and "metres[2]." in tab.locator(".answer").inner_text()


def test_dropped_quotes_and_unsupported_sentences_are_listed(
    opener: Opener, serve_model: Callable[[Any], Running]
) -> None:
    invented = "Graz was founded by <b>giants</b>"
    answer = "Graz lies on the Mur [1]. Giants founded it [2]."
    screen = opener(serve_model(reply(answer, "Graz lies on the Mur", invented)))
    tab = screen.open(index="cities", q=QUESTION)
    tab.get_by_text("1 quote dropped").wait_for()
    assert tab.locator(".note li", has_text=invented).count() == 1
    assert tab.locator(".unsupported").count() == 1
    assert tab.locator(".note li", has_text="Giants founded it").count() == 1


def test_question_without_answer_is_shown_as_such(opener: Opener, serve_model: Callable[[Any], Running]) -> None:
    nothing = json.dumps({"found": False, "text": "", "answers": [], "citations": []})
    screen = opener(serve_model(nothing))
    tab = screen.open(index="cities", q="Who won the war of Troy?", folder="notes")
    tab.get_by_role("heading", name="Not in these documents").wait_for()
    assert tab.locator("[role=alert]").count() == 0
    assert tab.locator(".passage").count() >= 1
    tab.get_by_role("link", name="Search all documents").click()
    tab.get_by_role("heading", name="Not in these documents").wait_for()
    assert "folder" not in tab.url


def test_failed_question_is_shown(screen: Screen) -> None:
    tab = screen.open(index="cities", q=QUESTION, method="no-such-method")
    tab.get_by_role("alert").filter(has_text="no-such-method").wait_for()
    assert tab.get_by_role("button", name="Try again").count() == 1


def test_filters_restrict_and_are_in_address(screen: Screen) -> None:
    tab = screen.open()
    tab.get_by_label("Question").fill("Which river is there?")
    tab.get_by_text("Method and filters").click()
    tab.get_by_label("Folder").fill("notes")
    assert "notes" in tab.locator("#folders option").evaluate_all("(options) => options.map(({ value }) => value)")
    tab.get_by_label("Choose a condition to add").select_option("year = 2024")
    assert tab.get_by_label("Metadata").input_value() == "year = 2024"
    assert "Recommended" in tab.locator("optgroup").evaluate_all("(groups) => groups.map(({ label }) => label)")
    tab.get_by_label("Passages", exact=True).fill("3")
    tab.get_by_role("button", name="Ask").click()
    tab.locator(".answer-foot").wait_for()
    assert "folder=notes" in tab.url and "k=3" in tab.url and "where=year" in tab.url
    tab.get_by_role("link", name="Passages").click()
    assert set(tab.locator(".passage-title").all_inner_texts()) == {"Graz"}
    tab.reload()
    screen.settle()
    assert set(tab.locator(".passage-title").all_inner_texts()) == {"Graz"}


def test_answers_are_kept_until_asked_again(screen: Screen) -> None:
    asked: list[str] = []
    screen.tab.on("request", lambda request: asked.append(request.url) if request.url.endswith("/ask") else None)
    tab = screen.open(index="cities", q=QUESTION)
    answer = tab.locator(".answer").inner_text()
    tab.reload()
    screen.settle()
    assert tab.locator(".answer").inner_text() == answer
    assert len(asked) == 1
    tab.get_by_role("button", name="Ask again").click()
    tab.locator(".answer-foot").wait_for()
    assert len(asked) == 2
    tab = screen.open()
    tab.get_by_role("link", name=QUESTION).click()
    screen.settle()
    assert tab.locator(".answer").inner_text() == answer
    tab = screen.open()
    tab.get_by_role("button", name="Delete all").click()
    tab.get_by_role("button", name="Delete 1 thread?").click()
    tab.locator(".recent").wait_for(state="detached")
    tab.reload()
    screen.settle()
    assert tab.get_by_role("link", name=QUESTION).count() == 0


def test_skip_link_leads_to_content(screen: Screen) -> None:
    tab = screen.open("health")
    tab.keyboard.press("Tab")
    assert tab.evaluate("() => document.activeElement.className") == "skip"
    tab.keyboard.press("Enter")
    assert tab.evaluate("() => document.activeElement.id") == "main"
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
    tab_to("a[href='#/ask?index=cities']")
    keys.press("Enter")
    tab.wait_for_function("() => document.activeElement.matches('h1')")  # a screen that comes takes the focus
    tab_to("#question")
    keys.type(QUESTION)
    keys.press("Enter")
    tab.locator(".answer-foot").wait_for()
    tab_to(".marker")
    keys.press("Enter")
    tab.locator("mark").wait_for()
    assert tab.evaluate("() => document.activeElement.id") == "panel-title"
    tab_to("[aria-label='Close the source']")
    keys.press("Escape")
    tab.locator(".panel").wait_for(state="detached")
    assert tab.evaluate("() => document.activeElement.matches('.marker')"), "the focus returns to the citation"


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark", "viewport": {"width": 360, "height": 780}}])
def test_failure_of_model_is_told_above_quotations(
    opener: Opener, serve_model: Callable[[Any], Running], options: dict[str, Any]
) -> None:
    screen = opener(serve_model(error(500, "no memory at http://10.0.0.7")), **options)
    tab = screen.open(index="cities", q=QUESTION, method="bm25")
    tab.locator(".fallback").wait_for()
    assert "failed at its provider" in tab.locator(".fallback").inner_text()
    assert "10.0.0.7" not in tab.locator("body").inner_text() and tab.locator(".quotations blockquote").count()
    tab.get_by_text("Details for an admin").focus()
    tab.keyboard.press("Enter")
    assert "no memory at http://10.0.0.7" in tab.locator(".fallback details").inner_text()
    assert screen.violations() == [] and screen.overflow() <= 0
    screen.open(index="cities")
    assert tab.get_by_text("Asked before").count() == 0, "nothing is kept"


def test_table_and_lone_marker_of_answer_are_readable(opener: Opener, serve_model: Callable[[Any], Running]) -> None:
    table = "| River | Town |\n|---|---|\n| Mur \\| Mura | Graz [1] |\n| <b>Drava</b> | Maribor |"
    text = f"Graz lies on the Mur.\n[1]\n\n{table}\n\n| Enns | Steyr |"
    screen = opener(serve_model(reply(text, "Graz lies on the Mur")), viewport={"width": 360, "height": 780})
    tab = screen.open(index="cities", q=QUESTION, method="bm25")
    tab.locator(".answer-foot").wait_for()
    assert tab.locator(".answer p").all_inner_texts() == ["Graz lies on the Mur.1"]
    assert tab.locator(".answer th").all_inner_texts() == ["River", "Town"]
    cells = [row.inner_text().split("\t") for row in tab.locator(".answer tbody tr").all()]
    assert cells == [["Mur | Mura", "Graz1"], ["<b>Drava</b>", "Maribor"], ["Enns", "Steyr"]]
    assert tab.get_by_role("group", name="Table").count() == 2
    assert screen.violations() == [] and screen.overflow() <= 0
    tab.get_by_role("link", name="Passages").click()
    assert tab.get_by_text("Scores of bm25: sums of BM25 over the words of the question").is_visible()
    tab.get_by_role("link", name="Trace").click()
    assert tab.get_by_role("heading", name="Rank passages by BM25 over their words").count() == 1
    assert screen.violations() == [] and screen.overflow() <= 0
