"""Encoders, sparse ones and cross-encoders from Hugging Face, run by sentence-transformers: the extra `sbert`."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from graphwright.errors import ModelError, OptionError
from graphwright.models.base import spend
from graphwright.models.protocols import Floats, SparseRows

__all__ = [
    "SentenceTransformerCrossEncoder",
    "SentenceTransformerEncoder",
    "SentenceTransformerSparseEncoder",
    "loaded",
    "needed",
]

_CHUNK = 16  # tokens of a text whose weights over the vocabulary are pooled at a time


def needed(who: object, batch: int) -> None:
    """Raise OptionError where the extra is missing or the batch is of no text."""
    if batch < 1:
        raise OptionError(f"{who!r}: batch is {batch} texts; it must be at least 1.")
    if find_spec("sentence_transformers") is None:
        raise OptionError(f'{who!r} needs sentence-transformers. Install it: pip install "graphwright[sbert]"')


@dataclass(frozen=True)
class _Named:
    """What all three are: a model by its name or folder, where it runs, and how many texts it is given at a time."""

    name: str
    device: str | None = None
    batch: int = 32

    def __post_init__(self) -> None:
        needed(self, self.batch)

    @property
    def id(self) -> str:
        """Name of the model, and of an encoder's vector space."""
        return f"sentence-transformers:{self.name}"


@dataclass(frozen=True)
class SentenceTransformerEncoder(_Named):
    """Any encoder that sentence-transformers can load, by its name on Hugging Face or its folder.

    `device`: "cpu", "cuda" and so on; by default the best there is. `batch`: texts that are encoded at a time. The
    model is loaded at the first use. Raises OptionError without the extra and for a sparse model, ModelError where the
    model does not load.
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
class SentenceTransformerSparseEncoder(_Named):
    """Any sparse encoder that sentence-transformers can load, by its name on Hugging Face or its folder.

    SPLADE (Formal et al., 2021) gives token j of the vocabulary the weight max over i of ln(1 + ReLU(w_ij)), where w_ij
    is what its masked language model expects of j at the i-th token of the text (a sum over i in the first version). A
    masked language model without a pooling of its own is taken for SPLADE. Models that read questions differently
    (SPLADE-doc and others without inference for them) or put a prompt before them do so in `encode_queries`.

    `device` and `batch` as in SentenceTransformerEncoder; a batch takes batch · tokens · vocabulary numbers of memory
    while it is encoded, so long texts want a smaller one. Rows are kept sparse. The model is loaded at the first use.
    Raises OptionError without the extra and for a model that is not sparse, ModelError where the model does not load.
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
        begun = time.perf_counter()
        # Texts of about one length side by side, so that little is padded; rows by the place of their text.
        order = sorted(range(len(texts)), key=lambda at: -len(texts[at]))
        rows: dict[int, tuple[Any, Floats]] = {}
        for start in range(0, len(order), self.batch):
            places = order[start : start + self.batch]
            dense = self._dense([texts[at] for at in places], method)
            for at, row in zip(places, dense, strict=True):
                columns = np.flatnonzero(row)
                rows[at] = columns.astype(np.int32), row[columns]
        spend(texts=len(texts), seconds=time.perf_counter() - begun)
        return SparseRows.of((rows[at] for at in range(len(texts))), dense.shape[1])

    def _dense(self, texts: list[str], method: str) -> Floats:
        # Dense for a batch: sentence-transformers would cut a sparse tensor of it into rows, one slow slice for each.
        model = _load_sparse_encoder(self.name, self.device)
        encode = model.encode_query if method == "encode_queries" else model.encode_document
        found = encode(texts, batch_size=self.batch, show_progress_bar=False, convert_to_sparse_tensor=False)
        weights: Floats = found.float().cpu().numpy()
        return weights


@dataclass(frozen=True)
class SentenceTransformerCrossEncoder(_Named):
    """Any cross-encoder with one score that sentence-transformers can load, by its name or its folder.

    A latent is what the last two linear layers of the classification head read, after pooling, as FastInsight has it
    (section 4.1.1); `head` is those two, what lies between them, and the model's activation, so both together give what
    the model scores. This fits BERT, RoBERTa (and XLM-RoBERTa, of which BGE rerankers are), DistilBERT, ELECTRA,
    DeBERTa, MPNet and their like. Where more than an activation lies between the two (ModernBERT), a latent is what
    the last one reads; where a model ends otherwise (decoders that score each position, for one), its score before
    the activation is the latent, of one column. The head is taken in float32 where the model is of less precision, so
    that its best candidates do not tie; a sigmoid there tells scores before it apart up to about 16.
    """

    def latents(self, query: str, texts: Sequence[str]) -> Floats:
        """Return one latent per text: float32, shape (len(texts), h)."""
        if isinstance(texts, str):
            raise OptionError(f"latents takes a sequence of texts, not one: [{texts[:40]!r}].")
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
        # Steps of less precision are copied: in float16 a sigmoid is 1 from 8.5 on, in bfloat16 from 6.5.
        half = torch.finfo(self._model.dtype).bits < 32
        self._dtype = torch.float32 if half else self._model.dtype
        self._steps = [copy.deepcopy(step).float() for step in self._head] if half else self._head
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
        found = self._torch.from_numpy(np.ascontiguousarray(latents)).to(self._model.device, self._dtype)
        with self._torch.inference_mode(), self._lock:
            for step in self._steps:
                found = step(found)
            activation = getattr(self._whole, "activation_fn", None) or self._whole.default_activation_function
            made: Floats = activation(found)[:, 0].float().cpu().numpy()
        return made


@lru_cache(maxsize=4)
def _load_encoder(name: str, device: str | None) -> Any:
    from sentence_transformers import SentenceTransformer

    def load() -> Any:
        # Before loading: sentence-transformers would turn it into a dense one, of means over what no one trained.
        if sparse := _sparse_classes(name):
            raise OptionError(
                f"{name} is a sparse model ({', '.join(sparse)}), which gives no dense vectors. Use "
                f"SentenceTransformerSparseEncoder({name!r})."
            )
        return SentenceTransformer(name, device=device)

    return loaded(name, load)


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
        said = _sparse_classes(name)
        model = SparseEncoder(name, device=device)
        pools = [module for module in model.modules() if type(module).__name__ == "SpladePooling"]
        if not said and not pools:  # sentence-transformers added a layer of drawn weights to make it sparse
            raise OptionError(
                f"{name} is not a sparse model: it says of none of its modules that it is, and is no masked language "
                f"model. Use SentenceTransformerEncoder({name!r}), or name a model such as SPLADE in full."
            )
        for pool in pools:
            pool.chunk_size = _CHUNK  # or a second copy of all weights, by token and vocabulary, would be made
        return model

    return loaded(name, load)


def _sparse_classes(name: str) -> list[str]:
    """Return the sparse classes that a saved model says it is made of; none for one that says nothing of modules."""
    from sentence_transformers.util import load_file_path

    # A name alone is completed by sentence-transformers, with its own organisation for the class that loads it.
    if "/" not in name and not Path(name).exists():
        return []

    def read(file: str) -> Any:
        path = load_file_path(name, file, token=None, cache_folder=None, revision=None)
        return json.loads(Path(path).read_text("utf-8")) if path else None

    types = [str(module.get("type")) for module in read("modules.json") or []]
    classes = [said.rpartition(".")[2] for said in types if ".sparse_encoder." in said]
    # A model of two ways, one for questions and one for passages, names their modules elsewhere.
    whole = (read("config_sentence_transformers.json") or {}).get("model_type")
    return [whole] if whole == "SparseEncoder" and not classes else classes


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
