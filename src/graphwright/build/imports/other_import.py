"""Import of an index that another system made: its documents and extractions, without asking a language model."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from graphwright.data.document import Chunk, Document
from graphwright.data.graph_files.dump import NO_RELATION
from graphwright.data.other_indexes import (
    Community,
    Entity,
    OtherIndex,
    Relationship,
    TextUnit,
    is_graphrag,
    is_lightrag,
    read_graphrag,
    read_lightrag,
)
from graphwright.errors import DataError
from graphwright.extract.extraction import Excerpt, Extraction, Mention, Relation, located
from graphwright.text.names import name_words

_Part = TypeVar("_Part", Entity, Relationship)
_FILE = re.compile(r"\.[A-Za-z0-9]{1,5}$")
_BETWEEN = "\n\n"  # separator of the text units of a document without a text


@dataclass(frozen=True)
class ImportedDocument:
    """A document and its parts, each with start, end, entities and relationships."""

    document: Document
    parts: Sequence[tuple[int, int, Sequence[Entity], Sequence[Relationship]]]

    def extractions(self, chunks: Sequence[Chunk]) -> list[Extraction]:
        """Return the extraction of each chunk.

        An entity of a part becomes a mention in each chunk that names it, or in the part's first chunk if none does. A
        relationship belongs to the chunk that mentions most of its ends.
        """
        entities: list[dict[str, Entity]] = [{} for _ in chunks]
        relations: list[dict[Relation, None]] = [{} for _ in chunks]
        starts, ends = [chunk.start for chunk in chunks], [chunk.end for chunk in chunks]
        words = [f" {' '.join(name_words(chunk.text))} " for chunk in chunks]
        for start, end, of_part, relationships in self.parts:
            inside = range(bisect_right(ends, start), bisect_left(starts, end))  # the chunks that overlap the part
            if not inside:
                continue
            for entity in of_part:
                phrase = f" {' '.join(name_words(entity.name))} "
                for at in [at for at in inside if phrase in words[at]] or inside[:1]:
                    entities[at][entity.name] = entity
            for r in relationships:
                best = max(inside, key=lambda at: ((r.source in entities[at]) + (r.target in entities[at]), -at))
                text = r.description or f"{r.source} {r.label or NO_RELATION} {r.target}"
                relations[best][Relation(r.source, r.label or NO_RELATION, r.target, text, r.keywords)] = None
        return [
            Extraction(_mentions(self.document, chunk, list(mentioned.values())), tuple(related))
            for chunk, mentioned, related in zip(chunks, entities, relations, strict=True)
        ]


def _mentions(document: Document, chunk: Chunk, entities: Sequence[Entity]) -> tuple[Mention, ...]:
    """Return the mentions of a chunk in reading order. A name in capitals is spelled as the text spells it."""
    excerpt = Excerpt.of(document.title, chunk)
    types = [entity.type.lower() if entity.type.isupper() else entity.type for entity in entities]
    texts = [" ".join(entity.description.split()) for entity in entities]
    unplaced = [Mention(e.name, 0, 0, kind, text) for e, kind, text in zip(entities, types, texts, strict=True)]
    if document.title:
        unplaced.insert(0, Mention(document.title))
    mentions = []
    for mention in located(unplaced, excerpt, document.title):
        spelled = chunk.text[mention.start : mention.end]
        capitals = mention.name.isupper() and spelled.upper() == mention.name
        mentions.append(mention._replace(name=spelled) if capitals else mention)
    return tuple(mentions)


def documents_of(other: OtherIndex, *, reports: bool = False) -> list[ImportedDocument]:
    """Return the documents of another index, each with the parts that its text units are.

    The text of a document is its own where that holds its text units, else the text units one below the other. A text
    unit without a document is one. `reports`: community reports are documents too. Changes are added to the remarks.
    """
    entities, relationships = _by_unit(other.entities), _by_unit(other.relationships)
    documents, joined = list[ImportedDocument](), 0
    for document, units in _with_units(other):
        spans = _spans(document.text, units)
        if spans is None:
            joined += bool(document.text)
            document, spans = _joined(document, units)
        parts = [
            (start, end, entities[unit.id], relationships[unit.id])
            for unit, (start, end) in zip(units, spans, strict=True)
        ]
        if document.text.strip():
            documents.append(ImportedDocument(document, parts))
    if joined:
        other.remarks.append(f"{joined:,} documents do not hold their text units; their text is that of the units")
    if reports:
        named = {entity.name: entity for entity in other.entities}
        documents += [_report(community, named) for community in other.communities if community.report.strip()]
    elif other.communities:
        other.remarks.append(f"{len(other.communities):,} community reports were left out; reports=True adds them")
    return documents


def _by_unit(parts: Iterable[_Part]) -> defaultdict[str, list[_Part]]:
    by_unit = defaultdict[str, list[_Part]](list)
    for part in parts:
        for unit in dict.fromkeys(part.units):
            by_unit[unit].append(part)
    return by_unit


def _with_units(other: OtherIndex) -> Iterator[tuple[Document, list[TextUnit]]]:
    """Yield the documents with their text units. A document is named by its title where no other has it."""
    units = defaultdict[str, list[TextUnit]](list)
    for unit in other.units:
        units[unit.document].append(unit)
    titles = Counter(document.title for document in other.documents)
    ids = {document.id for document in other.documents}
    for document in other.documents:
        by_title = titles[document.title] == 1 and document.title and document.title not in ids
        title = "" if _FILE.search(document.title) else document.title
        yield Document(document.title if by_title else document.id, document.text, title), units[document.id]
    for unit in units[""]:
        yield Document(f"text-unit/{unit.id}", unit.text), [unit]


def _spans(text: str, units: Sequence[TextUnit]) -> list[tuple[int, int]] | None:
    """Return the spans of text units, which may overlap, in a text; None if one of them is not in it."""
    spans: list[tuple[int, int]] = []
    begin = 0
    for unit in units:
        content = unit.text.strip().strip("\ufffd")  # a character that was cut between two tokens
        start = text.find(content, begin)
        if start < 0 or not text:
            return None
        spans.append((start, start + len(content)))
        begin = start
    return spans


def _joined(document: Document, units: Sequence[TextUnit]) -> tuple[Document, list[tuple[int, int]]]:
    spans, at = [], 0
    for unit in units:
        spans.append((at, at + len(unit.text)))
        at += len(unit.text) + len(_BETWEEN)
    text = _BETWEEN.join(unit.text for unit in units)
    return Document(document.id, text, document.title), spans


def _report(community: Community, named: dict[str, Entity]) -> ImportedDocument:
    entities = [named[name]._replace(description="") for name in community.entities if name in named]
    metadata = {"kind": "community report", "level": community.level}
    document = Document(f"community-report/{community.id}", community.report, community.title, metadata)
    words = f" {' '.join(name_words(community.report))} "
    mentioned = [entity for entity in entities if f" {' '.join(name_words(entity.name))} " in words]
    return ImportedDocument(document, [(0, len(community.report), mentioned, [])])


def read_other_index(folder: Path) -> OtherIndex:
    """Read the output of Microsoft GraphRAG or the folder of LightRAG. Raises DataError for another, or if damaged."""
    if is_graphrag(folder):
        return read_graphrag(folder)
    if is_lightrag(folder):
        return read_lightrag(folder)
    inside = sorted(part for part in folder.iterdir() if part.is_dir() and (is_graphrag(part) or is_lightrag(part)))
    hint = f" Did you mean {inside[0]}?" if inside else ""
    raise DataError(
        f"{folder} is a folder, but neither the output of GraphRAG (entities.parquet) nor the working folder of "
        f"LightRAG (kv_store_text_chunks.json).{hint} Give one of these, or files of triples; documents are added with "
        f"graphwright index."
    )
