"""RAPTOR: a tree of summaries over the passages, all of whose levels are searched together."""

from __future__ import annotations

from typing import Annotated

from graphwright.generate.contexts import ReportContext, TreeReports
from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.methods.answering import answering
from graphwright.methods.method import Method
from graphwright.methods.options import Help, OptionalLLM, TopK
from graphwright.operators.communities.summaries import SummaryTree, TreeSearch, WrittenSummaryTree
from graphwright.operators.select import ToPassages
from graphwright.search.snapshot import Snapshot


def raptor(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    size: Annotated[int, Help("approximate number of passages, or of summaries, in a cluster")] = 10,
    per_summary: Annotated[int, Help("passages that a retrieved summary gives")] = 1,
    *,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages by a search over the passages and a tree of summaries of them (RAPTOR, collapsed tree).

    A language model writes the summaries at the first question, with one call for about `size` passages, and answers
    from the nearest summaries and the best passages; without one a summary is the most central sentences of its
    cluster. SummaryTree lists the differences from the paper.
    """
    tree = SummaryTree(ix.passages, size) if llm is None else WrittenSummaryTree(ix.passages, size, model=llm)
    search = TreeSearch(tree, per_summary) % top_k
    return Method(search >> ToPassages(), *answering(ix, llm, ReportContext(TreeReports(tree))))
