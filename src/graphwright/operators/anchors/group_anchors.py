"""Grouping of anchors: from keywords to weighted groups of candidate nodes and edges (BubbleRAG)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Between, Has
from graphwright.graph.graph import Graph
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.keywords import extended
from graphwright.operators.anchors.link_entities import is_name
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import edges_near, nodes_near
from graphwright.operators.state import Anchor, State
from graphwright.prompts.templates import data_line
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.vector_index import VectorIndex
from graphwright.text.words import words

_SHARED = 0.5  # share of the smaller anchor's candidates from which two anchors form a group
_THEME_WEIGHT = 0.5  # weight of a theme relative to a name
_CANDIDATE_CHARACTERS = 200  # of a candidate in a prompt


class _Grouping(Operator):
    """Turns anchors into weighted groups of candidate nodes and edges, each an anchor; their weights sum to 1."""

    names: VectorIndex | None
    triples: VectorIndex | None
    k: int
    near: float
    needs = ("anchors",)
    gives = ("anchors",)

    def apply(self, state: State, run: Run) -> State:
        groups = self.grouped(state, run, self._with_candidates(state, run))
        if not groups and not run.failed:
            run.note("nothing in the graph is near to a keyword")
        total = sum(group.weight for group in groups)
        shares = (group.weight / total if total > 0 else 1 / len(groups) for group in groups)
        return state.with_(anchors=tuple(replace(g, weight=share) for g, share in zip(groups, shares, strict=True)))

    @abstractmethod
    def grouped(self, state: State, run: Run, anchors: list[Anchor]) -> list[Anchor]:
        """Return the groups of anchors with candidates."""

    def _with_candidates(self, state: State, run: Run) -> list[Anchor]:
        """Return the anchors of positive weight that have candidates, with these as their nodes and edges."""
        graph, anchors = state.graph, [anchor for anchor in state.anchors or () if anchor.weight > 0]
        texts = [anchor.text for anchor in anchors]
        linked = {node for anchor in anchors if _is_linked_name(anchor) for node in anchor.nodes.tolist()}
        near_nodes = nodes_near(run, self.names, graph, texts, self.k + len(linked))
        seeds = (anchor.seeds(graph).tolist() for anchor in anchors)
        around = {node for nodes in near_nodes for node in nodes}.union(*seeds)
        near_edges = edges_near(run, self.triples, graph, texts, self.k, np.array(sorted(around), np.int64))
        candidates = []
        for anchor, node_scores, edge_scores in zip(anchors, near_nodes, near_edges, strict=True):
            free = {v: s for v, s in node_scores.items() if v not in linked} if anchor.kind == "entity" else {}
            best = 1.0 if _is_linked_name(anchor) else max((*free.values(), *edge_scores.values()), default=0.0)
            nodes, edges = (
                [i for i, score in scores.items() if score >= self.near * best][: self.k]
                for scores in (free, edge_scores)
            )
            candidates.append(extended(anchor, nodes, edges))
        return [anchor for anchor in candidates if len(anchor.nodes) + len(anchor.edges)]


@dataclass(frozen=True, repr=False)
class GroupByModel(_Grouping):
    """Turn anchors into weighted groups of candidate nodes and edges (BubbleRAG, section 3.2, "Anchor Grouping").

    The candidates of an anchor are its own nodes and edges, the `k` nodes nearest to its text, and the `k` edges
    nearest to it among those at all these nodes, by the vectors of `names` and `triples`, without them by words. The
    nodes of another anchor's name are not candidates, and a theme has edges only. A language model groups the
    candidates by the things that the question refers to, and weights the groups. Without a usable reply the step fails;
    GroupAnchors needs no model.
    """

    names: VectorIndex | None
    triples: VectorIndex | None
    model: Annotated[LLM, Has("a language model", "complete")]
    k: Annotated[int, AtLeast(1)] = 5
    near = 0.0

    def grouped(self, state: State, run: Run, anchors: list[Anchor]) -> list[Anchor]:
        groups = _grouped_by_model(self.model, state, run, anchors) if anchors else []
        if not groups:
            run.fail()
        return groups


@dataclass(frozen=True, repr=False)
class GroupAnchors(_Grouping):
    """Turn anchors into weighted groups of candidate nodes and edges, without a language model.

    The candidates are those of GroupByModel whose similarity is at least `near` times the highest, which is 1 for a
    name with nodes. Two anchors form a group if they share half of the candidates of the smaller anchor. An anchor's
    weight is multiplied by ln(1 + N / n), where n of the N passages mention its name; for other anchors by the mean
    over their words outside names, by the index `words`, with n passages that contain the word. Themes have half the
    weight. A group has the largest of these weights, and the weights of groups sum to 1. Others are left out.

    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("Lothair II", "mother", "Ermengarde"), ("Graz", "lies on", "Mur")])
    >>> state = start("?", graph, anchors=[Anchor("Lothair II", [0]), Anchor("mother of Lothair II", weight=0.5)])
    >>> groups = GroupAnchors(None, None)(state).anchors
    >>> [(group.text, group.nodes.tolist(), group.edges.tolist()) for group in groups]
    [('Lothair II', [0], []), ('mother of Lothair II', [], [0])]
    """

    names: VectorIndex | None
    triples: VectorIndex | None
    words: WordIndex | None = None
    k: Annotated[int, AtLeast(1)] = 5
    near: Annotated[float, Between(0, 1)] = 0.9

    def grouped(self, state: State, run: Run, anchors: list[Anchor]) -> list[Anchor]:
        name_words = {word for anchor in anchors if _is_linked_name(anchor) for word in words(anchor.text)}
        groups: list[list[Anchor]] = []
        for anchor in anchors:
            kind_weight = 1.0 if anchor.kind == "entity" else _THEME_WEIGHT
            weight = anchor.weight * kind_weight * self._rarity(anchor, state.graph, name_words)
            member = replace(anchor, weight=weight)
            joined = [group for group in groups if any(_overlap(member, other) for other in group)]
            if joined:
                joined[0] += [other for group in joined[1:] for other in group] + [member]
                groups = [group for group in groups if not any(group is other for other in joined[1:])]
            else:
                groups.append([member])
        return [_united(group) for group in groups]

    def _rarity(self, anchor: Anchor, graph: Graph, name_words: set[str]) -> float:
        """Return ln(1 + N / n) of the class docstring; on a graph without passages over nodes and their neighbours."""
        anchor_words = [word for word in words(anchor.text) if word not in name_words] or words(anchor.text)
        if self.words is not None and anchor_words and not _is_linked_name(anchor):
            counts = [max(self.words.frequency(word), 1) for word in anchor_words]
            return sum(math.log1p(len(self.words.nodes) / count) for count in counts) / len(counts)
        if graph.passages is None:
            return math.log1p(len(graph) / max(len(graph.columns.adjacency.rows(anchor.seeds(graph))), 1))
        return math.log1p(len(graph.passages) / max(len(graph.chunks_of(anchor.nodes, anchor.edges)), 1))


def _is_linked_name(anchor: Anchor) -> bool:
    return anchor.kind == "entity" and is_name(anchor.text) and len(anchor.nodes) > 0


def _overlap(a: Anchor, b: Anchor) -> bool:
    """Return whether two anchors share half of the candidates of the anchor with fewer."""
    shared = len(np.intersect1d(a.nodes, b.nodes)) + len(np.intersect1d(a.edges, b.edges))
    return shared >= _SHARED * min(len(a.nodes) + len(a.edges), len(b.nodes) + len(b.edges))


def _united(anchors: Sequence[Anchor]) -> Anchor:
    nodes, edges = (np.unique(np.concatenate([getattr(a, name) for a in anchors])) for name in ("nodes", "edges"))
    return Anchor(anchors[0].text, nodes, edges, max(anchor.weight for anchor in anchors))


def _grouped_by_model(model: LLM, state: State, run: Run, anchors: Sequence[Anchor]) -> list[Anchor]:
    keywords: dict[tuple[str, int], list[str]] = {}
    for anchor in anchors:
        for kind, ids in (("name", anchor.nodes), ("statement", anchor.edges)):
            for i in ids.tolist():
                keywords.setdefault((kind, i), []).append(anchor.text)
    candidates = list(keywords)
    texts = [state.graph.names[i] if kind == "name" else state.graph.edge_text(i) for kind, i in candidates]
    lines = (
        data_line({"candidate": number, "for": keywords[candidate], candidate[0]: text[:_CANDIDATE_CHARACTERS]})
        for number, (candidate, text) in enumerate(zip(candidates, texts, strict=True), 1)
    )
    question = data_line({"question": state.question.text})
    reply = run.reply(model, "bubblerag_groups", question=question, candidates="\n".join(lines))
    if reply is None:
        return []
    used: set[int] = set()
    groups, ignored = [], 0
    for group in reply.groups:
        numbers = [n for n in dict.fromkeys(group.numbers) if 1 <= n <= len(candidates) and n not in used]
        ignored += len(group.numbers) - len(numbers)
        used.update(numbers)
        if numbers:
            weight = max(group.weight, 0.0) if math.isfinite(group.weight) else 0.0
            members = [candidates[n - 1] for n in numbers]
            nodes, edges = (sorted(i for kind, i in members if kind == name) for name in ("name", "statement"))
            intent = " ".join(group.intent.split())
            groups.append(Anchor(intent, np.array(nodes, np.int64), np.array(edges, np.int64), weight))
    if ignored:
        run.note(f"{ignored} numbers were ignored: no such candidate, or in a group already")
    if not groups:
        run.note("the model made no groups")
    return groups
