"""A web site as a source: sitemap, links and robots.txt, over real HTTP of a server that the test starts."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from graphwright import Index
from graphwright.build import source_reading
from graphwright.data.site import WebSite
from graphwright.errors import DataError
from graphwright.graph.graph import REFERS
from graphwright.models.fake import HashEncoder
from graphwright.store import Changes

pytest.importorskip("protego")
URLSET = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'
SITEMAPS = '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</sitemapindex>'


@dataclass
class Site:
    """A site whose answers the test sets: by path the content, or a status with headers. `seen`: the requests."""

    url: str
    answers: dict[str, Any] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    dated: bool = False  # whether answers have a date, and no ETag
    other: Callable[[str], Any] = lambda path: (404, {})  # the answer to any other path

    def sitemap(self, *paths: str) -> None:
        places = "".join(f"<url><loc>{self.url}{path}</loc></url>" for path in paths)
        self.answers["/sitemap.xml"] = URLSET.format(places).encode()

    def pages(self, **texts: str) -> None:
        for name, text in texts.items():
            self.answers[f"/{name}.html"] = f"<title>{name}</title><p>{text}".encode()
        self.sitemap(*(f"/{name}.html" for name in texts))

    def linked(self, **links: str) -> None:
        """Make pages without a sitemap: by name the paths that each links to."""
        for name, paths in links.items():
            anchors = " ".join(f'<a href="{path}">more</a>' for path in paths.split())
            self.answers["/" if name == "home" else f"/{name}"] = f"<html><p>This is {name}.<p>{anchors}".encode()

    def ids(self, index: Index) -> set[str]:
        return {item.id.removeprefix(self.url) for item in index.list_documents()}

    def source(self, path: str = "/sitemap.xml", delay: float = 0.0) -> WebSite:
        return WebSite(f"{self.url}{path}", delay, lambda address: True)


@pytest.fixture
def site() -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.seen.append(self.path)
            site.times.append(time.monotonic())
            answer = site.answers.get(self.path) or site.other(self.path)
            status, headers = answer if isinstance(answer, tuple) else (200, {})
            content = b"" if isinstance(answer, tuple) else answer
            name, condition, version = "ETag", "If-None-Match", f'"{hash(content)}"'
            if site.dated:
                name, condition, version = "Last-Modified", "If-Modified-Since", "Mon, 01 Jan 2024 10:00:00 GMT"
            if content and self.headers.get(condition) == version:
                status, content = 304, b""
            self.send_response(status)
            suffix = self.path.rpartition(".")[2] if "." in self.path else "html"
            kinds = {"html": "text/html", "xml": "application/xml", "txt": "text/plain"}
            for header in {"Content-Type": kinds.get(suffix, "x/y"), name: version, **headers}.items():
                self.send_header(*header)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    site = Site(f"http://localhost:{server.server_port}")
    yield site
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "ix", encoder=HashEncoder()) as index:
        yield index


def counts(changes: Changes) -> tuple[int, int, int, int]:
    return len(changes.added), len(changes.replaced), len(changes.unchanged), len(changes.removed)


def test_sync_site_fetches_only_what_changed(site: Site, index: Index) -> None:
    site.pages(graz='Graz lies on the <a href="mur.html#top">Mur</a>.', mur="The Mur is a river.", linz="Linz.")
    assert counts(index.sync(site.source())) == (3, 0, 0, 0)
    [graz] = [item for item in index.list_documents() if item.title == "graz"]
    assert graz.id == f"{site.url}/graz.html"
    site.pages(graz="Graz is in Styria.", mur="The Mur is a river.")
    assert counts(index.sync(site.source())) == (0, 1, 1, 1)
    assert counts(index.sync(site.source())) == (0, 0, 2, 0)
    index.remove([f"{site.url}/mur.html"])
    assert counts(index.sync(site.source())) == (1, 0, 1, 0)  # as of a folder, whose file is still there


def test_sync_site_page_with_a_date_is_not_sent_again(site: Site, index: Index) -> None:
    site.dated = True
    site.pages(graz="Graz lies on the Mur.", mur="The Mur is a river.")
    index.sync(site.source())
    site.pages(graz="Another text of the same date.", mur="The Mur is a river.")
    assert counts(index.sync(site.source())) == (0, 0, 2, 0)


def test_sync_site_links_join_its_pages(site: Site, index: Index) -> None:
    site.pages(graz='Graz lies on the <a href="mur.html#top">Mur</a>.', mur="The Mur is a river.")
    index.sync(site.source())
    assert len(index.graph.columns.edges_of(REFERS)) == 1


def test_sync_failing_page_keeps_its_document(site: Site, index: Index) -> None:
    site.pages(graz="Graz lies on the Mur.", mur="The Mur is a river.", linz="Linz lies on the Danube.")
    index.sync(site.source())
    site.answers["/graz.html"], site.answers["/mur.html"] = (503, {}), (410, {})
    changes = index.sync(site.source())
    assert counts(changes) == (0, 0, 1, 1) and changes.removed == [f"{site.url}/mur.html"]
    assert changes.retained == changes.unreadable == [f"{site.url}/graz.html"]
    assert sorted(item.reason.partition("answered ")[2][:8] for item in changes.skipped) == ["410 Gone", "503 Serv"]


@pytest.mark.parametrize(
    ("path", "answer", "message"),
    [
        ("/sitemap.xml", (500, {}), "answered 500"),
        ("/robots.txt", (503, {}), "robots.txt answered 503, so nothing is fetched"),
        ("/robots.txt", b"User-agent: *\nDisallow: /sitemap.xml", "robots.txt forbids it"),
        ("/robots.txt", b"User-agent: *\nCrawl-delay: 3600", "asks for 3600 seconds between two requests"),
        ("/sitemap.xml", SITEMAPS.format("<sitemap><loc>http://e.org/a</loc></sitemap>").encode(), "leads to another"),
        ("/sitemap.xml", gzip.compress(bytes(60 << 20)), "is larger than 50 MB"),
        ("/sitemap.xml", b"<html>", "is no sitemap, but damaged: its XML"),
        ("/sitemap.xml", b"<rss/>", "is no sitemap, but XML of the kind <rss>"),
        ("/sitemap.xml", b'<!DOCTYPE a [<!ENTITY b "c">]><a/>', "is no sitemap"),
        ("/sitemap.xml", b"\x1f\x8bno gzip", "a damaged gzip file"),
        ("/sitemap.xml", URLSET.format("").encode(), "it has no files"),
    ],
)
def test_sync_failing_site_changes_nothing(site: Site, index: Index, path: str, answer: Any, message: str) -> None:
    site.pages(graz="Graz lies on the Mur.")
    index.sync(site.source())
    site.answers[path] = answer
    with pytest.raises(DataError, match=message):
        index.sync(site.source())
    assert [item.id for item in index.list_documents()] == [f"{site.url}/graz.html"]


def test_sync_site_that_ends_in_the_middle_changes_nothing(site: Site, index: Index) -> None:
    site.pages(**{f"page{number}": f"Page {number}." for number in range(20)})
    index.sync(site.source())
    for number in range(5, 20):
        site.answers[f"/page{number}.html"] = (502, {})
    with pytest.raises(DataError, match=r"10 files of .* one after another cannot be fetched"):
        index.sync(site.source())
    assert len(index.list_documents()) == 20


def test_robots_rules_and_delay_are_kept(site: Site) -> None:
    site.pages(graz="Graz.", secret="Secret.", print="Print.")
    site.sitemap("/graz.html", "/secret.html", "/graz.html?print=1")
    site.answers["/robots.txt"] = b"User-agent: *\nDisallow: /secret\nDisallow: /*?print=\nCrawl-delay: 0.4"
    source = site.source()
    results = {file.name.removeprefix(site.url): source.fetch(file.name, "") for file in source.list()}
    reasons = {name: getattr(result, "reason", "") for name, result in results.items()}
    forbidden = f"{site.url}/robots.txt forbids it"
    assert reasons == {"/graz.html": "", "/secret.html": forbidden, "/graz.html?print=1": forbidden}
    assert site.seen == ["/robots.txt", "/sitemap.xml", "/graz.html"]
    assert site.times[2] - site.times[1] >= 0.2  # a request may come late


def test_pages_of_other_hosts_are_not_fetched(site: Site, tmp_path: Path) -> None:
    other = site.url.replace("localhost", "127.0.0.1")
    site.sitemap("/away.html", "/near.html")
    site.answers["/away.html"] = (302, {"Location": f"{other}/there.html"})
    site.answers["/near.html"] = (302, {"Location": "/there.html"})
    site.answers["/there.html"] = b"<p>There."
    source = site.source()
    away, near = (source.fetch(file.name, "") for file in source.list())
    assert "it leads to another host, 127.0.0.1" in getattr(away, "reason", "") and hasattr(near, "file")
    listed = tmp_path / "pages.txt"
    listed.write_text(f"# pages\n\n{site.url}/near.html\n{other}/there.html\n", encoding="utf-8")
    source = WebSite(f"urls:{listed}", 0.0, lambda address: True)
    assert [hasattr(source.fetch(file.name, ""), "file") for file in source.list()] == [True, True]


def test_sitemaps_are_found_packed_and_nested(site: Site) -> None:
    site.pages(graz="Graz.", mur="Mur.")
    places = "".join(f"<sitemap><loc>{site.url}{path}</loc></sitemap>" for path in ("/a.xml.gz", "/b.txt"))
    site.answers["/all.xml"] = SITEMAPS.format(places).encode()
    site.answers["/a.xml.gz"] = gzip.compress(site.answers.pop("/sitemap.xml"))
    site.answers["/b.txt"] = f"{site.url}/linz.html\n{site.url}/mur.html\n".encode()
    site.answers["/robots.txt"] = f"Sitemap: {site.url}/all.xml\n".encode()
    names = [file.name.removeprefix(site.url) for file in site.source("").list()]
    assert names == ["/graz.html", "/mur.html", "/linz.html"]
    site.answers["/all.xml"] = SITEMAPS.format(f"<sitemap><loc>{site.url}/all.xml</loc></sitemap>").encode()
    with pytest.raises(DataError, match="which name one another"):
        site.source("").list()


def test_private_address_is_refused(site: Site) -> None:
    with pytest.raises(DataError, match="which is private"):
        WebSite(f"{site.url}/sitemap.xml").list()


def test_sync_site_without_sitemap_follows_links(site: Site, index: Index) -> None:
    site.linked(
        home="/a b?x=1&y=2#top http://elsewhere.example/ mailto:a@b.c /logo.png",
        a="/ b",
        b="/gone /docs/c",
    )
    site.answers["/a"] = site.answers["/a"].replace(b"<html>", b'<html><base href="/">')
    site.linked(**{"docs/c": "../a"})
    changes = index.sync(site.source(""))
    assert site.ids(index) == {"/", "/a", "/b", "/docs/c"}
    assert [item.path for item in changes.skipped] == [f"{site.url}/b?x=1&y=2", f"{site.url}/gone"]
    assert "/logo.png" not in site.seen
    site.seen.clear()
    site.linked(b="/docs/c")
    site.answers["/docs/c"] = (410, {})
    changes = index.sync(site.source(""))
    assert changes.removed == [f"{site.url}/docs/c"] and changes.replaced == [f"{site.url}/b"]
    assert sorted(site.seen)[1:] == ["/", "/a", "/b", "/b?x=1&y=2", "/docs/c", "/robots.txt", "/sitemap.xml"]


def test_crawl_stays_below_the_folder_of_its_page(site: Site) -> None:
    site.linked(**{"docs/index.html": "intro /home ../news"})
    source = site.source("/docs/index.html")
    [start] = source.list()
    fetched = source.fetch(start.name, "")
    assert start.leads and getattr(fetched, "links", None) == (f"{site.url}/docs/intro",)


def test_crawl_keeps_pages_while_a_page_between_fails(site: Site, index: Index) -> None:
    site.linked(home="/a", a="/b", b="")
    index.sync(site.source(""))
    for _ in range(2):
        site.answers["/a"] = (503, {})
        changes = index.sync(site.source(""))
        assert not changes.removed and changes.unreadable == [f"{site.url}/a"]
    site.linked(home="", a="", b="")  # such as a page of maintenance in the place of all
    assert not index.sync(site.source("")).removed
    assert site.ids(index) == {"/", "/a", "/b"}


@pytest.mark.parametrize("answer", [(503, {}), (404, {}), (302, {"Location": "http://127.0.0.1:9/"})])
def test_crawl_of_failing_site_changes_nothing(site: Site, index: Index, answer: Any) -> None:
    site.linked(home="/a", a="")
    index.sync(site.source(""))
    site.answers["/"] = answer
    with pytest.raises(DataError, match=r"answered|leads to another host"):
        index.sync(site.source(""))
    assert site.ids(index) == {"/", "/a"}


def test_crawl_follows_rules_for_robots(site: Site, index: Index) -> None:
    site.answers["/robots.txt"] = b"User-agent: *\nDisallow: /secret"
    site.linked(home="/secret/a /unlisted /closed /headed", unlisted="/below", below="", closed="/never")
    site.answers["/unlisted"] += b'<meta name="Robots" content="NOINDEX">'
    site.answers["/closed"] += b'<meta name="robots" content="nofollow"><a rel="nofollow" href="/nor">'
    site.answers["/headed"] = (200, {"X-Robots-Tag": "none", "Content-Type": "text/html"})
    changes = index.sync(site.source(""))
    assert site.ids(index) == {"/", "/below", "/closed"}
    assert {item.reason for item in changes.skipped} == {"the page asks not to be indexed (noindex)"}
    assert not {"/secret/a", "/never", "/nor"}.intersection(site.seen)


def test_crawl_takes_a_page_once(site: Site, index: Index) -> None:
    site.linked(home="/a?print=1 /moved /for-now /index.html", a="", new="")
    site.answers["/index.html"] = site.answers["/"]
    site.answers["/a?print=1"] = b'<html><link rel="canonical" href="/a">Print'
    site.answers["/moved"] = (301, {"Location": "/new"})
    site.answers["/for-now"] = (302, {"Location": "/new"})
    changes = index.sync(site.source(""))
    assert site.ids(index) == {"/", "/a", "/new"}
    assert [item.reason for item in changes.skipped] == [f"it leads to {site.url}/new for the time being"]
    assert not index.sync(site.source("")).added  # though the text of an unchanged page is not sent
    site.answers["/new"] = (301, {"Location": "/newest"})
    site.linked(newest="")
    assert index.sync(site.source("")).removed == [f"{site.url}/new"] and "/newest" in site.ids(index)


def test_crawl_of_endless_site_ends(site: Site, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(10**9))

    def shop(path: str) -> Any:
        name = path.partition("?")[0]
        if name == "/calendar":
            day = int(path.rpartition("=")[2])
            return f'<html>Day {day}<a href="?day={day + 1}">next</a>'.encode()
        links = " ".join(f'<a href="{other}?session={next(numbers)}">x</a>' for other in ("/cart", "/list", "/help"))
        return f"<html>This is {name}. {links}".encode() if name in ("/cart", "/list", "/help") else (404, {})

    site.other = shop
    site.linked(home="/list?session=x /calendar?day=1")
    monkeypatch.setattr(source_reading, "_MAX_DEPTH", 5)
    changes = index.sync(site.source(""))
    names = sorted(name.partition("?")[0] for name in site.ids(index))
    assert names == ["/", *["/calendar"] * 5, "/cart", "/help", "/list"]
    assert changes.skipped[-1].reason.startswith(
        f"1 further file that links lead to, such as {site.url}/calendar?day=6"
    )
    for _ in range(2):
        site.seen.clear()
        index.sync(site.source(""))
        assert len(site.seen) < 30
        assert sorted(name.partition("?")[0] for name in site.ids(index)) == names
    monkeypatch.setattr(source_reading, "_MAX_LINKED", 3)
    index.sync(site.source(""))
    assert len(site.ids(index)) == 9  # the limit is for what is new


def test_killed_crawl_goes_on_where_it_was(site: Site, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_reading, "_SAVE_SECONDS", -1.0)
    monkeypatch.setattr("graphwright.build.document_storage._DOCUMENTS", 1)
    site.linked(home="/a /b", a="", b="/c", c="")
    source, fetch = site.source(""), WebSite.fetch

    def killed(self: WebSite, name: str, tag: str) -> Any:
        if name.endswith("/c"):
            raise KeyboardInterrupt
        return fetch(self, name, tag)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(WebSite, "fetch", killed)
        index.sync(source)
    assert len(index.sync(site.source("")).unchanged) > 0 and site.ids(index) == {"/", "/a", "/b", "/c"}
