"""Merge of the chunks' extractions into one graph: names are unified, mentions and relations become nodes and edges.

The graph is a function of the stored extractions alone: without a document it is the graph that would have been built
without it. All work is done on whole columns; data that depend on one chunk alone were computed when the chunk was
added (see `ChunkRecord`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.build.descriptions import description
from graphwright.build.record_merge import merged_records
from graphwright.extract.derived import Derived
from graphwright.graph.columns import Passages, TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import ABOUT, ALIAS, MENTIONS, REFERS, SYNONYM, Columns, Graph, Ids32, Kind
from graphwright.kernels.csr import Csr, group
from graphwright.kernels.ranking import sorted_distinct
from graphwright.kernels.strings import distinct, phrases
from graphwright.store.chunk_columns import ChunkColumns, PerChunk

_MAX_TOPICS = 5  # a shorter name of more topics than this is too ambiguous


class _Stated(NamedTuple):
    """Relations between entities: head and tail, the chunk that states each, and its label and text in that chunk."""

    head: Ids32
    label: Ids32
    tail: Ids32
    text: Ids32
    chunk: Ids32


@dataclass(frozen=True, eq=False)
class MergedChunks:
    """One graph of many chunks. Chunks are nodes 0 to p - 1; entities follow in the order of first mention.

    Entities are numbered from 0 here: first those that chunks name, then shorter names that only occur as aliases of
    topics. `same`: the form that takes the place of each form that is merged with another (see `resolve`). `derived`:
    summaries of descriptions. `description_tokens`: as in Settings.
    """

    chunks: ChunkColumns
    same: Mapping[str, str] = field(default_factory=dict)
    derived: Derived = field(default_factory=Derived)
    description_tokens: int = 300

    @cached_property
    def _forms(self) -> PerChunk[TextColumn]:
        forms = self.chunks.strings("forms")
        return PerChunk(self._resolved(forms.values), forms.indptr)

    def _resolved(self, column: TextColumn) -> TextColumn:
        """Return a column of forms in which merged forms are replaced."""
        if not self.same:
            return column
        merged, replacing = TextColumn.of(self.same), TextColumn.of(self.same.values())
        number = _numbered(TextColumn.joined((merged, column)))[0][len(merged) :].astype(np.int64)
        at = np.where(number < len(merged), number, 2 * len(merged) + np.arange(len(column)))
        both = TextColumn.joined((replacing, merged, column))
        return both.gather(at)

    @cached_property
    def _numbers(self) -> tuple[Ids32, Ids32, Ids32, Ints]:
        """The number of each form, alias and topic phrase of each chunk, and the first string of each number.

        They are numbered together, forms first, so that the numbers of forms are those of entities.
        """
        further = (self._resolved(self.chunks.strings(field).values) for field in ("aliases", "topic_phrases"))
        some = [self._forms.values, *further]
        number, first = _numbered(TextColumn.joined(some))
        forms, aliases, topics = np.split(number, np.cumsum([len(column) for column in some])[:-1])
        return forms, aliases, topics, first

    @cached_property
    def _numbering(self) -> tuple[Ids32, Ints]:
        """The entity of each form of each chunk, and the first form of each entity."""
        number, *_, first = self._numbers
        return number, first[: int(number.max(initial=-1)) + 1]

    def number(self) -> None:
        """Number the forms and shorter forms now, so that threads need not compute the numbers."""
        self._aliases  # noqa: B018
        self.forms  # noqa: B018

    @cached_property
    def _topic(self) -> Ints:
        """The entity that is the topic of each chunk, -1 for none: int64[p]."""
        topic = np.full(len(self.chunks), -1)
        has_topic = self.chunks.has_topic
        topic[has_topic] = self._numbering[0][self._forms.indptr[:-1][has_topic]]
        return topic

    @cached_property
    def _shorter(self) -> tuple[Ints, Ints]:
        """Pairs (number of a topic's shorter form, entity that it may mean), in the order of first appearance."""
        number, order = _by_first(self._numbers[1])
        form, entity = _distinct_pairs(number, self._topic[self.chunks.strings("aliases").owner])
        pair = (np.bincount(form, minlength=len(order)) <= _MAX_TOPICS)[form]
        return order[form[pair]], entity[pair]

    @cached_property
    def _further(self) -> Ints:
        """The numbers of shorter forms that no chunk names, ascending: entities after all others."""
        shorter = sorted_distinct(self._shorter[0])
        return shorter[shorter >= len(self._numbering[1])]

    def _entity(self, number: NDArray[np.integer[Any]]) -> Ints:
        """Return the entity of each number of a string, -1 for a shorter form of too many topics."""
        named = len(self._numbering[1])
        entity = np.full(len(self._numbers[3]) + 1, -1)
        entity[:named] = np.arange(named)
        entity[self._further] = named + np.arange(len(self._further))
        entities: Ints = entity[number]
        return entities

    @cached_property
    def forms(self) -> TextColumn:
        """The normal form of each entity."""
        forms = self._forms.values
        aliases = self._resolved(self.chunks.strings("aliases").values)
        *_, first = self._numbers
        mentioned = forms.gather(self._numbering[1])
        return TextColumn.joined((mentioned, aliases.gather(first[self._further] - len(forms))))

    @cached_property
    def _aliases(self) -> tuple[Ints, Ints]:
        """Pairs (entity that is a shorter name, entity that it may mean)."""
        shorter, full = self._shorter
        alias = self._entity(shorter)
        differ = alias != full
        return alias[differ], full[differ]

    @cached_property
    def names(self) -> TextColumn:
        """The name of each entity: its most frequent surface form (the first of equals), else its form."""
        surfaces = self.chunks.strings("surfaces")
        form = self.chunks.numbers("surface_form").values[:, 0]
        entity = self._numbering[0][self._forms.indptr[surfaces.owner] + form]
        number, first = _numbered(surfaces.values)
        counts = np.bincount(number, self.chunks.numbers("counts").values[:, 0], len(first))
        names = surfaces.values.gather(first[_most_frequent(entity[first], counts, first)])
        rest = self.forms.gather(np.arange(len(names), len(self.forms)))
        return TextColumn.joined((names, rest))

    @cached_property
    def _phrase_matches(self) -> tuple[Ints, Ints]:
        """Pairs (chunk, entity) of topics and their aliases that occur in the text of a chunk."""
        topics = self.chunks.strings("topic_phrases").values
        distinct_topics = _numbered(topics)[1]
        topics, entity = topics.gather(distinct_topics), self._entity(self._numbers[2][distinct_topics])
        # An alias of too many topics is not searched for.
        specific = (entity >= 0) & np.isin(entity, np.concatenate((self._topic, self._aliases[0])))
        topics, entity = topics.gather(np.flatnonzero(specific)), entity[specific]
        texts = self.chunks.strings("name_words").values
        chunk, phrase = phrases(texts.data, texts.offsets, topics.data, topics.offsets)
        return chunk.astype(np.int64), entity[phrase]

    @cached_property
    def mentions(self) -> tuple[Ints, Ints]:
        """Pairs (chunk, entity) ordered by chunk: extracted mentions, then matches of topics in the text."""
        owner, entity = self._forms.owner, self._numbering[0].astype(np.int64)
        count = max(len(self.forms), 1)
        chunk, matched = self._phrase_matches
        extracted = np.sort(owner * count + entity)
        pairs = chunk * count + matched
        at = np.minimum(np.searchsorted(extracted, pairs), max(len(extracted) - 1, 0))
        new = extracted[at] != pairs if len(extracted) else np.ones(len(pairs), bool)
        owner, entity = np.concatenate((owner, chunk[new])), np.concatenate((entity, matched[new]))
        order = np.argsort(owner, kind="stable")
        if self.same:  # two forms in one chunk may be one entity
            _, first = np.unique(owner[order] * count + entity[order], return_index=True)
            order = order[np.sort(first)]
        return owner[order], entity[order]

    @cached_property
    def sentences(self) -> TextColumn:
        """The distinct texts of relations."""
        return self._relation_texts[0]

    @cached_property
    def _relation_texts(self) -> tuple[TextColumn, Ids32]:
        """The distinct texts of relations, and the number of each text of each chunk."""
        texts = self.chunks.strings("texts").values
        number, first = _numbered(texts)
        return texts.gather(first), number

    @cached_property
    def texts(self) -> TextColumn:
        """The text of each entity for models: "name (type): descriptions", or the name alone.

        The type is the most frequent one; each distinct description is included once.
        """
        types, descriptions = self.chunks.strings("types").values, self.chunks.strings("descriptions").values
        if not len(types):
            return self.names
        entities = self._described_entities
        texts = TextColumn.paired(self.names, self._type_suffixes(entities, types))
        described = np.flatnonzero(np.diff(descriptions.offsets) > 0)
        rows: defaultdict[int, list[int]] = defaultdict(list)
        for row in described.tolist():
            rows[int(entities[row])].append(row)
        if not rows:
            return texts
        listed = list(texts)
        for entity in rows:
            parts = dict.fromkeys(descriptions[row] for row in rows[entity])
            text = description(listed[entity], list(parts), self.description_tokens, self.derived)
            listed[entity] += f": {text}" if text else ""
        return TextColumn.of(listed)

    @property
    def _described_entities(self) -> Ids32:
        """The entity of each mention with a type and a description, either of which may be empty."""
        described = np.diff(self.chunks.strings("types").indptr) > 0
        mentions, surfaces = self.chunks.numbers("mentions", 3), self.chunks.strings("surfaces").indptr
        form = self.chunks.numbers("surface_form").values[:, 0]
        counted = described[mentions.owner]
        owner, surface = mentions.owner[counted], mentions.values[counted, 0]
        entities: Ids32 = self._numbering[0][self._forms.indptr[owner] + form[surfaces[owner] + surface]]
        return entities

    def _type_suffixes(self, entities: Ids32, types: TextColumn) -> TextColumn:
        """Return " (type)" for each entity: the most frequent type of its mentions, of equals the first."""
        number, first = _numbered(types)
        typed = np.flatnonzero(np.diff(types.offsets) > 0)
        pairs, place, counts = np.unique(
            entities[typed].astype(np.int64) * len(first) + number[typed], return_index=True, return_counts=True
        )
        entity, kind = np.divmod(pairs, max(len(first), 1))
        leading = _most_frequent(entity, counts, place)
        position = np.full(len(self.names), len(first))
        position[entity[leading]] = kind[leading]
        return TextColumn.of([*(f" ({name})" for name in types.gather(first)), ""]).gather(position)

    def graph(self, synonyms: NDArray[np.int64]) -> Graph:
        """Return the graph; `synonyms: int64[pairs, 2]` are numbers of entities with nearly the same meaning."""
        chunks, p = self.chunks, len(self.chunks)
        with ThreadPoolExecutor(1) as beside:
            alias_nodes = beside.submit(self._alias_nodes)
            records = beside.submit(merged_records, chunks, self.forms, self._resolved)
            relations, heads, relation, tails, sentence, chunk = self._edges(synonyms)
            vars(self).pop("_stated")
            aliases, alias_node = alias_nodes.result()
        owner, entity = self.mentions
        nodes = (p + entity).astype(np.int32)
        return Graph(
            Columns(
                names=TextColumn.joined((chunks.names, self.names)),
                texts=TextColumn.joined((chunks.text, self.texts)),
                kinds=np.repeat(np.array([Kind.CHUNK, Kind.ENTITY], np.uint8), [p, len(self.names)]),
                heads=heads,
                relation=relation,
                tails=tails,
                relations=relations,
                edge_text=sentence,
                sentences=self.sentences,
                node_chunks=group(p + len(self.names), nodes, owner.astype(np.int32)),
                edge_chunks=Csr(np.concatenate(([0], np.cumsum(chunk >= 0))), chunk[chunk >= 0]),
                passages=Passages(
                    nodes=np.arange(p),
                    document=chunks.document,
                    title=chunks.titles[1],
                    start=chunks.start,
                    end=chunks.end,
                    names=chunks.names,
                    documents=chunks.ids,
                    titles=chunks.titles[0],
                    places=chunks.places,
                ),
                aliases=aliases,
                alias_node=alias_node,
                records=records.result(),
            )
        )

    @cached_property
    def _references(self) -> tuple[Ints, Ints]:
        """Pairs (chunk, first chunk of a document that its own refers to), ascending."""
        source, target = self.chunks.references
        if not len(source):
            return source, target
        first = np.searchsorted(self.chunks.document, np.arange(len(self.chunks.ids) + 1))
        sizes = np.diff(first)
        has_text = sizes[target] > 0  # a document may consist of white space only
        source, target = source[has_text], target[has_text]
        ends = np.cumsum(sizes[source])
        chunk = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first[source + 1] - ends, sizes[source])
        other = np.repeat(first[target], sizes[source])
        order = np.lexsort((other, chunk))
        return chunk[order], other[order]

    @cached_property
    def _stated(self) -> _Stated:
        """The relations between two different entities."""
        rows, indptr = self.chunks.numbers("relations", 4)
        chunk = np.repeat(np.arange(len(self.chunks), dtype=np.int32), np.diff(indptr))
        head, tail = (self._numbering[0][self._forms.indptr[chunk] + rows[:, side]] for side in (0, 2))
        differ = head != tail
        label, text = rows[differ, 1], rows[differ, 3]
        return _Stated(head[differ], label, tail[differ], text, chunk[differ])

    def statements(self) -> Iterator[tuple[int, str, int]]:
        """Yield the relations between entities: head, label and tail."""
        stated, labels = self._stated, self.chunks.strings("labels")
        at = labels.indptr[stated.chunk] + stated.label
        for head, label, tail in zip(stated.head.tolist(), at.tolist(), stated.tail.tolist(), strict=True):
            yield head, labels.values[label], tail

    def statement_texts(self) -> Iterator[str]:
        """Yield the text of each relation of `statements`."""
        stated, texts = self._stated, self.chunks.strings("texts")
        yield from map(texts.values.__getitem__, (texts.indptr[stated.chunk] + stated.text).tolist())

    def _edges(self, synonyms: NDArray[np.int64]) -> tuple[TextColumn, Ids32, Ids32, Ids32, Ids32, Ids32]:
        """Return relations, and of all edges heads, relations, tails, sentences and chunks: int32 each."""
        p, chunks = len(self.chunks), self.chunks
        labels = chunks.strings("labels")
        number, first = _numbered(labels.values)
        source, target = self._references
        # The last relation is named only if it occurs, so that a graph without links does not depend on it.
        built_in = TextColumn.of((ABOUT, MENTIONS, ALIAS, SYNONYM, *([REFERS] if len(source) else ())))
        about, mentions, alias, synonym, refers = range(len(first), len(first) + 5)
        stated = self._stated
        text = self._relation_texts[1][chunks.strings("texts").indptr[stated.chunk] + stated.text]
        owner, entity = self.mentions
        shorter, full = self._aliases
        none = np.full(len(shorter) + len(synonyms), -1)
        parts = (
            (owner, p + stated.head, p + shorter, p + synonyms[:, 0], source),
            (
                np.where(entity == self._topic[owner], about, mentions),
                number[labels.indptr[stated.chunk] + stated.label],
                np.full(len(shorter), alias),
                np.full(len(synonyms), synonym),
                np.full(len(source), refers),
            ),
            (p + entity, p + stated.tail, p + full, p + synonyms[:, 1], target),
            (np.full(len(owner), -1), text, none, np.full(len(source), -1)),
            (owner, stated.chunk, none, source),
        )
        columns = [_joined(part) for part in parts]
        return (TextColumn.joined((labels.values.gather(first), built_in)), *columns)  # type: ignore[return-value]

    def _alias_nodes(self) -> tuple[TextColumn, Ints]:
        """Return normal forms in order and the node of each: an entity's forms, and a topic's aliases."""
        shorter, full = self._aliases
        forms, merged_into = self.forms, np.arange(len(self.forms))
        if self.same:
            merged_into = _numbered(TextColumn.joined((forms, TextColumn.of(self.same.values()))))[0].astype(np.int64)
            forms = TextColumn.joined((forms, TextColumn.of(self.same)))
        order = forms.order()
        rank = np.empty(len(forms), np.int64)
        rank[order] = np.arange(len(forms))
        at, node = _distinct_pairs(np.concatenate((rank, rank[shorter])), np.concatenate((merged_into, full)))
        return forms.gather(order[at]), len(self.chunks) + node


def _most_frequent(entity: Ids32 | Ints, counts: NDArray[Any], place: Ints) -> Ints:
    """Return the position of the highest count of each entity, of equals that with the smallest place."""
    order = np.lexsort((place, -counts, entity))
    return order[np.diff(entity[order], prepend=-1) > 0]


def _joined(parts: tuple[NDArray[Any], ...]) -> Ids32:
    """Return arrays end to end as int32, read-only, so that the graph does not copy them."""
    joined = np.concatenate(parts, dtype=np.int32, casting="same_kind")
    joined.flags.writeable = False
    return joined


def _numbered(column: TextColumn) -> tuple[Ids32, Ints]:
    """Number equal strings alike, by first appearance; return the numbers, and the first string of each number."""
    number, first = distinct(column.data, column.offsets)
    return number, np.asarray(first, np.int64)


def _by_first(values: Ids32) -> tuple[Ints, Ints]:
    """Number values by first appearance; return the number of each, and the value of each number."""
    distinct_values, first, at = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return number[at], distinct_values[order].astype(np.int64)


def _distinct_pairs(first: NDArray[Any], second: NDArray[Any]) -> tuple[Ints, Ints]:
    """Return the distinct pairs of two columns of numbers from 0, in order."""
    size = int(second.max(initial=0)) + 1
    left, right = np.divmod(sorted_distinct(first.astype(np.int64) * size + second), size)
    return left, right
