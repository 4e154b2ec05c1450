"""Numbering of codes by first appearance, compared with a dictionary."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.kernels import numbering as module
from graphwright.kernels.numbering import Numbering

codes = st.lists(st.one_of(st.integers(0, 20), st.integers(0, 2**64 - 1)), max_size=200)


@given(st.lists(codes, max_size=5))
def test_numbering_equals_dictionary_by_first_appearance(batches):
    numbering, known = Numbering(), {}
    for batch in batches:
        wanted = [known.setdefault(code, len(known)) for code in batch]
        assert numbering.take(np.array(batch, np.uint64)).tolist() == wanted
    assert len(numbering) == len(known)
    assert numbering.find(np.array([*known, 2**63 + 5], np.uint64)).tolist() == [
        *range(len(known)),
        known.get(2**63 + 5, -1),
    ]


@pytest.mark.parametrize("spread", [1, 2**40])
def test_numbering_keeps_numbers_as_it_grows(monkeypatch, spread):
    monkeypatch.setattr(module, "_FIRST", 4)
    numbering = Numbering()
    drawn = np.random.default_rng(0).integers(0, 5_000, 50_000).astype(np.uint64) * np.uint64(spread)
    first = {}
    wanted = [first.setdefault(code, len(first)) for code in drawn.tolist()]
    assert numbering.take(drawn).tolist() == wanted
    assert numbering.find(drawn).tolist() == wanted
