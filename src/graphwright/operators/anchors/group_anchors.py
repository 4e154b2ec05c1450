"""From keywords to weighted groups of the nodes and edges that may be meant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from graphwright.constraints import Has
from graphwright.errors import OptionError
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.index.vector_index import VectorIndex
from graphwright.index.word_index import WordIndex
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.keywords import is_name
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import Near, edges_near, nodes_near
from graphwright.operators.state import Anchor, State
from graphwright.prompts import data_line
from graphwright.text.words import words

__all__ = ["GroupAnchors"]

_SHARED = 0.5  # of the smaller one's candidates: anchors that share so many mean the same
_THEME = 0.5  # as much as a phrase that is no name, beside a name
_SHOWN = 200  # characters of a candidate that a language model is shown


@dataclass(frozen=True, repr=False)
class GroupAnchors(Operator):
    """Turn anchors into weighted groups of candidate nodes and edges (BubbleRAG, section 3.2, "Anchor Grouping").

    The candidates of an anchor are what it means already, and the `k` nodes and the `k` edges nearest to its text, by
    the vectors of `names` and `triples`, where there are none by words. What another anchor means by its name is not
    for it, and a theme has edges only. A language model sorts the candidates into groups, one for each thing that the
    question speaks of, and weighs these. Without one only those count that are at least `near` times as near as the
    nearest, where a name with nodes counts 1. Anchors that share half of the smaller one's candidates are a group, with
    the largest of their weights: the anchor's own times ln(1 + N / n), with N passages and n of them behind a name, or
    in the mean behind each word by the index `words`, where words of names do not count and themes count half. Each
    group is an anchor; their weights sum to 1. What has no candidate is left out.

    >>> from graphwright import Graph, start
    >>> graph = Graph.from_triples([("Lothair II", "mother", "Ermengarde"), ("Graz", "lies on", "Mur")])
    >>> state = start("?", graph, anchors=[Anchor("Lothair II", [0]), Anchor("mother of Lothair II", weight=0.5)])
    >>> [(a.text, a.nodes.tolist(), a.edges.tolist()) for a in GroupAnchors(None, None)(state).anchors]
    [('Lothair II', [0], []), ('mother of Lothair II', [], [0])]
    """

    names: VectorIndex | None
    triples: VectorIndex | None
    words: WordIndex | None = None
    model: Annotated[LLM | None, Has("a language model or None", "complete")] = None
    k: int = 5
    near: float = 0.9
    needs = ("anchors",)
    gives = ("anchors",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k < 1 or not 0 <= self.near <= 1:
            raise OptionError(f"GroupAnchors(k={self.k!r}, near={self.near!r}): 1 or more, and a share from 0 to 1.")

    def apply(self, state: State, run: Run) -> State:
        """Find the candidates and group them."""
        groups = []
        if self.model is not None and (found := self._with_candidates(state, 0.0)):
            groups = _sorted_by(self.model, state, run, found)
        if not groups:
            groups = self._merged(state.graph, self._with_candidates(state, self.near))
        if not groups:
            run.note("nothing in the graph is near to a keyword")
        return state.with_(anchors=_normalised(groups))

    def _with_candidates(self, state: State, near: float) -> list[Anchor]:
        """Return the anchors that count, each with all that may be meant by it."""
        graph, anchors = state.graph, [anchor for anchor in state.anchors or () if anchor.weight > 0]
        texts = [anchor.text for anchor in anchors]
        named = {v for anchor in anchors if _is_known(anchor) for v in anchor.nodes.tolist()}
        nodes = nodes_near(self.names, graph, texts, self.k + len(named))
        around = {v for found in nodes for v in found}.union(*(anchor.seeds(graph).tolist() for anchor in anchors))
        edges = edges_near(self.triples, graph, texts, self.k, np.array(sorted(around), np.int64))
        wide = []
        for anchor, named_alike, stated_alike in zip(anchors, nodes, edges, strict=True):
            free = {} if anchor.kind != "entity" else {v: s for v, s in named_alike.items() if v not in named}
            best = 1.0 if _is_known(anchor) else max((*free.values(), *stated_alike.values()), default=0.0)
            more, joins = (self._nearest(found, near * best) for found in (free, stated_alike))
            wide.append(replace(anchor, nodes=np.union1d(anchor.nodes, more), edges=np.union1d(anchor.edges, joins)))
        return [anchor for anchor in wide if len(anchor.nodes) + len(anchor.edges)]

    def _nearest(self, found: Near, least: float) -> Ints:
        return np.array([i for i, score in found.items() if score >= least][: self.k], np.int64)

    def _merged(self, graph: Graph, found: Sequence[Anchor]) -> list[Anchor]:
        """Return the groups of anchors that share candidates, in the order of the first of each."""
        said = {word for anchor in found if _is_known(anchor) for word in words(anchor.text)}
        parts = (_THEME if anchor.kind != "entity" else 1.0 for anchor in found)
        weights = (a.weight * part * self._rarity(a, graph, said) for a, part in zip(found, parts, strict=True))
        weighed = [replace(anchor, weight=weight) for anchor, weight in zip(found, weights, strict=True)]
        groups: list[list[Anchor]] = []
        for anchor in weighed:
            joined = [group for group in groups if any(_alike(anchor, other) for other in group)]
            if joined:
                joined[0] += [other for group in joined[1:] for other in group] + [anchor]
                groups = [group for group in groups if not any(group is other for other in joined[1:])]
            else:
                groups.append([anchor])
        return [_united(group[0].text, group, max(anchor.weight for anchor in group)) for group in groups]

    def _rarity(self, anchor: Anchor, graph: Graph, said: set[str]) -> float:
        """Return ln(1 + N / n), as the class has it; on a graph without passages by nodes and their neighbours."""
        telling = [word for word in words(anchor.text) if word not in said] or words(anchor.text)
        if self.words is not None and telling and not _is_known(anchor):
            counts = [max(len(self.words.postings(word)[0]), 1) for word in telling]
            return sum(math.log1p(len(self.words.nodes) / n) for n in counts) / len(counts)
        if graph.passages is None:
            return math.log1p(len(graph) / max(len(graph.columns.adjacency.rows(anchor.seeds(graph))), 1))
        return math.log1p(len(graph.passages) / max(len(graph.chunks_of(anchor.nodes, anchor.edges)), 1))


def _is_known(anchor: Anchor) -> bool:
    """Return whether an anchor is a name that the graph has."""
    return anchor.kind == "entity" and is_name(anchor.text) and len(anchor.nodes) > 0


def _alike(a: Anchor, b: Anchor) -> bool:
    """Return whether two anchors share half of the candidates of the one that has fewer."""
    shared = len(np.intersect1d(a.nodes, b.nodes)) + len(np.intersect1d(a.edges, b.edges))
    return shared >= _SHARED * min(len(a.nodes) + len(a.edges), len(b.nodes) + len(b.edges))


def _united(text: str, anchors: Sequence[Anchor], weight: float) -> Anchor:
    nodes, edges = (np.unique(np.concatenate([getattr(a, name) for a in anchors])) for name in ("nodes", "edges"))
    return Anchor(text, nodes, edges, weight)


def _normalised(groups: Sequence[Anchor]) -> tuple[Anchor, ...]:
    """Return the groups with weights that sum to 1, all the same where they sum to nothing."""
    total = sum(group.weight for group in groups)
    return tuple(replace(g, weight=g.weight / total if total > 0 else 1 / len(groups)) for g in groups)


def _sorted_by(model: LLM, state: State, run: Run, found: Sequence[Anchor]) -> list[Anchor]:
    """Return the groups that a language model makes of the candidates, none where it makes none of them."""
    keywords: dict[Candidate, list[str]] = {}
    for anchor in found:
        for candidate in (
            *(("name", v) for v in anchor.nodes.tolist()),
            *(("statement", e) for e in anchor.edges.tolist()),
        ):
            keywords.setdefault(candidate, []).append(anchor.text)
    candidates = list(keywords)
    lines = (_line(state.graph, number, c, keywords[c]) for number, c in enumerate(candidates, 1))
    question = data_line({"question": state.question.text})
    said = run.reply(model, "bubblerag_groups", question=question, candidates="\n".join(lines))
    if said is None:
        return []
    taken: set[int] = set()
    groups, wrong = [], 0
    for group in said.groups:
        numbers = [n for n in dict.fromkeys(group.numbers) if 1 <= n <= len(candidates) and n not in taken]
        wrong += len(group.numbers) - len(numbers)
        taken.update(numbers)
        if numbers:
            weight = group.weight if math.isfinite(group.weight) else 0.0
            groups.append(
                _group(" ".join(group.intent.split()), [candidates[n - 1] for n in numbers], max(weight, 0.0))
            )
    if wrong:
        run.note(f"{wrong} numbers were passed over: not there, or in a group already")
    if not groups:
        run.note("the model made no groups; they are of keywords that share candidates")
    return groups


Candidate = tuple[str, int]  # "name" and a node, or "statement" and an edge


def _group(intent: str, members: Sequence[Candidate], weight: float) -> Anchor:
    nodes, edges = ([i for what, i in members if what == kind] for kind in ("name", "statement"))
    return Anchor(intent, np.unique(np.array(nodes, np.int64)), np.unique(np.array(edges, np.int64)), weight)


def _line(graph: Graph, number: int, candidate: Candidate, keywords: Sequence[str]) -> str:
    what, i = candidate
    text = graph.names[i] if what == "name" else graph.edge_text(i)
    return data_line({"candidate": number, "for": keywords, what: text[:_SHOWN]})
