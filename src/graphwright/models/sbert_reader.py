"""Readers from Hugging Face, which quote the words that answer a question, run by transformers: the extra `sbert`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.models.base import spend
from graphwright.models.protocols import Floats, Span
from graphwright.models.sbert import loaded, needed

__all__ = ["TransformersReader"]


@dataclass(frozen=True)
class TransformersReader:
    """Any model for extractive question answering that transformers can load, by its name or its folder.

    A span's score is its two logits less those of no answer, at [CLS], as models trained on SQuAD 2 have it.
    `threshold`: how far no answer must be ahead of a span for the span to be dropped; `most`: spans at most, no two
    overlapping; `longest`: tokens in a span at most; `length`: tokens of question and passage that are read at a time,
    a longer passage in windows that overlap. The first line of a passage of several is its title, perhaps empty: it is
    read, but not quoted. Raises OptionError without the extra, ModelError where the model does not load.
    """

    name: str
    device: str | None = None
    batch: int = 32
    threshold: float = 0.0
    most: int = 1
    longest: int = 30
    length: int = 384

    def __post_init__(self) -> None:
        for option, value, least in (("most", self.most, 1), ("longest", self.longest, 1), ("length", self.length, 32)):
            if value < least:
                raise OptionError(f"{self!r}: {option} is {value}; it must be at least {least}.")
        needed(self, self.batch)

    @property
    def id(self) -> str:
        """Name of the model."""
        return f"transformers:{self.name}"

    def read(self, question: str, passages: Sequence[str]) -> list[Span]:
        """Return spans, best first; none where the passages do not answer."""
        if isinstance(passages, str):
            raise OptionError(f"read takes a sequence of passages, not one: [{passages[:40]!r}].")
        if not len(passages):
            return []
        model = _load_reader(self.name, self.device)
        begun = time.perf_counter()
        windows = model.windows(question, list(passages), self.length)
        spans: list[Span] = []
        for start, end in pairwise([*range(0, len(windows), self.batch), len(windows)]):
            part = windows[start:end]
            for window, begins, ends in zip(part, *model.logits(part), strict=True):
                spans += self._spans(window, passages[window.passage], begins, ends)
        spend(texts=len(passages), seconds=time.perf_counter() - begun)
        return _apart(spans, self.most)

    def _spans(self, window: _Window, text: str, begins: Floats, ends: Floats) -> list[Span]:
        """Return the best spans of a window, given how well an answer begins and ends at each token."""
        title, newline, rest = text.partition("\n")
        told = window.places[:, 0] >= (len(title + newline) if rest.strip() else 0)
        tokens = np.flatnonzero(window.inside & told & (window.places[:, 0] < window.places[:, 1]))
        last = np.arange(len(tokens))[:, None] + np.arange(self.longest)
        first = np.broadcast_to(np.arange(len(tokens))[:, None], last.shape)
        first, last = first[last < len(tokens)], last[last < len(tokens)]
        scores = begins[tokens[first]] + ends[tokens[last]] - begins[window.nothing] - ends[window.nothing]
        free = scores >= -self.threshold
        found: list[Span] = []
        while free.any() and len(found) < self.most:
            best = int(np.where(free, scores, -np.inf).argmax())
            free &= (last < first[best]) | (first > last[best])
            start, end = int(window.places[tokens[first[best]], 0]), int(window.places[tokens[last[best]], 1])
            quoted = text[start:end]  # some tokens have the blank before them
            start, end = end - len(quoted.lstrip()), start + len(quoted.rstrip())
            found += [Span(window.passage, start, end, float(scores[best]))] if start < end else []
        return found


def _apart(spans: list[Span], most: int) -> list[Span]:
    """Return the best spans of which no two overlap, best first."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (-span.score, span.passage, span.start, span.end)):
        if len(kept) < most and not any(
            span.passage == other.passage and span.start < other.end and other.start < span.end for other in kept
        ):
            kept.append(span)
    return kept


@dataclass(frozen=True)
class _Window:
    """Tokens that are read at a time: where each stands in the passage, and whether it does; at `nothing` is [CLS]."""

    passage: int
    features: dict[str, list[int]]
    places: NDArray[np.int64]
    inside: NDArray[np.bool_]
    nothing: int


class _Reader:
    """A loaded reader and its tokenizer."""

    def __init__(self, name: str, device: str | None) -> None:
        import torch
        from transformers import AutoModelForQuestionAnswering, AutoTokenizer

        model, found = AutoModelForQuestionAnswering.from_pretrained(name, output_loading_info=True)
        if found["missing_keys"]:
            lacking = ", ".join(sorted(found["missing_keys"]))
            raise OptionError(f"{name} lacks {lacking}; give a model that was trained for question answering.")
        self._tokenizer: Any = AutoTokenizer.from_pretrained(name)
        if not self._tokenizer.is_fast:
            raise OptionError(f"{name} has no fast tokenizer, which tells where a token stands; give another model.")
        self._torch = torch
        self._model: Any = model.eval().to(device or ("cuda" if torch.cuda.is_available() else "cpu"))

    def windows(self, question: str, passages: list[str], length: int) -> list[_Window]:
        """Return question and passages in windows of `length` tokens, of which each shares a quarter with the next."""
        length = min(length, self._tokenizer.model_max_length)
        asked = self._tokenizer(question, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        if len(asked) > length // 2:
            question = question[: asked[length // 2][0]]
        made = self._tokenizer(
            [question] * len(passages), passages, truncation="only_second", max_length=length, stride=length // 4,
            return_overflowing_tokens=True, return_offsets_mapping=True,
        )  # fmt: skip
        windows = []
        for at, passage in enumerate(made["overflow_to_sample_mapping"]):
            features = {name: made[name][at] for name in self._tokenizer.model_input_names if name in made}
            inside = np.array([part == 1 for part in made.sequence_ids(at)])
            ids, first = made["input_ids"][at], self._tokenizer.cls_token_id
            nothing = ids.index(first) if first in ids else 0
            windows.append(_Window(passage, features, np.array(made["offset_mapping"][at]), inside, nothing))
        return windows

    def logits(self, windows: list[_Window]) -> tuple[list[Floats], list[Floats]]:
        """Return for each window how well an answer begins, and how well it ends, at each of its tokens."""
        padded = self._tokenizer.pad([window.features for window in windows], return_tensors="pt")
        with self._torch.inference_mode():
            found = self._model(**padded.to(self._model.device))
        right = self._tokenizer.padding_side == "right"
        begins, ends = (
            [
                row[: len(window.places)] if right else row[-len(window.places) :]
                for row, window in zip(logits.float().cpu().numpy(), windows, strict=True)
            ]
            for logits in (found.start_logits, found.end_logits)
        )
        return begins, ends


@lru_cache(maxsize=4)
def _load_reader(name: str, device: str | None) -> _Reader:
    made: _Reader = loaded(name, lambda: _Reader(name, device))
    return made
