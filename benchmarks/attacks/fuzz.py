"""Fuzz every parser, the command line, questions, options and a server (see `fuzzing/targets.py`).

Inputs are valid ones with another value (see `fuzzing/values.py`) or random edits, of Hypothesis, which shortens what
fails. `--inputs DIR` keeps inputs with a new outcome, from which later runs go on, and inputs that fail. `--minutes` is
shared by the targets.
"""

from __future__ import annotations

import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzing.values import VALUES, with_value
from harness import Record

if TYPE_CHECKING:
    from fuzzing.targets import Target
    from hypothesis.strategies import SearchStrategy

SLOW = 10.0  # seconds for one input of a few kilobytes
MAX_EDITS = 8


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--inputs", type=Path, help="folder of inputs that are kept")
    parser.add_argument("--targets", nargs="+", metavar="TARGET", help="targets of fuzzing (default: all)")


def run(options: Namespace) -> Record:
    """Fuzz the targets in turn; return the numbers of inputs and the failures."""
    from fuzzing.targets import TARGETS

    names = options.targets or list(TARGETS)
    failures: list[str] = []
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as scratch:
        corpus = options.inputs or Path(scratch)
        for name in names:
            folder, seconds = corpus / name, 60 * options.minutes / len(names)
            folder.mkdir(parents=True, exist_ok=True)
            counts[name], failed = fuzz(TARGETS[name], folder, seconds, options.seed)
            failures += failed
    return {"engine": "hypothesis", "inputs": counts, "failures": failures}


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
