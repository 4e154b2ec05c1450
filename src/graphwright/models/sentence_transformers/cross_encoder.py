"""Cross-encoders from Hugging Face, run by sentence-transformers and cut in two halves."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from graphwright.errors import OptionError
from graphwright.models.protocols import Floats, refuse_text
from graphwright.models.sentence_transformers.loading import HuggingFaceModel, loading


@dataclass(frozen=True)
class SentenceTransformerCrossEncoder(HuggingFaceModel):
    """Any cross-encoder with one score that sentence-transformers can load, by its name or its folder.

    A latent is the input of the last two linear layers of the classification head, after pooling, as in FastInsight
    (section 4.1.1), which BERT, RoBERTa, DistilBERT, ELECTRA, DeBERTa, MPNet and the like have. `head` applies these
    layers, the activation between them, and that of the model. Where more than an activation lies between the two
    (ModernBERT), a latent is the input of the last layer; where a model ends otherwise, the score before the
    activation, one column. The head runs in float32 where the model has less precision, so that its best candidates do
    not tie. The arguments are those of HuggingFaceModel.
    """

    def latents(self, query: str, texts: Sequence[str]) -> Floats:
        """Return one latent per text: float32, shape (len(texts), h)."""
        refuse_text(texts, "latents")
        model = _load_cross_encoder(self.name, self.device)
        blocks = [np.empty((0, model.width), np.float32)]
        for start in range(0, len(texts), self.batch):
            blocks.append(model.latents([(query, text) for text in texts[start : start + self.batch]]))
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
            raise OptionError(f"{name} returns {labels} scores per text; a cross-encoder for ranking returns one.")
        self._input: Any = None  # of the head
        self._lock = Lock()
        self._head = self._cut()
        # Layers of less precision are copied: in float16 a sigmoid is 1 from 8.5 on, in bfloat16 from 6.5.
        half = torch.finfo(self._model.dtype).bits < 32
        self._dtype = torch.float32 if half else self._model.dtype
        self._layers = [copy.deepcopy(layer).float() for layer in self._head] if half else self._head
        if self._head:
            self._head[0].register_forward_pre_hook(self._keep)
        self.width = self.latents([("a", "b")]).shape[1]

    def _cut(self) -> list[Any]:
        """Return the two, one or no layers from latents to scores, identified by the activations of two pairs."""
        seen: list[tuple[Any, Any, Any]] = []
        hooks = [
            layer.register_forward_hook(lambda layer, inputs, output: seen.append((layer, inputs[0], output)))
            for layer in self._model.modules()
            if isinstance(layer, self._torch.nn.Linear)
        ]
        try:
            scores = self._forward([("a", "b"), ("some more words", "b")])
        finally:
            for hook in hooks:
                hook.remove()
        pooled = [(layer, into, out) for layer, into, out in seen if out.ndim == 2 and len(out) == 2]
        if not pooled or pooled[-1][2].shape != scores.shape or not self._torch.allclose(pooled[-1][2], scores):
            return []
        last, into, _ = pooled[-1]
        for before, _, out in pooled[-2:-1]:
            between = self._between(out, into)
            if between is not None:
                return [before, between, last]
        return [last]

    def _between(self, output: Any, following: Any) -> Any:
        """Return the activation between the output of one layer and the input of the next, None if there is none."""
        from torch.nn import GELU, Identity, ReLU, SiLU, Tanh

        if output.shape != following.shape:
            return None
        known = (Tanh(), ReLU(), GELU(), GELU("tanh"), SiLU(), Identity())
        nearest = min(known, key=lambda activation: float((activation(output) - following).abs().max()))
        return nearest if self._torch.allclose(nearest(output), following, atol=1e-5) else None

    def _keep(self, layer: Any, arguments: Any) -> None:
        self._input = arguments[0]

    def _forward(self, pairs: list[tuple[str, str]]) -> Any:
        features = self._whole.tokenizer(
            pairs, padding=True, truncation=True, max_length=self._whole.max_length, return_tensors="pt"
        ).to(self._model.device)
        with self._torch.inference_mode():
            return self._model(**features).logits

    def latents(self, pairs: list[tuple[str, str]]) -> Floats:
        with self._lock:
            scores = self._forward(pairs)
            latents: Floats = (self._input if self._head else scores).float().cpu().numpy()
        return latents

    def head(self, latents: Floats) -> Floats:
        values = self._torch.from_numpy(np.ascontiguousarray(latents)).to(self._model.device, self._dtype)
        with self._torch.inference_mode(), self._lock:
            for layer in self._layers:
                values = layer(values)
            activation = getattr(self._whole, "activation_fn", None) or self._whole.default_activation_function
            scores: Floats = activation(values)[:, 0].float().cpu().numpy()
        return scores


@lru_cache(maxsize=4)
def _load_cross_encoder(name: str, device: str | None) -> _CrossEncoder:
    with loading(name):
        return _CrossEncoder(name, device)
