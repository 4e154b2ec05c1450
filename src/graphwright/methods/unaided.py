"""A language model without retrieval, to compare with: these have no offline twin, and retrieve nothing."""

from __future__ import annotations

from graphwright.generate.unaided import Unaided
from graphwright.index.snapshot import Snapshot
from graphwright.models.protocols import LLM
from graphwright.operators.operator import Operator

__all__ = ["cot", "vanilla"]


def vanilla(ix: Snapshot, *, llm: LLM) -> Operator:
    """What a language model answers alone, without a passage and without citations; it needs one."""
    return Unaided(llm)


def cot(ix: Snapshot, *, llm: LLM) -> Operator:
    """What a language model answers alone after a chain of thought, without a passage and citations; it needs one."""
    return Unaided(llm, reasoning=True)
