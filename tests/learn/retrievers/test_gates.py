"""Walks by the gates of a question, against all walks one by one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tests.toys import GRAPHS

from graphwright.learn.retrievers.arcs import arcs_of, seen
from graphwright.learn.retrievers.gates import ends_of, gates_of, walked

STEPS = 3
Walk = tuple[list[int], list[int], list[int], float]


def logits(ways: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    draw = np.random.default_rng(seed)
    return [
        (draw.normal(0, 2, (1, ways)).astype(np.float32), draw.normal(0, 2, (1, 1)).astype(np.float32))
        for _ in range(STEPS)
    ]


def test_the_most_probable_way_or_end_is_wholly_open() -> None:
    said = logits(6, 1)
    for (ways, end), gate, over in zip(said, gates_of(said), ends_of(said), strict=True):
        every = np.exp(np.append(ways, end))
        assert np.append(gate, over) == pytest.approx(every / every.max(), rel=1e-5)


def whole_walks(name: str, source: int, said: list[tuple[np.ndarray, np.ndarray]]) -> list[Walk]:
    """All walks that never come back to their source: nodes, edges, ways, and the gates of all steps multiplied."""
    at = seen(GRAPHS[name], np.array([source]), 1)
    gates, ends = gates_of(said), ends_of(said)
    level: list[Walk] = [([source], [], [], 1.0)]
    found: list[Walk] = [([source], [], [], float(ends[0][0, 0]))]
    for step in range(STEPS):
        grown: list[Walk] = []
        for (nodes, edges, ways, value), edge in itertools.product(level, range(len(at.heads))):
            head, tail, relation = int(at.heads[edge]), int(at.tails[edge]), int(at.relation[edge])
            for begin, end, way in ((head, tail, 2 * relation + 1), (tail, head, 2 * relation)):
                if begin == nodes[-1] and end != source:
                    grown.append(([*nodes, end], [*edges, edge], [*ways, way], value * float(gates[step][0, way])))
        level = grown
        over = float(ends[step + 1][0, 0]) if step + 1 < STEPS else 1.0  # there is no fourth step
        found += [(nodes, edges, ways, value * over) for nodes, edges, ways, value in level]
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["family", "apart", "loops", "star"])
def test_a_node_an_edge_and_a_step_have_the_best_walk_that_passes_them(name: str, seed: int) -> None:
    graph = GRAPHS[name]
    at = seen(graph, np.array([1]), 1)
    said = logits(2 * len(at.relations), seed)
    walks = whole_walks(name, 1, said)
    found = walked(said, arcs_of(at), at.start)
    assert len(found.nodes()) == STEPS + 1
    for step, values in enumerate(found.nodes()):
        for node in range(len(graph)):
            best = max((value for nodes, _, _, value in walks if nodes[step : step + 1] == [node]), default=0.0)
            assert math.isclose(values[node, 0], best, rel_tol=1e-4, abs_tol=1e-9)
    through = found.edges(at.heads, at.tails, at.relation)
    for edge in range(len(at.edges)):
        best = max((value for _, edges, _, value in walks if edge in edges), default=0.0)
        assert math.isclose(through[edge], best, rel_tol=1e-4, abs_tol=1e-9)
    arcs = [(h, t, 2 * r + 1) for h, r, t in zip(at.heads, at.relation, at.tails, strict=True)]
    for step, (begin, end, way) in itertools.product(range(STEPS), [*arcs, *((t, h, w - 1) for h, t, w in arcs)]):
        taken = [
            value for nodes, _, ways, value in walks
            if nodes[step : step + 2] == [begin, end] and ways[step : step + 1] == [way]
        ]  # fmt: skip
        value = found.steps(step, np.array([begin]), np.array([end]), np.array([way]))[0]
        assert math.isclose(value, max(taken, default=0.0), rel_tol=1e-4, abs_tol=1e-9)
