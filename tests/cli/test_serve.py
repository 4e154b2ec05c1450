"""`graphwright keys`: the key is printed once, and the file and the audit log never hold it.

The command that serves indexes: its settings, its errors, and a process from its start to its end.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.command import PROGRAM, TERMINAL, graphwright

from graphwright import Index
from graphwright.cli.serve import _listen, server_settings
from graphwright.errors import OptionError
from graphwright.serve.keys import Keys


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def keys(data: Path) -> Iterator[Keys]:
    with closing(Keys(data)) as opened:
        yield opened


def test_key_is_created_listed_and_revoked(data: Path, keys: Keys) -> None:
    made = graphwright("keys", "create", "wiki page", "--index", "wiki", "--index", "mail", "--data", data)
    token = made.stdout.strip()
    grant = keys.check(token)
    assert grant is not None and (grant.scope, grant.indexes) == ("read", ("wiki", "mail"))
    assert token not in made.stderr and "shown only now" in made.stderr
    (listed,) = json.loads(graphwright("keys", "list", "--json", "--data", data).stdout)
    assert (listed["name"], listed["state"], listed["expires"]) == ("wiki page", "active", None)
    table = graphwright("keys", "list", "--data", data).stdout
    assert "wiki, mail" in table and token[12:] not in table
    assert graphwright("keys", "revoke", listed["id"], "--data", data).returncode == 0
    assert keys.check(token) is None and "revoked" in graphwright("keys", "list", "--data", data).stdout
    entries = [json.loads(line) for line in (data / "audit.jsonl").read_text().splitlines()]
    assert [entry["action"] for entry in entries] == ["keys create", "keys revoke"]
    assert token[12:] not in (data / "audit.jsonl").read_text()


def test_key_expires(data: Path, keys: Keys) -> None:
    made = json.loads(graphwright("keys", "create", "guest", "--expires", "90d", "--json", "--data", data).stdout)
    (key,) = keys.all()
    assert (
        made["id"] == key.id
        and key.expires is not None
        and key.expires - key.created == pytest.approx(90 * 86_400, abs=5)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "x", "--scope", "root"], "the scopes are read, write, admin"),
        (["create", "x", "--expires", "soon"], "expires is 'soon'"),
        (["create", "x", "--expires", "2001-01-01"], "give a later time"),
        (["revoke", "12345678"], "no key '12345678'"),
    ],
)
def test_wrong_key_options_are_explained(data: Path, arguments: list[str], message: str) -> None:
    done = graphwright("keys", *arguments, "--data", data)
    assert done.returncode == 2 and message in done.stderr
    assert graphwright("keys", "list", "--data", data).stdout == ""


def test_key_without_name_gets_user_name(data: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    def unnamed() -> str:
        raise KeyError("getpwuid(): uid not found: 10001")

    monkeypatch.setattr("getpass.getuser", unnamed)
    monkeypatch.setattr("os.getuid", lambda: 10001)
    made = graphwright("keys", "create", "operator", "--data", data)
    assert made.returncode == 0 and keys.check(made.stdout.strip()) is not None
    assert json.loads((data / "audit.jsonl").read_text())["name"] == "uid 10001"


def test_key_index_names_are_checked_by_server(data: Path) -> None:
    made = graphwright("keys", "create", "reader", "--index", "wikki", "--data", data)
    assert made.returncode == 0 and "the server logs a warning for unknown ones" in made.stderr


pytest.importorskip("fastapi", reason='needs the extra "serve"')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Index.create(tmp_path / "cities").close()
    return tmp_path / "cities"


def test_server_answers_and_logs_json_until_stopped(folder: Path) -> None:
    data, settings = folder.parent / "data", folder.parent / "server.toml"
    settings.write_text('log_format = "json"')
    command = [*PROGRAM, "serve", str(folder), "--port", "0", "--data", str(data), "--settings", str(settings)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **TERMINAL}) as process:
        assert process.stderr is not None
        first = json.loads(process.stderr.readline())
        assert first["logger"] == "graphwright.serve" and first["message"].startswith("Serving 1 index at http")
        with urllib.request.urlopen(f"{first['message'].split()[-1]}v1/indexes", timeout=30) as reply:
            assert [index["name"] for index in json.load(reply)["indexes"]] == ["cities"]
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        lines = [json.loads(line) for line in process.stderr.read().splitlines()]
    assert {"uvicorn.error", "graphwright.serve.authentication"} <= {line["logger"] for line in lines}
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)


def test_serving_folder_without_index_is_reported(tmp_path: Path) -> None:
    done = graphwright("serve", tmp_path / "nothing")
    assert done.returncode == 1 and "is not an index folder" in done.stderr


@pytest.mark.parametrize("given", [True, False])
def test_server_without_index_begins_empty_and_makes_one(tmp_path: Path, given: bool) -> None:
    (tmp_path / "library").mkdir()
    folder = [str(tmp_path / "library")] if given else []
    command = [*PROGRAM, "serve", *folder, "--port", "0", "--data", str(tmp_path / "data")]
    environment = {**os.environ, **TERMINAL}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        assert first.startswith("Serving 0 indexes at http")
        request = urllib.request.Request(f"{first.split()[-1]}v1/indexes", b'{"name": "minutes"}')
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as reply:
            assert (reply.status, json.load(reply)["name"]) == (201, "minutes")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    home = tmp_path / "library" if given else tmp_path / "data" / "indexes"
    assert [json.loads(path.read_text())["name"] for path in home.glob("*/served.json")] == ["minutes"]


def test_folders_of_equal_name_are_refused(folder: Path) -> None:
    done = graphwright("serve", folder, folder)
    assert done.returncode == 2 and "both named 'cities'" in done.stderr and "NAME=" in done.stderr


def test_used_port_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as used, pytest.raises(OptionError, match="Give another one with"):
        _listen("127.0.0.1", used.getsockname()[1])


def test_small_replies_are_sent_at_once() -> None:
    with (
        _listen("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)  # no delay of small writes


def test_options_override_settings_file(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text('port = 9000\nfooter = true\n[llm]\nmodel = "small"\nbase_url = "http://localhost:1/v1"\n')
    chosen = server_settings(file, None, None, {"port": 8001, "host": None})
    assert (chosen.port, chosen.footer, chosen.host) == (8001, True, "127.0.0.1")
    assert chosen.llm is not None and chosen.llm.model == "small"
    other = server_settings(file, "large", None, {}).llm
    assert other is not None and (other.model, other.base_url) == ("large", None)
    with pytest.raises(OptionError, match="add --llm MODEL"):
        server_settings(None, None, "http://localhost:1/v1", {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 1", "Did you mean 'port'"),
        ("port = 70000", "at most 65535"),
        ('root_path = "wiki"', "a path such as /wiki"),
        ('public_url = "localhost"', "an address that ends in a slash"),
        ("port = ", "is not TOML"),
    ],
)
def test_wrong_settings_file_is_reported_by_name(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "server.toml"
    file.write_text(text)
    with pytest.raises(OptionError, match=f"server.toml.*{message}"):
        server_settings(file, None, None, {})


def test_serve_without_extra_names_it(folder: Path) -> None:
    code = "import sys; sys.modules['fastapi'] = None; from graphwright.cli.app import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "serve", str(folder)], capture_output=True, text=True)
    assert done.returncode == 1 and 'pip install "graphwright[serve]"' in done.stderr


def test_product_threads_are_limited_before_numpy() -> None:
    program = (
        "import os, sys; from graphwright.cli import app, serve; assert 'numpy' not in sys.modules; "
        "serve._compute_in_single_threads(); print(os.environ['OPENBLAS_NUM_THREADS'], os.environ['MKL_NUM_THREADS'])"
    )
    environment = {**os.environ, "MKL_NUM_THREADS": "3"}
    environment.pop("OPENBLAS_NUM_THREADS", None)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert ended.stdout.split() == ["1", "3"], ended.stderr
