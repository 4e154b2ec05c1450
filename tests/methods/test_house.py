"""The methods `multihop` and `ppr`: what they find, and PageRank against an independent reference."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest
from tests.shared import GRAPHS, corpus_index
from tests.toys import as_networkx, knowledge

from graphwright import Index, VectorSearch, start
from graphwright.graph.graph import Kind
from graphwright.methods.registry import default_method, make_method
from graphwright.models import HashEncoder
from graphwright.operators import AnchorNodes, LinkEntities, ScoreSum, WordSearch

SNAPSHOT = corpus_index().snapshot
QUESTION = "What was destroyed that the daughter of Hugh of Tours founded?"


def test_multihop_is_default_on_documents() -> None:
    assert default_method(imported=False) == "multihop" and default_method(imported=True) == "graph"
    walk, _, score = repr(make_method("multihop", SNAPSHOT, top_k=7).pipeline).partition("ScorePassages(")
    assert "PersonalizedPageRank(restart=0.5) % 500 >> Only(" in walk and ") % 7 >> ToPassages() >> " in score


def test_multihop_finds_both_passages_of_two_hops() -> None:
    state = corpus_index().retrieve(QUESTION, "multihop")
    assert state.passages is not None
    assert {"ermengarde", "erstein"} <= {passage.document for passage in list(state.passages)[:3]}


def test_multihop_without_coverage_ranks_same_passages() -> None:
    found = [corpus_index().retrieve(QUESTION, "multihop", cover=cover).passages for cover in (True, False)]
    assert all(part is not None for part in found)
    assert sorted(found[0].ids.tolist()) == sorted(found[1].ids.tolist())  # type: ignore[union-attr]


@pytest.mark.parametrize("restart", [0.3, 0.5])
def test_ppr_equals_plain_pagerank(restart: float) -> None:
    state = LinkEntities(SNAPSHOT.names)(start(QUESTION, SNAPSHOT.graph))
    hybrid = ScoreSum(VectorSearch(SNAPSHOT.passages) % 200, WordSearch(SNAPSHOT.words) % 200) % 2
    seeds = ScoreSum(hybrid, AnchorNodes())(state).evidence
    assert seeds is not None and seeds.scores is not None
    start_at = dict(zip(seeds.nodes.tolist(), seeds.scores.tolist(), strict=True))
    exact = nx.pagerank(as_networkx(SNAPSHOT.graph), 1 - restart, start_at, tol=1e-12, max_iter=1000)
    found = make_method("ppr", SNAPSHOT, seeds=2, restart=restart).search(start(QUESTION, SNAPSHOT.graph))
    assert found.evidence is not None and found.evidence.scores is not None and len(found.evidence)
    assert (SNAPSHOT.graph.columns.kinds[found.evidence.nodes] == Kind.CHUNK).all()
    values = [exact[node] for node in found.evidence.nodes.tolist()]
    assert found.evidence.scores.tolist() == pytest.approx(values, rel=0.02, abs=1e-4)


@pytest.mark.parametrize("method", ["multihop", "ppr"])
def test_house_methods_run_on_graph_and_empty_index(method: str, tmp_path: Path) -> None:
    ix = knowledge(GRAPHS["family"])
    state = make_method(method, ix)(start("Who was the mother of Lothair II?", ix.graph))
    # PageRank ranks the nodes of such a graph; the scorer has no words of theirs to go by.
    assert (
        state.answer is not None and state.evidence is not None and len(state.evidence) == (7 if method == "ppr" else 0)
    )
    with Index.create(tmp_path / "empty", encoder=HashEncoder()) as index:
        state = index.ask(QUESTION, method)
    assert state.answer is not None and not state.answer.found and not len(state.passages or ())
