"""Answers over documents: topics of broad questions, one line each; and the newest version, others named."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Between, Has
from graphwright.data.records.versions import versions_in
from graphwright.errors import cut
from graphwright.generate.citations import numbered
from graphwright.generate.quoted_sentences import quotations
from graphwright.generate.readers import MayAnswer, answered, best_sentence, texts_read
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.models.embedded.amounts import MiniLMAmounts
from graphwright.models.embedded.encoder import WEIGHTS, MiniLM
from graphwright.models.protocols import RELATIONS, AnsweringReader, Floats
from graphwright.operators.operator import IS_OPERATOR, Composite, Operator
from graphwright.operators.query.logistic import logistic
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, State
from graphwright.search.clustering import clusters
from graphwright.search.competing_versions import (
    agree,
    older_versions,
    valid_versions,
)
from graphwright.search.vector_index import VectorIndex, normalised
from graphwright.search.versions import Version, Versions, versions_of
from graphwright.text.sentences import is_statement, sentence_spans
from graphwright.text.values import values_in
from graphwright.text.words import words

_READER = Has("a reader that scores sentences", "sentence_scores")
_READ = 8  # best passages that decide the scope
_SHOWN = 80  # characters of a sentence that a note shows
_MIN_PASSAGES = 3  # of one document among the best eight
_MAX_PASSAGES = 4000  # of a whole index, every n-th


@dataclass(frozen=True, repr=False)
class Overview(MayAnswer):
    """Answer a broad question with a sentence on each topic; leave the state unchanged for any other question.

    A question is broad if a trained head over its vector gives a probability of at least `threshold`, and if the
    `reader` gives no sentence of the best eight passages a probability above one half.

    The answer covers the documents among these eight passages whose title shares half of its words with the question,
    else those with three or more of the eight, else the whole index. Their passages form `topics` clusters by vector.
    Each, largest first, gives one sentence: the nearest to the sum of the cluster's mean and the question.
    """

    index: VectorIndex
    reader: Annotated[AnsweringReader | None, _READER] = None
    topics: Annotated[int, AtLeast(1)] = 4
    threshold: Annotated[float, Between(0, 1)] = 0.7

    def apply(self, state: State, run: Run) -> State:
        probability = broadness(state.question.text, run)
        run.note(f"the question is broad with a probability of {probability:.2f}")
        if probability < self.threshold:
            return state
        if self.reader is not None and (sentence := self._answering(self.reader, state, run)):
            run.note(f"a sentence answers it: {cut(sentence, _SHOWN)!r}")
            return state
        nodes = self._scope(state)
        if len(nodes) < self.topics:
            return state
        vectors = self.index.of(nodes)
        groups = sorted(clusters(vectors, -(-len(nodes) // self.topics)), key=len, reverse=True)[: self.topics]
        question = self.index.encode(state.question.text, run)
        quotes = [self._nearest(state, nodes[group], vectors[group], question, run) for group in groups]
        citations, _ = numbered(state, quotes)
        return answered(state, run, Answer("\n".join(quotations(citations)), citations=citations))

    def _answering(self, reader: AnsweringReader, state: State, run: Run) -> str:
        """Return the sentence that answers the question by itself, "" if there is none."""
        _, texts = texts_read(state, run, _READ)
        best = best_sentence(reader, state.question.text, texts, run)
        return "" if best is None else texts[best.passage].text[best.start : best.end]

    def _scope(self, state: State) -> Ints:
        """Return the passages with vectors that the question is about."""
        passages = state.graph.passages
        if passages is None:
            return np.empty(0, np.int64)
        asked = _letters(state.question.text)
        rows = [passages.row(node) for node in state.passage_nodes(_READ).tolist()]
        documents = Counter(int(passages.document[row]) for row in rows if row >= 0)
        titles = {document: _letters(passages.titles[document]) for document in sorted(documents)}
        named = [document for document, title in titles.items() if title and 2 * len(title & asked) >= len(title)]
        named = named or [document for document, count in documents.items() if count >= _MIN_PASSAGES]
        nodes = passages.nodes[np.isin(passages.document, named)] if named else passages.nodes
        nodes = nodes[:: max(1, -(-len(nodes) // _MAX_PASSAGES))]
        return nodes[self.index.has(nodes)]

    def _nearest(self, state: State, nodes: Ints, vectors: Floats, question: Floats, run: Run) -> tuple[int, int, int]:
        """Return the passage nearest to the sum of mean and question, and the characters of its best sentence."""
        mean = normalised(vectors.mean(axis=0)[None])[0] + question
        node = int(nodes[int((vectors @ mean).argmax())])
        text = state.graph.passage(node)
        spans = [span for span in sentence_spans(text) if is_statement(text[slice(*span)])] or sentence_spans(text)
        if self.index.encoder is None or not spans:
            return node, 0, len(text)
        scores = run.encode(self.index.encoder, [text[start:end] for start, end in spans]) @ mean
        return node, *spans[int(scores.argmax())]


def _letters(text: str) -> set[str]:
    """Return the words of letters in a text: of "social-contract" two, of "mutt.1" one."""
    return set(re.findall(r"[^\W\d_]+", text.lower()))


def broadness(question: str, run: Run | None = None) -> float:
    """Return the probability that a question asks for an overview, not for a fact: 0 to 1.

    >>> broadness("What are these documents about?") > 0.7 > broadness("Who founded the abbey of Erstein?")
    True
    """
    return logistic(_head(), (run or Run()).encode(MiniLM(), [question])[0])


@cache
def _head() -> Floats:
    """Return the weights of the head, which scripts/fit_broad.py wrote: float32[385], the last a constant."""
    return np.array(json.loads((WEIGHTS / "minilm-reader" / "broad.json").read_text("utf-8"))["weights"], np.float32)


@dataclass(frozen=True, repr=False)
class NewestVersions(Operator):
    """Leave out passages of versions of a document of which a newer version has a passage too.

    Documents whose names differ only in their dates are versions where they share half of their words. Versions that
    the question names are kept instead of newer ones: by their id, by their number ("version 2"), or by a date at which
    they are valid. So it is with dated sections of one document, as of a changelog, where the other one has all words
    of the question that this one has; a section that the question names by its number leaves out those with none, too.
    """

    needs = ("passages",)
    gives = ("passages",)

    def apply(self, state: State, run: Run) -> State:
        passages, versions = state.passages, versions_of(state.graph.columns)
        if passages is None or not (versions.of or versions.sections):
            return state
        documents = [passage.document for passage in passages]
        older = older_versions(state.graph, set(documents), versions, state.question.text)
        sections = _older_sections(state.graph, passages.ids.tolist(), versions, state.question.text)
        if not older and not sections:
            return state
        nodes = zip(documents, passages.ids.tolist(), strict=True)
        kept = [at for at, (document, node) in enumerate(nodes) if document not in older and node not in sections]
        run.note(f"left out, as older versions: {', '.join(sorted({*older, *sections.values()}))}")
        return state.with_(passages=passages.take(np.array(kept, np.int64)))


@dataclass(frozen=True, repr=False)
class NameVersions(Composite):
    """Run the steps of an answer, and name the version of each document that it cites, and the other versions."""

    step: Annotated[Operator, IS_OPERATOR]

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        after = self.step.execute(state, run, k)
        answer, versions = after.answer, versions_of(state.graph.columns)
        if answer is None or not answer.found:
            return after
        cited = dict.fromkeys(citation.document for citation in answer.citations)
        text = "".join(f"\n{sentence}" for sentence in _sentences(state.graph, cited, versions))
        if text and run.on_text is not None:
            run.on_text(text)
        return after.with_(answer=replace(answer, text=answer.text + text))


def _older_sections(graph: Graph, nodes: Sequence[int], versions: Versions, question: str) -> dict[int, str]:
    """Return the passages of dated sections that say no more of the question than one that is newer, or named by it."""
    series: dict[str, list[tuple[int, Version]]] = {}
    for node in nodes:
        if node in versions.sections:
            above, version = versions.sections[node]
            series.setdefault(above, []).append((node, version))
    asked, older = {*words(question)}, dict[int, str]()
    dates = [found.value for found in values_in(question) if found.value.kind == "date"]
    numbers = _equalled(question, {version.number for group in series.values() for _, version in group})
    for group in (sorted(group, key=lambda pair: pair[1].first) for group in series.values()):
        states = [version for _, version in group]
        named = [v for date in dates for v in valid_versions(states, date.amount, date.amount + date.precision)]
        meant = [version for version in states if version.number in numbers]
        named += meant
        said = {node: asked & {*words(graph.reading(node))} for node, _ in group}
        for node, version in group:
            after = [n for n, v in group if (v in named, v.first) > (version in named, version.first)]
            if (said[node] or meant) and any(said[node] <= said[other] for other in after):
                older[node] = f"{version.document}, {version.date}"
    return older


def _equalled(question: str, numbers: set[str]) -> set[str]:
    """Return the numbers of versions that a question is about: "in 4.6.0", and not "since 4.6.0" or "before 4.6.0"."""
    found = [number for number in versions_in(question) if number in numbers and number in question]
    spans = [(start := question.find(number), start + len(number)) for number in found]
    relations = MiniLMAmounts().relations(question, spans).argmax(1).tolist() if found else []
    return {number for number, wanted in zip(found, relations, strict=True) if RELATIONS[wanted] == "="}


def _sentences(graph: Graph, documents: Iterable[str], versions: Versions) -> Iterator[str]:
    """Yield a sentence on each cited document of several versions, one for those that are cited together."""
    seen = set[str]()
    for document in documents:
        group = versions.of.get(document, ())
        if document in seen or not group or not agree(graph, group):
            continue
        cited = [version.label for version in group if version.document in documents]
        others = [version.label for version in group if version.document not in documents]
        seen.update(version.document for version in group)
        if others:
            yield f"Version cited: {', '.join(cited)}. Other versions: {', '.join(others)}."
