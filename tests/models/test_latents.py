"""Cross-encoders made of other models: one that remembers, one made of an encoder."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.errors import ModelError, OptionError
from graphwright.models.base import metered
from graphwright.models.protocols import CrossEncoder
from graphwright.models.bills import Bill, billed, itemised
from graphwright.models.fake import HashEncoder, OverlapCrossEncoder
from graphwright.models.latents import CachedCrossEncoder, EncoderCrossEncoder

short = st.text(alphabet="ab ", max_size=3)


class Counting(OverlapCrossEncoder):
    """Remembers the pairs that it was asked for."""

    def __init__(self):
        object.__setattr__(self, "asked", [])

    def latents(self, query, texts):
        self.asked.extend((query, text) for text in texts)
        return super().latents(query, texts)


@given(st.lists(st.tuples(short, st.lists(short, max_size=5)), max_size=6))
def test_gives_the_models_latents_and_asks_once_for_each_pair(calls):
    inner = Counting()
    cached = CachedCrossEncoder(inner)
    for query, texts in calls:
        found = cached.latents(query, texts)
        assert found.dtype == np.float32
        assert found.tolist() == OverlapCrossEncoder().latents(query, texts).tolist()
        assert cached.head(found).tolist() == OverlapCrossEncoder().head(found).tolist()
    assert sorted(inner.asked) == sorted({(query, text) for query, texts in calls for text in texts})


def test_what_a_step_read_for_another_pipeline_is_not_paid_for_again():
    one, other, own = CachedCrossEncoder(OverlapCrossEncoder()), CachedCrossEncoder(OverlapCrossEncoder()), Bill()
    with billed(), itemised() as used:
        one.latents("fox", ["a fox", "a hen"])
    assert own.taken(used).texts == 0
    with billed(own), metered() as usage:
        other.latents("fox", ["a hen", "a fox", "a cat"])
        other.latents("fox", ["a fox"])
    assert usage.texts == 1
    with billed(), metered() as usage:
        other.latents("fox", ["a cat", "a hen"])
    assert usage.texts == 2 and usage.saved > 0


def test_memory_is_bounded_and_forgets_the_oldest():
    inner = Counting()
    cached = CachedCrossEncoder(inner, memory=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        cached.latents("q", [text])
    assert [text for _, text in inner.asked] == ["a", "b", "c", "b"]
    few = CachedCrossEncoder(Counting(), memory=1).latents("q", ["a", "b", "a"])
    assert few.shape == (3, 3) and CachedCrossEncoder(Counting(), memory=0).latents("q", ["a", "b"]).shape == (2, 3)


def test_what_it_gives_is_the_callers_own():
    cached = CachedCrossEncoder(OverlapCrossEncoder())
    first = cached.latents("fox", ["a fox"])
    expected = first.tolist()
    first[:] = 9
    assert cached.latents("fox", ["a fox"]).tolist() == expected


def test_threads_may_share_one():
    cached, texts = CachedCrossEncoder(OverlapCrossEncoder(), memory=10), [f"fox {i}" for i in range(40)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda i: cached.latents("red fox", texts[i : i + 20]), range(20)))
    expected = OverlapCrossEncoder().latents("red fox", texts)
    assert all((rows == expected[i : i + 20]).all() for i, rows in enumerate(found))


def test_both_are_values_that_pickle():
    for model in (CachedCrossEncoder(OverlapCrossEncoder(), memory=7), EncoderCrossEncoder(HashEncoder(8))):
        model.latents("a", ["b"])
        assert isinstance(model, CrossEncoder)
        again = pickle.loads(pickle.dumps(model))
        assert again == model == eval(repr(model)) and hash(again) == hash(model)
        assert again.latents("a", ["a"]).tolist() == model.latents("a", ["a"]).tolist()


@given(short, st.lists(short, max_size=4))
def test_an_encoders_score_is_the_dot_product(query, texts):
    encoder = HashEncoder(8)
    model = EncoderCrossEncoder(encoder)
    latents = model.latents(query, texts)
    assert latents.shape == (len(texts), 8) and latents.dtype == np.float32
    assert np.allclose(model.head(latents), encoder.encode(texts) @ encoder.encode([query])[0], atol=1e-6)
    with metered() as usage:
        model.latents(query, texts)
    assert usage.texts == len(texts) + 1


def test_what_cannot_be_used_is_refused():
    with pytest.raises(OptionError, match="latents and head"):
        CachedCrossEncoder(HashEncoder())
    with pytest.raises(OptionError, match="memory is -1"):
        CachedCrossEncoder(OverlapCrossEncoder(), memory=-1)
    for wrong in (OverlapCrossEncoder(), "all-MiniLM-L6-v2"):
        with pytest.raises(OptionError, match="an encoder is needed"):
            EncoderCrossEncoder(wrong)

    class Short(OverlapCrossEncoder):
        def latents(self, query, texts):
            return np.zeros((0, 3), np.float32)

    with pytest.raises(ModelError, match=r"shape \(0, 3\) for 1 texts"):
        CachedCrossEncoder(Short()).latents("a", ["b"])
