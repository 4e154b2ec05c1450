"""Storage of a graph: its part of a snapshot, one npy file per array, memory-mapped when opened."""

from __future__ import annotations

import dataclasses
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from graphwright.errors import StoreError
from graphwright.files import flush
from graphwright.graph.columns import Passages, TextColumn
from graphwright.graph.graph import Columns, Graph
from graphwright.kernels.csr import Csr

__all__ = ["load_array", "load_graph", "save_array", "save_graph"]

FORMAT = 1
# Derived arrays are stored, because they take long to compute on large graphs.
_DERIVED = ("adjacency", "out", "into", "name_order")
_HEADER = 128  # bytes of a file that holds an empty array
_ARRAY, _NONE = "array", "None"
# The kinds of columns that consist of several, and the kind of each part.
_COMPOSED: dict[str, tuple[Callable[..., Any], dict[str, str]]] = {
    "TextColumn": (TextColumn, dict.fromkeys(("data", "offsets"), _ARRAY)),
    "Csr": (Csr, dict.fromkeys(Csr._fields, _ARRAY)),
    "Passages": (
        Passages,
        {f.name: "TextColumn" if f.type == "TextColumn" else _ARRAY for f in dataclasses.fields(Passages)},
    ),
}


def save_graph(graph: Graph, folder: Path) -> None:
    """Write a snapshot into a new folder; every file is on disk when this returns."""
    folder.mkdir(parents=True)
    columns = graph.columns
    fields = [field.name for field in dataclasses.fields(columns)]
    kinds = {name: _save(getattr(columns, name), folder, name) for name in fields}
    for name in _DERIVED:
        cached = name in vars(columns)
        kinds[name] = _save(getattr(columns, name), folder, name)
        if not cached:  # free it again: gigabytes on a large graph
            vars(columns).pop(name)
    manifest = {"format": FORMAT, "checksum": columns.checksum, "shapes": kinds}
    path = folder / "graph.json"
    path.write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    flush(path)


def load_graph(folder: Path) -> Graph:
    """Open a snapshot that `save_graph` wrote. Raises StoreError if it is missing, cut short or of another format."""
    try:
        manifest = json.loads((folder / "graph.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{folder} holds no readable graph ({error}).") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        written = manifest.get("format") if isinstance(manifest, dict) else None
        raise StoreError(
            f"{folder} was written in format {written}; this version reads format {FORMAT}. "
            f"Build the index again with this version."
        )
    try:
        values = {name: _load(kind, folder, name) for name, kind in manifest["shapes"].items()}
        derived = {name: values.pop(name) for name in _DERIVED}
        columns = Columns(**values)
        vars(columns).update(derived, checksum=manifest["checksum"])
        if damaged := _wrong_length(columns):
            raise StoreError(f"{folder}: {damaged} of the graph is cut short; build the index again.")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise StoreError(f"{folder} holds an incomplete graph ({error!r}); build the index again.") from error
    return Graph(columns)


def _wrong_length(columns: Columns) -> str:
    """Return the name of an array of the wrong length, "" if there is none."""
    n, m = len(columns.kinds), len(columns.heads)
    lengths = {"names": n, "texts": n, "name_order": n, "tails": m, "relation": m, "edge_text": m}
    lengths |= {"out": n, "into": n, "adjacency": n, "node_chunks": n, "edge_chunks": m}
    for name, value in vars(columns).items():
        if isinstance(value, Csr):
            length, complete = len(value.indptr) - 1, value.indptr[-1] == len(value.values)
        elif isinstance(value, TextColumn):
            length, complete = len(value), value.offsets[-1] == len(value.data)
        elif isinstance(value, np.ndarray):
            length, complete = len(value), True
        else:
            continue
        if not complete or length != lengths.get(name, length):
            return name
    return ""


def save_array(array: np.ndarray[Any, Any], path: Path) -> None:
    """Write one array and wait until it is on disk."""
    with path.open("wb") as file:
        np.save(file, np.ascontiguousarray(array))
        file.flush()
        os.fsync(file.fileno())


def load_array(path: Path) -> np.ndarray[Any, Any]:
    """Open one array, memory-mapped and read-only."""
    try:
        # A plain view of the mapping: kernels are compiled for plain arrays only. An empty array cannot be mapped.
        return np.asarray(np.load(path, mmap_mode="r" if path.stat().st_size > _HEADER else None))
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        reason = "missing" if isinstance(error, FileNotFoundError) else "cut short or damaged"
        raise StoreError(f"{path} is {reason}; build the index again.") from error


def _save(value: Any, folder: Path, name: str) -> str:
    """Write a column, each array of it to a file; return its kind."""
    if value is None:
        return _NONE
    if isinstance(value, np.ndarray):
        save_array(value, folder / f"{name}.npy")
        return _ARRAY
    kind = type(value).__name__
    for part in _COMPOSED[kind][1]:
        _save(getattr(value, part), folder, f"{name}.{part}")
    return kind


def _load(kind: str, folder: Path, name: str) -> Any:
    if kind == _NONE:
        return None
    if kind == _ARRAY:
        return load_array(folder / f"{name}.npy")
    make, parts = _COMPOSED[kind]
    return make(*(_load(part_kind, folder, f"{name}.{part}") for part, part_kind in parts.items()))
