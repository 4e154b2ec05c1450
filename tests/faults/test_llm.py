"""The short form of benchmarks/attacks/llm.py: a few attacks of each kind on a call over HTTP or TLS."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
pytestmark = [
    pytest.mark.skipif(not BENCHMARKS.exists(), reason="the benchmarks are not here"),
    pytest.mark.skipif(not shutil.which("openssl"), reason="openssl makes the certificate"),
]
ATTACKS = {"wrong types": 12, "retry-after": 12, "redirects": 8, "slow": 3, "broken HTTP": 15}
ATTACKS |= {"certificates": 2, "handshakes": 4}


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_hostile_server_gives_named_error_in_time(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    from attacks import llm as fault_llm

    assert {*ATTACKS} == {*fault_llm.ATTACKS}
    rng, context = random.Random(5), fault_llm.certificate(tmp_path) if name == "certificates" else None
    failures = [problem for _ in range(ATTACKS[name]) for problem in fault_llm.attack(name, rng, context)[1]]
    if name in fault_llm.attacks_on("function"):
        failures += [problem for _ in range(2) for problem in fault_llm.attack(name, rng, context, "function")[1]]
    assert not failures
