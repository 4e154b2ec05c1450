"""The embedded reader: spans of passages that answer a question, each with a probability."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Checked
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder, Reading, read_pairs
from graphwright.models.protocols import Floats, PassageText, Span, Usage

__all__ = ["MiniLMReader"]

_SPANS_PER_PASSAGE = 8
_RELEVANCE = 0.25  # weight of a passage's score, relative to the logits of its spans
_UNSPACED = "\u0e00"  # scripts from here on put no space between words, Thai the first
_SHARPNESS = 0.7  # factor of the logits before the softmax


class _Candidate(NamedTuple):
    logit: float
    passage: int
    begin: int
    end: int


@dataclass(frozen=True, repr=False)
class MiniLMReader(Checked):
    """Reader that needs no download, no key and no torch: finds short answers, such as names, dates and numbers.

    Spans of all passages compete: a score is the share of the probability of a span and of those with the same text
    elsewhere (Clark and Gardner, 2018). The passage's score by MiniLMCrossEncoder counts too. A span begins and ends
    with whole words. `max_spans`: number of spans returned; `max_tokens`: tokens of a span. Titles are read, but not
    quoted.

    >>> graz = PassageText("Graz", "Graz lies on the Mur. Its university was founded in 1585.")
    >>> passages = [graz, PassageText("Mur", "The Mur is 464 km long.")]
    >>> MiniLMReader(max_spans=1).read("When was the university of Graz founded?", passages)
    [Span(passage=0, start=52, end=56, score=..., text='')]
    """

    max_spans: Annotated[int, AtLeast(1)] = 5
    max_tokens: Annotated[int, AtLeast(1)] = 24

    def __repr__(self) -> str:
        arguments = (("max_spans", self.max_spans, 5), ("max_tokens", self.max_tokens, 24))
        return f"MiniLMReader({', '.join(f'{name}={value}' for name, value, default in arguments if value != default)})"

    def read(self, question: str, passages: Sequence[PassageText]) -> list[Span]:
        """Return spans with probabilities, best first, one for each distinct text; none where no passage has text."""
        return self.read_metered(question, passages, Usage())

    def read_metered(self, question: str, passages: Sequence[PassageText], usage: Usage) -> list[Span]:
        """Read as `read` does, and add the work to `usage`."""
        texts = [f"{passage.title}\n{passage.text}" if passage.title else passage.text for passage in passages]
        readings = sorted(read_pairs(question, texts, usage), key=lambda pair: pair[0])
        if not readings:
            return []
        scores = MiniLMCrossEncoder().head(np.stack([reading.latent for _, reading in readings]))
        candidates = [
            _Candidate(logit + _RELEVANCE * score, number, *_whole_words(passages[number].text, begin, end))
            for (number, reading), score in zip(readings, scores.tolist(), strict=True)
            for logit, begin, end in self._best(reading, len(texts[number]) - len(passages[number].text))
        ]
        return self._ranked(candidates, passages)

    def _best(self, reading: Reading, offset: int) -> list[tuple[float, int, int]]:
        """Return the logits of a passage's best spans, and their characters; its text begins at `offset`."""
        in_text = np.array([begin >= offset for begin, _ in reading.spans], bool)
        if not in_text.any():
            return []
        first = int(in_text.argmax())
        logits = _span_logits(reading.begin[first:], reading.end[first:], self.max_tokens)
        order = np.argsort(-logits, axis=None, kind="stable")[:_SPANS_PER_PASSAGE]
        pairs = [divmod(int(position), logits.shape[1]) for position in order]
        return [
            (float(logits[a, b]), reading.spans[first + a][0] - offset, reading.spans[first + b][1] - offset)
            for a, b in pairs
            if np.isfinite(logits[a, b])
        ]

    def _ranked(self, candidates: Sequence[_Candidate], passages: Sequence[PassageText]) -> list[Span]:
        """Return the best spans with their probabilities."""
        if not candidates:
            return []
        logits = _SHARPNESS * np.array([candidate.logit for candidate in candidates])
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        totals: dict[str, float] = {}
        best: dict[str, tuple[float, int, int, int]] = {}
        for share, (_, passage, begin, end) in zip(shares.tolist(), candidates, strict=True):
            answer = _normalised(passages[passage].text[begin:end])
            totals[answer] = totals.get(answer, 0.0) + share
            best[answer] = max(best.get(answer, (-1.0, 0, 0, 0)), (share, -passage, -begin, end))
        ranked = sorted(totals, key=lambda answer: (-totals[answer], -best[answer][1], -best[answer][2]))
        return [
            Span(-best[answer][1], -best[answer][2], best[answer][3], round(totals[answer], 4))
            for answer in ranked[: self.max_spans]
        ]


def _span_logits(begin: Floats, end: Floats, max_tokens: int) -> NDArray[np.float32]:
    """Return begin + end of every span of at most `max_tokens` tokens, -inf for the others: float32[n, n]."""
    logits: NDArray[np.float32] = begin[:, None] + end
    positions = np.arange(len(begin))
    length = positions - positions[:, None]
    logits[(length < 0) | (length >= max_tokens)] = -np.inf
    return logits


def _whole_words(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return a span extended to whole words, where words are separated by spaces."""
    while begin > 0 and text[begin - 1].isalnum() and text[begin].isalnum() and text[begin - 1] < _UNSPACED:
        begin -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum() and text[end] < _UNSPACED:
        end += 1
    return begin, end


def _normalised(text: str) -> str:
    """Return the letters and digits of a span, lower case, without a leading article."""
    words = re.findall(r"\w+", text.lower())
    return " ".join(words[1:] if words[:1] in (["the"], ["a"], ["an"]) and len(words) > 1 else words)
