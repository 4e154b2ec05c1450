"""Merge of the chunks' extractions into one graph: names are unified, mentions and relations become nodes and edges.

The graph is a function of the stored extractions and of the edits by hand (see `apply_edits`) alone: without a document
it is the graph that would have been built without it. All work is done on whole columns; data that depend on one chunk
alone were computed when the chunk was added (see `ChunkRecord`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.build.entity_numbers import EntityNumbers, description, distinct_pairs
from graphwright.build.record_merge import merged_records
from graphwright.extract.llm import Derived
from graphwright.extract.schema import NO_SCHEMA, Schema
from graphwright.graph.columns import Passages, TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import ABOUT, ALIAS, MENTIONS, REFERS, SYNONYM, Columns, Graph, Ids32, Kind
from graphwright.graph.records import RecordColumns
from graphwright.kernels.csr import Csr, group
from graphwright.kernels.strings import phrases
from graphwright.store.chunk_columns import ChunkColumns
from graphwright.text.copies import KEYS


class _Stated(NamedTuple):
    """Relations between entities: head and tail, the chunk that states each, and its label and text in that chunk."""

    head: Ids32
    label: Ids32
    tail: Ids32
    text: Ids32
    chunk: Ids32


class Split(NamedTuple):
    """Entities, by their forms, in some documents, by position: `before` is `after` there; "" for none."""

    documents: Ints
    before: str
    after: str


@dataclass(frozen=True)
class Corrections:
    """What edits by hand say of entities, by their forms: names, types, and what they mean in some documents.

    `matched`: forms that no chunk has, and that only matches of topics in the text name after a split.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    splits: Sequence[Split] = ()
    matched: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class MergedChunks:
    """One graph of many chunks. Chunks are nodes 0 to p - 1; entities follow in the order of their normal forms.

    Entities are numbered from 0 here. `same`: the form that takes the place of each form that is merged with another
    (see `resolve`). `derived`: summaries of descriptions. `description_tokens`: as in Settings. `schema`: that of the
    index; its types are columns of the graph. `corrections`: by edits, beside what these changed in the columns.
    """

    chunks: ChunkColumns
    same: Mapping[str, str] = field(default_factory=dict)
    derived: Derived = field(default_factory=Derived)
    description_tokens: int = 300
    schema: Schema = NO_SCHEMA
    corrections: Corrections = field(default_factory=Corrections)

    @cached_property
    def entities(self) -> EntityNumbers:
        """The entities that the chunks name."""
        return EntityNumbers(self.chunks, self.same, self.corrections.matched)

    @cached_property
    def names(self) -> TextColumn:
        """The name of each entity: its most frequent surface form (of equals the first in order), else its form."""
        surfaces, forms = self.chunks.strings("surfaces"), self.entities.forms
        form = self.chunks.numbers("surface_form").values[:, 0]
        number, first = surfaces.values.numbered()
        entity = self.entities.of(surfaces.owner[first], form[first])
        counts = np.bincount(number, self.chunks.numbers("counts").values[:, 0], len(first))
        leading = _most_frequent(entity, counts, surfaces.values, first)
        written, at = surfaces.values.gather(first[leading]), np.full(len(forms), -1)
        at[entity[leading]] = np.arange(len(leading))
        unwritten = np.flatnonzero(at < 0)
        at[unwritten] = len(leading) + np.arange(len(unwritten))
        given, corrected = self._corrected(self.corrections.names)
        at[given] = len(forms) + np.arange(len(given))
        return TextColumn.joined((written, forms.gather(unwritten), corrected)).gather(at)

    def _corrected(self, texts: Mapping[str, str]) -> tuple[Ints, TextColumn]:
        """Return the entities of those forms that are there, and their texts."""
        at = self.entities.forms.positions(TextColumn.of(texts))
        return at[at >= 0], TextColumn.of(texts.values()).gather(np.flatnonzero(at >= 0))

    def _split(self, document: NDArray[Any], entity: Ints) -> Ints:
        """Return the entities that some are in their documents, -1 for none."""
        for documents, before, after in self.corrections.splits:
            old, new = self.entities.forms.positions(TextColumn.of((before, after))).tolist()
            entity = np.where((entity == old) & (entity >= 0) & np.isin(document, documents), new, entity)
        return entity

    @cached_property
    def phrase_matches(self) -> tuple[Ints, Ints]:
        """Pairs (chunk, entity) of topics and their aliases that occur in the text of a chunk."""
        topics = self.chunks.strings("topic_phrases").values
        first = topics.numbered()[1]
        topics, entity = topics.gather(first), self.entities.of_topic_phrases[first]
        # An alias of too many topics is not searched for.
        specific = (entity >= 0) & np.isin(entity, np.concatenate((self.entities.topic, self.entities.aliases[0])))
        topics, entity = topics.gather(np.flatnonzero(specific)), entity[specific]
        texts = self.chunks.strings("name_words").values
        chunk, phrase = phrases(texts.data, texts.offsets, topics.data, topics.offsets)
        matched = self._split(self.chunks.document[chunk], entity[phrase].astype(np.int64))
        return chunk[matched >= 0].astype(np.int64), matched[matched >= 0]

    @cached_property
    def mentions(self) -> tuple[Ints, Ints]:
        """Pairs (chunk, entity) ordered by chunk: extracted mentions, then matches of topics in the text."""
        owner, entity = self.chunks.strings("forms").owner, self.entities.of_forms.astype(np.int64)
        count = max(len(self.entities.forms), 1)
        chunk, matched = self.phrase_matches
        extracted = np.sort(owner * count + entity)
        pairs = chunk * count + matched
        at = np.minimum(np.searchsorted(extracted, pairs), max(len(extracted) - 1, 0))
        new = extracted[at] != pairs if len(extracted) else np.ones(len(pairs), bool)
        owner, entity = np.concatenate((owner, chunk[new])), np.concatenate((entity, matched[new]))
        order = np.argsort(owner, kind="stable")
        if self.same or self.corrections.names or self.corrections.splits:  # two forms in one chunk may be one entity
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
        number, first = texts.numbered()
        return texts.gather(first), number

    @cached_property
    def texts(self) -> TextColumn:
        """The text of each entity for models: "name (most frequent type): distinct descriptions", or the name alone."""
        types, entity_type = self.types
        if not len(types) and not self.corrections.types:
            return self.names
        suffixes = TextColumn.of([*(f" ({name})" for name in types), ""])
        texts = TextColumn.paired(self.names, suffixes.gather(entity_type))
        entities, descriptions = self._described_entities, self.chunks.strings("descriptions").values
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
        described = np.diff(self.chunks.strings("types").indptr) > 0
        mentions, surfaces = self.chunks.numbers("mentions", 3), self.chunks.strings("surfaces").indptr
        form = self.chunks.numbers("surface_form").values[:, 0]
        counted = described[mentions.owner]
        owner, surface = mentions.owner[counted], mentions.values[counted, 0]
        return self.entities.of(owner, form[surfaces[owner] + surface])

    @cached_property
    def types(self) -> tuple[TextColumn, Ints]:
        """The names of the types, and the type of each entity, their number for none: int64.

        It is the most frequent type of its mentions, of equals the first in order; with a schema, the type of that name
        or of the columns of records whose fields name the entity.
        """
        types = self.chunks.strings("types").values
        distinct, number = types.ranked()
        typed, entities = np.flatnonzero(np.diff(types.offsets) > 0), self._described_entities
        pairs, counts = np.unique(entities[typed].astype(np.int64) * len(distinct) + number[typed], return_counts=True)
        entity, kind = np.divmod(pairs, max(len(distinct), 1))
        leading = _most_frequent(entity, counts, distinct, kind)
        position = np.full(len(self.names), len(distinct))
        position[entity[leading]] = kind[leading]
        names = list(distinct)
        position[position == len(names)] = -1
        if self.schema.entities:
            names = [kind.name for kind in self.schema.entities]
            of_schema = np.array([names.index(t) if t in names else -1 for t in [*distinct, ""]])
            position = of_schema[position]
            if (records := self._records) is not None:
                for column, name in enumerate(map(self.schema.entity_type, records.names)):
                    nodes = records.node[records.name == column] if name else records.node[:0]
                    position[nodes[nodes >= 0] - len(self.chunks)] = names.index(name) if name else 0
        given, written = self._corrected(self.corrections.types)
        corrected = [self.schema.entity_type(name) or name for name in written]
        names += sorted({name for name in corrected if name} - set(names))
        position[given] = [names.index(name) if name else -1 for name in corrected]
        return TextColumn.of(names), np.where(position < 0, len(names), position)

    @cached_property
    def _records(self) -> RecordColumns | None:
        records = merged_records(self.chunks, self.entities.forms, self.entities.resolved)
        if records is None or not self.corrections.splits:
            return records
        document, p = self.chunks.document[records.chunk[records.record]], len(self.chunks)
        entity = self._split(document, np.maximum(records.node.astype(np.int64) - p, -1))
        return replace(records, node=np.where(entity >= 0, p + entity, -1).astype(np.int32))

    def graph(self, synonyms: NDArray[np.int64]) -> Graph:
        """Return the graph; `synonyms: int64[pairs, 2]` are numbers of entities with nearly the same meaning."""
        chunks, p = self.chunks, len(self.chunks)
        with ThreadPoolExecutor(1) as beside:
            alias_nodes = beside.submit(self._alias_nodes)
            records = beside.submit(lambda: self._records)
            relations, heads, relation, tails, sentence, chunk = self._edges(synonyms)
            vars(self).pop("_stated")
            aliases, alias_node = alias_nodes.result()
        owner, entity = self.mentions
        types, node_type = self._node_types()
        nodes = (p + entity).astype(np.int32)
        return Graph(
            Columns(
                names=TextColumn.joined((chunks.names, self.names)),
                texts=chunks.text if self.texts is self.names else TextColumn.joined((chunks.text, self.texts)),
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
                    copy_keys=chunks.numbers("copy_keys", KEYS).values,
                ),
                aliases=aliases,
                alias_node=alias_node,
                records=records.result(),
                types=types,
                node_type=node_type,
            )
        )

    def _node_types(self) -> tuple[TextColumn | None, Ids32 | None]:
        """Return the types of the schema, and that of each node, -1 for none; None without a schema."""
        if not self.schema.entities:
            return None, None
        types, position = self.types
        entity_type = np.where(position < len(types), position, -1)
        return types, np.concatenate((np.full(len(self.chunks), -1), entity_type)).astype(np.int32)

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
        head, tail = (self.entities.of(chunk, rows[:, side]) for side in (0, 2))
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
        distinct, number = labels.values.ranked()
        source, target = self._references
        # The last relation is named only if it occurs, so that a graph without links does not depend on it.
        built_in = TextColumn.of((ABOUT, MENTIONS, ALIAS, SYNONYM, *([REFERS] if len(source) else ())))
        about, mentions, alias, synonym, refers = range(len(distinct), len(distinct) + 5)
        stated = self._stated
        text = self._relation_texts[1][chunks.strings("texts").indptr[stated.chunk] + stated.text]
        owner, entity = self.mentions
        shorter, full = self.entities.aliases
        none = np.full(len(shorter) + len(synonyms), -1)
        parts = (
            (owner, p + stated.head, p + shorter, p + synonyms[:, 0], source),
            (
                np.where(entity == self.entities.topic[owner], about, mentions),
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
        return (TextColumn.joined((distinct, built_in)), *columns)  # type: ignore[return-value]

    def _alias_nodes(self) -> tuple[TextColumn, Ints]:
        """Return normal forms in order and the node of each: an entity's forms, and a topic's aliases."""
        shorter, full = self.entities.aliases
        forms, entity = self.entities.forms, np.arange(len(self.entities.forms))
        rank: NDArray[Any] = entity
        if self.same:
            entity = np.append(entity, forms.positions(TextColumn.of(self.same.values())))
            forms, rank = TextColumn.joined((forms, TextColumn.of(self.same))).ranked()
            rank, entity = rank[entity >= 0], entity[entity >= 0]  # an edit may leave nothing of a form
        at, node = distinct_pairs(np.concatenate((rank, rank[shorter])), np.concatenate((entity, full)))
        return forms.gather(at), len(self.chunks) + node


def _most_frequent(entity: Ids32 | Ints, counts: NDArray[Any], texts: TextColumn, at: Ints) -> Ints:
    """Return the position of the highest count of each entity, of equals that with the first text, `texts[at]`."""
    alone = np.bincount(entity)[entity] == 1
    several, rank = np.flatnonzero(~alone), np.empty(np.count_nonzero(~alone), np.int64)
    rank[texts.gather(at[several]).order()] = np.arange(len(several))
    order = several[np.lexsort((rank, -counts[several], entity[several]))]
    return np.concatenate((np.flatnonzero(alone), order[np.diff(entity[order], prepend=-1) > 0]))


def _joined(parts: tuple[NDArray[Any], ...]) -> Ids32:
    """Return arrays end to end as int32, read-only, so that the graph does not copy them."""
    joined = np.concatenate(parts, dtype=np.int32, casting="same_kind")
    joined.flags.writeable = False
    return joined
