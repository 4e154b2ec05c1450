"""Shards on object storage: each is pushed below one address, where a holder without its folder pulls it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

from graphwright.errors import GraphwrightError, StoreError
from graphwright.remote import Pushed, pull, push
from graphwright.remote.bucket import Bucket
from graphwright.remote.manifest import read_current
from graphwright.store.layout import STORE, IndexLayout
from graphwright.store.locks import writer_lock
from graphwright.store.store import Store

UNITED, SHARD = "united", "shard-{}"  # folders, and what lies below the address
COUNT, STORAGE = "shards", "storage"  # settings: the number of shards, and the address


def push_shards(folder: Path, url: str, **options: Any) -> Pushed:
    """Push all shards of a folder, and the graph over them, each below a URL; the folder remembers the URL.

    From then on, every change is pushed, and a holder pulls its shard where it has not its folder, or an earlier state.
    `options`: those of `push`. The result has the name of the push of the graph, and the sums of all. Raises
    StoreError if the URL holds an index that is not in shards, and as `push`.
    """
    bucket = Bucket.open(url, create=True)
    if read_current(bucket) is not None:
        raise StoreError(f"{url} holds an index that is not in shards. Give the shards an address of their own.")
    united = folder / UNITED
    with closing(Store(united / STORE)) as store:
        names = [SHARD.format(number) for number in range(int(store.setting(COUNT) or 0))]
        parts = [push(folder / name, f"{bucket.url}/{name}", **options) for name in names]
        if store.setting(STORAGE) != bucket.url:
            with writer_lock(united), store.writing():
                store.set(STORAGE, bucket.url)
    parts.append(push(united, f"{bucket.url}/{UNITED}", **options))
    sums = {each.name: sum(getattr(part, each.name) for part in parts) for each in fields(Pushed)[1:]}
    return Pushed(parts[-1].push, **sums)


def pull_latest(url: str, folder: Path) -> None:
    """Pull what was pushed last; a folder that has more, or cannot be compared, stays as it is.

    Raises GraphwrightError if there is no folder, and it cannot be pulled.
    """
    try:
        pull(url, folder)
    except GraphwrightError:
        if not IndexLayout(folder).store.exists():
            raise
