"""Fetch the packages of the everyday questions through their registries' own clients, and turn them into documents."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

Source = Mapping[str, Any]

_BROKEN_WORD = re.compile(r"‐\n\s*")
_CLIENTS = {
    "debian": ("apt-get", "download", "{package}:{architecture}={version}"),
    "pypi": (sys.executable, "-m", "pip", "download", "--no-deps", "{package}=={version}"),
    "npm": ("npm", "pack", "{package}@{version}"),
}


class Unavailable(Exception):
    """A source that cannot be fetched as it is named."""


def read_sources(path: Path) -> list[Source]:
    """Return the sources of a `sources.toml`."""
    sources: list[Source] = tomllib.loads(path.read_text(encoding="utf-8"))["source"]
    return sources


def documents_of(source: Source, work: Path) -> Path:
    """Return the folder with the documents of a source, fetched and extracted where missing.

    Raises Unavailable where the registry does not serve the version, or another file under its name.
    """
    folder: Path = work / "documents" / source["name"]
    stamp = work / "documents" / f".{source['name']}.json"
    made_from = json.dumps(source, sort_keys=True)
    if not (stamp.exists() and stamp.read_text(encoding="utf-8") == made_from):
        shutil.rmtree(folder, ignore_errors=True)
        unpacked = _unpacked(_fetched(source, work / "packages"), work / "unpacked" / source["name"])
        for base, path, form in _files(source["parts"], unpacked):
            _write(path, path.relative_to(base).as_posix(), form, folder)
        stamp.write_text(made_from, encoding="utf-8")
    return folder


def _fetched(source: Source, packages: Path) -> Path:
    """Return the file of a package; it is downloaded where no file in `packages` has its checksum."""
    packages.mkdir(parents=True, exist_ok=True)
    if path := _with_checksum(source, packages):
        return path
    command = [argument.format(**source) for argument in _CLIENTS[source["registry"]]]
    try:
        done = subprocess.run(command, cwd=packages, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise Unavailable(f"{source['name']}: no {command[0]} on this machine to fetch {source['package']}") from error
    if path := _with_checksum(source, packages):
        return path
    lines = done.stderr.strip().splitlines()
    reason = "its checksum differs" if done.returncode == 0 else (lines or [f"exit status {done.returncode}"])[-1]
    hint = " (apt-get update reads the lists of packages anew)" if source["registry"] == "debian" else ""
    raise Unavailable(f"{source['name']}: {source['package']} {source['version']} is not served: {reason}{hint}")


def _with_checksum(source: Source, packages: Path) -> Path | None:
    name = source["package"]
    return next((p for p in packages.glob(f"{name}[_-]*") if _digest(p) == source["sha256"]), None)


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _unpacked(package: Path, folder: Path) -> Path:
    """Return a folder with the files of a package."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if package.suffix == ".deb":
        subprocess.run(["dpkg-deb", "-x", str(package), str(folder)], check=True)
    else:
        shutil.unpack_archive(package, folder, "zip" if package.suffix == ".whl" else None)
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
    command = ("groff", "-k", "-t", "-mandoc", "-Tutf8", "-P-cbou", "-rHY=0", "-dAD=l")
    try:
        page = subprocess.run(command, input=source, capture_output=True, check=True).stdout.decode()
    except FileNotFoundError as error:
        raise Unavailable("manual pages need groff (Debian: apt-get install groff)") from error
    return _BROKEN_WORD.sub("", page).encode(), ".txt"


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
