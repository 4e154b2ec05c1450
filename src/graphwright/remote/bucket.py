"""A folder of a bucket on object storage: read, write, and conditionally replace objects."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from sqlite3 import OperationalError
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from graphwright.errors import OptionError, StoreError
from graphwright.store import Progress
from graphwright.store.locks import hold

SCHEMES = {"s3": "s3://BUCKET/PATH", "gs": "gs://BUCKET/PATH", "az": "az://CONTAINER/PATH", "file": "file:///FOLDER"}
_EXTRA = 'Object storage needs obstore. Install it: pip install "graphwright[remote]"'
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_REGION or AWS_ENDPOINT_URL",
    "gs": "GOOGLE_SERVICE_ACCOUNT, the path of a file with the key of a service account",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
_CLIENT = {"timeout": "60s", "connect_timeout": "5s"}
_RETRIES = {"max_retries": 3, "retry_timeout": timedelta(seconds=60)}
_ALLOW_HTTP = ("AWS_ALLOW_HTTP", "AZURE_ALLOW_HTTP", "AZURE_STORAGE_USE_EMULATOR", "AZURE_USE_EMULATOR")
_THREADS = 8  # that transfer pieces
_LOCK_SECONDS = 10.0  # timeout of the lock of a local folder
_SECRET = re.compile(r"KEY|SECRET|TOKEN|PASSWORD|SAS|CREDENTIAL|SERVICE_ACCOUNT")
_DETAIL = re.compile(r"<Code>(.*?)</Code>\s*<Message>(.*?)</Message>", re.DOTALL)
_DENIED = re.compile(r"status code: 40[13]|169\.254\.169\.254|metadata|[Cc]redential|must be specified|token request")
_UNREACHED = re.compile(r"error sending request|trying to connect|dns error|timed? ?out|connection", re.IGNORECASE)
_NO_BUCKET = re.compile("NoSuchBucket|ContainerNotFound|InvalidBucketName")
Result = TypeVar("Result")
Job = TypeVar("Job")


class ConflictError(StoreError):
    """Another writer has replaced the object, or the index at the URL, in the meantime."""


class Listed(NamedTuple):
    """An object of a bucket: its path, the time of its last modification, and a text that tells its version."""

    path: str
    modified: datetime
    tag: str


@dataclass(frozen=True)
class Bucket:
    """The objects below a URL; those of `file://` are files of a folder. Thread-safe.

    obstore reads credentials from the environment; no message contains them. A request has a timeout of a minute, and
    up to three retries. Raises StoreError if the server cannot be reached, refuses, or has no such bucket.

    >>> import tempfile; bucket = Bucket.open(f"file://{tempfile.mkdtemp()}")
    >>> bucket.replace("CURRENT", b"1", None); content, version = bucket.read("CURRENT")
    >>> bucket.replace("CURRENT", b"2", version); bucket.read("CURRENT")[0]
    b'2'
    >>> bucket.replace("CURRENT", b"3", version)
    Traceback (most recent call last):
    graphwright.remote.bucket.ConflictError: CURRENT was replaced by another writer.
    """

    url: str
    scheme: str
    _store: Any

    @classmethod
    def open(cls, url: str, *, create: bool = False) -> Bucket:
        """Open a URL, sending nothing yet. `create`: create a missing folder of `file://`."""
        url, scheme = checked(url)
        try:
            from obstore.store import LocalStore, from_url
        except ImportError as error:
            raise OptionError(_EXTRA) from error
        if scheme == "file":
            folder = Path(unquote(urlsplit(url).path))
            if not create and not folder.is_dir():
                raise StoreError(f"{url} cannot be read: there is no folder {folder}. Check the address.")
            try:
                folder.mkdir(parents=True, exist_ok=True)
                return cls(url, scheme, LocalStore(folder))
            except OSError as error:
                raise StoreError(f"{url} cannot be written: {error}. Check its permissions.") from error
        http = any(os.environ.get(name, "").lower() in ("true", "1") for name in _ALLOW_HTTP)
        options: Any = {"client_options": {**_CLIENT, "allow_http": http}, "retry_config": _RETRIES}
        opened = _translated(url, lambda: from_url(url, **options))
        return cls(url, scheme, opened)

    def read(self, path: str, limit: int | None = None) -> tuple[bytes, Mapping[str, str]]:
        """Return an object and its version. Raises KeyError without one, StoreError if it is above `limit` bytes."""

        def get() -> tuple[bytes, Mapping[str, str]]:
            reply = self._store.get(path)
            meta: Mapping[str, Any] = reply.meta
            if limit is not None and meta["size"] > limit:
                raise StoreError(f"{path} is larger than {limit >> 20} MB. Split it.")
            return bytes(reply.bytes()), {name: meta[name] for name in ("e_tag", "version") if meta.get(name)}

        return _translated(self.url, get, path)

    def write(self, path: str, content: bytes) -> None:
        """Write an object that does not exist, or has the same content."""
        _translated(self.url, lambda: self._store.put(path, content, use_multipart=False))

    def replace(self, path: str, content: bytes, version: Mapping[str, str] | None) -> None:
        """Replace an object if it has this version; if `version` is None, create it if it does not exist.

        `content` must be new for this object, because a version may be only a checksum. Raises ConflictError, and
        writes nothing, if the object has another version.
        """
        conflict = f"{path} was replaced by another writer."
        mode: Any = "create" if version is None else dict(version)
        with ExitStack() as stack:
            if self.scheme == "file" and version is not None:  # obstore has no conditional writes of files
                mode = "overwrite"
                try:
                    stack.enter_context(hold(Path(unquote(urlsplit(self.url).path), ".lock"), _LOCK_SECONDS))
                    if self.read(path)[1] != version:
                        raise ConflictError(conflict)
                except (OperationalError, KeyError) as error:
                    raise ConflictError(conflict) from error
            try:
                put = partial(self._store.put, path, content, mode=mode, use_multipart=False)
                _translated(self.url, put, path)
            except KeyError as error:
                raise ConflictError(conflict) from error

    def list(self, prefix: str = "") -> Iterator[Listed]:
        """Yield the objects below the folder `prefix`."""
        parts = iter(self._store.list(prefix or None))
        while (part := _translated(self.url, lambda: next(parts, None))) is not None:
            for item in part:
                if item["path"] != ".lock":
                    modified = item["last_modified"]
                    yield Listed(item["path"], modified, item["e_tag"] or f"{item['size']} {modified.isoformat()}")

    def delete(self, paths: Sequence[str]) -> None:
        """Delete objects; ignore missing ones."""
        for start in range(0, len(paths), 500):
            part = list(paths[start : start + 500])
            try:
                _translated(self.url, partial(self._store.delete, part), "")
            except KeyError:  # one is missing
                for path in part:
                    with suppress(KeyError):
                        _translated(self.url, partial(self._store.delete, path), path)


def transferred(work: Callable[[Job], int], jobs: Collection[Job], name: str, progress: Progress | None) -> int:
    """Send or fetch pieces in threads, with progress under a name; return the sum of their bytes."""
    total = 0
    with ThreadPoolExecutor(_THREADS) as pool:
        for done, size in enumerate(pool.map(work, jobs), start=1):
            total += size
            if progress is not None:
                progress(name, done, len(jobs))
    return total


def checked(url: str) -> tuple[str, str]:
    """Return a URL without trailing slashes, and its scheme. Raises OptionError, without credentials in its message."""
    known = ", ".join(SCHEMES.values())
    try:
        parts = urlsplit(url)
        secret = parts.username or parts.password or parts.query or parts.fragment
    except ValueError as error:
        raise OptionError(f"the URL of the object storage cannot be read ({error}). Give one of {known}.") from None
    if secret:
        raise OptionError(
            f"the URL {parts.scheme}://… has a user, a query or a fragment. Give it without; credentials are read from "
            f"the environment."
        )
    if parts.scheme not in SCHEMES:
        raise OptionError(f"{url!r} is not a URL of object storage that can be used. Give one of {known}.")
    if bool(parts.netloc) == (parts.scheme == "file") or (parts.scheme == "file" and len(parts.path) < 2):
        raise OptionError(f"{url!r} names no {'folder' if parts.scheme == 'file' else 'bucket'}; give {known}.")
    return url.rstrip("/"), parts.scheme


def _translated(url: str, call: Callable[[], Result], path: str | None = None) -> Result:
    """Call obstore; raise KeyError for a missing `path`, ConflictError for a failed condition, else StoreError."""
    from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

    try:
        return call()
    except (AlreadyExistsError, PreconditionError) as error:
        raise ConflictError(f"{path} was replaced by another writer.") from error
    except (BaseError, OSError) as error:
        message = str(error)
        if isinstance(error, FileNotFoundError) and path is not None and not _NO_BUCKET.search(message):
            raise KeyError(path) from None
        raise StoreError(f"{url} cannot be used: {_reason(message)}. {_remedy(url, message)}") from None


def _reason(message: str) -> str:
    """Return an error of obstore in one line, without secrets of the environment and query strings of URLs."""
    head = message.partition("\n\nDebug source")[0]
    if detail := _DETAIL.search(head):
        head = f"{head[: head.index('<')].rstrip(': ').removesuffix('<?xml')} ({detail[1]}: {detail[2].strip()})"
    head = re.sub(r"(https?://[^\s?]+)\?\S*", r"\1", head)
    for name, value in os.environ.items():
        if len(value) >= 8 and _SECRET.search(name.upper()):
            head = head.replace(value, "…")
    return " ".join(head.split())[:400].rstrip(". ")


def _remedy(url: str, message: str) -> str:
    """Return the remedy for an error of obstore."""
    scheme = urlsplit(url).scheme
    if _NO_BUCKET.search(message):
        return "Create the bucket, or correct the address."
    if scheme != "file" and _DENIED.search(message):
        return f"Check that the environment has the credentials ({_CREDENTIALS[scheme]}) and that they have the rights."
    if _UNREACHED.search(message):
        return "Check the network and the address, then run the same command again: it continues."
    return "Check the address and the rights, then run the same command again: it continues."
