"""Entity linking: from the words of a question, or from keywords, to nodes of the graph."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Evidence, Ints
from graphwright.index.name_index import NameIndex, name_index_of
from graphwright.index.vector_index import VectorIndex, normalised
from graphwright.kernels.ranking import top
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import lengths_of, name_words
from graphwright.operators.state import Anchor, State
from graphwright.text.names import ARTICLES, normal_form
from graphwright.text.words import words

__all__ = ["AnchorSearch", "LinkEntities"]

_WORD = re.compile(r"\w+(?:[.'’&-]\w+)*\.?")
_QUOTED = re.compile(r"\"[^\"]{2,80}\"|“[^”]{2,80}”|„[^“”]{2,80}[“”]|«[^»]{2,80}»")
_LONGEST = 12  # words in a name


@dataclass(frozen=True)
class _Span:
    """A stretch of the question, as words `first` to `last`, and what it was found to mean."""

    first: int
    last: int
    text: str
    nodes: Ints
    certainty: float


@dataclass(frozen=True, repr=False)
class LinkEntities(Operator):
    """Find the entities that a question names: exactly or by alias, else by spelling, else by meaning.

    The longest names win. A stretch with a capital or in quotation marks that no name or alias equals is
    compared by spelling (`fuzzy`: least similarity, 1 to switch off) and then, where `names` is given, by
    the vectors of names (`near`: least cosine). The weight of an anchor is how certain it is.
    Anchors that the state already has are kept.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> graph = Graph.from_triples([("Lothair II", "mother", "Ermengarde of Tours")])
    >>> [(a.text, a.nodes.tolist()) for a in LinkEntities()(start("Who was the mother of Lothiar II?", graph)).anchors]
    [('Lothiar II', [0])]
    """

    names: VectorIndex | None = None
    fuzzy: float = 0.86
    near: float = 0.8
    gives = ("anchors",)

    def apply(self, state: State, run: Run) -> State:
        """Set the anchors."""
        if state.anchors is not None and any(len(a.seeds(state.graph)) for a in state.anchors):
            return state
        lexicon = name_index_of(state.graph.columns)
        found = list(_exact(state.question.text, lexicon, state))
        found += self._inexact(state, run, lexicon, found)
        found.sort(key=lambda span: span.first)
        return state.with_(anchors=tuple(Anchor(s.text, s.nodes, weight=s.certainty) for s in found))

    def _inexact(self, state: State, run: Run, lexicon: NameIndex, found: list[_Span]) -> Iterator[_Span]:
        taken = {at for span in found for at in range(span.first, span.last + 1)}
        for first, last, text in _named(state.question.text, taken):
            form = lexicon.form(text)
            nodes, certainty = lexicon.near(form, self.fuzzy) if len(form) > 3 and self.fuzzy < 1 else (_NONE, 0.0)
            if not len(nodes) and self.names is not None:
                nodes, certainty = self._by_meaning(run, text)
            nodes = nodes[state.graph.holds(nodes)]
            if len(nodes):
                yield _Span(first, last, text, nodes, certainty)

    def _by_meaning(self, run: Run, text: str) -> tuple[Ints, float]:
        index = self.names
        if index is None or not len(index.ids):
            return _NONE, 0.0
        query = normalised(index.encode(text, run)[None])[0]
        ids, scores = index.scores_of(index.ids, query)
        best = int(scores.argmax())
        return (ids[best : best + 1], float(scores[best])) if scores[best] >= self.near else (_NONE, 0.0)


_NONE = np.empty(0, np.int64)


def _exact(question: str, lexicon: NameIndex, state: State) -> Iterator[_Span]:
    """Yield the longest names from left to right."""
    spans = [(m.start(), m.end()) for m in _WORD.finditer(question)]
    # A question without capitals shows nothing by them; of a knowledge graph, whose names may be written small and mean
    # what they say, neither does one that only begins with one.
    shown = question if state.graph.passages is not None else question[1:]
    marked = _is_marked if any(map(str.isupper, shown)) else bool
    at = 0
    while at < len(spans):
        texts = [question[spans[at][0] : end] for _, end in spans[at : at + _LONGEST]]
        # A name is known without its article, so it is looked for from the word after it.
        forms = [] if lexicon.folded and texts[0].lower() in ARTICLES else [lexicon.form(text) for text in texts]
        more, nodes = lexicon.longest(forms, state.graph)
        # Stop words are no name, and a single word is one only where it is written as one.
        if len(nodes) and words(texts[more]) and (more or marked(texts[0])):
            yield _Span(at, at + more, texts[more].rstrip("."), nodes, 1.0)
            at += more
        at += 1


def _named(question: str, taken: set[int]) -> Iterator[tuple[int, int, str]]:
    """Yield quoted stretches, then those of capitalised words, that are not taken.

    A capital at the beginning of the question says nothing, unless the word could be a name.
    """
    spans = [(m.start(), m.end()) for m in _WORD.finditer(question)]
    taken = set(taken)
    for quoted in _QUOTED.finditer(question):
        inside = [at for at, (start, end) in enumerate(spans) if quoted.start() < start and end < quoted.end()]
        if inside and not taken.intersection(inside):
            yield inside[0], inside[-1], question[spans[inside[0]][0] : spans[inside[-1]][1]]
            taken.update(inside)
    run: list[int] = []
    for at in range(len(spans) + 1):
        word = question[slice(*spans[at])] if at < len(spans) else ""
        if word and at not in taken and ((word[0].isupper() and (at or not _stops(word))) or (run and word.isdigit())):
            run.append(at)
            continue
        if run:
            yield run[0], run[-1], question[spans[run[0]][0] : spans[run[-1]][1]].rstrip(".?!,")
        run = []


def _stops(word: str) -> bool:
    return not words(word)


def _is_marked(text: str) -> bool:
    """Whether a word is written as names are: with a capital or a digit, or in a script that has no capitals."""
    return any(not c.islower() for c in text if c.isalnum())


_LIKE = 0.8  # least similarity of a name that is spelled otherwise

Near = Callable[[str], NDArray[np.float64]]


@dataclass(frozen=True, repr=False)
class AnchorSearch(Ranker):
    """Nodes whose names are nearest to the anchors' texts, by cosine (PathRAG, "Node Retrieval").

    The anchors take turns: the nearest name of each, then the second of each, so that `% 40` is the paper's N = 40
    over all keywords. A node's score is the best weight / rank over the anchors; what an anchor already means comes
    first. Themes are left out, being words of relations and not of names. The anchors stay.

    `names`: vectors by node. Where there are none, names are compared by their words (BM25) and spelling, those
    that share nothing are left out, and the trace notes it.

    >>> from graphwright import Anchor, Graph, HashEncoder, start
    >>> graph = Graph.from_triples([("Hugh of Tours", "child", "Ermengarde of Tours"), ("Graz", "on the", "Mur")])
    >>> names = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> state = start("?", graph, anchors=[Anchor("Ermengarde"), Anchor("the Mur")])
    >>> graph.names.take((AnchorSearch(names) % 2)(state).evidence.nodes)
    ['Ermengarde of Tours', 'Mur']
    """

    names: VectorIndex | None
    needs = ("anchors",)
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the names."""
        if self.names is None:
            run.note("there are no vectors of names; they were compared by words and spelling")
        ids, near = _by_words(state) if self.names is None else _by_vectors(run, self.names)
        best: dict[int, float] = {}
        for anchor in state.anchors or ():
            if anchor.weight > 0 and anchor.kind == "entity":
                for rank, node in enumerate(_nearest(anchor, state, ids, near, k), 1):
                    best[node] = max(best.get(node, 0.0), anchor.weight / rank)
        found = Evidence.of_nodes(list(best), list(best.values()))
        return state.with_(evidence=found if k is None else found.top(k))


def _nearest(anchor: Anchor, state: State, ids: Ints, near: Near, k: int | None) -> list[int]:
    """Return the k nodes of the graph that are nearest to an anchor: those that it means, then by their names."""
    meant = anchor.seeds(state.graph)
    scores = near(anchor.text)
    open_ = (scores > -np.inf) & ~np.isin(ids, meant)
    if not state.graph.whole:
        open_ &= state.graph.holds(ids)
    at = np.flatnonzero(open_)
    others = ids[at[top(scores[at], len(at) if k is None else k)]]
    return [*meant[state.graph.holds(meant)].tolist(), *others.tolist()][:k]


def _by_vectors(run: Run, index: VectorIndex) -> tuple[Ints, Near]:
    ids, rows = index.rows_of(index.ids)
    lengths = lengths_of(index)[rows]

    def near(text: str) -> NDArray[np.float64]:
        query = index.encode(text, run)
        inner = index.scores_of(ids, query)[1].astype(np.float64)
        size = lengths * np.linalg.norm(query)
        return np.divide(inner, size, out=np.zeros(len(inner)), where=size > 0)

    return ids, near


def _by_words(state: State) -> tuple[Ints, Near]:
    index, lexicon = name_words(state.graph.columns), name_index_of(state.graph.columns)

    def near(text: str) -> NDArray[np.float64]:
        scores = index.scores(text).astype(np.float64)
        scores[scores <= 0] = -np.inf
        form = normal_form(text)
        nodes = lexicon.find(form)
        if not len(nodes) and len(form) > 3:
            nodes, _ = lexicon.near(form, _LIKE)
        scores[np.isin(index.nodes, nodes)] = np.inf
        return scores

    return index.nodes, near
