"""The offline reader: the sentences of the passages that best support an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.models.protocols import Encoder, Span
from graphwright.operators.operator import source_of
from graphwright.text.sentences import sentence_spans
from graphwright.text.words import words

__all__ = ["SentenceReader", "asks", "sentences_of", "title_of"]

_COUNTED = re.compile(
    r"\b(when|how (many|much|old|long|far|tall|large)|(what|which|whose) (year|date|age|number|percentage))\b",
    re.I,
)
_ENDED = re.compile("[.!?…。！？।؟;:]\\W*$")
_ASKED = re.compile(r"(?<!\()[?？؟][^\w.!。]{0,9}$")  # not "1585 (?)", nor a name that ends so in a statement
_NUMBER = re.compile(r"\d")
_NAME = re.compile(r"(?<=\s)[A-Z]\w+")


@dataclass(frozen=True, repr=False)
class SentenceReader:
    """Quotes sentences: near to the question in meaning, and together holding its words.

    `most`: sentences at most. `least`: cosine with the question below which a sentence supports nothing.
    Sentences are taken one by one: each adds its cosine, its share of those words of the question that no
    sentence taken so far holds (rare words count more), up to `rank` for standing in the first passages, and
    `kind` if it holds the kind of thing that is asked for: a number or date, or a name that the question does
    not hold. The first line of a passage of several is its title, perhaps empty: it is read, but not quoted. Nor is
    a question, as in a list of questions and answers: it is read with the sentence that follows it.

    >>> from graphwright.models.fake import HashEncoder
    >>> SentenceReader(HashEncoder(), most=1).read("Where is Graz?", ["Lyon is in France. Graz is in Austria."])
    [Span(passage=0, start=19, end=38, score=...)]
    """

    encoder: Encoder
    most: int = 3
    least: float = 0.3
    rank: float = 0.3
    kind: float = 0.15

    def __repr__(self) -> str:
        return source_of(self)

    def read(self, question: str, passages: Sequence[str]) -> list[Span]:
        """Return spans of whole sentences, best first."""
        found = [(i, *read) for i, text in enumerate(passages) for read in _read(text)]
        # A heading or a row of a table is often nearest of all to a question, and says nothing.
        found = [one for one in found if is_statement(passages[one[0]][one[1] : one[2]])] or found
        if not found:
            return []
        places = [(i, start, end) for i, start, end, _ in found]
        sentences = [_with_title(passages[i], asked, end) for i, _, end, asked in found]
        vectors = self.encoder.encode([question, *sentences])
        near = vectors[1:] @ vectors[0]
        lacking = _weights(question, sentences)
        held = [lacking.keys() & set(words(sentence)) for sentence in sentences]
        prior = self.rank * np.array([1 - i / len(passages) for i, *_ in places])
        prior += self.kind * np.array([_holds_kind(question, passages[i][start:end]) for i, start, end in places])
        chosen: list[Span] = []
        while len(chosen) < self.most:
            gain = near + prior + np.array([sum(lacking[w] for w in h) for h in held])
            gain[near < self.least] = -1
            best = int(gain.argmax())
            # A further sentence must bring something that is still missing.
            if gain[best] < 0 or (chosen and not held[best]):
                break
            chosen.append(Span(*places[best], round(float(gain[best]), 4)))
            lacking = {w: weight for w, weight in lacking.items() if w not in held[best]}
            held = [h & lacking.keys() for h in held]
            near[best] = -1
        return chosen


def _holds_kind(question: str, sentence: str) -> bool:
    """Whether the sentence holds a number where one is asked for, else a name that the question does not hold."""
    if _COUNTED.search(question):
        return bool(_NUMBER.search(sentence))
    known = set(words(question))
    return any(not known.issuperset(words(name)) for name in _NAME.findall(sentence))


def sentences_of(passage: str) -> list[tuple[int, int]]:
    """Return the spans of a passage's sentences after the title line (see SentenceReader)."""
    offset = len(title_of(passage))
    return [(start + offset, end + offset) for start, end in sentence_spans(passage[offset:])]


def _read(passage: str) -> Iterator[tuple[int, int, int]]:
    """Yield the span of each sentence that asks nothing, and where a question begins that stands before it."""
    begun: int | None = None
    for start, end in sentences_of(passage):
        if asks(passage[start:end]):
            begun = start if begun is None else begun
        else:
            yield start, end, start if begun is None else begun
            begun = None


def asks(text: str) -> bool:
    """Whether a sentence is a question, perhaps a quoted one.

    >>> asks("Who may fly the Kestrel?"), asks('graphwright ask "Who founded the abbey?"'), asks("Why not.")
    (True, True, False)
    """
    return _ASKED.search(text[-12:].rstrip()) is not None


def is_statement(text: str) -> bool:
    """Whether a text is written as a sentence is, and not as a heading or a row of a table.

    >>> is_statement("Graz lies on the Mur."), is_statement("The River Mur"), is_statement("| Mur | 464 km |")
    (True, False, False)
    """
    if text.lstrip().startswith("|") or text.count("|") > 2:
        return False
    return bool(_ENDED.search(text)) or len(text.split()) > 7


def _with_title(passage: str, start: int, end: int) -> str:
    title = title_of(passage).strip()
    return f"{title}: {passage[start:end]}" if title else passage[start:end]


def title_of(passage: str) -> str:
    """Return the first line with its end; a passage of one line has no title."""
    line, end, rest = passage.partition("\n")
    return line + end if rest.strip() else ""


def _weights(question: str, sentences: Sequence[str]) -> dict[str, float]:
    """Return the words of the question that some sentence holds, with weights that sum to 1."""
    holders = [set(words(sentence)) for sentence in sentences]
    counts = {w: sum(w in h for h in holders) for w in dict.fromkeys(words(question))}
    raw: NDArray[np.float64] = np.array([np.log(1 + len(sentences) / c) if c else 0.0 for c in counts.values()])
    total = raw.sum()
    return {w: float(r / total) for w, r in zip(counts, raw, strict=True) if r > 0}
