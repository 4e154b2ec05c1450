"""Rows of numbers as plain lists, for references of the networks."""

from __future__ import annotations

import numpy as np


def times(row: list[float], table: np.ndarray) -> list[float]:
    """Return the product of a row and a matrix."""
    return [sum(a * float(b) for a, b in zip(row, column, strict=True)) for column in table.T]


def plus(*rows: list[float]) -> list[float]:
    """Return the sum of rows."""
    return [sum(parts) for parts in zip(*rows, strict=True)]


def above(row: list[float]) -> list[float]:
    """Return the row with 0 in place of negative numbers."""
    return [max(0.0, x) for x in row]
