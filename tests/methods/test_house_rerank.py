"""Methods that rerank with a cross-encoder: their expressions and budgets."""

from __future__ import annotations

import pytest
from tests.shared import corpus_index

from graphwright import VectorSearch, start
from graphwright.methods.registry import METHODS, make_method
from graphwright.models import MiniLMCrossEncoder, OverlapCrossEncoder
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.views import PassageGraph

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"
HYBRID = f"ScoreSum(VectorSearch({SNAPSHOT.passages!r}) % 200, WordSearch({SNAPSHOT.words!r}) % 200)"


def texts_read(op: Operator) -> tuple[State, int]:
    """Run a pipeline, and count the texts that its models read, the question's own vector left out."""
    state, first = start(QUESTION, SNAPSHOT.graph), Run()
    VectorSearch(SNAPSHOT.passages)(state, first)
    run = Run(memory=first.memory)
    return op(state, run), run.usage.texts


def test_rerank_expressions_print_as_source() -> None:
    model = MiniLMCrossEncoder()
    whole = repr(make_method("rerank", SNAPSHOT, budget=30, blend=1.0, top_k=7).pipeline)
    assert whole.startswith(f"Reword(ix.words) >> {HYBRID} % 30 >> Rerank({model!r}) % 7 >> ToPassages() >> ")
    whole = repr(make_method("rerank", SNAPSHOT, budget=30, blend=0.25, top_k=7).pipeline)
    blend = f"ScoreSum(Keep(), Scaled(Rerank({model!r})), weights=(0.75, 0.25))"
    assert whole.startswith(f"Reword(ix.words) >> {HYBRID} % 30 >> {blend} % 7 >> ToPassages() >> ")
    rank = f"Rerank({model!r})"
    turns = f"(Keep() | Frontier() % 4) >> {rank} >> (Keep() | Unseen({HYBRID}) % 4) >> {rank}"
    loop = f"{HYBRID} % 4 >> {rank} >> Repeat({turns}, until=Reached(nodes=30))"
    whole = repr(make_method("gar", SNAPSHOT, batch=4, budget=30, top_k=7).pipeline)
    assert whole.startswith(f"OnGraph(PassageGraph(), {loop}) % 7 >> ToPassages() >> ")
    first = repr(make_method("multihop", SNAPSHOT).pipeline).partition(" % 15 >> ToPassages()")[0]
    whole = repr(make_method("multihop-rerank", SNAPSHOT, pool=9, contexts=2, top_k=7).pipeline)
    order = f"ReciprocalRank(Keep(), Keep() % 9 >> MultiHopRerank({model!r}, contexts=2), constant=5)"
    assert whole.startswith(f"{first} % 9 >> {order} % 7 >> ToPassages() >> ")
    deep = repr(make_method("rerank", SNAPSHOT, budget=500).pipeline)
    assert HYBRID.replace("200", "500") in deep  # no part may run dry before the budget does


@pytest.mark.parametrize("name", ["rerank", "gar"])
@pytest.mark.parametrize("budget", [1, 3, 100])
def test_rerank_reads_each_passage_once_within_budget(name: str, budget: int) -> None:
    options = {"batch": 1} if name == "gar" else {}
    op = make_method(name, SNAPSHOT, budget=budget, cross_encoder=OverlapCrossEncoder(), **options)
    state, texts = texts_read(op.search)
    assert state.passages is not None and len(state.passages) == texts == min(budget, 6)


@pytest.mark.parametrize(("pool", "contexts"), [(1, 0), (3, 1), (30, 2)])
def test_multihop_rerank_reads_pool_once_per_context(pool: int, contexts: int) -> None:
    first = VectorSearch(SNAPSHOT.passages)
    op = make_method(
        "multihop-rerank", SNAPSHOT, pool=pool, contexts=contexts, first=first, cross_encoder=OverlapCrossEncoder()
    )
    state, texts = texts_read(op.search)
    assert state.passages is not None and texts == (1 + contexts) * min(pool, 6)
    assert len(state.passages) == 6  # what is not read comes after what is


def test_gar_reads_neighbours_of_first_search() -> None:
    model = OverlapCrossEncoder()
    narrow = VectorSearch(SNAPSHOT.passages) % 1
    ids = [
        make_method(name, SNAPSHOT, first=narrow, cross_encoder=model)
        .search(start(QUESTION, SNAPSHOT.graph))
        .passages.ids.tolist()  # type: ignore[union-attr]
        for name in ("rerank", "gar")
    ]
    assert len(ids[0]) == 1 < len(ids[1])
    rows = PassageGraph()(SNAPSHOT.graph).columns.adjacency
    assert all(set(rows.row(node).tolist()) & set(ids[1]) for node in ids[1])


@pytest.mark.parametrize("name", ["rerank", "multihop-rerank", "gar"])
def test_rerank_methods_answer(name: str) -> None:
    answer = METHODS[name](SNAPSHOT)(start("Where did the abbey of Erstein stand?", SNAPSHOT.graph)).answer
    assert answer is not None and answer.found and "Erstein" in answer.text


def scores_of(op: Operator) -> dict[int, float]:
    evidence = op(start(QUESTION, SNAPSHOT.graph)).evidence
    assert evidence is not None and evidence.scores is not None
    return dict(zip(evidence.nodes.tolist(), evidence.scores.tolist(), strict=True))


@pytest.mark.parametrize("name", ["rerank", "gar", "fastinsight"])
def test_blend_is_weighted_sum_of_scaled_scores(name: str) -> None:
    model = OverlapCrossEncoder()
    alone, none, part = (
        scores_of(make_method(name, SNAPSHOT, cross_encoder=model, blend=blend).search) for blend in (1.0, 0.0, 0.3)
    )
    low, high = min(alone.values()), max(alone.values())
    for node, score in part.items():
        assert score == pytest.approx(0.7 * none[node] + 0.3 * (alone[node] - low) / (high - low))
