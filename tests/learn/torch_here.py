"""PyTorch for the tests of training, which are skipped where it is missing."""

from __future__ import annotations

from typing import Any

import pytest


def torch_here() -> Any:
    """Return torch with one thread, or skip the test."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    return torch
