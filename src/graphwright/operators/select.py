"""The passages behind the evidence, in its order, copies once; and citations of passages and facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import ABOUT, Graph, Kind
from graphwright.graph.ranking import Ranking
from graphwright.graph.records import STATEMENT, RecordColumns
from graphwright.kernels.csr import Csr
from graphwright.kernels.ranking import sorted_distinct
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import Citation, State
from graphwright.search.vector_index import VectorIndex
from graphwright.search.versions import copies_of, same_passages, text_around, versions_of
from graphwright.text.words import WORD, words

ItemsOf = Callable[[State, Run], Evidence]  # items to rank passages by, instead of the state's evidence


@dataclass(frozen=True, repr=False)
class ToPassages(Ranker):
    """Rank the passages of the evidence: those that state it, then those that only name a node of it.

    A passage states an item if it is a node of it, states an edge of it, or names the node that the item is. It has the
    score of its best item (1/rank without scores), which brought it: its steps lead to the passage (`Ranking.steps`).

    Passages that only name nodes of larger items follow. A node counts 1 for a passage about it, else 1 / log2(2 +
    number of passages that name it); v is the sum over the nodes that a passage names of an item, or of equally good
    items. Passages with a v of at least 1 precede others; each has its best such item, by which they are ordered, then
    by v. They score v / (1 + v) of their item's score, and at most as much as the passage before them.

    - `limit`: the number of passages.
    - `index`: vectors of passages; the cosine with the question orders passages that are equal otherwise.
    - `summed`: a passage has the sum of the scores of all its items, whatever it states: the product of entities and
      their PageRank with the passage-entity incidence matrix (HippoRAG, section 2.3).
    - `items`: the items to use, by default the state's evidence, which does not change.

    On a graph without passages the nodes of the items take their place.

    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> state = start("?", graph, evidence=Evidence.of_edges([0, 1], [0.5, 0.25]))
    >>> best, summed = ToPassages()(state).passages, ToPassages(summed=True)(state).passages
    >>> best.ids.tolist(), best.scores.tolist(), summed.ids.tolist(), summed.scores.tolist()
    ([0, 1, 2], [0.5, 0.5, 0.25], [1, 0, 2], [0.75, 0.5, 0.25])
    """

    limit: Annotated[int | None, AtLeast(1)] = None
    index: VectorIndex | None = None
    summed: bool = False
    items: ItemsOf | None = None
    needs = ("evidence",)
    gives = ("passages",)
    scale = ""  # those of the items

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        graph, items = state.graph, state.items if self.items is None else self.items(state, run)
        limit = min((n for n in (self.limit, k) if n is not None), default=None)
        if not self.summed and self.index is None and _are_passages(graph, items):
            scores = _reduced(items.ranked_scores, 1.0)
            ranking = Ranking(items.nodes, scores, None, items, np.arange(len(items)))
            return state.with_(passages=ranking.top(limit or len(items)))
        if limit and not self.summed and self.index is None and not len(items.edges):
            items = _leading(graph, items, limit)
        pairs = _pairs(graph, items)
        ids, position = np.unique(pairs.passage, return_inverse=True)
        cosines = np.zeros(len(ids))
        if self.index is not None:
            cosines = self.index.cosines(ids, self.index.encode(state.question.text, run))
        if self.summed:
            scores, best, order = _summed(items.ranked_scores, pairs, ids, position, cosines)
        else:
            scores, best, order = _by_evidence(graph, items, pairs, ids, position, cosines)
        return state.with_(passages=Ranking(ids[order], scores[order], None, items, best[order]).top(limit or len(ids)))


class _Pairs(NamedTuple):
    """Items and their passages, each pair once, by item; `node` is the node that a passage names, -1 if it states."""

    item: Ints
    passage: Ints
    node: Ints


def _are_passages(graph: Graph, items: Evidence) -> bool:
    """Return whether each item is a passage by itself, and no two the same, so that their order is the ranking."""
    chunks = graph.passages is not None and items.only_nodes and (graph.columns.kinds[items.nodes] == Kind.CHUNK).all()
    return bool(chunks) and len(sorted_distinct(items.nodes)) == len(items)


def _reduced(scores: Scores, shares: Scores | float) -> Scores:
    """Return scores above 0 times their shares, and others less by what the shares lack to 1."""
    return np.where(scores > 0, scores * shares, scores - 1 + shares)


def _summed(
    scores: Scores, pairs: _Pairs, ids: Ints, position: Ints, cosines: Scores
) -> tuple[Scores, Ints, NDArray[np.intp]]:
    """Return the sums of the scores of the passages' items, the best item of each, and the order."""
    item, at = np.unique(np.stack((pairs.item, position)), axis=1)
    totals = np.bincount(at, scores[item], len(ids)).astype(np.float64, copy=False)
    return totals, _best_items(scores, item, at, len(ids))[1], np.lexsort((ids, -cosines, -totals))


def _by_evidence(
    graph: Graph, items: Evidence, pairs: _Pairs, ids: Ints, position: Ints, cosines: Scores
) -> tuple[Scores, Ints, NDArray[np.intp]]:
    """Return the scores of the passages, the item that brought each, and the order."""
    item_scores = items.ranked_scores
    _, rank = np.unique(-item_scores, return_inverse=True)  # equal for equally good items
    rank = rank[pairs.item]
    value = _values(graph, pairs, rank * len(ids) + position)
    tier = np.where(pairs.node < 0, 2, (value >= 1).astype(np.int64))
    tiers, values = np.zeros(len(ids), np.int64), np.zeros(len(ids))
    np.maximum.at(tiers, position, tier)
    counted = tier == tiers[position]
    scores, best = _best_items(item_scores, pairs.item[counted], position[counted], len(ids))
    brought = counted & (item_scores[pairs.item] == scores[position])
    values[position[brought]] = value[brought]
    order = np.lexsort((ids, -cosines, -values, -scores, -tiers))
    shares = np.where(tiers == 2, 1.0, values / (1 + values))
    scores = _reduced(scores, shares)
    scores[order] = np.minimum.accumulate(scores[order])
    return scores, best, order


def _best_items(scores: Scores, item: Ints, position: Ints, count: int) -> tuple[Scores, Ints]:
    """Return the score and the number of the first best item of each passage, by position; items ascend."""
    best = np.full(count, -np.inf)
    np.maximum.at(best, position, scores[item])
    is_best = scores[item] == best[position]
    first = np.full(count, -1, np.int64)
    first[position[is_best][::-1]] = item[is_best][::-1]
    return best, first


def _values(graph: Graph, pairs: _Pairs, key: Ints) -> Scores:
    """Return the sum of what the nodes count that a passage names, each node once among pairs of equal `key`."""
    naming = np.flatnonzero(pairs.node >= 0)
    keys, pair = np.unique(key, return_inverse=True)
    _, first = np.unique(pair[naming] * len(graph.columns.names) + pairs.node[naming], return_index=True)
    once = naming[first]
    sums = np.bincount(pair[once], _specificity(graph, pairs.node[once], pairs.passage[once]), len(keys))
    return np.where(pairs.node >= 0, sums[pair], 0.0)


def _specificity(graph: Graph, nodes: Ints, passages: Ints) -> Scores:
    """Return how much each node counts for a passage that names it."""
    columns, size = graph.columns, len(graph.columns.names)
    if columns.node_chunks is None:
        return np.ones(len(nodes))
    distinct = sorted_distinct(nodes)
    topics, about = columns.by_relation(ABOUT).expand(distinct, distinct)
    is_topic = np.isin(nodes * size + passages, topics * size + about)
    return np.where(is_topic, 1.0, 1 / np.log2(2 + columns.node_chunks.sizes(nodes)))


def _leading(graph: Graph, items: Evidence, limit: int) -> Evidence:
    """Return the best items that at least `limit` passages state, and those of equal score."""
    scores, count = -items.ranked_scores, limit
    while count < len(items):
        leading = items.top(int(np.searchsorted(scores, scores[count - 1], side="right")))
        pairs = _pairs(graph, leading)
        if len(np.unique(pairs.passage[pairs.node < 0])) >= limit:
            return leading
        count *= 2
    return items


def _pairs(graph: Graph, items: Evidence) -> _Pairs:
    of_node = np.repeat(np.arange(len(items)), np.diff(items.node_ptr))
    of_edge = np.repeat(np.arange(len(items)), np.diff(items.edge_ptr))
    columns = graph.columns
    if graph.passages is None:
        bare = np.diff(items.node_ptr)[of_edge] == 0  # without nodes, the ends of its edges
        stated = [(of_node, items.nodes), (np.repeat(of_edge[bare], 2), graph.ends(items.edges[bare]))]
        item, passage = np.unique(np.concatenate(stated, axis=1), axis=1)
        return _Pairs(item, passage, np.full(len(item), -1))
    chunks = columns.kinds[items.nodes] == Kind.CHUNK
    names = ~chunks
    without_edges = names & (np.diff(items.edge_ptr) == 0)[of_node] & (np.diff(items.node_ptr) == 1)[of_node]
    stated = [
        (of_node[chunks], items.nodes[chunks]),
        _rows(columns.node_chunks, of_node[without_edges], items.nodes[without_edges]),
        _rows(columns.edge_chunks, of_edge, items.edges),
    ]
    item, passage = np.unique(np.concatenate(stated, axis=1), axis=1)
    names &= ~without_edges
    at, mentioned = _rows(columns.node_chunks, np.flatnonzero(names), items.nodes[names])
    table = np.stack((np.append(item, of_node[at]), np.append(passage, mentioned)))
    node = np.append(np.full(len(item), -1), items.nodes[at])
    order = np.lexsort((table[1], table[0]))
    return _Pairs(table[0][order], table[1][order], node[order])


def _rows(rows: Csr | None, owner: Ints, ids: Ints) -> tuple[Ints, Ints]:
    """Return the values of these rows, and before them the owner of each."""
    if rows is None:
        return owner[:0], ids[:0]
    owners, values = rows.expand(ids, owner)
    return owners, values.astype(np.int64, copy=False)


@dataclass(frozen=True, repr=False)
class DistinctPassages(Operator):
    """Leave out passages that are copies of better ones, also under another header, footer or date; keep the best `k`.

    Of copies in dated documents the newest takes the place of the best. Copies whose different parts have a word of the
    question stay apart.
    """

    k: Annotated[int | None, AtLeast(1)] = None
    needs = ("passages",)
    gives = ("passages",)

    def apply(self, state: State, run: Run) -> State:
        passages = state.passages
        if passages is None:
            return state
        firsts = np.array(same_passages(state.graph, passages.ids, words(state.question.text)), np.int64)
        kept = np.flatnonzero(firsts == np.arange(len(firsts)))[: self.k]
        copied = np.bincount(firsts[firsts >= 0], minlength=len(firsts)) > 1
        dated, ids = versions_of(state.graph.columns).dated, passages.ids.copy()
        for first in kept[copied[kept]].tolist():
            same = np.flatnonzero(firsts == first)
            documents = [passages[int(at)].document for at in same]
            if all(document in dated for document in documents):
                ids[first] = passages.ids[same[int(np.argmax([dated[document].first for document in documents]))]]
        if copies := int((firsts != np.arange(len(firsts))).sum()):
            run.note(f"{copies} of {len(firsts)} passages are copies of better ones")
        return state.with_(passages=replace(passages, ids=ids).take(kept))


_ALSO = 3  # documents with copies that are named


def cite(graph: Graph, node: int, start: int, end: int, path: tuple[str, ...] = ()) -> Citation:
    """Return the citation of characters of a passage, on a graph without passages of a node's own text."""
    text = graph.passage(node)[start:end]
    passage = graph.passages.of(node) if graph.passages is not None else None
    if graph.passages is None or passage is None:
        return Citation("", graph.names[node], start, end, text, path)
    first, last = passage.start + start, passage.start + end
    location = location_of(graph, node, first, last)
    return Citation(passage.document, passage.id, first, last, text, path, location, documents_with(graph, node, text))


def documents_with(graph: Graph, node: int, text: str) -> tuple[str, ...]:
    """Return the documents with copies of a passage that have a text of it, too, apart from case and punctuation."""
    copies = [copy for copy in copies_of(graph, node) if words_of(text) in words_of(text_around(graph, copy))]
    locations = [] if graph.passages is None else map(graph.passages.of, copies)
    return tuple(dict.fromkeys(location.document for location in locations if location))


def also_in(documents: Sequence[str]) -> str:
    """Return where else a passage stands, by the first three documents; "" for none.

    >>> also_in(["a.txt", "b.txt", "c.txt", "d.txt"])
    'also in a.txt, b.txt, c.txt and 1 more'
    """
    more = f" and {len(documents) - _ALSO} more" if len(documents) > _ALSO else ""
    return f"also in {', '.join(documents[:_ALSO])}{more}" if documents else ""


def words_of(text: str) -> str:
    """Return the words of a text between spaces, without case and punctuation."""
    return f" {' '.join(WORD.findall(text.casefold()))} "


def location_of(graph: Graph, node: int, start: int, end: int) -> str:
    """Return the place in its file of characters of the document of a passage, "" for none."""
    places = None if graph.passages is None else graph.passages.places_of(graph.passages.row(node))
    return "" if places is None else places.of(start, end)


def cite_fact(graph: Graph, fact: int) -> Citation:
    """Return the citation of a fact: of an edge, or of the record that field `fact` - m belongs to; m edges.

    An edge is cited where a passage states it, else by the name of an end, with the triple as path; a record by its
    characters, one of several passages by those of the field, a statement by the edge that it belongs to.
    """
    edges, records = len(graph.columns.heads), graph.columns.records
    if fact < edges or records is None:
        return _cite_edge(graph, fact)
    return _cite_field(graph, records, fact - edges)


def _edge_of(graph: Graph, records: RecordColumns, record: int) -> int | None:
    """Return the edge that makes the statement of a record and whose text says its fields, None without one."""
    if records.types[int(records.type[record])] != STATEMENT or records.span[record].any():
        return None
    first, last = np.searchsorted(records.record, (record, record + 1)).tolist()
    head, tail = int(records.node[first]), int(records.node[first + 2])  # after the subject comes the relation
    values = records.texts.take(records.text[first + 3 : last])
    edges = graph.columns.out.row(head)
    for edge in edges[graph.columns.tails[edges] == tail].tolist():
        text = graph.edge_text(edge)
        if all(value in text for value in values):
            return int(edge)
    return None


def _cite_edge(graph: Graph, edge: int, path: tuple[str, ...] = ()) -> Citation:
    """Return the citation of an edge; `path`: by default its triple."""
    triple = graph.triple(edge)
    path = path or triple
    nodes = [int(graph.columns.heads[edge]), int(graph.columns.tails[edge])]
    chunks = graph.chunks_of((), [edge]).tolist() if graph.passages is not None else nodes
    quotes = (graph.edge_text(edge), " ".join(triple).replace("_", " "), triple[2], triple[0])
    for quote in quotes:
        for chunk in chunks:
            start = graph.passage(chunk).find(quote)
            if start >= 0 and quote:
                return cite(graph, chunk, start, start + len(quote), path)
    return Citation("", triple[0], 0, len(triple[0]), triple[0], path)


def _cite_field(graph: Graph, records: RecordColumns, field: int) -> Citation:
    record, text = int(records.record[field]), records.texts[int(records.text[field])]
    first = int(records.record.searchsorted(record))
    path = (records.texts[int(records.text[first])], records.names[int(records.name[field])], text)
    if (edge := _edge_of(graph, records, record)) is not None:
        return _cite_edge(graph, edge, path)
    passages = graph.passages
    if passages is None:
        return Citation("", path[0], 0, len(text), text, path)
    chunk = int(records.chunk[record])
    document = passages.documents[int(passages.document[passages.row(chunk)])]
    for start, end in (records.span[record].tolist(), records.field_span[field].tolist()):
        for row in passages.rows_of_document[document]:
            offset = int(passages.start[row])
            if offset <= start < end <= int(passages.end[row]):
                return cite(graph, int(passages.nodes[row]), start - offset, end - offset, path)
    return cite(graph, chunk, 0, len(graph.passage(chunk)), path)
