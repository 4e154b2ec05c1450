"""The short form of benchmarks/attacks/damage.py: files of two indexes, each damaged in one way."""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked"),
    pytest.mark.skipif(not BENCHMARKS.exists(), reason="the benchmarks are not here"),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["documents in blocks", "graph in blocks"])
def test_damaged_file_gives_error_or_right_answer(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    from attacks import damage as fault_damage

    folder = fault_damage.make_indexes(tmp_path)[name]
    assert list(folder.rglob("*.blocks.npy"))
    outcomes: Counter[str] = Counter()
    failures = fault_damage.attack(folder, random.Random(3), time.monotonic() + 600, outcomes, rounds=1)
    assert not failures and outcomes["error or problem"] > 3
