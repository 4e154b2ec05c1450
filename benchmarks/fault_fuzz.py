"""Fuzz every parser, the command line, questions, options and a server (see `fuzz_targets`).

Inputs are valid ones with another value (see `fuzz_values`) or random edits, of Hypothesis, which shortens what fails;
or with `--engine atheris` those of a fuzzer that follows coverage (`pip install atheris`). `--inputs DIR` keeps inputs
with a new outcome, from which later runs go on, and inputs that fail. `--minutes` is shared by the targets.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz_values import VALUES, with_value
from harness import Record

if TYPE_CHECKING:
    from fuzz_targets import Target
    from hypothesis.strategies import SearchStrategy

SLOW = 10.0  # seconds for one input of a few kilobytes
MAX_EDITS = 8


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--inputs", type=Path, help="folder of inputs that are kept")
    parser.add_argument("--engine", choices=["hypothesis", "atheris"], default="hypothesis")
    parser.add_argument("--targets", nargs="+", metavar="TARGET", help="targets of fuzzing (default: all)")


def run(options: Namespace) -> Record:
    """Fuzz the targets in turn; return the numbers of inputs and the failures."""
    from fuzz_targets import TARGETS

    names = options.targets or list(TARGETS)
    failures: list[str] = []
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as scratch:
        corpus = options.inputs or Path(scratch)
        for name in names:
            folder, seconds = corpus / name, 60 * options.minutes / len(names)
            folder.mkdir(parents=True, exist_ok=True)
            if options.engine == "atheris":
                failures += by_atheris(name, folder, seconds)
            else:
                counts[name], failed = fuzz(TARGETS[name], folder, seconds, options.seed)
                failures += failed
    return {"engine": options.engine, "inputs": counts, "failures": failures}


def fuzz(target: Target, folder: Path, seconds: float, seed: int) -> tuple[int, list[str]]:
    """Fuzz a target; return the number of inputs, and a text for what failed first."""
    import hypothesis
    from hypothesis.database import DirectoryBasedExampleDatabase

    outcomes: Counter[str] = Counter()
    pool = [*target.inputs(), *(path.read_bytes() for path in sorted(folder.glob("*.input")))]
    end, tried, last = time.monotonic() + seconds, 0, b""

    def attempt(data: bytes) -> None:
        nonlocal tried, last
        tried, last = tried + 1, data
        begun = time.thread_time()
        outcome = target.check(data)
        assert time.thread_time() - begun < SLOW, f"took {time.thread_time() - begun:.1f} s"
        outcomes[outcome] += 1
        if outcomes[outcome] == 1 and len(data) < 10_000:
            _save(folder, data, "input")
            pool.append(data)

    options = hypothesis.settings(
        max_examples=50,
        deadline=None,
        database=DirectoryBasedExampleDatabase(folder / "failing"),
        suppress_health_check=list(hypothesis.HealthCheck),
        print_blob=False,
    )
    while tried == 0 or time.monotonic() < end:
        seed += 1
        check = hypothesis.seed(seed)(options(hypothesis.given(edited(tuple(pool), target.parts))(attempt)))
        try:
            check()
        except Exception as error:
            kept = _save(folder, last, "failed")
            return tried, [
                f"{target.name}: {type(error).__name__}: {str(error)[:200]} for {last[:200]!r} ({kept.name})"
            ]
    return tried, []


def _save(folder: Path, data: bytes, suffix: str) -> Path:
    path = folder / f"{blake2b(data, digest_size=8).hexdigest()}.{suffix}"
    path.write_bytes(data)
    return path


def edited(seeds: tuple[bytes, ...], parts: tuple[bytes, ...]) -> SearchStrategy[bytes]:
    """Return a strategy of seeds with another value in them, and of those with a few parts replaced or repeated."""
    from hypothesis import strategies as st

    piece = st.sampled_from(parts) | st.binary(max_size=4) if parts else st.binary(max_size=8)
    edit = st.tuples(st.floats(0, 1), st.integers(0, 20), piece, st.sampled_from((1, 1, 1, 3, 50)))

    def apply(seed: bytes, edits: list[tuple[float, int, bytes, int]]) -> bytes:
        for place, removed, inserted, times in edits:
            at = int(place * len(seed))
            seed = seed[:at] + inserted * times + seed[at + removed :]
        return seed

    revalued = st.builds(with_value, st.sampled_from(seeds), st.floats(0, 1), st.sampled_from(VALUES), st.booleans())
    byte_edits = st.builds(apply, st.sampled_from(seeds) | revalued, st.lists(edit, max_size=MAX_EDITS))
    return revalued | byte_edits


def by_atheris(name: str, folder: Path, seconds: float) -> list[str]:
    """Fuzz a target by Atheris, in a process of its own, which it ends; return what failed."""
    command = [sys.executable, __file__, name, str(folder), str(max(int(seconds), 1))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
    if done.returncode == 0:
        return []
    lines = [line for line in done.stderr.splitlines() if "Error" in line or "Exception" in line]
    return [f"{name}: {' '.join(lines[-3:])[:300] or done.stderr[-300:]}"]


def _atheris(name: str, folder: str, seconds: str) -> None:
    """Fuzz one target until the time is over; the corpus is a folder of inputs."""
    import atheris

    with atheris.instrument_imports(include=["graphwright"]):
        from fuzz_targets import TARGETS
    target = TARGETS[name]
    for data in target.inputs():
        _save(Path(folder), data, "input")

    def check(data: bytes) -> None:
        target.check(data)

    limits = [f"-max_total_time={seconds}", "-max_len=8192", f"-timeout={SLOW:.0f}", "-rss_limit_mb=4096"]
    atheris.Setup([name, folder, f"-artifact_prefix={folder}/", *limits], check)
    atheris.Fuzz()


if __name__ == "__main__":
    _atheris(*sys.argv[1:4])
