"""Turn files of the packages of the everyday questions into documents."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sources.packages import Source, Unavailable, folder_of, printed

_BROKEN_WORD = re.compile(r"‐\n\s*")


def documents_of(source: Source, work: Path) -> Path:
    """Return the folder with the documents of a source, fetched and extracted where missing.

    Raises Unavailable where the registry does not serve the version, or another file under its name.
    """
    folder: Path = work / "documents" / source["name"]
    stamp = work / "documents" / f".{source['name']}.json"
    made_from = json.dumps(source, sort_keys=True)
    if not (stamp.exists() and stamp.read_text(encoding="utf-8") == made_from):
        shutil.rmtree(folder, ignore_errors=True)
        folder_of_package = folder_of(source, work)
        for base, path, form in _files(source["parts"], folder_of_package):
            _write(path, path.relative_to(base).as_posix(), form, folder)
        stamp.write_text(made_from, encoding="utf-8")
    return folder


def _files(parts: Sequence[Mapping[str, Any]], unpacked: Path) -> list[tuple[Path, Path, str]]:
    """Return the base, path and form of each file of the parts. Raises Unavailable where the package lacks one."""
    files = []
    for part in parts:
        base = unpacked / part["base"]
        matches = {pattern: sorted(base.glob(pattern)) for pattern in part["files"]}
        if missing := [pattern for pattern, paths in matches.items() if not paths]:
            raise Unavailable(f"{unpacked.name}: the package has no {', '.join(missing)} in {part['base']}")
        paths = [path for group in matches.values() for path in group if not path.is_symlink()]
        files += [(base, path, part["form"]) for path in paths]
    return files


def _write(path: Path, name: str, form: str, folder: Path) -> None:
    """Write a file of a package as a document."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text, suffix = _FORMS[form](content)
    name = name.removesuffix(".gz")
    target = folder / (name if name.endswith(suffix) else f"{name.removesuffix('.json')}{suffix}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text)


def _manual_page(source: bytes) -> tuple[bytes, str]:
    """Return a manual page as `man` prints it, without adjusting and without divided words."""
    return _BROKEN_WORD.sub("", printed(source).decode()).encode(), ".txt"


def _plain(source: bytes) -> tuple[bytes, str]:
    return source, ""


def _table(source: bytes) -> tuple[bytes, str]:
    """Return the array of objects in a JSON file as a table, with a line of column names."""
    (rows,) = json.loads(source).values()
    columns = list(dict.fromkeys(name for row in rows for name in row if name != "flag"))
    lines = [columns, *([row.get(column, "") for column in columns] for row in rows)]
    return _joined(lines), ".txt"


def _joined(rows: Sequence[Sequence[str]]) -> bytes:
    return "".join("\t".join(row) + "\n" for row in rows).encode()


_FORMS = {"man": _manual_page, "html": _plain, "text": _plain, "json": _table}
