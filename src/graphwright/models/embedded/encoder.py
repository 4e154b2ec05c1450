"""Embedded sentence encoder, all-MiniLM-L6-v2, int8; and the onnxruntime sessions of all embedded models."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby, islice
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np

from graphwright.constraints import Between, Checked
from graphwright.errors import ModelError
from graphwright.models.embedded.wordpiece import Tokens, WordPiece
from graphwright.models.protocols import Floats, Usage, refuse_text

REMEDY = "Install graphwright again, or build the weights with scripts/build_encoder.py and scripts/build_reading.py."
WEIGHTS = Path(__file__).parents[1] / "weights"  # the folder of all weights
ENCODER, READING, QUERIES = "all-minilm-l6-v2", "minilm-reading", "minilm-query"
"""Folders of weights: of the encoder; of the cross-encoder and the states of tokens; of that for queries."""

_T = TypeVar("_T")
_U = TypeVar("_U")


def side_by_side(work: Callable[[_T], _U], items: Sequence[_T]) -> Iterator[tuple[_T, _U]]:
    """Run work on items in parallel, one thread per core, and yield each with its result, in their order.

    Each batch runs on one thread, so that no layer waits for the slowest of several; a single one in the caller's.
    """
    if len(items) < 2:
        yield from ((item, work(item)) for item in items)
        return
    with ThreadPoolExecutor(_cores(), thread_name_prefix="minilm") as pool:
        yield from zip(items, pool.map(work, items), strict=True)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_loading = threading.RLock()


def loaded(load: Callable[[], _T]) -> _T:
    """Return the result of a cached loader; only one thread loads at a time."""
    with _loading:
        return load()


def import_runtime() -> Any:
    """Import onnxruntime without telemetry, unless the user has set ORT_DISABLE_TELEMETRY otherwise."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def open_graph(file: Path, output: bytes = b"", exact: bool | None = None) -> Any:
    """Open an ONNX model of int8 products as an onnxruntime session.

    `output`: an ONNX model with one more output, whose bytes are appended: protocol buffers merge so. `exact`: request
    the exact kernel, about half as fast; by default where the fast one saturates.
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
    probe = open_graph(weights_file("probe.onnx", ENCODER), exact=False)
    return bool(probe.run(None, {"row": row})[0].max() != 64 * 255 * 127)


@cache
def checksum(model: str = READING) -> str:
    """Return the stored checksum of a folder's weights: hashing 23 MB at each start would be slow."""
    file = weights_file("model.json", model)
    try:
        return str(json.loads(file.read_text("utf-8"))["sha256"])
    except (OSError, ValueError, KeyError) as exc:
        raise ModelError(f"MiniLM: {file} cannot be read: {exc!r}. {REMEDY}") from exc


def weights_file(name: str, model: str = READING) -> Path:
    """Return a file of weights, by default of the cross-encoder and reader. Raises ModelError where it is missing."""
    file = WEIGHTS / model / name
    if not file.is_file():
        raise ModelError(f"MiniLM: the weights file {file} is missing. {REMEDY}")
    return file


def arrays_of(file: Path) -> dict[str, Floats]:
    """Return the arrays of a file of weights."""
    with np.load(file, allow_pickle=False) as stored:
        return {name: stored[name].astype(np.float32) for name in stored.files}


def run_session(session: Any, feed: Mapping[str, Any], task: str, outputs: list[str] | None = None) -> list[Floats]:
    """Return outputs of a session, by default all. Raises ModelError, which names the task."""
    try:
        result: list[Floats] = session.run(outputs, feed)
    except Exception as exc:  # onnxruntime raises a class of its own for each status
        raise ModelError(f"{task} failed in onnxruntime: {exc}") from exc
    return result


_DIMENSION = 384
_MAX_TOKENS = 512  # position embeddings of the model
_CLS, _SEP = 101, 102
_BLOCK = 8192  # texts that are tokenised, then sorted by length
_BATCH_TOKENS = 256  # of one batch: one long text, or dozens of names; more would leave the processor's cache
_CHARACTERS_PER_TOKEN = 64  # a text is cut here before it is tokenised; real text has about four


@dataclass(frozen=True, repr=False)
class MiniLM(Checked):
    """Sentence encoder of dimension 384 that needs no download, no key and no torch.

    A text has the same vector alone and in any batch, to 1e-3 in each number. Weights are loaded on the first use, once
    per process. Threads may share one. `max_tokens`: longer texts are cut to this many, two special ones included.

    >>> vectors = MiniLM().encode(["a small cat", "a little kitten", "stock prices"])
    >>> vectors.shape, bool(vectors[0] @ vectors[1] > 0.5 > vectors[0] @ vectors[2])
    ((3, 384), True)
    """

    max_tokens: Annotated[int, Between(3, _MAX_TOKENS)] = 256

    @property
    def id(self) -> str:
        """Name of the vector space: model, checksum of its weights, and the length that texts are cut to."""
        return f"all-minilm-l6-v2:{checksum(ENCODER)[:12]}:{self.max_tokens}"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return _DIMENSION

    def encode(self, texts: Sequence[str], usage: Usage | None = None) -> Floats:
        """Return unit vectors: float32, shape (len(texts), 384); add the work to `usage`. Raises ModelError."""
        refuse_text(texts, "MiniLM.encode")
        vectors = np.zeros((len(texts), _DIMENSION), np.float32)
        started = time.perf_counter()
        for start in range(0, len(texts), _BLOCK):
            ids = [ids for ids, _ in token_ids(texts[start : start + _BLOCK], self.max_tokens)]
            for positions, (rows, *_) in encoded(ids):
                vectors[start + np.array(positions)] = rows
                if usage is not None:
                    started = add_work(usage, [ids[position] for position in positions], started)
        return vectors

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, uncut and without the two special ones."""
        counts: list[int] = []
        for start in range(0, len(texts), _BLOCK):
            counts += (len(tokens.ids) for tokens in tokenise(texts[start : start + _BLOCK]))
        return counts


def add_work(usage: Usage, inputs: Sequence[Sized], started: float) -> float:
    """Add the work of one call, given the tokens of its texts and the time of its start; return the time."""
    now = time.perf_counter()
    usage.add(Usage(calls=1, texts=len(inputs), tokens=sum(map(len, inputs)), seconds=now - started))
    return now


def token_ids(
    texts: Sequence[str], max_tokens: int, spans: bool = False
) -> list[tuple[list[int], list[tuple[int, int]]]]:
    """Return the token ids of each text, at most `max_tokens` with two special ones, and the spans of the others."""
    encodings = tokenise([text[: max_tokens * _CHARACTERS_PER_TOKEN] for text in texts], spans)
    return [
        ([_CLS, *each.ids[: max_tokens - 2], _SEP], each.offsets[: max_tokens - 2] if spans else [])
        for each in encodings
    ]


def tokenise(texts: Sequence[str], spans: bool = False) -> list[Tokens]:
    """Return the tokens without special ones; a lone surrogate, which has no UTF-8, counts as a question mark."""
    tokenizer = loaded(_load_tokenizer)
    return [tokenizer.encode(text, spans) for text in texts]


@lru_cache(maxsize=1024)
def token_set(text: str) -> frozenset[int]:
    """Return the distinct tokens of a text; those of recent texts are kept, for a question asks for them repeatedly."""
    return frozenset(tokenise([text])[0].ids)


def vocabulary() -> list[str]:
    """Return the tokens of the embedded models, in any order; the later ones of a word begin with ##."""
    return list(loaded(_load_tokenizer).vocabulary)


def encoded(ids: Sequence[list[int]]) -> Iterator[tuple[list[int], list[Floats]]]:
    """Yield the positions of texts, given as token ids, and their vectors and states, by batches of one length."""
    session = loaded(_load_session)
    batches = []
    order = sorted(range(len(ids)), key=lambda position: -len(ids[position]))
    for length, group in groupby(order, key=lambda position: len(ids[position])):
        while batch := list(islice(group, max(1, _BATCH_TOKENS // length))):
            batches.append(batch)
    return side_by_side(lambda batch: run_graph(session, [ids[position] for position in batch]), batches)


def run_graph(session: Any, ids: list[list[int]]) -> list[Floats]:
    """Return the outputs of an encoder graph for texts of equal length, given as token ids."""
    tokens = np.array(ids, np.int32)
    feed = {"input_ids": tokens, "position_ids": np.arange(tokens.shape[1], dtype=np.int32)}
    return run_session(session, feed, f"MiniLM: a batch of {len(ids)} texts")


@cache
def _load_session() -> Any:
    """Load the encoder with a second output, the states of tokens: one session serves all three models."""
    return open_graph(weights_file("model.onnx", ENCODER), weights_file("states.onnx").read_bytes())


@cache
def _load_tokenizer() -> WordPiece:
    file = weights_file("tokenizer.json", ENCODER)
    try:
        return WordPiece(json.loads(file.read_bytes())["model"]["vocab"])
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise ModelError(f"MiniLM: {file} cannot be read: {exc!r}. {REMEDY}") from exc
