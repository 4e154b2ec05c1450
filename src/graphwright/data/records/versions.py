"""Records of whole documents: title, author, date, version, and what they are versions of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from graphwright.data.document import YEAR, Heading, dated_starts
from graphwright.data.records.record import DOCUMENT, MESSAGE, Field, Record
from graphwright.text.dates import date_text, month_of

_DAY = r"(?:0[1-9]|[12]\d|3[01])"
_MONTH = r"(?:0[1-9]|1[0-2])"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_IN_NAME = (
    re.compile(rf"(?<!\d)(?P<day>{_DAY})[-_.](?P<month>{_MONTH})[-_.]{_YEAR}(?!\d)"),
    re.compile(rf"(?<!\d){_YEAR}(?:[-_.]?(?P<quarter>Q[1-4])|年(?P<month>\d{{1,2}})月)", re.IGNORECASE),
    re.compile(rf"(?<!\d)(?P<month>{_MONTH})[-_.]{_YEAR}(?!\d)"),
    re.compile(rf"(?P<name>[^\W\d_]{{3,}})[-_. ]?{_YEAR}(?!\d)"),
    re.compile(
        rf"(?<!\d){_YEAR}(?:(?P<mark>[-_.]?)(?P<month>{_MONTH})(?:(?P=mark)(?P<day>{_DAY})(?:T\d{{4,6}}Z?)?)?)?(?!\d)"
    ),
)
_VERSION_IN_NAME = re.compile(
    r"(?:(?<=[-_ .(/])|^)(?:v(?:er[^\W\d_]*)?|r(?:ev[^\W\d_]*)?|ed(?:ition)?)[-_. ]{0,2}"
    r"(?P<marked>\d+(?:[._]\d+)*|(?<=[-_. ])[A-Z])(?![^\W_])|第(?P<numbered>\d+)版"
    r"|(?<=[-_ @])(?P<bare>\d{1,2}(?:\.\d{1,3}){1,3})(?![^\W_])",
    re.IGNORECASE,
)
_VERSION_IN_TEXT = re.compile(r"\bv(?:er[^\W\d_]{0,10})?\.?[ \t]*:?[ \t]*(?P<version>\d+(?:\.\d+)*)\b", re.IGNORECASE)
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}(?:\.gz)?$")
_SEPARATORS = re.compile(r"[-_\s.()\[\],@]+")
_LINE = re.compile(r"(?:(?<=\n\n)|\A)[^\n]{3,79}[^\n|.!?;,。](?=\n)")  # a short one below a blank one, no sentence
_HEAD, _MAX_LINE, _MAX_WORDS = 1_000, 80, 8  # characters of a text, of its lines, and words of lines that may date it


class NameParts(NamedTuple):
    """Parts of the name of a file: without date and version, its date (2024, 2024-03 or 2024-03-01), its version."""

    name: str
    date: str
    version: str


def name_parts(identity: str) -> NameParts:
    """Return the parts of the id of a document, its path; the folders count, too.

    >>> name_parts("hr/travel-policy-2024-03.md"), name_parts("2023/policy_v2.1.docx")
    (NameParts(name='hr/travel policy', date='2024-03', version=''), \
NameParts(name='policy', date='2023', version='2.1'))
    """
    date = version = ""
    parts = []
    for part in _SUFFIX.sub("", identity).split("/"):
        for pattern in _IN_NAME:
            match = pattern.search(part)
            if match and (found := _date_in(match.groupdict())):
                date = found
                part = part[: match.start()] + " " + part[match.end() :]
                break
        if match := _VERSION_IN_NAME.search(part):
            version = next(versions_in(part))
            part = part[: match.start()] + " " + part[match.end() :]
        parts.append(_SEPARATORS.sub(" ", part).strip())
    return NameParts("/".join(filter(None, parts)), date, version)


def versions_in(text: str) -> Iterator[str]:
    """Yield the numbers of versions that a text names.

    >>> list(versions_in("What did version 2 say, and v1.3, and Rev. B?"))
    ['2', '1.3', 'B']
    """
    for match in _VERSION_IN_NAME.finditer(text):
        yield (match["marked"] or match["numbered"] or match["bare"]).replace("_", ".")


def without_versions(text: str) -> str:
    """Return a text without the versions that it names.

    >>> without_versions("How did the fee change from version 2 to v10?")
    'How did the fee change from   to  ?'
    """
    return _VERSION_IN_NAME.sub(" ", text)


def _date_in(parts: Mapping[str, str | None]) -> str:
    """Return the date of a match in a name, "" if a word of it is no month."""
    name = parts.get("name")
    month = month_of(name) if name else int(parts.get("month") or 0)
    if name and not month:
        return ""
    numbers = (f"{month:02}" if month else "", parts.get("quarter"), parts.get("day"))
    return "-".join(filter(None, (parts["year"], *numbers))).upper()


def dated_lines(text: str) -> tuple[Heading, ...]:
    r"""Return the lines of a text without headings that begin its dated sections: short, with a date, and text below.

    >>> [line.title for line in dated_lines("Log\n\n3 May 2021\nTwo bar.\n\n9 June 2022: check\n\nThree bar.")]
    ['3 May 2021', '9 June 2022: check']
    """
    found = [line for line in _LINE.finditer(text) if len(line[0].split()) <= _MAX_WORDS and YEAR.search(line[0])]
    lines = tuple(Heading(line.start(), 1, line[0].strip()) for line in found)
    parts = pairwise([*(line.start for line in lines), len(text)])
    is_series = len(dated_starts(lines)) == len(lines)
    return lines if is_series and all("\n" in text[first:end].strip() for first, end in parts) else ()


def document_record(
    identity: str, title: str, metadata: Mapping[str, str], text: str, given: Sequence[Field], rows: Sequence[Record]
) -> Record:
    """Return the record of a whole document.

    `given`: fields of its front matter, which come first. `rows`: records of things in the text, such as the rows of
    its tables and its dated sections, whose dates are their own. The date is that of the front matter, else of the name
    or of a short line near the top, the finer one if both agree, else of other metadata; the version likewise.
    Documents whose names differ only in date or version have the same "version of".
    """
    known = {field.name.casefold(): field.text for field in given} or {
        key.casefold(): value for key, value in metadata.items()
    }
    name = name_parts(identity)
    line_date, line_version = _top(text, [r for r in rows if r.type != MESSAGE and r.end - r.start < len(text)])
    date = _date(known, name.date, line_date)
    version = known.get("version") or name.version or line_version
    family = name.name if name.date or name.version or version or date else ""
    fields = [Field("title", title), *(f for f in given if f.name.casefold() not in ("title", "date", "version"))]
    if not given and (author := known.get("author")):
        fields.append(Field("author", author))
    fields += [Field("date", date), Field("version", version), Field("version of", family)]
    return Record(DOCUMENT, tuple(field for field in fields if field.text), 0, len(text))


def _date(known: Mapping[str, str], in_name: str, in_text: str) -> str:
    """Return the date of a document: of its metadata, else the finer of those in its text and name if they agree."""
    if value := known.get("date"):
        return date_text(value) or value
    if in_name and not in_text.startswith(in_name):
        return in_name
    return in_text or next(filter(None, map(date_text, known.values())), "")


def _top(text: str, rows: Sequence[Record]) -> tuple[str, str]:
    """Return the date and the version of short lines near the top of a text, but for `rows`; each "" for none."""
    date, version, end = "", "", 0
    for line in text[:_HEAD].split("\n")[:-1] if len(text) > _HEAD else text.split("\n"):
        start, end = end, end + len(line) + 1
        if len(line) > _MAX_LINE or (date and version):
            break
        if len(line.split()) <= _MAX_WORDS and not any(row.start < end and start < row.end for row in rows):
            date = date or date_text(line)
            match = _VERSION_IN_TEXT.search(line)
            version = version or (match["version"] if match else "")
    return date, version
