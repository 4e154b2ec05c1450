"""Sparse encoders from Hugging Face, such as SPLADE, run by sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from graphwright.errors import OptionError
from graphwright.models.protocols import Floats, refuse_text
from graphwright.models.sentence_transformers.loading import HuggingFaceModel, loading, sparse_classes
from graphwright.models.sparse import SparseRows

_CHUNK = 16  # tokens of a text whose weights over the vocabulary are pooled together


@dataclass(frozen=True)
class SentenceTransformerSparseEncoder(HuggingFaceModel):
    """Any sparse encoder that sentence-transformers can load, by its name on Hugging Face or its folder.

    SPLADE (Formal et al., 2021) gives token j of the vocabulary the weight max over i of ln(1 + ReLU(w_ij)), where w_ij
    is the logit of j by its masked language model at the i-th token of the text (a sum over i in the first version). A
    masked language model without a pooling of its own is taken for SPLADE. Models that encode questions differently
    (SPLADE-doc and others without inference for them) or prepend a prompt do so in `encode_queries`.

    A batch takes batch · tokens · vocabulary numbers of memory while it is encoded: long texts need a smaller batch.
    Raises OptionError for a model that is not sparse. The arguments are those of HuggingFaceModel.
    """

    @property
    def dimension(self) -> int:
        """Columns of a row: tokens of the vocabulary, for SPLADE."""
        return int(self._dense(["a"], "encode_passages").shape[1])

    def encode_queries(self, texts: Sequence[str]) -> SparseRows:
        """Return one row per question: float32, shape (len(texts), dimension)."""
        return self._rows(texts, "encode_queries")

    def encode_passages(self, texts: Sequence[str]) -> SparseRows:
        """Return one row per passage: float32, shape (len(texts), dimension)."""
        return self._rows(texts, "encode_passages")

    def _rows(self, texts: Sequence[str], method: str) -> SparseRows:
        refuse_text(texts, method)
        if not len(texts):
            return SparseRows.of([], self.dimension)
        # Texts of similar length in one batch, so that little is padded.
        order = sorted(range(len(texts)), key=lambda position: -len(texts[position]))
        rows: dict[int, tuple[Any, Floats]] = {}
        for start in range(0, len(order), self.batch):
            positions = order[start : start + self.batch]
            dense = self._dense([texts[position] for position in positions], method)
            for position, row in zip(positions, dense, strict=True):
                columns = np.flatnonzero(row)
                rows[position] = columns.astype(np.int32), row[columns]
        return SparseRows.of((rows[position] for position in range(len(texts))), dense.shape[1])

    def _dense(self, texts: list[str], method: str) -> Floats:
        # Dense: sentence-transformers would cut a sparse tensor into rows by one slow slice each.
        model = _load_sparse_encoder(self.name, self.device)
        encode = model.encode_query if method == "encode_queries" else model.encode_document
        tensor = encode(texts, batch_size=self.batch, show_progress_bar=False, convert_to_sparse_tensor=False)
        weights: Floats = tensor.float().cpu().numpy()
        return weights


@lru_cache(maxsize=4)
def _load_sparse_encoder(name: str, device: str | None) -> Any:
    try:
        from sentence_transformers import SparseEncoder
    except ImportError as exc:
        raise OptionError(
            f"SentenceTransformerSparseEncoder({name!r}) needs sentence-transformers 5 or later. Install it: pip "
            f'install "sentence-transformers>=5"'
        ) from exc
    with loading(name):
        classes = sparse_classes(name)
        model = SparseEncoder(name, device=device)
    pools = [module for module in model.modules() if type(module).__name__ == "SpladePooling"]
    if not classes and not pools:  # sentence-transformers added a random layer to make it sparse
        raise OptionError(
            f"{name} is not a sparse model: none of its modules is sparse, and it is not a masked language "
            f"model. Use SentenceTransformerEncoder({name!r}), or give the full name of a model such as SPLADE."
        )
    for pool in pools:
        pool.chunk_size = _CHUNK  # avoids a second copy of all weights, by token and vocabulary
    return model
