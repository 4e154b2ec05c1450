"""The short form of benchmarks/attacks/load.py: mixed operations against a model, memory and open files flat."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.slow
@pytest.mark.skipif(not BENCHMARKS.exists(), reason="the benchmarks are not here")
def test_mixed_operations_equal_model_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    from attacks import load as fault_load

    assert fault_load.mixed(tmp_path / "index", 200, seed=7)["failures"] == []
