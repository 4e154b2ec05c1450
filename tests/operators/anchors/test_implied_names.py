"""ImpliedNames: the names that the first passages are about, as keywords of less weight."""

from __future__ import annotations

from tests.shared import GRAPHS, corpus_index

from graphwright import Anchor, ToPassages, VectorSearch, start
from graphwright.operators import ImpliedNames, Run, State

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
