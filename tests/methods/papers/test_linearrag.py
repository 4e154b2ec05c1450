"""LinearRAG as a method: its expression, its results, and questions that name no entity."""

from __future__ import annotations

import pickle

import pytest
from tests.toys import knowledge

from graphwright import Graph, VectorSearch, start
from graphwright.errors import OptionError
from graphwright.graph.graph import Kind
from graphwright.methods.registry import make_method
from graphwright.operators import MentionGraph
from graphwright.operators.state import State
from graphwright.testing import FAMILY, corpus_index

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"


def documents(state: State) -> list[str]:
    assert state.passages is not None
    return [passage.document for passage in state.passages]


def test_the_expression_reads_as_it_is_written() -> None:
    ix = SNAPSHOT
    active = f"LinkEntities(names={ix.names!r}) >> Bridge({ix.triples!r}, sentences=2) >> BridgeSeeds({ix.passages!r})"
    walk = "OnGraph(MentionGraph(), PersonalizedPageRank(restart=0.5) % 50) >> Only(Kind.CHUNK)"
    whole = repr(make_method("linearrag", ix, top_k=7, sentences=2, nodes=50).pipeline)
    fallback = f"If(HasEvidence(), Keep(), VectorSearch({ix.passages!r}) % 7)"
    assert whole.startswith(f"({active} >> {walk}) % 7 >> {fallback} >> ToPassages() >> ")


def test_bridges_lead_to_the_passage_that_shares_no_word_with_the_question() -> None:
    op = make_method("linearrag", SNAPSHOT, threshold=0.1)
    state = op(start("What did the daughter of Hugh of Tours found?", SNAPSHOT.graph))
    assert state.answer is not None and {"ermengarde", "erstein"} <= set(documents(state)[:4])


def test_a_question_without_a_name_is_searched_by_its_vector() -> None:
    op, question = make_method("linearrag", SNAPSHOT, top_k=3).search, "which river is cold?"
    state, dense = op(start(question, SNAPSHOT.graph)), (VectorSearch(SNAPSHOT.passages) % 3)
    expected = dense(start(question, SNAPSHOT.graph)).evidence
    assert state.passages is not None and expected is not None
    assert state.passages.ids.tolist() == expected.nodes.tolist()


def test_walks_use_no_relation_between_entities() -> None:
    graph = MentionGraph()(SNAPSHOT.graph)
    kinds = graph.columns.kinds[graph.ends(graph.edges)].reshape(-1, 2)
    assert len(graph.edges) and ((kinds == Kind.CHUNK).sum(axis=1) == 1).all()
    assert len(graph) == len(SNAPSHOT.graph) and MentionGraph()(SNAPSHOT.graph) is graph
    bare = Graph.from_triples(FAMILY)
    assert MentionGraph()(bare) is bare


def test_it_runs_over_a_graph_without_passages_and_pickles() -> None:
    ix = knowledge(Graph.from_triples(FAMILY))
    state = make_method("linearrag", ix)(start("Who was the mother of Lothair II?", ix.graph))
    assert state.passages is not None and len(state.passages)
    op = make_method("linearrag", SNAPSHOT)
    again = pickle.loads(pickle.dumps(op))
    assert again == op and documents(again(start(QUESTION, SNAPSHOT.graph)))


@pytest.mark.parametrize("options", [{"sentences": 0}, {"threshold": -1.0}, {"restart": 0.0}, {"ratio": -1.0}])
def test_options_are_checked(options: dict[str, float]) -> None:
    with pytest.raises(OptionError):
        make_method("linearrag", SNAPSHOT, **options)
