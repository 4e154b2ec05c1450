"""A graph database that speaks Bolt, for tests: ArcadeDB, which brings its own Java in the package arcadedb-embedded.

Neo4j itself is in no package that can be installed here. ArcadeDB understands Cypher and the driver of Neo4j.
"""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

USER, PASSWORD, DATABASE = "root", "playwithdata", "rivers"
_STARTED = 90.0  # seconds


def is_installed() -> bool:
    """Return whether the server and the driver are installed; they must be where GRAPHWRIGHT_GRAPH_DATABASE says so."""
    missing = [name for name in ("neo4j", "arcadedb_embedded") if find_spec(name) is None]
    if missing and os.environ.get("GRAPHWRIGHT_GRAPH_DATABASE") == "required":
        raise ModuleNotFoundError(f"{', '.join(missing)} must be installed to test graph databases.")
    return not missing


@contextmanager
def graph_database_server(folder: Path) -> Iterator[str]:
    """Run a server with one empty database, and yield its address."""
    spec = find_spec("arcadedb_embedded")
    assert spec is not None and spec.submodule_search_locations is not None
    package, port = Path(spec.submodule_search_locations[0]), free_port()
    settings = {
        "server.rootPath": folder,
        "server.rootPassword": PASSWORD,
        "server.plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
        "server.defaultDatabases": f"{DATABASE}[{USER}]",
        "server.httpIncomingHost": "127.0.0.1",
        "server.httpIncomingPort": free_port(),
        "bolt.host": "127.0.0.1",
        "bolt.port": port,
    }
    options = [f"-Darcadedb.{name}={value}" for name, value in settings.items()]
    command = [package / "jre" / "bin" / "java", "-Xmx512m", *options, "-cp", package / "jars" / "*"]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen([*command, "com.arcadedb.server.ArcadeDBServer"], cwd=folder, stdout=log, stderr=log)
    try:
        with opened(address := f"bolt://127.0.0.1:{port}") as driver:
            _wait(driver, server, folder)
        yield address
    finally:
        server.terminate()
        server.wait()


@contextmanager
def opened(address: str) -> Iterator[Any]:
    """Yield a driver that may write."""
    import neo4j

    with neo4j.GraphDatabase.driver(address, auth=(USER, PASSWORD)) as driver:
        yield driver


def _wait(driver: Any, server: subprocess.Popen[bytes], folder: Path) -> None:
    from neo4j.exceptions import DriverError, Neo4jError

    end = time.monotonic() + _STARTED
    while True:
        try:
            driver.execute_query("RETURN 1", database_=DATABASE)
            return
        except (DriverError, Neo4jError):
            if time.monotonic() > end or server.poll() is not None:
                raise AssertionError((folder / "server.log").read_text()[-2000:]) from None
            time.sleep(0.2)


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
