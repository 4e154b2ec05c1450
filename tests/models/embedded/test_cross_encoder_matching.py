"""Word matching compared with loops over the definitions."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.models.embedded.cross_encoder import MATCHES, Match, Tokens

VOCABULARY = 12


def tokens(ids, title=0, seed=0):
    """Tokens whose states depend on the id and the place; the first and last are special."""
    rng = np.random.default_rng([seed, *ids])
    states = np.eye(VOCABULARY, dtype=np.float32)[list(ids)] + rng.normal(0, 0.2, (len(ids), VOCABULARY))
    vector = states.mean(0) / np.linalg.norm(states.mean(0))
    spans = [(3 * at, 3 * at + 2) for at in range(len(ids) - 2)]
    return Tokens(np.array(ids, np.int32), states.astype(np.float16), vector.astype(np.float32), title, spans)


RARITY = np.linspace(0, 1, VOCABULARY).astype(np.float32)
texts = st.lists(st.integers(2, VOCABULARY - 1), max_size=60).map(lambda inner: [0, *inner, 1])


def plain(question, text):
    """The 14 numbers one by one."""
    asked, record, n = question.ids[1:-1].tolist(), text.ids[1:-1].tolist(), text.title
    weight = [float(RARITY[t]) for t in asked]
    share = [w / (sum(weight) + 1e-6) for w in weight]
    named = [float(RARITY[t]) for t in record[:n]]
    q, t = (x.states[1:-1].astype(np.float64) for x in (question, text))
    near = [[float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)) for b in t] for a in q]
    most = [max(row) for row in near]
    heavy = sorted(m for m, w in zip(most, weight, strict=True) if w > 0.25) or sorted(most)
    pairs = [(a, b, v + w) for a, b, v, w in zip(asked, asked[1:], weight, weight[1:], strict=False)]
    there = set(pairwise(record))
    windows = []
    for at in range(0, len(record), 20):
        window = [[0.0 if i < n else row[i] for i in range(at, min(at + 40, len(record)))] for row in near]
        windows.append(sum(s * max(-1.0, *row) for s, row in zip(share, window, strict=True)))
    return [
        float(question.vector @ text.vector),
        sum(s for s, a in zip(share, asked, strict=True) if a in record),
        sum(s for s, a in zip(share, asked, strict=True) if a in record[:n]),
        sum(w for w, h in zip(named, record, strict=False) if h in asked) / (sum(named) + 1e-6),
        sum(w for a, b, w in pairs if (a, b) in there) / (sum(w for *_, w in pairs) + 1e-6),
        np.log(len(record) + 1) / 5,
        sum(s * m for s, m in zip(share, most, strict=True)),
        heavy[0],
        np.mean(heavy[:3]),
        np.mean(heavy[-4:]),
        sum(s * max(row[:n]) for s, row in zip(share, near, strict=True)) if n else 0,
        sum(w * max(row[i] for row in near) for i, w in enumerate(named)) / (sum(named) + 1e-6) if n else 0,
        max(windows),
        sum(s for s, m in zip(share, most, strict=True) if m > 0.75),
    ]


@given(texts, texts, st.integers(0, 5))
def test_matching_numbers_equal_worked_example(asked, record, title):
    question, text = tokens(asked), tokens(record, min(title, len(record) - 2), seed=1)
    result = Match.of(question, text, RARITY).features()
    assert result.shape == (MATCHES,) and result.dtype == np.float32
    if len(asked) > 2 and len(record) > 2:
        np.testing.assert_allclose(result, plain(question, text), atol=2e-3)
    else:
        assert np.isfinite(result).all() and not result[6:].any()


@given(texts, texts)
def test_matching_marks_are_aligned(asked, record):
    question, text = tokens(asked), tokens(record, seed=1)
    match = Match.of(question, text, RARITY)
    left, right = match.marks()
    assert left.shape == (len(asked), 3) and right.shape == (len(record), 3)
    assert not left[[0, -1]].any() and not right[[0, -1]].any()
    if not match.near.size:
        assert not left.any() and not right.any()
        return
    for at, token in enumerate(record[1:-1]):
        expected = [
            match.near[:, at].max(),
            max(n * RARITY[a] for n, a in zip(match.near[:, at], asked[1:-1], strict=True)),
            RARITY[token] if token in asked[1:-1] else 0,
        ]
        np.testing.assert_allclose(right[at + 1], expected, atol=1e-5)
    for at, token in enumerate(asked[1:-1]):
        nearest = match.near[at].max()
        expected = [nearest, nearest * RARITY[token], RARITY[token] if token in record[1:-1] else 0]
        np.testing.assert_allclose(left[at + 1], expected, atol=1e-5)


def test_cut_keeps_last_special_token():
    whole = tokens([0, 5, 6, 7, 8, 1])
    short = whole.cut(4)
    assert short.ids.tolist() == [0, 5, 6, 1] and short.spans == whole.spans[:2]
    np.testing.assert_array_equal(short.states, whole.states[[0, 1, 2, 5]])
    assert whole.cut(6) is whole


@pytest.mark.parametrize("inner", [[], [3]])
def test_short_questions_have_numbers(inner):
    match = Match.of(tokens([0, *inner, 1]), tokens([0, 3, 4, 1], seed=1), RARITY)
    assert np.isfinite(match.features()).all()
