"""Best sequence of tags, against all sequences."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from graphwright.models.embedded.mentions import best_tags


def allowed(tags: tuple[int, ...]) -> bool:
    """Return whether each tag that continues a span follows one of its type."""
    return all(tag % 2 or not tag or before in (tag - 1, tag) for before, tag in zip((0, *tags), tags, strict=False))


@given(arrays(np.float32, st.tuples(st.integers(1, 5), st.just(5)), elements=st.integers(-8, 8).map(float)))
def test_best_tag_sequence_is_allowed_and_optimal(scores):
    words = len(scores)
    tags = tuple(best_tags(scores).tolist())
    assert allowed(tags)
    sums = [scores[np.arange(words), list(other)].sum() for other in product(range(5), repeat=words) if allowed(other)]
    assert scores[np.arange(words), list(tags)].sum() == max(sums)


def test_tagger_without_words_returns_no_tags():
    assert best_tags(np.zeros((0, 5), np.float32)).tolist() == []
