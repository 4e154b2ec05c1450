"""Keywords: from a model, from the question itself, and the limits on both."""

from __future__ import annotations

import json

import pytest
from tests.shared import GRAPHS, corpus_index

from graphwright import Anchor, Graph, start
from graphwright.models import ScriptedLLM
from graphwright.operators import Fallback, Keywords, NamesAndPhrases
from graphwright.operators.anchors.keywords import themes
from graphwright.operators.state import State

FAMILY = GRAPHS["family"]


def spoken(question: str, graph: Graph = FAMILY) -> tuple[list[str], list[str]]:
    state = NamesAndPhrases()(start(question, graph))
    return names(state), [theme.text for theme in themes(state)]


def names(state: State) -> list[str]:
    return [anchor.text for anchor in state.anchors or () if anchor.kind == "entity"]


def lister(**listed: list[str]) -> ScriptedLLM:
    return ScriptedLLM(lambda system, user: json.dumps(listed))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who was the mother of Lothair II?", (["Lothair II", "mother"], ["mother"])),
        ("Did Waldrada or Teutberga marry first?", (["Waldrada", "Teutberga", "marry"], ["marry first"])),
        ("Which river dam did Hugh Capet build?", (["river dam", "Hugh Capet build"], ["river dam Hugh Capet build"])),
        ("What is it?", ([], [])),
        ("?!", ([], [])),
    ],
)
def test_keywords_without_model_split_question(question: str, expected: tuple[list[str], list[str]]) -> None:
    assert spoken(question) == expected


def test_keyword_phrases_end_at_punctuation_names_and_length() -> None:
    result, _ = spoken("tax law, market reform before Gisela trade growth policy debate crisis")
    assert result == ["Gisela", "tax law", "market reform", "trade growth policy debate", "crisis"]


def test_keyword_without_name_has_half_weight() -> None:
    state = NamesAndPhrases()(start("Which abbey did the mother of Lothair II found with Hugo Q7?", FAMILY))
    weights = {a.text: a.weight for a in state.anchors or ()}
    assert weights["Lothair II"] == 1.0 and weights["abbey"] == weights["mother"] == 0.5 and weights["Hugo Q7"] == 1.0


def test_misspelled_keyword_links_like_link_entities() -> None:
    state = NamesAndPhrases()(start("Who was the spouse of Teutburga?", FAMILY))
    anchor = next(a for a in state.anchors or () if a.text == "Teutburga")
    assert FAMILY.names.take(anchor.nodes) == ["Teutberga"] and 0.8 < anchor.weight < 1


def test_keywords_with_model_are_names_and_themes() -> None:
    model = lister(names=["lothair  ii", "abbey", "Abbey", ""], themes=["kinship", "founding of abbeys"])
    state = Keywords(model)(start("Which abbey did the mother of Lothair II found?", FAMILY))
    assert state.anchors == (
        Anchor("lothair ii", nodes=[FAMILY.id("Lothair II")]),
        Anchor("abbey"),
        Anchor("kinship", kind="theme"),
        Anchor("founding of abbeys", kind="theme"),
    )
    assert state.trace[-1].usage.calls == 1 and state.trace[-1].notes == ()


def test_keywords_with_empty_reply_fall_back_with_note() -> None:
    keywords = Fallback(Keywords(lister(names=[" "], themes=[])), NamesAndPhrases())
    state = keywords(start("Who was the mother of Lothair II?", FAMILY))
    assert names(state) == ["Lothair II", "mother"]
    assert state.trace[-2].notes == ("the model listed no keywords",)


def test_keywords_follow_existing_anchors() -> None:
    given = Anchor("LOTHAIR II", nodes=[2], weight=3.0)
    state = NamesAndPhrases()(start("Who was the mother of Lothair II?", FAMILY, anchors=[given]))
    assert state.anchors == (given, Anchor("mother", weight=0.5), Anchor("mother", kind="theme"))


def test_keywords_link_to_nodes_of_graph_only() -> None:
    graph = corpus_index().snapshot.graph
    node = graph.id("Teutberga")
    part = graph.part([n for n in graph.nodes.tolist() if n != node])
    for keywords in (NamesAndPhrases(), Keywords(lister(names=["Teutberga"], themes=[]))):
        whole, without = (keywords(start("Who was Teutberga?", g)).anchors for g in (graph, part))
        assert whole is not None and without is not None
        assert node in whole[0].nodes and all(node not in anchor.nodes for anchor in without)


def test_theme_anchor_differs_from_entity_anchor() -> None:
    assert (
        Anchor("a", kind="theme") == Anchor("a", kind="theme") != Anchor("a")
        and Anchor("a") != Anchor("a", kind="theme")
        and len({Anchor("a", kind="theme"), Anchor("a")}) == 2
    )
