"""An index in shards gives what one index gives, and what the other shards hold while one does not answer."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.remote.servers import s3

from graphwright import Index
from graphwright.errors import DataError, OptionError, StoreError
from graphwright.index_folder.shards.columns import ShardLost, Shards
from graphwright.index_folder.shards.holder import Holder, shard_of
from graphwright.index_folder.shards.sharded_index import ShardedIndex
from graphwright.index_folder.shards.sharding import shard_index
from graphwright.index_folder.shards.storage import SHARD, UNITED, push_shards
from graphwright.models.fake import HashEncoder
from graphwright.remote import pull, push
from graphwright.serve.mcp.results import answer_result, answer_text, retrieval_result, retrieval_text
from graphwright.serve.schemas.answers import AnswerReply
from graphwright.store import RenameEntity, Settings

METHODS = ("multihop", "vector", "bm25", "hybrid", "ppr", "bubblerag", "hipporag2", "pathrag", "graphrag-local", "reg")
QUESTIONS = ("Who was the mother of Bertha?", "Where did the husband of Gisela of Metz die?")
PEOPLE = ["Lothair", "Bertha", "Gisela", "Teutberga", "Waldrada", "Ermengarde", "Hugo", "Boso", "Rudolf"]
SMALL = Settings(chunk_tokens=64)
TOWNS = ["Prüm", "Graz", "Metz", "Aachen", "Lyon", "Arles", "Worms"]


def documents(first: int, last: int) -> list[dict[str, Any]]:
    """Return documents that share names, some of them spelt otherwise, and of which some have several passages."""
    result = []
    for n in range(first, last):
        a, b, c = (PEOPLE[(n * step + step) % len(PEOPLE)] for step in (1, 2, 4))
        t, u = TOWNS[n % len(TOWNS)], TOWNS[(n * 3 + 1) % len(TOWNS)].upper()
        text = f"{a} of {t} was the mother of {b}. {b} died in {u} in {800 + n}. {c} married {a} in {t}. "
        id = f"d{n}"
        result.append(
            {"id": id, "title": f"{a} of {t}", "text": text + "The abbey was rich. " * (n % 40), "year": 800 + n}
        )
    return result


class Killable(Shards):
    """Holders of which some do not answer."""

    def __init__(self, holders: Sequence[Holder]) -> None:
        super().__init__(holders)
        self.dead: set[int] = set()

    def call(self, method: str, values: Mapping[int, Sequence[Any]]) -> dict[int, Any]:
        for shard in self.dead & set(values):
            raise ShardLost(shard, "killed")
        return super().call(method, values)

    def answers(self, shard: int) -> bool:
        return shard not in self.dead


def opened(folder: Path, count: int, storage: str | None = None) -> ShardedIndex:
    names = [SHARD.format(n) for n in range(count)]
    shards = Killable([Holder(folder / name, HashEncoder(), storage and f"{storage}/{name}") for name in names])
    return ShardedIndex(f"ray://{folder}", encoder=HashEncoder(), shards=shards)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("one") / "index"
    with Index.create(folder, encoder=HashEncoder(), settings=SMALL) as index:
        index.add(documents(0, 30))
        yield index


@pytest.fixture(scope="module")
def many(one: Index, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShardedIndex]:
    folder = tmp_path_factory.mktemp("many") / "shards"
    shard_index(one.path, folder, 3, encoder=HashEncoder())
    with opened(folder, 3) as index:
        yield index


def ranked(index: Index, question: str, method: str, **options: Any) -> list[tuple[str, float, str]]:
    state = index.retrieve(question, method, **options)
    return [(passage.id, passage.score, passage.text) for passage in state.passages or ()]


def check_equal(one: Index, many: Index, methods: Sequence[str] = METHODS) -> None:
    assert many.graph.checksum == one.graph.checksum
    ours, theirs = many.snapshot.fingerprints, one.snapshot.fingerprints
    assert [ours[name] for name in ("passages", "names", "triples")] == [
        theirs[name] for name in ("passages", "names", "triples")
    ]
    for method in methods:
        for question in QUESTIONS:
            assert ranked(many, question, method) == ranked(one, question, method), method


def test_shards_give_rankings_scores_and_answers_of_one_index(one: Index, many: ShardedIndex) -> None:
    check_equal(one, many)
    for question in QUESTIONS:
        answer, other = many.ask(question).answer, one.ask(question).answer
        assert answer == other
    assert many.list_documents() == one.list_documents()
    assert many.text("d7") == one.text("d7") and many.metadata("d7") == one.metadata("d7")
    assert (many.documents, many.info()["chunks"]) == (one.documents, one.info()["chunks"])


def test_multihop_calls_each_shard_twice(many: ShardedIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    called, call = list[str](), Killable.call

    def counted(shards: Killable, method: str, values: Mapping[int, Sequence[Any]]) -> dict[int, Any]:
        called.append(method)
        return call(shards, method, values)

    monkeypatch.setattr(Killable, "call", counted)
    assert many.retrieve("Where did Waldrada of Lyon marry the abbot?").passages
    assert called == ["several", "several"]


def test_filter_over_shards_gives_ranking_of_one_index(one: Index, many: ShardedIndex) -> None:
    years = {"metadata": {"year": {"at_least": "810"}}}
    assert ranked(many, QUESTIONS[0], "multihop", filter=years) == ranked(one, QUESTIONS[0], "multihop", filter=years)


def test_lost_shard_leaves_answers_of_others_and_the_share_is_told(many: ShardedIndex) -> None:
    shards = many._shards
    assert isinstance(shards, Killable)
    whole = ranked(many, QUESTIONS[0], "bm25", top_k=100)
    shards.dead.add(1)
    try:
        for method in METHODS:
            state = many.ask(QUESTIONS[0], method)
            assert state.passages and not {shard_of(p.document, 3) for p in state.passages} & {1}, method
            searched, every = many.searched
            reply = state.to_dict(method=method) | {"fallback": None, "instructed": None}
            note = next(iter(AnswerReply(**reply).notes))
            assert note.startswith(f"searched in part: {searched} of {every} documents (")
            assert f"Note: {note}." in answer_text(answer_result("many", reply))
            assert f"Note: {note}." in retrieval_text(retrieval_result("many", reply))
        relation = many.schema()["relations"][0]["name"]
        assert many.query(f'"Bertha".[{relation}]').notes == (note,)
        left = [row for row in whole if shard_of(row[0].partition("#")[0], 3) != 1]
        now = ranked(many, QUESTIONS[0], "bm25", top_k=100)  # also copies of passages that are lost
        assert [row for row in now if row in left] == left
        with pytest.raises(ShardLost, match="shard 1 does not answer"):
            many.add(documents(50, 51))
    finally:
        shards.dead.clear()
    assert ranked(many, QUESTIONS[0], "bm25", top_k=100) == whole and not many._lost


def test_shards_equal_one_index_after_changes(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for n in range(4):
        (tmp_path / "notes" / f"n{n}.md").write_text(
            f"# Note {n}\n\nHugo met Bertha in Graz, see [next](n{n + 1}.md).\n"
        )
    with Index.create(tmp_path / "one", encoder=HashEncoder()) as one:
        one.add(documents(0, 8))
        shard_index(tmp_path / "one", tmp_path / "shards", 2, encoder=HashEncoder())
        with opened(tmp_path / "shards", 2) as many:
            changes = [index.add([*documents(8, 12), documents(1, 2)[0] | {"title": "New"}]) for index in (one, many)]
            assert sorted(changes[0].added) == sorted(changes[1].added) and changes[1].replaced == ["d1"]
            assert changes[0].texts == changes[1].texts
            check_equal(one, many, ("multihop", "bubblerag"))
            for index in (one, many):
                with index.batch():
                    assert sorted(index.remove(["d2", "d9"]).removed) == ["d2", "d9"]
                    assert len(index.sync(tmp_path / "notes").added) == 4
                    assert len(index.list_documents()) == 12
            check_equal(one, many, ("multihop", "bubblerag"))
            (tmp_path / "notes" / "n1.md").unlink()
            assert [index.sync(tmp_path / "notes").removed for index in (one, many)] == [["n1.md"]] * 2
            check_equal(one, many, ("multihop",))
            with pytest.raises(DataError, match=r"no document 'no'.*nothing was removed"):
                many.remove(["d3", "no"])
            with pytest.raises(DataError, match="two documents have the id 'a'"):
                many.add([{"id": "a", "text": "One."}, {"id": "a", "text": "Two."}, {"id": "b", "text": "Three."}])
            with pytest.raises(OptionError, match="is in shards: documents can be added, synced and removed"):
                many.edit(RenameEntity("Hugo", "Hugh"))
            check_equal(one, many, ("multihop",))


def test_shard_that_was_changed_alone_is_united_when_opened(tmp_path: Path) -> None:
    with Index.create(tmp_path / "one", encoder=HashEncoder()) as one:
        one.add(documents(0, 6))
        shard_index(tmp_path / "one", tmp_path / "shards", 2, encoder=HashEncoder())
        added = documents(6, 7)
        with Index.open(tmp_path / "shards" / SHARD.format(shard_of("d6", 2)), encoder=HashEncoder()) as shard:
            shard.add(added)
        one.add(added)
        with opened(tmp_path / "shards", 2) as many:
            check_equal(one, many, ("multihop",))


def test_shard_without_folder_or_behind_is_pulled_and_changes_are_pushed(
    one: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore", reason='needs the extra "remote"')
    here, there = tmp_path / "here", tmp_path / "there"
    shard_index(one.path, here, 2, encoder=HashEncoder())
    with s3(monkeypatch) as storage, Index.create(tmp_path / "same", encoder=HashEncoder(), settings=SMALL) as same:
        assert push_shards(here, storage).sent and not push_shards(here, storage).sent
        pull(f"{storage}/{UNITED}", there / UNITED)  # another machine, which has no folder of a shard
        same.add(documents(0, 32))
        with opened(there, 2, storage) as index:
            check_equal(one, index, ("multihop",))
            index.add(documents(30, 32))
            check_equal(same, index, ("multihop",))
        pull(f"{storage}/{UNITED}", here / UNITED)
        with opened(here, 2, storage) as index:  # whose folders of shards are an earlier state
            check_equal(same, index, ("multihop",))


def test_push_of_shards_to_the_address_of_an_index_is_refused(one: Index, tmp_path: Path) -> None:
    pytest.importorskip("obstore", reason='needs the extra "remote"')
    push(one.path, f"{tmp_path.as_uri()}/bucket")
    shard_index(one.path, tmp_path / "shards", 2, encoder=HashEncoder())
    with pytest.raises(StoreError, match="holds an index that is not in shards"):
        push_shards(tmp_path / "shards", f"{tmp_path.as_uri()}/bucket")
    with pytest.raises(StoreError, match="cannot be read: there is no folder"):
        Holder(tmp_path / "none", HashEncoder(), tmp_path.as_uri() + "/shards/none")


def test_division_encodes_and_extracts_nothing_again(one: Index, tmp_path: Path) -> None:
    encoded = list[str]()

    class Counting(HashEncoder):
        def encode(self, texts: Sequence[str]) -> Any:
            encoded.extend(texts)
            return super().encode(texts)

    shard_index(one.path, tmp_path / "shards", 2, encoder=Counting())
    assert all(text in PEOPLE or len(text) < 30 for text in encoded)  # names that a shard spells otherwise
    with Index.open(tmp_path / "shards" / "shard-0", encoder=HashEncoder()) as shard:
        assert shard.verify() == []


def test_division_into_less_than_two_is_refused(one: Index, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="shards is 1; give at least 2"):
        shard_index(one.path, tmp_path / "shards", 1, encoder=HashEncoder())
    assert not (tmp_path / "shards").exists()


def test_division_of_edited_or_empty_index_or_into_full_folder_is_refused(one: Index, tmp_path: Path) -> None:
    with Index.create(tmp_path / "edited", encoder=HashEncoder()) as index:
        with pytest.raises(DataError, match="holds no documents to divide"):
            shard_index(index.path, tmp_path / "shards", 2, encoder=HashEncoder())
        index.add(documents(0, 2))
        index.edit(RenameEntity("Bertha", "Berta"))
        with pytest.raises(OptionError, match="has 1 edit by hand"):
            shard_index(index.path, tmp_path / "shards", 2, encoder=HashEncoder())
    with pytest.raises(StoreError, match="is not empty"):
        shard_index(one.path, tmp_path / "edited", 2, encoder=HashEncoder())
    assert [path.name for path in tmp_path.iterdir()] == ["edited"]


def test_address_without_shards_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"has no shards\. Make them: graphwright shard"):
        Index(f"ray://{tmp_path}")
    with pytest.raises(StoreError, match="has no shards"):
        Index.open(Path(f"ray://{tmp_path}"))


def test_holder_that_many_threads_ask_while_it_changes_raises_nothing(tmp_path: Path) -> None:
    with Index.create(tmp_path / "shard", encoder=HashEncoder()) as index:
        index.add(documents(0, 2))
    holder, usual = Holder(tmp_path / "shard", HashEncoder()), sys.getswitchinterval()
    held, done = dict(holder._opened), threading.Event()
    sys.setswitchinterval(1e-6)

    def ask() -> None:
        while not done.is_set():
            holder.revision()
            holder.texts(holder.revision(), "texts", np.arange(1))

    try:
        with ThreadPoolExecutor(6) as pool:
            asked = [pool.submit(ask) for _ in range(6)]
            for _ in range(300):  # as after changes, of which each leaves an earlier snapshot
                (snapshot,) = held.values()
                holder._opened |= {-1: snapshot, -2: snapshot, -3: snapshot}
                time.sleep(0.001)
            done.set()
            for each in asked:
                each.result()
    finally:
        sys.setswitchinterval(usual)
        holder.close()
