"""Answers of the embedded reader: the candidates that its readings of single passages and of pairs propose."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.models.embedded.cross_encoder import network
from graphwright.models.embedded.encoder import tokenise
from graphwright.models.protocols import Floats, PassageText
from graphwright.text.sentences import sentence_spans

Ints = NDArray[np.int64]
Scores = NDArray[np.float64]

NONE, SPAN, YES, NO, SEVERAL = range(5)  # kinds of answers, in the order of the network's outputs


class ReaderOutput(NamedTuple):
    """Output of the network for one input.

    `passages`: the numbers of the one or two passages; `kind: float32[5]`, log-probabilities of no answer, a span, yes,
    no, and several spans; `spans`: log-probability, passage, and characters of the best spans, best first; `begins:
    float32[tokens]`: the probability that an answer begins at each token, `places: int64[tokens, 2]`: the passage and
    first character of each.
    """

    passages: tuple[int, ...]
    kind: Floats
    spans: list[tuple[float, int, int, int]]
    begins: Floats
    places: Ints


class Candidate(NamedTuple):
    """An answer that some readings propose: its normalised text, its place, and its log-probability by reading.

    `decided`: the answer is yes or no; its place is the best span of the first side.
    """

    text: str
    passage: int
    start: int
    end: int
    scores: dict[int, float]
    decided: bool = False


def whole(passage: PassageText) -> str:
    """Return the input text of a passage: title and text, each on a line."""
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


def title_length(passage: PassageText) -> int:
    """Return the number of characters of a passage's title and the line break after it."""
    return len(passage.title) + 1 if passage.title else 0


_ASKS = ("?", "？", "؟")
_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n")


def parts_of(passage: PassageText) -> list[int]:
    """Return where the parts after the title begin: text and labels by turns, so that a label has an odd number.

    No answer crosses the ends of a part. An empty line, a cut and the ends of a question have an empty label.
    """
    text, shift, end = passage.text, title_length(passage), 0
    breaks = {0, *passage.cuts, *(match.end() for match in _EMPTY_LINE.finditer(text))}
    breaks |= {at - shift for at in asking_of(passage)}
    parts: list[int] = []
    for start, last in sorted((*passage.labels, *((at, at) for at in breaks))):
        if last >= end:
            parts += [shift + max(start, end), shift + last]
            end = last
    return parts


def asking_of(passage: PassageText) -> list[int]:
    """Return the first and last character of each sentence that asks something itself, in which no answer lies."""
    text, shift = passage.text, title_length(passage)
    return [shift + at for span in sentence_spans(text) if text.endswith(_ASKS, *span) for at in span]


def log_softmax(logits: NDArray[np.floating[Any]]) -> Floats:
    """Return logarithms of probabilities: float32."""
    shifted = logits - logits.max()
    result: Floats = (shifted - np.log(np.exp(shifted).sum())).astype(np.float32)
    return result


def normalised(text: str) -> str:
    """Return the letters and digits of a span, lower case, without a leading article."""
    words = re.findall(r"\w+", text.lower())
    return " ".join(words[1:] if words[:1] in (["the"], ["a"], ["an"]) and len(words) > 1 else words)


def candidates(
    readings: Sequence[ReaderOutput], passages: Sequence[PassageText], sides: Sides | None = None
) -> list[Candidate]:
    """Return the distinct answers of all readings, each with its best place; yes and no where there are two sides."""
    scores: dict[str, dict[int, float]] = defaultdict(dict)
    best: dict[str, tuple[float, int, int, int]] = {}
    for number, reading in enumerate(readings):
        for score, passage, begin, end in reading.spans:
            score += float(np.logaddexp(reading.kind[SPAN], reading.kind[SEVERAL]))
            if text := normalised(whole(passages[passage])[begin:end]):
                scores[text][number] = max(scores[text].get(number, -np.inf), score)
                best[text] = max(best.get(text, (-np.inf, 0, 0, 0)), (score, -passage, -begin, end))
    spans = [Candidate(t, -best[t][1], -best[t][2], best[t][3], scores[t]) for t in scores]
    if sides is None:
        return spans
    mass = {number: float(np.logaddexp(r.kind[YES], r.kind[NO])) for number, r in enumerate(readings)}
    return spans + [
        Candidate(text, *sides.place, {number: log + float(np.log(chance)) for number, log in mass.items()}, True)
        for text, chance in (("yes", sides.alike), ("no", 1 - sides.alike))
    ]


_DECIDES = 0.2  # probability of yes or no, in proportion to that of any answer; few plain questions have 0.05


def asks_yes_or_no(readings: Sequence[ReaderOutput], shares: Scores) -> bool:
    """Return whether a question asks for yes or no, by the kinds of answer of its readings and their weights."""
    kinds = shares @ np.exp([reading.kind for reading in readings])
    return bool(kinds[YES] + kinds[NO] > _DECIDES * (1 - kinds[NONE]))


class Sides(NamedTuple):
    """Comparison of the answers in two passages whose titles the question names.

    `place`: passage and characters of the first side; `alike`: the probability of yes, from 0.1 to 0.9, by the greatest
    share of words that an answer of each side have in common.
    """

    place: tuple[int, int, int]
    alike: float


_MIN_TITLE_SHARE = 0.5  # of a title's tokens, weighted by rarity, in a question that names the title


def sides(question: str, passages: Sequence[PassageText], readings: Sequence[ReaderOutput]) -> Sides | None:
    """Return the two sides of a question that compares the subjects of two passages; None for other questions.

    The network alone cannot distinguish yes from no, but the overlap of its answers in both sides can.
    """
    asked, *titles = (set(each.ids) for each in tokenise([question, *(passage.title or "" for passage in passages)]))
    rarity = network().rarity
    named = {
        number
        for number, title in enumerate(titles)
        if title and sum(rarity[t] for t in title & asked) >= _MIN_TITLE_SHARE * sum(rarity[t] for t in title)
    }
    pairs = [r for r in readings if len(r.passages) == 2 and named.issuperset(r.passages)]
    surest = max(pairs, key=lambda r: float(np.logaddexp(r.kind[YES], r.kind[NO])), default=None)
    if surest is None:
        return None
    alone = {r.passages[0]: _in_text(r, passages[r.passages[0]]) for r in readings if len(r.passages) == 1}
    first, second = (alone[passage] for passage in surest.passages)
    if not first or not second:
        return None
    texts = [{normalised(whole(passages[at])[b:e]) for at, b, e in side} for side in (first, second)]
    overlap = max(_word_overlap(a, b) for a in texts[0] for b in texts[1])
    return Sides(first[0], 0.1 + 0.8 * overlap)


def _in_text(reading: ReaderOutput, passage: PassageText) -> list[tuple[int, int, int]]:
    """Return passage and characters of the three best spans of a reading that do not lie in the title."""
    return [(at, b, e) for _, at, b, e in reading.spans if b >= title_length(passage)][:3]


def _word_overlap(a: str, b: str) -> float:
    """Return the share of words that two texts have in common (Jaccard)."""
    first, second = set(a.split()), set(b.split())
    return len(first & second) / max(1, len(first | second))


def probabilities(proposed: Sequence[Candidate], readings: int) -> Scores:
    """Return the probability of each candidate in each reading, 0 where it is not proposed: float64[n, readings]."""
    table = np.zeros((len(proposed), readings))
    for row, candidate in zip(table, proposed, strict=True):
        row[list(candidate.scores)] = np.exp(list(candidate.scores.values()))
    return table


def mixture(rows: Scores, weights: Scores) -> Scores:
    """Return the weight of each reading, from its features: float64[readings], summing to 1."""
    logits = rows @ weights
    shares = np.exp(logits - logits.max(initial=-np.inf))
    result: Scores = shares / shares.sum()
    return result


_UNSPACED = "\u0e00"  # the first character (Thai) of the scripts without spaces between words


_ADDRESS = re.compile(r"[\w.+-]{1,64}+@[\w-]{1,64}+(?:\.[\w-]{1,64}+)+|https?://[^\s<>\"']{0,200}[^\s<>\"'.,;:!?)]")
_LONGEST_ADDRESS = 200  # characters


def whole_words(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return a span extended to whole words, where words are separated by spaces, and to whole addresses.

    >>> text = "Write to pavel.dvorak@tesline.example."
    >>> text[slice(*whole_words(text, 9, 28))]
    'pavel.dvorak@tesline.example'
    """
    while begin > 0 and text[begin - 1].isalnum() and text[begin].isalnum() and text[begin - 1] < _UNSPACED:
        begin -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum() and text[end] < _UNSPACED:
        end += 1
    around = max(begin - _LONGEST_ADDRESS, 0)
    for match in _ADDRESS.finditer(text, around, min(end + _LONGEST_ADDRESS, len(text))):
        if match.start() < end and begin < match.end():
            begin, end = min(begin, match.start()), max(end, match.end())
    return begin, end
