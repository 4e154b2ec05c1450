"""Types of a schema for what rules and the detector find: the type that is nearest in meaning, by the embedded encoder.

The vector of an entity is that of its name in its sentence, plus, with less weight, those of the name alone and of the
kind that the detector found; that of a type is the mean of its name, synonyms, examples and description. Measured by
`scripts/check_types.py` on 300 texts each, with the words of the labels alone: of the names of CrossNER (Liu et al.,
2021), with 8 types, 74 in 100 get the right one; of those of Re-DocRED (Tan et al., 2022), with person, organisation
and place, 94 in 100.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from graphwright.extract.extraction import (
    DeferredExtractor,
    Excerpt,
    Extraction,
    ExtractionFailure,
    Extractor,
    Mention,
    Relation,
)
from graphwright.extract.rules import topic_of
from graphwright.extract.schema import FREE, EntityType, RelationType, Schema
from graphwright.graph.graph import CO_OCCURS
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.protocols import Floats, Usage
from graphwright.text.values import value_of
from graphwright.text.words import words

_WINDOW = 60  # characters on both sides of a name that are read as its sentence
_NAME, _KIND = 0.5, 0.2  # weights of the vectors of the name alone and of its kind
_ENTITY, _RELATION = 0.15, 0.5  # least cosine of an entity or a predicate with its type
_VALUES = ("date", "number")  # kinds of the detector that names of no schema are compared with too
_SAME = 0.5  # cosine from which on a type of the schema is such a kind


class _Types(NamedTuple):
    """Names of types and their vectors; "" for the kinds of values that are of no type, which are `others`."""

    names: list[str]
    vectors: Floats
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class TypedExtractor:
    """An extractor whose entities and relations have the types of a schema.

    >>> from graphwright.extract.extractors import MentionExtractor
    >>> from graphwright.extract.schema import EntityType
    >>> rivers = Schema((EntityType("river", "Flowing water."), EntityType("person", "A human being.")), strict=True)
    >>> extractor = TypedExtractor(MentionExtractor(), rivers)
    >>> extraction, = extractor.extract([Excerpt("d1", "", "In 1974 Hank Snow swam across the Mur.")])
    >>> [(m.name, m.type) for m in extraction.mentions]
    [('Hank Snow', 'person'), ('Mur', 'river')]
    """

    extractor: Extractor
    schema: Schema

    @property
    def id(self) -> str:
        """The id of the extractor, with the checksum of the schema."""
        return self.schema.marked(self.extractor.id)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self.extractor, name)
        return self._extract_encoded if name == "extract_encoded" else value

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Extraction | ExtractionFailure]:
        """Return one extraction or failure per excerpt, in order."""
        results = self.extractor.extract(excerpts)
        read = [at for at, result in enumerate(results) if isinstance(result, Extraction)]
        found = self._conforming([excerpts[at] for at in read], [results[at] for at in read], Usage())  # type: ignore[misc]
        conforming = dict(zip(read, found, strict=True))
        return [conforming.get(at, result) for at, result in enumerate(results)]

    def _extract_encoded(self, excerpts: Sequence[Excerpt], usage: Usage) -> tuple[list[Extraction], Floats]:
        extractions, vectors = self.extractor.extract_encoded(excerpts, usage)  # type: ignore[attr-defined]
        return self._conforming(excerpts, extractions, usage), vectors

    def _conforming(self, excerpts: Sequence[Excerpt], found: Sequence[Extraction], usage: Usage) -> list[Extraction]:
        extractions = typed(excerpts, found, self.schema, usage)
        return [self.schema.conform(e, excerpt.title) for e, excerpt in zip(extractions, excerpts, strict=True)]


def with_schema(extractor: Extractor, schema: Schema) -> Extractor:
    """Return an extractor with the types of a schema: in its field `schema`, if any; else a deferred one as is."""
    if not schema:
        return extractor
    if hasattr(extractor, "schema"):
        provisional = with_schema(extractor.provisional, schema)  # type: ignore[attr-defined]
        return replace(extractor, schema=schema, provisional=provisional)  # type: ignore[type-var]
    return extractor if isinstance(extractor, DeferredExtractor) else TypedExtractor(extractor, schema)


def typed(
    excerpts: Sequence[Excerpt], found: Sequence[Extraction], schema: Schema, usage: Usage | None = None
) -> list[Extraction]:
    """Return extractions with the nearest types of a schema, "" for an entity that is near none.

    A title of which the text has no word, such as the name of a file, has no type. A predicate that is near no relation
    type stays; in a strict schema its names only co-occur.
    """
    extractions = list(found)
    if schema.entities:
        types = _entity_types(schema.entities)
        every = [(m, excerpt) for excerpt, e in zip(excerpts, found, strict=True) for m in e.mentions]
        compared = [m.type not in types.others and not _is_mere_title(m, excerpt) for m, excerpt in every]
        mentions = list(compress(every, compared))
        vectors = _vectors([_in_sentence(mention, excerpt) for mention, excerpt in mentions], usage)
        vectors += _NAME * _vectors([mention.name for mention, _ in mentions], usage)
        vectors += _KIND * _vectors([mention.type or mention.name for mention, _ in mentions], usage)
        near = iter(_nearest(vectors, types, _ENTITY))
        named = iter([next(near) if is_compared else "" for is_compared in compared])
        extractions = [
            replace(e, mentions=tuple(m._replace(type=next(named)) for m in e.mentions)) for e in extractions
        ]
    return _with_relations(extractions, schema, usage) if schema.relations else extractions


def _with_relations(found: Sequence[Extraction], schema: Schema, usage: Usage | None) -> list[Extraction]:
    """Return extractions in which each predicate is the nearest relation type that may join its two entities."""
    labels = list(dict.fromkeys(r.relation for e in found for r in e.relations if r.relation not in FREE))
    types = _relation_types(schema.relations)
    cosines = _vectors(labels, usage) @ types.vectors.T if labels else np.empty((0, len(types.names)), np.float32)
    near = {  # names of types, the nearest first
        label: [types.names[at] for at in np.argsort(-row, kind="stable").tolist() if row[at] >= _RELATION]
        for label, row in zip(labels, cosines, strict=True)
    }

    def typed_relation(relation: Relation, kinds: dict[str, str]) -> Relation:
        head, tail = kinds.get(relation.head, ""), kinds.get(relation.tail, "")
        fitting = (n for n in near.get(relation.relation, ()) if schema.allows(n, head, tail, turned=True))
        otherwise = CO_OCCURS if schema.strict and relation.relation not in FREE else relation.relation
        return relation._replace(relation=next(fitting, otherwise))

    return [replace(e, relations=tuple(typed_relation(r, e.types) for r in e.relations)) for e in found]


def _is_mere_title(mention: Mention, excerpt: Excerpt) -> bool:
    is_title = mention.name in (excerpt.title, topic_of(excerpt.title))
    return is_title and set(words(mention.name)).isdisjoint(words(excerpt.text))


def _in_sentence(mention: Mention, excerpt: Excerpt) -> str:
    around = excerpt.text[max(mention.start - _WINDOW, 0) : mention.end + _WINDOW]
    return f"{mention.name} is a {mention.type}. {around}" if mention.type else f"{mention.name}: {around}"


def _nearest(vectors: Floats, types: _Types, least: float) -> list[str]:
    """Return the type whose vector is nearest to each vector, "" below a cosine or where nothing is nearer."""
    if not len(vectors):
        return []
    cosines = vectors @ types.vectors.T / np.linalg.norm(vectors, axis=1, keepdims=True)
    best = cosines.argmax(axis=1)
    return [types.names[at] if row[at] >= least else "" for at, row in zip(best.tolist(), cosines, strict=True)]


@lru_cache(maxsize=8)
def _entity_types(types: tuple[EntityType, ...]) -> _Types:
    """Return the types, and the kinds of values that none of them is, by its names, its examples and all its texts."""
    vectors = _means([[kind.name, *kind.synonyms, *kind.examples, *_described(kind)] for kind in types])
    values = _vectors(_VALUES)
    likest = np.maximum(vectors @ values.T, [(_vectors([t.name, *t.synonyms]) @ values.T).max(axis=0) for t in types])
    shown = {value.kind for kind in types for value in map(value_of, kind.examples) if value is not None}
    others = [at for at, kind in enumerate(_VALUES) if likest[:, at].max() < _SAME and kind not in shown]
    names = [*(kind.name for kind in types), *[""] * len(others)]
    return _Types(names, np.concatenate((vectors, values[others])), tuple(_VALUES[at] for at in others))


@lru_cache(maxsize=8)
def _relation_types(types: tuple[RelationType, ...]) -> _Types:
    return _Types(
        [kind.name for kind in types], _means([[kind.name, *kind.synonyms, *_described(kind)] for kind in types])
    )


def _described(kind: EntityType | RelationType) -> list[str]:
    return [kind.description, f"{kind.name}: {kind.description}"] if kind.description else []


def _means(groups: Sequence[Sequence[str]]) -> Floats:
    """Return the mean vector of each group of texts, of length 1."""
    means = np.stack([_vectors(texts).mean(axis=0) for texts in groups])
    normed: Floats = means / np.linalg.norm(means, axis=1, keepdims=True)
    return normed


def _vectors(texts: Sequence[str], usage: Usage | None = None) -> Floats:
    """Return the vector of each text; equal texts are encoded once."""
    distinct = list(dict.fromkeys(texts))
    if not distinct:
        return np.empty((0, 0), np.float32)
    number = {text: at for at, text in enumerate(distinct)}
    return MiniLM().encode(distinct, usage)[[number[text] for text in texts]]
