"""Questions with a part replaced: what a turn such as "no, I meant the crane" or "and on Sundays?" means."""

from __future__ import annotations

import numpy as np

from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.protocols import Floats
from graphwright.text.words import WORD, words

_MAX_WORDS, _MAX_PART, _NEAREST = 9, 4, 4  # words of a turn and of a part; parts that each part may replace


def replacements(turn: str, last: str) -> tuple[list[str], Floats]:
    """Return the question before a turn with a part of it replaced by one of the turn, and a row of features for each.

    Each part of the turn may replace those that are most alike. The features: the vector of what the turn says beside
    its part; the cosine of the parts, the difference of their lengths, and their shares of both texts; whether the
    words before them, their digits, capitals and first letters are alike; where the replaced part begins and ends;
    the turn's length; whether it asks; and 1.
    """
    count, total = len(_parts(turn, 1)), len(_parts(last, 1))
    own = [(a, b) for a, b in _parts(turn, _MAX_PART) if turn[a:b].lower() not in last.lower()]
    old = _parts(last, _MAX_PART)
    if count > _MAX_WORDS or not own or not old:
        return [], np.zeros((0, 398), np.float32)
    texts = [text[a:b] for text, spans in ((turn, own), (last, old)) for a, b in spans]
    vectors = MiniLM().encode([*texts, *(turn[:a] + turn[b:] for a, b in own)])
    sizes = np.array([len(_parts(text, 1)) for text in texts], np.float32)
    apart = np.abs(sizes[: len(own), None] - sizes[len(own) :])
    cosines = vectors[: len(own)] @ vectors[len(own) : len(texts)].T
    questions, rows = [], []
    for i, (a, b) in enumerate(own):
        for j in np.argsort(apart[i] / 10 - cosines[i], kind="stable")[:_NEAREST].tolist():
            c, d = old[j]
            heads, parts = (turn[:a].lower().split()[-1:], last[:c].lower().split()[-1:]), (turn[a:b], last[c:d])
            digits, capitals = ([any(map(kind, part)) for part in parts] for kind in (str.isdigit, str.isupper))
            initials = [part[0].isupper() for part in parts]
            alike = [new == replaced for new, replaced in (heads, digits, capitals, initials)]
            shares = cosines[i, j], apart[i, j], sizes[i] / count, sizes[len(own) + j] / total
            place = c == old[0][0], d == old[-1][1], d / len(last)
            rows.append([*vectors[len(texts) + i], *shares, *alike, *place, count / _MAX_WORDS, "?" in turn, 1.0])
            questions.append(last[:c] + turn[a:b] + last[d:])
    return questions, np.array(rows, np.float32)


def _parts(text: str, most: int) -> list[tuple[int, int]]:
    """Return the spans from one word of a text to another, of at most so many words that are no function words."""
    spans = [match.span() for match in WORD.finditer(text) if words(match[0])]
    return [(a, b) for at, (a, _) in enumerate(spans) for _, b in spans[at : at + most]]
