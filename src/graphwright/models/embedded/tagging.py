"""Best sequence of tags, where a span of a type begins with one tag and continues with another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphwright.models.protocols import Floats


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
