"""Encoders and cross-encoders from Hugging Face, run by sentence-transformers: the extra `sbert`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np

from graphwright.errors import ModelError, OptionError
from graphwright.models.base import Floats, spend

__all__ = ["SentenceTransformerCrossEncoder", "SentenceTransformerEncoder"]


def _needed(who: object, batch: int) -> None:
    if batch < 1:
        raise OptionError(f"{who!r}: batch is {batch} texts; it must be at least 1.")
    if find_spec("sentence_transformers") is None:
        raise OptionError(f'{who!r} needs sentence-transformers. Install it: pip install "graphwright[sbert]"')


@dataclass(frozen=True)
class SentenceTransformerEncoder:
    """Any encoder that sentence-transformers can load, by its name on Hugging Face or its folder.

    `device`: "cpu", "cuda" and so on; by default the best there is. `batch`: texts that are encoded at a time. The
    model is loaded at the first use. Raises OptionError without the extra, ModelError where the model does not load.
    """

    name: str
    device: str | None = None
    batch: int = 32

    def __post_init__(self) -> None:
        _needed(self, self.batch)

    @property
    def id(self) -> str:
        """Name of the vector space."""
        return f"sentence-transformers:{self.name}"

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
        begun = time.perf_counter()
        vectors = self._vectors(list(texts))
        spend(texts=len(texts), seconds=time.perf_counter() - begun)
        return vectors

    def _vectors(self, texts: list[str]) -> Floats:
        model = _load_encoder(self.name, self.device)
        found = model.encode(texts, batch_size=self.batch, show_progress_bar=False, convert_to_numpy=True)
        vectors: Floats = found.astype(np.float32, copy=False)
        return vectors


@dataclass(frozen=True)
class SentenceTransformerCrossEncoder:
    """Any cross-encoder with one score that sentence-transformers can load, by its name or its folder.

    A latent is what the last linear layer of the classification head reads, after pooling; `head` is that layer and
    the model's activation, so both together give what the model scores. This fits the heads of BERT, RoBERTa,
    DistilBERT, ELECTRA, DeBERTa, MPNet, ModernBERT and their like. Where a model ends otherwise (decoders that score
    each position, for one), its score before the activation is the latent, of one column.
    """

    name: str
    device: str | None = None
    batch: int = 32

    def __post_init__(self) -> None:
        _needed(self, self.batch)

    @property
    def id(self) -> str:
        """Name of the model."""
        return f"sentence-transformers:{self.name}"

    def latents(self, query: str, texts: Sequence[str]) -> Floats:
        """Return one latent per text: float32, shape (len(texts), h)."""
        model = _load_cross_encoder(self.name, self.device)
        begun = time.perf_counter()
        blocks = [np.empty((0, model.width), np.float32)]
        ends = [*range(0, len(texts), self.batch), len(texts)]
        for start, end in pairwise(ends):
            blocks.append(model.latents([(query, text) for text in texts[start:end]]))
        spend(texts=len(texts), seconds=time.perf_counter() - begun)
        return np.concatenate(blocks)

    def head(self, latents: Floats) -> Floats:
        """Return one score per latent: float32, shape (n,)."""
        return _load_cross_encoder(self.name, self.device).head(latents)


class _CrossEncoder:
    """A loaded cross-encoder, cut in two before its last linear layer if it has one there."""

    def __init__(self, name: str, device: str | None) -> None:
        import torch
        from sentence_transformers import CrossEncoder

        self._torch = torch
        self._whole: Any = CrossEncoder(name, device=device)
        self._model: Any = self._whole.model.eval()
        labels = self._model.config.num_labels
        if labels != 1:
            raise OptionError(f"{name} gives {labels} scores for a text; a cross-encoder for ranking gives one.")
        self._read: Any = None  # what the last layer read
        self._lock = Lock()
        self._last = self._find_last()
        self.width = self.latents([("a", "b")]).shape[1]

    def _find_last(self) -> Any:
        """Return the layer between latents and scores, None where the model does not end in one."""
        linear = self._torch.nn.Linear
        ends = [layer for layer in self._model.modules() if isinstance(layer, linear) and layer.out_features == 1]
        if not ends:
            return None
        last = ends[-1]
        last.register_forward_pre_hook(self._keep)
        scores = self._forward([("a", "b"), ("some more words", "b")])
        read = self._read
        if read is None or read.ndim != 2 or len(read) != 2:
            return None
        with self._torch.inference_mode():
            return last if self._torch.allclose(last(read), scores, atol=1e-5) else None

    def _keep(self, layer: Any, arguments: Any) -> None:
        self._read = arguments[0]

    def _forward(self, pairs: list[tuple[str, str]]) -> Any:
        features = self._whole.tokenizer(
            pairs, padding=True, truncation=True, max_length=self._whole.max_length, return_tensors="pt"
        ).to(self._model.device)
        with self._torch.inference_mode():
            return self._model(**features).logits

    def latents(self, pairs: list[tuple[str, str]]) -> Floats:
        with self._lock:
            scores = self._forward(pairs)
            latents: Floats = (scores if self._last is None else self._read).float().cpu().numpy()
        return latents

    def head(self, latents: Floats) -> Floats:
        found = self._torch.from_numpy(np.ascontiguousarray(latents)).to(self._model.device, self._model.dtype)
        with self._torch.inference_mode(), self._lock:
            scores = found if self._last is None else self._last(found)
            activation = getattr(self._whole, "activation_fn", None) or self._whole.default_activation_function
            made: Floats = activation(scores)[:, 0].float().cpu().numpy()
        return made


@lru_cache(maxsize=4)
def _load_encoder(name: str, device: str | None) -> Any:
    from sentence_transformers import SentenceTransformer

    return _loaded(name, lambda: SentenceTransformer(name, device=device))


@lru_cache(maxsize=4)
def _load_cross_encoder(name: str, device: str | None) -> _CrossEncoder:
    made: _CrossEncoder = _loaded(name, lambda: _CrossEncoder(name, device))
    return made


def _loaded(name: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except OptionError:
        raise
    except Exception as exc:  # of many libraries, for a wrong name, no network, or no space
        raise ModelError(
            f"{name} could not be loaded: {exc}. Give the name of a model on Hugging Face that can be reached, or the "
            f"folder of one that was saved."
        ) from exc
