"""Filters of documents by id, folder and metadata: values, and ranges of numbers and dates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from graphwright.data.document import file_of, metadata_text
from graphwright.errors import OptionError, meant
from graphwright.text.characters import composed, file_name
from graphwright.text.numbers import conversion
from graphwright.text.values import ColumnFormat, Value, column_format, decided, format_of_part, value_of

DATE = "date"  # the name of a document's date, in its metadata and in its records
_ANY = ColumnFormat()
_EQUAL = 1e-9  # years, less than a second
_MAX_COMPARED = 10_000  # ids or values that are compared with an unknown one


@dataclass(frozen=True)
class Range:
    """A range of numbers or dates, by texts such as "9.5", "2024", "2024-03" or "3 May 2024".

    A date of a year or a month means all of it: at most 2024 includes December, more than 2024 begins after it. A value
    that is not a number, or not a date, is in no range of numbers, or of dates.

    >>> Range(at_most="2024").passes("2024-12-24T18:00:00"), Range(more_than="2024").passes("2024-12-24")
    (True, False)
    """

    at_least: str | None = None
    more_than: str | None = None
    at_most: str | None = None
    less_than: str | None = None

    def __post_init__(self) -> None:
        bounds = self.bounds()
        if not bounds:
            raise OptionError(f"Range() has no bound. Give one or two of {', '.join(self.__dataclass_fields__)}.")
        for bound in bounds.values():
            if not isinstance(bound, str) or not is_bound(bound):
                raise OptionError(f"{bound!r} bounds nothing; give a number such as 9.5, or a date such as 2024-03-01.")

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Range:
        """Return the range that a mapping with the names of its fields describes. Raises OptionError for others."""
        names = [field.name for field in fields(cls)]
        if unknown := [str(name) for name in value if name not in names]:
            raise OptionError(f"a range has no {unknown[0]!r}.{meant(unknown[0], names)} Give {', '.join(names)}.")
        return cls(**{name: metadata_text(bound) for name, bound in value.items() if bound is not None})

    def bounds(self) -> dict[str, str]:
        """Return the bounds that are given, by name."""
        return {name: bound for name, bound in vars(self).items() if bound is not None}

    def __str__(self) -> str:
        return " and ".join(f"{name.replace('_', ' ')} {bound}" for name, bound in self.bounds().items())

    def passes(self, value: str, written: ColumnFormat = _ANY) -> bool:
        """Return whether a value lies in the range; `written`: how values of its name are written."""
        return all(_keeps(name, value, bound, written) for name, bound in self.bounds().items())


def is_bound(text: str) -> bool:
    """Return whether a text is a number or a date."""
    return value_of(text) is not None


def is_date(text: str) -> bool:
    """Return whether a text is a date."""
    value = value_of(text)
    return value is not None and value.kind == "date"


def _pair(text: str, other: str, written: ColumnFormat) -> tuple[Value, Value] | None:
    """Return two texts as numbers of one unit, else as dates, else None. `written`: how the first column writes."""
    for with_dates in (False, True):
        value = value_of(text, written._replace(with_dates=with_dates))
        limit = value_of(other, ColumnFormat(day_first=written.day_first, with_dates=with_dates))
        if value and limit and value.kind == limit.kind:
            factor = conversion(value.unit, limit.unit)
            return None if factor is None else (value._replace(amount=value.amount * factor), limit)
    return None


def _keeps(name: str, text: str, bound: str, written: ColumnFormat = _ANY) -> bool:
    pair = _pair(text, bound, written)
    if pair is None:
        return False
    value, limit = pair
    rounding = _EQUAL if limit.precision else 0.0
    start, end = limit.amount - rounding, limit.amount + limit.precision - rounding  # the first moment after a year
    if name == "at_least":
        return value.amount >= start
    if name == "less_than":
        return value.amount < start
    return (value.amount < end or (start == end == value.amount)) is (name == "at_most")


@dataclass(frozen=True, init=False)
class Filter:
    """A filter that passes the documents for which all given conditions hold.

    `documents`: ids. `folder`: documents whose id lies in it, as ids of files read from a folder do. `metadata`: values
    by name, compared as texts, numbers or dates (a year or a month means all of it), or a Range, also as a mapping with
    its fields. `as_of`: a date; documents that are dated later, by their metadata or their records, do not pass, nor
    do statements of an imported graph that do not hold at it.

    >>> documents = {"reports/2024/may.md": {"year": "2023", "date": "2023-05-31"}, "b": {"year": "2025"}}
    >>> Filter(folder="reports/2024").passing(documents), Filter(metadata={"year": 2025}).passing(documents)
    (['reports/2024/may.md'], ['b'])
    >>> Filter(metadata={"year": {"at_least": 2024}}).passing(documents)
    ['b']
    """

    documents: tuple[str, ...] | None
    folder: str | None
    metadata: tuple[tuple[str, str | Range], ...]
    as_of: str | None

    def __init__(
        self,
        documents: Any = None,
        folder: str | None = None,
        metadata: Mapping[str, Any] | tuple[tuple[str, str | Range], ...] | None = None,
        as_of: Any = None,
    ) -> None:
        if documents is None and folder is None and not metadata and as_of is None:
            raise OptionError("Filter() passes all documents. Give documents, a folder, metadata or as_of.")
        date = None if as_of is None else metadata_text(as_of)
        if date is not None and not is_date(date):
            raise OptionError(f"as_of is {as_of!r}; give a date such as 2024-03-31, 2024-03 or 2024.")
        if folder is not None and not folder.strip("/"):
            raise OptionError(f"Filter(folder={folder!r}) passes all documents. Give the name of a folder.")
        ids = (documents,) if isinstance(documents, str) else documents
        values: dict[str, str | Range] = {}
        for name, value in dict(metadata or {}).items():
            condition = Range.of(value) if isinstance(value, Mapping) else value
            values[composed(str(name))] = condition if isinstance(condition, Range) else _text(condition)
        pairs = sorted(values.items(), key=lambda pair: pair[0])
        object.__setattr__(
            self, "documents", None if ids is None else tuple(sorted({file_name(str(id)) for id in ids}))
        )
        object.__setattr__(self, "folder", None if folder is None else file_name(folder).strip("/"))
        object.__setattr__(self, "metadata", tuple(pairs))
        object.__setattr__(self, "as_of", date)

    @classmethod
    def of(cls, value: Filter | Mapping[str, Any]) -> Filter:
        """Return a filter, or that which a mapping with the same names describes. Raises OptionError for others."""
        if isinstance(value, Filter):
            return value
        names = set(cls.__dataclass_fields__)
        if not isinstance(value, Mapping) or not value.keys() <= names:
            raise OptionError(f"filter is {value!r}; give Filter(…), or a mapping with {', '.join(sorted(names))}.")
        return cls(**value)

    def __str__(self) -> str:
        parts = [] if self.documents is None else [f"among {', '.join(map(repr, self.documents[:5]))}"]
        parts += [] if self.folder is None else [f"in the folder {self.folder!r}"]
        conditions = (f"with {name} {v}" if isinstance(v, Range) else f"with {name}={v}" for name, v in self.metadata)
        return " ".join([*parts, *conditions, *([] if self.as_of is None else [f"as of {self.as_of}"])])

    @property
    def date_alone(self) -> str | None:
        """The date of `as_of` where it is the only condition."""
        is_alone = self.documents is None and self.folder is None and not self.metadata
        return self.as_of if is_alone else None

    def passing(self, documents: Mapping[str, Mapping[str, str]]) -> list[str]:
        """Return the ids of the documents that pass, by their metadata; numbers are read as its file writes them."""
        beside: dict[str, list[str]] = {}
        for id, metadata in documents.items():
            beside.setdefault(file_of(id), []).extend(metadata.values())
        written = {
            name: _formats({id: metadata[name] for id, metadata in documents.items() if name in metadata}, beside)
            for name in {DATE, *dict(self.metadata)}
        }
        return [id for id, metadata in documents.items() if self._passes(id, metadata, written)]

    def _passes(
        self, document: str, metadata: Mapping[str, str], written: Mapping[str, Mapping[str, ColumnFormat]]
    ) -> bool:
        def holds(name: str, condition: str | Range) -> bool:
            return name in metadata and _holds(condition, metadata[name], written[name][file_of(document)])

        return (
            (self.documents is None or document in self.documents)
            and (self.folder is None or document.startswith(f"{self.folder}/"))
            and all(holds(name, value) for name, value in self.metadata)
            and (self.as_of is None or not holds(DATE, Range(more_than=self.as_of)))
        )

    def hint(self, documents: Mapping[str, Mapping[str, str]]) -> str:
        """Return a hint for a filter that none of these documents passes: a similar id, folder, name or value."""
        for failed, known in self._known(documents):
            if len(known) <= _MAX_COMPARED and (near := meant(failed, sorted(known))):
                return near.strip()
        within = self._others(documents, metadata=())
        names = ", ".join(sorted({name for id in within for name in documents[id]})[:20]) or "(none)"
        listed = f"; metadata has the names {names}" if within else ""
        return f"Ids are paths from the folder that was read, or rows' own ids{listed}."

    def _known(self, documents: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, set[str]]]:
        """Yield each id, folder, name or value that fails, with those of documents that pass all other conditions."""
        if self.documents is not None:
            ids = self._others(documents, documents=None)
            for id in self.documents:
                if id not in documents:
                    yield id, ids
        if self.folder is not None:
            folders = {folder for id in self._others(documents, folder=None) for folder in _folders(id)}
            if self.folder not in folders:
                yield self.folder, folders
        for name, condition in self.metadata:
            rest = self._others(documents, metadata=tuple(pair for pair in self.metadata if pair[0] != name))
            values = {documents[id][name] for id in rest if name in documents[id]}
            if not values:
                yield name, {other for id in rest for other in documents[id]}
            elif isinstance(condition, str) and not any(_holds(condition, value) for value in values):
                yield condition, values

    def _others(self, documents: Mapping[str, Mapping[str, str]], /, **without: Any) -> set[str]:
        conditions = vars(self) | without
        if all(value is None or (name, value) == ("metadata", ()) for name, value in conditions.items()):
            return set(documents)
        return set(Filter(**conditions).passing(documents))


def _text(value: object) -> str:
    return composed(metadata_text(value))


def _folders(id: str) -> list[str]:
    """Return the folders that an id lies in: of "reports/2024/may.md", "reports" and "reports/2024"."""
    parts = id.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _formats(values: Mapping[str, str], beside: Mapping[str, Sequence[str]]) -> dict[str, ColumnFormat]:
    """Return how each file writes the values of one name, by file; `values`: by document; `beside`: all of a file."""
    files: dict[str, list[str]] = {}
    for id, value in values.items():
        files.setdefault(file_of(id), []).append(value)
    column = column_format(list(values.values()), ".")
    return {file: format_of_part(column, texts, partial(decided, beside[file], False)) for file, texts in files.items()}


def _holds(condition: str | Range, value: str, written: ColumnFormat = _ANY) -> bool:
    if isinstance(condition, Range):
        return condition.passes(value, written)
    if value == condition:
        return True
    pair = _pair(value, condition, written)
    if pair is None:
        return False
    own, period = pair
    if not period.precision:
        return own.amount == period.amount and not own.unit and not period.unit
    return own.precision <= period.precision and -_EQUAL <= own.amount - period.amount < period.precision - _EQUAL
