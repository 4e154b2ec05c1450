"""Chats, threads of mails, and series such as minutes: what is said in them later of the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.data.records.record import MESSAGE
from graphwright.generate.citations import passage_starts
from graphwright.generate.quoted_sentences import Sentence
from graphwright.graph.evidence import Scores
from graphwright.graph.graph import Graph
from graphwright.models.protocols import PassageText, Span
from graphwright.search.versions import versions_of
from graphwright.text.dates import month_of
from graphwright.text.sentences import ASKS
from graphwright.text.values import Value, values_in
from graphwright.text.words import words

_LATER = 0.005  # score of what is said later of the same, beside that of the best sentence
_REPLY, _VALUE = 0.0005, 0.002  # the same where a later mail of the thread says it, and where it has such a value
_DATE = ("date", "")  # kind of all dates
_DAY = re.compile(r"\b(?:[12]?\d|3[01])(?:st|nd|rd|th)\b")
_SAME = 0.27  # share of the words of a sentence, weighted by rarity, in what says the same; seen: 0.29 on, else to 0.26


class Place(NamedTuple):
    """Place of a passage in a series, which is "" for none: that of its document, and its first character."""

    series: str
    document: float
    first: int
    is_mail: bool = False


def places_in_series(graph: Graph, nodes: Sequence[int]) -> list[Place]:
    """Return the place of each passage in its series.

    A series is a chat, a thread of mails, or dated documents of one name that are no versions of one another, such as
    minutes.
    """
    records, versions = graph.columns.records, versions_of(graph.columns)
    types = [] if records is None else [at for at, name in enumerate(records.types) if name == MESSAGE]
    messages = set(records.chunk[np.isin(records.type, types)].tolist()) if records is not None else set()
    found = list[Place]()
    for node, (document, start) in zip(nodes, passage_starts(graph, nodes), strict=True):
        family = versions.of.get(document, ())
        if document in versions.threads and document in versions.dated:
            found.append(Place(versions.threads[document], versions.dated[document].first, start, True))
            continue
        place = next((at for at, version in enumerate(family) if version.document == document), 0)
        name = document if node in messages else family[0].document if family else ""
        found.append(Place(name, place, start))
    return found


def said_later(
    best: int,
    texts: Sequence[str],
    sentences: Sequence[Sentence],
    scores: Scores,
    series: Sequence[Place],
    asked: Value | None,
) -> NDArray[np.bool_]:
    """Return which sentence after one in its series says most of the same, by its words and its score.

    The words are weighted by rarity. As good as them are: in a thread of mails, a value of the kind of `asked`;
    elsewhere the value itself beside another, as in "8, not 12".
    """
    places = [
        (name, at, 0 if mail else first + s.start) for s in sentences for name, at, first, mail in [series[s.passage]]
    ]
    own = places[best]
    proper = [
        s.kind not in ("heading", "header") and not text.endswith(ASKS)
        for s, text in zip(sentences, texts, strict=True)
    ]
    later = np.array([p[0] == own[0] != "" and p > own and ok for p, ok in zip(places, proper, strict=True)], bool)
    said = [{word for word in words(text) if not any(map(str.isdigit, word))} for text in texts]
    weights = word_weights(texts[best], said)
    shares = np.array([sum(weights[word] for word in weights.keys() & each) for each in said])
    is_mail = series[sentences[best].passage].is_mail  # then what the same mail says is no later
    has = np.array(
        [has_kind(text, asked) if is_mail else _repeats(text, asked) and differs(text, asked) for text in texts], bool
    )
    least = (_REPLY, _VALUE) if is_mail else (_LATER, _LATER)
    later &= ((shares >= _SAME) & (scores >= least[0] * scores[best])) | (has & (scores >= least[1] * scores[best]))
    gains = np.where(later, scores * np.maximum(shares, has), 0.0)
    chosen: NDArray[np.bool_] = (gains > 0) & (gains == gains.max())
    return chosen


def value_asked(span: Span, passages: Sequence[PassageText]) -> Value | None:
    """Return the first value of a reader's answer."""
    return next((found.value for found in values_in(span.answer(passages))), None)


def has_kind(text: str, asked: Value | None) -> bool:
    """Return whether a text has a value that may stand in the place of another: a date, or a number of its unit.

    In the place of a day may also stand one without its month.

    >>> has_kind("Moved to Thursday the 19th.", Value("date", 2026.13, 0.003))
    True
    """
    if asked is None:
        return False
    is_day = _kind(asked) == _DATE and _DAY.search(text) is not None
    return is_day or any(_kind(found.value) == _kind(asked) for found in values_in(text))


def _repeats(text: str, asked: Value | None) -> bool:
    """Return whether a text has the number or date of a value."""
    return asked is not None and any(
        _kind(found.value)[0] == _kind(asked)[0] and found.value.amount == asked.amount for found in values_in(text)
    )


def differs(text: str, asked: Value | None) -> bool:
    """Return whether a text has another value of the kind of one, of its unit or of no measure.

    >>> differs("Tess (08:40): 8 not 12", Value("number", 12, 0)), differs("Tess (08:40): 12", Value("number", 12, 0))
    (True, False)
    """
    return asked is not None and any(
        _kind(found.value)[0] == _kind(asked)[0]
        and found.value.amount != asked.amount
        and (found.value.unit == "s") == (asked.unit == "s")  # the time of a message is no number
        for found in values_in(text)
    )


def _kind(value: Value) -> tuple[str, str]:
    """Return what a value must have in common with another to be in its place: dates, or numbers of one unit."""
    return _DATE if value.kind == "date" or month_of(value.unit) else (value.kind, value.unit)


def word_weights(question: str, sentences: Sequence[set[str]]) -> dict[str, float]:
    """Return the words of the question that some sentence has, with weights that sum to 1: rare words weigh more."""
    counts = {word: sum(word in sentence for sentence in sentences) for word in dict.fromkeys(words(question))}
    weights = {word: float(np.log(1 + len(sentences) / count)) for word, count in counts.items() if count}
    return {word: weight / sum(weights.values()) for word, weight in weights.items()}
