"""Operator that answers how versions of a document differ: it quotes the same sentence of each version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from graphwright.constraints import AtLeast, Has
from graphwright.data.records.versions import without_versions
from graphwright.generate.citations import numbered, passage_text
from graphwright.generate.quoted_sentences import Sentence, quotations, sentences_of
from graphwright.generate.readers import MayAnswer, answered
from graphwright.graph.graph import Graph
from graphwright.models.protocols import AnsweringReader, PassageText
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, State
from graphwright.search.competing_versions import competing_versions, named_versions
from graphwright.search.versions import Version, versions_of
from graphwright.text.values import values_in
from graphwright.text.words import words

_MIN_SHARE = 0.5  # of words without digits that two sentences share, and of the question's that one has


class _Said(NamedTuple):
    """A sentence of a version, its text, and its words without digits."""

    version: Version
    sentence: Sentence
    text: str
    words: frozenset[str]


@dataclass(frozen=True, repr=False)
class QuoteChanges(MayAnswer):
    """Quote the same sentence of the versions that the question names, or leave the state unchanged.

    The question names two or more versions of one document, by their dates or numbers. Quoted is the sentence of the
    best `passages` passages that the `reader` scores best, of those with half of the question's words that no title
    has. From each other version comes the sentence that shares most words with it, at least half. The sentences must
    differ. If they differ in one value alone, the values are shown in place of the sentences.
    """

    reader: Annotated[AnsweringReader, Has("a reader that scores sentences", "sentence_scores")]
    passages: Annotated[int, AtLeast(1)] = 20

    def apply(self, state: State, run: Run) -> State:
        question, found = state.question.text, [*(state.passages or ())][: self.passages]
        named = _named(state.graph, {passage.document for passage in found}, question)
        nodes = state.passage_nodes(self.passages).tolist() if named else []
        texts = [passage_text(state.graph, node) for node in nodes]
        said = [*_sentences(texts, [named.get(passage.document) for passage in found])]
        places = [(each.sentence.passage, each.sentence.start, each.sentence.end) for each in said]
        scores = run.sentence_scores(self.reader, question, texts, places)
        asked = _without_digits(without_versions(question)).difference(*map(words, {text.title for text in texts}))
        for at in np.argsort(-scores, kind="stable").tolist():
            if asked and len(said[at].words & asked) >= _MIN_SHARE * len(asked):
                same = _same(said[at], said)
                return self._quoted(state, run, nodes, [same[v] for v in named.values() if v in same])
        return state

    def _quoted(self, state: State, run: Run, nodes: Sequence[int], same: Sequence[_Said]) -> State:
        if len({" ".join(each.text.split()) for each in same}) < 2:
            return state
        sentences = [each.sentence for each in same]
        citations, numbers = numbered(state, [(nodes[s.passage], s.start, s.end) for s in sentences])
        values, quotes = _values(same), quotations(citations)
        if values:
            shown = (f"{one.version.label}: {v} [{n}]" for one, v, n in zip(same, values, numbers, strict=True))
            return answered(state, run, Answer("; ".join(shown), citations=citations))
        lines = (f"{each.version.label}: {quotes[n - 1]}" for each, n in zip(same, numbers, strict=True))
        return answered(state, run, Answer("\n".join(lines), citations=citations))


def _values(same: Sequence[_Said]) -> list[str]:
    """Return the value of each sentence, as written, if the sentences differ in one of their values alone, else []."""
    found = [[each.text[value.start : value.end] for value in values_in(each.text)] for each in same]
    if len({len(values) for values in found}) != 1 or len({each.words for each in same}) != 1:
        return []
    differing = [values for values in zip(*found, strict=True) if len(set(values)) > 1]
    return list(differing[0]) if len(differing) == 1 else []


def _named(graph: Graph, documents: set[str], question: str) -> dict[str, Version]:
    """Return the versions of one document that the question names, the oldest first; none if it names only one."""
    for competing in competing_versions(graph, documents, versions_of(graph.columns)):
        if len(named := named_versions(competing, question)) > 1:
            return {version.document: version for version in named}
    return {}


def _sentences(texts: Sequence[PassageText], versions: Sequence[Version | None]) -> Iterator[_Said]:
    for number, (passage, version) in enumerate(zip(texts, versions, strict=False)):
        for sentence in sentences_of(passage, number) if version else ():
            text = passage.text[sentence.start : sentence.end]
            if version and sentence.kind != "heading":
                yield _Said(version, sentence, text, _without_digits(text))


def _same(best: _Said, said: Sequence[_Said]) -> dict[Version, _Said]:
    """Return the sentence of each version that shares most words with one, if it shares at least half."""
    same = {best.version: best}
    for each in said:
        share = len(each.words & best.words) / max(len(each.words), len(best.words), 1)
        if each.version != best.version and share >= _MIN_SHARE:
            known = same.setdefault(each.version, each)
            same[each.version] = max(known, each, key=lambda one: len(one.words & best.words))
    return same


def _without_digits(text: str) -> frozenset[str]:
    return frozenset(word for word in words(text) if not any(map(str.isdigit, word)))
