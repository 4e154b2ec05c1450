"""Application of edits by hand to the extractions of chunks, before they are merged into a graph.

Edits are applied in order, each to what the ones before it left, after names were resolved (see `resolution`). A form
in a chunk becomes another, or is left out with its mentions and statements; so do the nodes of an imported graph (see
`imports.node_edits`). What an edit adds becomes a passage of its own, behind those of the documents, so that it can be
searched and cited. So the graph is a function of the import, the documents and the edits: an edit is undone by merging
without it. An edit that names what is not there changes nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import singledispatchmethod
from itertools import product
from typing import NamedTuple

import numpy as np

from graphwright.build.imports.node_edits import GONE, NodeEdits
from graphwright.build.merge import Corrections, MergedChunks, Split
from graphwright.extract.extraction import Extraction, Mention, Relation
from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Columns
from graphwright.search.name_index import name_index_of
from graphwright.store.chunk_columns import ChunkColumns, PerChunk
from graphwright.store.chunk_record import ChunkRecord
from graphwright.store.chunk_subsets import without
from graphwright.store.edits import (
    AddEntity,
    AddStatement,
    Change,
    DeleteEntity,
    DeleteStatement,
    Edit,
    KeepApart,
    MergeEntities,
    RenameEntity,
    RetypeEntity,
    SplitEntity,
)
from graphwright.text.names import normal_form

PREFIX = "edit:"  # before the id of an edit in the id of the document that holds what it adds


class Edited(NamedTuple):
    """Chunks after edits; what edits did not change, by id; passages added; columns of the imported graph, if any."""

    merged: MergedChunks
    idle: dict[str, str]
    added: int
    imported: Columns | None = None


class _IdleError(Exception):
    """An edit names something that is not there; the rest of it was applied."""


def forms_apart(edits: Iterable[Edit]) -> set[tuple[str, str]]:
    """Return the pairs of normal forms, in order, that edits keep apart; of a name that an edit gave, those before it.

    >>> forms_apart(Edit.made([RenameEntity("Graz", "Gratz"), KeepApart("Gratz", "Linz")]))
    {('graz', 'linz')}
    """
    before: dict[str, set[str]] = {}
    pairs = set[tuple[str, str]]()
    for change in (edit.change for edit in edits):
        if isinstance(change, RenameEntity):
            form = normal_form(change.name)
            before[normal_form(change.to)] = before.get(form, {form})
        elif isinstance(change, MergeEntities):
            forms = map(normal_form, change.entities)
            before[normal_form(change.into)] = set().union(*(before.get(form, {form}) for form in forms))
        elif isinstance(change, KeepApart):
            sides = [before.get(form, {form}) for form in map(normal_form, (change.first, change.second))]
            pairs |= {(min(pair), max(pair)) for pair in product(*sides) if pair[0] != pair[1]}
    return pairs


def edits_of_part(
    edits: Sequence[Edit], part: ChunkColumns, whole: ChunkColumns, imported: Columns | None
) -> list[Edit]:
    """Return the edits for a part of the documents alone: without additions, which are in no document.

    A name that only other documents or the imported graph have is given to no entity: what is merged into it keeps the
    first of its other names.
    """
    edits = [edit for edit in edits if not edit.is_addition]
    given = dict.fromkeys(form for edit in edits for form in map(normal_form, edit.change.entities))
    forms = TextColumn.of(given)
    stated, elsewhere = (
        {form for form, at in zip(given, columns.strings("forms").values.positions(forms), strict=True) if at >= 0}
        for columns in (part, whole)
    )
    if imported is not None:
        index = name_index_of(imported)
        elsewhere |= {form for form in given if len(index.find(form))}
    return [kept for edit in edits if (kept := _without_names(edit, elsewhere - stated)) is not None]


def _without_names(edit: Edit, hidden: Collection[str]) -> Edit | None:
    """Return an edit that gives no name of these forms; None if nothing is left of it."""
    change = edit.change
    if isinstance(change, RenameEntity | SplitEntity) and normal_form(change.to) in hidden:
        return None
    if isinstance(change, MergeEntities) and normal_form(change.into) in hidden:
        into, *names = [name for name in change.names if normal_form(name) not in hidden] or [""]
        return dataclasses.replace(edit, change=MergeEntities(tuple(names), into)) if names else None
    return edit


def edited(merged: MergedChunks, edits: Sequence[Edit], imported: Columns | None = None) -> Edited:
    """Return chunks, and an imported graph if any, after edits; `merged` has only the names resolved."""
    state, idle = _State(merged, edits, imported), dict[str, str]()
    for edit in edits:
        try:
            state.apply(edit.change, edit)
        except _IdleError as error:
            idle[edit.id] = str(error)
    columns, corrections, added = state.columns(), state.corrections(), state.additions()
    same = {**merged.same, **state.replaced()}
    return Edited(
        dataclasses.replace(
            merged,
            chunks=ChunkColumns.joined((columns, added)) if len(added) else columns,
            same={form: to for form, to in same.items() if form not in state.live},
            corrections=corrections,
        ),
        idle,
        len(added),
        state.edited_graph(corrections),
    )


class _State:
    """The forms that edits name or give, numbered, and where each is now.

    `rows`: of the forms of chunks, then of the shorter forms of topics, those with such a form; `now`: the form of each
    after the edits so far, GONE for one that is left out. `marks`: the same of forms that are in no chunk, by use;
    `node`: of the nodes of an imported graph that edits name, those of `graph`.
    """

    def __init__(self, merged: MergedChunks, edits: Sequence[Edit], imported: Columns | None) -> None:
        self._merged, self._chunks, self._same = merged, merged.chunks, dict(merged.same)
        named = {form: None for edit in edits for form in map(normal_form, edit.change.entities)}
        given = {normal_form(name) for edit in edits if (name := edit.change.new_name)}
        self.graph = None if imported is None else self._nodes(imported, named, given)
        self.forms = list(dict.fromkeys(self._same.get(form, form) for form in named))
        self._number = {form: at for at, form in enumerate(self.forms)}
        self.node = np.array([self._number[form] for form in (self.graph.form if self.graph else ())], np.int64)
        touched = TextColumn.of(self.forms)
        parts = [merged.entities.resolved(self._chunks.strings(name).values) for name in ("forms", "aliases")]
        self._resolved = TextColumn.joined(parts)
        of_row = touched.positions(self._resolved)
        of_row[np.isin(of_row, np.flatnonzero(merged.entities.forms.positions(touched) < 0))] = GONE
        self.rows = np.flatnonzero(of_row >= 0)
        self.now = of_row[self.rows]
        chunk = np.concatenate([self._chunks.strings(name).owner for name in ("forms", "aliases")])
        self._document = self._chunks.document[chunk[self.rows]]
        self.marks: dict[tuple[str, ...], int] = {("form", form): at for form, at in self._number.items()}
        self._names, self._types = dict[int, str](), dict[int, str]()
        self._splits, self._added = dict[str, Ints](), dict[str, Edit]()
        self._relations = _Relations(self._chunks, self.rows)

    def _nodes(self, imported: Columns, named: Iterable[str], given: Collection[str]) -> NodeEdits:
        """Return the nodes that edits name; note which forms mean the same as the names of some."""
        forms = list(dict.fromkeys(self._same.get(form, form) for form in named))
        extracted = self._merged.entities.forms.positions(TextColumn.of(forms)) >= 0
        own = {form for form, known in zip(forms, extracted, strict=True) if known or form in given}
        graph = NodeEdits(imported, forms, own)
        self._same |= {form: graph.same[to] for form, to in self._same.items() if to in graph.same} | graph.same
        return graph

    @property
    def live(self) -> set[str]:
        """The forms that are the form of an entity now."""
        numbers = {*self.now.tolist(), *self.node.tolist(), *self._marked("added", "matched")}
        return {self.forms[at] for at in numbers - {GONE}}

    def _marked(self, *uses: str) -> set[int]:
        return {at for use, at in self.marks.items() if use[0] in uses}

    def _exists(self, number: int) -> bool:
        is_named = (self.now == number).any() or (self.node == number).any()
        return bool(is_named) or number in self._marked("added", "matched")

    def _number_of(self, name: str) -> int:
        form = normal_form(name)
        if not 2 <= len(form) <= 200:
            raise _IdleError(f"{name!r} is not a name: it needs two letters or digits, and at most 200 characters.")
        return self._number[self._same.get(form, form)]

    def _entity(self, name: str) -> int:
        """Return the number of an entity's form. Raises _IdleError if there is none, or several nodes have it."""
        number = self._number_of(name)
        if not self._exists(number):
            raise _IdleError(f"there is no entity {name!r}.")
        if (nodes := self._node_count(number)) > 1:
            raise _IdleError(
                f"the imported graph has {nodes} entities {name!r}; make one of them (merge {name!r} into {name!r}), "
                f"or name one by its id in the file."
            )
        return number

    def _node_count(self, number: int) -> int:
        """Return how many nodes of an imported graph have a form."""
        return 0 if self.graph is None else self.graph.count(self.node == number)

    def _join(self, numbers: Iterable[int], into: int) -> None:
        """Make one of the nodes of an imported graph that have these forms."""
        if self.graph is not None:
            self.graph.join(np.isin(self.node, list(numbers)), self.node == into)

    def _replace(self, numbers: Iterable[int], to: int) -> None:
        """Let forms be another from now on, or be left out."""
        old = set(numbers) - {to}
        for now in (self.now, self.node):
            now[np.isin(now, list(old))] = to
        self.marks |= {use: to for use, at in self.marks.items() if at in old}
        for texts in (self._names, self._types):
            for number in old & texts.keys():
                text = texts.pop(number)
                if to != GONE:
                    texts.setdefault(to, text)

    @singledispatchmethod
    def apply(self, change: Change, edit: Edit) -> None:
        """Apply a change, as far as it names what is there. Raises _IdleError if that is not all."""
        raise NotImplementedError(change.kind)

    @apply.register
    def _(self, change: MergeEntities, edit: Edit) -> None:
        numbers = {name: self._number_of(name) for name in (*change.names, change.into)}
        missing = [name for name, number in numbers.items() if not self._exists(number)]
        present, into = {number for name, number in numbers.items() if name not in missing}, numbers[change.into]
        is_several = len(present) > 1 or self._node_count(into) > 1
        if is_several:
            self._names[into] = change.into if change.into in missing else self._name(into)
            self._join(present, into)
            self._replace(present, into)
        if missing:
            raise _IdleError(f"there is no entity {missing[0]!r}.")
        if not is_several:
            raise _IdleError(f"{', '.join(map(repr, change.names))} and {change.into!r} are one entity already.")

    @apply.register
    def _(self, change: RenameEntity, edit: Edit) -> None:
        number, to = self._entity(change.name), self._number_of(change.to)
        if number == to and self._name(number) == change.to:
            raise _IdleError(f"the entity is named {change.to!r} already.")
        is_taken = number != to and self._exists(to)
        if self._node_count(to) == 1:
            self._join([number, to], to)
        self._replace([number], to)
        self._names[to] = change.to
        if is_taken:  # such as by a later document: of one name there is one entity
            raise _IdleError(f"there is an entity {change.to!r} already; merge the two, or choose another name.")

    @apply.register
    def _(self, change: RetypeEntity, edit: Edit) -> None:
        self._types[self._entity(change.name)] = change.type

    @apply.register
    def _(self, change: DeleteEntity, edit: Edit) -> None:
        self._replace([self._entity(change.name)], GONE)

    @apply.register
    def _(self, change: SplitEntity, edit: Edit) -> None:
        number, to = self._entity(change.name), self._number_of(change.to)
        documents = self._chunks.ids.positions(TextColumn.of(change.documents))
        moved = (self.now == number) & np.isin(self._document, documents)
        if number == to:
            raise _IdleError(f"{change.to!r} is {change.name!r} itself; choose another name.")
        unknown = [id for id, at in zip(change.documents, documents.tolist(), strict=True) if at < 0]
        missing = f"there is no document {unknown[0]!r}." if unknown else ""
        is_extracted = bool(moved.any())
        if not is_extracted and not self._is_matched(number, documents):
            named = ", ".join(map(repr, change.documents))
            raise _IdleError(missing or f"{change.name!r} is not named in {named}.")
        # The most frequent spelling of each is counted before the split, so both keep or get a name.
        self._names |= {number: self._name(number), to: self._name(to) if self._exists(to) else change.to}
        self.now[moved] = to
        self._splits[edit.id] = documents
        self.marks |= {("before", edit.id): number, ("after", edit.id): to}
        self.marks |= {} if is_extracted else {("matched", edit.id): to}
        if missing:
            raise _IdleError(missing)

    def _is_matched(self, number: int, documents: Ints) -> bool:
        """Return whether texts of documents hold a topic that is this form now, although it was not extracted."""
        forms = TextColumn.of(form for form in self.forms if self.marks["form", form] == number)
        chunk, entity = self._merged.phrase_matches
        of_form = np.isin(entity, np.setdiff1d(self._merged.entities.forms.positions(forms), [-1]))
        return bool((of_form & np.isin(self._chunks.document[chunk], documents)).any())

    @apply.register
    def _(self, change: KeepApart, edit: Edit) -> None:
        if self._entity(change.first) == self._entity(change.second):
            raise _IdleError(
                f"{change.first!r} and {change.second!r} are one entity: an edit or their form joins them."
            )

    @apply.register
    def _(self, change: AddEntity, edit: Edit) -> None:
        number = self._number_of(change.name)
        is_new = not self._exists(number)
        self._add(edit, {change.name: number})
        if change.type:
            self._types[number] = change.type
        if not is_new:  # such as one that a later document names; what was said of it by hand stays
            raise _IdleError(f"there is an entity {change.name!r} already; give it a type, or add statements.")

    @apply.register
    def _(self, change: AddStatement, edit: Edit) -> None:
        numbers = {name: self._entity(name) for name in (change.head, change.tail)}
        if len(set(numbers.values())) < 2:
            raise _IdleError(f"{change.head!r} and {change.tail!r} are one entity; a statement is about two.")
        self._add(edit, numbers)

    def _add(self, edit: Edit, numbers: Mapping[str, int]) -> None:
        """Add a passage that names entities."""
        self._added[edit.id] = edit
        self.marks |= {("added", edit.id, normal_form(name)): number for name, number in numbers.items()}

    @apply.register
    def _(self, change: DeleteStatement, edit: Edit) -> None:
        head, tail = self._entity(change.head), self._entity(change.tail)
        stated = self._relations.stated(self.now, head, change.relation, tail)
        added = [id for id in self._added if self._states(id, head, change.relation, tail)]
        is_stated = self.graph is not None and self.graph.leave_out(
            self.node == head, change.relation, self.node == tail
        )
        if not len(stated) and not added and not is_stated:
            raise _IdleError(f"there is no statement {change.head!r}, {change.relation!r}, {change.tail!r}.")
        self._relations.gone[stated] = True
        for id in added:
            self._drop(id)

    def _states(self, id: str, head: int, relation: str, tail: int) -> bool:
        change = self._added[id].change
        return isinstance(change, AddStatement) and (relation, head, tail) == (
            change.relation,
            *(self.marks["added", id, normal_form(name)] for name in (change.head, change.tail)),
        )

    def _drop(self, id: str) -> None:
        del self._added[id]
        self.marks = {use: at for use, at in self.marks.items() if use[:2] != ("added", id)}

    def _name(self, number: int) -> str:
        if number in self._names:
            return self._names[number]
        if self.graph is not None and len(nodes := self.graph.nodes[self.node == number]):
            return self.graph.columns.names[int(nodes[0])]
        at = self._merged.entities.forms.positions(TextColumn.of([self.forms[number]]))[0]
        return self._merged.names[at] if at >= 0 else self.forms[number]

    def replaced(self) -> dict[str, str]:
        """Return the form that is in the place of each form that names nothing any more."""
        of_use = {form: self.marks["form", form] for form in self.forms}
        other = {form: self.forms[at] for form, at in of_use.items() if at != GONE and self.forms[at] != form}
        return {**{form: other[to] for form, to in self._same.items() if to in other}, **other}

    def corrections(self) -> Corrections:
        """Return what edits say of entities, by their last forms."""
        forms = ["", *self.forms]  # GONE + 1 is 0
        splits = [
            Split(documents, *(forms[self.marks[side, id] + 1] for side in ("before", "after")))
            for id, documents in self._splits.items()
        ]
        names, types = ({self.forms[at]: text for at, text in texts.items()} for texts in (self._names, self._types))
        return Corrections(names, types, splits, [self.forms[at] for at in self._marked("matched") - {GONE}])

    def edited_graph(self, corrections: Corrections) -> Columns | None:
        """Return the columns of the imported graph, if any."""
        if self.graph is None:
            return None
        forms = [*self.forms, ""]  # the last for GONE
        return self.graph.edited([forms[at] for at in self.node.tolist()], corrections.names, corrections.types)

    def columns(self) -> ChunkColumns:
        """Return the chunks of the documents with their last forms, without those that are left out."""
        forms, aliases = (self._chunks.strings(name) for name in ("forms", "aliases"))
        at = len(self.forms) + np.arange(len(self._resolved))
        at[self.rows] = self.now
        kept = at != GONE
        column = TextColumn.joined((TextColumn.of(self.forms), self._resolved)).gather(np.maximum(at, 0))
        count = len(forms.values)
        fields = self._chunks.fields | {
            "forms": PerChunk(column.gather(np.arange(count)), forms.indptr),
            "aliases": PerChunk(column.gather(np.arange(count, len(column))), aliases.indptr),
        }
        changed = dataclasses.replace(self._chunks, fields=fields)
        return (
            changed
            if kept.all() and not self._relations.gone.any()
            else without(changed, kept[:count], kept[count:], ~self._relations.gone)
        )

    def additions(self) -> ChunkColumns:
        """Return a document with one passage for each edit that adds something of which nothing was left out."""
        rows, last = [], list[str]()
        for id, edit in self._added.items():
            text, extraction = _stated(edit.change)
            record = ChunkRecord.of("", text, extraction)
            forms = record.forms.decode("utf-8", "surrogatepass").split("\0")[:-1]
            numbers = [self.marks["added", id, form] for form in forms]
            if GONE not in numbers and len(set(numbers)) == len(numbers):
                last += (self.forms[number] for number in numbers)
                title = f"Added by hand{f' by {edit.who}' if edit.who else ''} on {edit.time[:10]}"
                rows.append((PREFIX + id, title, b"", b"", b"", 0, 0, len(text), "", record.content(text)))
        columns = ChunkColumns.of(rows)
        forms_field = PerChunk(TextColumn.of(last), columns.strings("forms").indptr)
        return dataclasses.replace(columns, fields=columns.fields | {"forms": forms_field})


class _Relations:
    """The relations of chunks; `gone: bool[relations]`: those that are left out."""

    def __init__(self, chunks: ChunkColumns, rows: Ints) -> None:
        table, indptr = chunks.numbers("relations", 4)
        chunk = np.repeat(np.arange(len(chunks)), np.diff(indptr))
        ends = chunks.strings("forms").indptr[chunk][:, None] + table[:, [0, 2]]
        at = np.searchsorted(rows, ends)
        found = (at < len(rows)) & (np.append(rows, GONE)[at] == ends)
        self.gone = np.zeros(len(table), bool)
        self._rows = np.flatnonzero(found.all(axis=1))  # both ends are of forms that edits name
        self._ends = at[self._rows]
        labels = chunks.strings("labels")
        self._labels = labels.values.take(labels.indptr[chunk[self._rows]] + table[self._rows, 1])

    def stated(self, now: Ints, head: int, relation: str, tail: int) -> Ints:
        """Return the relations that state this, of forms that are `now` these; none of a name with itself is kept."""
        if head == tail:
            return self._rows[:0]
        same = (now[self._ends] == (head, tail)).all(axis=1) & ~self.gone[self._rows]
        return self._rows[[at for at in np.flatnonzero(same).tolist() if self._labels[at] == relation]]


def _stated(change: Change) -> tuple[str, Extraction]:
    """Return the text of the passage of an addition, and what it states."""
    if isinstance(change, AddEntity):
        kind, about = (
            f" ({change.type})" if change.type else "",
            f": {change.description}" if change.description else "",
        )
        mention = Mention(change.name, type=change.type, description=change.description)
        return f"{change.name}{kind}{about}", Extraction((mention,))
    assert isinstance(change, AddStatement)
    text = change.text or f"{change.head} {change.relation} {change.tail}."
    stated = Relation(change.head, change.relation, change.tail, text)
    return text, Extraction((Mention(change.head), Mention(change.tail)), (stated,))
