"""A short form of the exploration of crashes (`benchmarks/attacks/crash.py`): some calls of each operation."""

from __future__ import annotations

import random

import pytest
from attacks.crash import OPERATIONS, explore, scratch_folder

FAST = ("remove", "import into a prepared folder", "delete and create", "train")


@pytest.mark.parametrize("name", FAST)
def test_sampled_crashes_lose_nothing(name: str) -> None:
    with scratch_folder() as scratch:
        explored = explore(name, scratch, random.Random(2), draws=1, share=0.02)
    assert explored.failures == [] and explored.states >= 3


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in FAST])
def test_many_crashes_lose_nothing(name: str) -> None:
    with scratch_folder() as scratch:
        explored = explore(name, scratch, random.Random(3), draws=1, share=0.04)
    assert explored.failures == [] and explored.states >= 3
