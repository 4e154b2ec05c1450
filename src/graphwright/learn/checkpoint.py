"""Checkpoint files: the weights of a trained retriever, its configuration and its origin."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from graphwright.errors import DataError
from graphwright.files import whole
from graphwright.models.protocols import Floats

__all__ = ["Checkpoint", "read_checkpoint"]

FORMAT = 1
_ABOUT = "about"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The weights of a retriever, by name.

    `level`: triple, entity or path. `about`: the encoder whose vectors it reads (`encoder`, `dimension`), its
    configuration, and the labels that it was trained on. `name`: that of its file.
    """

    level: str
    weights: Mapping[str, Floats]
    about: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""

    def save(self, path: Path | str) -> None:
        """Write the file atomically."""
        header = {**self.about, "retriever": FORMAT, "level": self.level, "sum": self.checksum}
        arrays: dict[str, Any] = {_ABOUT: np.frombuffer(json.dumps(header).encode(), np.uint8), **self.weights}
        with whole(path) as draft, draft.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    @cached_property
    def checksum(self) -> str:
        """Eight hexadecimal digits over level and weights."""
        digest = hashlib.blake2b(self.level.encode(), digest_size=4)
        for name in sorted(self.weights):
            digest.update(name.encode() + np.ascontiguousarray(self.weights[name]).tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Checkpoint) and self.checksum == other.checksum

    def __hash__(self) -> int:
        return hash(self.checksum)

    def __repr__(self) -> str:
        return f"Checkpoint({self.name or self.level!r}, {self.checksum})"


def read_checkpoint(path: Path | str) -> Checkpoint:
    """Read a file that `Checkpoint.save` wrote. Raises DataError if it is missing, damaged or of another format."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: no such file. Train a retriever with graphwright train.")
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            about = json.loads(file[_ABOUT].tobytes())
            weights = {name: file[name] for name in file.files if name != _ABOUT}
        if about["retriever"] != FORMAT:
            raise ValueError
        checkpoint = Checkpoint(str(about["level"]), weights, about, path.name)
        if about.pop("sum") != checkpoint.checksum:
            raise ValueError
    except Exception:  # a damaged archive fails in more ways than zipfile and numpy document
        raise DataError(
            f"{path} is not a trained retriever (format {FORMAT}). Train one with graphwright train."
        ) from None
    return checkpoint
