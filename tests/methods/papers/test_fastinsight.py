"""FastInsight as a method: the paper's expression, over passages that refer to each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.shared import corpus_index

from graphwright import Graph, VectorIndex, start
from graphwright.graph import Kind
from graphwright.methods.registry import make_method
from graphwright.models import HashEncoder, MiniLMCrossEncoder, OverlapCrossEncoder
from graphwright.operators.run import Run
from graphwright.operators.subgraph.views import PassageGraph

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"


def test_fastinsight_expression_equals_paper() -> None:
    whole = repr(make_method("fastinsight", SNAPSHOT, batch=4, budget=30, alpha=0.3, beta=0.5, top_k=7).pipeline)
    model = MiniLMCrossEncoder()
    ix, rank = repr(SNAPSHOT.passages), f"GRanker({model!r}, alpha=0.3)"
    loop = f"Repeat((Keep() | STeX({ix}, beta=0.5) % 4) >> {rank}, until=Reached(nodes=30))"
    assert whole.startswith(
        f"OnGraph(PassageGraph(), VectorSearch({ix}) % 4 >> {rank} >> {loop}) % 7 >> ToPassages() >> "
    )


def test_fastinsight_follows_references_within_budget() -> None:
    few = make_method("fastinsight", SNAPSHOT, batch=1, budget=3, cross_encoder=OverlapCrossEncoder())
    state = few.search(start(QUESTION, SNAPSHOT.graph))
    assert state.passages is not None and len(state.passages) == 3 and state.graph is SNAPSHOT.graph
    nodes = state.passages.ids.tolist()
    assert all(SNAPSHOT.graph.columns.kinds[nodes] == Kind.CHUNK)
    # Each was next to another one; the first was found by its vector.
    rows = PassageGraph()(SNAPSHOT.graph).columns.adjacency
    assert all(set(rows.row(node).tolist()) & set(nodes) for node in nodes)
    # What nothing refers to is never reached.
    every = make_method("fastinsight", SNAPSHOT, batch=1, cross_encoder=OverlapCrossEncoder())
    result = every(start(QUESTION, SNAPSHOT.graph)).passages
    documents = {SNAPSHOT.graph.passages.of(int(c)).document for c in result.ids}  # type: ignore[union-attr]
    assert documents == {"lothair", "teutberga", "ermengarde", "erstein"}


def test_fastinsight_reads_each_passage_once() -> None:
    op = make_method("fastinsight", SNAPSHOT, batch=1, cross_encoder=OverlapCrossEncoder()).search
    run = Run()
    state = op(start(QUESTION, SNAPSHOT.graph), run)
    ranked = sum("GRanker" in step.operator for step in state.trace)
    encoded = 1  # the question
    assert ranked >= 4 and run.usage.texts <= len(state.evidence) + encoded  # type: ignore[arg-type]


def test_fastinsight_answers() -> None:
    answer = make_method("fastinsight", SNAPSHOT)(start("Where did the abbey of Erstein stand?", SNAPSHOT.graph)).answer
    assert answer is not None and answer.found and "Erstein" in answer.text


def test_fastinsight_on_references_only_uses_links() -> None:
    alone = repr(make_method("fastinsight", SNAPSHOT, relations=("refers to",)).pipeline)
    assert alone.startswith("OnGraph(PassageGraph(relations=('refers to',)), ") and ") % 15 >> ToPassages()" in alone
    few = make_method("fastinsight", SNAPSHOT, batch=2, relations=("refers to",), cross_encoder=OverlapCrossEncoder())
    chunks = few.search(start(QUESTION, SNAPSHOT.graph)).passages
    assert chunks is not None and len(chunks) == 2  # the toy corpus has no links, so nothing is added


def test_fastinsight_entities_use_passage_vectors() -> None:
    whole = make_method(
        "fastinsight-entities", SNAPSHOT, batch=2, budget=6, top_k=3, cross_encoder=OverlapCrossEncoder()
    )
    vectors = "entity_vectors(ix.graph, ix.passages)"
    assert repr(whole.search).startswith(f"OnGraph(EntityGraph(), VectorSearch({vectors}) % 2 >> GRanker(")
    state = whole.search(start(QUESTION, SNAPSHOT.graph))
    assert state.evidence is not None and len(state.evidence) == 6 and state.graph is SNAPSHOT.graph
    assert all(SNAPSHOT.graph.columns.kinds[state.evidence.nodes] == Kind.ENTITY)
    assert state.passages is not None and len(state.passages) == 3
    assert whole(start("Where did the abbey of Erstein stand?", SNAPSHOT.graph)).answer.found  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["fastinsight", "gar"])
def test_fastinsight_reads_each_pair_once(name: str) -> None:
    # The search finds the first node of each pair, and the expansion the second.
    pairs = Graph.from_triples([(f"a{at}", "next", f"b{at}") for at in range(2600)])
    vectors = VectorIndex.from_array(np.tile([[1.0], [0.5]], (2600, 4)), HashEncoder(4))
    snapshot = replace(SNAPSHOT, graph=pairs, passages=vectors, names=None, triples=None)
    op = make_method(name, snapshot, batch=2500, budget=5000, cross_encoder=OverlapCrossEncoder()).search
    run = Run()
    op(start("a1 next", pairs), run)
    assert 5000 <= run.usage.texts < 5010
