"""The nodes of anchors as evidence, with their shares of the weights.

ImpliedNames: the names that the first passages are about, as keywords of less weight.

Entity linking: the nodes that words of a question name.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.shared import GRAPHS, corpus_index

from graphwright import Anchor, Graph, ToPassages, VectorIndex, VectorSearch, start
from graphwright.models import HashEncoder
from graphwright.operators import AnchorNodes, ImpliedNames, LinkEntities, Run
from graphwright.operators.state import State

FAMILY = GRAPHS["family"]


def scores(anchors: list[Anchor], nodes: list[int] | None = None) -> dict[int, float]:
    graph = FAMILY if nodes is None else FAMILY.part(nodes)
    evidence = AnchorNodes()(start("?", graph, anchors=anchors)).evidence
    assert evidence is not None and evidence.scores is not None
    return dict(zip(evidence.nodes.tolist(), evidence.scores.tolist(), strict=True))


def test_anchor_nodes_share_anchor_weight() -> None:
    assert scores([Anchor("two", [0, 1], weight=3.0), Anchor("one", [1])]) == {1: 2.5, 0: 1.5}
    assert list(scores([Anchor("light", [2], weight=0.5), Anchor("heavy", [1])])) == [1, 2]


def test_anchor_nodes_of_edge_are_its_ends() -> None:
    head, tail = FAMILY.ends([0]).tolist()
    assert scores([Anchor("spouse", edges=[0])]) == {head: 0.5, tail: 0.5}
    assert scores([Anchor("spouse", [head], edges=[0])]) == {head: 0.5, tail: 0.5}


def test_anchor_nodes_outside_part_are_omitted() -> None:
    assert scores([Anchor("two", [0, 1])], [1, 2]) == {1: 0.5}


@pytest.mark.parametrize("anchors", [[], [Anchor("nobody")]])
def test_anchor_nodes_without_nodes_are_empty(anchors: list[Anchor]) -> None:
    assert scores(anchors) == {}


SNAPSHOT = corpus_index().snapshot
SEARCH = VectorSearch(SNAPSHOT.passages) % 4 >> ToPassages()


def searched(*anchors: Anchor) -> State:
    return SEARCH(start("Which abbey did Ermengarde found?", SNAPSHOT.graph, anchors=list(anchors)))


def test_implied_names_first_passages_add_their_topics() -> None:
    state = searched(Anchor("abbey"))
    titles = [passage.title for passage in state.passages or ()]
    anchors = ImpliedNames(2, 0.25)(state).anchors or ()
    assert [anchor.text for anchor in anchors] == ["abbey", *dict.fromkeys(titles[:2])]
    assert {anchor.weight for anchor in anchors[1:]} == {0.25} and all(len(anchor.nodes) for anchor in anchors[1:])


def test_implied_names_known_keyword_stays_as_it_is() -> None:
    known = Anchor(next(iter(searched().passages or ())).title)
    assert (ImpliedNames(1)(searched(known)).anchors or ())[0] == known
    assert len(ImpliedNames(1)(searched(known)).anchors or ()) == 1


def test_implied_names_without_passages_adds_nothing() -> None:
    assert ImpliedNames(0)(searched(Anchor("abbey"))).anchors == (Anchor("abbey"),)
    graph = GRAPHS["family"]
    state = start("?", graph, anchors=[Anchor("abbey")])
    assert [anchor.text for anchor in ImpliedNames().apply(state, Run()).anchors or ()] == ["abbey"]


NAMES = [
    "Lothair II",
    "Lothair",
    "Ermengarde of Tours",
    "Tours",
    "Lilu (mythology)",
    "Lilu (film)",
    "Antonín Dvořák",
    "J. R. R. Tolkien",
    "Bread",
    "The Long Goodbye",
    "Will",
    "Battle of Hastings",
    "東京",
]
GRAPH = Graph.from_triples((name, "r", "Hub") for name in NAMES)


def link(question: str, op: LinkEntities | None = None, graph: Graph = GRAPH) -> dict[str, set[str]]:
    anchors = (op or LinkEntities())(start(question, graph)).anchors
    assert anchors is not None
    return {a.text: set(graph.names.take(a.nodes)) for a in anchors}


def weights(question: str, op: LinkEntities) -> list[float]:
    return [a.weight for a in op(start(question, GRAPH)).anchors or ()]


@pytest.mark.parametrize("question", ["昨日東京に着いた", "東京タワーはどこ", "「東京」とは？", "도쿄(東京)는"])
def test_unspaced_script_name_is_found_inside_text(question: str) -> None:
    assert link(question) == {"東京": {"東京"}}


def test_vowel_signs_belong_to_names() -> None:
    graph = Graph.from_triples([("हिन्दी", "r", "भाषा"), ("محمد", "r", "الكتاب")])
    assert link("क्या हिन्दी कठिन है?", graph=graph) == {"हिन्दी": {"हिन्दी"}}
    assert link("من هو مُحَمَّد؟", graph=graph) == {"مُحَمَّد": {"محمد"}}


LILU = {"Lilu (mythology)", "Lilu (film)"}


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        # The longest name wins, once for each place; a shorter one elsewhere is found too.
        ("Who was Lothair II to Lothair?", {"Lothair II": {"Lothair II"}, "Lothair": {"Lothair"}}),
        ("Did Ermengarde of Tours live in Tours?", {"Ermengarde of Tours": {NAMES[2]}, "Tours": {"Tours"}}),
        ("Did Ermengarde of Graz live?", {}),
        # Several nodes of one alias are one anchor.
        ("Who is Lilu?", {"Lilu": LILU}),
        ("Who made Lilu (film)?", {"Lilu (film": {"Lilu (film)"}}),
        # Possessives, accents, case, initials.
        ("What was Lothair II's realm?", {"Lothair II's": {"Lothair II"}}),
        ("What was Lothair’s realm?", {"Lothair’s": {"Lothair"}}),
        ("When did ANTONIN DVORAK write?", {"ANTONIN DVORAK": {"Antonín Dvořák"}}),
        ("What did J.R.R. Tolkien write?", {"J.R.R. Tolkien": {"J. R. R. Tolkien"}}),
        ("What did J. R. R. Tolkien write?", {"J. R. R. Tolkien": {"J. R. R. Tolkien"}}),
        # Names of several words need no capital; one of one word does where capitals are used.
        ("Who fell in the battle of Hastings?", {"battle of Hastings": {"Battle of Hastings"}}),
        ("Did Lothair eat bread?", {"Lothair": {"Lothair"}}),
        ("who was lothair to bread?", {"lothair": {"Lothair"}, "bread": {"Bread"}}),
        ("Who lives in 東京 ?", {"東京": {"東京"}}),
        # Articles belong to no name; stop words are none.
        ("Who wrote The Long Goodbye?", {"Long Goodbye": {"The Long Goodbye"}}),
        ("who wrote the long goodbye", {"long goodbye": {"The Long Goodbye"}}),
        ("Will it rain?", {}),
        ("will it rain", {}),
        ("What is the meaning of life?", {}),
        ("?!", {}),
    ],
)
def test_names_in_question_are_linked(question: str, wanted: dict[str, set[str]]) -> None:
    assert link(question, LinkEntities(fuzzy=1)) == wanted


def test_spelling_links_without_exact_match_and_lowers_weight() -> None:
    question = "Did Ermengard live with Lothiar II?"
    (anchor,) = LinkEntities()(start(question, GRAPH)).anchors or ()
    assert anchor.text == "Lothiar II" and GRAPH.names.take(anchor.nodes) == ["Lothair II"]
    assert anchor.weight == pytest.approx(0.9)  # 10 letters each, one out and one in: 1 - 2/20
    assert link(question, LinkEntities(fuzzy=0.91)) == {} == link(question, LinkEntities(fuzzy=1))
    assert link("did lothiar ii live?") == {}  # no capital
    assert link("Was Lothiar II the son of Lothair?") == {"Lothiar II": {"Lothair II"}, "Lothair": {"Lothair"}}
    assert weights("Was Lothair II the son of Lothair?", LinkEntities()) == [1.0, 1.0]


def test_vectors_link_last() -> None:
    encoder = HashEncoder()
    vectors = VectorIndex.from_array(3 * encoder.encode(list(GRAPH.names)), encoder)  # lengths are not asked of them
    unit = LinkEntities(VectorIndex.from_array(encoder.encode(list(GRAPH.names)), encoder), near=0.6)
    question = "Who fought at Hastings Battle?"
    (anchor,) = unit(start(question, GRAPH)).anchors or ()
    wanted = encoder.encode(["Hastings Battle", "Battle of Hastings"])
    assert GRAPH.names.take(anchor.nodes) == ["Battle of Hastings"]
    assert anchor.weight == pytest.approx(float(wanted[0] @ wanted[1]), abs=1e-5)
    assert link(question, LinkEntities(unit.names, near=anchor.weight + 0.01)) == {} == link(question)
    # Spelling comes first, and a name that is equal is never compared.
    assert link("Who was Lothiar II?", LinkEntities(vectors, near=0.1)) == {"Lothiar II": {"Lothair II"}}
    empty = VectorIndex.from_array(np.empty((0, 64), np.float32), encoder)
    assert link(question, LinkEntities(empty)) == {}


def test_anchors_with_nodes_are_kept_and_others_linked() -> None:
    given = start("Who was Lothair II?", GRAPH, anchors=[Anchor("mine", [3]), Anchor("none", [])])
    assert LinkEntities()(given).anchors == given.anchors
    unknown = start("Who was Lothair II?", GRAPH, entities=["Nobody"])
    assert [a.text for a in LinkEntities()(unknown).anchors or ()] == ["Lothair II"]
    edge = start("Who was Lothair II?", GRAPH, anchors=[Anchor("mine", edges=[1])])
    assert LinkEntities()(edge).anchors == edge.anchors


def narrowed(question: str, *names: str) -> list[list[str]]:
    part = GRAPH.part([GRAPH.id(name) for name in names])
    state = State(start(question, GRAPH).question, part)
    return [GRAPH.names.take(a.nodes) for a in LinkEntities()(state).anchors or ()]


def test_linking_in_part_finds_its_nodes_only() -> None:
    assert narrowed("Did Lilu meet Lothair in Tours?", "Lilu (film)", "Tours") == [["Lilu (film)"], ["Tours"]]
    assert narrowed("Was Lothiar II there?", "Tours") == []


def test_linked_anchors_follow_question_order_without_chunks() -> None:
    graph = corpus_index().graph
    anchors = LinkEntities()(start("Was the Mur or Lothiar II or Teutberga near Erstein Abbey?", graph)).anchors or ()
    assert [a.text for a in anchors] == ["Mur", "Lothiar II", "Teutberga", "Erstein Abbey"]
    assert all(graph.passages.row(int(n)) < 0 for a in anchors for n in a.nodes)  # type: ignore[union-attr]


def test_quotation_marks_delimit_name() -> None:
    assert link('Who wrote "long goodbie" first?') == {"long goodbie": {"The Long Goodbye"}}


def test_longer_name_outside_part_hides_no_inner_name() -> None:
    assert narrowed("Who was Lothair II?", "Lothair") == [["Lothair"]]


def test_lower_case_names_of_graph_are_linked() -> None:
    graph = Graph.from_triples([("virus", "causes", "disease"), ("cat", "owned by", "Ida")])
    linked = LinkEntities()(start("What does a virus cause?", graph)).anchors
    assert linked is not None and [anchor.text for anchor in linked] == ["virus"]
    linked = LinkEntities()(start("Has Ida a cat?", graph)).anchors
    assert linked is not None and [anchor.text for anchor in linked] == ["Ida"]
