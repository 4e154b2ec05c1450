"""ToPassages of paths: passages that state a path, those that name its nodes, further edges, and their order."""

from __future__ import annotations

import numpy as np
import pytest
from tests.shared import GRAPHS, corpus_index, vectors_of

from graphwright import Evidence, FlowPaths, ToPassages, VectorIndex, VectorSearch, start
from graphwright.errors import NeedsError, OptionError
from graphwright.generate import GlobalEdges
from graphwright.graph.graph import Kind
from graphwright.operators import WithEdges
from graphwright.operators.run import Run

SNAPSHOT = corpus_index().snapshot


def test_stating_passages_precede_naming_passages() -> None:
    graph = SNAPSHOT.graph
    triple = next(e for e in graph.edges.tolist() if (graph.columns.kinds[graph.ends([e])] == Kind.ENTITY).all())
    nodes = graph.ends([triple])
    state = start("?", graph, evidence=Evidence.of_trees(graph, [(nodes, [triple])], [0.8]))
    passages = ToPassages()(state).passages
    assert passages is not None
    stating, naming = graph.chunks_of((), [triple]).tolist(), graph.chunks_of(nodes).tolist()
    assert set(passages.ids[: len(stating)].tolist()) == set(stating) < set(naming) == set(passages.ids.tolist())
    assert (passages.scores[: len(stating)] == 0.8).all() and (passages.scores[len(stating) :] < 0.8).all()
    assert ToPassages(limit=1)(state).passages.ids.tolist() == passages.ids[:1].tolist()  # type: ignore[union-attr]
    # A passage on the path counts, whatever the edges state; without scores the rank counts.
    chunk = int(graph.passages.nodes[0])  # type: ignore[union-attr]
    on_it = start("?", graph, evidence=Evidence.of_trees(graph, [(nodes, [triple]), ([chunk], [])]))
    ranked = ToPassages()(on_it).passages
    assert ranked is not None
    scores = dict(zip(ranked.ids.tolist(), ranked.scores.tolist(), strict=True))
    assert scores[chunk] == (1.0 if chunk in stating else 0.5)


def test_to_passages_of_paths_without_passages_returns_nodes() -> None:
    graph = GRAPHS["line"]
    state = start("?", graph, evidence=Evidence.of_trees(graph, [([0, 1], [0]), ([], [2])], [0.9, 0.4]))
    passages = ToPassages()(state).passages
    assert passages is not None and passages.ids.tolist() == [0, 1, 2, 3]
    assert passages.scores.tolist() == [0.9, 0.9, 0.4, 0.4]
    with pytest.raises(OptionError, match="limit is 0"):
        ToPassages(limit=0)


def test_to_passages_of_paths_orders_equal_passages_by_cosine() -> None:
    graph = SNAPSHOT.graph
    state = (VectorSearch(SNAPSHOT.names) % 6 >> FlowPaths() % 5)(start("Whom did Lothair II marry?", graph))
    by_cosine, by_id = ToPassages(index=SNAPSHOT.passages), ToPassages()
    passages, others = by_cosine(state).passages, by_id(state).passages
    assert passages is not None and others is not None
    assert set(passages.ids.tolist()) == set(others.ids.tolist())
    assert passages.scores.tolist() == others.scores.tolist() and (np.diff(passages.scores) <= 0).all()
    for step, k in ((ToPassages(2, index=SNAPSHOT.passages), 2), (by_cosine % 1, 1)):
        assert step(state).passages.ids.tolist() == passages.ids[:k].tolist()  # type: ignore[union-attr]


def test_to_passages_with_edges_adds_stating_passages() -> None:
    graph = SNAPSHOT.graph
    state = start("Which river flows through Graz?", graph, evidence=Evidence.of_nodes([]))
    assert len(ToPassages(index=SNAPSHOT.passages)(state).passages) == 0  # type: ignore[arg-type]
    themes = GlobalEdges(SNAPSHOT.triples, limit=2, by_question=True)
    passages = ToPassages(index=SNAPSHOT.passages, items=WithEdges(themes))(state).passages
    assert passages is not None
    assert set(passages.ids.tolist()) == set(graph.chunks_of((), themes(state, Run())).tolist())
    assert graph.passages is not None and graph.passages.of(int(passages.ids[0])).document == "mur"


def test_to_passages_without_passages_orders_equal_nodes_by_cosine() -> None:
    graph = GRAPHS["line"]
    vectors = vectors_of(graph).vectors.copy()
    vectors[1] = 0
    index = VectorIndex.from_array(vectors, vectors_of(graph).encoder)
    state = start("d", graph, evidence=Evidence.of_trees(graph, [([0, 1], [0]), ([], [2])], [0.5, 0.5]))
    passages = ToPassages(index=index)(state).passages
    assert passages is not None and passages.ids[0] == graph.id("d") and sorted(passages.ids.tolist()) == [0, 1, 2, 3]
    with pytest.raises(OptionError, match="ToPassages: limit is 0"):
        ToPassages(0, index=index)
    with pytest.raises(NeedsError, match="ToPassages"):
        ToPassages(index=index)(start("?", graph))
