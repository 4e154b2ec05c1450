"""Dates, versions and copies of documents: as their records state them, and by keys of their sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.data.document import BELOW, YEAR, dated_sections, file_of
from graphwright.data.records.versions import versions_in
from graphwright.graph.columns import Passages, natural
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Columns, Graph
from graphwright.search.filter import DATE as DATED
from graphwright.search.snapshot import per_snapshot
from graphwright.text.copies import is_copy, is_part
from graphwright.text.values import value_of
from graphwright.text.words import words

_MAX_COMPARED = 200  # passages that a cited passage is compared with
_MAX_REPORTED = 20  # passages that a passage of a new document is compared with


class _Keys(NamedTuple):
    """The keys of all passages in ascending order, and the row of each; `repeated`: see `repeated_passages`."""

    keys: NDArray[np.int32]
    rows: Ints
    repeated: int

    def rows_with(self, keys: Iterable[int]) -> list[int]:
        """Return the rows with one of these keys, ascending."""
        spans = (slice(*(self.keys.searchsorted(key, side) for side in ("left", "right"))) for key in keys if key)
        return sorted({row for span in spans for row in self.rows[span].tolist()})


@per_snapshot
def _keys_of(columns: Columns) -> _Keys:
    if columns.passages is None:
        return _Keys(np.empty(0, np.int32), np.empty(0, np.int64), 0)
    keys = np.asarray(columns.passages.copy_keys)
    repeated = np.count_nonzero(keys[:, 0]) - np.count_nonzero(np.unique(keys[:, 0]))
    order = np.argsort(keys, axis=None, kind="stable")
    return _Keys(keys.ravel()[order], order // keys.shape[1], int(repeated))


def repeated_passages(columns: Columns) -> int:
    """Return the number of passages that may be copies of others: they share a long sentence with an earlier one."""
    return _keys_of(columns).repeated


def same_passages(graph: Graph, nodes: Ints, question: Collection[str] = ()) -> list[int]:
    """Return for each passage the position of the first of these, in another file, that it copies, else its own.

    It is -1 for a passage of a document that is cut at other places, where better ones of one file say all of it.
    """
    passages, ids, firsts, seen = graph.passages, nodes.tolist(), list[int](), dict[int, list[int]]()
    if passages is None:
        return list(range(len(ids)))
    file_at = cache(lambda at: _file(passages, ids[at]))
    for at, row in enumerate(map(passages.row, ids)):
        keys = [] if row < 0 else [key for key in passages.copy_keys[row].tolist() if key]
        earlier = dict.fromkeys(other for key in keys for other in seen.get(key, ()))
        first = next((n for n in earlier if _are_copies(graph, ids[n], ids[at], question)), at)
        if first == at and earlier:
            others = {file_at(n) for n in earlier} - {file_at(at)}
            better = ([n for n in range(at) if firsts[n] == n and file_at(n) == file] for file in others)
            texts = ("\n\n".join(graph.text(ids[n]) for n in own) for own in better)
            first = -1 if any(_is_said(graph.text(ids[at]), text, question) for text in texts) else at
        if first == at:
            for key in keys:
                seen.setdefault(key, []).append(at)
        firsts.append(first)
    return firsts


def _is_said(text: str, better: str, question: Collection[str]) -> bool:
    """Return whether other passages say all that a text says, and have its words of the question."""
    return is_part(text, better) and set(question).intersection(words(text)).issubset(words(better))


def _file(passages: Passages, node: int) -> str:
    row = passages.row(node)
    return "" if row < 0 else file_of(passages.documents[int(passages.document[row])])


def copies_of(graph: Graph, node: int, most: int = _MAX_COMPARED) -> list[int]:
    """Return the passages that are copies of one, among the first `most` that may be: their nodes, ascending.

    Of a document that is cut at other places, they are passages with a long sentence of it, in a text that has it all.
    """
    passages = graph.passages
    row = -1 if passages is None else passages.row(node)
    if passages is None or row < 0:
        return []
    rows = _keys_of(graph.columns).rows_with(passages.copy_keys[row].tolist())
    file, others = _file(passages, node), (int(passages.nodes[other]) for other in rows[: most + 1] if other != row)
    return [
        other
        for other in others
        if _file(passages, other) != file
        and (is_copy(graph.text(node), graph.text(other)) or is_part(graph.text(node), text_around(graph, other)))
    ]


def copied_documents(graph: Graph, documents: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield documents of copies alone, each with its original: the first by id of copies, or one not among them."""
    passages, given = graph.passages, dict.fromkeys(documents)
    if passages is None or not repeated_passages(graph.columns):
        return
    for document in given:
        originals: dict[str, int] | None = None  # with the passage where the last copy was found
        for row in passages.rows_of_document.get(document, []):
            node = int(passages.nodes[row])
            copies = {
                location.document: n for n in copies_of(graph, node, _MAX_REPORTED) if (location := passages.of(n))
            }
            if originals is None:
                originals = copies
            originals = {
                other: copies.get(other, last)
                for other, last in originals.items()
                if other in copies or is_part(graph.text(node), text_around(graph, last, 2))
            }
            if not originals:
                break
        if first := min((owner for owner in originals or () if owner not in given or owner < document), default=""):
            yield document, first


def _are_copies(graph: Graph, first: int, second: int, question: Collection[str] = ()) -> bool:
    passages = graph.passages
    files = () if passages is None else (_file(passages, first), _file(passages, second))
    return len({*files} - {""}) == 2 and is_copy(graph.text(first), graph.text(second), question)


def text_around(graph: Graph, node: int, after: int = 1) -> str:
    """Return the text of a passage with the one before it in its document, and with some after it."""
    passages = graph.passages
    row = -1 if passages is None else passages.row(node)
    if passages is None or row < 0:
        return graph.text(node)
    near = range(max(row - 1, 0), min(row + 1 + after, len(passages)))
    rows = [at for at in near if passages.document[at] == passages.document[row]]
    whole, end = "", int(passages.start[rows[0]])
    for at in rows:
        start, text = int(passages.start[at]), graph.text(int(passages.nodes[at]))
        whole += "\n" * min(max(start - end, 0), 2) + text[max(end - start, 0) :]
        end = max(end, start + len(text))
    return whole


WHOLE = frozenset({"document", "mail"})  # types of records that describe a whole document
VERSION, VERSION_OF, TITLE, THREAD = "version", "version of", "title", "thread"


class Version(NamedTuple):
    """A version of a document: its id, its date as written and in years (NaN for none), and its number as written."""

    document: str
    date: str
    first: float
    last: float
    number: str = ""

    @property
    def label(self) -> str:
        """What tells the version from others: its date, else its number, else its id."""
        return self.date or self.number or self.document


class Versions(NamedTuple):
    """The dated documents, and of each document of several versions all of them, the oldest first.

    `threads`: the thread of each mail. `sections`: of passages of dated sections, by their nodes, what their section is
    a version of, and which.
    """

    dated: Mapping[str, Version]
    of: Mapping[str, tuple[Version, ...]]
    threads: Mapping[str, str]
    sections: Mapping[int, tuple[str, Version]]

    def later_than(self, date: str) -> set[str]:
        """Return the documents that are dated later than a date; a year or a month means its end."""
        end = years_of(date)[1]
        return {document for document, version in self.dated.items() if version.first >= end}

    def later_sections(self, date: str) -> tuple[int, ...]:
        """Return the passages of sections that are dated later than a date."""
        end = years_of(date)[1]
        return tuple(node for node, (_, version) in self.sections.items() if version.first >= end)


@per_snapshot
def versions_of(columns: Columns) -> Versions:
    """Return the versions of the documents of a snapshot."""
    fields: dict[str, dict[str, str]] = {}
    for document, name, text in _described(columns):
        fields.setdefault(document, {}).setdefault(name, text)
    versions = {
        document: Version(document, own.get(DATED, ""), *years_of(own.get(DATED, "")), own.get(VERSION, ""))
        for document, own in fields.items()
    }
    groups: dict[tuple[str, str], list[Version]] = {}
    for document, own in fields.items():
        if VERSION_OF in own:
            groups.setdefault((own[VERSION_OF], ""), []).append(versions[document])
    for above, below in _in_folder_below([family for (family, _), group in groups.items() if len(group) == 1]):
        groups[above, "/"] = groups[above, ""] + groups[below, ""]
    for family, group in [*groups.items()]:  # of one title in one folder, under other names
        title = fields[group[0].document].get(TITLE, "")
        if len(group) == 1 and title:
            groups.setdefault((family[0].rpartition("/")[0], title), []).extend(group)
    several = [
        tuple(sorted(group, key=_age))
        for (_, title), group in groups.items()
        if len({v.number or v.date if title else v.document for v in group}) == len(group) > 1
    ]
    dated = {document: version for document, version in versions.items() if not np.isnan(version.first)}
    threads = {document: own[THREAD] for document, own in fields.items() if THREAD in own}
    of = {version.document: group for group in several for version in group}
    return Versions(dated, of, threads, {} if columns.passages is None else dict(_sections(columns.passages)))


def _in_folder_below(families: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield a family and the only one of its name in a folder below it, such as one for what is old.

    >>> [*_in_folder_below(["a/plan", "a/old/plan", "b/plan", "fee", "x/fee", "y/fee"])]
    [('a/plan', 'a/old/plan')]
    """
    below = defaultdict[str, list[str]](list)
    for family in families:
        folder, _, name = family.rpartition("/")
        while folder:
            folder = folder.rpartition("/")[0]
            below[f"{folder}/{name}".lstrip("/")].append(family)
    yield from ((family, below[family][0]) for family in families if len(below[family]) == 1)


@per_snapshot
def answered_mails(columns: Columns) -> frozenset[str]:
    """Return the mails that a later mail of their thread follows."""
    versions = versions_of(columns)
    ages = {d: versions.dated[d].first for d in versions.threads if d in versions.dated}
    newest: dict[str, float] = {}
    for document, age in ages.items():
        newest[versions.threads[document]] = max(age, newest.get(versions.threads[document], age))
    return frozenset(document for document, age in ages.items() if age < newest[versions.threads[document]])


def _sections(passages: Passages) -> Iterator[tuple[int, tuple[str, Version]]]:
    """Yield the passages of dated sections; the titles of passages are those of the sections above them."""
    titles = [tuple(title.split(BELOW)) for title in passages.titles]
    has_year = [YEAR.search(title) is not None for title in passages.titles]
    if not any(has_year[len(passages.documents) :]):
        return
    for document, rows in passages.rows_of_document.items():
        numbers = passages.title[rows].tolist()
        paths = [titles[number] for number in numbers]
        series = dated_sections(paths) if any(has_year[number] for number in numbers) else {}
        for row, path in zip(rows, paths, strict=True):
            ends = [end for end in range(1, len(path) + 1) if path[:end] in series]
            if ends:
                date, above = series[path[: ends[0]]], BELOW.join((document, *path[: ends[0] - 1]))
                heading = path[ends[0] - 1]
                number = next(versions_in(f" {heading.lstrip('[')}"), "")  # "[4.7.1] - 2025-02-11"
                version = Version(document, heading, date.amount, date.amount + date.precision, number)
                yield int(passages.nodes[row]), (above, version)


def years_of(date: str) -> tuple[float, float]:
    """Return the beginning and the end of the day, month or year that a text names, in years; NaN for another text.

    >>> years_of("2024"), years_of("soon")
    ((2024.0, 2025.0), (nan, nan))
    """
    value = value_of(date)
    if value is None or value.kind != "date":
        return np.nan, np.nan
    return value.amount, value.amount + value.precision


def _age(version: Version) -> tuple[float, list[str | int], list[str | int]]:
    return -np.inf if np.isnan(version.first) else version.first, natural(version.number), natural(version.document)


def _described(columns: Columns) -> Iterator[tuple[str, str, str]]:
    """Yield document, name and text of each field that says which version a document is."""
    records, passages = columns.records, columns.passages
    if records is None or passages is None:
        return
    types = [at for at, name in enumerate(records.types) if name in WHOLE]
    names = [at for at, name in enumerate(records.names) if name in (DATED, VERSION, VERSION_OF, TITLE, THREAD)]
    whole = np.isin(records.type, types)[records.record]
    for field in np.flatnonzero(np.isin(records.name, names) & whole).tolist():
        location = passages.of(int(records.chunk[records.record[field]]))
        if location is not None:
            yield location.document, records.names[int(records.name[field])], records.texts[int(records.text[field])]
