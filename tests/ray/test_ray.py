"""Clusters of nodes of Ray, one of which is killed: an index equals that of one process, and shards go on answering.

Ray is tested in an environment of its own: pip install -e ".[ray]" pytest, then
pytest -c tests/adapters/pytest.ini tests/ray/test_ray.py
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.remote.servers import s3

ray = pytest.importorskip("ray")

from ray.cluster_utils import Cluster  # noqa: E402

from graphwright import Index  # noqa: E402
from graphwright.engines import RayEngine  # noqa: E402
from graphwright.errors import DataError  # noqa: E402
from graphwright.index_folder.shards import ray_shards  # noqa: E402
from graphwright.index_folder.shards.sharded_index import ShardedIndex  # noqa: E402
from graphwright.index_folder.shards.sharding import shard_index  # noqa: E402
from graphwright.index_folder.shards.storage import SHARD, push_shards  # noqa: E402
from graphwright.models.fake import HashEncoder  # noqa: E402
from graphwright.operators.run import IN_PART  # noqa: E402
from ray import cloudpickle  # noqa: E402

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # which workers cannot import


@dataclass(frozen=True)
class SlowEncoder:
    """An encoder that notes where it runs, and goes on when all three nodes do, or after a while.

    So a node can be killed while it has a task, however late its worker begins.
    """

    folder: str
    id: str = HashEncoder().id

    def encode(self, texts: list[str]) -> Any:
        if ray.is_initialized():
            Path(self.folder, ray.get_runtime_context().get_node_id()).touch()
            until = time.monotonic() + 30
            while len(os.listdir(self.folder)) < 3 and time.monotonic() < until:
                time.sleep(0.05)
            time.sleep(0.1)
        return HashEncoder().encode(texts)


def refuse(item: int) -> int:
    raise DataError(f"{item} is refused")


@pytest.fixture(scope="module")
def storage() -> Iterator[str | None]:
    """The address of object storage, whose variables the nodes inherit, or None without its server."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        if find_spec("moto") is None or find_spec("obstore") is None:
            yield None
        else:
            with s3(monkeypatch) as url:
                yield url


@pytest.fixture(scope="module")
def cluster(storage: str | None) -> Iterator[Cluster]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield started
    ray.shutdown()
    started.shutdown()


def test_ray_index_equals_local_index_after_killed_node(cluster: Cluster, tmp_path: Path) -> None:
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes()
    (tmp_path / "seen").mkdir()
    documents = [
        {"id": f"d{n}", "text": f"Lothair {n} died in Pruem {n}. " + "So it goes. " * (n % 40)} for n in range(200)
    ]
    engine = RayEngine(cluster.address)

    def kill() -> None:
        while len(list((tmp_path / "seen").iterdir())) < 3:
            time.sleep(0.05)
        cluster.remove_node(nodes[0], allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    encoder = SlowEncoder(str(tmp_path / "seen"))
    with Index.create(tmp_path / "one", encoder=HashEncoder()) as one:
        one.add(documents)
    with Index.create(tmp_path / "two", encoder=encoder) as two:
        two.add(documents, engine=engine)
    killer.join(timeout=60)
    assert not killer.is_alive() and len(list((tmp_path / "seen").iterdir())) >= 3
    contents = [
        {
            path.relative_to(folder / "snapshot-1"): path.read_bytes()
            for path in (folder / "snapshot-1").rglob("*")
            if path.is_file() and path.name != "readers.lock"
        }
        for folder in (tmp_path / "one", tmp_path / "two")
    ]
    assert contents[0] == contents[1]
    with pytest.raises(DataError, match="is refused"):
        engine.map(refuse, [7])
    engine.close()


def test_shards_answer_while_a_node_is_killed_and_again_in_full(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    nodes = {node.node_id: node for node in [cluster.add_node(num_cpus=1) for _ in range(3)]}
    cluster.wait_for_nodes()
    documents = [
        {"id": f"d{n}", "title": f"Lothair {n}", "text": f"Lothair {n} married Bertha {n % 7} in Pruem {n % 11}."}
        for n in range(60)
    ]
    question = "Whom did Lothair 5 marry?"
    with Index.create(tmp_path / "one", encoder=HashEncoder()) as one:
        one.add(documents)
        shard_index(one.path, tmp_path / "shards", 3, encoder=HashEncoder())
        wanted = [(p.id, p.score) for p in one.retrieve(question).passages or ()]

    def ask() -> tuple[list[tuple[str, float]], bool]:
        state = index.retrieve(question)
        in_part = any(note.startswith(IN_PART) for step in state.trace for note in step.notes)
        return [(p.id, p.score) for p in state.passages or ()], in_part

    with ShardedIndex(f"ray://{tmp_path / 'shards'}", encoder=HashEncoder()) as index:
        assert eventually(ask, (wanted, False))
        holders = [holder.__ray_call__.remote(node_of) for holder in index._shards.holders]
        killed = next(node for node in ray.get(holders) if node in nodes)
        asked: list[tuple[float, bool]] = []
        stop = threading.Event()

        def load() -> None:
            while not stop.is_set():
                begun = time.monotonic()
                in_part = ask()[1]
                asked.append((time.monotonic() - begun, in_part))

        with ThreadPoolExecutor(2) as pool:
            loads = [pool.submit(load) for _ in range(2)]
            cluster.remove_node(nodes[killed], allow_graceful=False)
            until = time.monotonic() + 120
            while time.monotonic() < until and not any(in_part for _, in_part in list(asked)):
                time.sleep(0.1)
            while time.monotonic() < until and asked[-1][1]:
                time.sleep(0.5)
            stop.set()
            for each in loads:
                each.result()  # no question has failed
        assert any(in_part for _, in_part in asked) and max(seconds for seconds, _ in asked) < 30
        assert eventually(ask, (wanted, False))
        assert index.add([{"id": "new", "text": "Lothair 99 died in Metz."}]).added == ["new"]
        assert index.retrieve("Where did Lothair 99 die?").passages[0].document == "new"


def test_ray_shards_answers_from_many_threads_while_an_actor_restarts_raises_nothing(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    with Index.create(tmp_path / "one", encoder=HashEncoder()) as one:
        one.add([{"id": "a", "text": "Lothair died in Pruem."}, {"id": "b", "text": "Bertha died in Metz."}])
        shard_index(one.path, tmp_path / "shards", 2, encoder=HashEncoder())
    with ShardedIndex(f"ray://{tmp_path / 'shards'}", encoder=HashEncoder()) as index:
        shards = index._shards
        ray.kill(shards.holders[0], no_restart=False)

        def ask_often(_: int) -> bool:
            until = time.monotonic() + 60
            while not (answered := shards.answers(0)) and time.monotonic() < until:
                pass
            return answered

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(ask_often, range(8)))


def test_shard_that_is_slow_is_awaited_and_one_that_is_stopped_is_not(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    monkeypatch.setattr(ray_shards, "_REPLY", SLOW - 1)
    cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    with Index.create(tmp_path / "one", encoder=HashEncoder()) as one:
        one.add([{"id": f"d{n}", "text": f"Lothair {n} died in Pruem {n}."} for n in range(9)])
        shard_index(one.path, tmp_path / "shards", 2, encoder=HashEncoder())
    with ShardedIndex(f"ray://{tmp_path / 'shards'}", encoder=HashEncoder()) as index:

        def is_in_part() -> bool:
            state = index.retrieve(f"Where did Lothair {next(numbers)} die?", "vector")
            return any(note.startswith(IN_PART) for step in state.trace for note in step.notes)

        numbers = itertools.count()
        assert eventually(is_in_part, False)
        ray.get(index._shards.holders[0].__ray_call__.remote(slow_down))
        begun = time.monotonic()
        assert not is_in_part() and time.monotonic() - begun > SLOW
        process = ray.get(index._shards.holders[1].__ray_call__.remote(process_of))
        os.kill(process, signal.SIGSTOP)
        try:
            assert is_in_part()
        finally:
            os.kill(process, signal.SIGCONT)
        assert eventually(is_in_part, False)


SLOW = 3.0  # seconds, more than the test has a reply take


def slow_down(holder: Any) -> None:
    vectors = holder._vectors

    def slowly(*given: Any) -> Any:
        time.sleep(SLOW)
        holder._vectors = vectors
        return vectors(*given)

    holder._vectors = slowly


def process_of(_: object) -> int:
    return os.getpid()


def test_actor_without_folder_pulls_its_shard_from_object_storage(
    cluster: Cluster, storage: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if storage is None:
        pytest.skip('needs moto, and the extra "remote"')
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    documents = [{"id": f"d{n}", "text": f"Lothair {n} married Bertha {n % 7} in Pruem."} for n in range(20)]
    shards = tmp_path / "shards"
    with Index.create(tmp_path / "one", encoder=HashEncoder()) as one:
        one.add(documents)
        shard_index(one.path, shards, 2, encoder=HashEncoder())
        push_shards(shards, storage)
        one.add([{"id": "new", "text": "Lothair 99 died in Metz."}])
        wanted = [(p.id, p.score) for p in one.retrieve("Where did Lothair 99 die?").passages or ()]

    def ask() -> list[tuple[str, float]]:
        return [(p.id, p.score) for p in index.retrieve("Where did Lothair 99 die?").passages or ()]

    shutil.rmtree(shards / "shard-1")
    with ShardedIndex(f"ray://{shards}", encoder=HashEncoder()) as index:
        assert index.add([{"id": "new", "text": "Lothair 99 died in Metz."}]).added == ["new"]
        assert eventually(ask, wanted)
        for number, holder in enumerate(index._shards.holders):  # each starts again as on a node without the folder
            shutil.rmtree(shards / SHARD.format(number))
            ray.kill(holder, no_restart=False)
            assert eventually((shards / SHARD.format(number)).exists, True)
            assert eventually(ask, wanted)


def eventually(ask: Callable[[], Any], wanted: Any) -> bool:
    until = time.monotonic() + 60
    while not (equal := ask() == wanted) and time.monotonic() < until:
        time.sleep(0.2)
    return equal


def node_of(_: object) -> str:
    return ray.get_runtime_context().get_node_id()
