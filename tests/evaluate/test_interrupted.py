"""Runs that are killed at any moment, or that two processes start: no result is lost or repeated."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.evaluate.small_run import write_set

from graphwright import Index, files
from graphwright.errors import DataError
from graphwright.evaluate import Experiment
from graphwright.evaluate.run import run
from graphwright.models import HashEncoder

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")

RIVERS = ("Mur", "Drava", "Enns", "Inn", "Traun", "Raab", "Salzach", "Gail")


def written(folder: Path) -> Path:
    corpus = [{"id": r, "title": r, "text": f"The river {r} flows through town number {at}."} for at, r in pairs()]
    asked = [{"id": f"q{at}", "question": f"Where does the {r} flow?", "gold_ids": [r]} for at, r in pairs()]
    return write_set(folder, corpus, asked)


def pairs() -> enumerate[str]:
    return enumerate(RIVERS)


def result(out: Path) -> dict[tuple[str, str], Any]:
    """What was found by each method for each question."""
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len({(row["method"], row["question"]) for row in rows}) == len(rows), "nothing is there twice"
    return {(row["method"], row["question"]): (row["documents"], row["metrics"]) for row in rows}


def forked(experiment: Experiment, out: Path) -> int:
    """Run an experiment in a process of its own, which ends with 0, or 3 and a line that says why."""
    child = os.fork()
    if not child:
        try:
            run(experiment, out, encoder=HashEncoder())
            os._exit(0)
        except BaseException as error:
            os.write(1, f"{type(error).__name__}: {error}\n".encode())
            os._exit(3)
    return child


def killed_again_and_again(given: str, wanted: str) -> None:
    """Begin a run till it was killed at six moments of its life, then let it end; say how often that came too late."""
    rng, experiment, out = random.Random(3), Experiment(Path(given), ("bm25", "vector", "hybrid")), Path(wanted)
    with_all = Index.create(out.parent / "loaded", encoder=HashEncoder())  # children begin with all that it needs
    with_all.add([{"id": "a", "text": "Graz lies on the Mur."}])
    with_all.close()
    begun = time.perf_counter()
    assert os.waitpid(forked(experiment, out.with_name("whole")), 0)[1] == 0
    seconds = time.perf_counter() - begun
    late = 0
    for at in range(6):
        child = forked(experiment, out)
        time.sleep(seconds * (at + rng.random()) / 12)
        os.kill(child, signal.SIGKILL)
        late += os.waitpid(child, 0)[1] != signal.SIGKILL
    first = forked(experiment, out)
    begun = time.perf_counter()
    while not (out / "results.jsonl").exists() and time.perf_counter() - begun < 60:
        time.sleep(0.001)
    second = forked(experiment, out)
    print(f"late {late} second {os.waitpid(second, 0)[1]} first {os.waitpid(first, 0)[1]}")


@pytest.mark.slow
def test_killed_run_continues_to_same_result(tmp_path: Path) -> None:
    data, out = written(tmp_path / "data"), tmp_path / "out"
    call = "import sys; from tests.evaluate import test_interrupted as it; it.killed_again_and_again(*sys.argv[1:])"
    path = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", call, str(data), str(out)]
    message = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    *_, last = message.stdout.splitlines() or [message.stderr]
    assert message.returncode == 0, message
    late, second, first = (int(word) for word in last.split()[1::2])
    assert late < 5, "some were killed before their end"
    assert 0 in (first, second), message
    if first or second:  # one of the two came while the other was at work
        assert "BeingWritten" in message.stdout and "cannot be written now" in message.stdout
    assert result(out) == result(tmp_path / "whole") and len(result(out)) == 3 * len(RIVERS)
    left = {path.name for path in out.iterdir()}
    assert left == {path.name for path in (tmp_path / "whole").iterdir()}


def test_run_killed_before_manifest_restarts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, out, made = Experiment(written(tmp_path / "data"), ("bm25",)), tmp_path / "out", tmp_path / "made"
    index = Index.create(made, encoder=HashEncoder(), extractor="mentions")
    index.add([{"id": r, "title": r, "text": f"The river {r} flows through town number {at}."} for at, r in pairs()])
    index.close()

    def full(old: Path, new: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "replace", full)
        with pytest.raises(DataError, match=r"manifest.json cannot be written.*No space"):
            run(experiment, out, index=made, encoder=HashEncoder())
    (out / ".manifest.json.123.draft").touch()  # as one that is killed leaves it
    run(experiment, out, index=made, encoder=HashEncoder())
    assert len(result(out)) == len(RIVERS)
