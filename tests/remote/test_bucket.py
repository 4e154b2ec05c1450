"""Buckets: conditional writes on each kind of object storage, and errors that say what to do and hold no secret."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.remote.servers import s3

from graphwright.errors import OptionError, StoreError

pytest.importorskip("obstore", reason='needs the extra "remote"')

from graphwright.remote.bucket import Bucket, ConflictError


def test_bucket_objects_round_trip(url: str) -> None:
    bucket = Bucket.open(url, create=True)
    with pytest.raises(KeyError):
        bucket.read("a/b")
    bucket.write("a/b", b"1")
    bucket.write("a/b", b"12")
    bucket.write("c", b"")
    assert bucket.read("a/b")[0] == b"12" and bucket.read("c")[0] == b""
    assert sorted(item.path for item in bucket.list()) == ["a/b", "c"]
    assert [item.path for item in bucket.list("a")] == ["a/b"] and list(bucket.list("missing")) == []
    bucket.delete(["a/b", "missing"])
    assert [item.path for item in bucket.list()] == ["c"]


def test_concurrent_conditional_writes_have_one_winner(url: str) -> None:
    bucket = Bucket.open(url, create=True)

    def attempt(content: str, version: dict[str, str] | None) -> bool:
        try:
            Bucket.open(url).replace("CURRENT", content.encode(), version)
            return True
        except ConflictError:
            return False

    version = None
    for round in range(3):
        contents = [f"{round} {number}" for number in range(8)]
        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(attempt, contents, [version] * 8))
        assert won.count(True) == 1
        content, read = bucket.read("CURRENT")
        assert content.decode() == contents[won.index(True)]
        version = dict(read)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://bucket/path", "not a URL of object storage.*s3://BUCKET"),
        ("bucket/path", "not a URL of object storage"),
        ("s3:///path", "names no bucket"),
        ("file://folder/path", "names no folder"),
        ("file:///", "names no folder"),
        ("s3://key:secret@bucket/path", "credentials are read from the environment"),
        ("az://container/path?sig=secret", "credentials are read from the environment"),
        ("s3://[bucket", "cannot be read"),
    ],
)
def test_unusable_url_raises_without_secrets(url: str, message: str) -> None:
    with pytest.raises(OptionError, match=message) as error:
        Bucket.open(url)
    assert "secret" not in str(error.value)


def test_missing_bucket_folder_raises(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no folder"):
        Bucket.open(f"{tmp_path.as_uri()}/none")


def test_missing_bucket_raises_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with s3(monkeypatch):
        for call in (lambda b: b.read("CURRENT"), lambda b: list(b.list()), lambda b: b.write("a", b"")):
            with pytest.raises(StoreError, match=r"no-bucket/x cannot be used.*NoSuchBucket.*Create the bucket"):
                call(Bucket.open("s3://no-bucket/x"))


def test_missing_rights_are_explained_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    with s3(monkeypatch, rights=False), pytest.raises(StoreError, match=r"403.*AWS_ACCESS_KEY_ID") as error:
        Bucket.open("s3://bucket/x").read("CURRENT")
    assert "of-tests" not in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("url", ["s3://bucket/x", "az://container/x"])
def test_unreachable_storage_raises_within_seconds(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    values = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "very-secret", "AWS_ALLOW_HTTP": "true"}
    values |= {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_REGION": "us-east-1", "AZURE_STORAGE_USE_EMULATOR": "1"}
    for name, value in {**values, "AZURITE_BLOB_STORAGE_URL": "http://127.0.0.1:9"}.items():
        monkeypatch.setenv(name, value)
    begun = time.monotonic()
    with pytest.raises(StoreError, match=r"Check the network.*run the same command again") as error:
        Bucket.open(url).read("CURRENT")
    assert time.monotonic() - begun < 20 and "very-secret" not in str(error.value)


def test_missing_credentials_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_STORAGE_USE_EMULATOR", "AZURE_STORAGE_ACCOUNT_NAME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(StoreError, match=r"Account must be specified.*AZURE_STORAGE_ACCOUNT_NAME"):
        Bucket.open("az://container/x").read("CURRENT")
