"""The short form of `benchmarks/attacks/server.py`: two servers are ended while jobs change their index."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from attacks.server import Attack, Attempt, attack
from harness import scratch_folder


@pytest.mark.slow
def test_jobs_survive_killed_servers() -> None:
    with scratch_folder() as folder:
        made = attack(random.Random(3), folder, servers=2, seconds=1.0)
    assert made.failures == [] and made.counts["jobs done"] > 0


def test_document_without_job_is_reported(tmp_path: Path) -> None:
    made = Attack(random.Random(0), tmp_path, tmp_path)
    made.attempts += [Attempt({"d0.txt": "one"}, "a"), Attempt({"d0.txt": "two"}, "b"), Attempt({"d1.txt": None}, "c")]
    done = [{"id": id, "state": "done"} for id in "abc"]
    assert made.possible(done)["d0.txt"] == {"two"} and made.possible(done)["d1.txt"] == {None}
    cancelled = [done[0], {"id": "b", "state": "cancelled"}]
    assert made.possible(cancelled)["d0.txt"] == {"one", "two"}
    assert made.failures == ["the job b is cancelled, and nobody asked for it"]
    lost = [done[0], {"id": "of a lost reply", "state": "done"}]
    made.attempts.append(Attempt({"d0.txt": "three"}))
    assert made.possible(lost)["d0.txt"] == {"one", "three"}
