"""Extractive readers from Hugging Face, run by transformers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast
from graphwright.errors import OptionError
from graphwright.models.protocols import Floats, PassageText, Span
from graphwright.models.sentence_transformers.encoders import HuggingFaceModel, load_model

__all__ = ["TransformersReader"]


@dataclass(frozen=True)
class TransformersReader(HuggingFaceModel):
    """Any model for extractive question answering that transformers can load, by its name or its folder.

    A span's score is its two logits less those of no answer, at [CLS], as for models trained on SQuAD 2. `threshold`:
    a span is dropped where no answer scores this much more; `max_spans`: number of spans, no two overlapping;
    `max_tokens`: tokens of a span; `window`: tokens of question and passage that are read at a time, a longer passage
    in overlapping windows. Titles are read, but not quoted. Raises ModelError where the model does not load. The other
    arguments are those of HuggingFaceModel.
    """

    threshold: float = 0.0
    max_spans: Annotated[int, AtLeast(1)] = 1
    max_tokens: Annotated[int, AtLeast(1)] = 30
    window: Annotated[int, AtLeast(32)] = 384

    @property
    def id(self) -> str:
        """Name of the model."""
        return f"transformers:{self.name}"

    def read(self, question: str, passages: Sequence[PassageText]) -> list[Span]:
        """Return spans, best first; none where the passages do not answer."""
        if not len(passages):
            return []
        model = _load_reader(self.name, self.device)
        texts = [f"{passage.title}\n{passage.text}" if passage.title else passage.text for passage in passages]
        windows = model.windows(question, texts, self.window)
        spans: list[Span] = []
        for start, end in pairwise([*range(0, len(windows), self.batch), len(windows)]):
            part = windows[start:end]
            for window, begins, ends in zip(part, *model.logits(part), strict=True):
                offset = len(texts[window.passage]) - len(passages[window.passage].text)
                spans += self._spans(window, texts[window.passage], offset, begins, ends)
        return _disjoint(spans, self.max_spans)

    def _spans(self, window: _Window, text: str, offset: int, begins: Floats, ends: Floats) -> list[Span]:
        """Return the best spans of a window, given the logits of its tokens; the passage's text begins at `offset`."""
        in_text = window.inside & (window.spans[:, 0] >= offset) & (window.spans[:, 0] < window.spans[:, 1])
        tokens = np.flatnonzero(in_text)
        last = np.arange(len(tokens))[:, None] + np.arange(self.max_tokens)
        first = np.broadcast_to(np.arange(len(tokens))[:, None], last.shape)
        first, last = first[last < len(tokens)], last[last < len(tokens)]
        scores = begins[tokens[first]] + ends[tokens[last]] - begins[window.nothing] - ends[window.nothing]
        free = scores >= -self.threshold
        spans: list[Span] = []
        while free.any() and len(spans) < self.max_spans:
            best = int(np.where(free, scores, -np.inf).argmax())
            free &= (last < first[best]) | (first > last[best])
            start, end = int(window.spans[tokens[first[best]], 0]), int(window.spans[tokens[last[best]], 1])
            quote = text[start:end]  # some tokens include the blank before them
            start, end = end - len(quote.lstrip()) - offset, start + len(quote.rstrip()) - offset
            spans += [Span(window.passage, start, end, float(scores[best]))] if start < end else []
        return spans


def _disjoint(spans: list[Span], max_spans: int) -> list[Span]:
    """Return the best spans of which no two overlap, best first."""
    chosen: list[Span] = []
    for span in sorted(spans, key=lambda span: (-span.score, span.passage, span.start, span.end)):
        if len(chosen) < max_spans and not any(
            span.passage == other.passage and span.start < other.end and other.start < span.end for other in chosen
        ):
            chosen.append(span)
    return chosen


@dataclass(frozen=True)
class _Window:
    """Tokens read at a time: their characters, and whether they are in the passage; `nothing` is at [CLS]."""

    passage: int
    features: dict[str, list[int]]
    spans: NDArray[np.int64]
    inside: NDArray[np.bool_]
    nothing: int


class _Reader:
    """A loaded reader and its tokenizer."""

    def __init__(self, name: str, device: str | None) -> None:
        import torch
        from transformers import AutoModelForQuestionAnswering, AutoTokenizer

        model, info = AutoModelForQuestionAnswering.from_pretrained(name, output_loading_info=True)
        if info["missing_keys"]:
            missing = ", ".join(sorted(info["missing_keys"]))
            raise OptionError(f"{name} lacks {missing}; give a model that was trained for question answering.")
        self._tokenizer: Any = AutoTokenizer.from_pretrained(name)
        if not self._tokenizer.is_fast:
            raise OptionError(f"{name} has no fast tokenizer, which gives the characters of tokens; use another.")
        self._torch = torch
        self._model: Any = model.eval().to(device or ("cuda" if torch.cuda.is_available() else "cpu"))

    def windows(self, question: str, passages: list[str], length: int) -> list[_Window]:
        """Return question and passages in windows of `length` tokens; each overlaps the next by a quarter."""
        length = min(length, self._tokenizer.model_max_length)
        spans = self._tokenizer(question, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        if len(spans) > length // 2:
            question = question[: spans[length // 2][0]]
        encoded = self._tokenizer(
            [question] * len(passages), passages, truncation="only_second", max_length=length, stride=length // 4,
            return_overflowing_tokens=True, return_offsets_mapping=True,
        )  # fmt: skip
        windows = []
        for row, passage in enumerate(encoded["overflow_to_sample_mapping"]):
            features = {name: encoded[name][row] for name in self._tokenizer.model_input_names if name in encoded}
            inside = np.array([part == 1 for part in encoded.sequence_ids(row)])
            ids, first = encoded["input_ids"][row], self._tokenizer.cls_token_id
            nothing = ids.index(first) if first in ids else 0
            windows.append(_Window(passage, features, np.array(encoded["offset_mapping"][row]), inside, nothing))
        return windows

    def logits(self, windows: list[_Window]) -> tuple[list[Floats], list[Floats]]:
        """Return for each window the logits of an answer that begins, and that ends, with each of its tokens."""
        padded = self._tokenizer.pad([window.features for window in windows], return_tensors="pt")
        with self._torch.inference_mode():
            output = self._model(**padded.to(self._model.device))
        right = self._tokenizer.padding_side == "right"
        begins, ends = (
            [
                row[: len(window.spans)] if right else row[-len(window.spans) :]
                for row, window in zip(logits.float().cpu().numpy(), windows, strict=True)
            ]
            for logits in (output.start_logits, output.end_logits)
        )
        return begins, ends


@lru_cache(maxsize=4)
def _load_reader(name: str, device: str | None) -> _Reader:
    return load_model(name, lambda: _Reader(name, device))
