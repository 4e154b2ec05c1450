"""Files of folders, in a fixed order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from graphwright.data.document import Skipped

__all__ = ["files"]

_INDEX = frozenset(("index.sqlite", "CURRENT"))  # a folder with these files is an index


def files(
    roots: Sequence[Path], skip: Callable[[Skipped], None], excluded: frozenset[Path]
) -> Iterator[tuple[Path, str]]:
    """Yield each file with the id of its document."""

    def closed(error: OSError) -> None:
        skip(Skipped(str(error.filename), f"a folder that cannot be read: {error.strerror}", True))

    for path in roots:
        if not path.is_dir():
            yield path, path.name
            continue
        for folder, folders, names in os.walk(path, onerror=closed):
            here = Path(folder)
            if set(names) >= _INDEX:
                folders.clear()
                skip(Skipped(folder, "an index, not documents"))
                continue
            for name in (name for name in folders if name[0] != "." and os.path.islink(here / name)):
                skip(Skipped(str(here / name), "a link to a folder; only links to files are followed"))
            folders[:] = sorted(name for name in folders if name[0] != "." and (here / name).resolve() not in excluded)
            for name in sorted(name for name in names if name[0] != "."):
                if target := _linked_file(here / name, path, excluded):
                    skip(Skipped(str(here / name), f"a link to {target}, which is read itself"))
                else:
                    yield here / name, (here / name).relative_to(path).as_posix()


def _linked_file(link: Path, folder: Path, excluded: frozenset[Path]) -> str:
    """Return the target of a link to a file that is read with the folder anyway; else an empty string."""
    if not os.path.islink(link) or not os.path.isfile(link):  # both are false without permission
        return ""
    target, root = link.resolve(), folder.resolve()
    if not target.is_relative_to(root) or not excluded.isdisjoint(target.parents):
        return ""
    inside = target.relative_to(root)
    # An index is skipped with all its files, so a link is the only way to read one of them.
    if any(all(os.path.lexists(root / above / name) for name in _INDEX) for above in inside.parents):
        return ""
    return "" if any(part[0] == "." for part in inside.parts) else inside.as_posix()
