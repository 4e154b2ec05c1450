"""Encoders, sparse encoders and cross-encoders from Hugging Face, run by sentence-transformers."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Annotated, Any

import numpy as np

from graphwright.constraints import AtLeast, Checked
from graphwright.errors import ModelError, OptionError
from graphwright.models.protocols import Floats, SparseRows, refuse_text
from graphwright.models.tuned import check_kind, tuned_record


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
        """Name of the model, and of an encoder's vector space; with the checksum of weights that were fine-tuned."""
        record = tuned_record(self.name)
        return f"sentence-transformers:{self.name}" + ("" if record is None else f":{record['checksum'][:12]}")


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Turn any failure to load a model inside the block, but OptionError, into ModelError."""
    try:
        yield
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
        refuse_text(texts, "encode")
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
def _load_encoder(name: str, device: str | None) -> Any:
    return open_encoder(name, device)


def open_encoder(name: str, device: str | None = None) -> Any:
    """Return a SentenceTransformer. Raises OptionError for another kind of model, ModelError where it is not found."""
    from sentence_transformers import SentenceTransformer

    check_kind(name, "encoder")

    with loading(name):
        # Before loading: sentence-transformers would turn it into a dense model with untrained pooling.
        if sparse := _sparse_classes(name):
            raise OptionError(
                f"{name} is a sparse model ({', '.join(sparse)}), without dense vectors. Use "
                f"SentenceTransformerSparseEncoder({name!r})."
            )
        return SentenceTransformer(name, device=device)


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


@dataclass(frozen=True)
class SentenceTransformerCrossEncoder(HuggingFaceModel):
    """Any cross-encoder with one score that sentence-transformers can load, by its name or its folder.

    A latent is the input of the last two linear layers of the classification head, after pooling, as in FastInsight
    (section 4.1.1); `head` is these two, the activation between them, and that of the model, so that both together give
    the model's score. This fits BERT, RoBERTa (and XLM-RoBERTa, such as BGE rerankers), DistilBERT, ELECTRA, DeBERTa,
    MPNet and similar models. Where more than an activation lies between the two layers (ModernBERT), a latent is the
    input of the last one; where a model ends otherwise (decoders that score each position, for example), its score
    before the activation is the latent, of one column. The head runs in float32 where the model has less precision, so
    that its best candidates do not tie; a sigmoid there separates logits up to about 16. The arguments are those of
    HuggingFaceModel.
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
    check_kind(name, "cross-encoder")
    with loading(name):
        return _CrossEncoder(name, device)
