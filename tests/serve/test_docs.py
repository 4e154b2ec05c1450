"""The code of docs/server.md runs against a real server."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from tests.serve.conftest import Running

from graphwright.serve.settings import ServeSettings, read_server_file

TEXT = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    match = re.search(rf"^```{language}\n(.*?)^```$", TEXT, re.S | re.M)
    assert match is not None
    return match[1]


def test_openai_client_prints_answer_with_source(server: Running) -> None:
    code = block("python").replace("http://127.0.0.1:8000", server.url).replace("my-index", "cities")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "docs/server.md", "exec", dont_inherit=True), {})
    assert "[1]" in printed.getvalue() and f"{server.url}/#/document/graz?index=cities" in printed.getvalue()


def test_documented_feedback_is_kept(server: Running) -> None:
    body = re.search(r"/feedback .*?-d '(.*?)'\n```", TEXT, re.S)
    assert body is not None
    path = "/v1/indexes/cities/feedback"
    given = server.client.post(path, content=body[1], headers={"Content-Type": "application/json"})
    assert given.status_code == 201 and given.json()["quotes"][0]["right"]
    assert server.client.delete(f"{path}/{given.json()['id']}").status_code == 204


def test_documented_settings_are_read(tmp_path: Path) -> None:
    (tmp_path / "server.toml").write_text(block("toml"), encoding="utf-8")
    settings = read_server_file(tmp_path / "server.toml", port=9000)
    assert (settings.port, settings.threads, settings.queue) == (9000, 4, ServeSettings().queue)
    assert settings.llm is not None and settings.llm.model == "qwen2.5:7b"


def test_documented_routes_exist(server: Running) -> None:
    paths = set(server.client.get("/openapi.json").json()["paths"])
    table = re.findall(r"^\| `(?:GET|POST) (/v1[^`?]*)", TEXT, re.M)
    assert len(table) > 5 and {path.replace("{id}", "{document}") for path in table} <= paths
