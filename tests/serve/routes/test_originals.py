"""Originals of documents over HTTP: downloaded as they were sent, shown by page, and gone with the document."""

from __future__ import annotations

import hashlib
import io
import sys
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from tests.data.formats.made import CHAPTERS, page_picture, rivers_pdf
from tests.serve.conftest import Running, wait_until
from tests.shared import served

from graphwright import Index
from graphwright.models.fake import HashEncoder
from graphwright.serve.keys import Keys

INDEXES = "/v1/indexes"
HTML = b"<html><body><script>alert(1)</script><p>Graz lies on the Mur.</p></body></html>"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Running]:
    """A server with an empty index "notes"."""
    with served.serving_home(tmp_path / "home", max_originals=40_000) as running:
        assert running.client.post(INDEXES, json={"name": "notes", "extraction": "rules"}).status_code == 201
        yield running


def done(home: Running, reply: Any) -> Any:
    assert reply.status_code == 202, reply.text
    address = f"/v1/jobs/{reply.json()['job']['id']}"
    wait_until(lambda: home.client.get(address).json()["finished"])
    return home.client.get(address).json()


def send(home: Running, *files: tuple[str, bytes], index: str = "notes") -> Any:
    address = f"{INDEXES}/{index}/documents"
    return done(home, home.client.post(address, files=[("files", file) for file in files]))


def address(id: str, *parts: str) -> str:
    return "/".join([f"{INDEXES}/notes/documents/{quote(id, safe='')}", *parts])


def original(home: Running, id: str) -> Any:
    return home.client.get(address(id)).json()["original"]


def kept(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "data" / "originals").iterdir())


def test_original_is_downloaded_as_it_was_sent_and_never_shown(home: Running, tmp_path: Path) -> None:
    send(home, ("Über/a b.html", HTML), ("t.csv", b"id,text\n7,Linz lies on the Danube.\n"))
    assert original(home, "Über/a b.html") == {"name": "a b.html", "pages": 0}
    reply = home.client.get(address("Über/a b.html", "original"))
    assert reply.content == HTML and reply.headers["Content-Type"] == "application/octet-stream"
    assert unquote(reply.headers["Content-Disposition"]) == "attachment; filename*=UTF-8''a b.html"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in reply.headers["Content-Security-Policy"]
    (row,) = home.client.get(f"{INDEXES}/notes/documents?q=7").json()["documents"]
    assert home.client.get(address(row["id"], "original")).content.startswith(b"id,text")
    assert f"{hashlib.sha256(HTML).hexdigest()}.html" in kept(tmp_path)


def test_original_of_a_file_in_an_archive_or_mail_is_that_file(home: Running) -> None:
    book = rivers_pdf(CHAPTERS[:2])
    inner, outer = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w") as packed:
        packed.writestr("books/a#1.pdf", book)
    with zipfile.ZipFile(outer, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("deep.zip", inner.getvalue())
        packed.writestr("b.txt", "Linz lies on the Danube.")
    assert send(home, ("all.zip", outer.getvalue()))["changes"]["added"] == 2
    assert home.client.get(address("all.zip/b.txt", "original")).content == b"Linz lies on the Danube."
    id = "all.zip/deep.zip/books/a#1.pdf"
    assert home.client.get(address(id, "original")).content == book
    assert original(home, id) == {"name": "a#1.pdf", "pages": 2}
    assert home.client.get(address(id, "pages", "2")).content.startswith(b"\x89PNG")


def test_pages_are_pictures_and_cited_characters_have_marks(home: Running) -> None:
    send(home, ("rivers.pdf", rivers_pdf()))
    text = home.client.get(address("rivers.pdf", "text")).json()["text"]
    assert original(home, "rivers.pdf")["pages"] == len(CHAPTERS)
    start = text.index(CHAPTERS[1][1])
    span = {"start": start, "end": start + len(CHAPTERS[1][1])}
    (mark,) = home.client.get(address("rivers.pdf", "marks"), params=span).json()
    assert mark["page"] == 2 and 0 < mark["left"] < mark["right"] < 10_000 and mark["top"] < mark["bottom"] < 5_000
    assert home.client.get(address("rivers.pdf", "marks")).json() == []
    page = home.client.get(address("rivers.pdf", "pages", "2"))
    assert page.headers["Content-Type"] == "image/png" and page.content.startswith(b"\x89PNG")
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    for number, status in (("0", 422), ("4", 404), ("x", 422)):
        assert home.client.get(address("rivers.pdf", "pages", number)).status_code == status


def test_recognised_pictures_have_pages_and_marks(home: Running) -> None:
    pytest.importorskip("rapidocr")
    picture = io.BytesIO()
    page_picture("Graz lies on the Mur.").save(picture, "PNG")
    send(home, ("scan.png", picture.getvalue()))
    assert original(home, "scan.png") == {"name": "scan.png", "pages": 1}
    (mark,) = home.client.get(address("scan.png", "marks"), params={"start": 0, "end": 21}).json()
    assert mark["page"] == 1 and mark["left"] < 700 and 2_000 < mark["right"] < 4_000
    assert home.client.get(address("scan.png", "pages", "1")).content.startswith(b"\x89PNG")


def test_page_without_pypdfium2_is_refused_with_the_remedy(home: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    send(home, ("rivers.pdf", rivers_pdf()))
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    reply = home.client.get(address("rivers.pdf", "pages", "1"))
    assert reply.status_code == 422 and "graphwright[documents]" in reply.json()["detail"]


def test_original_is_hidden_from_keys_without_the_index(tmp_path: Path) -> None:
    with Index.create(tmp_path / "notes", encoder=HashEncoder()) as index:
        index.add([{"id": "b", "text": "Linz lies on the Danube."}])
    with closing(Keys(tmp_path / "data")) as keys:
        writer, _ = keys.create("writer", "write")
        stranger, _ = keys.create("stranger", "admin", ["other"])
    with served.serving(f"notes={tmp_path / 'notes'}", key=writer) as running:
        send(running, ("rivers.pdf", rivers_pdf()))
        for part in ("original", "pages/1", "marks"):
            known = address("rivers.pdf", part)
            assert running.client.get(known).status_code == 200
            assert running.client.get(known, headers={"Authorization": f"Bearer {stranger}"}).status_code in (403, 404)
            assert running.client.get(known, headers={"Authorization": "Bearer gw_none"}).status_code == 401


def test_original_is_replaced_and_removed_with_its_document(home: Running, tmp_path: Path) -> None:
    send(home, ("a.txt", b"Graz lies on the Mur."), ("b.txt", b"Graz lies on the Mur."))
    assert len(kept(tmp_path)) == 1
    send(home, ("a.txt", b"Graz lies on the river Mur."))
    assert home.client.get(address("a.txt", "original")).content == b"Graz lies on the river Mur."
    assert home.client.get(address("b.txt", "original")).content == b"Graz lies on the Mur."
    body = {"documents": [{"id": "b.txt", "text": "Linz lies on the Danube."}]}
    done(home, home.client.post(f"{INDEXES}/notes/documents", json=body))
    assert original(home, "b.txt") is None and len(kept(tmp_path)) == 1
    assert home.client.get(address("b.txt", "original")).status_code == 404
    done(home, home.client.delete(address("a.txt")))
    assert kept(tmp_path) == [] and home.client.get(address("a.txt", "original")).status_code == 404


def test_original_of_a_document_that_another_process_changed_is_not_given(home: Running) -> None:
    send(home, ("a.txt", b"Graz lies on the Mur."))
    with Index.open(home.app.state.server.catalog["notes"].path) as index:
        index.add([{"id": "a.txt", "text": "Steyr lies on the Enns."}])
    wait_until(lambda: "Enns" in home.client.get(address("a.txt", "text")).json()["text"])
    assert original(home, "a.txt") is None


def test_original_is_not_kept_without_room(home: Running, tmp_path: Path) -> None:
    files = [(f"{at}.txt", b"Graz lies on the Mur. %d " % at + b"x" * 25_000) for at in (0, 1)]
    assert send(home, *files)["changes"]["added"] == 2
    assert original(home, "0.txt") is not None and original(home, "1.txt") is None and len(kept(tmp_path)) == 1
    assert "no room" in home.client.get(address("1.txt", "original")).json()["detail"]
    done(home, home.client.delete(address("0.txt")))
    assert kept(tmp_path) == []


def test_original_is_kept_when_its_index_is_renamed_and_gone_when_it_is_deleted(home: Running, tmp_path: Path) -> None:
    send(home, ("a.txt", b"Graz lies on the Mur."))
    assert home.client.patch(f"{INDEXES}/notes", json={"name": "other"}).status_code == 200
    assert home.client.get(f"{INDEXES}/other/documents/a.txt/original").content == b"Graz lies on the Mur."
    assert home.client.delete(f"{INDEXES}/other").status_code == 204
    assert kept(tmp_path) == []


def test_original_of_a_document_without_a_file_is_null(home: Running) -> None:
    body = {"documents": [{"id": "graz", "text": "Graz lies on the Mur."}]}
    done(home, home.client.post(f"{INDEXES}/notes/documents", json=body))
    assert original(home, "graz") is None
    for part in ("original", "pages/1", "marks"):
        assert home.client.get(address("graz", part)).status_code == 404
        assert home.client.get(address("none", part)).status_code == 404
