"""Lookup of a graph's nodes by the names that a question may use for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Columns, Graph, Ids32, Kind
from graphwright.kernels.strings import distinct
from graphwright.search.relation_facts import LABELS, is_naming, names_identifiers, relation_phrase
from graphwright.search.snapshot import per_snapshot
from graphwright.text.names import aliases_of, normal_form

MAX_NORMALISED = 1_000_000  # names of a graph that are compared by normal forms; more by exact spelling
_MAX_FUZZY = 20_000  # forms with the same first letters that are compared by edit distance
_MAX_NEAR, _WORD = 10, 0.7  # near forms whose words are compared; least likeness of each word


@dataclass(frozen=True, eq=False)
class NameIndex:
    """Forms of names in order, and the node of each; one form may belong to several nodes.

    The i-th form is `forms[order[i]]`, without an order `forms[i]`, and its node is `nodes[i]`. Forms are normal forms,
    or if not `normalised` names in their exact spelling.
    """

    forms: TextColumn
    nodes: Ints | Ids32
    order: Ints | None = None
    normalised: bool = True

    def form(self, text: str) -> str:
        """Return the form under which a text is looked up."""
        return normal_form(text) if self.normalised else text

    def find(self, form: str) -> Ints:
        """Return the nodes of a form, ascending."""
        first, last = self.forms.ends(form, self.order)
        return np.unique(self.nodes[first:last]).astype(np.int64)

    def longest(self, forms: Iterable[str], graph: Graph) -> tuple[int, Ints]:
        """Return the position of the last of `forms` that names nodes of the graph, and these nodes; -1 if none does.

        Each form must continue the form before it, so the search ends where no known form begins with the current form.
        """
        position, nodes, low = -1, np.empty(0, np.int64), 0
        for at, form in enumerate(forms):
            low = self.forms.first(form, self.order, low)
            at_low = low if self.order is None or low == len(self.forms) else int(self.order[low])
            known = "" if low == len(self.forms) else self.forms[at_low]
            if not known.startswith(form) or not form:
                break
            if known == form:
                matches = self.find(form)
                matches = matches[graph.holds(matches)]
                position, nodes = (at, matches) if len(matches) else (position, nodes)
        return position, nodes

    def near(self, form: str, threshold: float) -> tuple[Ints, float]:
        """Return the nodes of the form with these first two letters most alike by edit distance, and the likeness."""
        from rapidfuzz import fuzz, process

        first, last = self.forms.ends(form[:2], self.order, prefix=True)
        part = slice(first, min(last, first + _MAX_FUZZY))
        block = self.forms[part] if self.order is None else self.forms.take(self.order[part])
        found = process.extract(form, block, scorer=fuzz.ratio, score_cutoff=100 * threshold, limit=_MAX_NEAR)
        best = next((match for match in found if _alike(form, match[0])), None)
        return (self.find(best[0]), best[1] / 100) if best else (np.empty(0, np.int64), 0.0)


def _alike(form: str, other: str) -> bool:
    """Return whether each word is like its counterpart: "Berlin Opera" is another name than "Bergen Opera"."""
    from rapidfuzz import fuzz

    pairs = zip(form.split(), other.split(), strict=False)
    return not 0 < form.count(" ") == other.count(" ") or all(fuzz.ratio(*pair) >= 100 * _WORD for pair in pairs)


@per_snapshot
def name_index_of(columns: Columns) -> NameIndex:
    """Return the name index of a snapshot: the stored one, else one built from its names and cached."""
    if len(columns.aliases):
        return NameIndex(columns.aliases, columns.alias_node)
    if len(columns.names) > MAX_NORMALISED:
        return NameIndex(columns.names, columns.name_order, columns.name_order, normalised=False)
    return NameIndex(*name_forms(columns))


def name_forms(
    columns: Columns, ids: Mapping[int, str] | None = None, labels: Mapping[int, Sequence[str]] | None = None
) -> tuple[TextColumn, Ints]:
    """Return the normal forms of nodes' names in order, and the node of each.

    `ids`, `labels`: further names of nodes; a label that is another node's name is left out. The tails of naming
    relations ("alt label", "also known as") are further names too, of "label" only those of identifiers; a node that
    is only such a name has no forms.
    """
    naming = _naming_edges(columns)
    normal_forms = [normal_form(name) for name in columns.names]
    known, further_names = set(normal_forms), dict[int, list[str]]()
    for edge in naming.tolist():
        further_names.setdefault(int(columns.heads[edge]), []).append(columns.names[int(columns.tails[edge])])
    for node, name in (ids or {}).items():
        further_names.setdefault(node, []).append(name)
    for node, others in (labels or {}).items():
        further_names.setdefault(node, []).extend(name for name in others if normal_form(name) not in known)
    forms: list[str] = []
    nodes: list[int] = []
    for node in np.flatnonzero((columns.kinds != Kind.CHUNK) & ~_only_names(columns, naming)).tolist():
        aliases = [alias for alias in aliases_of(columns.names[node]) if alias not in known]
        node_forms = dict.fromkeys((normal_forms[node], *aliases, *map(normal_form, further_names.get(node, ()))))
        node_forms.pop("", None)
        forms += node_forms
        nodes += [node] * len(node_forms)
    column = TextColumn.of(forms)
    order = column.order()  # equal forms stay ordered by node
    return column.gather(order), np.array(nodes, np.int64)[order]


def distinct_forms(forms: TextColumn, nodes: Ints) -> tuple[TextColumn, Ints]:
    """Return the distinct pairs of a form and a node, in the order of the forms."""
    pairs = distinct(forms.data, forms.offsets)[0].astype(np.int64) * (nodes.max(initial=0) + 1) + nodes
    first = np.zeros(len(pairs), bool)
    first[np.unique(pairs, return_index=True)[1]] = True
    order = forms.order()
    firsts = order[first[order]]
    return forms.gather(firsts), nodes[firsts]


def _naming_edges(columns: Columns) -> Ints:
    """Return the edges from a node to one of its names."""
    naming = []
    for number, relation in enumerate(columns.relations):
        phrase = relation_phrase(relation)
        if is_naming(phrase) and columns.own.get(relation) != number:
            naming += [number] * (phrase not in LABELS or names_identifiers(columns, number))
    return np.flatnonzero(np.isin(columns.relation, naming)) if naming else np.empty(0, np.int64)


def _only_names(columns: Columns, edges: Ints) -> NDArray[np.bool_]:
    """Return which nodes are only the tails of edges that name nodes."""
    count = len(columns.names)
    naming = np.bincount(columns.tails[edges], minlength=count)
    degree = np.bincount(columns.heads, minlength=count) + np.bincount(columns.tails, minlength=count)
    only: NDArray[np.bool_] = (naming > 0) & (naming == degree)
    return only
