"""RAPTOR: a tree of summaries over the passages, all of whose levels are searched together."""

from __future__ import annotations

from graphwright.generate.prompts import CONTEXT_PASSAGES, ReportPrompt, TreeReports
from graphwright.methods.house import answering
from graphwright.models.protocols import LLM
from graphwright.operators.communities.summaries import SummaryTree, TreeSearch
from graphwright.operators.operator import Operator
from graphwright.search.snapshot import Snapshot


def raptor(
    ix: Snapshot, top_k: int = CONTEXT_PASSAGES, size: int = 10, per_summary: int = 1, *, llm: LLM | None = None
) -> Operator:
    """Rank passages by a search over the passages and a tree of summaries of them (RAPTOR, collapsed tree).

    `size`: the approximate size of a cluster; `per_summary`: number of passages that a retrieved summary gives. A
    language model writes the summaries at the first question, with one call for about `size` passages, and answers from
    the nearest summaries and the best passages; without one a summary is the most central sentences of its cluster.
    SummaryTree lists the differences from the paper.
    """
    tree = SummaryTree(ix.passages, llm, size)
    search = TreeSearch(tree, per_summary) % top_k
    return search >> answering(ix, llm, prompt=ReportPrompt(TreeReports(tree)))
