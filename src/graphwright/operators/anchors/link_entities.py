"""Entity linking: from the words of a question, or from keywords, to nodes of the graph."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Between
from graphwright.graph.evidence import Evidence, Ints
from graphwright.kernels.ranking import top
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import name_words, nodes_named
from graphwright.operators.state import Anchor, State
from graphwright.search.name_index import NameIndex, name_index_of
from graphwright.search.vector_index import VectorIndex, normalised
from graphwright.text.names import ARTICLES, PARTICLES
from graphwright.text.words import word_spans, words


@dataclass(frozen=True, repr=False)
class AnchorNodes(Operator):
    """Return the nodes of the anchors in the graph as evidence, each with its share of the anchors' weights."""

    needs = ("anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        nodes = [anchor.seeds(state.graph) for anchor in state.anchors or ()]
        shares = [
            np.full(len(ids), anchor.weight / len(ids))
            for ids, anchor in zip(nodes, state.anchors or (), strict=True)
            if len(ids)
        ]
        ids, position = np.unique(np.concatenate([np.empty(0, np.int64), *nodes]), return_inverse=True)
        scores = np.bincount(position, np.concatenate([np.empty(0), *shares]), len(ids))
        inside = state.graph.holds(ids)
        return state.with_(evidence=Evidence.of_nodes(ids[inside], scores[inside]))


_QUOTED = re.compile(
    r"\"[^\"]{2,80}\"|“[^”]{2,80}”|„[^“”]{2,80}[“”]|«[^»]{2,80}»"
    r"|「[^「」]{2,80}」|『[^『』]{2,80}』|《[^《》]{2,80}》"
)
_NAME_WORDS = 12  # maximum words of a name
_NONE = np.empty(0, np.int64)

Mention = tuple[int, int, Anchor]  # the first and the last word of a mention in the question, and its anchor
Offsets = Sequence[tuple[int, int]]  # start and end of each word of the question
NameScores = Callable[[str], NDArray[np.float64]]  # similarity of a text to each name


@dataclass(frozen=True, repr=False)
class LinkEntities(Operator):
    """Link the entities that the question names: exactly or by alias, else by spelling, else by vector.

    Longer names take precedence. A capitalised or quoted phrase that equals no name or alias is compared by spelling
    (`fuzzy`: minimum similarity; 1 disables it), then, if `names` is given, by the vectors of names (`near`: minimum
    cosine). An anchor's weight is the confidence of the link. A state whose anchors have nodes is returned unchanged.

    >>> from graphwright import Graph, start
    >>> graph = Graph.from_triples([("Lothair II", "mother", "Ermengarde of Tours")])
    >>> anchors = LinkEntities()(start("Who was the mother of Lothiar II?", graph)).anchors
    >>> [(anchor.text, anchor.nodes.tolist()) for anchor in anchors]
    [('Lothiar II', [0])]
    """

    names: VectorIndex | None = None
    fuzzy: Annotated[float, Between(0, 1)] = 0.86
    near: Annotated[float, Between(-1, 1)] = 0.8
    gives = ("anchors",)

    def apply(self, state: State, run: Run) -> State:
        if state.anchors is not None and any(len(anchor.seeds(state.graph)) for anchor in state.anchors):
            return state
        index = name_index_of(state.graph.columns)
        mentions = list(_exact(state.question.text, index, state))
        mentions += self._inexact(state, run, index, mentions)
        return state.with_(anchors=tuple(anchor for _, _, anchor in sorted(mentions, key=itemgetter(0))))

    def _inexact(self, state: State, run: Run, index: NameIndex, exact: Sequence[Mention]) -> Iterator[Mention]:
        used = {position for first, last, _ in exact for position in range(first, last + 1)}
        linked: dict[str, tuple[Ints, float]] = {}  # a phrase may be repeated
        for first, last, text in _joined(state.question.text, list(_candidates(state.question.text, used))):
            if used.intersection(range(first, last + 1)):
                continue
            if text not in linked:
                linked[text] = self._nearest(text, state, run, index)
            nodes, confidence = linked[text]
            if len(nodes):
                used.update(range(first, last + 1))
                yield first, last, Anchor(text, nodes, weight=confidence)

    def _nearest(self, text: str, state: State, run: Run, index: NameIndex) -> tuple[Ints, float]:
        """Return the nodes that a phrase may mean by spelling, else by vector, and the confidence."""
        form = index.form(text)
        by_spelling = len(form) > 3 and self.fuzzy < 1
        nodes, confidence = index.near(form, self.fuzzy) if by_spelling else (_NONE, 0.0)
        if not len(nodes) and self.names is not None:
            nodes, confidence = self._by_vector(text, run)
        return nodes[state.graph.holds(nodes)], confidence

    def _by_vector(self, text: str, run: Run) -> tuple[Ints, float]:
        """Return the node whose name has the nearest vector, and the cosine; none below `near`."""
        names = self.names
        if names is None or not len(names.ids):
            return _NONE, 0.0
        query = normalised(names.encode(text, run)[None])[0]
        ids, scores = names.scores_of(names.ids, query)
        best = int(scores.argmax())
        return (ids[best : best + 1], float(scores[best])) if scores[best] >= self.near else (_NONE, 0.0)


def _exact(question: str, index: NameIndex, state: State) -> Iterator[Mention]:
    """Yield the longest names from left to right."""
    offsets = word_spans(question)
    # Capitals are ignored if the question has none. So is its first capital over a knowledge graph, whose names may be
    # written in lower case.
    cased = question if state.graph.passages is not None else question[1:]
    written_as_name = is_name if any(map(str.isupper, cased)) else bool
    position = 0
    while position < len(offsets):
        texts = [question[offsets[position][0] : end] for _, end in offsets[position : position + _NAME_WORDS]]
        # Names are indexed without their article, so the search starts at the word after it.
        is_article = index.normalised and texts[0].lower() in ARTICLES
        extra, nodes = index.longest(() if is_article else map(index.form, texts), state.graph)
        # Stop words are not names, and a single word must be written as a name.
        if len(nodes) and words(texts[extra]) and (extra or written_as_name(texts[0])):
            yield position, position + extra, Anchor(texts[extra].rstrip("."), nodes)
            position += extra
        position += 1


def _candidates(question: str, used: set[int]) -> Iterator[tuple[int, int, str]]:
    """Yield quoted phrases, then runs of capitalised words, that no mention uses: first word, last word, text."""
    offsets = word_spans(question)
    used = set(used)
    for quoted in _QUOTED.finditer(question):
        first, last = (bisect_left(offsets, (at, 0)) for at in quoted.span())
        inside = [i for i in range(first, last) if offsets[i][1] < quoted.end()]
        if inside and not used.intersection(inside):
            yield inside[0], inside[-1], question[offsets[inside[0]][0] : offsets[inside[-1]][1]]
            used.update(inside)
    yield from _capitalised(question, offsets, used)


def _joined(question: str, candidates: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Yield phrases that small words join ("Order of the Golden Fleece"), each pair before its parts."""
    offsets = word_spans(question)
    for (first, last, _), (start, end, _) in pairwise(sorted(candidates)):
        between = question[offsets[last][1] : offsets[start][0]].casefold().split()
        if 0 < len(between) <= 2 and (PARTICLES | ARTICLES).issuperset(between):
            yield first, end, question[offsets[first][0] : offsets[end][1]].rstrip(".?!,")
    yield from candidates


def _capitalised(question: str, offsets: Offsets, used: set[int]) -> Iterator[tuple[int, int, str]]:
    """Yield the runs of capitalised words; the first word of the question counts unless it is a stop word."""
    phrase: list[int] = []
    for position in range(len(offsets) + 1):
        word = question[slice(*offsets[position])] if position < len(offsets) else ""
        capitalised = word[:1].isupper() and (position > 0 or bool(words(word)))
        if word and position not in used and (capitalised or (phrase and word.isdigit())):
            phrase.append(position)
            continue
        if phrase:
            yield phrase[0], phrase[-1], question[offsets[phrase[0]][0] : offsets[phrase[-1]][1]].rstrip(".?!,")
        phrase = []


def is_name(text: str) -> bool:
    """Return whether a text is written as a name: with a capital or a digit, or in a script without capitals."""
    return any(not character.islower() for character in text if character.isalnum())


@dataclass(frozen=True, repr=False)
class AnchorSearch(Ranker):
    """Find the nodes whose names are nearest to the anchors' texts, by cosine (PathRAG, "Node Retrieval").

    The anchors alternate: the nearest name of each, then the second of each, so that `% 40` is the paper's N = 40 over
    all keywords. A node's score is the best weight / rank over the anchors; nodes that an anchor already has come
    first. Themes, words of relations, are left out. The anchors stay.

    `names`: vectors by node. Without them names are compared by words (BM25) and spelling, which the trace notes, and
    names without a common word are left out. `per_anchor`: maximum nodes of an anchor.

    >>> from graphwright import Graph, start; from graphwright.models import HashEncoder
    >>> graph = Graph.from_triples([("Hugh of Tours", "child", "Ermengarde of Tours"), ("Graz", "on the", "Mur")])
    >>> names = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> state = start("?", graph, anchors=[Anchor("Ermengarde"), Anchor("the Mur")])
    >>> graph.names.take((AnchorSearch(names) % 2)(state).evidence.nodes)
    ['Ermengarde of Tours', 'Mur']
    """

    names: VectorIndex | None
    per_anchor: Annotated[int | None, AtLeast(1)] = None
    needs = ("anchors",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        each = min((limit for limit in (k, self.per_anchor) if limit is not None), default=None)
        if self.names is None:
            run.note_missing("names")
        ids, name_scores = _by_words(state) if self.names is None else _by_vectors(self.names, run)
        best: dict[int, float] = {}
        for anchor in state.anchors or ():
            if anchor.weight > 0 and anchor.kind == "entity":
                for rank, node in enumerate(_nearest(anchor, state, ids, name_scores, each), 1):
                    best[node] = max(best.get(node, 0.0), anchor.weight / rank)
        return state.with_(evidence=Evidence.of_nodes(list(best), list(best.values())).top(k))


def _nearest(anchor: Anchor, state: State, ids: Ints, name_scores: NameScores, k: int | None) -> list[int]:
    """Return the k nodes of the graph nearest to an anchor: its own nodes, then others by their names."""
    seeds = anchor.seeds(state.graph)
    scores = name_scores(anchor.text)
    rows = np.flatnonzero((scores > -np.inf) & ~np.isin(ids, seeds) & state.graph.holds(ids))
    others = ids[rows[top(scores[rows], len(rows) if k is None else k)]]
    return [*seeds[state.graph.holds(seeds)].tolist(), *others.tolist()][:k]


def _by_vectors(index: VectorIndex, run: Run) -> tuple[Ints, NameScores]:
    """Return the ids of the names and the cosine of a text with each."""
    ids, rows = index.rows_of(index.ids)
    lengths = index.lengths[rows]

    def cosines(text: str) -> NDArray[np.float64]:
        query = index.encode(text, run)
        products = index.scores_of(ids, query)[1].astype(np.float64)
        norms = lengths * np.linalg.norm(query)
        return np.divide(products, norms, out=np.zeros(len(products)), where=norms > 0)

    return ids, cosines


def _by_words(state: State) -> tuple[Ints, NameScores]:
    """Return the ids of the names and the BM25 of a text with each; an equal or similarly spelled name comes first."""
    columns, word_index = state.graph.columns, name_words(state.graph.columns)

    def scores(text: str) -> NDArray[np.float64]:
        values = word_index.scores(text).astype(np.float64)
        values[values <= 0] = -np.inf
        values[np.isin(word_index.nodes, nodes_named(columns, text)[0])] = np.inf
        return values

    return word_index.nodes, scores
