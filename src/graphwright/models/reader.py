"""The embedded reader: spans of passages that answer a question, with how sure it is of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.models.protocols import Floats, Span
from graphwright.models.reading import MiniLMCrossEncoder, Reading, read_pairs

__all__ = ["MiniLMReader"]

_Found = tuple[float, int, int, int]  # logit, passage, begin, end

_BEST = 8  # spans of one passage that are weighed
_RELEVANCE = 0.25  # of a passage's score, beside the logits of a span in it
_UNSPACED = "\u0e00"  # scripts from here on put no space between words, Thai the first
_SHARPNESS = 0.7  # what all is multiplied by before it becomes a probability


@dataclass(frozen=True, repr=False)
class MiniLMReader:
    """Reader that needs no download, no key and no torch: finds short answers, such as names, dates and numbers.

    Spans of all passages compete: a score is the share of the probability that falls on a span and on those that say
    the same elsewhere (Clark and Gardner, 2018). The passage's score by MiniLMCrossEncoder counts too. A span begins
    and ends with whole words. `most`:
    spans that are given; `longest`: their tokens at most. The first line of a passage of several is its title: it is
    read, and nothing in it is given.

    >>> passages = ["Graz\\nGraz lies on the Mur. Its university was founded in 1585.", "Mur\\nThe Mur is 464 km long."]
    >>> MiniLMReader(most=1).read("When was the university of Graz founded?", passages)
    [Span(passage=0, start=57, end=61, score=..., text='')]
    """

    most: int = 5
    longest: int = 24

    def __post_init__(self) -> None:
        if self.most < 1 or self.longest < 1:
            raise OptionError(f"MiniLMReader(most={self.most!r}, longest={self.longest!r}): 1 or more of each.")

    def __repr__(self) -> str:
        given = ((name, getattr(self, name), default) for name, default in (("most", 5), ("longest", 24)))
        return f"MiniLMReader({', '.join(f'{name}={value}' for name, value, default in given if value != default)})"

    def read(self, question: str, passages: Sequence[str]) -> list[Span]:
        """Return spans with probabilities, best first, one for each thing said; none where no passage has text."""
        held: list[tuple[int, Reading]] = sorted(read_pairs(question, passages), key=lambda each: each[0])
        if not held:
            return []
        scores = MiniLMCrossEncoder().head(np.stack([reading.latent for _, reading in held]))
        found: list[_Found] = []
        for (at, reading), score in zip(held, scores.tolist(), strict=True):
            first = len(passages[at].partition("\n")[0]) if passages[at].partition("\n")[2].strip() else 0
            for logit, begin, end in self._best(reading, first):
                found.append((logit + _RELEVANCE * score, at, *_whole_words(passages[at], begin, end)))
        return self._weighed(found, passages)

    def _best(self, reading: Reading, first: int) -> list[tuple[float, int, int]]:
        """Return the logits of a passage's best spans behind its title, and their characters."""
        usable = np.array([begin >= first for begin, _ in reading.spans], bool)
        if not usable.any():
            return []
        offset = int(usable.argmax())
        both = _spans(reading.begin[offset:], reading.end[offset:], self.longest)
        order = np.argsort(-both, axis=None, kind="stable")[:_BEST]
        places = [divmod(int(at), both.shape[1]) for at in order]
        return [
            (float(both[a, b]), reading.spans[offset + a][0], reading.spans[offset + b][1])
            for a, b in places
            if np.isfinite(both[a, b])
        ]

    def _weighed(self, found: Sequence[_Found], passages: Sequence[str]) -> list[Span]:
        """Return the best spans with their probabilities."""
        if not found:
            return []
        logits = _SHARPNESS * np.array([logit for logit, *_ in found])
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        total: dict[str, float] = {}
        best: dict[str, tuple[float, int, int, int]] = {}
        for share, (_, at, begin, end) in zip(shares.tolist(), found, strict=True):
            said = _plain(passages[at][begin:end])
            total[said] = total.get(said, 0.0) + share
            best[said] = max(best.get(said, (-1.0, 0, 0, 0)), (share, -at, -begin, end))
        ranked = sorted(total, key=lambda said: (-total[said], -best[said][1], -best[said][2]))
        return [
            Span(-best[said][1], -best[said][2], best[said][3], round(total[said], 4)) for said in ranked[: self.most]
        ]


def _spans(begin: Floats, end: Floats, longest: int) -> NDArray[np.float32]:
    """Return begin + end of every span of at most `longest` tokens, -inf for what is none: float32[n, n]."""
    both = begin[:, None] + end
    places = np.arange(len(begin))
    length = places - places[:, None]
    both[(length < 0) | (length >= longest)] = -np.inf
    spans: NDArray[np.float32] = both
    return spans


def _whole_words(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return a span extended to whole words, where words are separated by spaces."""
    while begin > 0 and text[begin - 1].isalnum() and text[begin].isalnum() and text[begin - 1] < _UNSPACED:
        begin -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum() and text[end] < _UNSPACED:
        end += 1
    return begin, end


def _plain(text: str) -> str:
    """Return what is compared of a span: its letters and digits, lower case, without a leading article."""
    words = re.findall(r"\w+", text.lower())
    return " ".join(words[1:] if words[:1] in (["the"], ["a"], ["an"]) and len(words) > 1 else words)
