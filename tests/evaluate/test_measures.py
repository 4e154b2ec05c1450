"""Metrics of a run by name: topological recall, quality of subgraphs and paths."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import FAMILY, GRAPHS, corpus_index

from graphwright import (
    Evidence,
    Graph,
    Index,
    Keep,
    ShortestPaths,
    State,
    Triples,
    start,
)
from graphwright.data.question_sets.questions import QuestionRecord
from graphwright.errors import OptionError
from graphwright.evaluate.asking import Asker, Row
from graphwright.evaluate.measures import (
    MEASURES,
    Quality,
    answer_quality,
    path_quality,
    select_measures,
    subgraph_quality,
)
from graphwright.evaluate.metrics import macro_f1
from graphwright.generate import TargetAnswer
from graphwright.generate.path_answers import NO_TARGET
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import Columns
from graphwright.models import HashEncoder
from graphwright.operators import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Ranking
from graphwright.search.snapshot import Snapshot
from graphwright.store import Settings

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
            result = Evidence.of_edges(self.edges) if self.edges else Evidence.of_nodes(self.nodes)
            return state.with_(graph=graph, evidence=result)
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


def test_question_without_gold_is_omitted_on_documents() -> None:
    result = Finds((node("lothair"),))
    row = asked(result, answers=("Teutberga",))
    assert NEAR not in row["metrics"] and {"hit", "subgraph recall"} <= set(row["metrics"])
    assert asked(result, "lothair")["metrics"].keys() == {NEAR, "recall@10"}
    assert row["steps"][0]["held"] is None


def test_question_without_answers_is_omitted_on_graph() -> None:
    result = Finds((FAMILY_IX.graph.id("Gisela"),))
    assert NEAR not in over_family(result, gold=("Gisela",))["metrics"]
    assert over_family(result, "Gisela")[NEAR] == 1.0


def test_measure_needs_depend_on_corpus() -> None:
    gold, answers, neither = (
        QuestionRecord("q", "Who?", *given) for given in (((), ("lothair",)), (("Gisela",), ()), ((), ()))
    )
    near, fits = MEASURES[NEAR], lambda measure: [measure.fits(q) for q in (gold, answers, neither)]
    assert fits(near) == [True, True, False]
    assert fits(near.over("documents")) == [True, False, False] and near.over("documents").kind == "retrieval"
    assert fits(near.over("graph")) == [False, True, False] and near.over("graph").kind == "graph"
    for name in ("recall@5", "hit"):
        assert MEASURES[name].over("graph") is MEASURES[name].over("documents") is MEASURES[name]


def test_method_without_passages_has_no_measure() -> None:
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
def test_topological_recall_equals_worked_numbers(
    gold: tuple[str, ...], value: float, recall: float, narrow: bool
) -> None:
    row = asked(Finds((node("erstein"),), narrow), *gold)
    assert row[NEAR] == pytest.approx(value, abs=1e-6) and row["recall@10"] == pytest.approx(recall, abs=1e-6)
    assert row["steps"][0]["held"] == row["recall@10"]


def test_passages_of_long_document_all_count(tmp_path: Path) -> None:
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


def test_graph_measure_uses_answer_nodes() -> None:
    graph = FAMILY_IX.graph
    result = Finds((graph.id("Teutberga"),))
    beside = 1 / (1 + math.log(1 + 1) + math.log(1 + 4))  # by Lothair II, who has four neighbours
    row = over_family(result, "Teutberga", "Waldrada", "Nobody")
    assert row[NEAR] == pytest.approx((1 + beside + 0) / 3, abs=1e-6)
    assert row["steps"][0]["held"] == pytest.approx(1 / 3, abs=1e-6)
    married = next(e for e in graph.edges.tolist() if graph.triple(e)[2] == "Teutberga")
    assert over_family(Finds((), edges=(married,)), "Teutberga", "Lothair II")[NEAR] == 1.0
    assert over_family(result, "Nobody")[NEAR] == 0.0


names = st.lists(st.sampled_from(["Graz", "Linz", "the Linz", "Wien", "wien.", "Steyr", "Enns"]), max_size=8)


@pytest.mark.parametrize(
    ("predicted", "gold", "value"),
    [
        (["Graz", "Linz", "Wien"], ["Wien", "Enns"], (1 / 3, 1 / 2, 2 / 5)),
        (["Graz", "graz!", "The Graz"], ["Graz"], (1, 1, 1)),
        (["Graz"], ["Graz", "graz", "Enns"], (1, 1 / 2, 2 / 3)),
        ("Graz", "Graz", (1, 1, 1)),
        (["Graz"], ["Linz"], (0, 0, 0)),
        ([], ["Linz"], (0, 0, 0)),
        (["Linz"], [], (0, 0, 0)),
        ([], [], (1, 1, 1)),
        (["", " "], [], (1, 1, 1)),
    ],
)
def test_footnote_11_equals_worked_values(predicted, gold, value) -> None:
    assert answer_quality(predicted, gold) == pytest.approx(value)


@given(names, names)
def test_f1_is_harmonic_mean_over_answers(predicted, gold) -> None:
    precision, recall, f1 = answer_quality(predicted, gold)
    assert f1 == pytest.approx(macro_f1(predicted, gold))
    assert f1 * (precision + recall) == pytest.approx(2 * precision * recall)
    assert answer_quality(gold, predicted) == pytest.approx((recall, precision, f1))


def family(*selected: str) -> Graph:
    graph = GRAPHS["family"]
    return graph.part([graph.id(name) for name in selected])


def test_subgraph_is_measured_by_all_nodes() -> None:
    part = family("Lothair II", "Teutberga", "Waldrada", "Gisela")
    assert subgraph_quality(part, ["Teutberga", "Waldrada", "Bertha"]) == pytest.approx((2 / 4, 2 / 3, 4 / 7))
    whole = subgraph_quality(GRAPHS["family"], ["Bertha"])
    assert whole == pytest.approx((1 / len(GRAPHS["family"]), 1, 2 / (1 + len(GRAPHS["family"]))))


def test_answer_outside_graph_is_not_found() -> None:
    assert subgraph_quality(family("Bertha"), ["Bertha", "Charlemagne"]) == pytest.approx((1, 1 / 2, 2 / 3))
    assert subgraph_quality(family("Bertha"), ["Charlemagne"]) == (0, 0, 0)


def test_empty_subgraph_finds_nothing() -> None:
    assert subgraph_quality(family(), ["Bertha"]) == (0, 0, 0)


def namesakes() -> Graph:
    """Two films of one name, by two directors."""
    c = Graph.from_triples([("Solaris", "by", "Tarkovsky"), ("Solaris II", "by", "Soderbergh")]).columns
    named = TextColumn.of(["Solaris", "Tarkovsky", "Solaris", "Soderbergh"])
    return Graph(Columns(named, c.heads, c.tails, c.relation, c.relations, c.kinds))


def test_nodes_of_equal_name_count_once() -> None:
    graph = namesakes()
    assert subgraph_quality(graph, ["Solaris"]) == pytest.approx((1 / 3, 1, 1 / 2))
    assert subgraph_quality(graph.part([2, 3]), ["Solaris"]) == pytest.approx((1 / 2, 1, 2 / 3))
    asked = start("Which films?", graph, entities=["Tarkovsky", "Soderbergh"])
    assert path_quality(ShortestPaths()(asked), ["Solaris"]) == (1, 1, 1)


def test_paths_are_measured_by_last_unnamed_node() -> None:
    graph = GRAPHS["line"]
    asked = start("?", graph, entities=["a", "c"])
    paths = Evidence.of_trees(graph, [([0, 1, 2], [0, 1]), ([2, 3], [2]), ([2, 3, 4], [2, 3])])  # lead to b, d and e
    state = asked.with_(evidence=paths)
    assert path_quality(state, ["d", "x"]) == pytest.approx((1 / 3, 1 / 2, 2 / 5))
    assert path_quality(state, ["c"]) == (0, 0, 0)  # a query entity is no target, though it be the answer
    assert path_quality(state.with_(evidence=paths.top(1)), ["b"]) == (1, 1, 1)


def test_triples_are_measured_as_answers() -> None:
    state = Triples()(start("?", GRAPHS["line"], entities=["a"]))
    assert path_quality(state, ["b", "e"]) == pytest.approx((2 / 4, 1, 2 / 3))


def test_paths_without_end_find_nothing() -> None:
    nowhere = start("?", GRAPHS["line"], entities=["a"], evidence=Evidence.of_nodes([0]))
    assert TargetAnswer()(nowhere).answer.text == NO_TARGET
    assert path_quality(nowhere, ["b"]) == (0, 0, 0)
    assert path_quality(nowhere, []) == (1, 1, 1)


def test_given_answer_changes_no_measure() -> None:
    state = (ShortestPaths() % 2 >> TargetAnswer(limit=1))(start("?", GRAPHS["star"], entities=["hub"]))
    assert path_quality(state, ["leaf 0", "leaf 1"]) == (1, 1, 1)


def test_unsearched_state_raises() -> None:
    with pytest.raises(OptionError, match="no evidence"):
        path_quality(start("?", GRAPHS["line"], entities=["a"]), ["b"])


def test_quality_prints_precision_recall_and_f1() -> None:
    result = subgraph_quality(Graph.from_triples(FAMILY), ["Bertha"])
    assert isinstance(result, Quality) and result == (result.precision, result.recall, result.f1)
