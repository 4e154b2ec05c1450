"""Creation of index folders, atomically: empty ones, and those of graphs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from graphwright.data.dumps.dump import Dump
from graphwright.errors import OptionError
from graphwright.graph.graph import Graph
from graphwright.build.build import build_from_chunks, build_from_graph
from graphwright.store.changes import Progress, Settings
from graphwright.store.chunk_columns import ChunkColumns
from graphwright.build.graph_import import ImportedGraph, import_graph
from graphwright.store.layout import IndexLayout
from graphwright.search.snapshot import Snapshot
from graphwright.search.snapshot_format import write_snapshot
from graphwright.store.store import Store
from graphwright.models.registry import EMBEDDED, encoder_of


def create_index(
    folder: Path,
    encoder: object,
    settings: Settings,
    fill: Callable[[IndexLayout, Store], None] | None = None,
    **more: str,
) -> IndexLayout:
    """Create an index in a new or empty folder, atomically: an empty one, or with what `fill` adds to its store.

    `encoder`: see `encoder_of`; by default embedded. `more`: further settings of the store.
    """
    if "passages" not in settings.embed:
        raise OptionError(f"embed is {settings.embed}; passages are always embedded, so it must contain them.")
    snapshot = build_from_chunks(ChunkColumns.of([]), settings, encoder_of(EMBEDDED if encoder is None else encoder))

    def write(layout: IndexLayout) -> None:
        _write_new(layout, snapshot, encoder, settings, **more)
        if fill is not None:
            with closing(Store(layout.store)) as store:
                fill(layout, store)

    return IndexLayout.create(folder.resolve(), write)


def create_graph_index(
    folder: Path,
    source: Graph | Sequence[Dump],
    encoder: object,
    names: Sequence[Dump],
    max_malformed: int | None,
    embed: Sequence[str] | None,
    progress: Progress | None,
) -> IndexLayout:
    """Create an index of a graph or of files of triples in a new or empty folder, atomically."""
    model = encoder_of(EMBEDDED if encoder is None else encoder)

    def fill(layout: IndexLayout) -> None:
        scratch, files = layout.path / "import", [] if isinstance(source, Graph) else source
        if isinstance(source, Graph):
            imported = ImportedGraph(source.columns)
        else:
            imported = import_graph(files, scratch, names=names, max_malformed=max_malformed, progress=progress)
        graph = Graph(imported.columns)
        snapshot = build_from_graph(
            graph, model, embed=embed, ids=imported.ids, labels=imported.labels, progress=progress
        )
        seconds = {**imported.seconds, **snapshot.seconds}
        about = {
            "files": [str(file.path.resolve()) for file in files],
            "relations": len(imported.columns.relations),
            "malformed": imported.malformed,
            "examples": imported.examples,
            "seconds": {part: round(value, 3) for part, value in seconds.items()},
        }
        settings = Settings(embed=tuple(snapshot.about["texts"]))
        _write_new(layout, snapshot, encoder, settings, graph=json.dumps(about))
        shutil.rmtree(scratch, ignore_errors=True)

    return IndexLayout.create(folder.resolve(), fill)


def _write_new(layout: IndexLayout, snapshot: Snapshot, encoder: object, settings: Settings, **more: str) -> None:
    """Write the store and the first snapshot of a new index; `encoder`: as it was given."""
    encoder = EMBEDDED if encoder is None else encoder
    stored = {
        "encoder": str(getattr(snapshot.encoder, "id", "")),
        "encoder name": encoder if isinstance(encoder, str) else "",
        "settings": json.dumps(asdict(settings)),
        "revision": "0",
    }
    Store.create(layout.store, {**stored, **more}).close()
    layout.publish(0, lambda draft: write_snapshot(draft, snapshot))
