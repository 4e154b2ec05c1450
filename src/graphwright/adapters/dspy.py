"""DSPy: a retrieval module."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphwright import Index
from graphwright.adapters.results import metadata_of, missing_extra, opened, passages_of

try:
    import dspy
except ImportError as error:
    raise missing_extra("dspy", error) from error


class GraphwrightRM(dspy.Retrieve):
    """Retrieve passages of an index for one or several queries.

    `index`: an open index, or the path of its folder; `k`: passages; `method`: a name of `graphwright methods`;
    `options`: further arguments of Index.retrieve. The prediction has `passages` (texts) and `sources` (for each its
    id, document, title, characters, location, score and the document's metadata). With several queries, each passage
    occurs once, at its best rank.
    """

    def __init__(self, index: Index | str | Path, k: int = 15, method: str | None = None, **options: Any) -> None:
        super().__init__(k=k)
        self.index, self.method, self.options = opened(index), method, options

    def forward(self, query: str | Sequence[str] = "", k: int | None = None, **_: Any) -> Any:
        """Return the passages for the queries."""
        queries = [query] if isinstance(query, str) else list(query)
        count = self.k if k is None else k
        states = [self.index.retrieve(text, self.method, top_k=count, **self.options) for text in queries if text]
        ranked = list(map(passages_of, states))
        metadata: dict[str, Any] = {}
        for state in reversed(states):  # scores are those of the first query
            metadata |= metadata_of(self.index, state)
        best: dict[str, Any] = {}
        for place in range(count):
            for passages in ranked:
                if place < len(passages):
                    best.setdefault(passages[place].id, passages[place])
        chosen = list(best.values())[:count]
        return dspy.Prediction(passages=[p.text for p in chosen], sources=[metadata[p.id] for p in chosen])
