"""Columns of chunks without some forms of entities and some relations, as edits leave them out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.store.chunk_columns import ChunkColumns, PerChunk


def without(
    chunks: ChunkColumns, form: NDArray[np.bool_], alias: NDArray[np.bool_], relation: NDArray[np.bool_]
) -> ChunkColumns:
    """Return chunks with only these forms, with their mentions, and only these relations between them."""
    forms, surfaces, labels, texts = (chunks.strings(name) for name in ("forms", "surfaces", "labels", "texts"))
    mentions, table = chunks.numbers("mentions", 3), chunks.numbers("relations", 4)
    form_of_surface = forms.indptr[surfaces.owner] + chunks.numbers("surface_form").values[:, 0]
    surface = form[form_of_surface]
    surface_of_mention = surfaces.indptr[mentions.owner] + mentions.values[:, 0]
    mention, described = surface[surface_of_mention], np.diff(chunks.strings("types").indptr) > 0
    head, tail = (forms.indptr[table.owner] + table.values[:, side] for side in (0, 2))
    relation = relation & form[head] & form[tail]
    label, text = labels.indptr[table.owner] + table.values[:, 1], texts.indptr[table.owner] + table.values[:, 3]
    has_topic = chunks.has_topic.copy()
    has_topic[has_topic] = form[forms.indptr[:-1][has_topic]]
    number, numbered = _numbering(forms, form), _numbering(surfaces, surface)
    of_label, of_text = (_marked(len(field.values), at[relation]) for field, at in ((labels, label), (texts, text)))
    new = np.stack(
        (number[head], _numbering(labels, of_label)[label], number[tail], _numbering(texts, of_text)[text]), 1
    )
    ends = mentions.values.copy()
    ends[:, 0] = numbered[surface_of_mention]
    kept: Mapping[str, tuple[Any, NDArray[np.bool_]]] = {
        "forms": (forms.values, form),
        "surfaces": (surfaces.values, surface),
        "surface_form": (number[form_of_surface], surface),
        "counts": (chunks.fields["counts"].values, surface),
        "mentions": (ends.ravel(), np.repeat(mention, 3)),
        "types": (chunks.strings("types").values, mention[described[mentions.owner]]),
        "descriptions": (chunks.strings("descriptions").values, mention[described[mentions.owner]]),
        "relations": (new.ravel().astype(np.int32), np.repeat(relation, 4)),
        "labels": (labels.values, of_label),
        "texts": (texts.values, of_text),
        "aliases": (chunks.strings("aliases").values, alias & has_topic[chunks.strings("aliases").owner]),
        "topic_phrases": (chunks.strings("topic_phrases").values, has_topic[chunks.strings("topic_phrases").owner]),
    }
    fields = {name: _kept(chunks.fields[name].indptr, *part) for name, part in kept.items()}
    return dataclasses.replace(chunks, has_topic=has_topic, fields=chunks.fields | fields)


def _kept(indptr: Ints, values: Any, kept: NDArray[np.bool_]) -> PerChunk[Any]:
    counted = np.concatenate(([0], np.cumsum(kept)))
    chosen = values.gather(np.flatnonzero(kept)) if isinstance(values, TextColumn) else values[kept].astype(np.int32)
    return PerChunk(chosen, counted[indptr])


def _numbering(field: PerChunk[Any], kept: NDArray[np.bool_]) -> Ints:
    """Return the number in its chunk that each value has among those that are kept."""
    counted = np.concatenate(([0], np.cumsum(kept)))
    return counted[:-1] - counted[field.indptr[field.owner]]


def _marked(size: int, at: Ints) -> NDArray[np.bool_]:
    marked = np.zeros(size, bool)
    marked[at] = True
    return marked
