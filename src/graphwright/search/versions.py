"""Dates and versions of documents, as their own records state them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from graphwright.graph.columns import natural
from graphwright.graph.graph import Columns
from graphwright.graph.records import RecordColumns
from graphwright.search.filter import DATE as DATED
from graphwright.search.snapshot import SnapshotCache
from graphwright.text.values import value_of

WHOLE = frozenset({"document", "mail"})
"""Types of records that describe a whole document."""
VERSION, VERSION_OF = "version", "version of"
ID, REPLY_TO = "id", "reply to"


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

    `conversations`: of each mail the id of the first mail that it answers, directly or not.
    """

    dated: Mapping[str, Version]
    of: Mapping[str, tuple[Version, ...]]
    conversations: Mapping[str, str]

    def later_than(self, date: str) -> set[str]:
        """Return the documents that are dated later than a date; a year or a month means its end."""
        end = years_of(date)[1]
        return {document for document, version in self.dated.items() if version.first >= end}


_cache: SnapshotCache[Versions] = SnapshotCache()


def versions_of(columns: Columns) -> Versions:
    """Return the versions of the documents of a snapshot."""
    return _cache.get(columns, "versions", lambda: _versions(columns))


def _versions(columns: Columns) -> Versions:
    fields: dict[str, dict[str, str]] = {}
    for document, name, text in _described(columns):
        fields.setdefault(document, {}).setdefault(name, text)
    versions = {
        document: Version(document, own.get(DATED, ""), *years_of(own.get(DATED, "")), own.get(VERSION, ""))
        for document, own in fields.items()
    }
    groups: dict[str, list[Version]] = {}
    for document, own in fields.items():
        if VERSION_OF in own:
            groups.setdefault(own[VERSION_OF], []).append(versions[document])
    several = [tuple(sorted(group, key=_age)) for group in groups.values() if len(group) > 1]
    dated = {document: version for document, version in versions.items() if not np.isnan(version.first)}
    answered = {own[ID]: own.get(REPLY_TO, "") for own in fields.values() if ID in own}
    conversations = {document: _first_of(own[ID], answered) for document, own in fields.items() if ID in own}
    return Versions(dated, {version.document: group for group in several for version in group}, conversations)


def _first_of(mail: str, answered: Mapping[str, str]) -> str:
    """Return the first mail of a conversation, which need not be known, by a mail and what each one answers."""
    seen = {mail}
    while (above := answered.get(mail, "")) and above not in seen:
        seen.add(mail := above)
    return mail


def years_of(date: str) -> tuple[float, float]:
    """Return the beginning and the end of the day, month or year that a text names, in years; NaN for another text.

    >>> years_of("2024"), years_of("2024-12"), years_of("soon")
    ((2024.0, 2025.0), (2024.9166666666667, 2025.0), (nan, nan))
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
    for field in _fields(records).tolist():
        location = passages.of(int(records.chunk[records.record[field]]))
        if location is not None:
            yield location.document, records.names[int(records.name[field])], records.texts[int(records.text[field])]


def _fields(records: RecordColumns) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the fields that say which version a document is, in records of whole documents."""
    types = [at for at, name in enumerate(records.types) if name in WHOLE]
    names = [at for at, name in enumerate(records.names) if name in (DATED, VERSION, VERSION_OF, ID, REPLY_TO)]
    whole = np.isin(records.type, types)
    return np.flatnonzero(np.isin(records.name, names) & whole[records.record])
