"""A first schema for an index: from what was found in it, or by a language model from a sample of its passages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from graphwright.extract.schema import EntityType, RelationType, Schema, Type
from graphwright.graph.graph import CO_OCCURS, Graph
from graphwright.models.protocols import LLM
from graphwright.prompts.templates import Prompts, data_line
from graphwright.search.facts import Facts
from graphwright.store.chunk_columns import ChunkColumns
from graphwright.text.names import normal_form

_TYPES, _RELATIONS = 20, 20  # at most suggested
_EXAMPLES = 3  # of a type
_LEAST = 2  # entities of a type, or statements of a relation
_SHARE = 0.1  # least part of the statements of a relation that has a pair of types
_PASSAGES, _CHARACTERS = 20, 1_500  # of the sample


def suggested_schema(graph: Graph, chunks: ChunkColumns) -> Schema:
    """Return the most frequent entity types, columns that name entities, and relations; `chunks`: the index's."""
    ranked = sorted(_names_by_type(graph, chunks).items(), key=lambda item: (-len(item[1]), item[0]))
    chosen = [(kind, found) for kind, found in ranked if len(found) >= _LEAST][:_TYPES]
    entities = tuple(
        EntityType(kind, examples=tuple(name for name, _ in found.most_common(_EXAMPLES))) for kind, found in chosen
    )
    type_of = {name: kind for kind, found in reversed(chosen) for name in found}
    facts = Facts.of(graph)
    fields = set() if facts.records is None else set(facts.records.names)
    relations = []
    for label in facts.frequent_relations(_RELATIONS + len(fields)):
        if label in fields or label == CO_OCCURS or label in facts.type_relations or not normal_form(label):
            continue
        found = facts.relation(label)
        pairs = Counter(
            (type_of.get(head, ""), type_of.get(tail, ""))
            for head, tail in zip(facts.texts(found.subjects), facts.texts(found.objects), strict=True)
        )
        if pairs.total() >= _LEAST:
            often = [pair for pair, count in pairs.most_common() if all(pair) and count >= _SHARE * pairs.total()]
            relations.append((pairs.total(), RelationType(label, pairs=tuple(often))))
    relations.sort(key=lambda item: -item[0])
    return Schema(_distinct(entities), _distinct(relation for _, relation in relations[:_RELATIONS]))


def _names_by_type(graph: Graph, chunks: ChunkColumns) -> dict[str, Counter[str]]:
    """Return the entities of each type that extraction found, of each class, and of each column that names entities."""
    names: dict[str, Counter[str]] = {}
    types, mentions, surfaces = chunks.strings("types"), chunks.numbers("mentions", 3), chunks.strings("surfaces")
    has_types = (np.diff(types.indptr) > 0)[mentions.owner]
    at = surfaces.indptr[mentions.owner[has_types]] + mentions.values[has_types, 0]
    for kind, name in zip(types.values, surfaces.values.take(at), strict=True):
        if kind:
            names.setdefault(kind, Counter())[name] += 1
    facts = Facts.of(graph)
    for kind in set(facts.types) - set(() if facts.records is None else facts.records.types):
        names.setdefault(kind, Counter()).update(facts.texts(facts.of_type(kind)))
    if facts.records is not None:
        for number, column in enumerate(facts.records.names):
            nodes = facts.records.node[facts.records.name == number]
            if 2 * np.count_nonzero(nodes >= 0) > len(nodes):
                names.setdefault(column, Counter()).update(graph.columns.names.take(nodes[nodes >= 0]))
    return names


def written_schema(chunks: ChunkColumns, llm: LLM, prompts: Prompts) -> Schema:
    """Return the schema that a language model writes from a sample of passages. Raises ModelError without a reply."""
    from graphwright.prompts.replies import SchemaReply

    chosen = np.unique(np.linspace(0, len(chunks) - 1, min(_PASSAGES, len(chunks)), dtype=np.int64))
    texts = [chunks.texts_with_titles[at][:_CHARACTERS] for at in chosen.tolist()]
    passages = "\n".join(data_line({"text": text}) for text in texts)
    reply = llm.complete(*prompts.messages("suggest_schema", passages=passages), schema=SchemaReply).value
    entities = _distinct(EntityType(e.name, e.description, examples=tuple(e.examples)) for e in reply.entities)
    known = {normal_form(kind.name) for kind in entities}
    return Schema(
        entities,
        _distinct(
            RelationType(
                r.name,
                r.description,
                pairs=tuple(
                    (pair[0], pair[1])
                    for pair in r.pairs
                    if len(pair) == 2 and known.issuperset(map(normal_form, pair))
                ),
            )
            for r in reply.relations
        ),
    )


def _distinct(types: Iterable[Type]) -> tuple[Type, ...]:
    """Return types with a name of their own, of several of one name the first."""
    known: dict[str, Type] = {}
    for kind in types:
        if form := normal_form(kind.name):
            known.setdefault(form, kind)
    return tuple(known.values())
