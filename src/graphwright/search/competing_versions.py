"""Which versions of a document compete, which of them a question names, and which are older than those it means."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from graphwright.data.records.versions import versions_in
from graphwright.graph.graph import Graph
from graphwright.search.snapshot import SnapshotCache
from graphwright.search.versions import Version, Versions, versions_of
from graphwright.text.values import values_in
from graphwright.text.words import WORD, words

_MIN_SHARE = 0.5  # of the pairs of words of the shorter of two versions that the other has
_COMPARED = 20  # passages of a document
_cache: SnapshotCache[bool] = SnapshotCache()


def older_versions(graph: Graph, documents: Collection[str], versions: Versions, question: str) -> set[str]:
    """Return the documents that compete with a newer version of themselves, or with one that the question names."""
    older = set[str]()
    for competing in competing_versions(graph, documents, versions):
        kept = named_versions(competing, question) or competing[-1:]
        older.update(version.document for version in competing if version not in kept)
    return older


def competing_versions(graph: Graph, documents: Collection[str], versions: Versions) -> Iterator[list[Version]]:
    """Yield those of the documents that are versions of one another, the oldest first, where they share their words."""
    for group in {versions.of[document] for document in documents if document in versions.of}:
        competing = [version for version in group if version.document in documents]
        if len(competing) > 1 and agree(graph, group):
            yield competing


def named_versions(competing: Sequence[Version], question: str) -> list[Version]:
    """Return the versions that a question names: by their id, by their number, or by a date at which they are valid."""
    dates = [found.value for found in values_in(question) if found.value.kind == "date"]
    valid = {v for date in dates for v in valid_versions(competing, date.amount, date.amount + date.precision)}
    numbers = {*versions_in(question)}
    return [v for v in competing if v.document in question or v.number in numbers or v in valid]


def without_date(graph: Graph, documents: Sequence[str], question: str) -> tuple[str, list[int]]:
    """Return a question without its date, and which documents are versions that it names; none of them without one."""
    of, date = versions_of(graph.columns).of, next((f for f in values_in(question) if f.value.kind == "date"), None)
    groups = [(at, of[document]) for at, document in enumerate(documents) if date and document in of]
    named = [at for at, own in groups if documents[at] in {v.document for v in named_versions(own, question)}]
    if date is None:
        return question, []
    before, after = question[: date.start], question[date.end :]
    if not after[:1].isspace():  # then "in" before a date says nothing without it
        kept = [match.end() for match in WORD.finditer(before) if words(match[0])]
        before = before[: max(kept, default=0)]
    return f"{before}{after}", [at for at in named if agree(graph, of[documents[at]])]


def agree(graph: Graph, group: Sequence[Version]) -> bool:
    """Return whether the newest two have half of their words in common, as those of a series of minutes have not."""
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


def valid_versions(versions: Sequence[Version], first: float, last: float) -> Sequence[Version]:
    """Return the versions of a period, in years: those that are dated in it, else the last one before it."""
    within = [version for version in versions if first <= version.first and version.last <= last]
    return within or [version for version in versions if version.first < last][-1:]
