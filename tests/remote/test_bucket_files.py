"""Buckets as sources of documents: a sync reads what has changed, and ends as one of a folder with the same files."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from graphwright import Index
from graphwright.data import ReadOptions
from graphwright.errors import StoreError
from graphwright.models.fake import HashEncoder

pytest.importorskip("obstore", reason='needs the extra "remote"')

from graphwright.remote import bucket as bucket_module
from graphwright.remote.bucket import Bucket

FILES = {
    "a.txt": b"Graz lies on the Mur.",
    "sub/b.md": b"# Lyon\n\nLyon lies on the [Rhone](c.md).",
    "rows.csv": b"id,text\n1,Wien lies on the Danube.\n2,Linz too.\n",
    "more.csv": b"id,text\n1,Bern lies on the Aare.\n",
    ".hidden/c.txt": b"Hidden.",
    "empty.txt": b"",
}


def test_sync_bucket_follows_its_objects(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket, read = Bucket.open(url, create=True), list[str]()
    for name, content in FILES.items():
        bucket.write(name, content)
    whole = Bucket.read

    def noted(self: Bucket, path: str, limit: int | None = None) -> tuple[bytes, Mapping[str, str]]:
        read.append(path)
        return whole(self, path, limit)

    monkeypatch.setattr(Bucket, "read", noted)
    with Index.create(tmp_path / "ix", encoder=HashEncoder()) as index:
        first = index.sync(url)
        ids = {item.id.removeprefix(f"{url}/") for item in index.list_documents()}
        assert ids == {"a.txt", "sub/b.md", "more.csv#1", "rows.csv#1", "rows.csv#2"}
        assert len(first.added) == 5 and sorted(read) == sorted(set(FILES) - {".hidden/c.txt"})
        bucket.replace("a.txt", b"Graz is in Styria.", whole(bucket, "a.txt")[1])
        bucket.delete(["rows.csv"])
        read.clear()
        second = index.sync(url)
        assert read == ["a.txt"] and second.replaced == [f"{url}/a.txt"] and len(second.unchanged) == 2
        assert second.removed == [f"{url}/rows.csv#{number}" for number in (1, 2)]
        third = index.sync(url, options=ReadOptions(include=("*.md",)))
        assert third.unchanged == [f"{url}/sub/b.md"] and len(third.removed) == 2 and read == ["a.txt"]
        index.sync(url, options=ReadOptions(text_columns=("text",)))  # reads other documents in the same files
        assert "sub/b.md" in read


def test_sync_bucket_that_cannot_be_listed_changes_nothing(tmp_path: Path) -> None:
    bucket = Bucket.open(f"{tmp_path.as_uri()}/bucket", create=True)
    bucket.write("a.txt", b"Graz lies on the Mur.")
    with Index.create(tmp_path / "ix", encoder=HashEncoder()) as index:
        index.sync(bucket.url)
        (tmp_path / "bucket").rename(tmp_path / "away")
        with pytest.raises(StoreError, match="there is no folder"):
            index.sync(bucket.url)
        assert index.documents == 1


@dataclass
class Storage:
    """A server of S3 with one object a page. `broken`: by page or path the status, or "cut" for half of the content."""

    objects: dict[str, bytes]
    broken: dict[str, int | str] = field(default_factory=dict)

    def page(self, number: int) -> bytes:
        name, more = list(self.objects)[number], number + 1 < len(self.objects)
        item = f"<Key>{name}</Key><Size>{len(self.objects[name])}</Size><ETag>&quot;{hash(self.objects[name])}&quot;"
        item += "</ETag><LastModified>2024-01-01T00:00:00.000Z</LastModified>"
        rest = f"<NextContinuationToken>{number + 1}</NextContinuationToken>" if more else ""
        return (
            f"<ListBucketResult><IsTruncated>{str(more).lower()}</IsTruncated>{rest}"
            f"<Contents>{item}</Contents></ListBucketResult>"
        ).encode()


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Storage]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            name, query = parts.path.removeprefix("/bucket").strip("/"), parse_qs(parts.query)
            number = query.get("continuation-token", ["0"])[0]
            fault = storage.broken.get(name or number)
            content = storage.objects[name] if name else storage.page(int(number))
            self.send_response(fault if isinstance(fault, int) else 200)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", f'"{hash(content)}"')
            self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if fault == "cut" else content)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setattr(bucket_module, "_RETRIES", {"max_retries": 0, "retry_timeout": timedelta(seconds=1)})
    storage = Storage({f"{name}.txt": f"{name} lies on a river.".encode() for name in ("Bern", "Graz", "Linz")})
    yield storage
    server.shutdown()
    thread.join()
    server.server_close()


def test_sync_bucket_that_breaks_in_the_middle_removes_nothing(storage: Storage, tmp_path: Path) -> None:
    url = "s3://bucket"
    with Index.create(tmp_path / "ix", encoder=HashEncoder()) as index:
        assert len(index.sync(url).added) == 3
        for fault in (403, 500, "cut"):
            storage.broken = {"1": fault}  # the second page of the list
            with pytest.raises(StoreError):
                index.sync(url)
            assert index.documents == 3
        storage.objects = {name: content.replace(b"lies", b"is") for name, content in storage.objects.items()}
        storage.broken = {"Graz.txt": "cut", "Linz.txt": 500}
        changes = index.sync(url)
        assert changes.replaced == [f"{url}/Bern.txt"] and not changes.removed
        assert changes.retained == [f"{url}/Graz.txt", f"{url}/Linz.txt"]
        storage.broken = dict.fromkeys(storage.objects, 403)
        storage.objects = {name: content + b"!" for name, content in storage.objects.items()}
        assert not index.sync(url).removed and index.text(f"{url}/Bern.txt") == "Bern is on a river."
        storage.broken = {}
        assert len(index.sync(url).replaced) == 3
