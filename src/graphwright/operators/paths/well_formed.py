"""Beam search over well-formed chains: sequences of triples, each about an entity of an earlier triple (DoG)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph
from graphwright.graph.items import Item, ItemKind, stepped_item
from graphwright.operators.operator import IS_OPERATOR, Operator
from graphwright.operators.paths.path_evidence import query_entities
from graphwright.operators.rerank.rerank import best_by
from graphwright.operators.run import Run
from graphwright.operators.state import State


@dataclass(frozen=True, repr=False)
class WellFormedChains(Operator):
    """Decode well-formed chains: each triple has an entity of the question or of an earlier triple (DoG, Li et al.).

    Each step selects the `width` best of two kinds of candidates: the chains so far, which are then complete, and each
    chain with one more triple at an entity that it visits, no triple twice. The search ends when no selected chain is
    new, or after `length` triples. Unlike a path, a chain may branch, and may return to its start. `max_chains`:
    maximum candidates of a step; only the first are ranked, with a note in the trace.

    `ranker`: ranks the chains, such as ConstrainedDecoding, with which a language model writes them under a trie, or
    Rerank, by the text of the whole chain.

    >>> from graphwright import Rerank, start; from graphwright.models import OverlapCrossEncoder
    >>> family = Graph.from_triples([("Bertha", "child", "Ida"), ("Bertha", "ally", "Otto"), ("Ida", "spouse", "Udo")])
    >>> state = start("Who is the spouse of the child of Bertha?", family, entities=["Bertha"])
    >>> WellFormedChains(Rerank(OverlapCrossEncoder()), width=1)(state).evidence.texts(family)
    ['Bertha child Ida; Ida spouse Udo']
    """

    ranker: Annotated[Operator, IS_OPERATOR]
    width: Annotated[int, AtLeast(1)] = 3
    length: Annotated[int, AtLeast(1)] = 3
    max_chains: Annotated[int, AtLeast(1)] = 256
    needs = ("anchors|evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Search from all query entities together."""
        sources = tuple(state.graph.at(query_entities(state)).tolist())
        complete: list[Item] = []
        new = [Item(ItemKind.TREE, (), ())]
        evidence = Evidence.of_items([], [])
        for _ in range(self.length):
            longer = _extended(state.graph, sources, new)
            if len(longer) > self.max_chains:
                run.note(f"only the first {self.max_chains} of {len(longer)} candidate chains of a step were ranked")
            if not longer:
                break
            chains = Evidence.of_items([*complete, *longer[: self.max_chains]])
            evidence = best_by(self.ranker, chains, state, run, self.width)
            selected = list(evidence.items())
            new = [chain for chain in selected if chain not in complete]
            complete = selected
            if not new:
                break
        return state.with_(evidence=evidence)


def _extended(graph: Graph, sources: tuple[int, ...], chains: list[Item]) -> list[Item]:
    """Return the chains with one more triple at an entity visited, each set of triples once.

    The nodes of a chain are in the order of their first visit.
    """
    columns, longer = graph.columns, dict[frozenset[int], Item]()
    for _, nodes, edges, steps in chains:
        for source in dict.fromkeys((*nodes, *sources)):
            around = np.concatenate((columns.out.row(source), columns.into.row(source))).astype(np.int64)
            for edge in np.unique(graph.inside(around)).tolist():
                key = frozenset((*edges, edge))
                if edge not in edges and key not in longer:
                    visited = tuple(dict.fromkeys((*nodes, source, *graph.ends([edge]).tolist())))
                    step = edge, int(columns.heads[edge]) == source
                    longer[key] = stepped_item(graph, visited, (*edges, edge), (*steps, step))
    return list(longer.values())
