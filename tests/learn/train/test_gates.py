"""What the gates learn from: the steps of the paths that were kept."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from graphwright.learn.train.gates import begun_gates, gate_loss
from graphwright.learn.train.samples import Sample


def torch_here() -> Any:
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    return torch


def sample(*ways: tuple[int, ...]) -> Sample:
    nothing, near = np.empty(0, np.int32), np.empty((0, 1), np.float16)
    return Sample(nothing, nothing, nothing, nothing, near, np.empty(0, bool), ways)


def test_each_step_of_a_kept_path_is_taught_and_its_end() -> None:
    torch = torch_here()
    draw = torch.Generator().manual_seed(0)
    said = [(torch.randn(2, 4, generator=draw), torch.randn(2, 1, generator=draw)) for _ in range(3)]
    # One question has a path of one step and one of three, to which nothing comes after; the other one of two.
    rows = [sample((1,), (2, 0, 3)), sample((3, 3))]
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
        ways, end = said[at % 3]
        logits = [*ways[row].tolist(), *end[row].tolist()]
        most = math.log(sum(map(math.exp, logits)))
        wanted -= sum(share * (logits[way] - most) for way, share in shares)
    assert gate_loss(torch, said, rows).item() == pytest.approx(wanted, rel=1e-5)


def test_a_question_without_a_path_teaches_nothing() -> None:
    torch = torch_here()
    said = [(torch.ones(1, 4), torch.ones(1, 1))]
    assert gate_loss(torch, said, [sample()]).item() == 0


def test_gates_begin_with_a_weight_for_each_step() -> None:
    torch = torch_here()
    begun = begun_gates(torch, torch.Generator().manual_seed(0), 6, 5, 2)
    assert {f"{name} {step}" for name in ("gate", "gate end", "gate bias") for step in range(2)} < set(begun)
    assert begun["gate question"].shape == (6, 5) and begun["gate 1"].shape[0] == 5
