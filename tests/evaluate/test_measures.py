"""Topological recall as a run measures it: worked numbers on the toy corpus, and its decomposition into recall."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from tests.toys import CORPUS, FAMILY, corpus_index

from graphwright import (
    Evidence,
    Graph,
    HashEncoder,
    Index,
    Keep,
    Operator,
    Settings,
    State,
    ToPassages,
    VectorSearch,
    missed_topological_recall,
)
from graphwright.data.questions import QuestionRecord
from graphwright.evaluate.asking import Asker, Row
from graphwright.evaluate.measures import MEASURES, select_measures
from graphwright.index.snapshot import Snapshot
from graphwright.operators.run import Run
from graphwright.operators.state import Ranking
from graphwright.operators.subgraph.views import PassageGraph

# One passage each. Linked are erstein - ermengarde - lothair - teutberga, in a row; bread and mur are apart.
IX = corpus_index().snapshot
NEAR = "topological recall"
FAR = 1 / (1 + math.log(1 + 1) + 2 * math.log(1 + 2))  # from one end of the row to the other
NEXT = 1 / (1 + math.log(1 + 1))  # from an end to what is beside it


@dataclass(frozen=True, repr=False)
class Finds(Operator):
    """Ranks these nodes, or has them for evidence; `narrow`: and leaves a graph of nothing else."""

    nodes: tuple[int, ...]
    narrow: bool = False
    edges: tuple[int, ...] = ()
    gives = ("passages",)

    def apply(self, state: State, run: Run) -> State:
        graph = state.graph.part(self.nodes) if self.narrow else state.graph
        if graph.passages is None:
            found = Evidence.of_edges(self.edges) if self.edges else Evidence.of_nodes(self.nodes)
            return state.with_(graph=graph, evidence=found)
        return state.with_(graph=graph, passages=Ranking.of(self.nodes, range(len(self.nodes), 0, -1)))


def node(document: str, at: int = 0, snapshot: Snapshot = IX) -> int:
    passages = snapshot.graph.passages
    assert passages is not None
    return int(passages.nodes[passages.rows_of_document[document][at]])


def asked(
    operator: Operator, *gold: str, answers: tuple[str, ...] = (), snapshot: Snapshot = IX, **more: Any
) -> dict[str, Any]:
    rows: list[Row] = []
    measures = select_measures([NEAR, "recall@10", "hit", "subgraph recall"])
    asker = Asker(snapshot, {"it": operator}, measures, **more)
    asker.ask(QuestionRecord("q", "Who?", answers, gold), ["it"], rows.append)
    assert "error" not in rows[0], rows[0]["error"]
    return rows[0] | rows[0]["metrics"]


def over_family(operator: Operator, *answers: str, gold: tuple[str, ...] = ()) -> dict[str, Any]:
    return asked(operator, *gold, answers=answers, snapshot=FAMILY_IX)


FAMILY_IX = replace(IX, graph=Graph.from_triples(FAMILY), names=None, triples=None)


def test_a_question_without_gold_documents_is_left_out_over_documents() -> None:
    found = Finds((node("lothair"),))
    row = asked(found, answers=("Teutberga",))
    assert NEAR not in row["metrics"] and {"hit", "subgraph recall"} <= set(row["metrics"])
    assert asked(found, "lothair")["metrics"].keys() == {NEAR, "recall@10"}
    assert row["steps"][0]["held"] is None


def test_a_question_without_answers_is_left_out_over_a_graph() -> None:
    found = Finds((FAMILY_IX.graph.id("Gisela"),))
    assert NEAR not in over_family(found, gold=("Gisela",))["metrics"]
    assert over_family(found, "Gisela")[NEAR] == 1.0


def test_what_it_needs_is_known_once_it_is_known_what_is_searched() -> None:
    gold, answers, neither = (
        QuestionRecord("q", "Who?", *given) for given in (((), ("lothair",)), (("Gisela",), ()), ((), ()))
    )
    near, fits = MEASURES[NEAR], lambda measure: [measure.fits(q) for q in (gold, answers, neither)]
    assert fits(near) == [True, True, False]
    assert fits(near.over("documents")) == [True, False, False] and near.over("documents").kind == "retrieval"
    assert fits(near.over("graph")) == [False, True, False] and near.over("graph").kind == "graph"
    for name in ("recall@5", "hit"):
        assert MEASURES[name].over("graph") is MEASURES[name].over("documents") is MEASURES[name]


def test_a_method_that_ranks_no_passages_has_none_over_documents() -> None:
    assert NEAR not in asked(Keep(), "lothair")["metrics"]
    assert over_family(Keep(), "Gisela")[NEAR] == 0.0


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize(
    ("gold", "value", "recall"),
    [
        (("erstein",), 1.0, 1.0),
        (("erstein", "not-in-index"), 1 / 2, 1 / 2),
        (("not-in-index",), 0.0, 0.0),
        (("teutberga",), FAR, 0.0),
        (("ermengarde",), NEXT, 0.0),
        (("bread",), 0.0, 0.0),
        (("erstein", "teutberga", "not-in-index"), (1 + FAR) / 3, 1 / 3),
        (("erstein", "ermengarde", "teutberga", "bread"), (1 + NEXT + FAR) / 4, 1 / 4),
        (("erstein", "erstein", "ermengarde"), (1 + NEXT) / 2, 1 / 2),
    ],
)
def test_worked_numbers_over_the_passages_that_refer_to_each_other(
    gold: tuple[str, ...], value: float, recall: float, narrow: bool
) -> None:
    row = asked(Finds((node("erstein"),), narrow), *gold)
    assert row[NEAR] == pytest.approx(value, abs=1e-6) and row["recall@10"] == pytest.approx(recall, abs=1e-6)
    assert row["steps"][0]["held"] == row["recall@10"]


def test_it_is_recall_and_what_is_near_of_the_rest() -> None:
    """TR = Recall + MissTR (Corollary 1) of every pair of passages found and every three documents wanted."""
    names = [str(document["id"]) for document in CORPUS]
    linked, seen = PassageGraph()(IX.graph), set()
    for found in combinations(names, 2):
        ids = tuple(map(node, found))
        for gold in combinations([*names, "not-in-index"], 3):
            row = asked(Finds(ids), *gold)
            there = [node(name) for name in gold if name in names]
            missed = len(there) / len(gold) * missed_topological_recall(linked, ids, there)
            assert row[NEAR] == pytest.approx(row["recall@10"] + missed, abs=2e-6)
            seen.add(missed > 0)
    assert seen == {False, True}


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_it_is_recall_and_the_rest_of_a_method_too(k: int) -> None:
    gold = ("erstein", "bread", "teutberga", "not-in-index")
    row = asked(VectorSearch(IX.passages) % k >> ToPassages(), *gold)
    ids = [node(name) for name, _ in row["documents"]]
    missed = 3 / 4 * missed_topological_recall(PassageGraph()(IX.graph), ids, list(map(node, gold[:3])))
    assert row[NEAR] == pytest.approx(row["recall@10"] + missed, abs=2e-6) and len(ids) == k


def test_of_a_long_document_every_passage_counts(tmp_path: Path) -> None:
    long = {"id": "long", "title": "", "text": "Dough rests. " * 30}
    settings = Settings(chunk_tokens=40, overlap=0)
    with Index.create(tmp_path / "index", encoder=HashEncoder(), settings=settings) as index:
        index.add([long, {"id": "short", "title": "", "text": "Rivers flow."}])
        snapshot = index.snapshot
        passages = snapshot.graph.passages
        assert passages is not None and len(passages.rows_of_document["long"]) == 3
        row = asked(Finds((node("long", 0, snapshot),)), "long", "short", "gone", snapshot=snapshot)
    beside = 1 / (1 + math.log(1 + 2))  # all three name Dough, and so are neighbours
    assert row[NEAR] == pytest.approx((1 + beside + beside + 0 + 0) / 5, abs=1e-6)
    assert row["recall@10"] == pytest.approx(1 / 3, abs=1e-6)


def test_over_a_graph_answers_are_looked_for_on_the_graph_itself() -> None:
    graph = FAMILY_IX.graph
    found = Finds((graph.id("Teutberga"),))
    beside = 1 / (1 + math.log(1 + 1) + math.log(1 + 4))  # by Lothair II, who has four neighbours
    row = over_family(found, "Teutberga", "Waldrada", "Nobody")
    assert row[NEAR] == pytest.approx((1 + beside + 0) / 3, abs=1e-6)
    assert row["steps"][0]["held"] == pytest.approx(1 / 3, abs=1e-6)
    married = next(e for e in graph.edges.tolist() if graph.triple(e)[2] == "Teutberga")
    assert over_family(Finds((), edges=(married,)), "Teutberga", "Lothair II")[NEAR] == 1.0
    assert over_family(found, "Nobody")[NEAR] == 0.0
