"""A function as a search: ids of passages, of documents and of nodes; scores, unknown ids, wrong results.

One budget of passages for a step and those that were read before it.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.shared import GRAPHS, corpus_index

from graphwright import Evidence, Graph, State, ToPassages, start
from graphwright.errors import OptionError
from graphwright.graph.ranking import Ranking
from graphwright.operators import FunctionSearch, SharedBudget

QUESTION = "Where does the Mur rise?"


def test_function_search_accepts_passages_and_documents() -> None:
    index = corpus_index()
    found = list(index.retrieve(QUESTION, "bm25").passages or ())
    for given in (found, [p.id for p in found], [(p.id, p.score) for p in found]):
        state = (FunctionSearch(lambda _, given=given: given) >> ToPassages())(start(QUESTION, index.graph))
        assert [p.id for p in state.passages or ()] == [p.id for p in found]
    documents = list(dict.fromkeys(p.document for p in found))
    state = (FunctionSearch(lambda _: documents) >> ToPassages())(start(QUESTION, index.graph))
    assert list(dict.fromkeys(p.document for p in state.passages or ())) == documents


def test_function_search_notes_unknown_ids_and_needs_all_scores() -> None:
    index = corpus_index()
    name = index.list_documents()[0].id
    state = FunctionSearch(lambda _: [("nowhere", 2.0), (name, 1.0)])(start(QUESTION, index.graph))
    assert state.evidence is not None and state.evidence.scores is not None
    assert state.trace[0].notes == ("1 of 2 ids are not in the graph, such as 'nowhere'",)
    mixed = FunctionSearch(lambda _: ["nowhere", (name, 1.0)])(start(QUESTION, index.graph))
    assert mixed.evidence is not None


@pytest.mark.parametrize("wrong", [3, (1, 2), ("a", 1, 2), None])
def test_function_search_with_invalid_result_raises(wrong: object) -> None:
    with pytest.raises(OptionError, match="give ids, or pairs"):
        FunctionSearch(lambda _: [wrong])(start(QUESTION, corpus_index().graph))  # type: ignore[list-item, return-value]
    with pytest.raises(OptionError, match="a function from a question"):
        FunctionSearch(3)  # type: ignore[arg-type]


GRAPH = Graph.from_triples([(f"n{i}", "r", f"n{i + 1}") for i in range(30)])


def state_of(found: list[int], before: list[int] | None) -> State:
    scores = np.linspace(1, 0.5, len(found))
    state = start("?", GRAPH, evidence=Evidence.of_nodes(found, scores))
    return state if before is None else state.with_(passages=Ranking.of(before, -np.arange(len(before))))


def ids(state: State) -> list[int]:
    assert state.passages is not None
    return state.passages.ids.tolist()


@pytest.mark.parametrize(
    ("found", "before", "limit", "expected"),
    [
        ([1, 2, 3], None, 2, [1, 2]),
        ([1, 2, 3], [], 2, [1, 2]),
        ([1, 2, 3], [9], 3, [1, 2, 9]),
        ([1, 2, 3], [3], 2, [1, 3]),  # 3 was read before, and costs nothing
        ([1, 2, 3], [3, 9], 2, [3, 9]),
        ([1, 2], [9, 8, 7], 2, [9, 8]),
        ([], [9, 8], 15, [9, 8]),
        ([], None, 15, []),
    ],
)
def test_shared_budget_fills_remaining_places(
    found: list[int], before: list[int] | None, limit: int, expected: list[int]
) -> None:
    state = SharedBudget(ToPassages(), limit)(state_of(found, before))
    assert ids(state) == expected and state.passages is not None
    assert (np.diff(state.passages.scores) < 0).all()


@pytest.mark.parametrize(
    ("found", "read", "expected"),
    [
        ([1, 2, 3], 0, [1, 2, 3, 9]),  # nothing was read: the step comes first, and the others fill
        ([1, 2, 3, 4, 5], 0, [1, 2, 3, 4]),
        ([1, 2, 3, 4, 5], 1, [1, 2, 3, 9]),
        ([1, 2, 8, 4, 5], 1, [1, 2, 8, 9]),  # 8 was ranked before, but not read: it counts
        ([1, 2, 8, 4, 5], 2, [1, 2, 8, 9]),
        ([8, 1], 2, [8, 1, 9, 7]),  # the rest of the preview, then the others
        ([1], 3, [1, 9, 8, 7]),
        ([], 1, [9, 8, 7, 6]),
        ([1, 2, 3, 4, 5], 99, [9, 8, 7, 6]),  # never more than the limit
    ],
)
def test_shared_budget_reads_the_first_and_fills_up(found: list[int], read: int, expected: list[int]) -> None:
    state = SharedBudget(ToPassages(), 4, read)(state_of(found, [9, 8, 7, 6, 0]))
    assert ids(state) == expected and state.passages is not None
    assert (np.diff(state.passages.scores) < 0).all()
    assert state.passages.item_of is not None
    assert [int(item) >= 0 for item in state.passages.item_of] == [passage in found for passage in expected]


@pytest.mark.parametrize("seed", range(50))
def test_shared_budget_never_exceeds_limit(seed: int) -> None:
    draw = np.random.default_rng(seed)
    found = draw.permutation(30)[: draw.integers(0, 31)].tolist()
    before = draw.permutation(30)[: draw.integers(0, 11)].tolist()
    limit = int(draw.integers(max(len(before), 1), 31))
    result = ids(SharedBudget(ToPassages(), limit)(state_of(found, before)))
    assert len(result) == len(set(result)) and len({*result, *before}) <= limit
    assert result == [*sorted(result, key=[*found, *before].index)]
    assert len(result) == min(limit, len({*found, *before}))


def test_shared_budget_cut_equals_first_of_all() -> None:
    step, state = SharedBudget(ToPassages(), 6), state_of([1, 2, 3, 4], [4, 9, 8])
    for k in range(1, 8):
        assert ids((step % k)(state)) == ids(step(state))[:k]


def test_shared_budget_without_evidence_keeps_preview() -> None:
    graph = GRAPHS["family"]
    state = start("?", graph, evidence=Evidence.of_nodes([])).with_(passages=Ranking.of([2, 0], [1, 0.5]))
    assert ids(SharedBudget(ToPassages())(state)) == [2, 0]
