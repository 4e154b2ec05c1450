"""Answers from the newest version of a document; the others are named with their dates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated

import numpy as np

from graphwright.graph.graph import Graph
from graphwright.operators.operator import IS_OPERATOR, Composite, Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.search.snapshot import SnapshotCache
from graphwright.search.versions import Version, Versions, versions_of, years_of
from graphwright.text.words import words

_MIN_SHARE = 0.5  # of the pairs of words of the shorter of two versions that the other has
_COMPARED = 20  # passages of a document
_DATE_WORDS = 4  # of a date in a question


@dataclass(frozen=True, repr=False)
class NewestVersions(Operator):
    """Leave out passages of versions of a document of which a newer version has a passage too.

    Documents whose names differ only in their dates are versions where they share half of their words. Minutes and
    other documents of a series share few, and all of them are kept.

    Versions that the question names are kept instead of newer ones: by their id, or by a date at which they are valid.
    """

    needs = ("passages",)
    gives = ("passages",)

    def apply(self, state: State, run: Run) -> State:
        """Set the passages."""
        passages, versions = state.passages, versions_of(state.graph.columns)
        if passages is None or not versions.of:
            return state
        documents = [passage.document for passage in passages]
        older = _older(state.graph, set(documents), versions, state.question.text)
        if not older:
            return state
        kept = [at for at, document in enumerate(documents) if document not in older]
        run.note(f"left out, as older versions: {', '.join(sorted(older))}")
        return state.with_(passages=passages.take(np.array(kept, np.int64)))


@dataclass(frozen=True, repr=False)
class NameVersions(Composite):
    """Run the steps of an answer, and name the version of each document that it cites, and the other versions."""

    step: Annotated[Operator, IS_OPERATOR]

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Run the steps, and add the versions to the text of the answer."""
        after = self.step.execute(state, run, k)
        answer, versions = after.answer, versions_of(state.graph.columns)
        if answer is None or not answer.found:
            return after
        cited = dict.fromkeys(citation.document for citation in answer.citations)
        text = "".join(f"\n{sentence}" for sentence in _sentences(state.graph, cited, versions))
        if text and run.on_text is not None:
            run.on_text(text)
        return after.with_(answer=replace(answer, text=answer.text + text))


def _older(graph: Graph, documents: set[str], versions: Versions, question: str) -> set[str]:
    """Return the documents that compete with a newer version of themselves, or with one that the question names."""
    older = set[str]()
    for group in {versions.of[document] for document in documents if document in versions.of}:
        competing = [version for version in group if version.document in documents]
        if len(competing) < 2 or not _agree(graph, group):
            continue
        kept = [version for version in competing if version.document in question]
        kept += [version for period in _dates(question) for version in _valid(competing, *period)]
        older.update(version.document for version in competing if version not in (kept or competing[-1:]))
    return older


_cache: SnapshotCache[bool] = SnapshotCache()


def _agree(graph: Graph, group: Sequence[Version]) -> bool:
    """Return whether the newest two of documents that are named like versions have half of their words in common.

    The minutes, letters or reports of a series are named like versions, but each says something else.
    """
    first, second = (version.document for version in group[-2:])

    def compute() -> bool:
        pairs, others = _pairs(graph, first), _pairs(graph, second)
        return len(pairs & others) >= _MIN_SHARE * min(len(pairs), len(others))

    return _cache.get(graph.columns, (first, second), compute)


def _pairs(graph: Graph, document: str) -> set[tuple[str, str]]:
    """Return the pairs of neighbouring words without digits of a document, of its first 20 passages."""
    assert graph.passages is not None  # versions are those of documents
    rows = graph.passages.rows_of_document.get(document, [])[:_COMPARED]
    found = [word for row in rows for word in words(graph.text(int(graph.passages.nodes[row])))]
    return {pair for pair in pairwise(found) if not any(map(str.isdigit, "".join(pair)))}


def _valid(versions: Sequence[Version], first: float, last: float) -> Sequence[Version]:
    """Return the versions of a period, in years: those that are dated in it, else the last one before it."""
    within = [version for version in versions if first <= version.first and version.last <= last]
    return within or [version for version in versions if version.first < last][-1:]


def _dates(question: str) -> Iterator[tuple[float, float]]:
    """Yield the beginning and the end, in years, of each date in a question, of the longest from each word on."""
    words = [word.strip(".,;:?!()\"'") for word in question.split()]
    at = 0
    while at < len(words):
        parts = [" ".join(words[at:end]) for end in range(min(at + _DATE_WORDS, len(words)), at, -1)]
        dates = [(len(parts) - n, *years_of(text)) for n, text in enumerate(parts)]
        size, first, last = next((date for date in dates if not np.isnan(date[1])), (1, np.nan, np.nan))
        yield first, last
        at += size


def _sentences(graph: Graph, documents: Iterable[str], versions: Versions) -> Iterator[str]:
    """Yield a sentence on each cited document of several versions, one for those that are cited together."""
    seen = set[str]()
    for document in documents:
        group = versions.of.get(document, ())
        if document in seen or not group or not _agree(graph, group):
            continue
        cited = [version.label for version in group if version.document in documents]
        others = [version.label for version in group if version.document not in documents]
        seen.update(version.document for version in group)
        if others:
            yield f"Version cited: {', '.join(cited)}. Other versions: {', '.join(others)}."
