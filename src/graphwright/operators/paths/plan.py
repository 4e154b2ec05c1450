"""Planning by a language model: it writes by which relations an answer can be reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import relation_words, ways_of
from graphwright.models.protocols import LLM
from graphwright.operators.operator import Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts import data_line, messages

__all__ = ["Plan"]

_PLANS = 3  # that are asked for, unless `% k` says how many are kept


@dataclass(frozen=True, repr=False)
class Plan(Ranker):
    """Keep the relation paths that a language model plans for the question, in the order in which it writes them.

    The planning of RoG (Luo et al., 2024), by a model that was not trained for it: it is shown the question and the
    relations of the evidence's relation paths, `shown` at most, and writes plans, each a list of relations. A relation
    path is kept where its relations are those of a plan, in whichever direction each is walked; those of the r-th plan
    have the score 1/r. A plan that the graph cannot carry out, or was written before, is passed over with a note in the
    trace.

    >>> from graphwright import RelationPaths, ScriptedLLM, start
    >>> film = Graph.from_triples([("Heat", "directed_by", "Mann"), ("Ali", "directed_by", "Mann")])
    >>> state = start("What else did the director of Heat film?", film, entities=["Heat"])
    >>> llm = ScriptedLLM(['{"plans": [["directed by", "directed by"], ["stars"]]}'])
    >>> (RelationPaths(2) >> Plan(llm))(state).evidence.texts(film)
    ['directed by, directed by of']
    """

    model: LLM
    shown: int = 200
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not isinstance(self.model, LLM):
            raise OptionError(f"Plan({self.model!r}): a language model is needed, with complete.")
        if isinstance(self.shown, bool) or not hasattr(self.shown, "__index__") or self.shown < 1:
            raise OptionError(f"Plan(shown={self.shown!r}): a number of relations, 1 or more.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Ask for plans, and keep the relation paths that they mean."""
        found = state.evidence
        if found is None or not len(found.edges):
            return state.with_(evidence=Evidence.of_nodes([], []))
        paths = [_relations(state.graph, *piece) for piece in found]
        plans = self._plans(state, run, paths, _PLANS if k is None else k)
        rank: dict[tuple[str, ...], int] = {}
        for at, plan in enumerate(plans, 1):
            rank.setdefault(plan, at)
        passed = len(plans) - len(set(paths) & set(rank))
        if passed:
            run.note(f"{passed} of {len(plans)} plans were passed over: not in the graph, or written before")
        kept = [at for at, path in enumerate(paths) if path in rank]
        best = found.take(kept, [1.0 / rank[paths[at]] for at in kept])
        return state.with_(evidence=best if k is None else best.top(k))

    def _plans(self, state: State, run: Run, paths: Sequence[tuple[str, ...]], most: int) -> list[tuple[str, ...]]:
        """Return what the model writes, each relation as it is read here."""
        relations = list(dict.fromkeys(relation for path in paths for relation in path))
        if len(relations) > self.shown:
            run.note(f"{self.shown} of {len(relations)} relations were shown")
        asked = messages(
            "plan",
            question=data_line({"question": state.question.text}),
            relations="\n".join(data_line(relation) for relation in relations[: self.shown]),
            most=str(most),
            length=str(max(map(len, paths))),
        )
        written = run.complete(self.model, *asked, schema=_schema()).value.plans
        return [tuple(" ".join(relation.split()).casefold() for relation in plan) for plan in written]


def _relations(graph: Graph, nodes: Any, edges: Any) -> tuple[str, ...]:
    """Return the relations of a walk as a model reads them, without their directions."""
    return tuple(relation_words(graph, (way | 1,)).casefold() for way in ways_of(graph, nodes, edges))


@cache
def _schema() -> type[Any]:
    """Return what a reply must be, as a pydantic model."""
    from pydantic import create_model

    return create_model("Plans", plans=(list[list[str]], ...))
