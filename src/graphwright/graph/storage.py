"""Storage of a graph in a snapshot: one npy file per array, memory-mapped when opened."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import StoreError, cause_of, explained
from graphwright.files import KnownFiles
from graphwright.graph.columns import Passages, TextColumn
from graphwright.graph.graph import Columns, Graph
from graphwright.graph.records import RecordColumns
from graphwright.kernels.blocks import BLOCK, Limits, MappedArray, block_sums, outside
from graphwright.kernels.csr import Csr

FORMAT = 5
IN_BLOCKS = 64 * 2**20  # bytes above which a file is verified in blocks, each before it is first read
# Derived arrays are stored, because they take long to compute on large graphs.
_DERIVED = ("adjacency", "out", "into", "related", "name_order")
_AGAIN = "Build the index again."
_MAPPED = 2**20  # smaller files are read into memory, because a mapping occupies a file descriptor
_ARRAY, _NONE = "array", "None"
Array: TypeAlias = NDArray[Any]
Sums: TypeAlias = NDArray[np.uint64]
KNOWN = KnownFiles()  # files of snapshots that this process has written or read
# The kinds of columns that consist of several, and the kind of each part.
_COMPOSED: dict[str, tuple[Callable[..., Any], dict[str, str]]] = {
    "TextColumn": (TextColumn, dict.fromkeys(("data", "offsets"), _ARRAY)),
    "Csr": (Csr, dict.fromkeys(Csr._fields, _ARRAY)),
    **{
        kind.__name__: (
            kind,
            {f.name: "TextColumn" if f.type == "TextColumn" else _ARRAY for f in dataclasses.fields(kind)},
        )
        for kind in (Passages, RecordColumns)
    },
}


def save_graph(graph: Graph, folder: Path) -> None:
    """Write a graph into a new folder."""
    folder.mkdir(parents=True)
    columns = graph.columns
    fields = [field.name for field in dataclasses.fields(columns)]
    new = [name for name in _DERIVED if name not in vars(columns)]
    with ThreadPoolExecutor(1) as executor:
        computed = executor.map(lambda name: getattr(columns, name), _DERIVED)
        kinds = {name: _save(getattr(columns, name), folder, name) for name in fields}
        kinds |= {name: _save(value, folder, name) for name, value in zip(_DERIVED, computed, strict=True)}
    for name in new:  # gigabytes on a large graph
        del vars(columns)[name]
    manifest = {"format": FORMAT, "checksum": columns.checksum, "shapes": kinds}
    (folder / "graph.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def load_graph(folder: Path) -> Graph:
    """Open a snapshot that `save_graph` wrote. Raises StoreError if it is missing, cut short or of another format."""
    try:
        manifest = json.loads((folder / "graph.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{folder} holds no readable graph: {explained(error, _AGAIN)}") from error
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
        for name, array, limits in _limited(columns):
            check_limits(array, limits, folder / name)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise StoreError(f"{folder} holds an incomplete graph ({error!r}); build the index again.") from error
    return Graph(columns)


def _wrong_length(columns: Columns) -> str:
    """Return the name of an array of the wrong length, "" if there is none."""
    n, m = len(columns.kinds), len(columns.heads)
    lengths = {"names": n, "name_order": n, "tails": m, "relation": m, "edge_text": m, "node_type": n}
    lengths |= {"out": n, "into": n, "related": len(columns.relations), "adjacency": n}
    lengths |= {"node_chunks": n, "edge_chunks": m}
    damaged = _of_wrong_length(vars(columns), lengths)
    if not damaged and (records := columns.records) is not None:
        r, f = len(records.type), len(records.record)
        lengths = dict.fromkeys(("chunk", "span", "is_copy"), r)
        lengths |= dict.fromkeys(("name", "text", "field_span", "node"), f)
        lengths |= dict.fromkeys(("forms", "form_text"), len(records.texts))
        damaged = _of_wrong_length(vars(records), lengths)
    return damaged


def _of_wrong_length(values: Mapping[str, Any], lengths: Mapping[str, int]) -> str:
    """Return the name of a value that is incomplete or not of its length, "" if there is none."""
    for name, value in values.items():
        if isinstance(value, Csr):
            length, complete = len(value.indptr) - 1, value.indptr[-1] == len(value.values)
        elif isinstance(value, TextColumn):
            length, complete = len(value), value.offsets[-1] == len(value.data)
        elif isinstance(value, np.ndarray | MappedArray):
            length, complete = len(value), True
        else:
            continue
        if not complete or length != lengths.get(name, length):
            return name
    return ""


def _limited(columns: Columns) -> Iterator[tuple[str, Array, Limits]]:
    """Yield the arrays that index other arrays, with the limits of their values."""
    n, m = len(columns.kinds), len(columns.heads)
    nodes, edges = Limits(0, n - 1), Limits(0, m - 1)
    named = {"heads": nodes, "tails": nodes, "relation": Limits(0, len(columns.relations) - 1)}
    named |= {"name_order": nodes, "alias_node": nodes, "edge_text": Limits(-1, len(columns.sentences or ()) - 1)}
    named |= {
        "node_type": Limits(-1, len(columns.types or ()) - 1),
        "adjacency": nodes,
        "node_chunks": nodes,
        "edge_chunks": nodes,
    }
    named |= {"out": edges, "into": edges, "related": edges}
    yield from _with_limits("", vars(columns), named)
    if (passages := columns.passages) is not None:
        named = {"nodes": nodes, "document": Limits(0, len(passages.documents) - 1)}
        named["title"] = Limits(0, len(passages.titles) - 1)
        yield from _with_limits("passages.", vars(passages), named)
    if (records := columns.records) is not None:
        named = {"type": Limits(0, len(records.types) - 1), "chunk": nodes, "node": Limits(-1, n - 1)}
        named |= {"record": Limits(0, len(records) - 1, ascending=True), "name": Limits(0, len(records.names) - 1)}
        named |= dict.fromkeys(("text", "form_text"), Limits(0, len(records.texts) - 1))
        yield from _with_limits("records.", vars(records), named)


def _with_limits(
    prefix: str, values: Mapping[str, Any], named: Mapping[str, Limits]
) -> Iterator[tuple[str, Array, Limits]]:
    """Yield the arrays of values that index others, with their names and limits."""
    for name, value in values.items():
        if isinstance(value, Csr):
            yield f"{prefix}{name}.indptr", value.indptr, Limits(0, len(value.values), ascending=True)
            yield f"{prefix}{name}.values", value.values, named[name]
        elif isinstance(value, TextColumn):
            yield f"{prefix}{name}.offsets", value.offsets, Limits(0, len(value.data), ascending=True)
        elif name in named and value is not None:
            yield f"{prefix}{name}", value, named[name]


def check_limits(array: Array, limits: Limits, path: Path) -> None:
    """Raise StoreError for a value out of limits, where a kernel would read beyond an array; a MappedArray on read."""
    if isinstance(array, MappedArray):
        array.limit(limits)
    elif outside(array, limits):
        raise StoreError(f"{path} has values outside their limits; build the index again.")


def save_array(array: Array, path: Path) -> None:
    """Write one array, and the checksums of a large one's blocks."""
    sums = _write(array, path)
    if path.stat().st_size > IN_BLOCKS:
        _write(sums, block_file(path))


def _write(array: Array, path: Path) -> Sums:
    """Write one array as `np.save` does; return the checksum of each block of the file, which is known from now on."""
    array, written = np.ascontiguousarray(array), BytesIO()
    np.lib.format.write_array_header_1_0(written, np.lib.format.header_data_from_array_1_0(array))
    data, header = array.reshape(-1).view(np.uint8), np.frombuffer(written.getvalue(), np.uint8)
    first = BLOCK - len(header)
    sums = np.concatenate((block_sums(np.append(header, data[:first])), block_sums(data[first:])))
    with path.open("wb") as file:
        file.write(header.data)
        file.write(data.data)
        file.flush()
        about = os.fstat(file.fileno())
    KNOWN.put(about, checksum_of(sums, about.st_size))
    return sums


def checksum_of(sums: Sums, size: int) -> int:
    """Return the checksum of a file of this size, given those of its blocks."""
    return crc32(sums.tobytes(), size & 0xFFFFFFFF)


def block_file(path: Path) -> Path:
    """Return the file with the checksums of a large array's blocks."""
    return path.with_suffix(".blocks.npy")


def load_array(path: Path) -> Array:
    """Open one array, memory-mapped and read-only; as a MappedArray if it has checksums of its blocks."""
    try:
        if block_file(path).exists():
            mapped: Array = _mapped(path)
            return mapped
        array = np.load(path, mmap_mode="r" if path.stat().st_size > _MAPPED else None)
        array.flags.writeable = False
        return np.asarray(array)  # a plain view of the mapping: kernels are compiled for plain arrays only
    except StoreError:
        raise
    except Exception as error:  # numpy parses a header as Python: a damaged header raises many kinds of errors
        if cause_of(error):
            raise StoreError(f"{path} cannot be read: {explained(error, _AGAIN)}") from error
        reason = "missing" if isinstance(error, FileNotFoundError) else f"cut short or damaged ({error})"
        raise StoreError(f"{path} is {reason}; build the index again.") from error


def _mapped(path: Path) -> Any:
    """Open a large array; only its first block, which has the header, is verified now."""
    sums, raw = np.load(block_file(path)), np.memmap(path, np.uint8, "r").view(np.ndarray)
    if sums.dtype != np.uint64 or sums.shape != (-(-raw.size // BLOCK),):
        raise ValueError(f"it has {raw.size} bytes")
    if block_sums(raw[:BLOCK])[0] != sums[0]:
        raise damaged_block(path, 0)
    header = BytesIO(raw[:BLOCK].tobytes())
    np.lib.format.read_magic(header)
    shape, _, dtype = np.lib.format.read_array_header_1_0(header)
    values = raw[header.tell() :].view(dtype).reshape(shape)
    return MappedArray(raw, values, sums, lambda block: damaged_block(path, block))


def damaged_block(path: Path, block: int) -> StoreError:
    """Return the error for a damaged block of a file."""
    return StoreError(
        f"{path} is damaged within {BLOCK:,} bytes of byte {block * BLOCK:,}: it is not as it was written. Rebuild it "
        f"with graphwright verify --repair, or build the index again."
    )


def _save(value: Any, folder: Path, name: str) -> str:
    """Write a column, each array of it to a file; return its kind."""
    if value is None:
        return _NONE
    if isinstance(value, np.ndarray | MappedArray):
        save_array(np.asarray(value), folder / f"{name}.npy")
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
