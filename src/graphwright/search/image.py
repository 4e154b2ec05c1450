"""Images: arrays of a snapshot with free room between their rows, so that a change moves few of them.

The arrays of a snapshot are rows over spaces of numbers: chunks, entities, edges and so on, each in the order of its
content, so that a new entity moves the numbers of all after it. In an image a number has a place instead, and about a
quarter of the places is free. A row that is known keeps its place; a new one takes the place behind the row before it,
and moves those behind it up to the next free place. Texts lie in a heap, at any position: a text that is known stays
where it is. So an image has the same order as the snapshot, and differs little from the image before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.kernels.csr import row_pointers
from graphwright.kernels.strings import cut_out, fingerprints

Array = NDArray[Any]
Dense = dict[str, Any]
"""The arrays and columns of text of a snapshot by name, without room."""

# The space of the rows of each array, and the space that its values number, if any.
_ARRAYS = {
    **{name: ("edge", values) for name, values in (("heads", "node"), ("tails", "node"), ("relation", "relation"))},
    **{name: ("edge", values) for name, values in (("edge_text", "sentence"), ("edge_chunk", "chunk"))},
    **{f"passages.{name}": ("chunk", name) for name in ("document", "title")},
    **{f"passages.{name}": ("chunk", "") for name in ("start", "end", "copy_keys")},
    "alias_node": ("alias", "node"),
    "words.word": ("posting", "word"),
    "words.rows": ("posting", "chunk"),
    "words.counts": ("posting", ""),
    "words.lengths": ("chunk", ""),
    "nearest": ("entity", "entity"),
    **{
        f"{name}.rows": (rows, "")
        for name, rows in (("passages", "chunk"), ("names", "entity"), ("triples", "sentence"))
    },
    **{f"{name}.{part}": (f"{name} row", "") for name in ("passages", "names", "triples") for part in ("keys", "sums")},
    **{f"{name}.blocks": (f"{name} block", "") for name in ("passages", "names", "triples")},
    "records.type": ("record", "type"),
    "records.chunk": ("record", "chunk"),
    "records.span": ("record", ""),
    "records.is_copy": ("record", ""),
    "records.record": ("field", "record"),
    "records.name": ("field", "name"),
    "records.text": ("field", "text"),
    "records.field_span": ("field", ""),
    "records.node": ("field", "node"),
    "records.form_text": ("form", "text"),
}
# The space of the rows of each column of text; where the space has none before it, its texts tell which row is known.
_TEXTS = {
    "passages.names": "chunk", "entities": "entity", "passages.documents": "document", "sections": "section",
    "sentences": "sentence", "relations": "relation", "aliases": "alias", "words.words": "word",
    "records.types": "type", "records.names": "name", "records.texts": "text", "records.forms": "form",
    "document titles": "document", "passages.places": "document", "texts": "chunk", "descriptions": "node",
}  # fmt: skip
_JOINED = {"node": ("chunk", "entity"), "title": ("document", "section")}
"""Spaces that consist of two, one behind the other."""
_OF_TEXTS = (" starts", " sizes", " used")  # arrays beside heaps, and those of spaces
_MORE, _LEAST = 4, 64  # one place of this many is free, and so many at the end


class _Space(NamedTuple):
    """The place of each row, ascending; the place that it had before, -1 for a new row; and the number of places."""

    place: Ints
    before: Ints
    size: int

    @classmethod
    def fresh(cls, count: int, *, spread: bool = True) -> _Space:
        """Return places with room between them, or with all room behind them."""
        place = np.arange(count) * (_MORE + 1) // _MORE if spread else np.arange(count)
        return cls(place, np.full(count, -1), count * (_MORE + 2) // _MORE + _LEAST)

    def after(self, known: Ints) -> _Space | None:
        """Return the places of rows, given the number that each had here, -1 for new rows; None without room."""
        before = np.append(self.place, -1)[_in_order(known)]
        row = np.arange(len(known))
        place = np.maximum.accumulate(np.where(before < 0, 0, before - row)) + row
        return _Space(place, before, self.size) if not len(place) or place[-1] < self.size else None

    def inverse(self) -> Ints:
        """Return the row at each place, -1 for a free one."""
        row = np.full(self.size, -1)
        row[self.place] = np.arange(len(self.place))
        return row


def _in_order(known: Ints) -> Ints:
    """Return known numbers without those that are out of order, which count as new."""
    if not len(known):
        return known
    highest = np.maximum.accumulate(np.append(-1, known))[:-1]
    lowest = np.minimum.accumulate(np.where(known < 0, np.iinfo(np.int64).max, known)[::-1])[::-1]
    fall_behind, run_ahead = known <= highest, known > np.append(lowest[1:], np.iinfo(np.int64).max)
    wrong = fall_behind if (fall_behind & (known >= 0)).sum() < run_ahead.sum() else run_ahead
    kept = np.where(wrong, -1, known)
    return np.where(kept <= np.maximum.accumulate(np.append(-1, kept))[:-1], -1, kept)


@dataclass(frozen=True, eq=False)
class Image:
    """The arrays of a snapshot by place. `arrays`: those of `_ARRAYS`, texts as heap, starts and sizes, and which
    places of each space are used."""

    spaces: dict[str, _Space]
    arrays: dict[str, Array] = field(default_factory=dict)

    @classmethod
    def of(cls, dense: Dense, before: Image | None = None) -> Image | None:
        """Return the image of a snapshot, as near as possible to the one before; None where that has no room.

        >>> dense = {"passages.names": TextColumn.of(["a", "c"]), "passages.start": np.array([1, 3])}
        >>> image = Image.of(dense)
        >>> more = {"passages.names": TextColumn.of(["a", "b", "c"]), "passages.start": np.array([1, 2, 3])}
        >>> Image.of(more, image).dense()["passages.start"].tolist()
        [1, 2, 3]
        """
        image, names = (
            cls({}),
            {f"{name} heap" if isinstance(part, TextColumn) else name for name, part in dense.items()},
        )
        if before is not None and names != {name for name in before.arrays if not name.endswith(_OF_TEXTS)}:
            return None
        for name in _space_names(dense):
            space = _placed(name, dense, image.spaces, before)
            if space is None:
                return None
            image.spaces[name] = space
        for name, space in image.spaces.items():
            image.arrays[f"{name} used"] = _scattered(np.ones(len(space.place), np.uint8), space)
        for name, value in dense.items():
            if not isinstance(value, TextColumn):
                rows, values = (image.space(part) if part else None for part in _ARRAYS[name])
                assert rows is not None  # every array has rows
                image.arrays[name] = _scattered(value if values is None else _numbers(value, values.place), rows)
            elif not image._add_texts(name, value, before):
                return None
        return image

    @classmethod
    def read(cls, arrays: Mapping[str, Array]) -> Image:
        """Return the image that consists of these arrays."""
        used = {name.removesuffix(" used"): array for name, array in arrays.items() if name.endswith(" used")}
        places = {name: np.flatnonzero(array) for name, array in used.items()}
        spaces = {name: _Space(place, place, len(used[name])) for name, place in places.items()}
        return cls(spaces, dict(arrays))

    def space(self, name: str) -> _Space:
        """Return a space; the places of the second of two joined ones begin behind those of the first."""
        if name not in _JOINED:
            return self.spaces[name]
        first, second = (self.spaces[part] for part in _JOINED[name])
        before = np.where(second.before < 0, -1, first.size + second.before)
        place = np.concatenate((first.place, first.size + second.place))
        return _Space(place, np.concatenate((first.before, before)), first.size + second.size)

    def dense(self) -> Dense:
        """Return the arrays and columns without room."""
        dense, inverse = Dense(), dict[str, Ints]()
        for name, (rows, values) in _ARRAYS.items():
            if name in self.arrays:
                array = self.arrays[name][self.space(rows).place]
                if values:
                    inverse.setdefault(values, self.space(values).inverse())
                    array = _numbers(array, inverse[values])
                array.flags.writeable = False
                dense[name] = array
        for name in _TEXTS:
            if f"{name} heap" in self.arrays:
                dense[name] = self.texts(name, self.space(_TEXTS[name]).place)
        return dense

    def texts(self, name: str, place: Ints) -> TextColumn:
        """Return the texts at places."""
        starts, sizes = (self.arrays[f"{name} {part}"] for part in ("starts", "sizes"))
        return TextColumn(*cut_out(self.arrays[f"{name} heap"], starts[place], sizes[place]))

    def _add_texts(self, name: str, column: TextColumn, before: Image | None) -> bool:
        """Add a column of text: what is known stays where it is, the rest follows. Return whether there is room."""
        space, sizes = self.space(_TEXTS[name]), np.diff(column.offsets)
        if before is None:
            starts, heap = np.asarray(column.offsets[:-1]), np.zeros(len(column.data) * 5 // 4 + 64 * _LEAST, np.uint8)
            heap[: len(column.data)] = column.data
        else:
            known, heap = space.before >= 0, before.arrays[f"{name} heap"].copy()
            starts = np.zeros(len(sizes), np.int64)
            starts[known] = before.arrays[f"{name} starts"][space.before[known]]
            there = before.texts(name, space.before[known])
            known[known] = fingerprints(there.data, there.offsets) == fingerprints(
                *_parts(column.gather(np.flatnonzero(known)))
            )
            every = before.space(_TEXTS[name]).place
            gone = np.setdiff1d(every, space.before[known], assume_unique=True)
            old_starts, old_sizes = (before.arrays[f"{name} {part}"].astype(np.int64) for part in ("starts", "sizes"))
            heap[_entries(old_starts[gone], old_sizes[gone])] = 0  # no removed text is kept
            added, end = np.flatnonzero(~known), int((old_starts + old_sizes).max(initial=0))
            starts[added] = end + row_pointers(sizes[added])[:-1]
            new = column.gather(added).data
            if end + len(new) > len(heap):
                return False
            heap[end : end + len(new)] = new
        self.arrays[f"{name} heap"] = heap
        for part, values in (("starts", starts), ("sizes", sizes)):
            self.arrays[f"{name} {part}"] = _scattered(values.astype(np.uint32), space)
        return True


def _space_names(dense: Dense) -> Iterator[str]:
    """Yield the spaces of arrays, those first that others need."""
    used = [_TEXTS[name] for name in _TEXTS if name in dense]
    used += [rows for name, (rows, _) in _ARRAYS.items() if name in dense]
    yield from dict.fromkeys(name for name in used if name not in _JOINED)


def _placed(name: str, dense: Dense, spaces: Mapping[str, _Space], before: Image | None) -> _Space | None:
    """Return the places of a space's rows, given those of the spaces that they refer to."""
    column = next((dense[text] for text, rows in _TEXTS.items() if rows == name and text in dense), None)
    is_by_arrival = name.endswith((" row", " block"))
    if column is None:
        count = len(next(dense[array] for array, (rows, _) in _ARRAYS.items() if rows == name and array in dense))
    else:
        count = len(column)
    if before is None:
        return _Space.fresh(count, spread=not is_by_arrival)
    space = before.spaces[name]
    if is_by_arrival:
        return space.after(np.where(np.arange(count) < len(space.place), np.arange(count), -1))
    if column is not None:
        text = next(text for text, rows in _TEXTS.items() if rows == name and text in dense)
        number = TextColumn.joined((before.texts(text, space.place), column)).numbered()[0].astype(np.int64)
        keys = (_with_position(part, np.argsort(part, kind="stable")) for part in np.split(number, [len(space.place)]))
        return space.after(_found(*keys))
    now = Image(dict(spaces))
    values = {array: part for array, (rows, part) in _ARRAYS.items() if rows == name and array in dense}
    of_now = {array: _numbers(dense[array], now.space(part).place) for array, part in values.items() if part}
    of_before = {array: before.arrays[array][space.place] for array, part in values.items() if part}
    first_entity = before.spaces["chunk"].size
    return space.after(_found(_keys(name, of_before, first_entity), _keys(name, of_now, first_entity)))


def _keys(name: str, values: Mapping[str, Array], first_entity: int) -> Ints:
    """Return a number for each row by which it is found again: what it belongs to, and its position there."""
    if name == "posting":
        return values["words.word"].astype(np.int64) << 31 | values["words.rows"]
    if name == "edge":
        heads, tails, chunk = (values[part].astype(np.int64) for part in ("heads", "tails", "edge_chunk"))
        kind = (heads != chunk) + 2 * (chunk < 0) + 4 * (tails < first_entity)
        owner = kind << 31 | np.where(chunk < 0, heads, chunk)
    else:
        owner = values["records.chunk" if name == "record" else "records.record"].astype(np.int64)
    return _with_position(owner, np.arange(len(owner)))


def _with_position(owner: Ints, order: Ints) -> Ints:
    """Return numbers that tell apart rows of the same owner, which follow one another in an order, by their position."""
    grouped = owner[order]
    begins = np.flatnonzero(np.append(True, grouped[1:] != grouped[:-1])) if len(owner) else owner
    position = np.empty(len(owner), np.int64)
    position[order] = np.arange(len(owner)) - np.repeat(begins, np.diff(np.append(begins, len(owner))))
    return owner << 24 | np.minimum(position, 2**24 - 1)


def _found(keys: Ints, wanted: Ints) -> Ints:
    """Return the position of each wanted key, -1 for none."""
    order = np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(keys, wanted, sorter=order), max(len(keys) - 1, 0))
    return np.where(keys[order[at]] == wanted, order[at], -1) if len(keys) else np.full(len(wanted), -1)


def _scattered(values: Array, rows: _Space) -> Array:
    """Return an array with each row at its place."""
    array = np.zeros((rows.size, *values.shape[1:]), values.dtype)
    array[rows.place] = values
    return array


def _numbers(values: Array, numbers: Ints) -> Array:
    """Return numbers replaced, -1 by itself, of the same type."""
    return np.append(numbers, -1)[values].astype(values.dtype)


def _parts(column: TextColumn) -> tuple[Array, Ints]:
    return column.data, column.offsets


def _entries(starts: Ints, sizes: Ints) -> Ints:
    """Return the positions of all bytes of texts."""
    ends = row_pointers(sizes)
    return np.repeat(starts - ends[:-1], sizes) + np.arange(ends[-1])
