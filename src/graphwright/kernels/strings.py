"""Columns of strings as arrays: number distinct strings and words, find phrases, gather and sort.

A column is `data`, uint8[bytes], the UTF-8 of its strings end to end, and `offsets`, int64[n + 1], their borders.
Strings are equal if their bytes are; hashes only select candidates. Words are separated by spaces alone.

Own code, because an Arrow library costs more than it gives: pyarrow numbers strings a little faster, gathers them as
fast and sorts them more slowly, and is a third of this package's installation; arro3 does not sort, split into words or
find phrases.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.blocks import rows_verified
from graphwright.kernels.compiled import kernel, subkernel
from graphwright.kernels.csr import Ids, Pointers, readonly, row_pointers
from graphwright.kernels.ranking import sort_by

Bytes = NDArray[np.uint8]
Hashes = NDArray[np.uint64]

_SPACE = 32
_LOW = np.uint64(0xFFFFFFFF)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST_MIX = np.uint64(0xBF58476D1CE4E5B9)
_LAST_MIX = np.uint64(0x94D049BB133111EB)
_MAX = 2**31 - 2
_SEED = np.uint64(0)
_ROOM = 1024  # initial size of arrays that grow


@subkernel
def _mixed(x: np.uint64) -> np.uint64:
    """Return x with each bit spread over all: splitmix64's last steps (Steele, Lea, Flood, 2014)."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST_MIX
    x = (x ^ (x >> np.uint64(27))) * _LAST_MIX
    return x ^ (x >> np.uint64(31))


@subkernel
def _eight(data: Bytes, at: int, size: int) -> np.uint64:
    """Return `size` bytes, at most eight, as a number, the first in its lowest bits; `data` has eight or more."""
    i = np.uint64(min(at, data.size - 8))
    word = np.uint64(0)
    for k in range(8):  # unsigned indices, so that these compile to one load
        word |= np.uint64(data[i + np.uint64(k)]) << np.uint64(8 * k)
    word >>= np.uint64(8) * (np.uint64(at) - i)
    return word << np.uint64(64 - 8 * size) >> np.uint64(64 - 8 * size) if size < 8 else word


@subkernel
def _seeded(data: Bytes, start: int, end: int, seed: np.uint64) -> np.uint64:
    """Return a hash, eight bytes a step; the length distinguishes trailing zero bytes."""
    state = np.uint64(end - start) * _GOLDEN ^ seed
    for at in range(start, end, 8):
        state = _mixed(state ^ _eight(data, at, end - at))
    return state


@kernel
def _fingerprints(data: Bytes, offsets: Pointers, seed: np.uint64, out: Hashes) -> None:
    for i in range(out.size):
        out[i] = _seeded(data, offsets[i], offsets[i + 1], seed)


@subkernel
def _same(data: Bytes, start: int, end: int, other: Bytes, begin: int, until: int) -> bool:
    if end - start != until - begin:
        return False
    for k in range(0, end - start, 8):
        if _eight(data, start + k, end - start - k) != _eight(other, begin + k, end - start - k):
            return False
    return True


@subkernel
def _probe(slots: Hashes, tag: np.uint64, at: np.uint64) -> np.uint64:
    """Return the first slot from `at` on that holds the hash or is free; the caller compares the strings, for speed.

    A slot holds a hash in its upper half, and 1 + the position of the string in the lower; 0 is free.
    """
    mask = np.uint64(slots.size - 1)
    at &= mask
    while slots[at] != np.uint64(0) and slots[at] >> np.uint64(32) != tag:
        at = (at + np.uint64(1)) & mask
    return at


@kernel
def _rehash(slots: Hashes, wider: Hashes) -> None:
    """Enter all slots of a hash table into a larger one, which is empty."""
    mask = np.uint64(wider.size - 1)
    for slot in slots:
        if slot != np.uint64(0):
            at = (slot >> np.uint64(32)) & mask
            while wider[at] != np.uint64(0):
                at = (at + np.uint64(1)) & mask
            wider[at] = slot


@kernel
def _numbered(
    data: Bytes, starts: Pointers, ends: Pointers, number: Ids, first: Pointers, slots: Hashes, begin: int, size: int
) -> tuple[int, int]:
    """Number the strings from `begin` on, after `size` numbers, until the table is half full; return both then."""
    for i in range(begin, starts.size):
        if 2 * size >= slots.size:
            return i, size
        tag = _seeded(data, starts[i], ends[i], _SEED) & _LOW
        at = _probe(slots, tag, tag)
        j = np.int64(slots[at] & _LOW) - 1
        while j >= 0 and not _same(data, starts[i], ends[i], data, starts[j], ends[j]):
            at = _probe(slots, tag, at + np.uint64(1))
            j = np.int64(slots[at] & _LOW) - 1
        if j >= 0:
            number[i] = number[j]
            continue
        slots[at] = tag << np.uint64(32) | np.uint64(i + 1)
        number[i] = size
        first[size] = i
        size += 1
    return starts.size, size


@subkernel
def _word(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return start and end of the first word in data[at:end]; start is `end` where there is none."""
    while at < end and data[at] == _SPACE:
        at += 1
    start = at
    while at < end and data[at] != _SPACE:
        at += 1
    return start, at


@kernel
def _count(data: Bytes, offsets: Pointers) -> int:
    size = 0
    for i in range(offsets.size - 1):
        end = offsets[i + 1]
        start, at = _word(data, offsets[i], end)
        while start < end:
            size += 1
            start, at = _word(data, at, end)
    return size


@kernel
def _tokens(
    data: Bytes, offsets: Pointers, number: Ids, owner: Ids, starts: Pointers, ends: Pointers, slots: Hashes,
    text: int, position: int, count: int, size: int,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Number words from a position on, until the table is half full; return text, position, words, distinct words."""
    for i in range(text, offsets.size - 1):
        end = offsets[i + 1]
        start, stop = _word(data, max(position, offsets[i]), end)
        while start < end:
            if 2 * size >= slots.size:
                return i, start, count, size
            tag = _seeded(data, start, stop, _SEED) & _LOW
            at = _probe(slots, tag, tag)
            j = np.int64(slots[at] & _LOW) - 1
            while j >= 0 and not _same(data, start, stop, data, starts[j], ends[j]):
                at = _probe(slots, tag, at + np.uint64(1))
                j = np.int64(slots[at] & _LOW) - 1
            if j < 0:
                j = np.int64(size)
                starts[size], ends[size] = start, stop
                slots[at] = tag << np.uint64(32) | np.uint64(size + 1)
                size += 1
            number[count], owner[count] = j, i
            count += 1
            start, stop = _word(data, stop, end)
    return offsets.size - 1, position, count, size


@subkernel
def _edge(keys: Hashes, children: Ids, key: np.uint64) -> np.int64:
    """Return the slot of an edge of the trie, or the free slot where it belongs (child -1)."""
    mask = np.uint64(keys.size - 1)
    at = _mixed(key) & mask
    while children[at] >= 0 and keys[at] != key:
        at = (at + np.uint64(1)) & mask
    return np.int64(at)


@kernel
def _trie(number: Ids, owner: Ids, size: int, keys: Hashes, children: Ids, inner: Ids, form: Ids) -> None:
    """Build the trie of forms, word by word; its first `size` nodes are the words themselves.

    An edge's key is its node and its word. `inner`: whether an edge leaves a node; `form`: the one that ends there.
    """
    node = np.int64(0)
    for i in range(number.size):
        if i == 0 or owner[i] != owner[i - 1]:
            node = np.int64(number[i])
        else:
            inner[node] = 1
            key = np.uint64(node) << np.uint64(32) | np.uint64(number[i])
            at = _edge(keys, children, key)
            if children[at] < 0:
                keys[at] = key
                children[at] = size
                size += 1
            node = np.int64(children[at])
        if (i + 1 == number.size or owner[i + 1] != owner[i]) and form[node] < 0:
            form[node] = owner[i]


@subkernel
def _read(
    data: Bytes, at: int, end: int, slots: Hashes, known: Bytes, starts: Pointers, ends: Pointers, words: Ids
) -> int:
    """Write the numbers of the words in data[at:end], -1 for a word of no form; return how many words there are."""
    size = 0
    start, at = _word(data, at, end)
    while start < end:
        tag = _seeded(data, start, at, _SEED) & _LOW
        slot = _probe(slots, tag, tag)
        j = np.int64(slots[slot] & _LOW) - 1
        while j >= 0 and not _same(data, start, at, known, starts[j], ends[j]):
            slot = _probe(slots, tag, slot + np.uint64(1))
            j = np.int64(slots[slot] & _LOW) - 1
        words[size] = j
        size += 1
        start, at = _word(data, at, end)
    return size


@subkernel
def _walk(
    words: Ids, size: int, keys: Hashes, children: Ids, inner: Ids, form: Ids, text: int, seen: Ids, out: Ids,
) -> int:  # fmt: skip
    """Write the forms that occur in the words of a text, each once; return how many."""
    count = 0
    for first in range(size):
        node = np.int64(words[first])
        at = first + 1
        while node >= 0:
            if form[node] >= 0 and seen[form[node]] != text:
                seen[form[node]] = text
                out[count] = form[node]
                count += 1
            if not inner[node] or at == size or words[at] < 0:
                break
            node = np.int64(children[_edge(keys, children, np.uint64(node) << np.uint64(32) | np.uint64(words[at]))])
            at += 1
    return count


@kernel
def _phrases(
    data: Bytes, offsets: Pointers, slots: Hashes, known: Bytes, starts: Pointers, ends: Pointers, keys: Hashes,
    children: Ids, inner: Ids, form: Ids, words: Ids, seen: Ids, matches: Ids, texts: Ids, out: Ids, begin: int,
    size: int,
) -> tuple[int, int]:  # fmt: skip
    """Append the forms of the texts from `begin` on, while there is room; return the text and the size then."""
    for text in range(begin, offsets.size - 1):
        count = _read(data, offsets[text], offsets[text + 1], slots, known, starts, ends, words)
        more = _walk(words, count, keys, children, inner, form, text, seen, matches)
        if size + more > out.size:
            for i in range(more):
                seen[matches[i]] = -1
            return text, size
        for i in range(more):
            texts[size + i], out[size + i] = text, matches[i]
        size += more
    return offsets.size - 1, size


@kernel
def _copy(data: Bytes, starts: Pointers, borders: Pointers, out: Bytes) -> None:
    """Copy the strings that begin at `starts`, those that follow one another together."""
    i = 0
    while i < starts.size:
        start, target = starts[i], borders[i]
        while i < starts.size and starts[i] - start == borders[i] - target:
            i += 1
        for k in range(np.uint64(borders[i] - target)):
            out[np.uint64(target) + np.uint64(k)] = data[np.uint64(start) + np.uint64(k)]


@subkernel
def _key(data: Bytes, start: int, end: int) -> np.uint64:
    """Return seven bytes, the first in the highest bits, then how many there are; 8 if more follow."""
    key = np.uint64(0)
    if start == end:
        return key
    word = _eight(data, start, min(end - start, 7))
    for _ in range(8):
        key = key << np.uint64(8) | (word & np.uint64(0xFF))
        word >>= np.uint64(8)
    return key | np.uint64(min(end - start, 8))


@kernel
def _keys(data: Bytes, starts: Pointers, ends: Pointers, keys: Hashes) -> None:
    for i in range(keys.size):
        keys[i] = _key(data, starts[i], ends[i])


def distinct(data: ArrayLike, offsets: ArrayLike) -> tuple[Ids, Pointers]:
    """Number the distinct strings of a column by first appearance.

    Returns `number`, int32[n], and `first`, int64[d], the position of the first string of each number.
    Raises ValueError if the offsets do not fit the data.

    >>> number, first = distinct(np.frombuffer(b"abcab", np.uint8), [0, 2, 3, 5])
    >>> number.tolist(), first.tolist()
    ([0, 1, 0], [0, 1])
    """
    block, borders = _column(data, offsets, "offsets")
    number, first = np.empty(borders.size - 1, np.int32), np.empty(borders.size - 1, np.int64)
    slots, at, size = np.zeros(_ROOM, np.uint64), 0, 0
    while at < number.size:
        slots = _roomy(slots, size)
        at, size = _numbered(block, borders[:-1], borders[1:], number, first, slots, at, size)
    return number, first[:size].copy()


def tokens(data: ArrayLike, offsets: ArrayLike) -> tuple[Ids, Ids, Pointers, Pointers]:
    """Number the words of all strings by first appearance; words are separated by spaces.

    Returns for each word its `number`, int32[w], and its `owner`, int32[w], the position of its string; then for each
    number `starts` and `ends`, int64[d], its first occurrence in `data`.
    Raises ValueError if the offsets do not fit the data.

    >>> number, owner, starts, ends = tokens(np.frombuffer(b"to benot to be", np.uint8), [0, 5, 14])
    >>> number.tolist(), owner.tolist(), starts.tolist(), ends.tolist()
    ([0, 1, 2, 0, 1], [0, 0, 1, 1, 1], [0, 3, 5], [2, 5, 8])
    """
    block, borders = _column(data, offsets, "offsets")
    return _words(block, borders)[:4]


def phrases(data: ArrayLike, offsets: ArrayLike, form_data: ArrayLike, form_offsets: ArrayLike) -> tuple[Ids, Ids]:
    """Find the forms that occur in texts as sequences of words; texts and forms are columns.

    Returns `text` and `form`, int32[h] each: each pair once, by text, then by the first occurrence of the form, then
    the shorter form first. A form without words never matches; of forms with the same words the first does.
    Raises ValueError if the offsets do not fit the data.

    >>> texts, forms = np.frombuffer(b"a new york minute", np.uint8), np.frombuffer(b"new yorknework", np.uint8)
    >>> [part.tolist() for part in phrases(texts, [0, 17], forms, [0, 8, 11, 14])]
    [[0, 0], [1, 0]]
    """
    block, borders = _column(data, offsets, "offsets")
    known, known_borders = _column(form_data, form_offsets, "form_offsets")
    number, owner, starts, ends, slots = _words(known, known_borders)
    width = 1 << (2 * number.size).bit_length()
    keys, children = np.empty(width, np.uint64), np.full(width, -1, np.int32)
    inner, form = np.zeros(starts.size + number.size, np.int32), np.full(starts.size + number.size, -1, np.int32)
    _trie(number, owner, starts.size, keys, children, inner, form)
    forms, longest = known_borders.size - 1, int(np.diff(borders).max(initial=0))
    scratch = np.empty(longest // 2 + 1, np.int32), np.full(forms, -1, np.int32), np.empty(forms, np.int32)
    tables = slots, known, starts, ends, keys, children, inner, form
    found, which, text, size = np.empty(_ROOM, np.int32), np.empty(_ROOM, np.int32), 0, 0
    while True:
        text, size = _phrases(block, borders, *tables, *scratch, found, which, text, size)
        if text == borders.size - 1:
            return found[:size].copy(), which[:size].copy()
        found, which = np.append(found, found), np.append(which, which)


def fingerprints(data: ArrayLike, offsets: ArrayLike, seed: int = 0) -> Hashes:
    """Return a 64-bit hash of each string: uint64[n]. Equal strings have equal ones; another seed gives another hash.

    Raises ValueError if the offsets do not fit the data.
    """
    block, borders = _column(data, offsets, "offsets")
    out = np.empty(borders.size - 1, np.uint64)
    _fingerprints(block, borders, np.uint64(seed), out)
    return out


def gather(data: ArrayLike, offsets: ArrayLike, ids: ArrayLike) -> tuple[Bytes, Pointers]:
    """Return the strings at `ids`, int64[k], in that order, as the `data` and `offsets` of a new column.

    Of arrays that are mapped in blocks only those of these strings are verified.
    Raises ValueError for an id that is not a position, or if the offsets of a string do not fit the data.

    >>> block, borders = gather(np.frombuffer(b"abcde", np.uint8), [0, 2, 3, 5], [2, 0, 2])
    >>> block.tobytes(), borders.tolist()
    (b'deabde', [0, 2, 4, 6])
    """
    positions, n, size = np.asarray(ids, np.int64), len(offsets) - 1, len(data)  # type: ignore[arg-type]
    if positions.size and not 0 <= positions.min() <= positions.max() < n:
        raise ValueError(f"ids range from {positions.min()} to {positions.max()}, but the column has {n} strings.")
    pointers = rows_verified(offsets, positions, positions + 2)
    starts, ends = readonly(pointers[positions], np.int64), readonly(pointers[positions + 1], np.int64)
    if positions.size and not (starts.min() >= 0 and ends.max() <= size and (starts <= ends).all()):
        raise ValueError(f"offsets does not cut {size} bytes of data. Pass ascending offsets within them.")
    borders = readonly(row_pointers(ends - starts), np.int64)
    out = np.empty(int(borders[-1]), np.uint8)
    _copy(readonly(rows_verified(data, starts, ends), np.uint8), starts, borders, out)
    return readonly(out, np.uint8), borders


_AS_STORED = readonly([], np.int64)


@subkernel
def _is_less(data: Bytes, start: int, end: int, key: Bytes) -> bool:
    for k in range(min(end - start, key.size)):
        if data[start + k] != key[k]:
            return bool(data[start + k] < key[k])
    return end - start < key.size


@kernel
def _position(data: Bytes, offsets: Pointers, order: Pointers, key: Bytes, low: int) -> int:
    high = offsets.size - 1
    while low < high:
        middle = (low + high) // 2
        at = order[middle] if order.size else middle
        if _is_less(data, offsets[at], offsets[at + 1], key):
            low = middle + 1
        else:
            high = middle
    return low


def position(data: ArrayLike, offsets: ArrayLike, key: bytes, order: ArrayLike | None = None, low: int = 0) -> int:
    """Return the first position, from `low` on, of a string that does not sort before the key.

    `order`, int64[n], sorts the strings; without it they are sorted as they are. The caller has checked the offsets.

    >>> words, borders = np.frombuffer(b"baab", np.uint8), [0, 1, 2, 4]
    >>> position(words, borders, b"ab", [1, 2, 0]), position(words, borders, b"b", [1, 2, 0])
    (1, 2)
    """
    sorting = _AS_STORED if order is None else readonly(order, np.int64)
    pattern = np.frombuffer(key, np.uint8)
    return int(_position(readonly(data, np.uint8), readonly(offsets, np.int64), sorting, pattern, low))


def ranking(data: ArrayLike, offsets: ArrayLike) -> Pointers:
    """Return the positions of a column's strings in the order of their bytes, equal strings by position: int64[n].

    Raises ValueError if the offsets do not fit the data.

    >>> ranking(np.frombuffer(b"baab", np.uint8), [0, 1, 2, 4, 4]).tolist()
    [3, 1, 2, 0]
    """
    block, borders = _column(data, offsets, "offsets")
    order = np.arange(borders.size - 1)

    def key(positions: Pointers, depth: int) -> tuple[Hashes, NDArray[np.bool_]]:
        ends, keys = borders[positions + 1], np.empty(positions.size, np.uint64)
        _keys(block, np.minimum(borders[positions] + 7 * depth, ends), ends, keys)
        return keys, (keys & np.uint64(0xFF)) == 8

    sort_by(order, key)
    return order


def _column(data: ArrayLike, offsets: ArrayLike, what: str) -> tuple[Bytes, Pointers]:
    """Check both arrays, because kernels do not check bounds, and return them as kernels take them."""
    block, borders = readonly(data, np.uint8), readonly(offsets, np.int64)
    if not borders.size or borders[0] < 0 or borders[-1] > block.size or np.any(borders[1:] < borders[:-1]):
        raise ValueError(f"{what} does not cut {block.size} bytes of data. Pass ascending offsets within them.")
    if block.size < 8:  # eight bytes are read at a time
        block = readonly(np.append(block, np.zeros(8, np.uint8)), np.uint8)
    _countable(borders.size - 1, "strings")
    return block, borders


def _countable(count: int, what: str) -> None:
    if count > _MAX:
        raise ValueError(f"the column holds {count} {what}, but at most {_MAX} can be numbered. Pass fewer at a time.")


def _words(data: Bytes, offsets: Pointers) -> tuple[Ids, Ids, Pointers, Pointers, Hashes]:
    """Return the result of `tokens`, and the hash table of the distinct words."""
    count = _count(data, offsets)
    _countable(count, "words")
    number, owner = np.empty(count, np.int32), np.empty(count, np.int32)
    starts, ends = np.empty(count, np.int64), np.empty(count, np.int64)  # mapped as far as they are filled
    slots, text, position, done, size = np.zeros(_ROOM, np.uint64), 0, 0, 0, 0
    while text < offsets.size - 1:
        slots = _roomy(slots, size)
        text, position, done, size = _tokens(
            data, offsets, number, owner, starts, ends, slots, text, position, done, size
        )
    return number, owner, starts[:size].copy(), ends[:size].copy(), slots


def _roomy(slots: Hashes, size: int) -> Hashes:
    """Return a hash table of which less than half is filled by `size` strings: this one, or a larger one."""
    if 2 * size < slots.size:
        return slots
    wider = np.zeros(2 * slots.size, np.uint64)
    _rehash(slots, wider)
    return wider
