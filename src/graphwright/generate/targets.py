"""Answers from a graph alone: the nodes that paths lead to, by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Graph
from graphwright.graph.walks import relation_label
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, Citation, State

__all__ = ["NO_TARGET", "TargetAnswer", "path_text"]

NO_TARGET = "No path from what the question names leads to an answer."
_UNNAMED = "The question names nothing that is in the graph, so that there is nothing to start from."
_APART = "No triple of the graph joins {}."
_WHETHER = re.compile(
    r"\s*(?:is|are|was|were|do|does|did|has|have|had|can|could)\b(?!.*\b(?:or|who|whom|whose|what|which|when|where|how|why)\b)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, repr=False)
class TargetAnswer(Operator):
    """Answer with the names of the nodes that the evidence leads to, best first, each with its best path.

    A piece leads to the last of its nodes (of both ends of a triple, the last one first) that the question does not
    name. The text has a name a line, at most `limit`; with `tied` only those of pieces as good as the best, as the
    walks by one plan are. The citation of the same rank has the name and the path, which is names and relations in
    turn, walked from its beginning; without passages its document is empty. Needs neither a language model nor
    passages. Where a question asks whether something holds and names two things, no name answers: what the graph
    states between them does, for the reader to judge.

    >>> from graphwright.operators.paths.paths import ShortestPaths; from graphwright.operators.state import start
    >>> kin = Graph.from_triples([("Bertha", "child", "Ida"), ("Udo", "spouse", "Ida")])
    >>> answer = (ShortestPaths() >> TargetAnswer())(start("Who?", kin, entities=["Bertha"])).answer
    >>> answer.text.splitlines(), answer.citations[1].path
    (['Ida', 'Udo'], ('Bertha', 'child', 'Ida', 'spouse⁻¹', 'Udo'))
    """

    limit: int | None = None
    tied: bool = False
    needs = ("evidence",)
    gives = ("answer",)

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise OptionError(f"TargetAnswer(limit={self.limit!r}): a number of names, 1 or more, or None.")

    def apply(self, state: State, run: Run) -> State:
        """Set the answer."""
        graph = state.graph
        seeds = list(dict.fromkeys(frozenset(anchor.seeds(graph).tolist()) for anchor in state.anchors or ()))
        told = [one for one in seeds if one]
        if len(told) > 1 and _WHETHER.match(state.question.text):
            return state.with_(answer=_stated(graph, told))
        named = frozenset[int]().union(*seeds)
        found: dict[str, tuple[str, ...]] = {}
        words = _Words(graph)
        for nodes, edges in self._considered(state):
            if self.limit is not None and len(found) >= self.limit:
                break
            ends = nodes.tolist() or graph.ends(edges).tolist()
            target = next((node for node in reversed(ends) if node not in named), None)
            # The text of a path costs more than all else here: only that of a new target is made.
            if target is not None and (name := words.name(target)) not in found:
                found[name] = words.path(nodes, edges)
        if not found:
            return state.with_(answer=Answer(NO_TARGET if named else _UNNAMED, found=False))
        cited = tuple(Citation("", name, 0, len(name), name, path) for name, path in found.items())
        return state.with_(answer=Answer("\n".join(found), cited))

    def _considered(self, state: State) -> Evidence:
        found = state.evidence or Evidence.of_nodes([])
        if not self.tied or found.scores is None or not len(found):
            return found
        return found.top(int(np.searchsorted(-found.scores, -found.scores[0], "right")))


def _stated(graph: Graph, seeds: Sequence[frozenset[int]]) -> Answer:
    """Return the triples between the things that a question names, in the order of ids."""
    columns, edges = graph.columns, set[int]()
    for one, other in combinations(seeds, 2):
        few, many = sorted((one, other), key=len)
        ends = np.array(sorted(many), np.int64)
        for node in few:
            out, into = columns.out.row(node), columns.into.row(node)
            edges.update(
                out[np.isin(columns.tails[out], ends)].tolist(), into[np.isin(columns.heads[into], ends)].tolist()
            )
    stated = np.array(sorted(edges), np.int64)
    stated = stated if graph.whole else stated[np.isin(stated, graph.edges)]
    if not len(stated):
        return Answer(_APART.format(" and ".join(graph.names[min(one)] for one in seeds)), found=False)
    cited = []
    for path in dict.fromkeys(map(graph.triple, stated.tolist())):
        text = " ".join(path)
        cited.append(Citation("", text, 0, len(text), text, path))
    return Answer("\n".join(citation.text for citation in cited), tuple(cited))


def path_text(graph: Graph, nodes: Ints, edges: Ints) -> tuple[str, ...]:
    """Return a path as names and relations in turn; a relation that is walked against its direction ends in ⁻¹.

    Nodes and edges that are no walk are given as the names of the nodes; a triple without nodes as itself.

    >>> import numpy as np
    >>> graph = Graph.from_triples([("a", "r", "b"), ("c", "s", "b")])
    >>> path_text(graph, np.array([0, 1, 2]), np.array([0, 1]))
    ('a', 'r', 'b', 's⁻¹', 'c')
    """
    return _Words(graph).path(nodes, edges)


class _Words:
    """Names and relations of a graph, each read once: a thousand paths from one node have most of theirs in common."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.name = cache(graph.names.__getitem__)
        self.label = cache(partial(relation_label, graph))

    def path(self, nodes: Ints, edges: Ints) -> tuple[str, ...]:
        """Return what `path_text` does."""
        listed, columns = nodes.tolist(), self.graph.columns
        if not listed and len(edges):
            return self.graph.triple(int(edges[-1]))
        names = [self.name(node) for node in listed]
        if len(edges) + 1 != len(names):
            return tuple(names)
        steps = names[:1]
        relations, heads = columns.relation[edges].tolist(), columns.heads[edges].tolist()
        for relation, head, before, name in zip(relations, heads, listed, names[1:], strict=False):
            steps += [self.label(relation, head == before), name]
        return tuple(steps)
