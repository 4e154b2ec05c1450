"""Served indexes that follow object storage: what is pushed is answered from, and failures leave what was there.

Indexes that are made on the server are found again as their records say.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import DOCUMENTS, wait_until

from graphwright import Index
from graphwright.errors import OptionError, StoreError
from graphwright.models.fake import HashEncoder
from graphwright.remote import push
from graphwright.search.snapshot import Snapshot
from graphwright.serve.app import create_app
from graphwright.serve.catalog import Catalog, Record, is_home
from graphwright.serve.jobs.queue import Jobs
from graphwright.serve.settings import ServeSettings
from graphwright.store.layout import IndexLayout

pytest.importorskip("fastapi", reason='needs the extra "serve"')
pytest.importorskip("obstore", reason='needs the extra "remote"')


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A URL to which an index was pushed."""
    with Index.create(tmp_path / "index", encoder=HashEncoder()) as index:
        index.add(DOCUMENTS)
    push(tmp_path / "index", f"{tmp_path.as_uri()}/storage/cities")
    return f"{tmp_path.as_uri()}/storage/cities"


@contextmanager
def opened(tmp_path: Path, *places: str) -> Iterator[Catalog]:
    with closing(Catalog.open(places, encoder=HashEncoder(), data=tmp_path / "data")) as catalog:
        yield catalog


def push_another(tmp_path: Path, url: str, **document: Any) -> None:
    with Index.open(tmp_path / "index", encoder=HashEncoder()) as index:
        index.add([document])
    push(tmp_path / "index", url)


def test_replica_follows_pushes(tmp_path: Path, url: str) -> None:
    with opened(tmp_path, url, f"towns={url}") as catalog, catalog.refreshing(poll=0.1):
        assert list(catalog) == ["cities", "towns"]
        before = catalog["cities"].snapshot
        push_another(tmp_path, url, id="krems", text="Krems lies on the Danube.")
        for name in catalog:
            wait_until(lambda name=name: "krems" in [item.id for item in catalog[name].list_documents()])
        assert catalog["cities"].snapshot is not before
        assert catalog["cities"].retrieve("Krems", filter={"documents": ["krems"]}).passages


def test_replica_is_read_only(tmp_path: Path, url: str) -> None:
    with opened(tmp_path, url, f"own={tmp_path / 'index'}") as catalog:
        jobs = Jobs(catalog, ServeSettings(data=tmp_path / "data"))
        jobs.check_writable("own")
        with pytest.raises(OptionError, match=r"cities is a replica.*graphwright pull"):
            jobs.submit("cities", "add", {})
        server = create_app(catalog, ServeSettings(data=tmp_path / "data")).state.server
        assert not server.facts("cities")["takes_documents"]
        assert server.facts("own")["takes_documents"]


def test_damaged_push_keeps_served_snapshot(tmp_path: Path, url: str, caplog: pytest.LogCaptureFixture) -> None:
    with opened(tmp_path, url) as catalog, catalog.refreshing(poll=0.1):
        push_another(tmp_path, url, id="krems", text="Krems lies on the Danube.")
        kept = {path: path.read_bytes() for path in (tmp_path / "storage").rglob("manifests/*")}
        for path in kept:
            path.write_bytes(b"{}")
        wait_until(lambda: "cities cannot be pulled" in caplog.text)
        ids = [item.id for item in catalog["cities"].list_documents()]
        assert len(ids) >= len(DOCUMENTS) and catalog["cities"].retrieve("Graz", "bm25").passages
        for path, content in kept.items():
            path.write_bytes(content)
        wait_until(lambda: "krems" in [item.id for item in catalog["cities"].list_documents()])


def test_replica_is_served_while_storage_is_down(tmp_path: Path, url: str, caplog: pytest.LogCaptureFixture) -> None:
    with opened(tmp_path, url):
        pass
    (tmp_path / "storage").rename(tmp_path / "away")
    with opened(tmp_path, url) as catalog:
        assert len(catalog["cities"].list_documents()) == len(DOCUMENTS)
    assert "cities serves its last pulled state" in caplog.text
    with pytest.raises(StoreError, match="there is no folder"), opened(tmp_path, f"new={url}"):
        pass


def test_url_without_usable_name_is_refused(tmp_path: Path) -> None:
    for place in ("s3://bucket/a:b", "a/b=s3://bucket/path", "..=s3://bucket/path"):
        with pytest.raises(OptionError, match="NAME=URL"), opened(tmp_path, place):
            pass


pytest.importorskip("fastapi", reason='needs the extra "serve"')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Index.create(tmp_path / "cities").close()
    return tmp_path / "cities"


def test_indexes_are_named_by_folder_or_option(folder: Path) -> None:
    catalog = Catalog.open([folder, f"towns={folder}"])
    assert list(catalog) == ["cities", "towns"] and len(catalog) == 2
    assert catalog.without_paths(f"{folder} is damaged") == "cities is damaged"
    catalog.close()


def test_faulty_prompt_is_logged_once_and_corrected_one_is_used(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = folder / "prompts" / "answer.txt"
    file.parent.mkdir()
    with closing(Catalog.open([folder])) as catalog, catalog.refreshing():
        file.write_text("You answer.")
        wait_until(lambda: "the prompts of cities cannot be used" in caplog.text)
        assert "has 1 part; write two" in caplog.text
        with pytest.raises(OptionError, match="has 1 part"):
            catalog["cities"].ask("Who?")
        file.unlink()
        assert catalog["cities"].ask("Who?").answer is not None
    assert caplog.text.count("cannot be used") == 1


def test_questions_do_not_wait_for_snapshot(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warming, go_on = threading.Event(), threading.Event()

    def wait(snapshot: Snapshot, method: str) -> None:
        warming.set()
        assert go_on.wait(20)

    with closing(Catalog.open([folder])) as catalog, Index.open(folder) as writer:
        writer.add([{"id": "graz", "text": "Graz lies on the Mur."}])
        before = catalog["cities"].snapshot
        monkeypatch.setattr("graphwright.serve.catalog.warm_up", wait)
        with catalog.refreshing():
            writer.remove(["graz"])
            assert warming.wait(20)
            assert catalog["cities"].snapshot is before
            assert catalog["cities"].retrieve("Where is the Mur?", "bm25").passages
            go_on.set()
            wait_until(lambda: catalog["cities"].snapshot is not before)
        assert catalog["cities"].list_documents() == [] and not catalog.refresh("cities")


def test_refreshed_snapshot_is_used(folder: Path) -> None:
    with closing(Catalog.open([folder])) as catalog, Index.open(folder) as writer:
        assert not len(catalog["cities"].snapshot.graph)
        writer.add([{"id": "graz", "text": "Graz lies on the Mur."}])
        assert catalog.refresh("cities")
        writer.add([{"id": "linz", "text": "Linz lies on the Danube."}])
        passages = catalog["cities"].retrieve("Where is the Mur?", "bm25").passages
        assert [passage.document for passage in passages] == ["graz"]


def test_unopenable_snapshot_keeps_previous(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with closing(Catalog.open([folder])) as catalog, Index.open(folder) as writer:
        before = catalog["cities"].snapshot
        writer.add([{"id": "graz", "text": "Graz lies on the Mur."}])
        about = folder / IndexLayout(folder).current() / "about.json"
        text = about.read_text()
        about.write_text("{")
        with catalog.refreshing():
            wait_until(lambda: "cannot be opened" in caplog.text)
            assert catalog["cities"].snapshot is before
            about.write_text(text)
            wait_until(lambda: catalog["cities"].snapshot is not before)


@pytest.mark.parametrize("name", ["a:b", "a\\b", "a\nb", ""])
def test_index_name_with_reserved_characters_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(OptionError, match="NAME=DIR"):
        Catalog.open([f"{name}={folder}"])


def test_remote_encoder_must_be_allowed(tmp_path: Path) -> None:
    name = "openai:embed@http://example.org/v1"
    Index.create(tmp_path / "cities", encoder=name).close()
    with pytest.raises(StoreError, match=r"would receive the questions.*encoders = "):
        Catalog.open([tmp_path / "cities"])
    catalog = Catalog.open([tmp_path / "cities"], remote_encoders=[name])
    assert catalog["cities"].encoder == "embed"
    catalog.close()


def test_catalog_opened_again_has_made_indexes_as_recorded(tmp_path: Path) -> None:
    Index.create(tmp_path / "by hand", encoder=HashEncoder()).close()
    with closing(Catalog.open([], encoder=HashEncoder(), home=tmp_path)) as catalog:
        catalog.create(Record("α", "rules", "small"), HashEncoder())
        catalog.create(Record("β"), HashEncoder())
        catalog.change("β", Record("γ", None, "small"))
    with closing(Catalog.open([], encoder=HashEncoder(), home=tmp_path)) as catalog:
        assert set(catalog) == {"by hand", "α", "γ"}
        assert catalog.records == {"α": Record("α", "rules", "small"), "γ": Record("γ", None, "small", ("β",))}
        assert catalog.record("by hand", extract=True).extraction == "llm"


def test_given_index_keeps_its_name_before_a_made_one(tmp_path: Path) -> None:
    Index.create(tmp_path / "towns", encoder=HashEncoder()).close()
    home = tmp_path / "home"
    with closing(Catalog.open([], home=home)) as catalog:
        catalog.create(Record("towns", "rules"), HashEncoder())
    with closing(Catalog.open([tmp_path / "towns"], encoder=HashEncoder(), home=home)) as catalog:
        assert list(catalog) == ["towns"] and catalog["towns"].path == tmp_path / "towns" and not catalog.records


def test_folder_is_home_where_it_is_empty_or_has_indexes(tmp_path: Path) -> None:
    for name in ("empty/.hidden", "documents/notes", "index/copy", "library/one"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("index", "index/copy", "library/one"):
        (tmp_path / name / "index.sqlite").touch()
    homes = [path.name for path in sorted(tmp_path.iterdir()) if is_home(path)]
    assert homes == ["empty", "library"] and not is_home(tmp_path / "missing")


def test_indexes_that_are_renamed_while_they_are_listed_are_listed(tmp_path: Path) -> None:
    Index.create(tmp_path / "a", encoder=HashEncoder()).close()
    with opened(tmp_path, str(tmp_path / "a")) as catalog:
        listed = iter(catalog.items())
        catalog.home = tmp_path
        catalog.change("a", Record("b"))
        assert [name for name, _ in listed] == ["a"]
        assert [index.path for index in catalog.values()] == [tmp_path / "a"]
