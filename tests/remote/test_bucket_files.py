"""Buckets as sources of documents: a sync reads what has changed, and ends as one of a folder with the same files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from graphwright import Index
from graphwright.data import ReadOptions
from graphwright.errors import StoreError
from graphwright.models.fake import HashEncoder

pytest.importorskip("obstore", reason='needs the extra "remote"')

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
