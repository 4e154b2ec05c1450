"""The code of docs/server.md runs against a real server."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

from tests.serve.conftest import Running, serving, wait_until
from tests.serve.routes.test_documents import ended

from graphwright import Index
from graphwright.models.fake import HashEncoder
from graphwright.serve.settings import ServeSettings, read_server_file

TEXT = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
RIVERS = "/v1/indexes/cities"


def block(language: str, part: str = "") -> str:
    """Return the first block of a language with a part."""
    return next(code for code in re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.S | re.M) if part in code)


def test_openai_client_prints_answer_with_source(server: Running) -> None:
    code = block("python", "openai").replace("http://127.0.0.1:8000", server.url).replace("my-index", "cities")
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


def test_documented_types_are_read_again(tmp_path: Path) -> None:
    Index.create(tmp_path / "rivers", encoder=HashEncoder(), extractor="rules").close()
    printed, names = io.StringIO(), dict[str, Any]()
    with serving(tmp_path / "rivers") as server:
        ended(
            server, server.client.post(f"{RIVERS}/documents", json={"documents": [{"text": "Graz lies on the Mur."}]})
        )
        code = block("python", "reextract").replace("http://127.0.0.1:8000", server.url).replace("my-index", "cities")
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "docs/server.md", "exec", dont_inherit=True), names)
        wait_until(lambda: server.client.get(f"/v1/jobs/{names['job']['id']}").json()["finished"])
        assert server.client.get(f"{RIVERS}/entities", params={"type": "river"}).json()["entities"][0]["name"] == "Mur"
    assert printed.getvalue().startswith("1 passages, 0 calls")


def test_documented_settings_are_read(tmp_path: Path) -> None:
    (tmp_path / "server.toml").write_text(block("toml"), encoding="utf-8")
    settings = read_server_file(tmp_path / "server.toml", port=9000)
    assert (settings.port, settings.threads, settings.queue) == (9000, 4, ServeSettings().queue)
    assert settings.llm is not None and settings.llm.model == "qwen2.5:7b"


def test_documented_routes_exist(server: Running) -> None:
    paths = set(server.client.get("/openapi.json").json()["paths"])
    table = re.findall(r"^\| `(?:GET|POST) (/v1[^`?]*)", TEXT, re.M)
    assert len(table) > 5 and {path.replace("{id}", "{document}") for path in table} <= paths
