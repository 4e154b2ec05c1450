"""The runtime of the embedded models: weights, onnxruntime sessions, and batches that run side by side."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from graphwright.errors import ModelError
from graphwright.models.protocols import Floats

REMEDY = "Install graphwright again, or build the weights with scripts/build_encoder.py and scripts/build_reading.py."
WEIGHTS = Path(__file__).parents[1] / "weights"
"""The folder of all weights."""
ENCODER, READING, QUERIES = "all-minilm-l6-v2", "minilm-reading", "minilm-query"
"""Folders of weights: of the encoder; of the cross-encoder and the states of tokens; of that for queries."""

_T = TypeVar("_T")
_U = TypeVar("_U")


def side_by_side(work: Callable[[_T], _U], items: Sequence[_T]) -> Iterator[tuple[_T, _U]]:
    """Run work on items in parallel, one thread per core, and yield each with its result, in their order.

    Batches run in parallel, each on one thread, so that no layer waits for the slowest of several threads. A single
    item is processed in the caller's thread.
    """
    if len(items) < 2:
        yield from ((item, work(item)) for item in items)
        return
    with ThreadPoolExecutor(_cores(), thread_name_prefix="minilm") as pool:
        yield from zip(items, pool.map(work, items), strict=True)


def _cores() -> int:
    """Return how many processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_loading = threading.RLock()


def loaded(load: Callable[[], _T]) -> _T:
    """Return the result of a cached loader; only one thread loads at a time."""
    with _loading:
        return load()


def import_runtime() -> Any:
    """Import onnxruntime without telemetry: its wheels since 1.32 report to Microsoft.

    The import reads the variable ORT_DISABLE_TELEMETRY; a value that the user has set stays.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def open_graph(file: Path, output: bytes = b"", exact: bool | None = None) -> Any:
    """Open an ONNX model of int8 products as an onnxruntime session.

    `output`: an ONNX model with one more output, whose bytes are appended: protocol buffers merge by concatenation.
    `exact`: request the exact kernel, about half as fast; by default where the fast one saturates.
    """
    onnxruntime = import_runtime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.x64quantprecision", str(int(_saturates() if exact is None else exact)))
    model = file.read_bytes() + output if output else str(file)
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as exc:
        raise ModelError(f"MiniLM: onnxruntime cannot load {file}: {exc}. {REMEDY}") from exc


@cache
def _saturates() -> bool:
    # 64 products of the largest numbers: where the fast kernel adds in 16 bits the sum is too small.
    row = np.full((1, 64), 255, np.uint8)
    probe = open_graph(weights_file("probe.onnx", ENCODER), exact=False)
    return bool(probe.run(None, {"row": row})[0].max() != 64 * 255 * 127)


@cache
def checksum(model: str = READING) -> str:
    """Return the stored checksum of a folder's weights: hashing 23 MB at each start would be slow."""
    file = weights_file("model.json", model)
    try:
        return str(json.loads(file.read_text("utf-8"))["sha256"])
    except (OSError, ValueError, KeyError) as exc:
        raise ModelError(f"MiniLM: {file} cannot be read: {exc!r}. {REMEDY}") from exc


def weights_file(name: str, model: str = READING) -> Path:
    """Return a file of weights, by default of the cross-encoder and reader. Raises ModelError where it is missing."""
    file = WEIGHTS / model / name
    if not file.is_file():
        raise ModelError(f"MiniLM: the weights file {file} is missing. {REMEDY}")
    return file


def run_session(session: Any, feed: Mapping[str, Any], task: str, outputs: list[str] | None = None) -> list[Floats]:
    """Return outputs of a session, by default all. Raises ModelError, which names the task."""
    try:
        result: list[Floats] = session.run(outputs, feed)
    except Exception as exc:  # onnxruntime raises a class of its own for each status
        raise ModelError(f"{task} failed in onnxruntime: {exc}") from exc
    return result
