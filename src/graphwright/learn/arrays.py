"""Operations on NumPy arrays and torch tensors alike, so that each network is written once for both."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphwright.errors import NeedsError

__all__ = ["exp", "import_torch", "initial_weight", "relu", "row_max", "sigmoid"]


def relu(x: Any) -> Any:
    """Return max(x, 0). The gradient of a tensor's own method costs a seventh of that of `clip`.

    >>> relu(np.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return x.relu() if hasattr(x, "relu") else np.maximum(x, 0)


def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x)).

    >>> sigmoid(np.array([0.0])).tolist()
    [0.5]
    """
    return x.sigmoid() if hasattr(x, "sigmoid") else 1 / (1 + np.exp(-np.clip(x, -80, 80)))


def exp(x: Any) -> Any:
    """Return e to the power of x.

    >>> exp(np.array([0.0])).tolist()
    [1.0]
    """
    return x.exp() if hasattr(x, "exp") else np.exp(x)


def row_max(x: Any) -> Any:
    """Return the maximum of each row, [rows, 1].

    >>> row_max(np.array([[1.0, 3.0]])).tolist()
    [[3.0]]
    """
    return x.amax(1, keepdim=True) if hasattr(x, "amax") else x.max(axis=1, keepdims=True)


def import_torch() -> Any:
    """Return torch. Raises NeedsError where it is not installed."""
    try:
        import torch
    except ImportError:
        raise NeedsError("Training needs torch: pip install 'graphwright[train]'. Asking does not need it.") from None
    return torch


def initial_weight(torch: Any, generator: Any, rows: int, columns: int, *, unit: bool = False) -> Any:
    """Return weights drawn as He et al. (2015) do; `unit`: for input vectors of length 1, whatever their size."""
    return torch.randn(rows, columns, generator=generator) * (2.0 if unit else 2.0 / max(rows, 1)) ** 0.5
