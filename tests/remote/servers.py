"""Object storage for tests: a local folder, moto's server for S3, and Azurite for Azure, each started by the test."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import shutil
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path

import pytest

AZURITE = Path(__file__).parent / "azurite" / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
ACCOUNT = "devstoreaccount1"
# The key that every Azurite has; it is published in its documentation.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def missing(reason: str) -> None:
    """Skip the test; where object storage is required, as in CI, fail."""
    if os.environ.get("GRAPHWRIGHT_OBJECT_STORAGE") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def s3(monkeypatch: pytest.MonkeyPatch, rights: bool = True) -> Iterator[str]:
    """Run moto's server with a bucket, and yield the bucket's URL. Without `rights` it refuses every request.

    It answers one request at a time: moto checks a condition and writes in two steps, between which others could write.
    """
    try:
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server
    except ImportError:
        missing('needs moto: pip install "moto[server]"')
    server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        post(f"{address}/moto-api/reset", "POST")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "access-key-of-tests")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-key-of-tests")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
        post(f"{address}/bucket", "PUT")
        if not rights:
            post(f"{address}/moto-api/reset-auth", "POST", b"0", {"Content-Type": "text/plain"})
        yield "s3://bucket"
    finally:
        if not rights:  # which moto keeps for all servers of the process
            post(f"{address}/moto-api/reset-auth", "POST", b"inf", {"Content-Type": "text/plain"})
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def azure(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run Azurite with a container, and yield the container's URL."""
    if not AZURITE.exists() or shutil.which("node") is None:
        missing(f"needs Azurite: cd {AZURITE.parents[5]} && npm ci --ignore-scripts")
    command = ["node", str(AZURITE), "--inMemoryPersistence", "--blobPort", "0", "--skipApiVersionCheck"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines = (re.search(r"listens on (http://\S+)", line) for line in process.stdout)
            address = next(found[1] for found in lines if found)
            monkeypatch.setenv("AZURE_STORAGE_USE_EMULATOR", "true")
            monkeypatch.setenv("AZURITE_BLOB_STORAGE_URL", address)
            create_container(address, "container")
            yield "az://container"
        finally:
            process.terminate()


def create_container(address: str, name: str) -> None:
    """Create a container by a request that is signed with the account's key."""
    date, path = formatdate(usegmt=True), f"/{ACCOUNT}/{name}"
    headers = {"x-ms-date": date, "x-ms-version": "2021-08-06"}
    signed = "\n".join(["PUT", *[""] * 11, *(f"{n}:{v}" for n, v in headers.items())])
    signed += f"\n/{ACCOUNT}{path}\nrestype:container"
    digest = hmac.digest(base64.b64decode(KEY), signed.encode(), hashlib.sha256)
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
    post(f"{address}{path}?restype=container", "PUT", headers=headers)


def post(url: str, method: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> None:
    request = urllib.request.Request(url, body, headers or {}, method=method)
    with urllib.request.urlopen(request, timeout=30) as reply:
        assert reply.status < 300
