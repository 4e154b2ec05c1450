import threading
from contextlib import closing
from pathlib import Path

import pytest

from graphwright import Index
from graphwright.errors import OptionError, StoreError
from graphwright.search.snapshot import Snapshot
from graphwright.store.layout import IndexLayout

pytest.importorskip("fastapi", reason='needs the extra "serve"')
from tests.serve.conftest import wait_until

from graphwright.serve.catalog import Catalog


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Index.create(tmp_path / "cities").close()
    return tmp_path / "cities"


def test_indexes_are_named_by_folder_or_option(folder: Path) -> None:
    catalog = Catalog.open([folder, f"towns={folder}"])
    assert list(catalog) == ["cities", "towns"] and len(catalog) == 2
    assert catalog.without_paths(f"{folder} is damaged") == "cities is damaged"
    catalog.close()


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
