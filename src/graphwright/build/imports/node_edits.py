"""Edits by hand of an imported graph: nodes are merged, renamed, retyped and left out, and statements are left out.

An edit names a node by its name; by another name or its id in the file, where this means one node alone. The result is
a function of the graph as it was imported and of the edits, so that they hold for a graph that is imported again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Columns, Ids32
from graphwright.graph.records import STATEMENT, RecordColumns
from graphwright.search.name_index import distinct_forms, name_index_of
from graphwright.search.relation_facts import TYPES, relation_phrase
from graphwright.text.names import normal_form

GONE = -1
_TYPE = "type"
_KIND = re.compile(r"^ \([^()]*\)")  # the type, behind the name in the text of a node


class NodeEdits:
    """The nodes of an imported graph that edits name, and what becomes of them.

    `same`: the form of the name of a node by another form that means it alone; `nodes`: the nodes, and `form`: that by
    which each is named; `one`: the node that each is one with, its own number for none; `left_out: bool[m]`: the edges
    that are left out.
    """

    def __init__(self, columns: Columns, forms: Collection[str], own: Collection[str] = ()) -> None:
        """`forms`: those that edits name; `own`: those of them that mean no node by another form than its name."""
        self.columns, index = columns, name_index_of(columns)
        self.same, form_of = dict[str, str](), dict[int, str]()
        others = dict[str, int]()
        for form in forms:
            found = index.find(form).tolist()
            named = self._named(found, form)
            form_of |= dict.fromkeys(named, form)
            if len(found) == 1 and not named and form not in own:
                others[form] = found[0]
        for form, node in others.items():
            name = normal_form(columns.names[node])
            if len(self._named(index.find(name).tolist(), name)) == 1:
                self.same[form], form_of[node] = name, name
            else:  # the id of one of several nodes of a name
                form_of[node] = form
        self.nodes = np.array(sorted(form_of), np.int64)
        self.form = [form_of[node] for node in self.nodes.tolist()]
        self.one = self.nodes.copy()
        self.left_out = np.zeros(len(columns.heads), bool)

    def _named(self, nodes: Iterable[int], form: str) -> list[int]:
        return [node for node in nodes if normal_form(self.columns.names[node]) == form]

    def count(self, chosen: NDArray[np.bool_]) -> int:
        """Return how many nodes those chosen are."""
        return len(np.unique(self.one[chosen]))

    def join(self, chosen: NDArray[np.bool_], into: NDArray[np.bool_]) -> None:
        """Make one node of those chosen: the first of `into`, or of all where that has none."""
        if chosen.any():
            self.one[chosen] = self.one[into if into.any() else chosen].min()

    def leave_out(self, heads: NDArray[np.bool_], relation: str, tails: NDArray[np.bool_]) -> bool:
        """Leave out the statements of a relation between nodes; return whether there are any."""
        c = self.columns
        numbers = [at for at, name in enumerate(c.relations) if name == relation]
        if not numbers or not heads.any() or not tails.any():
            return False
        stated = np.isin(c.heads, self.nodes[heads]) & np.isin(c.tails, self.nodes[tails])
        stated &= np.isin(c.relation, numbers) & ~self.left_out
        self.left_out |= stated
        return bool(stated.any())

    def edited(self, forms: Sequence[str], names: Mapping[str, str], types: Mapping[str, str]) -> Columns:
        """Return the columns of the edited graph, the same object where nothing has changed.

        `forms`: the last form of each of `nodes`, "" if left out; `names`, `types`: those that edits give, by form.
        """
        name_of, type_of = (
            {node: texts[form] for node, form in zip(self.one.tolist(), forms, strict=True) if form in texts}
            for texts in (names, types)
        )
        known = self.columns.names
        name_of = {node: name for node, name in name_of.items() if known[node] != name}
        to = np.arange(len(known))
        to[self.nodes] = np.where([form == "" for form in forms], GONE, self.one)
        if not name_of and not type_of and not self.left_out.any() and (to[self.nodes] == self.nodes).all():
            return self.columns
        return _Edited(self.columns, to, name_of, type_of, self.left_out).columns()


class _Edited:
    """A graph's columns after edits. `to`: each node's node, or GONE; `names`, `types`: given; `left_out`: edges."""

    def __init__(
        self, base: Columns, to: Ints, names: Mapping[int, str], types: Mapping[int, str], left_out: NDArray[np.bool_]
    ) -> None:
        self.base, self.to, self.names, self.types = base, to, names, types
        count = np.arange(len(to))
        self.kept = np.flatnonzero(to == count)
        place = np.full(len(to), GONE)
        place[self.kept] = np.arange(len(self.kept))
        self.number = np.where(to == GONE, GONE, place[to])
        self.joined = np.unique(to[(to != count) & (to != GONE)])
        self.is_type = np.isin(base.relation, [n for n, r in enumerate(base.relations) if relation_phrase(r) in TYPES])
        self.left_out = left_out

    def columns(self) -> Columns:
        base, edges = self.base, self._edges
        classes, relations, typed = self._typed()
        relation = np.concatenate((base.relation[edges], typed[:, 1]))
        used, relation = np.unique(relation, return_inverse=True)
        sentences, edge_text = self._sentences(len(typed))
        aliases, alias_node = self._aliases(classes)
        return replace(
            base,
            names=self._with(base.names, self.names, classes),
            texts=self._with(base.every_text, self._texts(), classes) if len(base.texts) else base.texts,
            kinds=np.concatenate((base.kinds[self.kept], np.zeros(len(classes), np.uint8))),
            heads=np.concatenate((self.number[base.heads[edges]], typed[:, 0])).astype(np.int32),
            tails=np.concatenate((self.number[base.tails[edges]], typed[:, 2])).astype(np.int32),
            relation=relation.astype(np.int32),
            relations=TextColumn.joined((base.relations, TextColumn.of(relations))).gather(used),
            sentences=sentences,
            edge_text=edge_text,
            aliases=aliases,
            alias_node=alias_node,
            records=self._records(),
        )

    def _with(self, column: TextColumn, new: Mapping[int, str], added: Sequence[str]) -> TextColumn:
        """Return the texts of the nodes that are kept, some of them `new`, and of nodes that are added."""
        at = np.arange(len(column))
        at[list(new)] = len(column) + np.arange(len(new))
        every = TextColumn.joined((column, TextColumn.of([*new.values(), *added])))
        return every.gather(np.concatenate((at[self.kept], len(column) + len(new) + np.arange(len(added)))))

    def _name(self, node: int) -> str:
        return self.names.get(node) or self.base.names[node]

    @cached_property
    def _edges(self) -> Ints:
        """The edges that are kept: not those left out, of nodes left out, within one node, and twice the same now."""
        base = self.base
        heads, tails = (np.where(ends >= 0, self.to[ends], GONE) for ends in (base.heads, base.tails))
        gone = self.left_out | (heads == GONE) | (tails == GONE) | ((heads == tails) & (base.heads != base.tails))
        gone |= self.is_type & np.isin(heads, list(self.types))
        touched = np.flatnonzero((np.isin(heads, self.joined) | np.isin(tails, self.joined)) & ~gone)
        text = np.full(len(heads), -1) if base.edge_text is None else base.edge_text
        stated = np.stack((heads, base.relation, tails, text))[:, touched]
        repeated = np.ones(len(touched), bool)
        repeated[np.unique(stated, axis=1, return_index=True)[1]] = False
        gone[touched[repeated]] = True
        return np.flatnonzero(~gone)

    def _typed(self) -> tuple[list[str], list[str], Ints]:
        """Return the names of new classes and relations, and the statements of types: head, relation and tail."""
        base, index = self.base, name_index_of(self.base)
        classes, relations, stated = dict[str, int](), list[str](), list[tuple[int, int, int]]()
        usual = np.bincount(base.relation[self.is_type])
        for node, name in self.types.items():
            if not name:
                continue
            before = base.relation[self.is_type & (self.to[base.heads] == node)]
            if not len(before) and not len(usual):
                relations = [_TYPE]
            relation = int(before[0]) if len(before) else int(usual.argmax()) if len(usual) else len(base.relations)
            known = [at for at in self.number[index.find(index.form(name))].tolist() if at != GONE]
            tail = known[0] if known else classes.setdefault(name, len(self.kept) + len(classes))
            stated.append((int(self.number[node]), relation, tail))
        return list(classes), relations, np.array(stated, np.int64).reshape(-1, 3)

    def _texts(self) -> dict[int, str]:
        """Return the new texts of nodes: the name, the type, and what was said of all nodes that it is."""
        base, texts = self.base, dict[int, str]()
        members = defaultdict[int, list[int]](list)
        for node in np.flatnonzero(np.isin(self.to, [*self.joined.tolist(), *self.names, *self.types])).tolist():
            members[int(self.to[node])].append(node)
        for node, parts in members.items():
            rest = "".join(dict.fromkeys(_rest(base, part) for part in sorted(parts, key=lambda part: part != node)))
            if node in self.types:
                kind = self.types[node]
                rest = (f" ({kind})" if kind else "") + _KIND.sub("", rest)
            texts[node] = f"{self._name(node)}{rest}"
        return texts

    def _sentences(self, added: int) -> tuple[TextColumn | None, Ids32 | None]:
        """Return the texts of edges, and that of each; `added`: the number of further edges, without one."""
        base, edges = self.base, self._edges
        if base.edge_text is None or base.sentences is None:
            return base.sentences, base.edge_text
        text, new = base.edge_text[edges].astype(np.int64), list[str]()
        ends = np.stack((base.heads[edges], base.tails[edges]))
        changed = np.isin(ends, list(self.names)) | (self.to[ends] != ends)
        for at in np.flatnonzero(changed.any(axis=0) & (text >= 0)).tolist():
            relation = base.relations[int(base.relation[edges[at]])].replace("_", " ")
            before, after = (
                f"{head} {relation} {tail} ("
                for head, tail in (base.names.take(ends[:, at]), map(self._name, self.to[ends[:, at]].tolist()))
            )
            if (sentence := base.sentences[int(text[at])]).startswith(before):  # written by the import
                text[at] = len(base.sentences) + len(new)
                new.append(after + sentence[len(before) :])
        used, place = np.unique(text[text >= 0], return_inverse=True)
        text[text >= 0] = place
        column = TextColumn.joined((base.sentences, TextColumn.of(new))).gather(used)
        return column, np.concatenate((text, np.full(added, -1))).astype(np.int32)

    def _aliases(self, classes: Sequence[str]) -> tuple[TextColumn, Ints]:
        """Return the forms by which nodes are found, and the node of each: also by names that they had."""
        base = self.base
        if not len(base.aliases):
            return base.aliases, base.alias_node
        node = self.number[base.alias_node]
        forms = [*map(normal_form, self.names.values()), *map(normal_form, classes)]
        given = np.concatenate((self.number[list(self.names)], len(self.kept) + np.arange(len(classes))))
        known = base.aliases.gather(np.flatnonzero(node != GONE))
        return distinct_forms(TextColumn.joined((known, TextColumn.of(forms))), np.append(node[node != GONE], given))

    def _records(self) -> RecordColumns | None:
        """Return the statements with fields that are kept; a cell that names a node has its name now."""
        base, records = self.base, self.base.records
        if records is None:
            return None
        first = np.searchsorted(records.record, np.arange(len(records)))
        subject, object = records.node[first], records.node[first + 2]
        relation = records.texts.gather(records.text[first + 1])
        columns = (column[self.left_out].tolist() for column in (base.heads, base.relation, base.tails))
        left_out = {(head, base.relations[label], tail) for head, label, tail in zip(*columns, strict=True)}
        stated = zip(subject.tolist(), relation, object.tolist(), strict=True)
        gone = np.array([triple in left_out for triple in stated], bool)
        gone |= (self.number[subject] == GONE) | (self.number[object] == GONE)
        gone |= (self.to[subject] == self.to[object]) & (subject != object)
        cells, subjects = list[tuple[int, str, str, int]](), list[int]()
        for record in np.flatnonzero(~gone).tolist():
            last = first[record + 1] if record + 1 < len(first) else len(records.record)
            for field in range(first[record], last):
                node, text = int(records.node[field]), records.texts[int(records.text[field])]
                if node >= 0 and text == base.names[node] and self.to[node] != GONE:
                    text = self._name(int(self.to[node]))
                number = int(self.number[node]) if node >= 0 else -1
                cells.append((len(subjects), records.names[int(records.name[field])], text, number))
            subjects.append(int(self.number[subject[record]]))
        return RecordColumns.of_cells(STATEMENT, subjects, cells) if subjects else None


def _rest(columns: Columns, node: int) -> str:
    """Return the text of a node behind its name."""
    name, text = columns.names[node], columns.texts[node] if node < len(columns.texts) else columns.names[node]
    return text[len(name) :] if text.startswith(name) else f": {text}"
