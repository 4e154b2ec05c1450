"""The names of a graph as a question may write them, searched without a scan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Columns, Graph, Kind
from graphwright.text.names import aliases_of, normal_form

__all__ = ["FOLDED", "NameIndex", "forms_of", "name_index_of"]

# A block of the lexicon that begins with the same letters is compared letter by letter up to this size.
_BLOCK = 20_000
FOLDED = 1_000_000
"""Names of a graph up to which they are compared by their normal forms; beyond, as they are written."""


@dataclass(frozen=True, eq=False)
class NameIndex:
    """Forms of names in order, and the node of each; one form may mean several.

    The i-th of them is `forms[order[i]]`, without an order `forms[i]`, and means `nodes[i]`. They are normal forms, or
    with `folded` false names as they are written.
    """

    forms: TextColumn
    nodes: Ints
    order: Ints | None = None
    folded: bool = True

    @cached_property
    def _order(self) -> Ints:
        return np.arange(len(self.forms)) if self.order is None else self.order

    def form(self, text: str) -> str:
        """Return the form under which a text is looked for."""
        return normal_form(text) if self.folded else text

    def find(self, form: str) -> Ints:
        """Return the nodes that a form means, ascending."""
        first, last = self.forms.ends(form, self._order)
        return np.unique(self.nodes[first:last])

    def longest(self, forms: Sequence[str], graph: Graph) -> tuple[int, Ints]:
        """Return the last of `forms` that some node of the graph goes by, and its nodes; (-1, none) if none is.

        Each form continues the one before it, so the search ends where no known form begins with one.
        """
        best, found, low = -1, np.empty(0, np.int64), 0
        for at, form in enumerate(forms):
            low = self.forms.first(form, self._order, low)
            known = "" if low == len(self.forms) else self.forms[int(self._order[low])]
            if not known.startswith(form) or not form:
                break
            if known == form:
                nodes = self.find(form)
                nodes = nodes[graph.holds(nodes)]
                best, found = (at, nodes) if len(nodes) else (best, found)
        return best, found

    def near(self, form: str, least: float) -> tuple[Ints, float]:
        """Return the nodes of the most similar form that begins with the same two letters, and how similar.

        Similarity is 1 minus the normalised edit distance (insertions and deletions); nothing below `least`.
        """
        from rapidfuzz import fuzz, process

        first, last = self.forms.ends(form[:2], self._order, prefix=True)
        block = self.forms.take(self._order[first : min(last, first + _BLOCK)])
        best = process.extractOne(form, block, scorer=fuzz.ratio, score_cutoff=100 * least)
        return (self.find(best[0]), best[1] / 100) if best else (np.empty(0, np.int64), 0.0)


_known: WeakKeyDictionary[Columns, NameIndex] = WeakKeyDictionary()


def name_index_of(columns: Columns) -> NameIndex:
    """Return the lexicon of a snapshot: the one it was written with, else one made of its names, once."""
    lexicon = _known.get(columns)
    if lexicon is None:
        if len(columns.aliases):
            lexicon = NameIndex(columns.aliases, columns.alias_node)
        elif len(columns.names) > FOLDED:
            lexicon = NameIndex(columns.names, columns.name_order, columns.name_order, folded=False)
        else:
            lexicon = NameIndex(*forms_of(columns))
        _known[columns] = lexicon
    return lexicon


def forms_of(columns: Columns, ids: Mapping[int, str] | None = None) -> tuple[TextColumn, Ints]:
    """Return the normal forms that nodes go by, in order, and the node of each; `ids` are further names of nodes."""
    own = [normal_form(name) for name in columns.names]
    known, further = set(own), ids or {}
    forms: list[str] = []
    nodes: list[int] = []
    for node in np.flatnonzero(columns.kinds != Kind.CHUNK).tolist():
        aliases = [alias for alias in aliases_of(columns.names[node]) if alias not in known]
        found = dict.fromkeys((own[node], *aliases, normal_form(further[node]) if node in further else ""))
        found.pop("", None)
        forms += found
        nodes += [node] * len(found)
    column = TextColumn.of(forms)
    order = column.order()  # equal forms stay by node
    return column.gather(order), np.array(nodes, np.int64)[order]
