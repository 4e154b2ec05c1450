"""Training examples of embedding models: a question, a text that explains an answer, and other texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphwright.errors import DataError
from graphwright.graph import Evidence, Graph, Item
from graphwright.graph.items import path_item
from graphwright.graph.walks import Ways, walks_along, ways_of
from graphwright.learn.candidates import ppr_subgraph
from graphwright.learn.labels import Label, Labels, Progress, positive_edges
from graphwright.operators import ShortestPaths, start

_MAX_WALKS = 1_000  # of one relation path, to draw one from


@dataclass(frozen=True, slots=True)
class PathGroup:
    """A question by id and text, and texts of paths or triples near its entities; the first explains an answer."""

    id: str
    question: str
    texts: tuple[str, ...]


def path_groups(
    graph: Graph, labels: Labels, negatives: int = 7, seed: int = 0, progress: Progress | None = None
) -> list[tuple[PathGroup, ...]]:
    """Return the groups of each label that has a walk to an answer: one of paths, and one of triples.

    The first path is a walk along a labelled relation path to an answer. The others are shortest paths of the
    question's PPR subgraph, no longer than candidates of labels, by different relations that are not labelled, and not
    to an answer. The first triple is one of that walk; the others are triples at its nodes, then any of the subgraph.
    All are drawn with `seed`. Raises DataError where no label has a walk to an answer.
    """
    rng, groups = np.random.default_rng(seed), []
    nodes, length = int(labels.about.get("nodes", 1000)), int(labels.about.get("length", 4))
    for count, label in enumerate(labels.rows, 1):
        of_label = tuple(_groups(graph, label, nodes, length, negatives, rng))
        if of_label:
            groups.append(of_label)
        if progress is not None:
            progress("collect texts", count, len(labels.rows))
    if not groups:
        raise DataError(
            f"None of {len(labels.rows):,} labelled questions has a path to an answer, so there is nothing to learn. "
            "Check that the graph connects the entities of the questions with their answers."
        )
    return groups


def _groups(
    graph: Graph, label: Label, nodes: int, length: int, negatives: int, rng: np.random.Generator
) -> Iterator[PathGroup]:
    walks = _walks_to_answers(graph, label)
    if not walks:
        return
    walk = walks[rng.integers(len(walks))]
    subgraph, example = ppr_subgraph(graph, label.example, nodes), label.example
    positive = positive_edges(graph, label)
    for first, others in (
        (walk, _other_paths(subgraph, label, length, rng)),
        (Item.triple(walk.edges[rng.integers(len(walk.edges))]), _other_triples(subgraph, positive, walk, rng)),
    ):
        texts = list(dict.fromkeys(Evidence.of_items([first, *others[:negatives]]).texts(graph)))
        if len(texts) > 1:
            yield PathGroup(example.id, example.text, tuple(texts))


def _walks_to_answers(graph: Graph, label: Label) -> list[Item]:
    walks: list[Item] = []
    for path in label.paths:
        nodes, by = walks_along(graph, path.candidate.source, path.candidate.ways, _MAX_WALKS, returning=True)
        ids = graph.at(nodes)
        arrive = np.isin(ids[:, -1], label.example.answers)
        walks += [path_item(graph, *walk) for walk in zip(ids[arrive], graph.edges[by[arrive]], strict=True)]
    return walks


def _other_paths(subgraph: Graph, label: Label, length: int, rng: np.random.Generator) -> list[Item]:
    """Return shortest paths by relations without a label to nodes that are no answers, one for each relation path."""
    state = ShortestPaths()(start(label.example.text, subgraph, evidence=Evidence.of_nodes(label.example.entities)))
    learned, chosen = {path.candidate.ways for path in label.paths}, dict[Ways, Item]()
    items = state.items
    for at in rng.permutation(len(items)).tolist():
        path = items.item(at)
        ways = ways_of(subgraph, path.steps)
        if 0 < len(path.edges) <= length and ways not in learned and path.nodes[-1] not in label.example.answers:
            chosen.setdefault(ways, path)
    return list(chosen.values())


def _other_triples(subgraph: Graph, positive: Any, walk: Item, rng: np.random.Generator) -> list[Item]:
    """Return triples that are not labelled, those at the nodes of a walk first."""
    others = rng.permutation(np.setdiff1d(subgraph.edges, positive))
    heads, tails = subgraph.columns.heads[others], subgraph.columns.tails[others]
    near = np.isin(heads, walk.nodes) | np.isin(tails, walk.nodes)
    return [Item.triple(edge) for edge in others[np.argsort(~near, kind="stable")].tolist()]
