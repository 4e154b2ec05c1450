"""Evidence, trace, comparison and graph: what led to an answer, and what is near it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.serve.conftest import Running, serving
from tests.serve.page.conftest import Opener, Screen, eventually, expect

from graphwright import Graph, Index
from graphwright.data import read_questions
from graphwright.models.fake import HashEncoder

pytestmark = pytest.mark.slow
QUESTION = "Where was Ida Pfeiffer born?"


def test_every_drawn_node_is_selectable(screen: Screen) -> None:
    tab = screen.open("evidence", index="cities", q=QUESTION)
    tab.locator(".node.sentence").first.wait_for()
    nodes = tab.locator(".drawing .node")
    for kind in ("Question", "Entity", "Passage", "Cited sentence"):
        expect(tab.locator(f".drawing .node[aria-label^='{kind}:']").first).to_be_visible()
    nodes.first.focus()
    for _ in range(4):
        tab.keyboard.press("ArrowRight")
    expect(tab.locator(".node.sentence:focus")).to_have_count(1)
    tab.keyboard.press("Enter")
    tab.locator("mark").wait_for()
    tab.keyboard.press("Escape")
    expect(tab.locator(".panel")).to_have_count(0)
    tab.locator(".node.passage").first.click()
    expect(tab.locator(".chosen-node .eyebrow")).to_have_text("Passage")


def test_long_names_fit_and_are_named_in_full(opener: Opener, tmp_path: Path) -> None:
    long = "A Report on the State of the Bridges of the Upper Valley with an Appendix on Ferries"
    graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Graz", "is named in", long), (long, "names", "Linz")])
    Index.from_graph(tmp_path / "rivers", graph, encoder=HashEncoder()).close()
    with serving(tmp_path / "rivers") as running:
        screen = opener(running)
        for query in ({"node": "Graz"}, {"node": long}, {}):
            tab = screen.open("graph", index="cities", **query)
            expect(tab.locator(".drawing title", has_text=long)).to_have_count(int(query.get("node") != long))
            screen.check_looks(f"long-names-{len(query)}")


def test_graph_answer_is_walk_to_its_node(opener: Opener, tmp_path: Path) -> None:
    graph = Graph.from_triples(
        [("Graz", "lies on", "Mur"), ("Mur", "flows into", "Drava"), ("Linz", "lies on", "Danube")]
    )
    Index.from_graph(tmp_path / "rivers", graph, encoder=HashEncoder()).close()
    with serving(tmp_path / "rivers") as running:
        screen = opener(running)
        tab = screen.open("evidence", index="cities", q="Graz lies on what?")
        nodes = tab.locator(".drawing .node")
        eventually(
            tab,
            lambda: [
                " ".join(node.split()) for node in nodes.evaluate_all("(all) => all.map((node) => node.ariaLabel)")
            ][1:],
            ["Entity: 1 Graz", "Relation: lies on", "Entity: Mur"],
        )
        screen.open("ask", index="cities", q="Graz lies on what?")
        expect(tab.locator(".walk")).to_have_text("Graz — lies on → Mur", use_inner_text=True)
        tab.locator(".source").click()
        tab.get_by_role("heading", name="Graz").wait_for()
        screen.open("ask", index="cities", q="Who painted the Mona Lisa?")
        tab.get_by_role("heading", name="Not in this graph").wait_for()
        screen.close()


def test_neighbours_open_on_demand(screen: Screen) -> None:
    tab = screen.open("evidence", index="cities", q=QUESTION)
    tab.locator(".node.entity").first.wait_for()
    expect(tab.locator(".neighbourhood")).to_have_count(0)
    tab.locator(".node.entity").filter(has_text="Ida Pfeiffer").first.click()
    tab.get_by_role("button", name="Show neighbours").click()
    tab.locator(".neighbourhood a", has_text="Vienna").first.click()
    tab.get_by_role("heading", name="Vienna").wait_for()
    expect(tab).to_have_url(re.compile("#/graph"))


def test_trace_lists_every_step(screen: Screen, shared: Running) -> None:
    steps = shared.client.post("/v1/indexes/cities/ask", json={"question": QUESTION, "history": []}).json()["trace"]
    tab = screen.open("trace", index="cities", q=QUESTION)
    expect(tab.locator(".step")).to_have_count(len(steps))
    expect(tab.locator(".step-code code")).to_have_text([step["operator"] for step in steps])
    notes = [note for step in steps for note in step["notes"]]
    expect(tab.locator(".step-note")).to_have_text(notes)


def test_judged_comparison_is_question_file(screen: Screen, tmp_path: Path) -> None:
    tab = screen.open("compare", index="cities")
    tab.get_by_label("Question").fill(QUESTION)
    tab.get_by_label("First method").select_option("vector")
    tab.get_by_label("Second method").select_option("bm25")
    tab.get_by_role("button", name="Compare").click()
    expect(tab.locator(".side h2")).to_have_text(["vector", "bm25"])
    expect(tab.locator(".tag", has_text="in both").nth(1)).to_be_visible()
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
    expect(tab.get_by_role("button", name="bm25 is better", pressed=True)).to_be_visible()
    tab.get_by_role("button", name="Clear").click()
    expect(tab.get_by_role("button", name="bm25 is better", pressed=False)).to_be_visible()
    expect(tab.get_by_role("button", name="Save questions.jsonl")).to_have_count(0)


def test_graph_search_finds_statements_passages_and_paths(screen: Screen) -> None:
    tab = screen.open("graph", index="cities")
    tab.locator(".overview a").nth(2).wait_for()
    expect(tab.locator(".overview .edge").first).to_be_attached()
    tab.get_by_label("Name of an entity").fill("Ida Pfeiffer")
    tab.get_by_role("button", name="Search").click()
    tab.get_by_role("heading", name="Ida Pfeiffer").wait_for()
    expect(tab.locator(".statements li", has_text="Vienna").first).to_be_visible()
    tab.get_by_label("Name of the other entity").fill("Danube")
    tab.get_by_role("button", name="Find paths").click()
    expect(tab.locator(".walks li").first).to_have_text(re.compile("^Ida Pfeiffer.*Danube$"))
    tab.locator(".naming a", has_text="Linz").click()
    tab.locator("mark").wait_for()
    tab = screen.open("graph", index="cities", node="No Such Entity")
    expect(tab.get_by_role("heading", name="There is no such entity")).to_have_count(1)


@pytest.mark.parametrize("webgl", [True, False])
def test_explorer_grows_and_has_list(opener: Opener, shared: Running, webgl: bool) -> None:
    screen = opener(shared)
    if not webgl:
        screen.context.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    tab = screen.open("graph", index="cities", node="Ida Pfeiffer")
    tab.get_by_role("button", name="Explore from here").click()
    tab.locator(".explorer").wait_for()
    supported = tab.locator(".explorer-frame").count() == 1
    assert webgl or not supported
    if supported:
        tab.locator(".explorer-frame canvas").nth(1).wait_for(state="attached")
        tab.locator(".explorer summary").click()
    else:
        expect(tab.get_by_text("This browser has no WebGL")).to_be_visible()
    austria = tab.locator(".explorer-list a", has_text="Austria")
    expand = tab.get_by_role("button", name="Add neighbours of Vienna")
    expand.wait_for()
    expect(austria).to_have_count(0)
    expand.click()
    expect(austria.first).to_be_visible()
