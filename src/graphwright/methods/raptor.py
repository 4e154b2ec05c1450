"""RAPTOR: passages by a tree of summaries over them, all of whose levels are searched together."""

from __future__ import annotations

from graphwright.generate.reports import ReportPrompt, TreeReports
from graphwright.index.snapshot import Snapshot
from graphwright.methods.passages import answering
from graphwright.models.protocols import LLM
from graphwright.operators.communities.raptor import SummaryTree, TreeSearch
from graphwright.operators.operator import Operator

__all__ = ["raptor"]


def raptor(ix: Snapshot, passages: int = 20, size: int = 10, each: int = 1, *, llm: LLM | None = None) -> Operator:
    """Passages by the collapsed tree of passages and summaries of what lies together (RAPTOR).

    `size`: of a cluster, about; `each`: the passages under it that a summary which is found stands for. A language
    model writes the summaries at the first question, one call for about `size` passages, and answers from the nearest
    ones and the best passages; without one a summary is what is most central to its cluster. SummaryTree tells what
    differs from the paper.
    """
    tree = SummaryTree(ix.passages, llm, size)
    search = TreeSearch(tree, each) % passages
    return search >> answering(ix, passages, llm, prompt=ReportPrompt(TreeReports(tree)))
