"""Words of the names of facts, by which values, types and relations are found; and typed values of their objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.data.document import file_of
from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.kernels.csr import Csr, group
from graphwright.kernels.strings import tokens
from graphwright.search.relation_facts import LARGE, RelationFacts, relation_phrase
from graphwright.text.names import name_words, normal_form
from graphwright.text.scripts import UNSPACED, pairs, runs
from graphwright.text.values import (
    ColumnFormat,
    TypedValues,
    column_format,
    decided,
    format_of_part,
    joined_values,
    typed_values,
)

if TYPE_CHECKING:
    from graphwright.search.facts import Facts

_SAMPLE = 10_000  # facts that decide how values are written
_SHARE = 16  # facts of a relation; fewer than this part of them are read without the others


def values_of(facts: Facts, name: str, positions: Ints | None = None) -> TypedValues:
    """Return the typed object of each fact of a relation, or of those at `positions` (see `Facts.values`)."""
    size = len(facts.relation(name))
    if positions is not None and (size > LARGE or len(positions) <= size // _SHARE):
        return _values(facts, name, positions)
    every = facts.kept(("values", name), lambda: _values(facts, name, np.arange(size)))
    return every if positions is None else every.at(positions)


def _values(facts: Facts, name: str, positions: Ints) -> TypedValues:
    types = facts.kept(("types of facts", name), lambda: _types_of_facts(facts, facts.relation(name)))
    if not len(types):
        return typed_values(_texts(facts, name, positions), _column_format(facts, name))
    order = np.argsort(types[positions], kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(types[positions[order]])) + 1)
    return joined_values([(at, _values_of_type(facts, name, types, positions[at])) for at in groups if len(at)])


def _types_of_facts(facts: Facts, relation: RelationFacts) -> NDArray[np.int32]:
    """Return the type of the record of each fact, -1 for an edge; nothing if all are edges."""
    records, of_edges = facts.records, np.full(len(relation.edges), -1, np.int32)
    if records is None or not len(relation.fields):
        return of_edges[:0]
    return np.concatenate((of_edges, records.type[records.record[relation.fields]]))


def _values_of_type(facts: Facts, name: str, types: NDArray[np.int32], positions: Ints) -> TypedValues:
    type = int(types[positions[0]])

    def written() -> ColumnFormat:
        own = _sample(facts, name, np.flatnonzero(types == type))
        return format_of_part(_column_format(facts, name), own, *(partial(_decided, facts, type, of) for of in (0, 1)))

    return typed_values(_texts(facts, name, positions), facts.kept(("format", name, type), written))


def _decided(facts: Facts, type: int, of_file: int) -> tuple[str, bool | None]:
    """Return the decimal sign and the order of dates that all columns of the table, or file, of a type decide."""

    def compute() -> tuple[str, bool | None]:
        records, passages = facts.records, facts.columns.passages
        if records is None or type < 0:
            return "", None
        own = records.type == type
        if of_file and passages is not None:
            names = facts.kept("files", lambda: list(map(file_of, passages.documents)))
            document = passages.document[np.searchsorted(passages.nodes, records.chunk)]
            files = {names[at] for at in np.unique(document[own]).tolist()}
            own = np.isin(document, [at for at, name in enumerate(names) if name in files])
        fields = np.flatnonzero(own[records.record])
        return decided(records.texts.take(np.unique(records.text[fields[:: len(fields) // _SAMPLE + 1]])), False)

    return facts.kept(("decided", type, of_file), compute)


def _column_format(facts: Facts, name: str) -> ColumnFormat:
    every = np.arange(len(facts.relation(name)))
    return facts.kept(("format", name), lambda: column_format(_sample(facts, name, every)))


def _sample(facts: Facts, name: str, positions: Ints) -> list[str]:
    size = len(positions)
    return _texts(facts, name, positions[np.linspace(0, size - 1, min(size, _SAMPLE)).astype(np.int64)])


def _texts(facts: Facts, name: str, positions: Ints) -> list[str]:
    """Return the text of each fact's object, of a field as its cell says it."""
    relation = facts.relation(name)
    objects, fields = relation.object(positions), relation.field(positions)
    if facts.records is None:
        return facts.columns.names.take(objects)
    objects[fields >= 0] = facts.first_value + facts.records.text[fields[fields >= 0]].astype(np.int64)
    return facts.texts(objects)


Kind = Literal["node", "value", "type", "relation"]
_MIN_SIMILARITY = 0.5  # of two words, by their common trigrams
_MAX_SIMILAR = 8  # words that are similar to a word of the question
_MAX_READ = 2_000_000  # entries of words that are scored, those of rare words first
_MIN_UNSPACED = 0xE0  # the first byte of a character of an unspaced script, at least
Floats = NDArray[np.float64]


class Likeness(NamedTuple):
    """A name that a text may mean: the name of a thing (-1 for a type or relation), and how much alike they are.

    `score`: 1 if the text is the name alone. `words`: the positions in `likeness_words(text)` of the words alike.
    """

    kind: Kind
    name: str
    thing: int
    score: float
    words: tuple[int, ...]


def likeness_words(text: str) -> list[str]:
    """Return the words by which names are compared: as in normal forms; pairs of characters of unspaced scripts.

    >>> likeness_words("Mid-Atlantic, 2,000 m"), likeness_words("北京市")
    (['mid', 'atlantic', '2', '000', 'm'], ['北京', '京市'])
    """
    return _parted(name_words(text)) if UNSPACED.search(text) else name_words(text)


def _parted(words: Iterable[str]) -> list[str]:
    parts = (run for word in words for run in runs(word))
    return [pair for run in parts for pair in (pairs(run) if UNSPACED.match(run) else [run])]


@dataclass(frozen=True, eq=False)
class FactWords:
    """The words of names. An entry is one form of a thing, a type or a relation.

    `things`: the thing of each entry; of types and relations -1 minus its position in `labels`, types first.
    `vocabulary`: the distinct words, sorted; `entries`: those with each word; `total`: the weight of the words of each.
    """

    things: Ints
    labels: tuple[str, ...]
    type_count: int
    first_value: int
    vocabulary: TextColumn
    entries: Csr
    total: Floats

    @classmethod
    def of(
        cls, parts: Sequence[tuple[TextColumn, Ints]], first_value: int, types: Sequence[str], relations: Sequence[str]
    ) -> FactWords:
        """Index normal forms and the thing of each, and the names of types and relations."""
        labels = (*types, *relations)
        forms = [forms for forms, _ in parts] + [TextColumn.of(normal_form(relation_phrase(name)) for name in labels)]
        things = np.concatenate([*(things for _, things in parts), -1 - np.arange(len(labels))])
        column = _with_spaces(TextColumn.joined(forms))
        number, owner, starts, ends = tokens(column.data, column.offsets)
        data, borders = column.data.tobytes(), zip(starts.tolist(), ends.tolist(), strict=True)
        words = TextColumn.of_bytes([data[start:end] for start, end in borders])
        order = words.order()
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        entries = group(len(order), rank[number], owner)
        weights = _rarity(entries, len(things))[rank[number]]
        total: Floats = np.bincount(owner, weights, len(things)).astype(np.float64)
        return cls(things, labels, len(types), first_value, words.gather(order), entries, total)

    @cached_property
    def _weight(self) -> Floats:
        return _rarity(self.entries, len(self.things))

    @cached_property
    def _trigrams(self) -> tuple[NDArray[np.uint64], Ints, Ints]:
        """The trigrams of all words, sorted; the word of each; and how many each word has."""
        codes, word = _trigrams_of(list(self.vocabulary))
        order = np.argsort(codes, kind="stable")
        return codes[order], word[order], np.bincount(word, minlength=len(self.vocabulary))

    def near(self, text: str, limit: int, names: Callable[[Ints], list[str]]) -> list[Likeness]:
        """Return the names that a text is most like; `names` gives those of things.

        The score is the share of a name's words that the text has, times the share of the text's words that the name
        has, weighted by rarity and similarity.
        """
        alike, asked = self._alike(likeness_words(text))
        if not alike:
            return []
        entry, word = self._read(list(alike))
        similarity = np.zeros(len(self.vocabulary))
        similarity[list(alike)] = [share for share, _ in alike.values()]
        found, at = np.unique(entry, return_inverse=True)
        matched = np.bincount(at, similarity[word] * self._weight[word])
        score = np.minimum(matched**2 / (self.total[found] * asked), 1.0)
        best = np.lexsort((found, -score))[: 3 * limit]  # a thing may have several forms
        first, last = np.searchsorted(entry, found[best]), np.searchsorted(entry, found[best], side="right")
        words = [{at for w in word[a:b].tolist() for at in alike[w][1]} for a, b in zip(first, last, strict=True)]
        return self._named(zip(found[best].tolist(), score[best].tolist(), words, strict=True), limit, names)

    def _alike(self, asked: Sequence[str]) -> tuple[dict[int, tuple[float, list[int]]], float]:
        """Return the words like those of a text: the similarity and the text's words of each; and the text's weight."""
        alike: dict[int, tuple[float, list[int]]] = {}
        weight, unknown = 0.0, float(np.log1p(len(self.things)))
        for word in dict.fromkeys(asked):
            positions, similar = [at for at, other in enumerate(asked) if other == word], self._similar(word)
            weight += max((float(self._weight[w]) for w in similar), default=unknown)
            for number, similarity in similar.items():
                known, before = alike.get(number, (0.0, []))
                alike[number] = max(known, similarity), [*before, *positions]
        return alike, weight

    def _similar(self, word: str) -> dict[int, float]:
        """Return the words of names that are like a word, each with the share of trigrams in common (Dice)."""
        first, last = self.vocabulary.ends(word)
        exact = dict.fromkeys(range(first, last), 1.0)
        if word.isdigit() or len(word) < 3:
            return exact
        codes, owner, counts = self._trigrams
        own = np.unique(_trigrams_of([word])[0])
        parts = zip(np.searchsorted(codes, own), np.searchsorted(codes, own, side="right"), strict=True)
        words, common = np.unique(np.concatenate([owner[a:b] for a, b in parts]), return_counts=True)
        share = 2 * common / (len(own) + counts[words])
        best = np.argsort(-share, kind="stable")[:_MAX_SIMILAR]
        similar = zip(words[best].tolist(), share[best].tolist(), strict=True)
        return {number: share for number, share in similar if share >= _MIN_SIMILARITY} | exact

    def _read(self, words: Sequence[int]) -> tuple[Ints, Ints]:
        """Return pairs of an entry and a word that it has, of the rarest words first, up to a limit."""
        numbers = np.array(sorted(words, key=lambda w: int(self.entries.indptr[w + 1] - self.entries.indptr[w])))
        sizes = self.entries.sizes(numbers)
        numbers = numbers[: max(int(np.searchsorted(np.cumsum(sizes), _MAX_READ, side="right")), 1)]
        place, entry = self.entries.expand(numbers)
        pairs = np.unique(np.stack((entry, numbers[place])), axis=1) if len(entry) else np.empty((2, 0), np.int64)
        return pairs[0], pairs[1]

    def _named(
        self, scored: Iterable[tuple[int, float, set[int]]], limit: int, names: Callable[[Ints], list[str]]
    ) -> list[Likeness]:
        results: dict[int, Likeness] = {}
        for entry, score, words in scored:
            thing = int(self.things[entry])
            if thing not in results and len(results) < limit:
                label = -1 - thing
                name = names(np.array([thing]))[0] if thing >= 0 else self.labels[label]
                of_label: Kind = "type" if label < self.type_count else "relation"
                of_thing: Kind = "value" if thing >= self.first_value else "node"
                results[thing] = Likeness(
                    of_thing if thing >= 0 else of_label, name, max(thing, -1), score, tuple(sorted(words))
                )
        return list(results.values())


def _rarity(entries: Csr, count: int) -> Floats:
    """Return the weight of each word by the share of `count` names that have it."""
    return np.log1p(count / np.maximum(np.diff(entries.indptr), 1))


def _with_spaces(column: TextColumn) -> TextColumn:
    """Return forms in which runs of unspaced scripts are pairs of characters."""
    if not len(column.data) or column.data.max() < _MIN_UNSPACED:
        return column
    return TextColumn.of(" ".join(_parted(form.split())) if UNSPACED.search(form) else form for form in column)


def _trigrams_of(words: Sequence[str]) -> tuple[NDArray[np.uint64], Ints]:
    """Return the distinct trigrams of characters of each word and the word of each; its ends count as characters."""
    joined = np.frombuffer("".join(f"\0{word}\0" for word in words).encode("utf-32-le", "surrogatepass"), np.uint32)
    codes = joined.astype(np.uint64)
    code = codes[:-2] << np.uint64(42) | codes[1:-1] << np.uint64(21) | codes[2:]
    word = (np.cumsum(joined == 0) - 1) // 2
    inside = joined[1:-1] != 0  # the middle is a character of a word
    pairs = np.stack((word[1:-1][inside].astype(np.uint64), code[inside]))
    distinct = np.unique(pairs, axis=1)
    return distinct[1], distinct[0].astype(np.int64)
