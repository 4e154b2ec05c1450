"""Atomic creation of index folders: empty, of a graph, or of another system's index."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from graphwright.build.apply_change import IndexChange
from graphwright.build.build import build_from_chunks, build_from_graph
from graphwright.build.imports.assembly import graph_of
from graphwright.build.imports.database_import import import_database
from graphwright.build.imports.graph_import import ImportedGraph, import_graph
from graphwright.build.imports.other_import import ImportedDocument, documents_of, read_other_index
from graphwright.build.operation import Operation
from graphwright.data.document import Chunk
from graphwright.data.graph_database import GraphDatabase
from graphwright.data.graph_files.detect import dump_of
from graphwright.data.graph_files.dump import Dump
from graphwright.data.graph_files.read_graph import have_properties, is_property_graph, read_property_graph
from graphwright.errors import OptionError
from graphwright.extract.extractors import extractor_of
from graphwright.extract.schema import NO_SCHEMA, Schema
from graphwright.graph.graph import Graph
from graphwright.models.registry import EMBEDDED, encoder_of
from graphwright.search.snapshot import Snapshot
from graphwright.search.snapshot_format import write_snapshot
from graphwright.store.changes import Progress
from graphwright.store.chunk_columns import ChunkColumns
from graphwright.store.folder_creation import create_folder
from graphwright.store.layout import IndexLayout
from graphwright.store.settings import Settings, checked_spaces
from graphwright.store.store import ExtractedChunk, Store

GraphSource = Graph | GraphDatabase | str | Path | Dump | Sequence[str | Path | Dump]


def create_index(
    folder: Path,
    encoder: object,
    settings: Settings,
    fill: Callable[[IndexLayout, Store], None] | None = None,
    schema: Schema = NO_SCHEMA,
    **more: str,
) -> IndexLayout:
    """Create an index in a new or empty folder, atomically. `fill`: adds to it; `more`: settings of the store."""
    if "passages" not in settings.embed:
        raise OptionError(f"embed is {settings.embed}; passages are always embedded, so it must contain them.")
    model = encoder_of(EMBEDDED if encoder is None else encoder)
    snapshot = build_from_chunks(ChunkColumns.of([]), settings, model, schema=schema)

    def write(layout: IndexLayout) -> None:
        _write_new(layout, snapshot, encoder, settings, schema=schema.to_toml(), **more)
        if fill is not None:
            with closing(Store(layout.store)) as store:
                fill(layout, store)

    return create_folder(folder.resolve(), write)


def create_from(
    folder: Path,
    source: GraphSource,
    *,
    names: Sequence[str | Path],
    max_malformed: int | None,
    embed: Sequence[str] | None,
    encoder: object,
    reports: bool,
    progress: Progress | None,
) -> Path:
    """Create an index in a new or empty folder, and return the folder; see `Index.from_graph`."""
    spaces = None if embed is None else checked_spaces(embed)
    if isinstance(source, str | Path) and Path(source).is_dir():
        if names or max_malformed is not None:
            raise OptionError(f"{source} is a folder: leave out names and max_malformed, which are for triples.")
        settings = Settings() if spaces is None else Settings(embed=checked_spaces(("passages", *spaces)))
        return _create_of_other(folder, Path(source), encoder, settings, reports, progress).path
    if reports:
        raise OptionError("reports=True is for the output of Microsoft GraphRAG; give its folder as the source.")
    if isinstance(source, GraphDatabase) and (names or max_malformed is not None):
        raise OptionError(f"{source} is a database: leave out names and max_malformed, which are for triples.")
    given: ImportedGraph | GraphDatabase | list[Dump]
    if isinstance(source, GraphDatabase):
        given = source
    else:
        given = ImportedGraph(source.columns) if isinstance(source, Graph) else _read(source, names, max_malformed)
    labels = [dump_of(file) for file in names]
    return _create_of_graph(folder, given, encoder, labels, max_malformed, spaces, progress).path


def _read(source: Any, names: Sequence[str | Path], max_malformed: int | None) -> ImportedGraph | list[Dump]:
    """Return the graph of the files of a property graph, and any other files as dumps."""
    files = source if isinstance(source, list | tuple) else [source]
    paths = [Path(file) for file in files if isinstance(file, str | Path)]
    with_properties = len(paths) == len(files) and not names and max_malformed is None and have_properties(paths)
    if with_properties or any(map(is_property_graph, paths)):
        if len(paths) < len(files) or names or max_malformed is not None:
            raise OptionError(
                "a property graph (GraphML, GEXF, GML, JSON, CSV of Neo4j) is read as it is: give paths of its files "
                "alone, without names and max_malformed."
            )
        read = read_property_graph(paths)
        return ImportedGraph(graph_of(read.nodes, read.edges).columns, paths, left_out=read.left_out)
    if not files:
        raise OptionError("give at least one file of triples to import.")
    return [file if isinstance(file, Dump) else dump_of(file) for file in files]


def _create_of_graph(
    folder: Path,
    source: ImportedGraph | GraphDatabase | Sequence[Dump],
    encoder: object,
    names: Sequence[Dump],
    max_malformed: int | None,
    embed: Sequence[str] | None,
    progress: Progress | None,
) -> IndexLayout:
    model = encoder_of(EMBEDDED if encoder is None else encoder)

    def fill(layout: IndexLayout) -> None:
        scratch = layout.path / "import"
        if isinstance(source, ImportedGraph):
            imported = source
        elif isinstance(source, GraphDatabase):
            imported = import_database(source, layout.rows, progress)
        else:
            imported = import_graph(source, scratch, names=names, max_malformed=max_malformed, progress=progress)
        graph = Graph(imported.columns)
        snapshot = build_from_graph(
            graph, model, embed=embed, ids=imported.ids, labels=imported.labels, progress=progress
        )
        settings = Settings(embed=tuple(snapshot.about["texts"]))
        _write_new(layout, snapshot, encoder, settings, graph=json.dumps(imported.facts(snapshot.seconds)))
        shutil.rmtree(scratch, ignore_errors=True)

    return create_folder(folder.resolve(), fill)


def _create_of_other(
    folder: Path, source: Path, encoder: object, settings: Settings, reports: bool, progress: Progress | None
) -> IndexLayout:
    other = read_other_index(source)
    documents = documents_of(other, reports=reports)

    def extracted(document: ImportedDocument, chunks: Sequence[Chunk]) -> list[ExtractedChunk]:
        pairs = zip(chunks, document.extractions(chunks), strict=True)
        return [ExtractedChunk(chunk, extraction, other.system) for chunk, extraction in pairs]

    def fill(layout: IndexLayout, store: Store) -> None:
        model = encoder_of(EMBEDDED if encoder is None else encoder)
        change = IndexChange(Operation(layout, store, model, extractor_of(None, model), progress))
        change.add_extracted((d.document, partial(extracted, d)) for d in documents)

    about = {
        "system": other.system,
        "folder": str(source.resolve()),
        "documents": len(documents),
        "text_units": len(other.units),
        "entities": len(other.entities),
        "relationships": len(other.relationships),
        "remarks": other.remarks,
    }
    return create_index(folder, encoder, settings, fill, source=json.dumps(about))


def _write_new(layout: IndexLayout, snapshot: Snapshot, encoder: object, settings: Settings, **more: str) -> None:
    """Write the store and the first snapshot of a new index; `encoder`: as it was given."""
    stored = stored_settings(snapshot.encoder, EMBEDDED if encoder is None else encoder, settings)
    Store.create(layout.store, {**stored, "revision": "0", **more}).close()
    layout.publish(0, lambda draft: write_snapshot(draft, snapshot))


def stored_settings(model: object, encoder: object, settings: Settings) -> dict[str, str]:
    """Return what the store keeps of an encoder, also as it was given, and of the settings."""
    return {
        "encoder": str(getattr(model, "id", "")),
        "encoder name": encoder if isinstance(encoder, str) else "",
        "settings": json.dumps(asdict(settings)),
    }
