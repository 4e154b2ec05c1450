"""LinearRAG as a method: its expression, its results, and questions that name no entity."""

from __future__ import annotations

from tests.shared import FAMILY, corpus_index
from tests.toys import knowledge

from graphwright import Graph, VectorSearch, start
from graphwright.graph.graph import Kind
from graphwright.methods.registry import make_method
from graphwright.operators import MentionGraph
from graphwright.operators.state import State

SNAPSHOT = corpus_index().snapshot


def documents(state: State) -> list[str]:
    assert state.passages is not None
    return [passage.document for passage in state.passages]


def test_linearrag_expression_prints_as_source() -> None:
    ix = SNAPSHOT
    active = f"LinkEntities(names={ix.names!r}) >> Bridge({ix.triples!r}, sentences=2) >> BridgeSeeds({ix.passages!r})"
    walk = "OnGraph(MentionGraph(), PersonalizedPageRank(restart=0.5) % 50) >> Only(Kind.CHUNK)"
    whole = repr(make_method("linearrag", ix, top_k=7, sentences=2, nodes=50).pipeline)
    fallback = f"If(HasEvidence(), Keep(), VectorSearch({ix.passages!r}) % 7)"
    assert whole.startswith(f"({active} >> {walk}) % 7 >> {fallback} >> ToPassages() >> ")


def test_linearrag_bridges_reach_unrelated_words() -> None:
    op = make_method("linearrag", SNAPSHOT, threshold=0.1)
    state = op(start("What did the daughter of Hugh of Tours found?", SNAPSHOT.graph))
    assert state.answer is not None and {"ermengarde", "erstein"} <= set(documents(state)[:4])


def test_linearrag_without_names_uses_vector() -> None:
    op, question = make_method("linearrag", SNAPSHOT, top_k=3).search, "which river is cold?"
    state, dense = op(start(question, SNAPSHOT.graph)), (VectorSearch(SNAPSHOT.passages) % 3)
    expected = dense(start(question, SNAPSHOT.graph)).evidence
    assert state.passages is not None and expected is not None
    assert state.passages.ids.tolist() == expected.nodes.tolist()


def test_linearrag_uses_no_entity_relations() -> None:
    graph = MentionGraph()(SNAPSHOT.graph)
    kinds = graph.columns.kinds[graph.ends(graph.edges)].reshape(-1, 2)
    assert len(graph.edges) and ((kinds == Kind.CHUNK).sum(axis=1) == 1).all()
    assert len(graph) == len(SNAPSHOT.graph) and MentionGraph()(SNAPSHOT.graph) is graph
    bare = Graph.from_triples(FAMILY)
    assert MentionGraph()(bare) is bare


def test_linearrag_runs_on_graph() -> None:
    ix = knowledge(Graph.from_triples(FAMILY))
    state = make_method("linearrag", ix)(start("Who was the mother of Lothair II?", ix.graph))
    assert state.passages is not None and len(state.passages)
