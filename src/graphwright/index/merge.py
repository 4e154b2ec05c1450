"""From contributions to one graph: names merged, mentions and relations turned into nodes and edges.

The graph is a function of the contributions that are present and of nothing else, so the one with a document taken
away is the one that was never given it. Everything here is work on whole columns; what one chunk alone can tell was
worked out when it came in (see `ChunkRecord`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import ABOUT, ALIAS, MENTIONS, REFERS, SYNONYM, Columns, Csr, Graph, Ids32, Kind
from graphwright.graph.passages import Passages
from graphwright.index.chunk_columns import ChunkColumns, Strings
from graphwright.index.vector_index import normalised
from graphwright.kernels.csr import group
from graphwright.kernels.strings import distinct, phrases
from graphwright.models.protocols import Floats

__all__ = ["MergedChunks", "near_pairs", "synonyms"]

# A shorter name that more topics than this lay claim to says nothing about which of them is meant.
_CLAIMS = 5
_DESCRIBED = 1200  # characters of descriptions of one entity


@dataclass(frozen=True, eq=False)
class MergedChunks:
    """All chunks of a ledger as one graph. Chunks are nodes 0 to p - 1, entities follow in the order of first mention.

    Entities go by number here: those that chunks name first, then shorter names that only stand for topics.
    """

    ledger: ChunkColumns

    @cached_property
    def _forms(self) -> Strings:
        return self.ledger.strings("forms")

    @cached_property
    def _entity(self) -> Ids32:
        """The entity of each form of each chunk."""
        return _numbered(self._forms.column)[0]

    @cached_property
    def _topic(self) -> Ints:
        """The entity that each chunk is about, -1 where nobody knows: int64[p]."""
        about = np.full(len(self.ledger), -1)
        known = self.ledger.about
        about[known] = self._entity[self._forms.indptr[:-1][known]]
        return about

    @cached_property
    def _claimed(self) -> tuple[TextColumn, Ints, Ints]:
        """The shorter forms of topics, and pairs (form, entity that it may mean), ascending."""
        aliases = self.ledger.strings("aliases")
        number, first = _numbered(aliases.column)
        form, meant = _distinct_pairs(number, self._topic[aliases.owner])
        few = np.bincount(form, minlength=len(first)) <= _CLAIMS
        some = few[form]
        return aliases.column.gather(first[few]), (np.cumsum(few) - 1)[form[some]], meant[some]

    @cached_property
    def forms(self) -> TextColumn:
        """The normal form of each entity."""
        named = self._forms.column.gather(_numbered(self._forms.column)[1])
        both = TextColumn.joined((named, self._claimed[0]))
        return both.gather(_numbered(both)[1])

    @cached_property
    def _alias(self) -> tuple[Ints, Ints]:
        """Pairs (entity that is a shorter name, entity that it may mean)."""
        shorter, pair, meant = self._claimed
        both = TextColumn.joined((self.forms, shorter))
        return _numbered(both)[0][len(self.forms) :][pair].astype(np.int64), meant.astype(np.int64)

    @cached_property
    def names(self) -> TextColumn:
        """The name of each entity: the surface most often seen, the first seen of equals; else its form."""
        surfaces = self.ledger.strings("surfaces")
        local = self.ledger.numbers("surface_form").rows[:, 0]
        entity = self._entity[self._forms.indptr[surfaces.owner] + local]
        number, first = _numbered(surfaces.column)
        seen = np.bincount(number, self.ledger.numbers("sightings").rows[:, 0], len(first))
        order = np.lexsort((first, -seen, entity[first]))
        leading = order[np.concatenate(([True], np.diff(entity[first][order]) > 0))] if len(order) else order
        named = surfaces.column.gather(first[leading])
        rest = self.forms.gather(np.arange(len(named), len(self.forms)))
        return TextColumn.joined((named, rest))

    @cached_property
    def _found(self) -> tuple[Ints, Ints]:
        """Pairs (chunk, entity): topics, and shorter names of theirs, that stand in a chunk that does not name them."""
        sought = self.ledger.strings("sought").column
        sought = sought.gather(_numbered(sought)[1])
        both = _numbered(TextColumn.joined((self.forms, sought)))[0][len(self.forms) :].astype(np.int64)
        # A shorter name that too many topics claim is not looked for.
        known = np.isin(both, np.concatenate((self._topic, self._alias[0])))
        sought, entity = sought.gather(np.flatnonzero(known)), both[known]
        folded = self.ledger.strings("folded").column
        chunk, form = phrases(folded.data, folded.offsets, sought.data, sought.offsets)
        return chunk.astype(np.int64), entity[form]

    @cached_property
    def mentioned(self) -> tuple[Ints, Ints]:
        """Pairs (chunk, entity) in the order of chunks, what a chunk names before what was found in it."""
        owner, entity = self._forms.owner, self._entity.astype(np.int64)
        count = max(len(self.forms), 1)
        chunk, more = self._found
        named = np.sort(owner * count + entity)
        sought = chunk * count + more
        at = np.minimum(np.searchsorted(named, sought), max(len(named) - 1, 0))
        new = named[at] != sought if len(named) else np.ones(len(sought), bool)
        owner, entity = np.concatenate((owner, chunk[new])), np.concatenate((entity, more[new]))
        order = np.argsort(owner, kind="stable")
        return owner[order], entity[order]

    @cached_property
    def sentences(self) -> TextColumn:
        """The distinct texts of relations."""
        return self._texts[0]

    @cached_property
    def _texts(self) -> tuple[TextColumn, Ids32]:
        """The distinct texts of relations, and the one of each text of each chunk."""
        texts = self.ledger.strings("texts").column
        number, first = _numbered(texts)
        return texts.gather(first), number

    @cached_property
    def texts(self) -> TextColumn:
        """What a model should read of each entity: its name, and what language models said of it."""
        return _described(self)

    def graph(self, synonyms: NDArray[np.int64]) -> Graph:
        """Return the graph; `synonyms: int64[pairs, 2]` are numbers of entities that mean nearly the same."""
        ledger, p = self.ledger, len(self.ledger)
        relations, heads, relation, tails, sentence, chunk = self._edges(synonyms)
        chunk_names = TextColumn.of(ledger.names)
        aliases, alias_node = self._lexicon()
        owner, entity = self.mentioned
        nodes = (p + entity).astype(np.int32)
        return Graph(
            Columns(
                names=TextColumn.joined((chunk_names, self.names)),
                texts=TextColumn.joined((ledger.text, self.texts)),
                kinds=np.repeat(np.array([Kind.CHUNK, Kind.ENTITY], np.uint8), [p, len(self.names)]),
                heads=heads,
                relation=relation,
                tails=tails,
                relations=relations,
                edge_text=sentence,
                sentences=self.sentences,
                node_chunks=Csr(*group(p + len(self.names), nodes, owner.astype(np.int32))),
                edge_chunks=_edge_chunks(chunk),
                passages=Passages(
                    nodes=np.arange(p),
                    document=ledger.document,
                    start=ledger.start,
                    end=ledger.end,
                    names=chunk_names,
                    documents=TextColumn.of(d.id for d in ledger.documents),
                    titles=TextColumn.of(d.title for d in ledger.documents),
                ),
                aliases=aliases,
                alias_node=alias_node,
            )
        )

    @cached_property
    def referring(self) -> tuple[Ints, Ints]:
        """Pairs (chunk, first chunk of a document that its own refers to), ascending."""
        source, target = self.ledger.references
        if not len(source):
            return source, target
        first = np.searchsorted(self.ledger.document, np.arange(len(self.ledger.documents) + 1))
        chunks = np.diff(first)
        held = chunks[target] > 0  # a document may hold nothing but space
        source, target = source[held], target[held]
        ends = np.cumsum(chunks[source])
        owner = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first[source + 1] - ends, chunks[source])
        other = np.repeat(first[target], chunks[source])
        order = np.lexsort((other, owner))
        return owner[order], other[order]

    def _edges(self, synonyms: NDArray[np.int64]) -> tuple[TextColumn, Ids32, Ids32, Ids32, Ids32, Ids32]:
        """Return relations, and of all edges heads, relations, tails, sentences and chunks: int32 each."""
        p, ledger = len(self.ledger), self.ledger
        labels, stated = ledger.strings("labels"), ledger.numbers("relations", 4)
        number, first = _numbered(labels.column)
        source, other = self.referring
        # Named only where there are any: without links a graph is what it was before there were links.
        own = TextColumn.of((ABOUT, MENTIONS, ALIAS, SYNONYM, *([REFERS] if len(source) else ())))
        about, mentions, alias, synonym, refers = range(len(first), len(first) + 5)
        chunk, at = stated.owner, stated.rows.astype(np.int64)
        head, tail = (self._entity[self._forms.indptr[chunk] + at[:, side]] for side in (0, 2))
        text = self._texts[1][ledger.strings("texts").indptr[chunk] + at[:, 3]]
        owner, entity = self.mentioned
        shorter, meant = self._alias
        none = np.full(len(shorter) + len(synonyms), -1)
        parts = (
            (owner, p + head, p + shorter, p + synonyms[:, 0], source),
            (
                np.where(entity == self._topic[owner], about, mentions),
                number[labels.indptr[chunk] + at[:, 1]],
                np.full(len(shorter), alias),
                np.full(len(synonyms), synonym),
                np.full(len(source), refers),
            ),
            (p + entity, p + tail, p + meant, p + synonyms[:, 1], other),
            (np.full(len(owner), -1), text, none, np.full(len(source), -1)),
            (owner, chunk, none, source),
        )
        columns = [np.concatenate(part).astype(np.int32) for part in parts]
        return (TextColumn.joined((labels.column.gather(first), own)), *columns)  # type: ignore[return-value]

    def _lexicon(self) -> tuple[TextColumn, Ints]:
        """Return normal forms in order and the node of each: an entity under its own form, a topic under others too."""
        shorter, meant = self._alias
        own = np.arange(len(self.forms))
        place = np.empty(len(own), np.int64)
        place[self.forms.order()] = own
        at, node = _distinct_pairs(np.concatenate((place, place[shorter])), np.concatenate((own, meant)))
        return self.forms.gather(self.forms.order()[at]), len(self.ledger) + node


def _numbered(column: TextColumn) -> tuple[Ids32, Ints]:
    """Number equal strings alike, by first appearance; return the numbers, and where each number comes first."""
    number, first = distinct(column.data, column.offsets)
    return number, np.asarray(first, np.int64)


def _distinct_pairs(first: NDArray[Any], second: NDArray[Any]) -> tuple[Ints, Ints]:
    """Return the distinct pairs of two columns of numbers from 0, in order."""
    size = int(second.max(initial=0)) + 1
    one, other = np.divmod(np.unique(first.astype(np.int64) * size + second), size)
    return one, other


def _edge_chunks(chunk: Ids32) -> Csr:
    known = chunk >= 0
    return Csr(np.concatenate(([0], np.cumsum(known))), chunk[known])


def _described(merged: MergedChunks) -> TextColumn:
    """Return "name (type): description" of each entity; of the types the most frequent, of descriptions each once."""
    descriptions = merged.ledger.strings("descriptions")
    if not len(descriptions.column):
        return merged.names
    texts = list(merged.names)
    types, said = merged.ledger.strings("types").column, descriptions.column
    for entity, rows in _rows_by_entity(merged, np.diff(descriptions.indptr) > 0).items():
        kinds = [kind for row in rows if (kind := types[row])]
        parts = dict.fromkeys(part for row in rows if (part := said[row]))
        kind = f" ({max(kinds, key=kinds.count)})" if kinds else ""
        text = " ".join(_within(list(parts), _DESCRIBED))
        texts[entity] += kind + (f": {text}" if text else "")
    return TextColumn.of(texts)


def _rows_by_entity(merged: MergedChunks, saying: NDArray[np.bool_]) -> dict[int, list[int]]:
    """Return for each entity the rows of its mentions, counted over those chunks where mentions are described."""
    ledger, found = merged.ledger, dict[int, list[int]]()
    mentions, surfaces = ledger.numbers("mentions", 3), ledger.strings("surfaces").indptr
    local = ledger.numbers("surface_form").rows[:, 0]
    owner = mentions.owner
    kept = saying[owner]
    owner, surface = owner[kept], mentions.rows[kept, 0]
    entity = merged._entity[merged._forms.indptr[owner] + local[surfaces[owner] + surface]]
    for row, one in enumerate(entity.tolist()):
        found.setdefault(one, []).append(row)
    return found


def _within(parts: list[str], characters: int) -> list[str]:
    """Return the first parts that fit together, at least one."""
    total = np.cumsum([len(part) + 1 for part in parts])
    return parts[: max(1, int(np.searchsorted(total, characters, "right")))]


_DIGITS = re.compile(r"\d+")


def near_pairs(vectors: Floats, threshold: float, *, probes: int = 2, seed: int = 0) -> NDArray[np.int64]:
    """Return pairs (i < j) of rows whose cosine is at least `threshold`: int64[pairs, 2], sorted.

    About √n rows, drawn with `seed`, serve as pivots; every row joins its `probes` nearest pivots and is
    compared only with the rows that share one. n·√n comparisons instead of n²; a pair that shares no
    pivot is missed, which at a threshold of 0.9 and two probes is a few in a hundred.

    >>> near_pairs(np.float32([[1, 0], [0, 1], [0.99, 0.1]]), 0.9).tolist()
    [[0, 2]]
    """
    rows = normalised(np.asarray(vectors, np.float32))
    n = len(rows)
    count = max(1, round(n**0.5)) if n > 256 else 1
    pivots = rows[np.sort(np.random.default_rng(seed).choice(n, count, replace=False))] if n else rows
    probes = min(probes, count)
    found = [np.empty((0, 2), np.int64)]
    member, owner = _assign(rows, pivots, probes)
    order = np.lexsort((member, owner))
    member, owner = member[order], owner[order]
    for group in np.split(member, np.flatnonzero(np.diff(owner)) + 1):
        found.append(_within(rows, group, threshold))
    pairs: NDArray[np.int64] = np.unique(np.concatenate(found), axis=0)
    return pairs


def _assign(rows: Floats, pivots: Floats, probes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (row, pivot) for each row and each of its nearest pivots; blocks bound the memory."""
    owner = [np.empty((0, probes), np.int64)]
    for block in range(0, len(rows), 4096):
        cosines = rows[block : block + 4096] @ pivots.T
        owner.append(np.argpartition(-cosines, probes - 1, axis=1)[:, :probes])
    nearest = np.concatenate(owner)
    return np.repeat(np.arange(len(rows)), probes), nearest.ravel()


def _within(rows: Floats, group: NDArray[np.int64], threshold: float) -> NDArray[np.int64]:
    pairs = [np.empty((0, 2), np.int64)]
    for block in range(0, len(group), 2048):
        some = group[block : block + 2048]
        at, other = np.nonzero(rows[some] @ rows[group].T >= threshold)
        both = np.stack((some[at], group[other]), axis=1)
        pairs.append(both[both[:, 0] < both[:, 1]])
    found: NDArray[np.int64] = np.concatenate(pairs)
    return found


def synonyms(names: list[str], vectors: Floats, threshold: float) -> NDArray[np.int64]:
    """Return near pairs of names that agree in their numbers: 1963 and 1964 are close, but not the same."""
    pairs = near_pairs(vectors, threshold)
    digits = [_DIGITS.findall(name) for name in names]
    same = np.fromiter((digits[i] == digits[j] for i, j in pairs.tolist()), bool, len(pairs))
    kept: NDArray[np.int64] = pairs[same]
    return kept
