"""An opened snapshot: the graph and the indexes over it, all that a method searches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import StoreError
from graphwright.graph.graph import Graph
from graphwright.graph.snapshot import flush, load_array, load_graph, save_array, save_graph
from graphwright.index.lock import Lease
from graphwright.index.vectors import VectorIndex
from graphwright.index.words import WordIndex
from graphwright.models.base import Encoder, Floats

__all__ = ["Snapshot", "Space", "open_snapshot", "write_snapshot"]

FORMAT = 2


@dataclass(frozen=True)
class Space:
    """Vectors to be written: one row per text, and the row of each node or edge id (see VectorIndex)."""

    vectors: Floats
    row_of: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What a method is built over.

    `passages` has the vectors of chunk nodes, `names` those of entities, `triples` those of edges (the
    sentences that state them); the last two are None where only passages were embedded.
    """

    graph: Graph
    passages: VectorIndex
    words: WordIndex
    names: VectorIndex | None
    triples: VectorIndex | None
    encoder: Encoder
    about: dict[str, Any]
    lease: Lease | None = None  # keeps its files from being cleaned up

    def __repr__(self) -> str:
        return f"Snapshot({self.graph!r})"


def write_snapshot(
    folder: Path, graph: Graph, spaces: Mapping[str, Space], words: WordIndex, about: dict[str, Any]
) -> None:
    """Write everything into a new folder; all of it is on disk when this returns."""
    folder.mkdir(parents=True)
    save_graph(graph, folder / "graph")
    words.save(folder / "words")
    checksums = {}
    for name, space in spaces.items():
        save_array(space.vectors, folder / f"{name}.npy")
        save_array(space.row_of, folder / f"{name}.rows.npy")
        checksums[name] = VectorIndex(space.vectors, space.row_of).checksum
    about = {"format": FORMAT, **about, "spaces": checksums, "words": words.checksum}
    (folder / "about.json").write_text(json.dumps(about, indent=1), encoding="utf-8")
    flush(folder / "about.json")


def open_snapshot(folder: Path, encoder: Encoder) -> Snapshot:
    """Open a snapshot; its arrays are memory-mapped. `encoder` must be the one it was written with."""
    lease = Lease(folder)
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        spaces = about["spaces"]
        words = about["words"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder} is not a readable snapshot ({error}); index the documents again.") from error
    if about.get("format") != FORMAT:
        raise StoreError(f"{folder} has format {about.get('format')}; this version reads {FORMAT}. Index again.")
    graph = load_graph(folder / "graph")
    opened = {name: _open_space(folder, name, checksum, encoder) for name, checksum in spaces.items()}
    if "passages" not in opened or any(
        len(space.vectors) != about["texts"].get(name)
        or len(space.row_of if space.row_of is not None else ()) != _ids(name, graph)
        for name, space in opened.items()
    ):
        raise StoreError(f"{folder}: vectors are missing or cut short; index the documents again.")
    index = WordIndex.load(folder / "words")
    if index.checksum != words:
        raise StoreError(f"{folder / 'words'} is not what was written there; index the documents again.")
    return Snapshot(
        graph,
        opened["passages"],
        index,
        opened.get("names"),
        opened.get("triples"),
        encoder,
        about,
        lease,
    )


def _ids(name: str, graph: Graph) -> int:
    """Return how many ids a space has rows for: nodes, or for triples edges."""
    return len(graph.edges) if name == "triples" else len(graph)


def _open_space(folder: Path, name: str, checksum: str, encoder: Encoder) -> VectorIndex:
    index = VectorIndex(load_array(folder / f"{name}.npy"), load_array(folder / f"{name}.rows.npy"), encoder)
    # Known from the day it was written: reading 30 MB to print an expression would be a waste.
    vars(index)["checksum"] = checksum
    return index
