"""A target of fuzzing, and the files that targets read."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from graphwright.errors import GraphwrightError

__all__ = ["KEY", "Target", "kind", "scratch", "write"]

KEY = "sk-proj-0123456789"


@dataclass(frozen=True)
class Target:
    """A function of bytes, valid inputs to begin with (or a function that makes them), and parts of inputs."""

    name: str
    run: Callable[[bytes], str]
    seeds: tuple[bytes, ...] | Callable[[], tuple[bytes, ...]]
    parts: tuple[bytes, ...] = ()

    def inputs(self) -> tuple[bytes, ...]:
        """Return the valid inputs."""
        return self.seeds() if callable(self.seeds) else self.seeds

    def check(self, data: bytes) -> str:
        """Run on an input; return the kind of the outcome. Raises what is not an error of graphwright."""
        try:
            return self.run(data)
        except GraphwrightError as error:
            message = str(error)
            assert message and KEY not in message
            return f"{type(error).__name__}: {kind(message)}"


def kind(text: str) -> str:
    """Return a text without what names the input."""
    return re.sub(r"\d+|'[^']*'|\"[^\"]*\"|/\S+", "", text)[:80]


@cache
def scratch() -> Path:
    """Return a folder of this process."""
    return Path(tempfile.mkdtemp(prefix="graphwright-fuzz-"))


def write(name: str, data: bytes) -> Path:
    """Write a file into the folder of this process."""
    path = scratch() / name
    path.write_bytes(data)
    return path
