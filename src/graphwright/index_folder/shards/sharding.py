"""Division of an index into shards: documents go with what was extracted from them, and with the vectors known."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from graphwright.build.creation import create_index
from graphwright.build.operation import Operation
from graphwright.build.publication import Publication
from graphwright.engines import Engine
from graphwright.errors import DataError, OptionError, StoreError, counted
from graphwright.extract.extractors import extractor_of
from graphwright.index_folder.index import GivenEncoder, Index
from graphwright.index_folder.reading import GATE
from graphwright.index_folder.shards.columns import Shards
from graphwright.index_folder.shards.holder import Holder, shard_of
from graphwright.index_folder.shards.storage import COUNT, SHARD, UNITED
from graphwright.index_folder.shards.uniting import unite
from graphwright.models.registry import EMBEDDED, encoder_of
from graphwright.search.snapshot_format import open_snapshot
from graphwright.store.changes import Progress
from graphwright.store.folder_creation import create_folder
from graphwright.store.layout import IndexLayout
from graphwright.store.locks import writer_lock
from graphwright.store.store import Store

_WRITTEN = ("prompts", "settings.toml")  # by the user, for every shard


def shard_index(
    source: str | Path,
    into: str | Path,
    shards: int,
    *,
    encoder: GivenEncoder = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> None:
    """Divide an index of documents into shards in a new folder; open it as `Index("ray://FOLDER")`.

    Nothing is extracted again, and only texts without a vector are encoded: names that a shard spells otherwise.
    `encoder`: as in `Index.open`. `engine`: where shards are built, by default one after the other here. The source
    stays as it is. Raises StoreError for a folder that is not empty, OptionError for an index with edits or an imported
    graph, or fewer than two shards; then nothing is written.
    """
    folder = Path(into).resolve()
    if shards < 2:
        raise OptionError(f"shards is {shards}; give at least 2.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StoreError(f"{folder} is not empty. Shards need a new or empty folder.")
    with Index.open(source, encoder=encoder) as index:
        if index.imported is not None or index._store.setting("graph") is not None:
            raise OptionError(f"{source} has an imported graph, which cannot be divided; use an index of documents.")
        if edits := index.edits():
            raise OptionError(f"{source} has {counted(len(edits), 'edit')} by hand, which shards cannot have.")
        if not index.documents:
            raise DataError(f"{source} holds no documents to divide. Add some: graphwright index PATH --into {source}")
        settings, schema, gate, origin = index.settings, index.extraction_schema, index.gate, index.path
        name = index._store.setting("encoder name") or None
    given = encoder if encoder is not None else name
    draft = folder.with_name(f".{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        with writer_lock(origin):  # so that all shards are of the same documents
            build = partial(_build, origin, draft, shards, given)
            engine.map(build, range(shards)) if engine is not None else _each(build, shards, progress)
        more: Any = {COUNT: str(shards), GATE: repr(gate)}
        united = create_index(draft / UNITED, given, settings, schema=schema, **more)
        _copy_written(origin, united.path)
        holders = Shards([Holder(draft / SHARD.format(n), given) for n in range(shards)])
        with closing(holders), closing(Store(united.store)) as store:
            unite(holders, united, store, encoder_of(EMBEDDED if given is None else given), progress)
        os.replace(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _each(build: Callable[[int], None], shards: int, progress: Progress | None) -> None:
    for number in range(shards):
        if progress is not None:
            progress("build shards", number, shards)
        build(number)


def _build(origin: Path, into: Path, shards: int, encoder: GivenEncoder, number: int) -> None:
    """Make one shard: its documents of an index, and a snapshot of them."""
    source, model = IndexLayout(origin), encoder_of(EMBEDDED if encoder is None else encoder)

    def fill(layout: IndexLayout) -> None:
        with closing(Store.create(layout.store, {})) as store:
            store.copy_part(source.store, lambda id: shard_of(id, shards) == number)
            known = open_snapshot(source.path / source.current(), model)
            Publication(Operation(layout, store, model, extractor_of(None, model))).rebuild(known)
        _copy_written(origin, layout.path)

    create_folder(into / SHARD.format(number), fill)


def _copy_written(source: Path, target: Path) -> None:
    for name in _WRITTEN:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name)
        elif (source / name).exists():
            shutil.copy2(source / name, target / name)
