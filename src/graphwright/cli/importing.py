"""The command that imports a knowledge graph."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphwright.cli.indexing import progress_bar
from graphwright.cli.printable import counted, printable
from graphwright.data.dumps import dump_of
from graphwright.index_folder import Index

__all__ = ["import_graph"]


def import_graph(
    files: Sequence[Path],
    into: Path,
    parts: Mapping[str, Any],
    names: Sequence[Path],
    malformed: int | None,
    embed: Sequence[str] | None,
    encoder: str | None,
    *,
    as_json: bool,
) -> None:
    """Import, with progress, and say what was made of what was found."""
    dumps = [dump_of(file, **parts) for file in files]
    begun = time.perf_counter()
    with progress_bar() as show:
        index = Index.from_graph(
            into, dumps, names=names, malformed=malformed, embed=embed, encoder=encoder, progress=show
        )
    seconds = time.perf_counter() - begun
    held = index.info()
    found = held["imported"]
    if as_json:
        print(json.dumps({"index": held, "seconds": seconds}, ensure_ascii=False))
        return
    if count := found["malformed"]:
        print(f"note: {counted(count, 'malformed row')} left out, the first:", file=sys.stderr)
        for line in found["shown"]:
            print(f"  {printable(line)}", file=sys.stderr)
    vectors = ", ".join(f"{count:,} {name}" for name, count in held["embedded"].items())
    if not vectors:
        print("note: nothing has a vector; methods that search by meaning need --embed names.", file=sys.stderr)
    print(
        f"{index.path}: {counted(held['edges'], 'triple')}, {counted(held['nodes'], 'node')}, "
        f"{counted(found['relations'], 'relation')}"
        f"{', vectors of ' * bool(vectors)}{vectors} ({held['bytes'] / 1e6:,.1f} MB), in {seconds:.1f} s"
    )
    print(f'Ask it: graphwright ask "…" --index {into}', file=sys.stderr)
