"""Walks scored by the gates of a question, compared with an enumeration of all walks."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tests.learn.torch_here import torch_here
from tests.shared import GRAPHS

from graphwright.learn.network import best_walks, directed_edges, gate_loss, open_gates, view_graph

STEPS = 3
Walk = tuple[list[int], list[int], list[int], float]


def logits(ways: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    draw = np.random.default_rng(seed)
    return [
        (draw.normal(0, 2, (1, ways)).astype(np.float32), draw.normal(0, 2, (1, 1)).astype(np.float32))
        for _ in range(STEPS)
    ]


def test_most_probable_gate_is_fully_open() -> None:
    message = logits(6, 1)
    for (ways, end), (gate, over) in zip(message, open_gates(message), strict=True):
        every = np.exp(np.append(ways, end))
        assert np.append(gate, over) == pytest.approx(every / every.max(), rel=1e-5)


def whole_walks(name: str, source: int, message: list[tuple[np.ndarray, np.ndarray]]) -> list[Walk]:
    """All walks from a source: nodes, edges, ways, and the gates of all steps multiplied."""
    at, _ = view_graph(GRAPHS[name], np.array([source]), 1)
    gates, ends = zip(*open_gates(message), strict=True)
    level: list[Walk] = [([source], [], [], 1.0)]
    result: list[Walk] = [([source], [], [], float(ends[0][0, 0]))]
    for step in range(STEPS):
        grown: list[Walk] = []
        for (nodes, edges, ways, value), edge in itertools.product(level, range(len(at.heads))):
            head, tail, relation = int(at.heads[edge]), int(at.tails[edge]), int(at.relation[edge])
            for begin, end, way in ((head, tail, 2 * relation + 1), (tail, head, 2 * relation)):
                if begin == nodes[-1]:
                    grown.append(([*nodes, end], [*edges, edge], [*ways, way], value * float(gates[step][0, way])))
        level = grown
        over = float(ends[step + 1][0, 0]) if step + 1 < STEPS else 1.0  # there is no fourth step
        result += [(nodes, edges, ways, value * over) for nodes, edges, ways, value in level]
    return result


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["family", "apart", "loops", "star"])
def test_node_edge_and_step_take_best_walk(name: str, seed: int) -> None:
    graph = GRAPHS[name]
    at, relations = view_graph(graph, np.array([1]), 1)
    message = logits(2 * len(relations), seed)
    walks = whole_walks(name, 1, message)
    result = best_walks(message, directed_edges([at]), at.distances[:, :1])
    assert len(result.nodes()) == STEPS + 1
    for step, values in enumerate(result.nodes()):
        for node in range(len(graph)):
            best = max((value for nodes, _, _, value in walks if nodes[step : step + 1] == [node]), default=0.0)
            assert math.isclose(values[node, 0], best, rel_tol=1e-4, abs_tol=1e-9)
    through = result.edges(at.heads, at.tails, at.relation)
    for edge in range(len(at.heads)):
        best = max((value for _, edges, _, value in walks if edge in edges), default=0.0)
        assert math.isclose(through[edge], best, rel_tol=1e-4, abs_tol=1e-9)
    arcs = [(h, t, 2 * r + 1) for h, r, t in zip(at.heads, at.relation, at.tails, strict=True)]
    for step, (begin, end, way) in itertools.product(range(STEPS), [*arcs, *((t, h, w - 1) for h, t, w in arcs)]):
        taken = [
            value for nodes, _, ways, value in walks
            if nodes[step : step + 2] == [begin, end] and ways[step : step + 1] == [way]
        ]  # fmt: skip
        value = result.steps(step, np.array([begin]), np.array([end]), np.array([way]))[0]
        assert math.isclose(value, max(taken, default=0.0), rel_tol=1e-4, abs_tol=1e-9)


def test_gates_train_on_each_step_and_end() -> None:
    torch = torch_here()
    draw = torch.Generator().manual_seed(0)
    message = [(torch.randn(2, 4, generator=draw), torch.randn(2, 1, generator=draw)) for _ in range(3)]
    # One question has a path of one step and one of three, to which nothing comes after; the other one of two.
    rows = [[(1,), (2, 0, 3)], [(3, 3)]]
    taken = [
        (0, [(1, 0.5), (2, 0.5)]),
        (0, [(4, 0.5), (0, 0.5)]),
        (0, [(3, 0.5)]),
        (1, [(3, 1)]),
        (1, [(3, 1)]),
        (1, [(4, 1)]),
    ]
    wanted = 0.0
    for at, (row, shares) in enumerate(taken):
        ways, end = message[at % 3]
        logits = [*ways[row].tolist(), *end[row].tolist()]
        most = math.log(sum(map(math.exp, logits)))
        wanted -= sum(share * (logits[way] - most) for way, share in shares)
    assert gate_loss(torch, message, rows).item() == pytest.approx(wanted, rel=1e-5)


def test_question_without_path_trains_nothing() -> None:
    torch = torch_here()
    message = [(torch.ones(1, 4), torch.ones(1, 1))]
    assert gate_loss(torch, message, [[]]).item() == 0
