"""Documents, and their division into chunks."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from graphwright.data.records.record import Record
from graphwright.errors import OptionError
from graphwright.text.places import Places
from graphwright.text.sentences import is_statement, sentence_spans
from graphwright.text.values import Value, values_in

YEAR = re.compile(r"\d{4}")  # digits of a year
RECOGNISED = "text recognised"  # metadata: which pages of a file were read by text recognition (OCR), maybe wrongly
DESCRIBED = "described by"  # metadata: which model wrote a document, the description of a picture
BELOW = " › "  # separator between the titles of a section and its subsection, or between a folder and its file
Labels = tuple[tuple[int, int], ...]  # spans of a text, in order, that only say what follows: titles, columns and keys


class Heading(NamedTuple):
    """A heading of a document: where its section begins in the text, its level from 1, and its title."""

    start: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Document:
    """A text with an id; citations count characters of `text`.

    `whole` marks a passage that is never split. `links` are the ids of the documents that it cites or links to; ids
    that are not in the index are ignored. `file` marks a document that is a whole file, named by its id; comparisons
    of documents ignore it. `folder`: the folder whose files were read, if any. `headings`, in order, divide the text
    into sections; without any, short paragraphs count as headings. `places`: the pages or cells of the original file.
    `records`: the rows, objects or messages in it. `labels`: as `label_spans` finds them when the document is added.
    """

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    whole: bool = False
    links: tuple[str, ...] = ()
    file: bool = field(default=False, compare=False)
    folder: str = field(default="", compare=False, repr=False)
    headings: tuple[Heading, ...] = ()
    places: Places | None = None
    records: tuple[Record, ...] = ()
    labels: Labels = field(default=(), compare=False, repr=False)


def label_spans(document: Document) -> Labels:
    """Return where a text says the title of a section, or the name of a column or key before its value.

    A heading that is a statement, as a numbered clause may be, says more than what follows.

    >>> from graphwright.data.records.record import Field
    >>> record = Record("Boats", (Field("Owner", "Hana Sato", 14, 23),), 7, 24)
    >>> document = Document("a", "Boats\\n\\nOwner: Hana Sato.", headings=(Heading(0, 1, "Boats"),), records=(record,))
    >>> [document.text[slice(*span)] for span in label_spans(document)]
    ['Boats', 'Owner']
    """
    text, spans = document.text, set[tuple[int, int]]()
    for heading in document.headings:
        end = text.find("\n", heading.start)
        line = text[heading.start : end if end >= 0 else len(text)]
        if not is_statement(line):
            spans.add((heading.start, heading.start + len(line)))
    for record in document.records:
        for name, _, start, end in record.fields:
            if start < end and text.endswith(f"{name}: ", 0, start):
                spans.add((start - len(name) - 2, start - 2))
    return tuple(sorted(spans))


def labels_within(labels: Labels, start: int, end: int) -> Labels:
    """Return the labels inside a span of the text, counted from its start."""
    first, last = bisect_left(labels, (start, start)), bisect_left(labels, (end, end))
    return tuple((a - start, b - start) for a, b in labels[first:last] if b <= end)


def dated_sections(paths: Iterable[Sequence[str]]) -> dict[tuple[str, ...], Value]:
    """Return the dates of sections that follow one another in time, as in a changelog or in minutes, by their paths.

    `paths`: the titles of each section, after those above it. The sections below one title are such a series if at
    least two in three name a date, and the dates rise or fall.

    >>> list(dated_sections([["2 May 2024: minutes"], ["3 June 2024: minutes"], ["3 June 2024: minutes", "Costs"]]))
    [('2 May 2024: minutes',), ('3 June 2024: minutes',)]
    """
    below: dict[tuple[str, ...], dict[tuple[str, ...], Value | None]] = {}
    for path in {tuple(full[:end]): None for full in paths for end in range(1, len(full) + 1)}:
        values = (found.value for found in (values_in(path[-1]) if YEAR.search(path[-1]) else ()))
        below.setdefault(path[:-1], {})[path] = next((value for value in values if value.kind == "date"), None)
    series = dict[tuple[str, ...], Value]()
    for sections in below.values():
        dated = {path: date for path, date in sections.items() if date is not None}
        amounts = [date.amount for date in dated.values()]
        is_ordered = amounts in (sorted(amounts), sorted(amounts, reverse=True)) and len({*amounts}) > 1
        if is_ordered and len(dated) >= _MIN_DATED * len(sections):
            series |= dated
    return series


def metadata_text(value: object) -> str:
    """Return a metadata value as the text under which it is stored and compared.

    >>> metadata_text(True), metadata_text(2024), metadata_text("x")
    ('true', '2024', 'x')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document: `text` is exactly `document.text[start:end]`; `ordinal` counts from 0.

    `heading`: the titles of the sections that contain all of it, outermost first, without the document's title.
    `labels`: those of the document, counted from `start`.
    """

    document: str
    ordinal: int
    start: int
    end: int
    text: str
    heading: str = ""
    labels: Labels = ()


def passage_title(title: str, heading: str) -> str:
    """Return the title of a passage: the title of its document and the headings above it.

    >>> passage_title("Manual", "Installing › Linux"), passage_title("Manual", ""), passage_title("", "Installing")
    ('Manual › Installing › Linux', 'Manual', 'Installing')
    """
    return BELOW.join(filter(None, (title, heading)))


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, or a line of one (`path:line`), that was not read. `unread`: it may hold data that could not be read."""

    path: str
    reason: str
    unread: bool = False


TokenCounter = Callable[[Sequence[str]], list[int]]  # tokens of each text, special ones aside, as `estimate_tokens`

_BATCH = 2048  # sentences per call of the counter
_MAX_HEADING = 100  # characters
_MAX_DEPTH = 10  # headings above a chunk
_MIN_DATED = 0.66  # share of the sections of a series that name a date
_TOKEN = re.compile(r"[a-zA-Z]{1,8}|[0-9]{1,2}|[^\sa-zA-Z0-9]")
_SPACES = re.compile(r"\s+")


class _Sentence(NamedTuple):
    start: int
    end: int
    tokens: int
    heading: bool
    dated: bool = False


def estimate_tokens(texts: Sequence[str]) -> list[int]:
    """Estimate the WordPiece tokens of each text: one per 8 letters, 2 digits, or other character.

    Compared with the tokenizer of all-MiniLM-L6-v2, the totals are 0.97 to 1.07 of the true ones on nine English
    collections (standard deviation per sentence 0.1), and 1.0 to 1.07 on German, Russian and Chinese text; the
    estimate is about fifteen times as fast.

    >>> estimate_tokens(["Dulce was founded in 1901.", ""])
    [7, 0]
    """
    return [len(_TOKEN.findall(text)) for text in texts]


def split(
    document: Document, count_tokens: TokenCounter = estimate_tokens, *, budget: int = 200, overlap: int = 40
) -> list[Chunk]:
    """Split a document into chunks of whole sentences with at most `budget` tokens by `count_tokens`.

    A chunk repeats the last sentences of the chunk before it, up to `overlap` tokens, unless it begins with a heading.
    No sentence goes on over the beginning of a record.
    A heading moves to the next chunk rather than ending one, and begins a new chunk once half the budget is used, or if
    its section is dated (see `dated_sections`). A sentence above the budget is cut between words, a word above it
    anywhere. A document marked `whole` is one chunk. Time is linear in the text. Headings apply to all of a chunk.

    Raises OptionError unless 0 <= overlap < budget.

    >>> from graphwright.data.document import Document
    >>> document = Document("d", "One two three. Four five. Six seven eight. Nine.")
    >>> [chunk.text for chunk in split(document, budget=7, overlap=3)]
    ['One two three. Four five.', 'Four five. Six seven eight.', 'Nine.']
    """
    if not 0 <= overlap < budget:
        raise OptionError(
            f"split(budget={budget}, overlap={overlap}): the overlap must be at least 0 and less than the budget."
        )
    text = document.text
    if document.whole:
        return [Chunk(document.id, 0, 0, len(text), text, labels=document.labels)] if text.strip() else []
    groups = _groups(_sentences(document, count_tokens, budget), budget, overlap)
    spans = [(group[0].start, group[-1].end) for group in groups]
    return [
        Chunk(document.id, i, start, end, text[start:end], heading, labels_within(document.labels, start, end))
        for i, ((start, end), heading) in enumerate(zip(spans, _headings(document, spans), strict=True))
    ]


def gaps(text: str, spans: Iterable[tuple[int, int]]) -> list[str]:
    """Return what a text has before, between and after its chunks, one string for each chunk and the last for the rest.

    >>> gaps("  One. Two.\\n\\nThree. ", [(2, 6), (7, 11), (7, 19)])
    ['  ', ' ', '', ' ']
    """
    parts, end = list[str](), 0
    for start, stop in spans:
        parts.append(text[end:start])
        end = max(end, stop)
    return [*parts, text[end:]]


def joined(chunks: Iterable[tuple[int, str]], spaces: Sequence[str]) -> str:
    """Return a text from its chunks, each with where it starts, in order, and its `gaps`.

    >>> joined([(2, "One."), (7, "Two."), (7, "Two.\\n\\nThree.")], ["  ", " ", "", " "])
    '  One. Two.\\n\\nThree. '
    """
    parts, end = list[str](), 0
    for (start, text), space in zip(chunks, spaces, strict=False):
        parts += space, text[max(end - start, 0) :]
        end = max(end, start + len(text))
    return "".join((*parts, spaces[-1]))


def _headings(document: Document, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield the headings of each chunk: those above its beginning that also apply to the rest of it."""
    starts = [heading.start for heading in document.headings]
    paths, dated = _paths(document.headings), sorted(dated_starts(document.headings))
    for start, end in spans:
        first = bisect_left(dated, end)  # above the last dated heading in a chunk there are only headings
        following = bisect_right(starts, max(start, dated[first - 1]) if first else start)
        path = paths[following - 1] if following else []
        for heading in document.headings[following : bisect_left(starts, end, following)]:
            path = _above(path, heading)
        titles = [heading.title for heading in path]
        yield BELOW.join(titles[1:] if titles[:1] == [document.title] else titles)


def _paths(headings: Iterable[Heading]) -> list[list[Heading]]:
    paths: list[list[Heading]] = []
    for heading in headings:
        paths.append([*_above(paths[-1] if paths else [], heading), heading][:_MAX_DEPTH])
    return paths


def dated_starts(headings: Iterable[Heading]) -> set[int]:
    """Return where the dated sections below headings begin."""
    paths = {path[-1].start: tuple(heading.title for heading in path) for path in _paths(headings)}
    series = dated_sections(paths.values())
    return {start for start, path in paths.items() if path in series}


def _above(path: Sequence[Heading], heading: Heading) -> list[Heading]:
    return [above for above in path if above.level < heading.level]


def _sentences(document: Document, count: TokenCounter, budget: int) -> Iterator[_Sentence]:
    """Yield the sentences of a document with their tokens; those above the budget are cut."""
    text, headings = document.text, [heading.start for heading in document.headings]
    starts, dated = {*headings}, dated_starts(document.headings)
    spans = cut_at(text, sentence_spans(text), sorted({*headings, *(record.start for record in document.records)}))
    for first in range(0, len(spans), _BATCH):
        batch = spans[first : first + _BATCH]
        counts = count([text[start:end] for start, end in batch])
        for (start, end), tokens in zip(batch, counts, strict=True):
            if tokens > budget:
                yield from _cut(text, start, end, tokens, count, budget)
            else:
                is_heading = start in starts if starts else _is_heading(text, start, end)
                yield _Sentence(start, end, tokens, is_heading, start in dated)


def cut_at(text: str, spans: list[tuple[int, int]], starts: Sequence[int]) -> list[tuple[int, int]]:
    """Cut sentences at what begins inside them: sections, and records, such as a row after one that ends in "B."."""
    if not starts:
        return spans
    parts, following = [], 0
    for start, end in spans:
        while following < len(starts) and starts[following] < end:
            if before := text[start : starts[following]].rstrip():
                parts.append((start, start + len(before)))
                start = starts[following]
            following += 1
        parts.append((start, end))
    return parts


def _cut(text: str, start: int, end: int, tokens: int, count: TokenCounter, budget: int) -> Iterator[_Sentence]:
    """Halve a span at the space nearest to its middle until each part is within the budget."""
    if tokens <= budget or end - start < 2:
        yield _Sentence(start, end, tokens, False)
        return
    middle = (start + end) // 2
    spaces = [space.span() for space in _SPACES.finditer(text, start, end)]
    left, right = min(spaces, key=lambda space: abs(space[0] - middle), default=(middle, middle))
    halves = ((start, left), (right, end))
    for half, part in zip(halves, count([text[slice(*half)] for half in halves]), strict=True):
        yield from _cut(text, *half, part, count, budget)


def _is_heading(text: str, start: int, end: int) -> bool:
    """Return whether a span is a short paragraph without a full stop, with text after it."""
    if end - start > _MAX_HEADING or text[end - 1] in ".!?:;,…。！？।" or text[start : start + 2] in ("- ", "* "):
        return False
    following = text[end : end + 4].replace(" ", "")
    before = ("\n\n" + text[:start] if start < 4 else text[start - 4 : start]).replace(" ", "")
    alone = before.endswith("\n\n") and following.startswith("\n\n")
    return alone and any(map(str.isalnum, text[start:end]))


def _groups(sentences: Iterator[_Sentence], budget: int, overlap: int) -> Iterator[list[_Sentence]]:
    """Group sentences into chunks, in order, repeating the overlap."""
    group: list[_Sentence] = []
    size = 0
    for sentence in sentences:
        full = size + sentence.tokens > budget
        begins = sentence.dated or (sentence.heading and size * 2 >= budget)
        if group and (full or (begins and not group[-1].heading)):
            carried = _trailing_headings(group)
            if carried and sum(item.tokens for item in carried) + sentence.tokens <= budget:
                yield group[: -len(carried)]
            else:
                yield group
                allowed = 0 if sentence.heading else min(overlap, budget - sentence.tokens)
                carried = _last(group, allowed)
            group, size = carried, sum(item.tokens for item in carried)
        group.append(sentence)
        size += sentence.tokens
    if group:
        yield group


def _trailing_headings(group: list[_Sentence]) -> list[_Sentence]:
    """Return the headings at the end of a group, or none if it has only headings."""
    first = len(group)
    while first and group[first - 1].heading:
        first -= 1
    return group[first:] if first else []


def _last(group: list[_Sentence], tokens: int) -> list[_Sentence]:
    """Return the last sentences of a group, with at most `tokens` tokens together."""
    sizes = accumulate(sentence.tokens for sentence in reversed(group))
    count = sum(size <= tokens for size in sizes)
    return group[len(group) - count :]


def file_of(id: str) -> str:
    """Return the file of a document, whose id may be that of a part of it.

    >>> file_of("staff.csv#12"), file_of("minutes.md")
    ('staff.csv', 'minutes.md')
    """
    return id.rpartition("#")[0] or id
