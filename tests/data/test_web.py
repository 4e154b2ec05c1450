"""Files of the web: fetched over real HTTP, and refused where they lie in a private network."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from graphwright.data import web
from graphwright.data.documents import read_file
from graphwright.errors import DataError


class Pages(BaseHTTPRequestHandler):
    """Pages of a small site."""

    hosts: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.hosts.append(self.headers["Host"])
        if self.path.startswith("/to?"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to?"))
            self.end_headers()
            return
        self.send_response(404 if self.path == "/none" else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8" if self.path == "/page" else "text/csv")
        self.end_headers()
        self.wfile.write(b"<title>Graz</title><p>Graz lies on the Mur." if self.path == "/page" else b"a,b\n1,2\n")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    Pages.hosts.clear()
    yield f"http://localhost:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def anywhere(address: str) -> bool:
    return address.startswith(("127.", "::1"))


def test_fetch_page_has_its_address_as_id(site: str, tmp_path: Path) -> None:
    file = web.fetch(f"{site}/page", tmp_path, anywhere)
    [document] = read_file(file, f"{site}/page", print)
    assert (document.id, document.title, document.text) == (f"{site}/page", "Graz", "Graz lies on the Mur.")
    assert Pages.hosts == [site.removeprefix("http://")]  # the name, though the address was resolved before
    assert web.fetch(f"{site}/rows", tmp_path, anywhere).suffix == ".csv"


def test_fetch_redirects_are_checked_and_followed(site: str, tmp_path: Path) -> None:
    assert web.fetch(f"{site}/to?/page", tmp_path, anywhere).read_bytes().startswith(b"<title>")
    assert len(set(Pages.hosts)) == 1 and len(Pages.hosts) == 2
    with pytest.raises(DataError, match=r"10\.0\.0\.1 has the address 10\.0\.0\.1, which is private"):
        web.fetch(f"{site}/to?http://10.0.0.1/", tmp_path, anywhere)
    with pytest.raises(DataError, match=r"cannot be fetched|not an address of the web"):
        web.fetch(f"{site}/to?file:///etc/passwd", tmp_path, anywhere)
    with pytest.raises(DataError, match="redirects more than 5 times"):
        web.fetch(f"{site}/to?/to?/to?/to?/to?/to?/to?/page", tmp_path, anywhere)


def test_fetch_forbidden_address_raises(site: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"localhost has the address .*, which is private; only the public web"):
        web.fetch(f"{site}/page", tmp_path)
    assert not Pages.hosts
    with pytest.raises(DataError, match=r"ftp://example\.org is not an address of the web"):
        web.fetch("ftp://example.org", tmp_path)
    with pytest.raises(DataError, match="answered 404 Not Found"):
        web.fetch(f"{site}/none", tmp_path, anywhere)
    with pytest.raises(DataError, match="cannot be fetched"):
        web.fetch("http://127.0.0.1:1/", tmp_path, anywhere)


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "172.16.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
        ),
        *("224.0.0.1", "::1", "fe80::1%eth0", "fd00::1", "::ffff:127.0.0.1", "2002:7f00:1::", "64:ff9b::a00:1"),
        "64:ff9b:1::a00:1",
    ],
)
def test_is_public_private_address_is_false(address: str) -> None:
    assert not web.is_public(address)
