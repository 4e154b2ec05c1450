"""The short form of benchmarks/attacks/commands.py: some commands under each attack that needs no disk of its own."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
pytestmark = [
    pytest.mark.skipif(not BENCHMARKS.exists(), reason="the benchmarks are not here"),
    pytest.mark.skipif(sys.platform != "linux", reason="children are forked, and their files are listed in /proc"),
    pytest.mark.slow,
]
ATTACKED = {"signals": "remove", "few files": "remove", "small files": "remove", "streams": "ask", "links": "verify"}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        patch.delenv("GRAPHWRIGHT_TRACEBACK", raising=False)
        from attacks import commands as fault_commands

        yield fault_commands.Bench(tmp_path_factory.mktemp("disk"), tmp_path_factory.mktemp("streams"))


@pytest.mark.parametrize("kind", ATTACKED)
def test_attacked_command_ends_with_message_and_can_be_repeated(kind: str, bench: Any) -> None:
    from attacks import commands as fault_commands

    assert {*ATTACKED, "full disk", "read-only"} == {*fault_commands.ATTACKS}
    rng = random.Random(4)
    failures = [problem for _ in range(2) for problem in fault_commands.attack(kind, ATTACKED[kind], bench, rng)[1]]
    assert not failures


def test_command_breaking_its_promise_is_reported(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from attacks import commands as fault_commands

    def broken() -> None:
        os.write(2, b"Traceback (most recent call last): the index is damaged\n")
        os._exit(7)

    monkeypatch.setattr(fault_commands, "main", broken)
    bench.expected["verify"] = bench.seconds["verify"] = 0
    _, problems = fault_commands.attack("small files", "verify", bench, random.Random(1))
    assert {"it ended with 7", "a traceback", "a false reason"} <= {p.split(": ")[1].split(" [")[0] for p in problems}
    del bench.expected["verify"]
