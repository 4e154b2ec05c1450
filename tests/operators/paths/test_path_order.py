"""Orders of paths other than by reliability: by hops, and at random."""

from __future__ import annotations

import pytest
from tests.shared import GRAPHS, LINE, corpus_index

from graphwright import AnchorSearch, Evidence, FlowPaths, Graph, start
from graphwright.errors import NeedsError
from graphwright.operators import HopFirst, NamesAndPhrases, Shuffled
from graphwright.operators.paths.path_evidence import path_text
from graphwright.operators.state import State

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"


def flow_paths(question: str = QUESTION) -> State:
    op = NamesAndPhrases() >> AnchorSearch(SNAPSHOT.names) % 40 >> FlowPaths()
    return op(start(question, SNAPSHOT.graph))


def items(state: State) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    assert state.evidence is not None
    return state.evidence.identities()


def test_hop_first_orders_by_length_stably() -> None:
    # Between two hubs little flows, (1 + 0.07 + ...) / 2; along a line much, (1 + 0.7 + 0.245 + 0.086) / 3.
    hubs = [(hub, "r", f"{hub} {i}") for hub in ("hub", "other") for i in range(9)]
    graph = Graph.from_triples([*hubs, ("hub", "r", "between"), ("between", "r", "other"), *LINE[:3]])
    ends = Evidence.of_nodes([graph.id(name) for name in ("hub", "other", "a", "d")])
    state = FlowPaths()(start("?", graph, evidence=ends))
    assert [len(edges) for _, edges in items(state)] == [3, 2]
    expected = sorted(items(state), key=lambda item: len(item[1]))
    after = HopFirst()(state)
    assert items(after) == expected != items(state)
    assert after.evidence is not None and after.evidence.scores is None
    assert after.evidence is not None and after.evidence.render is path_text  # its texts still have all parallel edges


def test_flow_at_published_decay_ranks_direct_edges_first() -> None:
    # One edge has 1 and more; two have at most (1 + 0.7 + 0.7 · 0.7 / 2) / 2, since the node between them has two.
    scored = [(len(edges), score) for edges, score in zip(*edges_and_scores(flow_paths()), strict=True)]
    assert min(score for hops, score in scored if hops == 1) > 1
    assert max(score for hops, score in scored if hops == 2) <= 0.9725


def edges_and_scores(state: State) -> tuple[list[tuple[int, ...]], list[float]]:
    assert state.evidence is not None and state.evidence.scores is not None
    return [edges for _, edges in items(state)], state.evidence.scores.tolist()


def test_shuffled_keeps_paths_and_varies_by_seed_and_question() -> None:
    state = flow_paths()
    orders = [items(Shuffled(seed)(state)) for seed in range(10)]
    assert all(sorted(order) == sorted(items(state)) for order in orders)
    assert len({tuple(order) for order in orders}) == 10
    assert items(Shuffled(3)(state)) == orders[3]
    other = start("Who?", SNAPSHOT.graph, evidence=state.evidence)
    assert items(Shuffled(3)(other)) != orders[3]


def test_path_order_cut_takes_first() -> None:
    state = flow_paths()
    for op in (HopFirst(), Shuffled(1)):
        assert items((op % 3)(state)) == items(op(state))[:3]


def test_path_order_accepts_other_items_and_empty() -> None:
    graph = GRAPHS["family"]
    mixed = Evidence.of_trees(graph, [([], [3]), ([1], []), ([0, 1], [0])], [0.9, 0.5, 0.1])
    assert items(HopFirst()(start("?", graph, evidence=mixed))) == [((1,), ()), ((), (3,)), ((0, 1), (0,))]
    for op in (HopFirst(), Shuffled()):
        assert len(op(start("?", graph, evidence=Evidence.of_nodes([]))).evidence) == 0  # type: ignore[arg-type]
        with pytest.raises(NeedsError, match=type(op).__name__):
            op(start("?", graph))
