"""Columns of strings against dicts, str.split, sorted, and a search at every word of every text."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.registry import CPUDispatcher

from graphwright.kernels import strings
from graphwright.kernels.strings import distinct, fingerprints, gather, phrases, ranking, tokens

# Few letters, so that many strings are equal or share a beginning; some of two to four bytes, and NUL.
letters = st.sampled_from(["a", "b", "\0", "ÿ", "é", "語", "🙂", " "])
texts = st.lists(st.text(letters, max_size=20) | st.sampled_from(["", "abababab", "abababab" * 4]), max_size=20)
words = st.sampled_from(["a", "b", "of", "list", "é", "語語語", "eightlet", "eightlets"])
phrase = st.lists(words, max_size=6).map(" ".join)


def _column(values):
    encoded = [value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, encoded)])
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


def _strings(data, offsets):
    return [data[a:b].tobytes().decode() for a, b in pairwise(offsets)]


def _numbers(values):
    seen = {}
    return [seen.setdefault(value, len(seen)) for value in values], list(seen)


def _standing(text, forms):
    """Look for each form at each word, as index.topics.named_in does."""
    parts, result = text.split(), {}
    for at in range(len(parts)):
        for length in range(1, len(parts) - at + 1):
            form = " ".join(parts[at : at + length])
            if form in forms:
                result[forms.index(form)] = None
    return list(result)


@given(texts)
def test_fingerprints_equal_for_equal_strings(values):
    hashes = fingerprints(*_column(values)).tolist()
    assert _numbers(hashes)[0] == _numbers(values)[0]


@given(texts)
def test_distinct_numbers_strings_by_first_appearance(values):
    number, first = distinct(*_column(values))
    assert (number.tolist(), [values[i] for i in first]) == _numbers(values)
    assert (number.dtype, first.dtype) == (np.int32, np.int64)
    assert [values.index(values[i]) for i in first] == first.tolist()


def test_column_within_its_data_is_accepted():
    data = np.frombuffer(b"xxabcabxxxxxx", np.uint8)
    assert distinct(data, [2, 4, 5, 7])[0].tolist() == [0, 1, 0]
    assert _strings(*gather(data, [2, 4, 5, 7], [2, 1])) == ["ab", "c"]


def test_distinct_of_equal_hashes_compares_strings():
    # 32 bits of hash: of 300,000 strings about ten pairs share theirs.
    values = [f"{i:x}" for i in range(300_000)]
    number, first = distinct(*_column(values + values[::-1]))
    assert np.array_equal(first, np.arange(300_000))
    assert np.array_equal(number, np.concatenate((first, first[::-1])))


def test_distinct_long_strings_differ_in_one_byte():
    long = "x" * 100_003
    values = [long, long[:-1] + "y", "y" + long[1:], long[:50_000] + "y" + long[50_001:], long + "\0", long]
    number, first = distinct(*_column(values))
    assert number.tolist() == [0, 1, 2, 3, 4, 0] and first.tolist() == [0, 1, 2, 3, 4]
    assert ranking(*_column(values)).tolist() == sorted(range(6), key=values.__getitem__)


@given(st.lists(phrase | st.text(letters, max_size=12), max_size=12))
def test_tokens_equal_words_of_split(values):
    data, offsets = _column(values)
    number, owner, starts, ends = tokens(data, offsets)
    split = [[word for word in value.split(" ") if word] for value in values]
    numbers, seen = _numbers([word for part in split for word in part])
    assert number.tolist() == numbers
    assert owner.tolist() == [i for i, part in enumerate(split) for _ in part]
    assert [data[a:b].tobytes().decode() for a, b in zip(starts, ends, strict=True)] == seen
    assert (np.diff(starts) > 0).all()  # by first appearance
    assert (number.dtype, owner.dtype, starts.dtype, ends.dtype) == (np.int32, np.int32, np.int64, np.int64)


@given(st.lists(phrase, max_size=12), st.lists(phrase, max_size=12, unique=True))
def test_phrases_equal_search_at_every_word(values, forms):
    text, form = phrases(*_column(values), *_column(forms))
    expected = [(i, j) for i, value in enumerate(values) for j in _standing(value, forms)]
    assert list(zip(text.tolist(), form.tolist(), strict=True)) == expected
    assert (text.dtype, form.dtype) == (np.int32, np.int32)


@given(texts, st.data())
def test_gather_returns_strings_at_ids(values, data):
    ids = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=30)) if values else []
    block, offsets = gather(*_column(values), ids)
    assert _strings(block, offsets) == [values[i] for i in ids]
    assert (block.dtype, offsets.dtype, offsets[0]) == (np.uint8, np.int64, 0)


@given(texts)
def test_ranking_sorts_by_bytes_then_position(values):
    order = ranking(*_column(values))
    assert order.tolist() == sorted(range(len(values)), key=lambda i: values[i].encode())
    assert order.dtype == np.int64


def test_ranking_of_many_shared_beginnings_is_sorted():
    values = [f"document {i * 7 % 5000 // 3:05d}" + "#" * (i % 3) for i in range(5000)]
    assert ranking(*_column(values)).tolist() == sorted(range(5000), key=values.__getitem__)


def test_empty_string_columns_give_empty_arrays():
    empty = np.empty(0, np.uint8), [0]
    full = _column(["a b"])
    for result in (distinct(*empty), tokens(*empty), phrases(*empty, *full), phrases(*full, *empty)):
        assert [array.size for array in result] == [0] * len(result)
    assert ranking(*empty).size == 0
    assert gather(*full, [])[1].tolist() == [0]


@pytest.mark.parametrize("offsets", [[0, 4], [-1, 2], [2, 1]])
def test_gather_string_outside_data_is_refused(offsets):
    with pytest.raises(ValueError, match="does not cut 3 bytes"):
        gather(np.frombuffer(b"abc", np.uint8), offsets, [0])


@pytest.mark.parametrize("offsets", [[], [0, 4], [-1, 2], [0, 2, 1], [1, 0]])
def test_offsets_outside_data_raise_value_error(offsets):
    data = np.frombuffer(b"abc", np.uint8)
    for function in (distinct, tokens, ranking, lambda *c: phrases(data, [0, 3], *c)):
        with pytest.raises(ValueError, match="does not cut 3 bytes"):
            function(data, offsets)


@pytest.mark.parametrize("ids", [[2], [-1], [0, 5]])
def test_gather_id_outside_column_raises_value_error(ids):
    with pytest.raises(ValueError, match="column has 2 strings"):
        gather(*_column(["a", "b"]), ids)


def test_too_many_strings_raise_value_error(monkeypatch):
    monkeypatch.setattr(strings, "_MAX", 2)
    for function, values in ((distinct, ["a", "b", "c"]), (tokens, ["a b", "c"])):
        with pytest.raises(ValueError, match=r"holds 3 (strings|words), but at most 2"):
            function(*_column(values))


def test_string_kernels_compile_once():
    data, offsets = _column(["a b", "b"])
    fresh = data.copy(), offsets.astype(np.int32)  # writable and narrow, as a caller may pass them
    for column in ((data, offsets), fresh, (data.tolist(), offsets.tolist())):
        distinct(*column), tokens(*column), phrases(*column, *column), ranking(*column), gather(*column, [1])
    for function in vars(strings).values():
        if isinstance(function, CPUDispatcher):
            assert len(function.signatures) <= 1, function  # none: called from a cached one
