"""Attacks on a command: what is done to its folder, its process and its streams."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from attacks.commands import Bench

__all__ = ["ATTACKS", "WAITING", "Attack"]

WAITING = ("serve", "mcp")
"""Commands that run until they are ended."""


class Attack(NamedTuple):
    """What to do to a folder before a command, in its child, and to its process; whether files become links."""

    before: Callable[[Path], None] = lambda folder: None
    prepare: Callable[[], None] = lambda: None
    send: tuple[int, float] | None = None
    fresh: bool = False
    linked: bool = False
    after: Callable[[Path], None] = lambda folder: None


def signals(bench: Bench, name: str, rng: random.Random) -> Attack:
    """Send a signal at a random moment."""
    number = rng.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    seconds = rng.random() * (0.5 if name in WAITING else bench.seconds[name])

    def default() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    return Attack(prepare=default, send=(number, seconds))


def few_files(bench: Bench, name: str, rng: random.Random) -> Attack:
    """Let the process open a few files only."""
    count, fresh = rng.choice((1, 3, 5, 8, 12, 20, 40)), rng.random() < 0.1

    def limit() -> None:
        highest = 2 if fresh else max(int(number) for number in os.listdir("/proc/self/fd"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + count,) * 2)

    return Attack(prepare=limit, fresh=fresh and count > 3)


def small_files(bench: Bench, name: str, rng: random.Random) -> Attack:
    """Let no file grow beyond a size."""
    size = rng.choice((0, 1_000, 20_000, 40_000, 100_000, 200_000, 500_000))

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as Python does at its start
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return Attack(prepare=limit)


def full_disk(bench: Bench, name: str, rng: random.Random) -> Attack:
    """Leave a few bytes on the disk; it must be one of its own (see `run`)."""
    left = rng.choice((0, 5_000, 30_000, 100_000, 300_000, 600_000))
    filler = bench.place / "filler"

    def fill(folder: Path) -> None:
        space = os.statvfs(bench.place)
        filler.write_bytes(bytes(max(space.f_bavail * space.f_frsize - left, 0)))

    return Attack(before=fill, after=lambda folder: filler.unlink())


def streams(bench: Bench, name: str, rng: random.Random) -> Attack:
    """Close streams, or let them lead to a full disk."""
    closed = [number for number in range(3) if rng.random() < 0.4]
    full = [number for number in (1, 2) if number not in closed and rng.random() < 0.5]

    def change() -> None:
        for number in full:
            os.dup2(os.open("/dev/full", os.O_WRONLY), number)
        for number in closed:
            os.close(number)

    return Attack(prepare=change)


def read_only(bench: Bench, name: str, rng: random.Random) -> Attack:
    """Let nothing be written on the disk; it must be one of its own (see `run`)."""

    def remount(how: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{how}", str(bench.disk)], check=True)

    return Attack(before=lambda folder: remount("ro"), after=lambda folder: remount("rw"))


def links(bench: Bench, name: str, rng: random.Random) -> Attack:
    """Put links in the place of files of an index and of documents: to themselves, to nothing, and to outside."""

    def link(folder: Path) -> None:
        inside = [path for path in (folder / "index").rglob("*") if path.is_file()]
        for path in rng.sample(inside, rng.choice((0, 1, 3))):
            target = rng.choice((path, Path("/etc/passwd"), Path("nowhere"), Path("/dev/null"), folder))
            path.unlink()
            path.symlink_to(target)
        docs = folder / "docs"
        for at, target in enumerate((docs, Path("/etc/passwd"), Path("/proc/self"), Path("x4"), folder, Path("/dev"))):
            if rng.random() < 0.5:
                (docs / f"x{at}").symlink_to(target)

    return Attack(link, linked=True)


ATTACKS: dict[str, Callable[[Bench, str, random.Random], Attack]] = {
    "signals": signals,
    "few files": few_files,
    "small files": small_files,
    "full disk": full_disk,
    "streams": streams,
    "read-only": read_only,
    "links": links,
}
