"""Evidence, trace, comparison and graph: what led to an answer, and what is near it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.serve.conftest import Running, serving
from tests.serve.page.conftest import Opener, Screen

from graphwright import Graph, Index
from graphwright.data import read_questions
from graphwright.models.fake import HashEncoder

pytestmark = pytest.mark.slow
QUESTION = "Where was Ida Pfeiffer born?"


def test_every_drawn_node_is_selectable(screen: Screen) -> None:
    tab = screen.open("evidence", index="cities", q=QUESTION)
    tab.locator(".node.sentence").first.wait_for()
    nodes = tab.locator(".drawing .node")
    labels = nodes.evaluate_all("(all) => all.map((node) => node.ariaLabel)")
    kinds = {label.partition(":")[0].rstrip(" 0123456789") for label in labels}
    assert {"Question", "Entity", "Passage", "Cited sentence"} <= kinds
    nodes.first.focus()
    for _ in range(4):
        tab.keyboard.press("ArrowRight")
    assert tab.evaluate("() => document.activeElement.matches('.node.sentence')")
    tab.keyboard.press("Enter")
    tab.locator("mark").wait_for()
    tab.keyboard.press("Escape")
    tab.locator(".panel").wait_for(state="detached")
    tab.locator(".node.passage").first.click()
    assert tab.locator(".chosen-node .eyebrow").inner_text() == "Passage"


def test_graph_answer_is_walk_to_its_node(opener: Opener, tmp_path: Path) -> None:
    graph = Graph.from_triples(
        [("Graz", "lies on", "Mur"), ("Mur", "flows into", "Drava"), ("Linz", "lies on", "Danube")]
    )
    Index.from_graph(tmp_path / "rivers", graph, encoder=HashEncoder()).close()
    with serving(tmp_path / "rivers") as running:
        screen = opener(running)
        tab = screen.open("evidence", index="cities", q="Graz lies on what?")
        labels = tab.locator(".drawing .node").evaluate_all("(all) => all.map((node) => node.ariaLabel.trim())")
        assert [label.replace("  ", " ") for label in labels][1:] == [
            "Entity: 1 Graz",
            "Relation: lies on",
            "Entity: Mur",
        ]
        screen.open("ask", index="cities", q="Graz lies on what?")
        assert tab.locator(".walk").inner_text().split() == ["Graz", "—", "lies", "on", "→", "Mur"]
        tab.locator(".source").click()
        tab.get_by_role("heading", name="Graz").wait_for()
        screen.open("ask", index="cities", q="Who painted the Mona Lisa?")
        tab.get_by_role("heading", name="Not in this graph").wait_for()
        screen.close()


def test_neighbours_open_on_demand(screen: Screen) -> None:
    tab = screen.open("evidence", index="cities", q=QUESTION)
    assert tab.locator(".neighbourhood").count() == 0
    tab.locator(".node.entity").filter(has_text="Ida Pfeiffer").first.click()
    tab.get_by_role("button", name="Show neighbours").click()
    tab.locator(".neighbourhood a", has_text="Vienna").first.click()
    tab.get_by_role("heading", name="Vienna").wait_for()
    assert "#/graph" in tab.url


def test_trace_lists_every_step(screen: Screen, shared: Running) -> None:
    steps = shared.client.post("/v1/indexes/cities/ask", json={"question": QUESTION, "history": []}).json()["trace"]
    tab = screen.open("trace", index="cities", q=QUESTION)
    tab.locator(".step").nth(len(steps) - 1).wait_for()  # the last step is shown when the stream ends
    assert tab.locator(".step").count() == len(steps)
    assert tab.locator(".step-code code").evaluate_all("(all) => all.map((code) => code.textContent)") == [
        step["operator"] for step in steps
    ]
    notes = [note for step in steps for note in step["notes"]]
    assert tab.locator(".step-note").all_inner_texts() == notes


def test_judged_comparison_is_question_file(screen: Screen, tmp_path: Path) -> None:
    tab = screen.open("compare", index="cities")
    tab.get_by_label("Question").fill(QUESTION)
    tab.get_by_label("First method").select_option("vector")
    tab.get_by_label("Second method").select_option("bm25")
    tab.get_by_role("button", name="Compare").click()
    tab.locator(".side").nth(1).wait_for()
    assert tab.locator(".side h2").all_inner_texts() == ["vector", "bm25"]
    assert tab.locator(".tag", has_text="in both").count() >= 2
    tab.get_by_role("button", name="Ida Pfeiffer holds evidence").first.click()
    tab.get_by_role("button", name="bm25 is better").click()
    tab.get_by_label("Accepted answers").fill("Danube\nthe Danube")
    tab.get_by_label("Accepted answers").blur()
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Save questions.jsonl").click()
    file = tmp_path / "questions.jsonl"
    download.value.save_as(file)
    (question,) = read_questions(file)
    assert (question.text, question.answers, question.gold) == (QUESTION, ("Danube", "the Danube"), ("pfeiffer",))
    assert question.metadata == {"better": "bm25", "methods": ["vector", "bm25"]}
    tab.reload()
    screen.settle()
    assert tab.get_by_role("button", name="bm25 is better").get_attribute("aria-pressed") == "true"
    tab.get_by_role("button", name="Clear").click()
    assert tab.get_by_role("button", name="Save questions.jsonl").count() == 0


def test_graph_search_finds_statements_passages_and_paths(screen: Screen) -> None:
    tab = screen.open("graph", index="cities")
    tab.locator(".overview a").nth(2).wait_for()
    assert tab.locator(".overview .edge").count() >= 1
    tab.get_by_label("Name of an entity").fill("Ida Pfeiffer")
    tab.get_by_role("button", name="Search").click()
    tab.get_by_role("heading", name="Ida Pfeiffer").wait_for()
    assert tab.locator(".statements li", has_text="Vienna").count() >= 1
    tab.get_by_label("Name of the other entity").fill("Danube")
    tab.get_by_role("button", name="Find paths").click()
    path = tab.locator(".walks li").first
    path.wait_for()
    assert path.inner_text().startswith("Ida Pfeiffer") and path.inner_text().endswith("Danube")
    tab.locator(".naming a", has_text="Linz").click()
    tab.locator("mark").wait_for()
    tab = screen.open("graph", index="cities", node="No Such Entity")
    assert tab.get_by_role("heading", name="There is no such entity").count() == 1


@pytest.mark.parametrize("webgl", [True, False])
def test_explorer_grows_and_has_list(opener: Opener, shared: Running, webgl: bool) -> None:
    screen = opener(shared)
    if not webgl:
        screen.context.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    tab = screen.open("graph", index="cities", node="Ida Pfeiffer")
    tab.get_by_role("button", name="Explore from here").click()
    tab.locator(".explorer").wait_for()
    supported = tab.locator(".explorer-frame").count() == 1
    assert supported or tab.get_by_text("This browser has no WebGL").count() == 1
    assert webgl or not supported
    if supported:
        assert tab.locator(".explorer-frame canvas").count() > 1
        tab.locator(".explorer summary").click()
    before = tab.locator(".explorer-list li").count()
    tab.get_by_role("button", name="Add neighbours of Vienna").click()
    tab.locator(f".explorer-list li:nth-child({before + 1})").wait_for()
    assert json.dumps(tab.locator(".explorer-list a").all_inner_texts()).count("Austria") >= 1
