"""A problem of an index folder, as `verify` reports it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """A problem of an index folder and its remedy; `repairable` if only the snapshot has to be rebuilt."""

    problem: str
    remedy: str
    repairable: bool = False

    def __str__(self) -> str:
        return f"{self.problem} {self.remedy}"
