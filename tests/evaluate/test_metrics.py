"""Metrics of rankings, answers and topological recall: worked values, laws, errors, and rankings by budget."""

from __future__ import annotations

import math
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import Graph
from graphwright.errors import OptionError
from graphwright.evaluate import metrics as m

RANKED = ["p3", "p1", "p3", "p7", "p2"]  # p3 is repeated, so p7 has the third place

EDGES = [("hub", "spoke"), ("hub", "rim"), ("rim", "far"), ("spoke", "far"), ("far", "end"), ("hub", "hub"),
         ("hub", "spoke"), ("lone", "pair")]  # fmt: skip

ids = st.lists(st.integers(0, 12), max_size=20)
places = st.integers(1, 25)


@pytest.mark.parametrize(
    ("metric", "gold", "k", "value"),
    [
        (m.recall_at_k, ["p1", "p2", "p9"], 3, 1 / 3),
        (m.recall_at_k, ["p1", "p2", "p9"], 50, 2 / 3),
        (m.recall_at_k, ["p7"], 3, 1.0),
        (m.recall_at_k, ["p7", "p7"], 3, 1.0),
        (m.recall_at_k, [], 3, 0.0),
        (m.capped_recall_at_k, ["p1", "p3", "p9"], 2, 1.0),
        (m.capped_recall_at_k, ["p1", "p3", "p9"], 10, 2 / 3),
        (m.capped_recall_at_k, [], 3, 0.0),
        (m.ndcg_at_k, ["p1", "p7"], 10, (1 / math.log2(3) + 1 / 2) / (1 + 1 / math.log2(3))),
        (m.ndcg_at_k, ["p3", "p1", "p7", "p2"], 2, 1.0),
        (m.ndcg_at_k, ["p2"], 3, 0.0),
        (m.ndcg_at_k, [], 3, 0.0),
    ],
)
def test_ranking_metric_equals_worked_value(metric, gold, k, value) -> None:
    assert metric(RANKED, gold, k) == pytest.approx(value)


@pytest.mark.parametrize("metric", [m.recall_at_k, m.capped_recall_at_k, m.ndcg_at_k])
@pytest.mark.parametrize("k", [0, -1, 2.5, True])
def test_ranking_metric_with_invalid_k_raises(metric, k) -> None:
    with pytest.raises(OptionError, match="k is"):
        metric(RANKED, ["p1"], k)


@given(ids, ids, places)
def test_ranking_metrics_keep_laws(ranked, gold, k) -> None:
    recall, capped, ndcg = (f(ranked, gold, k) for f in (m.recall_at_k, m.capped_recall_at_k, m.ndcg_at_k))
    assert 0 <= recall <= capped <= 1 and 0 <= ndcg <= 1
    assert recall <= m.recall_at_k(ranked, gold, k + 1)
    assert (recall == 0) == (ndcg == 0)
    found_first = sorted(dict.fromkeys(ranked), key=lambda item: item not in gold)
    assert ndcg <= m.ndcg_at_k(found_first, gold, k) + 1e-12
    if gold:
        assert m.ndcg_at_k([*gold, *ranked], gold, k) == pytest.approx(1)
    assert m.ndcg_at_k([*ranked, *ranked], gold, k) == ndcg


@pytest.mark.parametrize(
    ("metric", "predicted", "gold", "value"),
    [
        (m.hits_at_1, ["The Vltava!", "Elbe"], ["Moldau", "vltava"], 1),
        (m.hits_at_1, ["Elbe", "Vltava"], ["Vltava"], 0),
        (m.hits_at_1, "Vltava river", ["Vltava"], 0),
        (m.hits_at_1, [], ["Vltava"], 0),
        (m.hits_at_1, "", [], 0),
        (m.hit, "Prague lies on the river Vltava.", ["Moldau", "The Vltava"], 1),
        (m.hit, ["Elbe", "the river Vltava"], "Vltava", 1),
        (m.hit, "Elbe", ["Vltava"], 0),
        (m.hit, "Elbe", [""], 0),
        (m.hit, "anything", [], 0),
        (m.exact_match, "St. Stephen's", ["st stephens"], 1),
        (m.exact_match, ["Vltava", "Elbe"], ["Elbe"], 0),
        (m.exact_match, "", ["$"], 0),
        (m.exact_match, "$", ["$"], 1),
        (m.exact_match, "", [], 1),
        (m.exact_match, [], [], 1),
        (m.exact_match, "Elbe", [], 0),
        (m.token_f1, "the king of France and Navarre", ["Navarre", "king of Navarre"], 2 * 3 / (5 + 3)),
        (m.token_f1, "no no no", ["no"], 2 * 1 / (3 + 1)),
        (m.token_f1, "", ["x"], 0),
        (m.token_f1, "", [], 1),
        (m.token_f1, "x", [], 0),
    ],
)
def test_answer_metric_equals_worked_value(metric, predicted, gold, value) -> None:
    assert metric(predicted, gold) == pytest.approx(value)


PREDICTED = [["Graz", "graz.", "Linz"], [], ["Mur"]]
GOLD = [["Graz"], ["Wien", "Linz", "Steyr"], ["The Mur"]]


def test_f1_weighs_questions_or_answers() -> None:
    assert m.macro_f1(PREDICTED, GOLD) == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert m.micro_f1(PREDICTED, GOLD) == pytest.approx(2 * 2 / ((2 + 0 + 1) + (1 + 3 + 1)))


@pytest.mark.parametrize("metric", [m.macro_f1, m.micro_f1])
def test_f1_accepts_one_question(metric) -> None:
    assert metric(["Graz", "Linz"], ["Graz"]) == pytest.approx(2 / 3)
    assert metric([["Graz", "Linz"]], [["Graz"]]) == pytest.approx(2 / 3)
    assert metric("Graz", ["Graz"]) == 1
    assert metric([], []) == metric([[]], [[]]) == 1
    assert metric(["Graz", "Mur"], [["Graz"], ["Mur"]]) == 1  # a text is a question's only answer


@pytest.mark.parametrize("metric", [m.macro_f1, m.micro_f1])
def test_f1_with_different_lengths_raises(metric) -> None:
    with pytest.raises(OptionError, match="2 questions and accepted answers for 3"):
        metric(PREDICTED[:2], GOLD)


@pytest.mark.parametrize("metric", [m.hits_at_1, m.hit, m.exact_match, m.token_f1, m.macro_f1, m.micro_f1])
def test_answers_of_other_type_raise(metric) -> None:
    with pytest.raises(OptionError, match="give a string or a list of strings"):
        metric([3], ["Graz"])


answers = st.lists(st.text("ab the.$", max_size=6), max_size=4)


@given(answers, answers)
def test_answer_metrics_keep_laws(predicted, gold) -> None:
    assert m.exact_match(predicted, gold) <= m.token_f1(predicted, gold) + 1e-12 <= 1 + 2e-12
    assert m.macro_f1(predicted, gold) == m.micro_f1(predicted, gold) == m.macro_f1(gold, predicted)
    if predicted and m.normalised(predicted[0]):
        assert m.hits_at_1(predicted, gold) <= m.hit(predicted, gold)
        assert m.exact_match(predicted, predicted) == m.hit(predicted, predicted) == 1


def by_brute_force(graph: nx.Graph, retrieved: list[int], oracle: list[int]) -> float:
    """Definition 7 read word by word: every shortest path of every pair."""
    total = 0.0
    for end in oracle:
        costs = [
            sum(math.log(1 + graph.degree(node)) for node in path if node != end)
            for begin in retrieved
            if nx.has_path(graph, begin, end)
            for path in nx.all_shortest_paths(graph, begin, end)
        ]
        total += 1 / (1 + min(costs)) if costs else 0.0
    return total / len(oracle)


def as_networkx(graph: Graph) -> nx.Graph:
    simple = nx.Graph()
    simple.add_nodes_from(range(len(graph.names)))
    ends = graph.ends(graph.edges).reshape(-1, 2).tolist()
    simple.add_edges_from((a, b) for a, b in ends if a != b)
    return simple


def test_topological_recall_takes_cheapest_shortest_path() -> None:
    graph = Graph.from_triples((a, "r", b) for a, b in EDGES)
    hub, end, lone = graph.id("hub"), graph.id("end"), graph.id("lone")
    # hub (2 neighbours: loop and repeated edge do not count), spoke or rim (2), far (3)
    cost = math.log(3) + math.log(3) + math.log(4)
    assert m.topological_recall(graph, [hub], [end]) == pytest.approx(1 / (1 + cost))
    mean = (1 / (1 + cost) + 0 + 1) / 3
    assert m.topological_recall(graph, [hub, hub], [end, lone, hub, hub]) == pytest.approx(mean)
    assert m.topological_recall(graph, [], [end]) == m.topological_recall(graph, [hub], []) == 0


def test_topological_recall_in_part_uses_snapshot() -> None:
    graph = Graph.from_triples((f"n{i}", "r", f"n{j}") for i, j in pairwise(range(5)))
    assert m.topological_recall(graph.part([0, 4]), [0], [4]) == m.topological_recall(graph, [0], [4]) > 0


edges = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=25)


@given(edges, st.data())
def test_topological_recall_equals_brute_force(pairs, data) -> None:
    graph = Graph.from_triples((str(a), "r", str(b)) for a, b in pairs)
    nodes = st.lists(st.sampled_from(range(len(graph))), min_size=1, max_size=4, unique=True)
    retrieved, oracle = data.draw(nodes), data.draw(nodes)
    value = m.topological_recall(graph, retrieved, oracle)
    assert value == pytest.approx(by_brute_force(as_networkx(graph), retrieved, oracle))
    # Corollary 1: recall, and the rest for the oracle nodes that are missing.
    missing = [node for node in oracle if node not in retrieved]
    rest = m.topological_recall(graph, retrieved, missing)
    recall = m.recall_at_k(retrieved, oracle, len(retrieved))
    assert value == pytest.approx(recall + len(missing) / len(oracle) * rest)


@pytest.mark.parametrize("outside", [[-1], [99], [0.5]])
def test_topological_recall_with_unknown_node_raises(outside) -> None:
    graph = Graph.from_triples([("a", "r", "b")])
    with pytest.raises(OptionError, match="nodes, 0 to 1"):
        m.topological_recall(graph, [0], outside)
