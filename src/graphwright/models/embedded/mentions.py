"""Mention detector: names in a text and their types, computed from the token states of the embedded encoder.

The states are computed with the vector of the text, so that names cost little more than the encoding. For each word the
network takes the mean state of its tokens and its spelling (`surface_features`). It has two hidden layers, the second
over five neighbouring words. `best_tags` decodes its output.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.models.embedded.encoder import (
    add_work,
    checksum,
    encoded,
    loaded,
    open_graph,
    run_session,
    token_ids,
    weights_file,
)
from graphwright.models.protocols import Floats, Usage
from graphwright.text.names import capitals_problem
from graphwright.text.sentences import sentence_spans

Span = tuple[int, int]
SURFACE = 17  # number of spelling features of a word
CASE = 8  # number of leading spelling features on capitals; these are 0 in a text whose capitals do not mark names
_OPENING = frozenset("\"“«„'‘`(")
_QUOTES = frozenset('"“”«»„')
_SAMPLE = 400  # characters examined to decide whether capitals mark names


class Words(NamedTuple):
    """Words of a text: `spans`, the characters of each, and `tokens: int64[n]`, the first token of each."""

    spans: list[Span]
    tokens: NDArray[np.int64]


def words_of(text: str, tokens: Sequence[Span]) -> Words:
    """Join the tokens of a text to words: runs of letters and digits, and single other characters."""
    spans: list[Span] = []
    first: list[int] = []
    last = -1
    for number, (start, end) in enumerate(tokens):
        if start == last and text[start].isalnum() and text[start - 1].isalnum():
            spans[-1] = spans[-1][0], end
        elif end > start:
            spans.append((start, end))
            first.append(number)
        last = end
    return Words(spans, np.array(first, np.int64))


def word_states(states: Floats, words: Words) -> Floats:
    """Return the mean of the states of each word's tokens; `states` has no rows for special tokens."""
    counts = np.diff(words.tokens, append=len(states))
    means = np.asarray(states[words.tokens], np.float32)
    for further in range(1, int(counts.max(initial=1))):  # few words have two tokens, and fewer have three
        rows = np.flatnonzero(counts > further)
        means[rows] += states[words.tokens[rows] + further]
    rows = np.flatnonzero(counts > 1)
    means[rows] /= counts[rows, None]
    return means


def surface_features(text: str, spans: Sequence[Span], title: int) -> Floats:
    """Return the spelling features of words: float32[n, SURFACE]. `title`: characters before the first sentence."""
    forms = [text[start:end] for start, end in spans]
    starts = _sentence_starts(text, spans, title)
    shapes = list(map(_shape, forms))
    features = np.zeros((len(spans), SURFACE), np.float32)
    if spans and capitals_problem(text[title : title + _SAMPLE]) is None:
        features[:, :CASE] = _case_features(forms, shapes, starts)
    in_title = {shape.lower for shape, (start, _) in zip(shapes, spans, strict=True) if start < title}
    quoted = _quoted(forms) if any(sign in text for sign in _QUOTES) else set()
    last, rows = -1, []
    for row, (shape, (start, end)) in enumerate(zip(shapes, spans, strict=True)):
        rows.append(
            (
                row in starts, start == last, shape.digit, shape.year, not shape.word, row in quoted, start < title,
                shape.word and start >= title and shape.lower in in_title, shape.single,
            )
        )  # fmt: skip
        last = end
    features[:, CASE:] = rows or 0
    return features


class _Shape(NamedTuple):
    """Spelling of a word: capitals, digits, and length."""

    lower: str
    capital: bool  # of the first letter
    all_capitals: bool
    mixed: bool
    small: bool
    digit: bool
    year: bool
    word: bool
    single: bool


@lru_cache(maxsize=1 << 16)
def _shape(form: str) -> _Shape:
    upper = form.isupper()
    return _Shape(
        form.lower(), form[0].isupper(), len(form) > 1 and upper, not upper and any(map(str.isupper, form[1:])),
        form.islower(), any(map(str.isdigit, form)), len(form) == 4 and form.isdigit(), form[0].isalnum(),
        len(form) == 1,
    )  # fmt: skip


def _case_features(forms: Sequence[str], shapes: Sequence[_Shape], starts: set[int]) -> list[tuple[bool, ...]]:
    """Return the features of each word's capitals, and of the spelling of the same word elsewhere in the text."""
    small = {form for form, shape in zip(forms, shapes, strict=True) if shape.small}
    capital = Counter(shape.lower for row, shape in enumerate(shapes) if shape.capital and row not in starts)
    rows: list[tuple[bool, ...]] = []
    for row, shape in enumerate(shapes):
        first, starting = shape.capital, row in starts
        others = capital[shape.lower] - (first and not starting)
        rows.append(
            (
                first, shape.all_capitals, shape.mixed, shape.small, first and shape.lower in small, others > 0,
                first and starting, True,
            )
        )  # fmt: skip
    return rows


def _sentence_starts(text: str, spans: Sequence[Span], title: int) -> set[int]:
    starts, row = set(), 0
    for start, _ in [(0, 0), *((title + a, title + b) for a, b in sentence_spans(text[title:]))]:
        while row < len(spans) and (spans[row][0] < start or text[spans[row][0]] in _OPENING):
            row += 1
        starts.add(row)
    return starts


def _quoted(forms: Sequence[str]) -> set[int]:
    """Return the words between two quotation marks that are at most a dozen words apart."""
    quoted: set[int] = set()
    opened = -1
    for row, form in enumerate(forms):
        if form in _QUOTES:
            if opened >= 0 and row - opened <= 13:
                quoted.update(range(opened + 1, row))
                opened = -1
            else:
                opened = row
    return quoted


TYPES = ("person", "place", "organisation", "work", "event", "date", "number", "other")
_WEIGHTS = "minilm-mentions"  # folder of weights
_MAX_TOKENS = 256  # of one window, as the encoder cuts passages
_GROUP = 32  # texts for each run of the detector, so that its weights stay in the processor's cache
_GAP = 2  # empty words between texts of a group; the second layer treats them as the end of a text
_FEATURES = 384 + SURFACE
_CONTEXT = 32  # tokens that the next window repeats of a sentence longer than a window


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

    `titles`: the characters at the start of each text that are its title, which is not searched. A text longer than the
    encoder's limit is read in several windows; each begins with the sentence that the last one cut.

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
    The best tags of the single words mostly are allowed; else the Viterbi algorithm finds the best sequence.
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
