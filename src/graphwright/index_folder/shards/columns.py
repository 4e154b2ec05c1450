"""Columns of a snapshot that are kept in shards: each has the interface of the one in memory, and asks its shards.

Numbers are the same to the last bit: a shard computes the products of its own rows, and BM25 is computed here, from the
counts of the shards and the frequencies of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.errors import GraphwrightError
from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.kernels.blocks import FarArray, HalfArray, products
from graphwright.kernels.bubble import distances_of
from graphwright.kernels.far import Asked, Reading, together
from graphwright.models.protocols import Floats
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.vector_index import row_cosines

_KEPT_TEXTS = 10_000  # that a column keeps once they are fetched
_KEPT_WORDS = 200  # whose entries are kept


class ShardLost(GraphwrightError):
    """A shard does not answer; `shard` is its number."""

    def __init__(self, shard: int, reason: str) -> None:
        super().__init__(f"shard {shard} does not answer ({reason}). Questions are asked of the others meanwhile.")
        self.shard = shard


class Shards:
    """The holders of all shards, here in this process."""

    def __init__(self, holders: Sequence[Any]) -> None:
        self.holders, self.count = holders, len(holders)

    def call(self, method: str, values: Mapping[int, Sequence[Any]]) -> dict[int, Any]:
        """Call a method of some holders, all at once, with the values of each; raises one's error, or ShardLost."""
        return {shard: getattr(self.holders[shard], method)(*given) for shard, given in values.items()}

    def several(self, asked: Sequence[Asked]) -> list[dict[int, Any]]:
        """Make requests as one call of each holder, all at once; return for each request the replies of holders."""
        if len(asked) == 1:
            return [self.call(asked[0].method, asked[0].values)]
        calls: dict[int, list[tuple[int, str, Sequence[Any]]]] = {}
        for number, (_, method, values) in enumerate(asked):
            for shard, given in values.items():
                calls.setdefault(shard, []).append((number, method, given))
        replies = self.call("several", {shard: ([call[1:] for call in own],) for shard, own in calls.items()})
        found = [dict[int, Any]() for _ in asked]
        for shard, results in replies.items():
            for (number, *_), result in zip(calls[shard], results, strict=True):
                found[number][shard] = result
        return found

    def every(self, method: str, *values: Any) -> list[Any]:
        """Call a method of all holders, and return what each gives."""
        return list(self.call(method, dict.fromkeys(range(self.count), values)).values())

    def answers(self, shard: int) -> bool:
        """Return whether a shard that was lost answers again; does not wait."""
        return True

    def close(self) -> None:
        """Release the holders."""
        for holder in self.holders:
            holder.close()


@dataclass(frozen=True)
class Spread:
    """Rows in shards: row i is row `at[i]` of the rows of all shards end to end, of which each begins at a border.

    `borders: int64[shards + 1]`. `revisions`: of the snapshots that have the rows. `lost`: shards that are not asked;
    what they would give is missing, or zero.
    """

    shards: Shards
    revisions: Sequence[int]
    lost: frozenset[int]
    at: Ints
    borders: Ints

    def every(self, method: str, *values: Any) -> Reading[dict[int, Any]]:
        """Read what each shard gives that is not lost."""
        asked = {n: (self.revisions[n], *values) for n in range(self.shards.count) if n not in self.lost}
        return (yield Asked(self.shards, method, asked))

    def whole(self, method: str, *values: Any, beside: NDArray[Any]) -> Reading[NDArray[Any]]:
        """Read a value for each row; the shards give one for each of theirs, `beside` are those of rows after all."""
        every = np.zeros((self.borders[-1] + len(beside), *beside.shape[1:]), beside.dtype)
        every[self.borders[-1] :] = beside
        for shard, part in (yield from self.every(method, *values)).items():
            every[self.borders[shard] : self.borders[shard + 1]] = part
        result: NDArray[Any] = every[self.at]
        return result

    def some(self, rows: Ints, method: str, *values: Any) -> Reading[list[tuple[Ints, Any]]]:
        """Read what each shard gives for those of `rows` that it has, after their positions in `rows`."""
        at = self.at[rows]
        owner = np.searchsorted(self.borders, at, side="right") - 1
        parts = {n: np.flatnonzero(owner == n) for n in np.unique(owner).tolist()}
        own = {n: part for n, part in parts.items() if n < self.shards.count and n not in self.lost}
        if not own:
            return []
        asked = {n: (self.revisions[n], *values, at[part] - self.borders[n]) for n, part in own.items()}
        replies = yield Asked(self.shards, method, asked)
        return [(parts[shard], result) for shard, result in replies.items()]

    def beside(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the positions in `rows` of rows that no shard has, and their numbers after those of all shards."""
        at = self.at[rows]
        here = np.flatnonzero(at >= self.borders[-1])
        return here, at[here] - self.borders[-1]


class SpreadVectors(FarArray):
    """Vectors in shards; `beside`: those of texts that no shard has."""

    def __init__(self, spread: Spread, space: str, beside: HalfArray, dimension: int) -> None:
        super().__init__((len(spread.at), dimension))
        self.spread, self.space, self.beside = spread, space, beside

    def __getitem__(self, rows: Any) -> Floats:
        wanted = np.arange(len(self))[rows]
        flat = together(self.reading(wanted.reshape(-1)))[0]
        return np.reshape(flat, (*wanted.shape, self.shape[1]))

    def __matmul__(self, other: Floats) -> Floats:
        result: Floats = together(self.multiplying(other))[0]
        return result

    def reading(self, rows: Ints) -> Reading[Floats]:
        """Read some rows."""
        result = np.zeros((len(rows), self.shape[1]), np.float32)
        return self._some(rows, result, self.beside.__getitem__, "vectors")

    def multiplying(self, query: Floats) -> Reading[Floats]:
        """Read the products of all rows with a vector, or with the columns of a matrix."""
        beside = self.beside @ query if len(self.beside) else np.zeros((0, *np.shape(query)[1:]), np.float32)
        return self.spread.whole("products", self.space, np.asarray(query, np.float32), beside=beside)

    def products(self, rows: Ints, query: Floats) -> Floats:  # type: ignore[override]
        """Return the dot product of some rows with `query`."""
        result, beside = np.zeros(len(rows), np.float32), lambda own: products(self.beside, own, query)
        found: Floats = together(self._some(rows, result, beside, "products_of", query))[0]
        return found

    def comparing(self, rows: Ints, query: Floats) -> Reading[NDArray[np.float64]]:
        """Read the cosine of some rows with `query`."""
        result, beside = np.zeros(len(rows)), lambda own: row_cosines(self.beside, own, query)
        return self._some(rows, result, beside, "cosines", query)

    def _some(
        self, rows: Ints, result: NDArray[Any], beside: Callable[[Ints], NDArray[Any]], method: str, *values: Any
    ) -> Reading[Any]:
        """Fill in what the shards give for rows, and `beside` for rows that no shard has."""
        wanted = np.asarray(rows, np.int64)
        for at, part in (yield from self.spread.some(wanted, method, self.space, *values)):
            result[at] = part
        here, own = self.spread.beside(wanted)
        if len(here):
            result[here] = beside(own)
        return result

    def lengths(self) -> Floats:
        """Return the length of each row."""
        result: Floats = together(self.spread.whole("lengths", self.space, beside=self.beside.lengths()))[0]
        return result

    def distances(self, direction: NDArray[np.float64]) -> Ints:
        """Return the cost of each row (see `node_costs`)."""
        beside = distances_of(self.beside, direction)
        result: Ints = together(self.spread.whole("distances", self.space, direction, beside=beside))[0]
        return result


class SpreadTexts(TextColumn):
    """Texts of which the first are in shards, and those after them in `rest`, whose first are empty."""

    __slots__ = ("_kept", "column", "rest", "spread")

    def __init__(self, spread: Spread, column: str, rest: TextColumn) -> None:
        self.spread, self.column, self.rest = spread, column, rest
        self._kept: dict[int, bytes] = {}

    @property
    def data(self) -> NDArray[np.uint8]:  # type: ignore[override]
        """All texts end to end, fetched."""
        return self.gather(np.arange(len(self))).data

    @property
    def offsets(self) -> Ints:  # type: ignore[override]
        """Their borders."""
        return self.gather(np.arange(len(self))).offsets

    def __len__(self) -> int:
        return len(self.rest)

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return self._decoded(*at.indices(len(self)))
        return self.gather([range(len(self))[at]])[0]

    def _decoded(self, first: int, last: int, step: int) -> list[str]:
        return list(self.gather(np.arange(first, last, step)))

    def raw(self, at: int) -> bytes:
        """Return the bytes of one text."""
        return self.gather([at]).raw(0)

    def take(self, ids: Iterable[int]) -> list[str]:
        """Return the texts at `ids`, in that order."""
        return list(self.gather([int(i) for i in ids]))

    def gather(self, ids: ArrayLike) -> TextColumn:
        """Return the texts at `ids` as a column."""
        result: TextColumn = together(self.reading(ids))[0]
        return result

    def reading(self, ids: ArrayLike) -> Reading[TextColumn]:
        """Read the texts at `ids` as a column; those that are kept are not asked for."""
        wanted = np.asarray(ids, np.int64)
        result = self.rest.gather(wanted)  # raises ValueError for an id that is no position
        far = np.flatnonzero(wanted < len(self.spread.at))
        if not len(far):
            return result
        kept, parts = self._kept, list(map(result.raw, range(len(result))))
        unknown = np.array([row for row in dict.fromkeys(wanted[far].tolist()) if row not in kept], np.int64)
        found: dict[int, bytes] = {}
        for at, texts in (yield from self.spread.some(unknown, "texts", self.column)):
            found |= zip(unknown[at].tolist(), map(texts.raw, range(len(texts))), strict=True)
        for place in far.tolist():
            row = int(wanted[place])
            parts[place] = found[row] if row in found else kept.get(row, b"")
        if len(kept) + len(found) > _KEPT_TEXTS:
            self._kept = kept = {}
        kept |= found
        return TextColumn.of_bytes(parts)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SpreadWords(WordIndex):
    """Words of passages in shards: frequencies and lengths are here, the entries of a word in the shards.

    `spread`: of the passages. `row_of`: the row of each passage of the shards, end to end.
    """

    spread: Spread
    row_of: NDArray[np.int32]
    _kept: dict[str, tuple[NDArray[np.int32], NDArray[Any]]] = field(default_factory=dict, init=False)

    def reading(self, words: Sequence[str]) -> Reading[None]:
        """Read the entries of words from all shards."""
        unknown = [word for word in dict.fromkeys(words) if word not in self._kept and self.frequency(word)]
        if not unknown:
            return
        found = yield from self.spread.every("entries", unknown)
        if len(self._kept) + len(unknown) > _KEPT_WORDS:
            self._kept.clear()
        for at, word in enumerate(unknown):
            rows = [self.row_of[self.spread.borders[n] + part[at][0]] for n, part in found.items()]
            row = np.concatenate([np.empty(0, np.int32), *rows])
            count = np.concatenate([np.empty(0, np.uint8), *(part[at][1] for part in found.values())])
            order = np.argsort(row)
            self._kept[word] = row[order], count[order]

    def entries(self, word: str) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Return the rows with a word, ascending, and how often each has it."""
        while (known := self._kept.get(word)) is None:
            together(self.reading([word]))
        return known
