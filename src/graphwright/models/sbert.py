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

__all__ = ["SentenceTransformerCrossEncoder", "SentenceTransformerEncoder", "loaded", "needed"]


def needed(who: object, batch: int) -> None:
    """Raise OptionError where the extra is missing or the batch is of no text."""
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
        needed(self, self.batch)

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

    A latent is what the last two linear layers of the classification head read, after pooling, as FastInsight has it
    (section 4.1.1); `head` is those two, what lies between them, and the model's activation, so both together give what
    the model scores. This fits BERT, RoBERTa (and XLM-RoBERTa, of which BGE rerankers are), DistilBERT, ELECTRA,
    DeBERTa, MPNet and their like. Where more than an activation lies between the two (ModernBERT), a latent is what
    the last one reads; where a model ends otherwise (decoders that score each position, for one), its score before
    the activation is the latent, of one column.
    """

    name: str
    device: str | None = None
    batch: int = 32

    def __post_init__(self) -> None:
        needed(self, self.batch)

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
    """A loaded cross-encoder, cut in two where its head begins."""

    def __init__(self, name: str, device: str | None) -> None:
        import torch
        from sentence_transformers import CrossEncoder

        self._torch = torch
        self._whole: Any = CrossEncoder(name, device=device)
        self._model: Any = self._whole.model.eval()
        labels = self._model.config.num_labels
        if labels != 1:
            raise OptionError(f"{name} gives {labels} scores for a text; a cross-encoder for ranking gives one.")
        self._read: Any = None  # what the head read
        self._lock = Lock()
        self._head = self._cut()
        if self._head:
            self._head[0].register_forward_pre_hook(self._keep)
        self.width = self.latents([("a", "b")]).shape[1]

    def _cut(self) -> list[Any]:
        """Return the steps from latents to scores, found by watching two pairs: two layers, one, or nothing."""
        seen: list[tuple[Any, Any, Any]] = []
        hooks = [
            layer.register_forward_hook(lambda layer, given, made: seen.append((layer, given[0], made)))
            for layer in self._model.modules()
            if isinstance(layer, self._torch.nn.Linear)
        ]
        try:
            scores = self._forward([("a", "b"), ("some more words", "b")])
        finally:
            for hook in hooks:
                hook.remove()
        pooled = [(layer, read, made) for layer, read, made in seen if made.ndim == 2 and len(made) == 2]
        if not pooled or pooled[-1][2].shape != scores.shape or not self._torch.allclose(pooled[-1][2], scores):
            return []
        last, read, _ = pooled[-1]
        for before, _, made in pooled[-2:-1]:
            between = self._between(made, read)
            if between is not None:
                return [before, between, last]
        return [last]

    def _between(self, made: Any, read: Any) -> Any:
        """Return the activation that turns what one layer made into what the next read, None if none does."""
        from torch.nn import GELU, Identity, ReLU, SiLU, Tanh

        if made.shape != read.shape:
            return None
        known = (Tanh(), ReLU(), GELU(), GELU("tanh"), SiLU(), Identity())
        nearest = min(known, key=lambda activation: float((activation(made) - read).abs().max()))
        return nearest if self._torch.allclose(nearest(made), read, atol=1e-5) else None

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
            latents: Floats = (self._read if self._head else scores).float().cpu().numpy()
        return latents

    def head(self, latents: Floats) -> Floats:
        found = self._torch.from_numpy(np.ascontiguousarray(latents)).to(self._model.device, self._model.dtype)
        with self._torch.inference_mode(), self._lock:
            for step in self._head:
                found = step(found)
            activation = getattr(self._whole, "activation_fn", None) or self._whole.default_activation_function
            made: Floats = activation(found)[:, 0].float().cpu().numpy()
        return made


@lru_cache(maxsize=4)
def _load_encoder(name: str, device: str | None) -> Any:
    from sentence_transformers import SentenceTransformer

    return loaded(name, lambda: SentenceTransformer(name, device=device))


@lru_cache(maxsize=4)
def _load_cross_encoder(name: str, device: str | None) -> _CrossEncoder:
    made: _CrossEncoder = loaded(name, lambda: _CrossEncoder(name, device))
    return made


def loaded(name: str, load: Callable[[], Any]) -> Any:
    """Return what `load` gives; raise ModelError where it fails."""
    try:
        return load()
    except OptionError:
        raise
    except Exception as exc:  # of many libraries, for a wrong name, no network, or no space
        raise ModelError(
            f"{name} could not be loaded: {exc}. Give the name of a model on Hugging Face that can be reached, or the "
            f"folder of one that was saved."
        ) from exc
