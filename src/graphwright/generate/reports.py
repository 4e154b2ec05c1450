"""Prompts that hold reports about many passages together: of communities (GraphRAG), or of a tree (RAPTOR)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from graphwright.errors import OptionError
from graphwright.generate.prompt import PassagePrompt
from graphwright.kernels.rank import top
from graphwright.models.budget import estimated_tokens
from graphwright.operators.communities.communities import found_communities
from graphwright.operators.communities.raptor import SummaryTree
from graphwright.operators.communities.summaries import Summaries
from graphwright.operators.operator import Operator
from graphwright.operators.state import State
from graphwright.prompts import data_line, messages

__all__ = ["CommunityReports", "ReportPrompt", "TreeReports"]

_LEAST = 2_000  # tokens, so that there is room for the first passage
_RELATIONS = 30


@dataclass(frozen=True)
class CommunityReports:
    """The summaries of the communities that the evidence lies in, those with most of it first.

    `level`: of the communities; `limit`: summaries at most.
    """

    summaries: Summaries
    level: int = 2
    limit: int = 3

    def __post_init__(self) -> None:
        if self.level < 0 or self.limit < 1:
            raise OptionError(f"{self!r}: the level is 0 or more, the summaries are 1 or more.")

    def __call__(self, state: State) -> list[str]:
        """Return the summaries, best first."""
        wanted = found_communities(state, self.summaries, self.level)[: self.limit]
        return self.summaries.texts(state.graph, self.level, wanted)


@dataclass(frozen=True)
class TreeReports:
    """The summaries of a tree that are nearest to the question; `limit`: summaries at most."""

    tree: SummaryTree
    limit: int = 5

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise OptionError(f"TreeReports(limit={self.limit!r}): a number of summaries, 1 or more.")

    def __call__(self, state: State) -> list[str]:
        """Return the summaries, best first."""
        made = self.tree.of(state.graph)
        vectors = made.vectors[len(made.leaves) :]
        scores = vectors @ self.tree.passages.encode(state.question.text)
        return [made.texts[at] for at in top(scores, self.limit).tolist()]


@dataclass(frozen=True, repr=False)
class ReportPrompt(Operator):
    """The question, reports, relations of the evidence if there is some, and the best passages, each one line of JSON.

    `reports`: what finds the reports' texts for a state, best first, as `CommunityReports` or `TreeReports`. What the
    answer says is quoted from the passages. `tokens`: room for the whole prompt, by estimate; passages take half of it
    at most, then reports what they need, then relations, of which distinct texts are shown, 30 at most. What does not
    fit whole is left out.
    """

    reports: Callable[[State], list[str]]
    passages: int = 8
    tokens: int = 8_000
    needs = ("chunks",)
    gives = ("prompt",)

    def __post_init__(self) -> None:
        if self.passages < 1:
            raise OptionError(f"ReportPrompt(passages={self.passages!r}): a number of passages, 1 or more.")
        if self.tokens < _LEAST:
            raise OptionError(f"ReportPrompt(tokens={self.tokens!r}): room for the prompt, {_LEAST} or more.")

    def apply(self, state: State) -> State:
        """Write the prompt."""
        question, graph = data_line({"question": state.question.text}), state.graph
        left = self.tokens - estimated_tokens("\n\n".join(messages("reports", question=question, lines="")))
        shown = _fitting(PassagePrompt(self.passages, 2 * self.tokens).lines(state), left // 2)
        left -= sum(map(_size, shown))
        told = (data_line({"report": n, "text": text}) for n, text in enumerate(self.reports(state), 1))
        reports = _fitting(told, left)
        left -= sum(map(_size, reports))
        edges = [] if state.evidence is None else state.evidence.edges.tolist()
        said = list(dict.fromkeys(graph.edge_text(edge) for edge in edges))[:_RELATIONS]
        relations = _fitting((data_line({"relation": text}) for text in said), left)
        lines = "\n".join((*reports, *relations, *shown))
        return state.with_(prompt="\n\n".join(messages("reports", question=question, lines=lines)))


def _fitting(lines: Iterable[str], room: int) -> list[str]:
    kept = []
    for line in lines:
        if _size(line) <= room:
            room -= _size(line)
            kept.append(line)
    return kept


def _size(line: str) -> int:
    return estimated_tokens(line) + 1
