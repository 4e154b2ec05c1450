"""Mention detector: names in a text and their types, computed from the token states of the embedded encoder.

The states are computed with the vector of the text, so that names cost little more than the encoding. For each word the
network takes the mean state of its tokens and its spelling (`surface_features`). It has two hidden layers, the second
over five neighbouring words. `best_tags` decodes its output.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.models.embedded.encoder import add_work, encoded, token_ids
from graphwright.models.embedded.mention_features import SURFACE, Words, surface_features, word_states, words_of
from graphwright.models.embedded.runtime import checksum, loaded, open_graph, run_session, weights_file
from graphwright.models.protocols import Floats, Usage
from graphwright.text.sentences import sentence_spans

TYPES = ("person", "place", "organisation", "work", "event", "date", "number", "other")
_WEIGHTS = "minilm-mentions"  # folder of weights
_MAX_TOKENS = 256  # of one window, as the encoder cuts passages
_GROUP = 32  # texts for each run of the detector, so that its weights stay in the processor's cache
_GAP = 2  # empty words between texts of a group; the second layer treats them as the end of a text
_FEATURES = 384 + SURFACE
_CONTEXT = 32  # tokens that the next window repeats of a sentence longer than a window
Span = tuple[int, int]


class Found(NamedTuple):
    """A name in a text: its span of characters and its type, one of TYPES."""

    start: int
    end: int
    type: str


class EncodedText(NamedTuple):
    """The vector of a text, of length 1, and the names in it, in reading order."""

    vector: Floats
    names: list[Found]


def mentions_id() -> str:
    """Return the name of the detector, with the checksums of its weights and of the encoder."""
    return f"mentions:{checksum(_WEIGHTS)[:12]}"


@cache
def _load() -> Any:
    return open_graph(weights_file("model.onnx", _WEIGHTS))


def read_mentions(texts: Sequence[str], titles: Sequence[int], usage: Usage | None = None) -> list[EncodedText]:
    """Return the vector of each text, as `MiniLM` encodes it, and the names in it, from the same pass.

    `titles`: the number of characters at the start of each text that are its title, which is not searched. A text that
    is longer than the encoder's limit is read in several windows; each begins with the sentence that the last one cut.

    >>> text = "Ludwig Boltzmann\\nBoltzmann taught physics in Graz until 1890."
    >>> (encoded_text,) = read_mentions([text], [17])
    >>> [text[name.start : name.end] for name in encoded_text.names][:2]
    ['Boltzmann', 'Graz']
    """
    usage = Usage() if usage is None else usage
    first_windows = _read(texts, titles, usage)
    results = [result for result, _ in first_windows]
    pending = [(at, 0, cut) for at, (_, cut) in enumerate(first_windows) if cut]
    while pending:
        begins = [(at, _next_start(texts[at], max(start, titles[at]), cut)) for at, start, cut in pending]
        windows = [texts[at][: titles[at]] + texts[at][start:] for at, start in begins]
        more = _read(windows, [titles[at] for at, _ in begins], usage)
        for (at, start), (window, _) in zip(begins, more, strict=True):
            shift = start - titles[at]
            names = [Found(name.start + shift, name.end + shift, name.type) for name in window.names]
            results[at].names[:] = [name for name in results[at].names if name.end <= start] + names
        pending = [
            (at, start, cut + start - titles[at]) for (at, start), (_, cut) in zip(begins, more, strict=True) if cut
        ]
    return results


def _next_start(text: str, start: int, cut: int) -> int:
    """Return where the next window begins: at the sentence that the cut is in, or a little before the cut."""
    sentences = [begin for begin, _ in sentence_spans(text[start:])]
    begin = max((start + at for at in sentences if start < start + at <= cut), default=start)
    space = text.rfind(" ", start + 1, max(cut - 4 * _CONTEXT, start + 2))
    return begin if begin > start else space + 1 if space > 0 else cut


def _read(texts: Sequence[str], titles: Sequence[int], usage: Usage) -> list[tuple[EncodedText, int]]:
    """Return the vector and names of the first window of each text, and the position of its cut, 0 without a cut."""
    started = time.perf_counter()
    tokens = token_ids(texts, _MAX_TOKENS, spans=True)
    results: dict[int, tuple[EncodedText, int]] = {}
    group: list[tuple[int, Floats, Floats]] = []

    def search_group() -> None:
        inputs = [_Input(texts[at], titles[at], tokens[at][1], states) for at, _, states in group]
        for (at, vector, _), names in zip(group, _names(inputs), strict=True):
            spans = tokens[at][1]
            end = spans[-1][1] if len(spans) == _MAX_TOKENS - 2 else len(texts[at])
            results[at] = EncodedText(vector.copy(), names), end if texts[at][end:].strip() else 0
        group.clear()

    for positions, (vectors, states) in encoded([ids for ids, _ in tokens]):
        group += zip(positions, vectors, (rows[1:-1] for rows in states), strict=True)
        if len(group) >= _GROUP:
            search_group()
        started = add_work(usage, [tokens[position][0] for position in positions], started)
    search_group()
    return [results[position] for position in range(len(texts))]


class _Input(NamedTuple):
    """Input of the detector for one text; `states`: of its tokens without the special ones."""

    text: str
    title: int
    tokens: list[Span]
    states: Floats


def _names(inputs: Sequence[_Input]) -> list[list[Found]]:
    """Return the names of each text, after its title. The network runs once, with gaps between the texts."""
    words = [words_of(each.text, each.tokens) for each in inputs]
    starts = np.cumsum([0, *(len(each.spans) + _GAP for each in words)])
    rows = np.zeros((starts[-1], _FEATURES), np.float32)
    inside = np.zeros((starts[-1], 1), np.float32)
    for start, each, text_words in zip(starts.tolist(), inputs, words, strict=False):
        end = start + len(text_words.spans)
        rows[start:end, :-SURFACE] = word_states(each.states, text_words)
        rows[start:end, -SURFACE:] = surface_features(each.text, text_words.spans, each.title)
        inside[start:end] = 1
    scores = _scores(rows, inside)
    return [
        _decoded(text_words, best_tags(scores[start : start + len(text_words.spans)]), each.title)
        for start, each, text_words in zip(starts.tolist(), inputs, words, strict=False)
    ]


def _scores(rows: Floats, inside: Floats) -> Floats:
    if not len(rows):
        return np.zeros((0, 2 * len(TYPES) + 1), np.float32)
    (scores,) = run_session(loaded(_load), {"inputs": rows, "inside": inside}, "The mention detector")
    return np.asarray(scores, np.float32)


def _decoded(words: Words, tags: NDArray[np.int64], title: int) -> list[Found]:
    names: list[Found] = []
    for (start, end), tag in zip(words.spans, tags.tolist(), strict=True):
        if start < title or not tag:
            continue
        if tag % 2 or not names:
            names.append(Found(start, end, TYPES[(tag - 1) // 2]))
        else:
            names[-1] = names[-1]._replace(end=end)
    return names


def best_tags(scores: Floats) -> NDArray[np.int64]:
    """Return the sequence of tags with the largest sum of scores: `scores: float32[words, 2 * types + 1]`.

    Tag 0 is outside of spans; 2k + 1 begins a span of type k; 2k + 2 continues it, and follows only 2k + 1 or 2k + 2.
    The best tags of the single words mostly make an allowed sequence; else the Viterbi algorithm finds the best one.

    >>> best_tags(np.float32([[0, 1, 0], [0, 0, 2], [1, 0, 0], [0.5, 0, 1]])).tolist()
    [1, 2, 0, 0]
    """
    if not len(scores):
        return np.zeros(0, np.int64)
    tags = scores.argmax(1)
    before = np.concatenate(([0], tags[:-1]))
    continues = (tags > 0) & (tags % 2 == 0)
    return _viterbi(scores) if (continues & (before != tags) & (before != tags - 1)).any() else tags


def _viterbi(scores: Floats) -> NDArray[np.int64]:
    words = len(scores)
    outside, begin, inside = scores[:, 0], scores[:, 1::2], scores[:, 2::2]
    best = np.zeros(words, np.int64)  # the best tag of the word before
    longer = np.zeros((words, begin.shape[1]), bool)  # whether the word before continues the span, not begins it
    sums = scores[0].copy()
    sums[2::2] = -np.inf
    for word in range(1, words):
        begun, continued = sums[1::2], sums[2::2]
        best[word] = top = sums.argmax()
        np.greater(continued, begun, out=longer[word])
        before = np.maximum(begun, continued)
        total = sums[top]
        sums = np.empty_like(sums)
        sums[0] = outside[word] + total
        np.add(begin[word], total, out=sums[1::2])
        np.add(inside[word], before, out=sums[2::2])
    tags = np.zeros(words, np.int64)
    tags[-1] = tag = int(sums.argmax())
    for word in range(words - 1, 0, -1):
        goes_on = tag > 0 and tag % 2 == 0
        tag = tag - 1 + int(longer[word, tag // 2 - 1]) if goes_on else int(best[word])
        tags[word - 1] = tag
    return tags
