"""Features of connected pairs of passages."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints, Scores
from graphwright.graph.graph import ABOUT, ALIAS, positions_in
from graphwright.kernels.csr import Csr, group
from graphwright.models.protocols import Floats
from graphwright.operators.rerank.passage_match import FEW, PassageMatch
from graphwright.operators.search.mentions import rarity

PAIR = (
    "mentions_topic", "topic_is_mentioned", "topic_rarity", "shared_rarity", "both_named", "statement_on_topic",
    "similarity", "cosine_of_pair", "words_of_pair", "bm25_of_pair", "topics_of_pair", "cosine_uncovered",
)  # fmt: skip
"""Names of the features of a connected pair, from source to target."""

_COMMON = 0.02  # share of all passages; an entity in more does not connect passages
_MIN_RARITY = 1e-3  # of an entity that connects passages, so that it is above 0


def connected_pairs(part: PassageMatch) -> tuple[Ints, Ints, Floats]:
    """Return the connected pairs: positions of source and target, ascending, and their features."""
    p = len(part.at)
    topic = np.zeros(p * p)
    statement = np.zeros(p * p)
    place, rarities, statements = _topic_links(part)
    np.maximum.at(topic, place, rarities)
    np.maximum.at(statement, place, statements)
    shared = np.zeros(p * p)
    np.maximum.at(shared, *_shared(part))
    named = part.named.max(1, initial=0.0) > 0
    both = np.outer(named, named).ravel()
    links = (topic > 0).reshape(p, p)
    connected = links | links.T | (shared > 0).reshape(p, p) | both.reshape(p, p)
    np.fill_diagonal(connected, False)
    source, target = np.nonzero(connected)
    at = source * p + target
    columns = (links[source, target], links[target, source], topic[at], shared[at], both[at], statement[at])
    return source, target, np.stack((*columns, *_texts(part, source, target)), axis=1).astype(np.float32)


def _texts(part: PassageMatch, source: Ints, target: Ints) -> list[NDArray[np.floating]]:
    """Return the features of pairs by their vectors and words."""
    similarity = part.vectors @ part.vectors.T
    squares, cosine = similarity.diagonal(), part.cosine
    between = similarity[source, target].astype(np.float64)
    first, second = cosine[source], cosine[target]
    lengths = np.sqrt(np.maximum(squares[source] + squares[target] + 2 * between, 1e-9))
    uncovered = (second - first * between) / np.sqrt(np.maximum(1 - first**2, 1e-6))
    united = [_united(table, source, target) for table in (part.words, part.terms, part.named)]
    return [between, (first + second) / lengths, *united, uncovered]


def _topic_links(part: PassageMatch) -> tuple[Ints, Scores, Scores]:
    """Return source · p + target of each mention of a target's topic, its rarity, and the best statement on it."""
    p, topics = len(part.at), part.graph.columns.by_relation(ABOUT)
    passage, entity = topics.expand(part.nodes)
    place = positions_in(part.entities, entity)
    passage, place = passage[place >= 0], place[place >= 0]
    about = group(len(part.entities), place, passage.astype(np.int32))
    sizes = np.diff(about.indptr)
    links = np.flatnonzero(sizes[part.mentions.values])  # mentions of a topic
    row, target = about.expand(part.mentions.values[links].astype(np.int64), links)
    source, entity = part.owner[row], part.mentions.values[row].astype(np.int64)
    values = _statements_on(part, np.flatnonzero(sizes), source, entity)
    return source * p + target, np.maximum(rarity(part.graph, part.df)[entity], _MIN_RARITY), values


def _statements_on(part: PassageMatch, topics: Ints, source: Ints, entity: Ints) -> Scores:
    """Return the best cosine of a passage's statements on an entity, one of the `topics`; 0 without any."""
    rows, ends = np.repeat(np.arange(len(part.stated)), 2), part.ends
    row, aliases = part.graph.columns.by_relation(ALIAS).expand(ends)
    rows, ends = np.append(rows, rows[row]), np.append(ends, aliases)
    place, size = positions_in(part.entities[topics], ends), len(topics)
    rows, place = rows[place >= 0], place[place >= 0]
    best = np.zeros(len(part.at) * size)
    np.maximum.at(best, part.stated[rows] * size + place, part.statements[rows])
    values: Scores = best[source * size + np.searchsorted(topics, entity)]
    return values


def _shared(part: PassageMatch) -> tuple[Ints, Scores]:
    """Return source · p + target of each entity that two passages share and that is not common, and its rarity."""
    count = 0 if part.graph.passages is None else len(part.graph.passages)
    rare = (part.df > 1) & (part.df <= max(FEW, _COMMON * count))
    entity = part.mentions.values.astype(np.int64)
    owner, entity = part.owner[rare[entity]], entity[rare[entity]]
    holders: Csr = group(len(part.entities), entity, owner.astype(np.int32))
    row, other = holders.expand(entity)
    return owner[row] * len(part.at) + other, np.maximum(rarity(part.graph, part.df)[entity[row]], _MIN_RARITY)


def _united(table: Floats, source: Ints, target: Ints) -> Scores:
    """Return for each pair of rows the sum over columns of the larger value."""
    total: Scores = np.maximum(table[source], table[target]).sum(axis=1, dtype=np.float64)
    return total
