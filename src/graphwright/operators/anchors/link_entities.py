"""Entity linking: from the words of a question to nodes of the graph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from graphwright.graph.evidence import Ints
from graphwright.index.name_index import NameIndex, name_index_of
from graphwright.index.vector_index import VectorIndex, normalised
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State
from graphwright.text.names import ARTICLES
from graphwright.text.words import words

__all__ = ["LinkEntities"]

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
