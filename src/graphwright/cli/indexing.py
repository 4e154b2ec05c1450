"""What the index command does: read, add, report, with progress on stderr."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from graphwright.data.base import Skipped
from graphwright.data.openie import read_openie
from graphwright.errors import DataError
from graphwright.folder import Added, Index
from graphwright.index.build import Progress as Report
from graphwright.index.build import Settings
from graphwright.index.openie import Precomputed

__all__ = ["add_to", "progress_bar", "report"]

_SHOWN = 10  # files that could not be read are listed up to this number


class _Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        """Return the rate, empty before there is one."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


@contextmanager
def progress_bar() -> Iterator[Report]:
    """Give a callback (what, done, of how many) that draws bars with rate and time left on stderr."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield show


def add_to(
    paths: list[Path], into: Path, settings: Mapping[str, Any], openie: Path | None
) -> tuple[Added, Index, float]:
    """Add what the paths hold to an index, made if need be; return what came of it and the seconds it took."""
    begun = time.perf_counter()
    skipped: list[Skipped] = []
    extractor = None if openie is None else Precomputed.of(read_openie(openie, skipped.append))
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise DataError(f"{missing[0]} does not exist; nothing was indexed.")
    created = not (into / "index.sqlite").exists()
    existed = into.exists()
    if created:
        index = Index.create(into, extractor=extractor, settings=Settings(**settings))
    else:
        index = Index.open(into, extractor=extractor)
    try:
        with progress_bar() as show:
            added = index.add(paths, progress=show)
    except Exception:
        if created and not index.documents:
            index.close()
            shutil.rmtree(into, ignore_errors=True)
            if existed:
                into.mkdir(exist_ok=True)
        raise
    added.skipped += skipped
    return added, index, time.perf_counter() - begun


def report(added: Added, index: Index, seconds: float, as_json: bool) -> None:
    """Say what was added, what was not and why."""
    held = index.info()
    counts = {name: len(getattr(added, name)) for name in ("added", "replaced", "unchanged", "skipped")}
    if as_json:
        skipped = [{"path": s.path, "reason": s.reason} for s in added.skipped]
        print(json.dumps({**counts, "skipped": skipped, "unfit": dict(added.unfit), "seconds": seconds, "index": held}))
        return
    for one in added.skipped[:_SHOWN]:
        print(f"skipped {one.path}: {one.reason}", file=sys.stderr)
    if len(added.skipped) > _SHOWN:
        print(f"… and {len(added.skipped) - _SHOWN} more; --json lists all", file=sys.stderr)
    for reason, count in added.unfit.items():
        print(
            f"note: {reason} in {count:,} document{'s' * (count != 1)}: names cannot be told by their capitals there, "
            f"so frequent terms take their place and the graph is weaker.",
            file=sys.stderr,
        )
    print(", ".join(f"{count:,} {name}" for name, count in counts.items() if count or name == "added"))
    print(
        f"{index.path}: {held['documents']:,} documents, {held['chunks']:,} chunks, {held['nodes']:,} nodes, "
        f"{held['edges']:,} edges ({held['bytes'] / 1e6:,.1f} MB), in {seconds:.1f} s"
    )
