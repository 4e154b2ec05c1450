"""Entities that chunks name: numbers by equal normal forms and shorter names, and descriptions as one text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.extract.llm import Derived
from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Ids32
from graphwright.kernels.ranking import sorted_distinct
from graphwright.models.budget import estimated_tokens
from graphwright.prompts.templates import data_line
from graphwright.store.chunk_columns import ChunkColumns

_MAX_TOPICS = 5  # a shorter name of more topics than this is too ambiguous


class EntityNumbers:
    """The entities of many chunks, numbered from 0 in the order of their normal forms.

    These are the forms that chunks name, and the shorter forms of topics, but for those of too many topics. A number
    depends on the set of forms alone, not on where they occur. `same`: the form that takes the place of each form that
    is merged with another (see `resolve`). `further`: forms of entities that no chunk has.

    `forms`: the normal form of each entity, in order. `of_forms`, `of_topic_phrases: int32`: the entity of each form
    and topic phrase of each chunk; `topic: int64[p]`: the entity that is the topic of each chunk; -1 for none.
    `aliases`: pairs (entity that is a shorter name, entity that it may mean).
    """

    def __init__(self, chunks: ChunkColumns, same: Mapping[str, str], further: Sequence[str] = ()) -> None:
        self._same, self._first_form = same, chunks.strings("forms").indptr
        parts = [self.resolved(chunks.strings(field).values) for field in ("forms", "aliases", "topic_phrases")]
        parts.append(TextColumn.of(further))
        strings, position = TextColumn.joined(parts).ranked()
        forms, shorter, phrases, others = np.split(position, np.cumsum([len(part) for part in parts])[:-1])
        topic = np.full(len(chunks), -1)
        topic[chunks.has_topic] = forms[self._first_form[:-1][chunks.has_topic]]
        name, meant = distinct_pairs(shorter, topic[chunks.strings("aliases").owner])
        specific = (np.bincount(name) <= _MAX_TOPICS)[name]
        name, meant = name[specific], meant[specific]
        is_entity = np.zeros(len(strings), bool)
        is_entity[forms] = is_entity[name] = is_entity[others] = True
        entity = np.where(is_entity, np.cumsum(is_entity) - 1, -1).astype(np.int32)
        self.forms = strings.gather(np.flatnonzero(is_entity))
        self.of_forms, self.of_topic_phrases = entity[forms], entity[phrases]
        self.topic = np.where(topic < 0, -1, np.append(entity, -1)[topic])
        name, meant = entity[name].astype(np.int64), entity[meant].astype(np.int64)
        self.aliases = name[name != meant], meant[name != meant]

    def resolved(self, column: TextColumn) -> TextColumn:
        """Return a column of forms in which merged forms are replaced."""
        if not self._same:
            return column
        merged, replacing = TextColumn.of(self._same), TextColumn.of(self._same.values())
        at = merged.positions(column)
        return TextColumn.joined((replacing, column)).gather(
            np.where(at >= 0, at, len(merged) + np.arange(len(column)))
        )

    def of(self, chunk: NDArray[Any], form: NDArray[Any]) -> Ids32:
        """Return the entity of the form of that number in each chunk."""
        entities: Ids32 = self.of_forms[self._first_form[chunk] + form]
        return entities


def distinct_pairs(first: NDArray[Any], second: NDArray[Any]) -> tuple[Ints, Ints]:
    """Return the distinct pairs of two columns of numbers from 0, in order."""
    size = int(second.max(initial=0)) + 1
    left, right = np.divmod(sorted_distinct(first.astype(np.int64) * size + second), size)
    return left, right


_MAX_READ = 2_000  # tokens of descriptions that are summarised by one call


def description(name: str, parts: Sequence[str], max_tokens: int, derived: Derived) -> str:
    """Return the descriptions of an entity as one text.

    Up to `max_tokens` they are joined. Longer ones are replaced by a language model's summary, where `derived` has it;
    else the first that fit stay, at least one. Descriptions are summarised in their order, up to 2,000 tokens together,
    and several summaries are summarised again, so that a summary depends on nothing but the descriptions.
    """
    if _size(parts) <= max_tokens:
        return " ".join(parts)
    return _summary(name, parts, max_tokens, derived) or _first_parts(parts, max_tokens)


def _summary(name: str, parts: Sequence[str], max_tokens: int, derived: Derived) -> str | None:
    """Return the summary of descriptions, None where a part of it was not derived yet."""
    batches = list(_batches(parts))
    lines = [[{"name": name}, *({"description": part} for part in batch)] for batch in batches]
    summaries = [derived.get("describe", "\n".join(map(data_line, of_batch))) for of_batch in lines]
    texts = [summary for summary in summaries if summary is not None]
    if len(texts) < len(batches):
        return None
    if len(texts) == 1 or len(texts) == len(parts) or _size(texts) <= max_tokens:
        return " ".join(texts)
    return _summary(name, texts, max_tokens, derived)


def _batches(parts: Sequence[str]) -> Iterator[list[str]]:
    """Yield the parts in order, in groups that one call can read, each of at least one part."""
    batch: list[str] = []
    for part in parts:
        if batch and _size([*batch, part]) > _MAX_READ:
            yield batch
            batch = []
        batch.append(part)
    yield batch


def _first_parts(parts: Sequence[str], max_tokens: int) -> str:
    count = 1
    while count < len(parts) and _size(parts[: count + 1]) <= max_tokens:
        count += 1
    return " ".join(parts[:count])


def _size(parts: Sequence[str]) -> int:
    return estimated_tokens(" ".join(parts))
