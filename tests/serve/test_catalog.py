from pathlib import Path

import pytest

from graphwright import Index
from graphwright.errors import OptionError, StoreError

pytest.importorskip("fastapi", reason='needs the extra "serve"')
from graphwright.serve.catalog import Catalog


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Index.create(tmp_path / "cities").close()
    return tmp_path / "cities"


def test_indexes_are_named_by_folder_or_as_given(folder: Path) -> None:
    catalog = Catalog.open([folder, f"towns={folder}"])
    assert list(catalog) == ["cities", "towns"] and len(catalog) == 2
    assert catalog.without_paths(f"{folder} is damaged") == "cities is damaged"
    catalog.close()


@pytest.mark.parametrize("name", ["a:b", "a\\b", "a\nb", ""])
def test_a_name_that_no_address_or_model_can_hold_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(OptionError, match="NAME=DIR"):
        Catalog.open([f"{name}={folder}"])


def test_an_encoder_on_another_server_must_be_allowed(tmp_path: Path) -> None:
    name = "openai:embed@http://example.org/v1"
    Index.create(tmp_path / "cities", encoder=name).close()
    with pytest.raises(StoreError, match=r"would receive the questions.*encoders = "):
        Catalog.open([tmp_path / "cities"])
    catalog = Catalog.open([tmp_path / "cities"], remote_encoders=[name])
    assert catalog["cities"].encoder == "embed"
    catalog.close()
