"""Storage of a graph: its part of a snapshot, one npy file per array, memory-mapped when opened."""

from __future__ import annotations

import dataclasses
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from graphwright.errors import StoreError
from graphwright.files import flush
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import Columns, Csr, Graph
from graphwright.graph.passages import Passages

__all__ = ["load_array", "load_graph", "save_array", "save_graph"]

FORMAT = 1
# Derived arrays are stored, because they take long to compute on large graphs.
_DERIVED = ("adjacency", "out", "into", "name_order")
_NAMED = {"TextColumn": ("data", "offsets"), "Csr": ("indptr", "values")}


def save_graph(graph: Graph, folder: Path) -> None:
    """Write a snapshot into a new folder; every file is on disk when this returns."""
    folder.mkdir(parents=True)
    columns = graph.columns
    shapes: dict[str, str] = {}
    for field in dataclasses.fields(columns):
        _save(getattr(columns, field.name), folder, field.name, shapes)
    for name in _DERIVED:
        cached = name in vars(columns)
        _save(getattr(columns, name), folder, name, shapes)
        if not cached:  # free it again: gigabytes on a large graph
            vars(columns).pop(name)
    manifest = {"format": FORMAT, "checksum": columns.checksum, "shapes": shapes}
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
        values = {name: _load(shape, folder, name) for name, shape in manifest["shapes"].items()}
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
    lengths: dict[str, tuple[Any, int]] = {
        "names": (columns.names, n),
        "tails": (columns.tails, m),
        "relation": (columns.relation, m),
    }
    optional = {"texts": (columns.texts, n), "edge_text": (columns.edge_text, m), "name_order": (columns.name_order, n)}
    lengths |= {name: (values, size) for name, (values, size) in optional.items() if values is not None}
    rows = {"out": (columns.out, n), "into": (columns.into, n), "adjacency": (columns.adjacency, n)}
    rows |= {"node_chunks": (columns.node_chunks, n)} if columns.node_chunks is not None else {}
    rows |= {"edge_chunks": (columns.edge_chunks, m)} if columns.edge_chunks is not None else {}
    texts = [c for c in vars(columns).values() if isinstance(c, TextColumn)]
    wrong = [name for name, (values, size) in lengths.items() if len(values) != size]
    wrong += [
        name for name, (csr, size) in rows.items() if len(csr.indptr) != size + 1 or csr.indptr[-1] != len(csr.values)
    ]
    wrong += ["a column of texts" for column in texts if column.offsets[-1] != len(column.data)]
    return wrong[0] if wrong else ""


def save_array(array: np.ndarray[Any, Any], path: Path) -> None:
    """Write one array and wait until it is on disk."""
    with path.open("wb") as file:
        np.save(file, np.ascontiguousarray(array))
        file.flush()
        os.fsync(file.fileno())


def load_array(path: Path) -> np.ndarray[Any, Any]:
    """Open one array, memory-mapped and read-only."""
    try:
        # A plain view of the mapping: kernels are compiled for plain arrays only.
        return np.asarray(np.load(path, mmap_mode="r"))
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, ValueError) and path.exists() and _is_empty(path):
            return np.load(path)  # type: ignore[no-any-return]
        reason = "missing" if isinstance(error, FileNotFoundError) else "cut short or damaged"
        raise StoreError(f"{path} is {reason}; build the index again.") from error


def _is_empty(path: Path) -> bool:
    """Return whether the file holds an empty array, which cannot be mapped."""
    try:
        return np.load(path).size == 0  # type: ignore[no-any-return]
    except (OSError, ValueError, EOFError):
        return False


def _save(value: Any, folder: Path, name: str, shapes: dict[str, str]) -> None:
    kind = type(value).__name__
    if value is None:
        shapes[name] = "None"
    elif isinstance(value, np.ndarray):
        shapes[name] = "array"
        save_array(value, folder / f"{name}.npy")
    elif isinstance(value, Passages):
        shapes[name] = "Passages"
        for f in dataclasses.fields(value):
            _save(getattr(value, f.name), folder, f"{name}.{f.name}", {})
    else:
        shapes[name] = kind
        for part in _NAMED[kind]:
            save_array(getattr(value, part), folder / f"{name}.{part}.npy")


def _load(shape: str, folder: Path, name: str) -> Any:
    if shape == "None":
        return None
    if shape == "array":
        return load_array(folder / f"{name}.npy")
    if shape == "Passages":
        return Passages(
            **{
                f.name: _load(_SHAPES_OF_PASSAGES[f.name], folder, f"{name}.{f.name}")
                for f in dataclasses.fields(Passages)
            }
        )
    parts = [load_array(folder / f"{name}.{part}.npy") for part in _NAMED[shape]]
    return TextColumn(*parts) if shape == "TextColumn" else Csr(*parts)


_SHAPES_OF_PASSAGES = {
    f.name: "TextColumn" if f.type == "TextColumn" else "array" for f in dataclasses.fields(Passages)
}
