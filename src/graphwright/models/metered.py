"""Calls of models whose work is counted, by the model where it can, else from outside."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from graphwright.models.protocols import Usage

__all__ = ["call_metered"]


def call_metered(usage: Usage, model: Any, method: str, *arguments: Any) -> Any:
    """Return `model.method(*arguments)` and add its work to `usage`; the last argument is a sequence of texts.

    A model with a method `<method>_metered` counts its own work. For another, calls, texts and seconds are counted.

    >>> class Lengths:
    ...     def encode(self, texts):
    ...         return [len(text) for text in texts]
    >>> usage = Usage()
    >>> call_metered(usage, Lengths(), "encode", ["fox", "hen"]), usage.texts
    ([3, 3], 2)
    """
    metered = getattr(model, f"{method}_metered", None)
    if metered is not None:
        return metered(*arguments, usage)
    texts: Sequence[Any] = arguments[-1]
    started = time.perf_counter()
    result = getattr(model, method)(*arguments)
    usage.add(Usage(calls=1, texts=len(texts), seconds=time.perf_counter() - started))
    return result
