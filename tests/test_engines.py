"""Engines: results in order, errors, workers that die, and indexes that equal those of one process."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.shared import CORPUS

from graphwright import Index
from graphwright.engines import EngineError, LocalEngine, RayEngine, engine_of, repeated
from graphwright.errors import DataError, OptionError
from graphwright.extract.distribution import EngineEncoder, on_engine, tasks_of
from graphwright.extract.extraction import Excerpt
from graphwright.extract.extractors import MentionExtractor
from graphwright.extract.llm import GenerativeExtractor
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.fake import HashEncoder, ScriptedLLM
from graphwright.models.protocols import Usage


@dataclass(frozen=True)
class Dying:
    """A function whose process is killed at the items of a list, once each; a file marks that it was."""

    folder: str
    items: tuple[int, ...]
    always: bool = False

    def __call__(self, item: int) -> int:
        mark = Path(self.folder, str(item))
        if item in self.items and (self.always or not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return item * item


def refuse(item: int) -> int:
    raise DataError(f"{item} is refused")


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    started = LocalEngine(workers=2)
    yield started
    started.close()


def test_killed_worker_tasks_are_repeated(engine: LocalEngine, tmp_path: Path) -> None:
    assert engine.map(Dying(str(tmp_path), (3,)), range(20)) == [n * n for n in range(20)]
    assert {path.name for path in tmp_path.iterdir()} == {"3"}
    assert engine.map(abs, []) == []


def test_worker_error_is_raised(engine: LocalEngine) -> None:
    with pytest.raises(DataError, match="0 is refused"):
        engine.map(refuse, range(3))
    assert engine.map(abs, [-1]) == [1]


def test_repeatedly_dying_workers_raise(tmp_path: Path) -> None:
    engine = LocalEngine(workers=1)
    with pytest.raises(EngineError, match=r"died 3 times in a row.*same command continues"):
        engine.map(Dying(str(tmp_path), (0,), always=True), [0])
    engine.close()


def test_engine_with_invalid_option_raises() -> None:
    for arguments, message in (
        (("spark",), "choose from local, ray"),
        (("local", "auto"), "choose the engine ray"),
        (("local", None, 0), "at least 1"),
    ):
        with pytest.raises(OptionError, match=message):
            engine_of(*arguments)  # type: ignore[arg-type]


def test_ray_engine_without_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(OptionError, match=r"graphwright\[ray\]"):
        RayEngine()


def test_tasks_group_texts_of_equal_length() -> None:
    lengths = [n % 7 for n in range(500)]
    tasks = tasks_of(lengths)
    assert sorted(at for task in tasks for at in task) == list(range(500))
    assert all(sum(length in {lengths[at] for at in task} for task in tasks) == 1 for length in range(7))
    assert len(tasks) > 3


def snapshot_files(index: Index) -> dict[str, bytes]:
    """The files of an index's snapshot; that with the checksums of all others is among them."""
    folder = index.path / (index.path / "CURRENT").read_text()
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != "readers.lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_engine_index_equals_local_index(engine: LocalEngine, tmp_path: Path) -> None:
    documents = [*CORPUS, *({"id": f"d{n}", "text": f"Lothair {n} died in Pruem. " * (n % 9 + 1)} for n in range(30))]
    model = HashEncoder()
    with Index.create(tmp_path / "one", encoder=model) as one, Index.create(tmp_path / "two", encoder=model) as two:
        for part in (documents[:20], documents[20:]):
            assert one.add(part).added == two.add(part, engine=engine).added
        assert snapshot_files(one) == snapshot_files(two)


class Here:
    """An engine that does each task by itself in this process, from a pickle as workers get it."""

    def map(self, function: Any, items: Sequence[Any]) -> list[Any]:
        return [pickle.loads(pickle.dumps(function))(pickle.loads(pickle.dumps(item))) for item in items]

    def close(self) -> None:
        pass


def test_engine_batches_equal_local_batches() -> None:
    texts = [f"Lothair {'died in Pruem ' * (n % 12)}{n}." for n in range(150)]
    assert len(tasks_of(MiniLM().count_tokens(texts))) > 1
    assert np.array_equal(EngineEncoder(MiniLM(), Here()).encode(texts), MiniLM().encode(texts))
    excerpts, alone = [Excerpt(str(n), "Lothair", text) for n, text in enumerate(texts)], MentionExtractor()
    extractions, vectors = on_engine(alone, Here()).extract_encoded(excerpts, Usage())  # type: ignore[attr-defined]
    expected, same = alone.extract_encoded(excerpts, Usage())
    assert extractions == expected and np.array_equal(vectors, same)


def test_language_model_runs_in_this_process(engine: LocalEngine, tmp_path: Path) -> None:
    reply = '{"entities": [{"name": "Mur", "type": "river", "description": "A river."}], "relations": []}'
    documents = [{"id": f"d{n}", "text": f"Graz {n} lies on the Mur."} for n in range(3)]
    llm = ScriptedLLM([reply] * 3)  # has a lock, and cannot be sent to a process
    with Index.create(tmp_path / "index", encoder=HashEncoder(), extractor=GenerativeExtractor(llm)) as index:
        changes = index.add(documents, engine=engine)
        assert changes.extracted == 3 and changes.pending == []


def test_few_texts_are_encoded_locally(engine: LocalEngine) -> None:
    encoder = HashEncoder()
    texts = ["Graz", "Linz", "Wien"]
    assert np.array_equal(EngineEncoder(encoder, engine).encode(texts), encoder.encode(texts))


def test_repeated_work_ends_with_block() -> None:
    done = threading.Event()
    with repeated(done.set, 0.001):
        assert done.wait(10)
    done.clear()
    assert not done.wait(0.05)
