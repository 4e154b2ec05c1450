"""The gradient of what is gathered over arcs, against that of torch by its own operations, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphwright.learn.train.arcs import TensorArcs, side_by_side
from graphwright.learn.train.samples import Sample

H = 5


def sample(seed: int, nodes: int = 8, edges: int = 20) -> Sample:
    """Random triples over all nodes but the last, which nothing leads to."""
    draw = np.random.default_rng(seed)
    heads, tails = draw.integers(0, nodes - 1, (2, edges)).astype(np.int32)
    relation = draw.integers(0, 2, edges).astype(np.int32)
    near = np.zeros((nodes, 1), np.float16)
    return Sample(np.arange(nodes, dtype=np.int32), heads, tails, relation, near, np.zeros(edges, bool), ())


def torch_here() -> Any:
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    return torch


def plain(torch: Any, arcs: TensorArcs, x: Any, gates: Any, gate: Any) -> Any:
    """What is gathered, node by node, by operations whose gradients torch knows."""
    messages, rows = x[arcs.begin] * gates[gate], []
    for node in range(len(x)):
        here = messages[arcs.end == node]
        if not len(here):
            rows.append(torch.zeros(4 * H, dtype=x.dtype))
            continue
        spread = ((here - here.mean(0)) ** 2).mean(0)
        rows.append(torch.cat((here.mean(0), here.max(0).values, here.min(0).values, (spread + 1e-6).sqrt())))
    return torch.stack(rows)


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_that_of_plain_operations(seed: int) -> None:
    torch = torch_here()
    arcs, offsets = side_by_side(torch, [sample(seed), sample(seed + 10)])
    draw = torch.Generator().manual_seed(seed)
    x, gates = torch.randn(int(offsets[-1]), H, generator=draw), torch.randn(8, H, generator=draw)
    gate, slope = arcs.owner * 4 + arcs.way, torch.randn(int(offsets[-1]), 4 * H, generator=draw)
    mine = [value.clone().requires_grad_(True) for value in (x, gates)]
    exact = [value.double().requires_grad_(True) for value in (x, gates)]
    found, wanted = arcs.gathered(*mine, gate), plain(torch, arcs, *exact, gate)
    assert found.detach().numpy() == pytest.approx(wanted.detach().numpy(), abs=1e-5)
    (found * slope).sum().backward()
    (wanted * slope).sum().backward()
    for one, other in zip(mine, exact, strict=True):
        assert one.grad.abs().max() > 1 and one.grad.numpy() == pytest.approx(other.grad.numpy(), abs=1e-4)


def test_of_equal_messages_only_the_first_has_the_gradient_of_the_maximum() -> None:
    torch = torch_here()
    # Nodes 0 and 1 both lead to node 2, with the same message.
    row = Sample(*(np.array(ids, np.int32) for ids in ([0, 1, 2], [0, 1], [2, 2], [0, 0])),
                 np.zeros((3, 1), np.float16), np.zeros(2, bool), ())  # fmt: skip
    arcs, _ = side_by_side(torch, [row])
    x, gates = torch.ones(3, H, requires_grad=True), torch.ones(2, H)
    arcs.gathered(x, gates, arcs.way)[2, H].backward()
    assert x.grad.sum() == 1 and x.grad[0, 0] == 1


def test_graphs_side_by_side_gather_as_each_does_alone() -> None:
    torch = torch_here()
    rows = [sample(seed) for seed in range(4)]
    arcs, offsets = side_by_side(torch, rows)
    draw = torch.Generator().manual_seed(0)
    x, gates = torch.randn(int(offsets[-1]), H, generator=draw), torch.randn(4 * len(rows), H, generator=draw)
    together = arcs.gathered(x, gates, arcs.owner * 4 + arcs.way)
    best = arcs.most(x[arcs.begin])
    for at, row in enumerate(rows):
        own, part = side_by_side(torch, [row])[0], slice(int(offsets[at]), int(offsets[at + 1]))
        assert torch.equal(own.gathered(x[part], gates[4 * at : 4 * at + 4], own.way), together[part])
        assert torch.equal(own.most(x[part][own.begin]), best[part])
        assert torch.equal(own.count, arcs.count[part])
    assert arcs.owner.bincount().tolist() == [2 * len(row.heads) for row in rows]
