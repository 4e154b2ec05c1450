"""Numbers of the entities that chunks name: equal normal forms, and shorter names of topics, are one each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Ids32
from graphwright.kernels.ranking import sorted_distinct
from graphwright.store.chunk_columns import ChunkColumns, PerChunk

_MAX_TOPICS = 5  # a shorter name of more topics than this is too ambiguous


@dataclass(frozen=True, eq=False)
class EntityNumbers:
    """The entities of many chunks, from 0: those that chunks name, in the order of first mention, then shorter names.

    Of the shorter names those count that only occur as aliases of topics. `same`: the form that takes the place of each
    form that is merged with another (see `resolve`).
    """

    chunks: ChunkColumns
    same: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _forms(self) -> PerChunk[TextColumn]:
        forms = self.chunks.strings("forms")
        return PerChunk(self.resolved(forms.values), forms.indptr)

    def resolved(self, column: TextColumn) -> TextColumn:
        """Return a column of forms in which merged forms are replaced."""
        if not self.same:
            return column
        merged, replacing = TextColumn.of(self.same), TextColumn.of(self.same.values())
        at = merged.positions(column)
        return TextColumn.joined((replacing, column)).gather(
            np.where(at >= 0, at, len(merged) + np.arange(len(column)))
        )

    @cached_property
    def _numbers(self) -> tuple[Ids32, Ids32, Ids32, Ints]:
        """The number of each form, alias and topic phrase of each chunk, and the first string of each number.

        They are numbered together, forms first, so that the numbers of forms are those of entities.
        """
        further = (self.resolved(self.chunks.strings(field).values) for field in ("aliases", "topic_phrases"))
        some = [self._forms.values, *further]
        number, first = TextColumn.joined(some).numbered()
        forms, aliases, topics = np.split(number, np.cumsum([len(column) for column in some])[:-1])
        return forms, aliases, topics, first

    @property
    def of_forms(self) -> Ids32:
        """The entity of each form of each chunk."""
        return self._numbers[0]

    @property
    def chunk_of_forms(self) -> Ints:
        """The chunk of each form."""
        return self._forms.owner

    def of(self, chunk: NDArray[Any], form: NDArray[Any]) -> Ids32:
        """Return the entity of the form of that number in each chunk."""
        entities: Ids32 = self.of_forms[self._forms.indptr[chunk] + form]
        return entities

    @cached_property
    def _first(self) -> Ints:
        """The first form of each entity that a chunk names."""
        return self._numbers[3][: int(self.of_forms.max(initial=-1)) + 1]

    def compute(self) -> None:
        """Number the forms and shorter forms now, so that threads need not compute the numbers."""
        self.aliases  # noqa: B018
        self.forms  # noqa: B018

    @cached_property
    def topic(self) -> Ints:
        """The entity that is the topic of each chunk, -1 for none: int64[p]."""
        topic = np.full(len(self.chunks), -1)
        has_topic = self.chunks.has_topic
        topic[has_topic] = self.of(np.flatnonzero(has_topic), np.zeros(1, np.int64))
        return topic

    @cached_property
    def _shorter(self) -> tuple[Ints, Ints]:
        """Pairs (number of a topic's shorter form, entity that it may mean), in the order of first appearance."""
        number, order = _by_first(self._numbers[1])
        form, entity = distinct_pairs(number, self.topic[self.chunks.strings("aliases").owner])
        pair = (np.bincount(form, minlength=len(order)) <= _MAX_TOPICS)[form]
        return order[form[pair]], entity[pair]

    @cached_property
    def _further(self) -> Ints:
        """The numbers of shorter forms that no chunk names, ascending: entities after all others."""
        shorter = sorted_distinct(self._shorter[0])
        return shorter[shorter >= len(self._first)]

    def _entity(self, number: NDArray[np.integer[Any]]) -> Ints:
        """Return the entity of each number of a string, -1 for a shorter form of too many topics."""
        named = len(self._first)
        entity = np.full(len(self._numbers[3]) + 1, -1)
        entity[:named] = np.arange(named)
        entity[self._further] = named + np.arange(len(self._further))
        entities: Ints = entity[number]
        return entities

    def of_topic_phrases(self, phrases: Ints) -> Ints:
        """Return the entity of each of some topic phrases, -1 for a shorter form of too many topics."""
        return self._entity(self._numbers[2][phrases])

    @cached_property
    def forms(self) -> TextColumn:
        """The normal form of each entity."""
        forms = self._forms.values
        aliases = self.resolved(self.chunks.strings("aliases").values)
        *_, first = self._numbers
        mentioned = forms.gather(self._first)
        return TextColumn.joined((mentioned, aliases.gather(first[self._further] - len(forms))))

    @cached_property
    def aliases(self) -> tuple[Ints, Ints]:
        """Pairs (entity that is a shorter name, entity that it may mean)."""
        shorter, full = self._shorter
        alias = self._entity(shorter)
        differ = alias != full
        return alias[differ], full[differ]


def _by_first(values: Ids32) -> tuple[Ints, Ints]:
    """Number values by first appearance; return the number of each, and the value of each number."""
    distinct_values, first, at = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return number[at], distinct_values[order].astype(np.int64)


def distinct_pairs(first: NDArray[Any], second: NDArray[Any]) -> tuple[Ints, Ints]:
    """Return the distinct pairs of two columns of numbers from 0, in order."""
    size = int(second.max(initial=0)) + 1
    left, right = np.divmod(sorted_distinct(first.astype(np.int64) * size + second), size)
    return left, right
