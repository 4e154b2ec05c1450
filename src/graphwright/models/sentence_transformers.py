"""Encoders and cross-encoders from Hugging Face, run by sentence-transformers."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Annotated, Any

import numpy as np

from graphwright.constraints import AtLeast, Checked
from graphwright.errors import ModelError, OptionError, check_installed
from graphwright.models.protocols import Floats, refuse_text


@dataclass(frozen=True)
class HuggingFaceModel(Checked):
    """A model by its name on Hugging Face or its folder, the device it runs on, and the texts in one batch.

    `device`: "cpu", "cuda" and so on; by default the best available. Raises OptionError without the extra `sbert`.
    """

    name: str
    device: str | None = None
    batch: Annotated[int, AtLeast(1)] = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        check_installed("sentence_transformers", "sbert", self)

    @property
    def id(self) -> str:
        """Name of the model, and of an encoder's vector space."""
        return f"sentence-transformers:{self.name}"


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Convert all errors inside the block, which loads a model, to ModelError, except OptionError."""
    try:
        yield
    except OptionError:
        raise
    except Exception as error:  # of many libraries, for a wrong name, no network, or no space
        raise ModelError(
            f"{name} could not be loaded: {error}. Give the name of a model on Hugging Face that can be reached, or "
            f"the folder of a saved one."
        ) from error


def sparse_classes(name: str) -> list[str]:
    """Return the sparse classes in the configuration of a saved model; none where it lists no modules."""
    from sentence_transformers.util import load_file_path

    # sentence-transformers adds an organisation to a bare name, which depends on the class that loads the model.
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


_load_encoder = lru_cache(maxsize=4)(open_encoder)


@dataclass(frozen=True)
class SentenceTransformerCrossEncoder(HuggingFaceModel):
    """Any cross-encoder with one score that sentence-transformers can load, by its name or its folder.

    A latent is the input of the last two linear layers of the classification head, after pooling, as in FastInsight
    (section 4.1.1); `head` applies these layers, the activation between them, and that of the model. Where more than an
    activation lies between the two (ModernBERT), a latent is the input of the last layer; where a model ends otherwise,
    the score before the activation. The arguments are those of HuggingFaceModel.
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
