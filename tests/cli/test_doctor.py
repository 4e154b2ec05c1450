"""What the doctor finds: in real processes, and check by check in what was broken on purpose."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections import namedtuple
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.llm_server import LLMServer, Say, error
from tests.toys import CORPUS

from graphwright import HashEncoder, Index, MiniLM, StoreError
from graphwright.cli import checks
from graphwright.cli.checks import Check, Health
from graphwright.models.settings import SETTINGS, LLMSettings, write_settings

RUN = "from graphwright.cli.app import main; main()"
SECRET = "sk-nobody-may-see-this"


def doctor(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    command = [sys.executable, "-c", RUN, "doctor", *map(str, arguments)]
    known = {**kept, "COLUMNS": "100", "TERM": "dumb", "PYTHONIOENCODING": "utf-8", **environment}
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=known, timeout=120)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("doctor") / "index"
    index = Index.create(place)
    index.add(CORPUS)
    index.close()
    return place


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy of the index, to be broken."""
    return Path(shutil.copytree(whole, tmp_path / "index"))


@pytest.fixture
def dead() -> str:
    """The address of a server that is not there."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    return f"http://127.0.0.1:{port}/v1"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_all_is_well_and_nothing_is_changed(folder: Path) -> None:
    before = contents(folder)
    done = doctor("--index", folder, "--json")
    assert done.returncode == 0 and done.stderr == ""
    report = json.loads(done.stdout)
    found = {check["name"]: check for check in report["checks"]}
    assert report["well"] is True
    assert list(found) == [
        *("python", "packages", "extras", "kernels", "encoder", "disk"),
        *("opens", "snapshot", "writable", "model"),
    ]
    assert all(check["state"] == "well" and check["found"] for name, check in found.items() if name[:2] not in "exmo")
    assert f"numpy {np.__version__}" in found["packages"]["found"]
    assert MiniLM().id in found["encoder"]["found"] and "ms a sentence" in found["encoder"]["found"]
    assert found["opens"]["found"].startswith("6 documents")
    assert contents(folder) == before


def test_people_get_a_mark_for_each_check_and_a_last_word() -> None:
    done = doctor()
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert lines[0] == "This machine" and "Language model" in lines and lines[-1] == "All is well."
    assert "  ✓   python " in done.stdout and "  –   model " in done.stdout
    plain = doctor(PYTHONIOENCODING="ascii")
    assert "  ok  python " in plain.stdout and "  --  model " in plain.stdout and "\\u" not in plain.stdout


def test_a_broken_index_and_a_dead_model_are_said_without_a_traceback(folder: Path, dead: str) -> None:
    (folder / "index.sqlite").write_bytes(b"not a database" * 100)
    write_settings(folder / SETTINGS, LLMSettings("small", dead))
    done = doctor("--index", folder, OPENAI_API_KEY=SECRET)
    assert done.returncode == 1 and "Traceback" not in done.stderr + done.stdout
    assert done.stdout.splitlines()[-1] == "Broken: opens, answers."
    assert "✗   opens " in done.stdout and "from OPENAI_API_KEY" in done.stdout
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--base-url", "http://localhost:1/v1"], "came without a model; name it: --llm MODEL"),
        (["--llm", "m", "--base-url", "localhost"], "base_url is 'localhost'"),
        (["--llm", ""], "model is empty"),
    ],
)
def test_wrong_usage_is_said_before_anything_runs(arguments: list[str], message: str) -> None:
    done = doctor(*arguments)
    assert done.returncode == 2 and message in done.stderr and done.stdout == ""


def by_name(found: list[Check]) -> dict[str, Check]:
    assert all(check.remedy for check in found if check.state is Health.BROKEN), found
    return {check.name: check for check in found}


def test_what_is_no_index_is_said_with_the_command_that_makes_one(tmp_path: Path) -> None:
    found = by_name(list(checks.index_folder(tmp_path / "none")))
    assert list(found) == ["opens"] and found["opens"].state is Health.BROKEN
    assert found["opens"].found.endswith("is not an index folder") and "graphwright index" in found["opens"].remedy
    assert next(checks.index_folder(tmp_path)).state is Health.BROKEN


def test_an_index_of_another_schema_is_refused(folder: Path) -> None:
    with sqlite3.connect(folder / "index.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    found = by_name(list(checks.index_folder(folder)))
    assert list(found) == ["opens"] and "has schema 99" in found["opens"].found


def test_an_index_of_another_encoder_is_refused(tmp_path: Path) -> None:
    Index.create(tmp_path / "other", encoder=HashEncoder()).close()
    found = by_name(list(checks.index_folder(tmp_path / "other")))
    assert list(found) == ["opens"] and HashEncoder().id in found["opens"].found


def test_a_damaged_snapshot_is_found_though_the_index_opens(folder: Path) -> None:
    array = next(folder.glob("snapshot-*/graph/heads.npy"))
    array.write_bytes(array.read_bytes()[:-8])
    found = by_name(list(checks.index_folder(folder)))
    assert [found[name].state for name in ("opens", "snapshot", "writable")] == ["well", "broken", "well"]
    assert "heads.npy" in found["snapshot"].found


def test_a_snapshot_behind_its_documents_is_found(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "index.sqlite")) as db, db:  # a writer was killed after this
        db.execute("UPDATE settings SET value = '99' WHERE name = 'revision'")
    found = by_name(list(checks.index_folder(folder)))["snapshot"]
    assert found.state is Health.BROKEN and "without the documents that came last" in found.found
    assert "it goes on" in found.remedy


def test_a_folder_that_cannot_be_written_is_worth_a_note(tmp_path: Path) -> None:
    found = checks.writable(tmp_path / "none")
    assert found.state is Health.NOTE and found.remedy


def test_a_package_that_cannot_be_imported_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    found = checks.packages()
    assert found.state is Health.BROKEN and "tokenizers: ModuleNotFoundError" in found.found
    assert found.remedy == "pip install --force-reinstall tokenizers"


def test_kernels_that_fail_or_lie_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphwright.kernels import csr

    def fails(*_: object) -> object:
        raise RuntimeError("cannot cache function '_scatter': no locator available\nmore")

    monkeypatch.setattr(csr, "undirected", fails)
    found = {check.name: check for check in checks.machine(Path.cwd())}["kernels"]
    assert found.state is Health.BROKEN and found.found.endswith("no locator available")
    assert "NUMBA_CACHE_DIR" in found.remedy
    monkeypatch.setattr(csr, "undirected", lambda *_: (np.zeros(4), np.zeros(4)))
    assert checks.kernels().state is Health.BROKEN


def test_an_encoder_that_gives_wrong_vectors_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MiniLM, "encode", lambda self, texts: np.ones((len(texts), 384), np.float32))
    assert checks.encoder().state is Health.BROKEN


@pytest.mark.parametrize("free, state", [(2e9, Health.WELL), (5e8, Health.NOTE), (5e7, Health.BROKEN)])
def test_free_space_is_judged_where_the_index_will_be(
    free: float, state: Health, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def usage(place: Path) -> Any:
        asked.append(place)
        return namedtuple("usage", "total used free")(0, 0, free)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    found = checks.disk(tmp_path / "not" / "yet")
    assert found.state is state and bool(found.remedy) == (state is not Health.WELL)
    assert asked == [tmp_path]


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_key")
def test_openai_without_a_key_is_not_even_asked() -> None:
    found = by_name(list(checks.language_model(None, "gpt-4o-mini", None)))
    assert list(found) == ["key"] and found["key"].state is Health.BROKEN
    assert "OPENAI_API_KEY" in found["key"].remedy


@pytest.mark.usefixtures("no_key")
def test_settings_that_cannot_be_used_are_broken_with_file_and_key(tmp_path: Path) -> None:
    (tmp_path / SETTINGS).write_text(f'[llm]\nmodel = "m"\napi_key = "{SECRET}"\n')
    found = by_name(list(checks.language_model(tmp_path, None, None)))
    assert list(found) == ["settings"] and str(tmp_path / SETTINGS) in found["settings"].found
    assert SECRET not in repr(found)


@pytest.mark.usefixtures("no_key")
def test_a_model_given_goes_before_the_one_of_the_index(tmp_path: Path, dead: str) -> None:
    write_settings(tmp_path / SETTINGS, LLMSettings("small", dead))
    found = by_name(list(checks.language_model(tmp_path, "large", None)))
    assert found["answers"].state is Health.BROKEN
    assert "'large'" in found["answers"].found and dead in found["answers"].found


def clever(asked: dict[str, Any]) -> Say:
    """What a model that can do everything says: a shape if one is asked for."""
    return Say('{"name": "Mur", "length_km": 464}' if "response_format" in asked else "ready", usage=(21, 2))


def test_a_model_that_answers_in_the_shape_asked_for_is_well(tmp_path: Path) -> None:
    with LLMServer(clever) as server:
        write_settings(tmp_path / SETTINGS, LLMSettings("small", server.url))
        done = doctor("--index", tmp_path, "--json", OPENAI_API_KEY=SECRET)
    found = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert {found[name]["state"] for name in ("key", "answers", "schema")} == {"well"}
    assert found["answers"]["found"].startswith(f"small at {server.url}, in ")
    assert found["answers"]["found"].endswith(" s, 21 + 2 tokens")
    assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}" and SECRET not in done.stdout
    assert done.returncode == 1 and found["opens"]["state"] == "broken"  # the folder holds nothing but the settings


@pytest.mark.usefixtures("no_key")
def test_a_model_that_ignores_the_shape_is_broken() -> None:
    with LLMServer(["The Mur is long."]) as server:
        found = by_name(list(checks.language_model(None, "small", server.url)))
    assert [(name, check.state) for name, check in found.items()] == [
        ("key", Health.WELL),
        ("answers", Health.WELL),
        ("schema", Health.BROKEN),
    ]
    assert "River as JSON" in found["schema"].found and "another model" in found["schema"].remedy


@pytest.mark.usefixtures("no_key")
def test_a_server_that_reports_no_tokens_is_worth_a_note() -> None:
    with LLMServer([Say("ready", usage=None), Say('{"name": "Mur", "length_km": 464}', usage=None)]) as server:
        found = by_name(list(checks.language_model(None, "small", server.url)))
    assert found["answers"].state is Health.NOTE and found["answers"].found.endswith("reports no tokens")
    assert found["schema"].state is Health.WELL


def test_a_server_that_refuses_the_key_is_said_without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with LLMServer([error(401, f"Incorrect API key provided: {SECRET}")]) as server:
        found = by_name(list(checks.language_model(None, "small", server.url)))
    assert found["key"].found == "from OPENAI_API_KEY" and "schema" not in found
    assert found["answers"].state is Health.BROKEN and "refused the key" in found["answers"].found
    assert "OPENAI_API_KEY" in found["answers"].remedy and SECRET not in repr(found)


@pytest.mark.usefixtures("no_key")
def test_where_the_environment_names_the_server_no_key_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    with LLMServer(clever) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        found = by_name(list(checks.language_model(None, "small", None)))
    assert [check.state for check in found.values()] == [Health.WELL] * 3 and server.url in found["answers"].found


def test_a_foreign_message_in_brackets_is_not_parted() -> None:
    def fails() -> Check:
        raise StoreError("heads.npy is cut short (No data. Trust nobody (at all).). Index again. Now.")

    found = checks._tried("snapshot", fails, "")
    assert found.found == "heads.npy is cut short (No data. Trust nobody (at all).)"
    assert found.remedy == "Index again. Now."


def test_a_key_that_comes_back_in_a_message_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)

    def echoes() -> Check:
        raise ValueError(f"bad header Bearer {SECRET}")

    found = checks._tried("answers", echoes, "")
    assert found.found == "ValueError: bad header Bearer <OPENAI_API_KEY>"
