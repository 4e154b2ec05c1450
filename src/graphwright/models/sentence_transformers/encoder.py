"""Encoders from Hugging Face, run by sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from graphwright.errors import OptionError
from graphwright.models.protocols import Floats, refuse_text
from graphwright.models.sentence_transformers.loading import HuggingFaceModel, loading, sparse_classes


@dataclass(frozen=True)
class SentenceTransformerEncoder(HuggingFaceModel):
    """Any encoder that sentence-transformers can load, by its name on Hugging Face or its folder.

    Raises OptionError for a sparse model. The arguments are those of HuggingFaceModel.
    """

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._vectors([""]).shape[1])

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return one row per text: float32, shape (len(texts), dimension)."""
        refuse_text(texts, "encode")
        if not len(texts):
            return np.empty((0, self.dimension), np.float32)
        return self._vectors(list(texts))

    def _vectors(self, texts: list[str]) -> Floats:
        model = _load_encoder(self.name, self.device)
        rows = model.encode(texts, batch_size=self.batch, show_progress_bar=False, convert_to_numpy=True)
        vectors: Floats = rows.astype(np.float32, copy=False)
        return vectors


@lru_cache(maxsize=4)
def _load_encoder(name: str, device: str | None) -> Any:
    return open_encoder(name, device)


def open_encoder(name: str, device: str | None = None) -> Any:
    """Return a SentenceTransformer. Raises OptionError for another kind of model, ModelError where it is not found."""
    from sentence_transformers import SentenceTransformer

    with loading(name):
        # Before loading: sentence-transformers would turn it into a dense model with untrained pooling.
        if sparse := sparse_classes(name):
            raise OptionError(
                f"{name} is a sparse model ({', '.join(sparse)}), without dense vectors. Give the name "
                f"of a dense model."
            )
        return SentenceTransformer(name, device=device)
