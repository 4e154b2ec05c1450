"""Damage every file of an index, and check that each ends in a clear error or in the right answer.

Two indexes are damaged, one of documents and one of an imported graph, each with its arrays verified whole when they
are opened, and in blocks when they are read. A file is flipped in one bit, flipped in many, overwritten with zeros for
a page, cut short, made longer, or removed; a process of its own then asks the index and verifies it. It may not end by
a signal or an error that is not graphwright's, nor give another answer than the undamaged index.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import Record, in_child

from graphwright.errors import GraphwrightError
from graphwright.graph import storage
from graphwright.graph.graph import Graph
from graphwright.index_folder.index import Index
from graphwright.models.fake import HashEncoder

ENCODER = HashEncoder(16)
METHODS = {"documents": ("bm25", "vector", "ppr", "hipporag2"), "graph": ("graph", "ppr", "pathrag")}
QUESTION = "Which river flows through town 17?"
PAGE = 4096


def _flip(data: bytearray, rng: random.Random, times: int = 1) -> None:
    for _ in range(times):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _zero(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data)) // PAGE * PAGE
    part = data[at : at + PAGE]
    data[at : at + PAGE] = bytes(len(part))


def _cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def _lengthen(data: bytearray, rng: random.Random) -> None:
    data.extend(rng.randbytes(rng.randrange(1, PAGE)))


DAMAGES: dict[str, Callable[[bytearray, random.Random], None] | None] = {
    "one bit": _flip,
    "many bits": lambda data, rng: _flip(data, rng, 50),
    "a page of zeros": _zero,
    "cut short": _cut,
    "longer": _lengthen,
    "missing": None,
}


def make_indexes(folder: Path, towns: int = 60) -> dict[str, Path]:
    """Make the indexes; the names of those with arrays in blocks end in "in blocks"."""
    rows = [(f"town {i}", "lies on", f"river {i % 7}") for i in range(towns)]
    rows += [(f"river {i % 7}", "flows into", f"river {i % 3}") for i in range(towns)]
    texts = [
        {"id": f"{i}", "title": f"Town {i}", "text": f"Town {i} lies on the River {i % 7}, near Town {i + 1}."}
        for i in range(towns)
    ]
    made, usual = {}, storage.IN_BLOCKS
    try:
        for suffix, bytes_ in {"": usual, " in blocks": 0}.items():
            storage.IN_BLOCKS = bytes_
            made[f"documents{suffix}"] = folder / f"documents{suffix}"
            with Index.create(made[f"documents{suffix}"], encoder=ENCODER) as index:
                index.add(texts)
            made[f"graph{suffix}"] = folder / f"graph{suffix}"
            Index.from_graph(made[f"graph{suffix}"], Graph.from_triples(rows), encoder=ENCODER).close()
    finally:
        storage.IN_BLOCKS = usual
    return made


def answers(folder: Path) -> dict[str, Any]:
    """Ask an index by some methods; return what each retrieves, or the error it ends in."""
    found: dict[str, Any] = {}
    with Index.open(folder, encoder=ENCODER) as index:
        for method in METHODS["documents" if "documents" in folder.name else "graph"]:
            try:
                state = index.ask(QUESTION, method)
                texts = [(passage.id, round(passage.score, 5), passage.text) for passage in state.passages or ()]
                found[method] = [state.answer and state.answer.text, texts]
            except GraphwrightError as error:
                found[method] = f"error: {error}"
    return found


def examine(folder: Path) -> dict[str, Any]:
    """Ask and verify an index in a child; return what it found, and the signal that ended it, 0 for none."""
    found, signal = in_child(lambda: _examined(folder))
    return {"signal": signal, **found}


def _examined(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    try:
        found["answers"] = answers(folder)
        with Index.open(folder, encoder=ENCODER) as index:
            found["problems"] = [str(problem) for problem in index.verify()]
    except GraphwrightError as error:
        found["error"] = str(error)
    except Exception as error:
        found["fault"] = f"{type(error).__name__}: {error}"
    return found


def problems_of(found: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Return the promises that were broken."""
    if found["signal"]:
        return [f"it ended by signal {found['signal']}"]
    if "fault" in found:
        return [f"an error that is not ours: {found['fault']}"]
    given = found.get("answers", {})
    return [
        f"{method} gives another answer"
        for method, answer in given.items()
        if not (isinstance(answer, str) and answer.startswith("error: ")) and answer != expected[method]
    ]


def damage(path: Path, kind: str, rng: random.Random) -> bool:
    """Damage a file; return whether it is another one then."""
    before, do = path.read_bytes(), DAMAGES[kind]
    if do is None:
        path.unlink()
        return True
    data = bytearray(before)
    if not data and kind != "longer":
        return False
    do(data, rng)
    path.write_bytes(data)
    return data != before


def attack(folder: Path, rng: random.Random, until: float, outcomes: Counter[str], rounds: int = 10**9) -> list[str]:
    """Damage the files of an index in turn until a time, or for some rounds; return the promises that were broken."""
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    expected = json.loads(json.dumps(answers(folder)))
    failures: list[str] = []
    for _ in range(rounds):
        for file in rng.sample(files, len(files)):
            if time.monotonic() > until:
                return failures
            kind = rng.choice(list(DAMAGES))
            with tempfile.TemporaryDirectory() as scratch:
                copy = Path(shutil.copytree(folder, Path(scratch) / folder.name))
                if not damage(copy / file, kind, rng):
                    continue
                found = examine(copy)
            broken = problems_of(found, expected)
            outcomes["error or problem" if found.get("error") or found.get("problems") else "right answer"] += 1
            failures += [f"{folder.name}/{file}, {kind}: {problem}" for problem in broken]
    return failures


def run(options: Namespace) -> Record:
    """Damage the files of all indexes in turn, for the time given."""
    rng, outcomes, failures = random.Random(options.seed), Counter[str](), []
    with tempfile.TemporaryDirectory() as scratch:
        made = make_indexes(Path(scratch))
        share = options.minutes * 60 / len(made)
        for folder in made.values():
            failures += attack(folder, rng, time.monotonic() + share, outcomes)
    return {"damaged": sum(outcomes.values()), "outcomes": dict(outcomes.most_common()), "failures": failures}
