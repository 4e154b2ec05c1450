"""The page is served from memory, below any path, and asks nothing of other servers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.serve.conftest import Running, serving

from graphwright.methods.registry import METHODS
from graphwright.serve.routes.page import page_files

UI = Path(__file__).parents[3] / "ui"


@pytest.fixture(scope="module", params=["", "/wiki"])
def served(request: pytest.FixtureRequest, cities: Path) -> Iterator[Running]:
    with serving(cities, root_path=request.param) as running:
        yield running


def assets(html: str) -> list[str]:
    return re.findall(r'(?:src|href)="([^"]+)"', html)


def test_page_and_files_are_served(served: Running) -> None:
    page = served.client.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-cache"
    assert "script-src 'self'" in page.headers["content-security-policy"]
    names = assets(page.text)
    assert len(names) >= 3
    for name in names:
        assert name.startswith("./assets/"), "only relative addresses work below a sub-path"
        file = served.client.get(name.removeprefix("."))
        assert file.status_code == 200
        assert "immutable" in file.headers["cache-control"]
        assert file.headers["content-encoding"] == "gzip"


def test_known_file_is_not_sent_again(served: Running) -> None:
    page = served.client.get("/")
    again = served.client.get("/", headers={"If-None-Match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    # A browser takes the headers of this reply for those of the page that it has.
    assert again.headers["content-security-policy"] == page.headers["content-security-policy"]


def test_files_are_compressed_on_request_only(served: Running) -> None:
    plain = served.client.get("/", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == page_files("")["index.html"].content


@pytest.mark.parametrize("name", ["absent.js", "..%2findex.html", "%2e%2e%2f%2e%2e%2fapp.py", "index.html"])
def test_other_names_are_not_found(served: Running, name: str) -> None:
    assert served.client.get(f"/assets/{name}").status_code == 404


def test_sub_path_leads_to_page(cities: Path) -> None:
    with serving(cities, root_path="/wiki") as running:
        reply = httpx.get(running.url)  # without the slash at the end, so that relative addresses would go astray
        assert reply.status_code == 307
        assert reply.headers["location"] == "/wiki/"


def test_first_load_is_small() -> None:
    files = page_files("assets")
    first = [name.removeprefix("./assets/") for name in assets(page_files("")["index.html"].content.decode())]
    assert sum(len(files[name].packed) for name in first) < 100_000
    assert sum(len(file.packed) for file in files.values()) < 150_000


def test_page_has_no_inline_or_remote_content() -> None:
    html = page_files("")["index.html"].content.decode()
    assert "<style" not in html
    assert not re.search(r"<script(?![^>]*\bsrc=)", html)
    for name, file in (page_files("") | page_files("assets")).items():
        addresses = set(re.findall(r"https?://[\w.-]+", file.content.decode()))
        assert addresses <= {"http://www.w3.org"}, name  # namespaces of SVG and XHTML, which nothing loads


@pytest.mark.skipif(not UI.exists(), reason="the sources of the page are not in this distribution")
def test_lock_file_names_no_registry() -> None:
    assert '"resolved"' not in (UI / "package-lock.json").read_text(encoding="utf-8")


def test_health_and_readiness_reply(server: Running) -> None:
    assert server.client.get("/healthz").json() == {"status": "ok"}
    assert server.client.get("/readyz").status_code == 200


def test_index_is_described(server: Running) -> None:
    (facts,) = server.client.get("/v1/indexes").json()["indexes"]
    assert server.client.get("/v1/indexes/cities").json() == facts
    assert (facts["name"], facts["documents"], facts["default_method"]) == ("cities", 4, "multihop")
    assert facts["current"] and not facts["imported"] and facts["llm"] is None


def test_methods_equal_registry(server: Running) -> None:
    methods = {method["name"]: method for method in server.client.get("/v1/methods").json()["methods"]}
    assert methods["vanilla"]["needs_llm"] and not methods["bm25"]["needs_llm"]
    assert methods["multihop"]["group"] == "Recommended" and set(methods) == set(METHODS)
    assert methods["bm25"]["options"]["top_k"] == 15
