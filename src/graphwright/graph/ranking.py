"""Ranking: passages with scores, best first, each with the item of evidence that brought it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from graphwright.errors import OptionError
from graphwright.graph.columns import Passage
from graphwright.graph.evidence import Evidence, Ints, Scores, in_order
from graphwright.graph.items import Step, walk_to_passage

if TYPE_CHECKING:
    from graphwright.graph.graph import Graph


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """Passages with scores: `ids: int64[n]` (snapshot ids of chunk nodes), `scores: float64[n]`, best first.

    `items`, `item_of: int64[n]`: the evidence that brought the passages, and the item of each, -1 for none.
    A State binds its ranking to its graph; iterating over it then gives Passage values.
    """

    ids: Ints
    scores: Scores
    graph: Graph | None = None
    items: Evidence | None = None
    item_of: Ints | None = None

    @classmethod
    def of(
        cls, ids: ArrayLike, scores: ArrayLike, items: Evidence | None = None, item_of: Ints | None = None
    ) -> Ranking:
        """Rank ids by score: higher first, then smaller id."""
        ordered_ids, ordered_scores, order = in_order(ids, scores)
        return cls(ordered_ids, ordered_scores, None, items, None if item_of is None else item_of[order])

    def top(self, k: int) -> Ranking:
        """Keep the k best."""
        return self.take(np.arange(min(k, len(self))))

    def take(self, positions: Ints) -> Ranking:
        """Return the passages at some positions, in the order given."""
        item_of = None if self.item_of is None else self.item_of[positions]
        return replace(self, ids=self.ids[positions], scores=self.scores[positions], item_of=item_of)

    def steps(self, passage: int) -> tuple[Step, ...]:
        """Return the walk to a passage, given by its node, in the item that brought it; empty without such an item."""
        graph, items, at = self.graph, self.items, np.flatnonzero(self.ids == passage)
        if graph is None or items is None or self.item_of is None or not len(at) or self.item_of[at[0]] < 0:
            return ()
        return walk_to_passage(graph, items.item(int(self.item_of[at[0]])), passage)

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Passage]:
        """Yield the passages, best first. Raises OptionError for a ranking that is not part of a State."""
        return (self[position] for position in range(len(self)))

    def __getitem__(self, position: int) -> Passage:
        """Return the passage at a position, 0 for the best. Raises OptionError as `__iter__` does."""
        graph = self.graph
        if graph is None:
            raise OptionError("this ranking is not part of a State, so its texts are unknown; read ids and scores.")
        node, score = int(self.ids[position]), float(self.scores[position])
        text = graph.passage(node)
        location = graph.passages.of(node) if graph.passages is not None else None
        if location is None:
            return Passage(graph.names[node], "", text, score, 0, len(text), graph.names[node])
        start, end = location.start, location.end
        return Passage(location.document, location.title, text, score, start, end, location.id)

    def __repr__(self) -> str:
        best = f", best {self.scores[0]:.4g}" if len(self) else ""
        return f"Ranking({len(self)} passages{best})"
