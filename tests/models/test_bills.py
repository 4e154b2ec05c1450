"""What is remembered is paid for once by each pipeline that uses it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.models.base import metered
from graphwright.models.protocols import Usage
from graphwright.models.bills import Bill, Items, added, bill, billed, itemised, shares
from graphwright.models.cache import CachedEncoder
from graphwright.models.fake import HashEncoder
from graphwright.models.reading import MiniLMCrossEncoder
from graphwright.models.states import tokens


def test_nobody_pays_outside_of_a_bill():
    encoder = CachedEncoder(HashEncoder())
    encoder.encode(["fox"])
    with metered() as usage:
        encoder.encode(["fox"])
    assert bill() is None and usage == Usage()


def test_each_pipeline_pays_for_a_vector_once_and_for_what_it_took():
    encoder = CachedEncoder(HashEncoder())
    with billed(), metered() as first:
        vectors = encoder.encode(["fox", "hen"])
    with billed(), metered() as second:
        again = encoder.encode(["hen", "fox"])
        encoder.encode(["hen"])
    assert np.array_equal(vectors, again[::-1])
    assert (second.texts, second.tokens) == (first.texts, first.tokens) == (2, 2)
    assert second.saved > 0 == first.saved


def test_what_was_made_under_the_same_bill_is_paid_for():
    encoder = CachedEncoder(HashEncoder())
    with billed(), metered() as usage:
        encoder.encode(["fox"])
        encoder.encode(["fox", "hen"])
    assert usage.texts == 2 and usage.saved == 0


def test_states_of_texts_are_paid_for_by_the_second_pipeline_too():
    texts = ["A text of bills that nobody else reads.", "And another one."]
    with billed():
        tokens(texts)
    with billed(), metered() as usage:
        tokens(texts)
    assert usage.saved > 0 and usage.texts == 0
    with billed(), metered() as usage:
        MiniLMCrossEncoder().latents("Who reads bills?", texts)
    assert usage.texts == 2 and usage.saved > 0


def asked_of(encoder: CachedEncoder, own: Bill, texts: str) -> float:
    with billed(own), metered() as usage:
        encoder.encode(list(texts))
    return usage.texts


def test_a_bill_goes_on_at_the_next_question_and_forgets_what_its_own_memory_would():
    alone, own = CachedEncoder(HashEncoder(), memory=3), Bill()
    paid = [asked_of(alone, own, texts) for texts in ("ab", "abc", "bcd", "a", "d", "d")]
    assert paid == [2, 1, 1, 1, 0, 0]
    together, other, again = CachedEncoder(HashEncoder(), memory=3), Bill(), Bill()
    found = []
    for texts in ("ab", "abc", "bcd", "a", "d", "d"):
        asked_of(together, other, "xyz")  # of which nothing stays of the other's
        found.append(asked_of(together, again, texts))
    assert found == paid


def test_what_another_pipeline_had_forgotten_is_not_paid_for_twice():
    encoder, own = CachedEncoder(HashEncoder(), memory=2), Bill()
    assert asked_of(encoder, own, "a") == 1
    encoder.encode(["x", "y"])
    with billed(own), metered() as usage:
        encoder.encode(["a"])
    assert (usage.calls, usage.texts, usage.tokens) == (0, 0, 0) and usage.saved < 0


def test_a_bill_inside_another_is_its_own():
    encoder = CachedEncoder(HashEncoder())
    encoder.encode(["fox"])
    with billed() as outer, metered() as usage:
        with billed() as inner:
            encoder.encode(["fox"])
        assert bill() is outer and inner is not outer
        encoder.encode(["fox"])
    assert usage.texts == 2


def test_a_list_holds_what_was_used_and_whether_it_was_paid_for():
    encoder, own = CachedEncoder(HashEncoder()), Bill()
    with billed(own):
        encoder.encode(["fox"])
        with itemised() as outer, itemised() as inner:
            encoder.encode(["fox", "hen", "hen"])
            encoder.encode(["hen"])
        with itemised() as empty:
            pass
    assert inner == outer and sorted(paid for _, paid in inner.values()) == [False, True] and not empty
    with billed(own), metered() as usage:
        assert own.taken(inner) == Usage(calls=-1, texts=-1, tokens=-1, saved=usage_of(inner, True).saved * -1)
    assert usage == Usage()
    assert Bill().taken(inner) == usage_of(inner, False)


def usage_of(items: Items, paid: bool) -> Usage:
    (took,) = (item.took for item, was in items.values() if was is paid)
    return took


def test_threads_share_a_bill():
    encoder, own = CachedEncoder(HashEncoder(), memory=50), Bill()
    texts = [f"text {at % 70}" for at in range(2_000)]
    with billed(own), metered() as usage, ThreadPoolExecutor(8) as pool:
        work = [pool.submit(copy_context().run, encoder.encode, texts[at : at + 40]) for at in range(0, 2_000, 40)]
        assert all(len(one.result()) == 40 for one in work)
    assert usage.texts >= 70


@given(
    st.builds(Usage, *[st.integers(0, 9_999)] * 3, st.floats(0, 9), *[st.integers(0, 99)] * 2, st.floats(0, 1)),
    st.lists(st.integers(0, 300), min_size=1, max_size=9),
)
def test_shares_add_up_to_the_whole(usage: Usage, sizes: list[int]):
    sizes[0] += 1
    parts = shares(usage, 2.0, sizes)
    whole = Usage()
    for part in parts:
        whole = added(whole, part)
    assert vars(whole) == pytest.approx(vars(usage) | {"saved": 2.0})
    assert all(isinstance(part.tokens, int) and part.tokens >= 0 for part in parts)
