"""Encoders and sparse encoders from Hugging Face, run by sentence-transformers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np

from graphwright.constraints import AtLeast, Checked
from graphwright.errors import ModelError, OptionError
from graphwright.models.protocols import Floats, SparseRows

__all__ = ["HuggingFaceModel", "SentenceTransformerEncoder", "SentenceTransformerSparseEncoder", "load_model"]

T = TypeVar("T")


@dataclass(frozen=True)
class HuggingFaceModel(Checked):
    """A model by its name on Hugging Face or its folder, the device it runs on, and the texts in one batch.

    `device`: "cpu", "cuda" and so on; by default the best there is. Raises OptionError without the extra `sbert`.
    """

    name: str
    device: str | None = None
    batch: Annotated[int, AtLeast(1)] = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        if find_spec("sentence_transformers") is None:
            raise OptionError(f'{self!r} needs sentence-transformers. Install it: pip install "graphwright[sbert]"')

    @property
    def id(self) -> str:
        """Name of the model, and of an encoder's vector space."""
        return f"sentence-transformers:{self.name}"


def load_model(name: str, load: Callable[[], T]) -> T:
    """Return the model that `load` returns. Raises ModelError where it fails with anything but OptionError."""
    try:
        return load()
    except OptionError:
        raise
    except Exception as error:  # of many libraries, for a wrong name, no network, or no space
        raise ModelError(
            f"{name} could not be loaded: {error}. Give the name of a model on Hugging Face that can be reached, or "
            f"the folder of a saved one."
        ) from error


_CHUNK = 16  # tokens of a text whose weights over the vocabulary are pooled together


@dataclass(frozen=True)
class SentenceTransformerEncoder(HuggingFaceModel):
    """Any encoder that sentence-transformers can load, by its name on Hugging Face or its folder.

    The model is loaded at the first use. Raises OptionError for a sparse model, ModelError where the model does not
    load. The arguments are those of HuggingFaceModel.
    """

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._vectors([""]).shape[1])

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return one row per text: float32, shape (len(texts), dimension)."""
        if isinstance(texts, str):
            raise OptionError(f"encode takes a sequence of texts, not one: [{texts[:40]!r}].")
        if not len(texts):
            return np.empty((0, self.dimension), np.float32)
        return self._vectors(list(texts))

    def _vectors(self, texts: list[str]) -> Floats:
        model = _load_encoder(self.name, self.device)
        rows = model.encode(texts, batch_size=self.batch, show_progress_bar=False, convert_to_numpy=True)
        vectors: Floats = rows.astype(np.float32, copy=False)
        return vectors


@dataclass(frozen=True)
class SentenceTransformerSparseEncoder(HuggingFaceModel):
    """Any sparse encoder that sentence-transformers can load, by its name on Hugging Face or its folder.

    SPLADE (Formal et al., 2021) gives token j of the vocabulary the weight max over i of ln(1 + ReLU(w_ij)), where w_ij
    is the logit of j by its masked language model at the i-th token of the text (a sum over i in the first version). A
    masked language model without a pooling of its own is taken for SPLADE. Models that encode questions differently
    (SPLADE-doc and others without inference for them) or prepend a prompt do so in `encode_queries`.

    A batch takes batch · tokens · vocabulary numbers of memory while it is encoded, so that long texts need a smaller
    one. The model is loaded at the first use. Raises OptionError for a model that is not sparse, ModelError where the
    model does not load. The arguments are those of HuggingFaceModel.
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
        if isinstance(texts, str):
            raise OptionError(f"{method} takes a sequence of texts, not one: [{texts[:40]!r}].")
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
def _load_encoder(name: str, device: str | None) -> Any:
    from sentence_transformers import SentenceTransformer

    def load() -> Any:
        # Before loading: sentence-transformers would turn it into a dense model with untrained pooling.
        if sparse := _sparse_classes(name):
            raise OptionError(
                f"{name} is a sparse model ({', '.join(sparse)}), without dense vectors. Use "
                f"SentenceTransformerSparseEncoder({name!r})."
            )
        return SentenceTransformer(name, device=device)

    return load_model(name, load)


@lru_cache(maxsize=4)
def _load_sparse_encoder(name: str, device: str | None) -> Any:
    try:
        from sentence_transformers import SparseEncoder
    except ImportError as exc:
        raise OptionError(
            f"SentenceTransformerSparseEncoder({name!r}) needs sentence-transformers 5 or later. Install it: pip "
            f'install "sentence-transformers>=5"'
        ) from exc

    def load() -> Any:
        classes = _sparse_classes(name)
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

    return load_model(name, load)


def _sparse_classes(name: str) -> list[str]:
    """Return the sparse classes in the configuration of a saved model; none where it lists no modules."""
    from sentence_transformers.util import load_file_path

    # A name alone is completed by sentence-transformers, with its own organisation for the class that loads it.
    if "/" not in name and not Path(name).exists():
        return []

    def read(file: str) -> Any:
        path = load_file_path(name, file, token=None, cache_folder=None, revision=None)
        return json.loads(Path(path).read_text("utf-8")) if path else None

    types = [str(module.get("type")) for module in read("modules.json") or []]
    classes = [name.rpartition(".")[2] for name in types if ".sparse_encoder." in name]
    # A model with two encoders, for questions and for passages, lists their modules elsewhere.
    whole = (read("config_sentence_transformers.json") or {}).get("model_type")
    return [whole] if whole == "SparseEncoder" and not classes else classes
