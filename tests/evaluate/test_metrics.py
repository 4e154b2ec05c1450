"""Metrics of rankings, answers and topological recall: worked values, laws, errors, and rankings by budget."""

from __future__ import annotations

import math
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.toys import GRAPHS, corpus_index, vectors_of

from graphwright import Evidence, GRanker, Graph, Keep, Rerank, STeX, VectorSearch, start, topological_recall
from graphwright.errors import OptionError
from graphwright.evaluate import metrics as m
from graphwright.evaluate.metrics import budget_gain, rankings_by_budget
from graphwright.methods.registry import make_method
from graphwright.models import OverlapCrossEncoder
from graphwright.operators import Frontier, Reached, Repeat, Unseen
from graphwright.operators.operator import Operator

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
def test_ranking_metric_has_the_value_worked_by_hand(metric, gold, k, value) -> None:
    assert metric(RANKED, gold, k) == pytest.approx(value)


@pytest.mark.parametrize("metric", [m.recall_at_k, m.capped_recall_at_k, m.ndcg_at_k])
@pytest.mark.parametrize("k", [0, -1, 2.5, True])
def test_k_that_is_no_number_of_places_is_refused(metric, k) -> None:
    with pytest.raises(OptionError, match="k is"):
        metric(RANKED, ["p1"], k)


@given(ids, ids, places)
def test_ranking_metrics_keep_their_laws(ranked, gold, k) -> None:
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
def test_answer_metric_has_the_value_worked_by_hand(metric, predicted, gold, value) -> None:
    assert metric(predicted, gold) == pytest.approx(value)


PREDICTED = [["Graz", "graz.", "Linz"], [], ["Mur"]]
GOLD = [["Graz"], ["Wien", "Linz", "Steyr"], ["The Mur"]]


def test_f1_over_questions_counts_each_question_or_each_answer_alike() -> None:
    assert m.macro_f1(PREDICTED, GOLD) == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert m.micro_f1(PREDICTED, GOLD) == pytest.approx(2 * 2 / ((2 + 0 + 1) + (1 + 3 + 1)))


@pytest.mark.parametrize("metric", [m.macro_f1, m.micro_f1])
def test_f1_takes_one_question_as_its_lists(metric) -> None:
    assert metric(["Graz", "Linz"], ["Graz"]) == pytest.approx(2 / 3)
    assert metric([["Graz", "Linz"]], [["Graz"]]) == pytest.approx(2 / 3)
    assert metric("Graz", ["Graz"]) == 1
    assert metric([], []) == metric([[]], [[]]) == 1
    assert metric(["Graz", "Mur"], [["Graz"], ["Mur"]]) == 1  # a text is a question's only answer


@pytest.mark.parametrize("metric", [m.macro_f1, m.micro_f1])
def test_f1_refuses_lists_of_different_length(metric) -> None:
    with pytest.raises(OptionError, match="2 questions and accepted answers for 3"):
        metric(PREDICTED[:2], GOLD)


@pytest.mark.parametrize("metric", [m.hits_at_1, m.hit, m.exact_match, m.token_f1, m.macro_f1, m.micro_f1])
def test_answers_that_are_no_texts_are_refused(metric) -> None:
    with pytest.raises(OptionError, match="give a string or a list of strings"):
        metric([3], ["Graz"])


answers = st.lists(st.text("ab the.$", max_size=6), max_size=4)


@given(answers, answers)
def test_answer_metrics_keep_their_laws(predicted, gold) -> None:
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


def test_topological_recall_takes_the_cheapest_of_the_shortest_paths() -> None:
    graph = Graph.from_triples((a, "r", b) for a, b in EDGES)
    hub, end, lone = graph.id("hub"), graph.id("end"), graph.id("lone")
    # hub (2 neighbours: loop and repeated edge do not count), spoke or rim (2), far (3)
    cost = math.log(3) + math.log(3) + math.log(4)
    assert m.topological_recall(graph, [hub], [end]) == pytest.approx(1 / (1 + cost))
    mean = (1 / (1 + cost) + 0 + 1) / 3
    assert m.topological_recall(graph, [hub, hub], [end, lone, hub, hub]) == pytest.approx(mean)
    assert m.topological_recall(graph, [], [end]) == m.topological_recall(graph, [hub], []) == 0


def test_topological_recall_sees_the_snapshot_from_a_part_of_it() -> None:
    graph = Graph.from_triples((f"n{i}", "r", f"n{j}") for i, j in pairwise(range(5)))
    assert m.topological_recall(graph.part([0, 4]), [0], [4]) == m.topological_recall(graph, [0], [4]) > 0


edges = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=25)


@given(edges, st.data())
def test_topological_recall_agrees_with_brute_force(pairs, data) -> None:
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
    missed = m.missed_topological_recall(graph, retrieved, oracle)
    assert missed == pytest.approx(value - recall) == pytest.approx(len(missing) / len(oracle) * rest)


def test_the_decomposition_of_corollary_1_in_numbers() -> None:
    """a - b - c, and d apart; a and d retrieved, a, c and e wanted: TR = Recall + |missing|/|oracle| · TR(missing)."""
    graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("d", "r", "e"), ("d", "r", "f")])
    retrieved, oracle = [graph.id("a"), graph.id("d")], [graph.id(name) for name in "ace"]
    to_c = 1 / (1 + math.log(1 + 1) + math.log(1 + 2))  # by a (one neighbour) and b (two)
    to_e = 1 / (1 + math.log(1 + 2))  # by d
    assert m.recall_at_k(retrieved, oracle, 2) == pytest.approx(1 / 3)
    assert m.topological_recall(graph, retrieved, oracle[1:]) == pytest.approx((to_c + to_e) / 2)
    assert m.missed_topological_recall(graph, retrieved, oracle) == pytest.approx(2 / 3 * (to_c + to_e) / 2)
    assert m.topological_recall(graph, retrieved, oracle) == pytest.approx(1 / 3 + 2 / 3 * (to_c + to_e) / 2)


@given(st.integers(2, 40), st.data())
def test_the_decomposition_holds_on_any_graph_and_its_ends_are_recall_alone(n, data) -> None:
    pairs = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60))
    # A loop is no edge, but it makes each node one of the graph.
    graph = Graph.from_triples([(str(v), "r", str(v)) for v in range(n)] + [(str(a), "r", str(b)) for a, b in pairs])
    nodes = st.lists(st.integers(0, n - 1), max_size=8)
    retrieved, oracle = set(data.draw(nodes)), set(data.draw(nodes.filter(bool)))
    recall = len(retrieved & oracle) / len(oracle)
    whole, missed = (
        f(graph, sorted(retrieved), sorted(oracle)) for f in (m.topological_recall, m.missed_topological_recall)
    )
    assert whole == pytest.approx(recall + missed) and 0 <= missed <= 1 - recall + 1e-12
    if oracle <= retrieved or not retrieved or not pairs:
        assert missed == 0 and whole == pytest.approx(recall)
    # What is retrieved besides can only bring missing nodes nearer.
    more = m.topological_recall(graph, sorted(retrieved | {0}), sorted(oracle))
    assert more >= whole - 1e-12


def test_missed_topological_recall_counts_only_what_was_not_retrieved() -> None:
    graph = Graph.from_triples((a, "r", b) for a, b in EDGES)
    hub, end, lone = graph.id("hub"), graph.id("end"), graph.id("lone")
    near = 1 / (1 + math.log(3) + math.log(3) + math.log(4))  # of the end, as above
    assert m.missed_topological_recall(graph, [hub], [hub, end, end, lone]) == pytest.approx(near / 3)
    assert m.missed_topological_recall(graph, [hub], [hub]) == m.missed_topological_recall(graph, [hub], []) == 0
    assert m.missed_topological_recall(graph, [], [hub, end]) == 0


@pytest.mark.parametrize("outside", [[-1], [99], [0.5]])
def test_topological_recall_refuses_what_is_no_node(outside) -> None:
    graph = Graph.from_triples([("a", "r", "b")])
    for metric in (m.topological_recall, m.missed_topological_recall):
        with pytest.raises(OptionError, match="nodes, 0 to 1"):
            metric(graph, [0], outside)


CLUB = GRAPHS["club"]
SEARCH, MODEL = VectorSearch(vectors_of(CLUB)), OverlapCrossEncoder()
QUESTION = "member 3 or member 17"


def re2(budget: int) -> Operator:
    return SEARCH % budget >> Rerank(MODEL)


def gar(budget: int) -> Operator:
    rank = Rerank(MODEL)
    turns = (Keep() | Frontier() % 3) >> rank >> (Keep() | Unseen(SEARCH) % 3) >> rank
    return SEARCH % 3 >> rank >> Repeat(turns, until=Reached(nodes=budget))


def fastinsight(budget: int) -> Operator:
    rank = GRanker(MODEL)
    return SEARCH % 3 >> rank >> Repeat((Keep() | STeX(vectors_of(CLUB)) % 3) >> rank, until=Reached(nodes=budget))


@pytest.mark.parametrize("method", [re2, gar, fastinsight])
def test_one_run_holds_those_with_smaller_budgets(method) -> None:
    ranked = rankings_by_budget(method(20)(start(QUESTION, CLUB)), batch=3)
    assert list(ranked) == [3, 6, 9, 12, 15, 18, 20]
    for budget, nodes in ranked.items():
        result = method(budget)(start(QUESTION, CLUB)).evidence
        assert result is not None and result.nodes.tolist() == nodes.tolist()


@pytest.mark.parametrize("name", ["rerank", "gar", "fastinsight"])
def test_the_methods_of_the_registry_can_be_looked_into(name: str) -> None:
    ix = corpus_index().snapshot
    options = {} if name == "rerank" else {"batch": 2}
    state = make_method(name, ix, cross_encoder=MODEL, **options)(start("Who was queen of Lotharingia?", ix.graph))
    ranked = rankings_by_budget(state, batch=2)
    assert state.passages is not None and ranked[max(ranked)].tolist() == state.passages.ids.tolist()
    assert min(ranked) == 2 and [len(nodes) for nodes in ranked.values()] == list(ranked)


def test_a_ranking_that_was_cut_or_began_the_run_stands_for_itself_alone() -> None:
    cut = rankings_by_budget((SEARCH % 9 >> Rerank(MODEL) % 4)(start(QUESTION, CLUB)), batch=3)
    assert [(read, len(nodes)) for read, nodes in cut.items()] == [(9, 4)]
    first = rankings_by_budget(Rerank(MODEL)(start(QUESTION, CLUB, evidence=Evidence.of_nodes(range(7)))), batch=3)
    assert list(first) == [7]
    smoothed = rankings_by_budget((SEARCH % 9 >> GRanker(MODEL))(start(QUESTION, CLUB)), batch=3)
    assert list(smoothed) == [9]


def test_a_run_without_a_reranker_is_refused() -> None:
    with pytest.raises(OptionError, match=r"No step of this run reranks; its steps: VectorSearch\("):
        rankings_by_budget((SEARCH % 3)(start(QUESTION, CLUB)))
    with pytest.raises(OptionError, match="batch is 0"):
        rankings_by_budget(re2(3)(start(QUESTION, CLUB)), batch=0)


def test_worked_numbers() -> None:
    """a - b - c - d - e: at first a is read, then c; d and e should be found, and a."""
    line = GRAPHS["line"]
    ranked = {1: np.array([0]), 2: np.array([2, 0]), 3: np.array([3, 2, 0])}
    u_d = math.log(2) + math.log(3) + math.log(3)  # by a, b and c
    u_e = u_d + math.log(3)  # and d
    curve = {read: topological_recall(line, nodes, [0, 3, 4]) for read, nodes in ranked.items()}
    assert curve == pytest.approx(
        {
            1: (1 + 1 / (1 + u_d) + 1 / (1 + u_e)) / 3,
            2: (1 + 1 / (1 + math.log(3)) + 1 / (1 + math.log(3) + math.log(3))) / 3,
            3: (1 + 1 + 1 / (1 + math.log(3))) / 3,
        }
    )
    recall, missed, gained = budget_gain(line, ranked, [0, 3, 4])
    assert recall == pytest.approx(1 / 3) and gained == pytest.approx(1 / 3)
    assert missed == pytest.approx((1 / (1 + u_d) + 1 / (1 + u_e)) / 3)


@given(st.permutations(range(34)), st.lists(st.integers(0, 33), min_size=1, max_size=5))
def test_the_parts_add_up_and_more_reading_loses_nothing(order: list[int], wanted: list[int]) -> None:
    ranked = {read: np.array(order[:read]) for read in (4, 8, 16)}
    curve = [topological_recall(CLUB, nodes, wanted) for nodes in ranked.values()]
    assert curve == sorted(curve)
    recall, missed, gained = budget_gain(CLUB, ranked, wanted)
    assert recall + missed == pytest.approx(curve[0]) == topological_recall(CLUB, order[:4], wanted)
    assert gained == pytest.approx(len(set(wanted) & set(order[4:16])) / len(set(wanted)))


def test_a_run_of_one_batch_gains_nothing() -> None:
    apart = Graph.from_triples([("a", "r", "b"), ("c", "r", "d")])
    assert budget_gain(apart, {1: [0]}, [2]) == (0.0, 0.0, 0.0)
