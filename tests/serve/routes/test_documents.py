"""Documents are listed, read, uploaded, removed and synced over HTTP."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.serve.conftest import Running, serving, wait_until

from graphwright import Graph, Index
from graphwright.models.fake import HashEncoder
from graphwright.models.settings import LLMSettings
from graphwright.serve.settings import SyncSource, read_server_file

DOCUMENTS = "/v1/indexes/cities/documents"


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Running]:
    """A server of an empty index with a folder to sync."""
    Index.create(tmp_path / "cities", encoder=HashEncoder()).close()
    (tmp_path / "reports").mkdir()
    limits = {"max_files": 20, "max_unpacked": 2**20}
    with serving(
        tmp_path / "cities", folders={"cities": {"reports": SyncSource(tmp_path / "reports")}}, **limits
    ) as running:
        yield running


def ended(server: Running, reply: Any) -> dict[str, Any]:
    """Wait until the job of a reply has ended and return it."""
    assert reply.status_code == 202, reply.text
    address = f"/v1/jobs/{reply.json()['job']['id']}"
    wait_until(lambda: server.client.get(address).json()["finished"])
    job: dict[str, Any] = server.client.get(address).json()
    return job


def ids(server: Running, **options: Any) -> list[str]:
    return [document["id"] for document in server.client.get(DOCUMENTS, params=options).json()["documents"]]


def post(server: Running, *documents: dict[str, Any]) -> Any:
    return server.client.post(DOCUMENTS, json={"documents": documents})


def test_documents_are_listed_and_searched(server: Running) -> None:
    assert ids(server) == ["a/b#c.md", "graz", "pfeiffer", "vienna"]
    assert ids(server, q="IDA") == ["pfeiffer"]
    page = server.client.get(DOCUMENTS, params={"offset": 1, "limit": 2}).json()
    assert [document["id"] for document in page["documents"]] == ["graz", "pfeiffer"] and page["total"] == 4


def test_documents_are_sorted_by_date_and_size(empty: Running) -> None:
    texts = {
        "b": ("Short.", "3 May 2024"),
        "a": ("A longer text about rivers.", "2023-11"),
        "c": ("Without a date.", ""),
    }
    documents = [
        {"id": id, "text": text, "metadata": {"date": date} if date else {}} for id, (text, date) in texts.items()
    ]
    ended(empty, post(empty, *documents))
    assert [ids(empty, sort=sort) for sort in ("name", "date", "size")] == [
        ["a", "b", "c"],
        ["b", "a", "c"],
        ["a", "c", "b"],
    ]
    assert ids(empty, sort="date", offset=1, limit=1) == ["a"]
    assert empty.client.get(DOCUMENTS, params={"sort": "colour"}).status_code == 422


def test_document_has_passages_with_entities(server: Running) -> None:
    document = server.client.get(f"{DOCUMENTS}/{quote('a/b#c.md', safe='')}").json()
    assert (document["id"], document["title"]) == ("a/b#c.md", "Linz")
    (chunk,) = document["chunks"]
    assert {"Linz", "Ida Pfeiffer"} <= {entity["name"] for entity in chunk["entities"]}
    assert (chunk["start"], chunk["end"]) == (0, document["characters"])
    assert server.client.get(f"{DOCUMENTS}/nothing").status_code == 404


def test_texts_are_added_and_removed(empty: Running) -> None:
    job = ended(empty, post(empty, {"id": "a/b", "title": "😀", "text": "Graz lies on the Mur.", "metadata": {"n": 1}}))
    assert (job["state"], job["changes"]["added"], job["index"]) == ("done", 1, "cities")
    document = empty.client.get(f"{DOCUMENTS}/a%2Fb").json()
    assert (document["title"], document["metadata"]) == ("😀", {"n": "1"})
    removed = ended(empty, empty.client.delete(f"{DOCUMENTS}/a%2Fb"))
    assert removed["changes"]["removed"] == 1 and ids(empty) == []
    assert empty.client.delete(f"{DOCUMENTS}/a%2Fb").status_code == 404


def test_files_and_archives_are_added(empty: Running) -> None:
    packed, tarred = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../docs/x.md", "# X\n\nText of x.")
    with tarfile.open(fileobj=tarred, mode="w:gz") as archive_of_tar:
        info = tarfile.TarInfo("y.txt")
        info.size = 10
        archive_of_tar.addfile(info, io.BytesIO(b"Text of y."))
    files = [
        ("files", ("../../Graz.md", b"Graz lies on the Mur.")),
        ("files", ("bad.bin", bytes(range(256)))),
        ("files", ("a.zip", packed.getvalue())),
        ("files", ("b.tar.gz", tarred.getvalue())),
    ]
    job = ended(empty, empty.client.post(DOCUMENTS, files=files))
    assert (job["state"], job["changes"]["added"], job["changes"]["skipped"]) == ("done", 3, 1)
    assert job["changes"]["failed"][0]["document"] == "bad.bin"
    assert ids(empty) == ["Graz.md", "a.zip/docs/x.md", "b.tar.gz/y.txt"]


def test_archive_bomb_is_refused(empty: Running, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.txt", bytes(8 * 2**20))
    reply = empty.client.post(DOCUMENTS, files={"files": ("a.zip", packed.getvalue())})
    assert reply.status_code in (413, 422) and reply.json()["type"].endswith(("too-large", "archive"))
    many = [("files", (f"{i}.txt", b"x")) for i in range(21)]
    assert empty.client.post(DOCUMENTS, files=many).status_code in (413, 422)
    assert empty.client.get("/v1/jobs").json() == {"jobs": [], "total": 0}
    assert not list((tmp_path / "data" / "uploads").glob("*/*"))


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 422),
        (b'{"documents": []}', "application/json", 422),
        (b'{"documents": [{"text": "x", "path": "/etc/passwd"}]}', "application/json", 422),
        (b'{"documents": [{"text": "x", "metadata": {"id": "y"}}]}', "application/json", 422),
        (b'{"documents": [{"text": "\\ud800"}]}', "application/json", 422),
        (b"text", "text/plain", 415),
        (b"--x--", "multipart/form-data; boundary=x", 422),
        (b"no boundary", "multipart/form-data", 422),
    ],
)
@pytest.mark.parametrize("address", [DOCUMENTS, f"{DOCUMENTS}/estimate"])
def test_malformed_body_is_problem(server: Running, address: str, content: bytes, kind: str, status: int) -> None:
    reply = server.client.post(address, content=content, headers={"Content-Type": kind})
    assert (reply.status_code, reply.headers["content-type"]) == (status, "application/problem+json"), reply.text


def test_configured_folder_is_synced(empty: Running, tmp_path: Path) -> None:
    (tmp_path / "reports" / "a.txt").write_text("Graz lies on the Mur.")
    reply = empty.client.post(f"{DOCUMENTS}/sync", json={"folder": "reports"})
    assert ended(empty, reply)["changes"]["added"] == 1
    (tmp_path / "reports" / "a.txt").unlink()
    (tmp_path / "reports" / "b.txt").write_text("Linz lies on the Danube.")
    job = ended(empty, empty.client.post(f"{DOCUMENTS}/sync", json={"folder": "reports"}))
    assert (job["changes"]["added"], job["changes"]["removed"], ids(empty)) == (1, 1, ["b.txt"])


def test_configured_address_is_synced(tmp_path: Path) -> None:
    Index.create(tmp_path / "cities", encoder=HashEncoder()).close()
    mail = "From a@example.org Mon Jan  1 10:00:00 2024\nFrom: a@example.org\nMessage-ID: <1@example.org>\n\nDinner.\n"
    (tmp_path / "team.mbox").write_text(mail)
    (tmp_path / "server.toml").write_text(f"[folders.cities]\nmails = 'mbox:{tmp_path}/team.mbox'\nno = 'mbox:no'\n")
    folders = read_server_file(tmp_path / "server.toml").folders
    with serving(tmp_path / "cities", folders=folders) as running:
        job = ended(running, running.client.post(f"{DOCUMENTS}/sync", json={"folder": "mails"}))
        assert job["changes"]["added"] == 1 and ids(running) == ["team.mbox/1@example.org"]
        job = ended(running, running.client.post(f"{DOCUMENTS}/sync", json={"folder": "no"}))
        assert job["state"] == "failed" and "is no mbox file" in job["message"]


def test_links_out_of_folder_are_not_followed(empty: Running, tmp_path: Path) -> None:
    """Whoever may write into the folder would read what the server may read."""
    (tmp_path / "secret.txt").write_text("The password is 7.")
    (tmp_path / "reports" / "a.txt").write_text("Graz lies on the Mur.")
    (tmp_path / "reports" / "link.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "reports" / "twin.txt").symlink_to("loop.txt")
    (tmp_path / "reports" / "loop.txt").symlink_to("twin.txt")
    (tmp_path / "reports" / "root").symlink_to("/")
    job = ended(empty, empty.client.post(f"{DOCUMENTS}/sync", json={"folder": "reports"}))
    assert job["state"] == "done" and ids(empty) == ["a.txt"]


def test_other_folder_is_not_synced(empty: Running) -> None:
    for name in ["", "..", "/etc", "report", "reports/.."]:
        assert empty.client.post(f"{DOCUMENTS}/sync", json={"folder": name}).status_code == 404, name


def test_estimate_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    Index.create(tmp_path / "cities", encoder=HashEncoder()).close()
    llm = LLMSettings("test", "http://127.0.0.1:1/v1", prompt_price=1.0, completion_price=2.0)
    body = {"documents": [{"id": "graz", "text": "Graz lies on the Mur."}]}
    with serving(tmp_path / "cities", llm=llm, extract=True) as server:
        expected = server.client.post(f"{DOCUMENTS}/estimate", json=body).json()
        assert (expected["llm"], expected["chunks"], expected["calls"]) == ("test", 1, 1)
        assert expected["cost"] > 0 and expected["prompt_tokens"] > 0
        assert server.client.get("/v1/jobs").json()["total"] == 0 and ids(server) == []
        assert not list((tmp_path / "data" / "uploads").glob("*/*"))


def test_estimate_without_model_costs_nothing(server: Running) -> None:
    files = {"files": ("new.txt", b"Graz lies on the Mur.")}
    expected = server.client.post(f"{DOCUMENTS}/estimate", files=files).json()
    assert (expected["llm"], expected["chunks"], expected["calls"], expected["cost"]) == (None, 1, 0, 0.0)


def test_documents_are_added_to_imported_graph_and_removed(tmp_path: Path) -> None:
    graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Linz", "lies on", "Danube")])
    with Index.from_graph(tmp_path / "cities", graph, encoder=HashEncoder()) as index:
        before = index.graph.columns.checksum
    with serving(tmp_path / "cities") as server:
        facts = server.client.get("/v1/indexes/cities").json()
        assert facts["imported"] and facts["takes_documents"] and facts["default_method"] == "graph"
        assert server.client.get(DOCUMENTS).json() == {"documents": [], "total": 0}
        estimate = server.client.post(
            f"{DOCUMENTS}/estimate", json={"documents": [{"text": "Graz has a clock tower."}]}
        )
        assert estimate.status_code == 200
        job = ended(server, post(server, {"id": "graz", "title": "Graz", "text": "Graz has a clock tower."}))
        assert (job["state"], job["changes"]["added"], ids(server)) == ("done", 1, ["graz"])
        assert server.client.get("/v1/indexes/cities").json()["default_method"] == "graph"
        found = server.client.post("/v1/indexes/cities/retrieve", json={"question": "What lies in Graz?"}).json()
        assert {"graz", "graph:Graz"} <= {passage["document"] for passage in found["passages"]}
        assert server.client.get(f"{DOCUMENTS}/graph%3AGraz/text").json()["text"].startswith("Graz")
        refused = server.client.delete(f"{DOCUMENTS}/graph%3AGraz")
        assert refused.status_code == 404 and "node of the imported graph" in refused.json()["detail"]
        assert ended(server, server.client.delete(f"{DOCUMENTS}/graz"))["changes"]["removed"] == 1
        assert ids(server) == [] and server.app.state.server.catalog["cities"].graph.columns.checksum == before
