"""Beam search over well-formed chains: sequences of triples, each about an entity of those before it (DoG)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph
from graphwright.graph.items import Item, ItemKind, stepped_item
from graphwright.models.protocols import LLM, CrossEncoder, Encoder
from graphwright.operators.operator import Operator
from graphwright.operators.paths.path_evidence import query_entities
from graphwright.operators.rerank.constrained import ConstrainedDecoding
from graphwright.operators.rerank.rerank import Rerank, best_by
from graphwright.operators.rerank.scorer import ModelOf, Scorer
from graphwright.operators.run import Run
from graphwright.operators.state import State


@dataclass(frozen=True, repr=False)
class WellFormedChains(Operator):
    """Decode well-formed chains: triples that each have an entity of the question or of one before (DoG, Li et al.).

    At each step the `width` best of these are kept: the chains so far, which are then complete, and each chain with one
    more triple at an entity that it has visited, no triple twice. The search ends where no kept chain is new, or after
    `length` triples. A chain may branch, and may join what it begins at, which a path cannot. `max_chains`: candidates
    of a step; the first are ranked, and the trace notes it where there are more.

    `model`: a language model that writes the chains, held to them by a trie (see ConstrainedDecoding); an Encoder, a
    CrossEncoder or a Scorer, by the text of the whole chain; or an operator that ranks evidence.

    >>> from graphwright.models.fake import OverlapCrossEncoder
    >>> from graphwright.operators.state import start
    >>> family = Graph.from_triples([("Bertha", "child", "Ida"), ("Bertha", "ally", "Otto"), ("Ida", "spouse", "Udo")])
    >>> state = start("Who is the spouse of the child of Bertha?", family, entities=["Bertha"])
    >>> WellFormedChains(OverlapCrossEncoder(), width=1)(state).evidence.texts(family)
    ['Bertha child Ida; Ida spouse Udo']
    """

    model: Annotated[
        LLM | Encoder | CrossEncoder | Scorer | Operator, ModelOf(LLM, Encoder, CrossEncoder, Scorer, Operator)
    ]
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
            evidence = self._best(state, run, [*complete, *longer[: self.max_chains]])
            kept = list(evidence.items())
            new = [chain for chain in kept if chain not in complete]
            complete = kept
            if not new:
                break
        return state.with_(evidence=evidence)

    def _best(self, state: State, run: Run, chains: list[Item]) -> Evidence:
        """Return the `width` best of the chains, ranked."""
        model = self.model
        if isinstance(model, LLM):
            model = ConstrainedDecoding(model, self.width)
        ranker = model if isinstance(model, Operator) else Rerank(model)
        return best_by(ranker, Evidence.of_items(chains), state, run, self.width)


def _extended(graph: Graph, sources: tuple[int, ...], chains: list[Item]) -> list[Item]:
    """Return the chains with one more triple at an entity visited, each set of triples once.

    The nodes of a chain are in the order of their first visit.
    """
    columns, longer = graph.columns, dict[frozenset[int], Item]()
    for _, nodes, edges, steps in chains:
        for source in dict.fromkeys((*nodes, *sources)):
            around = np.concatenate((columns.out.row(source), columns.into.row(source))).astype(np.int64)
            for edge in np.unique(graph.inside(around)).tolist():
                if edge not in edges:
                    ends = source, *(end for end in graph.ends([edge]).tolist() if end != source)
                    visited = tuple(dict.fromkeys((*nodes, *ends)))
                    walked = (*steps, (edge, int(columns.heads[edge]) == source))
                    key = frozenset((*edges, edge))
                    if key not in longer:
                        longer[key] = stepped_item(graph, visited, (*edges, edge), walked)
    return list(longer.values())
