"""One place in a ranking for passages that are copies of one another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.search.copies import same_passages
from graphwright.search.versions import versions_of
from graphwright.text.words import words


@dataclass(frozen=True, repr=False)
class DistinctPassages(Operator):
    """Leave out passages that are copies of better ones, also under another header, footer or date; keep the best `k`.

    Of copies in dated documents the newest takes the place of the best. Copies whose different parts have a word of the
    question stay apart.
    """

    k: Annotated[int | None, AtLeast(1)] = None
    needs = ("passages",)
    gives = ("passages",)

    def apply(self, state: State, run: Run) -> State:
        """Set the passages."""
        passages = state.passages
        if passages is None:
            return state
        firsts = np.array(same_passages(state.graph, passages.ids, words(state.question.text)), np.int64)
        kept = np.flatnonzero(firsts == np.arange(len(firsts)))[: self.k]
        dated, ids = versions_of(state.graph.columns).dated, passages.ids.copy()
        for first in kept.tolist():
            same = np.flatnonzero(firsts == first)
            documents = [passages[int(at)].document for at in same] if len(same) > 1 else []
            if documents and all(document in dated for document in documents):
                ids[first] = passages.ids[same[int(np.argmax([dated[document].first for document in documents]))]]
        if copies := int((firsts != np.arange(len(firsts))).sum()):
            run.note(f"{copies} of {len(firsts)} passages are copies of better ones")
        return state.with_(passages=replace(passages, ids=ids).take(kept))
