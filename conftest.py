"""Settings of all tests: temporary files in memory, kept bytecode, one thread a product, no missing frameworks."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

# A busy machine is no failure, so that examples have no deadline. CI tries many of them.
settings.register_profile("quick", deadline=None, max_examples=20)
settings.register_profile("all", deadline=None, max_examples=200)
settings.load_profile("all" if os.environ.get("CI") else "quick")
# A program in the background, or under nohup, ignores Ctrl-C, and so would all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the processes of the tests already use all cores
# The tests start hundreds of processes: without bytecode, each compiles all modules, which doubles its time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def _in_memory(folder: Path = Path("/dev/shm")) -> Path | None:
    """Keep temporary files in memory where there is room; a disk makes the tests of an index wait for each fsync."""
    if "TMPDIR" in os.environ or not folder.is_dir() or shutil.disk_usage(folder).free < 4 << 30:
        return None
    made = tempfile.mkdtemp(prefix="graphwright-tests-", dir=folder)
    os.chmod(made, 0o755)  # some tests read as another user
    tempfile.tempdir = os.environ["TMPDIR"] = made  # workers and other processes inherit it
    return Path(made)


_MADE = _in_memory()


def _trust_one(folder: Path) -> None:
    """Trust a single authority: each client of HTTP reads all of them in 30 ms, and no test asks a server outside."""
    if "SSL_CERT_FILE" not in os.environ and find_spec("certifi") is not None:
        import certifi

        end, file = "-----END CERTIFICATE-----\n", folder / "authority.pem"
        file.write_text(certifi.contents().split(end, 1)[0] + end)
        os.environ["SSL_CERT_FILE"] = str(file)


if _MADE is not None:
    _trust_one(_MADE)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, Any, Any]:
    """Search for examples only the modules that have some: a search goes through all that a module defines."""
    collectors = yield
    if any(isinstance(each, DoctestModule) for each in collectors) and ">>> " not in file_path.read_text("utf-8"):
        return [each for each in collectors if not isinstance(each, DoctestModule)]
    return collectors


@pytest.fixture(scope="session")
def fork_server() -> Iterator[Any]:
    """One fork server for all tests of a process, as it takes two seconds to start."""
    if not hasattr(os, "fork"):
        pytest.skip("children are forked")
    from tests.faults.fork_server import ForkServer

    with ForkServer() as server:
        yield server


def pytest_unconfigure() -> None:
    """Remove the temporary files, in the process that made their folder."""
    if _MADE is not None:
        shutil.rmtree(_MADE, ignore_errors=True)


_MODULES = {"obstore": "src/graphwright/remote/bucket.py"}
_FRAMEWORKS = {
    "langchain": "langchain_core",
    "llamaindex": "llama_index",
    "haystack": "haystack",
    "networkx": "networkx",
    "igraph": "igraph",
    "pyg": "torch_geometric",
}
collect_ignore = [path for package, path in _MODULES.items() if find_spec(package) is None]
collect_ignore += [
    f"src/graphwright/adapters/{adapter}.py" for adapter, package in _FRAMEWORKS.items() if find_spec(package) is None
]
