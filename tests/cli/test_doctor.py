"""The doctor command, and each of its checks on a deliberately broken installation or index."""

from __future__ import annotations

import json
import shutil
import socket
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.command import graphwright
from tests.llm_server import LLMServer, Say, error
from tests.shared import CORPUS

from graphwright import Index
from graphwright.cli import doctor
from graphwright.cli.doctor import Check, Status
from graphwright.models import HashEncoder, MiniLM
from graphwright.models.settings import SETTINGS

SECRET = "sk-nobody-may-see-this"


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


@pytest.mark.usefixtures("no_key")
def test_doctor_approves_working_installation(folder: Path) -> None:
    before = contents(folder)
    done = graphwright("doctor", "--index", folder, "--json")
    assert done.returncode == 0 and done.stderr == ""
    report = json.loads(done.stdout)
    checks = {check["name"]: check for check in report["checks"]}
    assert report["ok"] is True
    assert list(checks) == [
        *("python", "packages", "kernels", "encoder"),
        *("opens", "snapshot", "writable", "model"),
    ]
    assert all(check["status"] == "ok" and check["detail"] for name, check in checks.items() if name != "model")
    assert f"numpy {np.__version__}" in checks["packages"]["detail"]
    assert MiniLM().id in checks["encoder"]["detail"] and "ms a sentence" in checks["encoder"]["detail"]
    assert checks["opens"]["detail"].startswith("6 documents")
    assert contents(folder) == before


@pytest.mark.usefixtures("no_key")
def test_doctor_marks_each_check_with_summary() -> None:
    done = graphwright("doctor")
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert lines[0].startswith("ok      python ") and lines[-1] == "Everything works."
    assert "\nnote    model " in done.stdout


def write_settings(folder: Path, url: str) -> None:
    (folder / SETTINGS).write_text(f'[llm]\nmodel = "small"\nbase_url = "{url}"\n')


def test_doctor_with_broken_index_and_dead_model_has_no_traceback(folder: Path, dead: str) -> None:
    (folder / "index.sqlite").write_bytes(b"not a database" * 100)
    write_settings(folder, dead)
    done = graphwright("doctor", "--index", folder, OPENAI_API_KEY=SECRET)
    assert done.returncode == 1 and "Traceback" not in done.stderr + done.stdout
    assert done.stdout.splitlines()[-1] == "Failed: opens, answers."
    assert "failed  opens " in done.stdout and "from OPENAI_API_KEY" in done.stdout
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--base-url", "http://localhost:1/v1"], "names a server but no model; add --llm MODEL"),
        (["--llm", "m", "--base-url", "localhost"], "base_url is 'localhost'"),
        (["--llm", ""], "model is empty"),
    ],
)
def test_doctor_with_wrong_usage_runs_nothing(arguments: list[str], message: str) -> None:
    done = graphwright("doctor", *arguments)
    assert done.returncode == 2 and message in done.stderr and done.stdout == ""


def by_name(checks: list[Check]) -> dict[str, Check]:
    failed = [check for check in checks if check.status is Status.FAILED]
    assert all(check.remedy or ". " in check.detail for check in failed), checks
    return {check.name: check for check in checks}


def test_doctor_with_missing_index_names_command(tmp_path: Path) -> None:
    checks = by_name(list(doctor.check_index(tmp_path / "none")))
    assert list(checks) == ["opens"] and checks["opens"].status is Status.FAILED
    assert "is not an index folder" in checks["opens"].detail and "graphwright index" in checks["opens"].detail
    assert next(doctor.check_index(tmp_path)).status is Status.FAILED


def test_doctor_refuses_other_schema(folder: Path) -> None:
    with sqlite3.connect(folder / "index.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    checks = by_name(list(doctor.check_index(folder)))
    assert list(checks) == ["opens"] and "has schema 99" in checks["opens"].detail


def test_doctor_refuses_other_encoder(tmp_path: Path) -> None:
    Index.create(tmp_path / "other", encoder=HashEncoder()).close()
    checks = by_name(list(doctor.check_index(tmp_path / "other")))
    assert list(checks) == ["opens"] and HashEncoder().id in checks["opens"].detail


def test_doctor_finds_damaged_snapshot(folder: Path) -> None:
    array = next(folder.glob("snapshot-*/graph/heads.npy"))
    array.write_bytes(array.read_bytes()[:-8])
    checks = by_name(list(doctor.check_index(folder)))
    assert [checks[name].status for name in ("opens", "snapshot", "writable")] == ["ok", "failed", "ok"]
    assert "heads.npy" in checks["snapshot"].detail


def test_doctor_finds_outdated_snapshot(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "index.sqlite")) as db, db:  # a writer was killed after this
        db.execute("UPDATE settings SET value = '99' WHERE name = 'revision'")
    check = by_name(list(doctor.check_index(folder)))["snapshot"]
    assert check.status is Status.FAILED and "without the newest documents" in check.detail
    assert "to resume" in check.remedy


def test_doctor_notes_unwritable_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_is_writable", lambda place: False)
    check = by_name(list(doctor.check_index(folder)))["writable"]
    assert check.status is Status.NOTE and check.remedy


def test_doctor_names_missing_package_and_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    check = doctor.check_packages()
    assert check.status is Status.FAILED and "onnxruntime: ModuleNotFoundError" in check.detail
    assert check.remedy == "Run: pip install --force-reinstall onnxruntime"


def test_doctor_finds_failing_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphwright.kernels import csr

    def fails(*_: object) -> object:
        raise RuntimeError("cannot cache function '_scatter': no locator available\nmore")

    monkeypatch.setattr(csr, "undirected", fails)
    check = by_name(list(doctor.check_machine()))["kernels"]
    assert check.status is Status.FAILED and check.detail.endswith("no locator available")
    assert "--force-reinstall graphwright" in check.remedy
    monkeypatch.setattr(csr, "undirected", lambda *_: (np.zeros(4), np.zeros(4)))
    assert doctor.check_kernels().status is Status.FAILED


def test_doctor_finds_wrong_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MiniLM, "encode", lambda self, texts: np.ones((len(texts), 384), np.float32))
    assert doctor.check_encoder().status is Status.FAILED


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_key")
def test_doctor_without_key_sends_nothing() -> None:
    checks = by_name(list(doctor.check_llm(None, "gpt-4o-mini", None)))
    assert list(checks) == ["key"] and checks["key"].status is Status.FAILED
    assert "OPENAI_API_KEY" in checks["key"].remedy


@pytest.mark.usefixtures("no_key")
def test_doctor_reports_bad_settings_with_file_and_key(tmp_path: Path) -> None:
    (tmp_path / SETTINGS).write_text(f'[llm]\nmodel = "m"\napi_key = "{SECRET}"\n')
    checks = by_name(list(doctor.check_llm(tmp_path, None, None)))
    assert list(checks) == ["settings"] and str(tmp_path / SETTINGS) in checks["settings"].detail
    assert SECRET not in repr(checks)


@pytest.mark.usefixtures("no_key")
def test_doctor_prefers_given_model(tmp_path: Path, dead: str) -> None:
    write_settings(tmp_path, dead)
    checks = by_name(list(doctor.check_llm(tmp_path, "large", None)))
    assert checks["answers"].status is Status.FAILED
    assert "'large'" in checks["answers"].detail and dead in checks["answers"].detail


def clever(asked: dict[str, Any]) -> Say:
    """What a model that can do everything says: a shape if one is asked for."""
    return Say('{"name": "Mur", "length_km": 464}' if "response_format" in asked else "ready", usage=(21, 2))


def test_doctor_approves_model_following_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with LLMServer(clever) as server:
        write_settings(tmp_path, server.url)
        done = graphwright("doctor", "--index", tmp_path, "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert {checks[name]["status"] for name in ("key", "answers", "schema")} == {"ok"}
    assert checks["answers"]["detail"].startswith(f"small at {server.url}, in ")
    assert checks["answers"]["detail"].endswith(" s, 21 + 2 tokens")
    assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}" and SECRET not in done.stdout
    assert done.returncode == 1 and checks["opens"]["status"] == "failed"  # the folder holds nothing but the settings


@pytest.mark.usefixtures("no_key")
def test_doctor_reports_model_ignoring_schema() -> None:
    with LLMServer(["The Mur is long."]) as server:
        checks = by_name(list(doctor.check_llm(None, "small", server.url)))
    assert [(name, check.status) for name, check in checks.items()] == [
        ("key", Status.OK),
        ("answers", Status.OK),
        ("schema", Status.FAILED),
    ]
    assert "River as JSON" in checks["schema"].detail and "another model" in checks["schema"].detail


@pytest.mark.usefixtures("no_key")
def test_doctor_notes_missing_token_counts() -> None:
    with LLMServer([Say("ready", usage=None), Say('{"name": "Mur", "length_km": 464}', usage=None)]) as server:
        checks = by_name(list(doctor.check_llm(None, "small", server.url)))
    assert checks["answers"].status is Status.NOTE and checks["answers"].detail.endswith("reports no tokens")
    assert checks["schema"].status is Status.OK


def test_doctor_reports_refused_key_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with LLMServer([error(401, f"Incorrect API key provided: {SECRET}")]) as server:
        checks = by_name(list(doctor.check_llm(None, "small", server.url)))
    assert checks["key"].detail == "from OPENAI_API_KEY" and "schema" not in checks
    assert checks["answers"].status is Status.FAILED and "refused the key" in checks["answers"].detail
    assert "OPENAI_API_KEY" in checks["answers"].detail and SECRET not in repr(checks)


@pytest.mark.usefixtures("no_key")
def test_doctor_needs_no_key_for_named_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with LLMServer(clever) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        checks = by_name(list(doctor.check_llm(None, "small", None)))
    assert [check.status for check in checks.values()] == [Status.OK] * 3 and server.url in checks["answers"].detail


def test_doctor_masks_key_in_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)

    def echoes() -> Check:
        raise ValueError(f"bad header Bearer {SECRET}")

    check = doctor._checked("answers", echoes, "")
    assert check.detail == "ValueError: bad header Bearer <OPENAI_API_KEY>"
