"""What is searched of a graph that is given as it is: a dump that was imported, or triples at hand."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import WRITTEN, Graph
from graphwright.index.build import SPACES, Built, Progress, encoded
from graphwright.index.lexicon import FOLDED, forms_of
from graphwright.index.snapshot import Space
from graphwright.index.words import WordIndex, words
from graphwright.models.protocols import NamedEncoder

__all__ = ["EMBEDDED", "WORDED", "checked_spaces", "given", "words_of_passages"]

EMBEDDED = 50_000
"""Nodes of a graph up to which names get vectors unless said otherwise: about a minute of two cores."""
WORDED = 2_000_000
"""Edges of a graph up to which its nodes can be searched by the words of their triples: about a minute, too."""


def checked_spaces(embed: Sequence[str]) -> tuple[str, ...]:
    """Return which texts are to get a vector. Raises OptionError for one that there is not."""
    unknown = [name for name in embed if name not in SPACES]
    if unknown:
        raise OptionError(f"embed={','.join(embed)!r}: choose from {', '.join(SPACES)}, or 'none'.")
    return tuple(dict.fromkeys(embed))


def given(
    graph: Graph,
    encoder: NamedEncoder,
    *,
    embed: Sequence[str] | None = None,
    ids: Mapping[int, str] | None = None,
    progress: Progress | None = None,
) -> Built:
    """Return all that is searched of a graph without passages; its nodes stand for them.

    `embed`: which of names, triples (an edge each) and passages (a node's triples, written out) get a vector; names
    unless given, of a graph of at most EMBEDDED nodes. `ids`: what nodes were called in a file beside their names; a
    question may use either. Beyond FOLDED nodes names are only found as they are written, beyond WORDED edges
    passages are not found by their words: both would take longer than all the rest.
    """
    seconds: dict[str, float] = {}

    def lap(part: str, since: float) -> float:
        now = time.perf_counter()
        seconds[part] = now - since
        return now

    clock = time.perf_counter()
    embed = (("names",) if len(graph) <= EMBEDDED else ()) if embed is None else checked_spaces(embed)
    if len(graph) <= FOLDED and not len(graph.columns.aliases):
        forms, nodes = forms_of(graph.columns, ids or {})
        graph = Graph(dataclasses.replace(graph.columns, aliases=forms, alias_node=nodes))
    worded = len(graph.columns.heads) <= WORDED
    texts: dict[str, Sequence[str]] = {
        "passages": [graph.passage(node) for node in range(len(graph))] if "passages" in embed else [],
        "names": graph.names,
        "triples": TextColumn.of(map(graph.edge_text, range(len(graph.columns.heads)))) if "triples" in embed else [],
    }
    clock = lap("forms of names", clock)
    spaces, about = {}, _about(graph, encoder, embed, texts)
    for name in embed:
        vectors = encoded(encoder, name, texts[name], progress)
        spaces[name] = Space(vectors, np.arange(len(texts[name]), dtype=np.int32))
    clock = lap("vectors", clock)
    said = words_of_passages(graph) if worded else TextColumn.of([])
    index = WordIndex.of_words(said, np.arange(len(said)))
    lap("words", clock)
    return Built(graph, spaces, index, about, seconds)


def words_of_passages(graph: Graph) -> TextColumn:
    """Return the words (see `words`) of what is read of each node, put together from those of names and relations.

    >>> list(words_of_passages(Graph.from_triples([("Graz", "lies_on", "the Mur"), ("Ida", "born_in", "Graz")])))
    ['graz lie mur ida born graz ', 'graz lie mur ', 'ida born graz ']
    """
    c = graph.columns
    names = TextColumn.of("".join(f"{word} " for word in words(name)) for name in c.names)
    labels = TextColumn.of("".join(f"{word} " for word in words(label.replace("_", " "))) for label in c.relations)
    apart = c.heads != c.tails
    owner = np.concatenate((c.heads, c.tails[apart])).astype(np.int64)
    edge = np.concatenate((np.arange(len(c.heads)), np.flatnonzero(apart)))
    order = np.lexsort((edge, owner))
    owner, edge = owner[order], edge[order]
    kept = np.arange(len(owner)) - np.searchsorted(owner, owner) < WRITTEN
    owner, edge = owner[kept], edge[kept]
    parts = np.stack((c.heads[edge], c.relation[edge].astype(np.int64) + len(names), c.tails[edge]), axis=1)
    said = TextColumn.joined((names, labels)).gather(parts.ravel())
    return TextColumn(said.data, said.offsets[3 * np.searchsorted(owner, np.arange(len(names) + 1))])


def _about(
    graph: Graph, encoder: NamedEncoder, embed: Sequence[str], texts: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    return {
        "revision": 0,
        "encoder": encoder.id,
        "documents": 0,
        "chunks": 0,
        "texts": {name: len(texts[name]) for name in embed},
        "passages": False,
    }
