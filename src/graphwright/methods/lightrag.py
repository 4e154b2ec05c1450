"""LightRAG: entities by a question's low-level keywords, relations by its high-level ones, or both."""

from __future__ import annotations

from graphwright.generate.paths import PathPrompt
from graphwright.index.snapshot import Snapshot
from graphwright.methods.passages import answering
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.anchor_search import AnchorSearch
from graphwright.operators.anchors.keywords import Keywords
from graphwright.operators.fusion import ReciprocalRank
from graphwright.operators.operator import Operator
from graphwright.operators.search.triples import OneHop, TripleSearch
from graphwright.operators.select.passages import Sources
from graphwright.operators.select.summed import SummedSources

__all__ = ["lightrag_global", "lightrag_hybrid", "lightrag_local"]

_SHOWN = 5  # passages beside entities and relations, to be quoted


def lightrag_local(ix: Snapshot, passages: int = 20, n: int = 40, *, llm: LLM | None = None) -> Operator:
    """Passages behind the entities that keywords name, and behind the relations of these (LightRAG, low-level).

    `n`: entities in all. A language model lists the keywords and is shown what was found, the five best passages among
    it; without one keywords are words of the question.
    """
    return _asked(ix, passages, llm, _low(ix, n), SummedSources(passages))


def lightrag_global(ix: Snapshot, passages: int = 20, n: int = 40, *, llm: LLM | None = None) -> Operator:
    """Passages behind the relations that are nearest to the question's themes (LightRAG, high-level).

    `n`: relations in all; `llm` as in `lightrag_local`. Without one the question is its own theme: its words besides
    names alone would say nothing of what it asks about.
    """
    return _asked(ix, passages, llm, _high(ix, n, llm), Sources(passages))


def lightrag_hybrid(ix: Snapshot, passages: int = 20, n: int = 40, *, llm: LLM | None = None) -> Operator:
    """Passages behind what low-level and high-level keywords lead to, in turn (LightRAG, hybrid).

    `n`: entities, and relations found by themes, in all; `llm` as in `lightrag_local`.
    """
    in_turn = ReciprocalRank(_low(ix, n), _high(ix, n, llm), constant=0)
    return _asked(ix, passages, llm, in_turn, SummedSources(passages))


def _low(ix: Snapshot, n: int) -> Operator:
    return AnchorSearch(ix.names) % n >> OneHop()


def _high(ix: Snapshot, n: int, llm: LLM | None) -> Operator:
    return TripleSearch(ix.triples, n, asked=llm is None)


def _asked(ix: Snapshot, passages: int, llm: LLM | None, found: Operator, sources: Operator) -> Operator:
    return Keywords(llm) >> found >> answering(ix, passages, llm, sources=sources, prompt=PathPrompt(passages=_SHOWN))
