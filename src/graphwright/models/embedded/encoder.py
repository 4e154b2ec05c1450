"""Embedded sentence encoder: all-MiniLM-L6-v2, int8, run by onnxruntime."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import Between, Checked
from graphwright.errors import ModelError
from graphwright.models.protocols import Floats, Usage, refuse_text

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

REMEDY = "Install graphwright again, or build the weights with scripts/build_encoder.py and scripts/build_reading.py."
_ENCODER, _READING = "all-minilm-l6-v2", "minilm-reading"  # folders of weights
_DIMENSION = 384
_MAX_TOKENS = 512  # position embeddings of the model
_CLS, _SEP = 101, 102
_BLOCK = 8192  # texts that are tokenised and sorted by length together
_BATCH_TOKENS = 256  # of one batch: one long text, or dozens of names; more would leave the processor's cache
_CHARACTERS_PER_TOKEN = 64  # a text is cut here before it is tokenised; real text has about four

_T = TypeVar("_T")
_U = TypeVar("_U")


@dataclass(frozen=True, repr=False)
class MiniLM(Checked):
    """Sentence encoder of dimension 384 that needs no download, no key and no torch.

    A text has the same vector alone and in any batch, to 1e-3 in each number: the order of float additions may differ,
    and a sum on the border of two int8 steps may then round either way. Weights are loaded on the first use, once per
    process: objects are cheap, equal when their arguments are, and load again after unpickling. Threads may share one.

    `max_tokens`: longer texts are cut to this many tokens, the two special ones included.

    >>> vectors = MiniLM().encode(["a small cat", "a little kitten", "stock prices"])
    >>> vectors.shape, bool(vectors[0] @ vectors[1] > 0.5 > vectors[0] @ vectors[2])
    ((3, 384), True)
    """

    max_tokens: Annotated[int, Between(3, _MAX_TOKENS)] = 256

    def __repr__(self) -> str:
        return "MiniLM()" if self.max_tokens == 256 else f"MiniLM(max_tokens={self.max_tokens})"

    @property
    def id(self) -> str:
        """Name of the vector space: model, checksum of its weights, and the length that texts are cut to."""
        return f"all-minilm-l6-v2:{checksum(_ENCODER)[:12]}:{self.max_tokens}"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return _DIMENSION

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return unit vectors in the order of the texts: float32, shape (len(texts), 384).

        Raises ModelError where the weights cannot be loaded or a batch fails.
        """
        return self.encode_metered(texts, Usage())

    def encode_metered(self, texts: Sequence[str], usage: Usage) -> Floats:
        """Encode as `encode` does, and add the work to `usage`."""
        refuse_text(texts, "MiniLM.encode")
        vectors = np.zeros((len(texts), _DIMENSION), np.float32)
        started = time.perf_counter()
        for start in range(0, len(texts), _BLOCK):
            ids = [ids for ids, _ in token_ids(texts[start : start + _BLOCK], self.max_tokens)]
            for positions, (rows, *_) in encoded(ids):
                vectors[start + np.array(positions)] = rows
                now = time.perf_counter()
                tokens = sum(len(ids[position]) for position in positions)
                usage.add(Usage(calls=1, texts=len(positions), tokens=tokens, seconds=now - started))
                started = now
        return vectors

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, uncut and without the two special ones.

        >>> MiniLM().count_tokens(["", "graphs", "Graphs of knowledge."])
        [0, 1, 4]
        """
        counts: list[int] = []
        for start in range(0, len(texts), _BLOCK):
            counts += map(len, tokenise(texts[start : start + _BLOCK]))
        return counts


def token_ids(
    texts: Sequence[str], max_tokens: int, spans: bool = False
) -> list[tuple[list[int], list[tuple[int, int]]]]:
    """Return the ids of each text's tokens, at most `max_tokens` with the two special ones, and their characters.

    The characters, without those of the special tokens, are empty unless `spans`.
    """
    encodings = tokenise([text[: max_tokens * _CHARACTERS_PER_TOKEN] for text in texts], spans)
    return [
        ([_CLS, *each.ids[: max_tokens - 2], _SEP], each.offsets[: max_tokens - 2] if spans else [])
        for each in encodings
    ]


def tokenise(texts: Sequence[str], spans: bool = False) -> list[Encoding]:
    """Return the tokens without special ones; a lone surrogate, which has no UTF-8, counts as a question mark."""
    tokenizer = loaded(_load_tokenizer)
    call = tokenizer.encode_batch if spans else tokenizer.encode_batch_fast
    try:
        return call(list(texts), add_special_tokens=False)
    except (TypeError, UnicodeEncodeError):  # which of them depends on the version of tokenizers
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        return call(clean, add_special_tokens=False)


def encoded(ids: Sequence[list[int]]) -> Iterator[tuple[list[int], list[Floats]]]:
    """Yield the positions of texts, given as token ids, and their vectors and states, batch by batch.

    The texts of a batch have equal length, the longest first: nothing is padded.
    """
    session = loaded(_load_session)
    batches = []
    order = sorted(range(len(ids)), key=lambda position: -len(ids[position]))
    for length, group in groupby(order, key=lambda position: len(ids[position])):
        while batch := list(islice(group, max(1, _BATCH_TOKENS // length))):
            batches.append(batch)
    return side_by_side(lambda batch: run_graph(session, [ids[position] for position in batch]), batches)


def side_by_side(work: Callable[[_T], _U], items: Sequence[_T]) -> Iterator[tuple[_T, _U]]:
    """Run work on items in parallel, one thread per core, and yield each with its result, in their order.

    Batches run in parallel, each on one thread, so that no layer waits for the slowest of several threads. A single
    item is processed in the caller's thread.
    """
    if len(items) < 2:
        yield from ((item, work(item)) for item in items)
        return
    with ThreadPoolExecutor(_cores(), thread_name_prefix="minilm") as pool:
        yield from zip(items, pool.map(work, items), strict=True)


def run_graph(session: Any, ids: list[list[int]]) -> list[Floats]:
    """Return the outputs of an encoder graph for texts of equal length, given as token ids."""
    tokens = np.array(ids, np.int32)
    feed = {"input_ids": tokens, "position_ids": np.arange(tokens.shape[1], dtype=np.int32)}
    try:
        outputs: list[Floats] = session.run(None, feed)
    except Exception as exc:  # onnxruntime raises a class of its own for each status
        raise ModelError(f"MiniLM: a batch of {len(ids)} texts failed in onnxruntime: {exc}") from exc
    return outputs


def _cores() -> int:
    """Return how many processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_loading = threading.RLock()


def loaded(load: Callable[[], _T]) -> _T:
    """Return the result of a cached loader; threads that need it at the same time wait for one of them."""
    with _loading:
        return load()


@cache
def _load_session() -> Any:
    """Load the encoder with a second output, the states of tokens: one session serves all three models."""
    return open_graph(weights_file("model.onnx", _ENCODER), weights_file("states.onnx").read_bytes())


@cache
def _load_tokenizer() -> Tokenizer:
    from tokenizers import Tokenizer

    file = weights_file("tokenizer.json", _ENCODER)
    try:
        return Tokenizer.from_buffer(file.read_bytes())
    except Exception as exc:
        raise ModelError(f"MiniLM: {file} cannot be read: {exc}. {REMEDY}") from exc


def import_runtime() -> Any:
    """Return the package onnxruntime, imported so that it sends nothing: its wheels since 1.32 report to Microsoft.

    The variable ORT_DISABLE_TELEMETRY counts while it is imported; one that the user has set stays.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def open_graph(file: Path, output: bytes = b"", exact: bool | None = None) -> Any:
    """Return the onnxruntime session of a file of int8 products.

    `output`: an ONNX model of one more output: appended to another, it is merged with it, as protocol buffers are.
    `exact`: request the exact kernel, about half as fast; by default where the fast one saturates.
    """
    onnxruntime = import_runtime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.x64quantprecision", str(int(_saturates() if exact is None else exact)))
    model = file.read_bytes() + output if output else str(file)
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as exc:
        raise ModelError(f"MiniLM: onnxruntime cannot load {file}: {exc}. {REMEDY}") from exc


@cache
def _saturates() -> bool:
    # 64 products of the largest numbers: where the fast kernel adds in 16 bits the sum is too small.
    row = np.full((1, 64), 255, np.uint8)
    probe = open_graph(weights_file("probe.onnx", _ENCODER), exact=False)
    return bool(probe.run(None, {"row": row})[0].max() != 64 * 255 * 127)


@cache
def checksum(model: str = _READING) -> str:
    """Return the checksum of a folder's weights that the build stored: hashing 23 MB at each start would be slow."""
    file = weights_file("model.json", model)
    try:
        return str(json.loads(file.read_text("utf-8"))["sha256"])
    except (OSError, ValueError, KeyError) as exc:
        raise ModelError(f"MiniLM: {file} cannot be read: {exc!r}. {REMEDY}") from exc


def weights_file(name: str, model: str = _READING) -> Path:
    """Return a file of weights, by default of the cross-encoder and reader. Raises ModelError where it is missing."""
    file = Path(__file__).parents[1] / "weights" / model / name
    if not file.is_file():
        raise ModelError(f"MiniLM: the weights file {file} is missing. {REMEDY}")
    return file


_TOKENS_WITH_STATES = 256  # of a text, as the encoder cuts it
_MAX_REMEMBERED = 1 << 17  # tokens of texts whose states are kept: 100 MB


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text as the networks read it, with the two special tokens first and last.

    `ids: int32[n]`; `states: float[n, 384]`; `vector: float32[384]`, of length 1, of the whole text; `title`: number of
    tokens after the first that are its title; `spans`: the characters of the tokens, without the special ones.
    """

    ids: NDArray[np.int32]
    states: NDArray[np.floating]
    vector: Floats
    title: int
    spans: list[tuple[int, int]]

    def cut(self, max_tokens: int) -> Tokens:
        """Return the first `max_tokens` tokens, the last of them special."""
        if len(self.ids) <= max_tokens:
            return self
        positions = np.r_[: max_tokens - 1, len(self.ids) - 1]
        return replace(self, ids=self.ids[positions], states=self.states[positions], spans=self.spans[: max_tokens - 2])


def tokens_of(texts: Sequence[str]) -> list[Tokens]:
    """Return the tokens of texts with their states, cut at 256; the states of recent texts are reused."""
    return loaded(_load).of(texts)


class _States:
    """States of texts, computed or remembered."""

    def __init__(self) -> None:
        self.recent: OrderedDict[str, Tokens] = OrderedDict()
        self.size = 0  # tokens of recent texts
        self.lock = threading.Lock()

    def of(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of texts."""
        with self.lock:
            known = {text: self.recent[text] for text in texts if text in self.recent}
            for text in known:
                self.recent.move_to_end(text)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        computed = dict(zip(new, self._computed(new), strict=True))
        with self.lock:
            for text, tokens in computed.items():
                if text not in self.recent:
                    self.size += len(tokens.ids)
                self.recent[text] = tokens
            while self.size > _MAX_REMEMBERED:
                self.size -= len(self.recent.popitem(last=False)[1].ids)
        known |= computed
        return [known[text] for text in texts]

    def _computed(self, texts: list[str]) -> list[Tokens]:
        ids, spans = zip(*token_ids(texts, _TOKENS_WITH_STATES, spans=True), strict=True) if texts else ((), ())
        computed: dict[int, Tokens] = {}
        for positions, (vectors, states) in encoded(ids):
            for position, vector, rows in zip(positions, vectors, states, strict=True):
                line, _, rest = texts[position].partition("\n")
                title = sum(end <= len(line) for _, end in spans[position]) if rest.strip() else 0
                tokens = np.array(ids[position], np.int32)
                computed[position] = Tokens(tokens, rows.astype(np.float16), vector, title, spans[position])
        return [computed[position] for position in range(len(texts))]


@cache
def _load() -> _States:
    return _States()
