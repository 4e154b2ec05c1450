"""Text and records of a mail: what it says itself, and mails that it quotes, in the forms of mail programs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from email.utils import getaddresses
from itertools import pairwise
from typing import NamedTuple

from graphwright.data.formats.format import NO_MAILS, KnownMails, TextBuilder
from graphwright.data.records.record import MAIL, Field, Record
from graphwright.text.dates import date_text

OPEN, CLOSE = "\ue000", "\ue001"  # stand for the beginning and end of a quotation of HTML in its text

_PREFIX = re.compile(r"[ \t]{0,3}(?:[A-Z]{1,4}(?=>))?((?:>[ \t]?)+)")  # with initials, as Gnus and others have it
_ADDRESS = re.compile(r"[\w.+'-]+@[\w-]+(?:\.[\w-]+)+")
_RULE = re.compile(r"[ \t]*(?:[-_=*]{5,}[^\n]{0,60}|[^\n]{0,60}[-_=*]{5,})[ \t]*")
_HEADER = re.compile(r"[ \t]*\*?(?P<name>[^\W\d_][^:：*\n]{0,24}?)[ ]?(?::\*?(?:[ \t]+|$)|：[ \t]*)(?P<value>\S.*)?")
_WORD = r"[^\W\d_a-z][\w.'’-]*"
_CAPITALS = re.compile(rf"{_WORD}(?: (?:{_WORD}|(?:de|da|di|van|von|der|den|la|le|el|bin|al)\b))*")
_BLOCKQUOTE = re.compile(r"<(/?)blockquote\b[^>]*>", re.IGNORECASE)
_DIGIT = re.compile(r"\d(?:\s?[AaPp]\.?[Mm]\b\.?)?")
_CLOCK = re.compile(r"\d{1,2}[:.]\d\d")
_YEAR = re.compile(r"\b(?:19|20)\d\d")
_QUOTED_NAME = re.compile(r'"([^"]{1,80})"[\s<(\[]*$')
_ANSWER = re.compile(r"[^\W\d_]{1,9}\.?(?: ?[\[(]\d+[\])])?\s?[:：]\s*")  # before a subject: "Re:", "AW:", "Antwort:"
_MAX_ATTRIBUTION = 3  # lines
_MIN_HEADERS, _MAX_HEADERS = 3, 20  # of a block
_OPENING = 80  # letters and digits by which two texts are the same


class _Line(NamedTuple):
    depth: int
    text: str
    is_intro: bool = False


class Part(NamedTuple):
    """A part of the text of a mail: its own (depth 0), or that of a quoted mail, with what introduces it.

    `depth`: 1 for the mail that it answers, 2 for the one which that answers. `intro`: the lines that name the author,
    empty where the quotation goes on after an answer. `text`: without `>`.
    """

    depth: int
    intro: tuple[str, ...]
    text: str


class Source(NamedTuple):
    """What a quotation says of the mail that it quotes, "" for what it does not say."""

    author: str = ""
    date: str = ""
    subject: str = ""


def marked_quotations(page: str) -> str:
    """Return the HTML of a mail with characters for the beginnings and ends of its quotations."""
    return _BLOCKQUOTE.sub(lambda tag: f"<p>{CLOSE}</p>{tag[0]}" if tag[1] else f"{tag[0]}<p>{OPEN}</p>", page)


def opening(text: str) -> str:
    """Return the first letters and digits of a text, by which its copies are recognised; "" for too short a text."""
    letters = "".join(filter(str.isalnum, text[: 8 * _OPENING].casefold()))[:_OPENING]
    return letters if len(letters) >= _OPENING // 10 else ""


def thread_of(subject: str, answered: Sequence[str], known: KnownMails) -> str:
    """Return the subject of the first known mail of a thread, without what marks an answer."""
    forms = [next((known.ids[mail] for mail in reversed(answered) if mail in known.ids), subject)]
    while match := _ANSWER.match(forms[-1]):
        forms.append(forms[-1][match.end() :])
    return next((form for form in reversed(forms) if form in known.subjects), forms[-1])


def parts(text: str, known: KnownMails = NO_MAILS) -> list[Part]:
    r"""Return the parts of the text of a mail, in order.

    >>> found = parts("No.\n\nAm Di., 3. März 2026 um 11:00 schrieb Bea <b@c.org>:\n> Is it high?\n>> It is.")
    >>> [(part.depth, len(part.intro), part.text) for part in found]
    [(0, 0, 'No.'), (1, 1, 'Is it high?'), (2, 0, 'It is.')]
    """
    lines = _with_attributions(_below_headers(_depths(text), known))
    groups: list[tuple[int, list[str], list[str]]] = []
    for line in lines:
        if not line.text.strip() and (not groups or groups[-1][0] != line.depth):
            continue
        if not groups or groups[-1][0] != line.depth or (line.is_intro and groups[-1][2]):
            groups.append((line.depth, [], []))
        _, intro, own = groups[-1]
        (intro if line.is_intro else own).append(line.text)
    found = (Part(depth, tuple(intro), "\n".join(own).strip()) for depth, intro, own in groups)
    return [part for part in found if part.text or part.intro]


def _depths(text: str) -> list[_Line]:
    """Return the lines with the number of marks before each, or of quotations of HTML around it."""
    inside = 0
    lines = []
    for line in text.split("\n"):
        marks = _PREFIX.match(line)
        if line.strip() in (OPEN, CLOSE):
            inside = max(0, inside + (1 if line.strip() == OPEN else -1))
        elif marks:
            lines.append(_Line(inside + marks[1].count(">"), line[marks.end() :]))
        else:
            lines.append(_Line(inside, line))
    return lines


def _below_headers(lines: Sequence[_Line], known: KnownMails) -> list[_Line]:
    """Return the lines with those after a block of headers one deeper, as Outlook quotes without marks.

    A block that begins a quotation with marks introduces that quotation. The text of a known mail ends with it.
    """
    result: list[_Line] = []
    bases: list[int] = []  # depths of the blocks so far, around the current line
    at = 0
    while at < len(lines):
        depth = lines[at].depth
        while bases and depth < bases[-1]:
            bases.pop()
        begins = depth > next((lines[n].depth for n in range(at - 1, -1, -1) if lines[n].text.strip()), 0)
        size = _header_block(lines, at, begins) or _lone_attribution(lines, at)
        bases += [depth] * (size > 0 and not begins)
        size, after = (size, at + max(size, 1)) if size else _repeated(lines, at, known)
        inside = len(bases) + (after > at + max(size, 1))
        result += [_Line(lines[n].depth + inside, lines[n].text, n < at + size) for n in range(at, after)]
        at = after
    return result


def _repeated(lines: Sequence[_Line], at: int, known: KnownMails) -> tuple[int, int]:
    """Return the number of lines that introduce the text of a known mail, and the end of its text; 0 without one.

    As the text tells that it is quoted, the headers only need a date, and a line only a date or an address.
    """
    size, text, read = _header_block(lines, at, True) or int(_is_attribution(lines[at].text)), "", 0
    for n in range(at + size, len(lines) if size else 0):
        text, read = f"{text}{lines[n].text}\n", read + len("".join(lines[n].text.split()))
        length = known.openings.get(opening(text), 0)
        if lines[n].depth > lines[at].depth or (len(text) > 8 * _OPENING and not length):
            break
        if length and (read >= length or n + 1 == len(lines)):
            return size, n + 1
    return 0, at + 1


def _header_block(lines: Sequence[_Line], at: int, begins: bool) -> int:
    """Return the number of lines of a block of headers that begins here, perhaps with a rule; 0 for none.

    `begins`: whether a quotation begins here. There, below a rule and with an address the date may lack the time.
    """
    depth = lines[at].depth
    first = at
    while first < min(len(lines), at + 3) and lines[first].depth == depth:
        if not _RULE.fullmatch(lines[first].text) and (first == at or lines[first].text.strip()):
            break
        first += 1
    has_rule = first > at
    if has_rule and not _RULE.fullmatch(lines[at].text):
        return 0
    end = first
    values: list[str] = []
    last = min(len(lines), first + _MAX_HEADERS)
    while end < last and lines[end].depth == depth and (match := _HEADER.fullmatch(lines[end].text)):
        values.append(match["value"] or "")
        end += 1
    if len(values) < _MIN_HEADERS or date_text(values[0]):
        return 0
    if begins or has_rule or _ADDRESS.search(values[0]):
        return end - at if any(map(date_text, values[1:])) else 0
    return end - at if len(values) > _MIN_HEADERS and _is_time(values[1]) else 0


def _lone_attribution(lines: Sequence[_Line], at: int) -> int:
    """Return 1 for a line that names author and time of what follows it without marks, as Yahoo quotes; else 0."""
    following = next((line for line in lines[at + 1 :] if line.text.strip()), lines[at])
    is_unmarked = following is not lines[at] and following.depth == lines[at].depth
    text = lines[at].text
    if at and lines[at].depth > lines[at - 1].depth:  # as Apple Mail has it, inside the quotation
        return 0
    names = is_unmarked and _is_attribution(text) and _ADDRESS.search(text) and _CLOCK.search(text) and date_text(text)
    return int(bool(names) and (at == 0 or not lines[at - 1].text.strip()))


def _is_time(value: str) -> bool:
    return bool(_YEAR.search(value) and _CLOCK.search(value)) or bool(date_text(value) and _CLOCK.search(value))


def _with_attributions(lines: Sequence[_Line]) -> list[_Line]:
    """Return the lines with those that name the author of a quotation as deep as it."""
    result = list(lines)
    for at in range(1, len(lines)):
        line = lines[at]
        if line.is_intro or not line.text.strip() or (line.depth <= lines[at - 1].depth and lines[at - 1].text.strip()):
            continue
        last = at - 1
        while last >= 0 and not lines[last].text.strip():
            last -= 1
        if last < 0 or lines[last].depth >= line.depth or lines[last].is_intro:
            continue
        if _is_attribution(line.text):  # Apple Mail has it inside the quotation
            result[at] = line._replace(is_intro=True)
            continue
        if (first := _attribution(lines, last)) is not None:
            above = next((n for n in range(first - 1, -1, -1) if lines[n].text.strip()), 0)
            first = above if above and _RULE.fullmatch(lines[above].text) else first
            result[first : last + 1] = [_Line(line.depth, part.text, True) for part in lines[first : last + 1]]
    return result


def _attribution(lines: Sequence[_Line], last: int) -> int | None:
    """Return the first of the lines up to `last` that name an author or a time together, None if they do not.

    The name and the time may stand in a line above one that begins with the address, as where a program wraps them.
    """
    found, is_wrapped = None, bool(_ADDRESS.match(lines[last].text.lstrip(" <[(")))
    for first in range(last, max(last - _MAX_ATTRIBUTION, -1), -1):
        if lines[first].depth != lines[last].depth or not lines[first].text.strip():
            break
        text = " ".join(part.text.strip() for part in lines[first : last + 1])
        if found is None and _is_attribution(text):
            found = first
        elif found is not None and is_wrapped and date_text(text) and not date_text(lines[last].text):
            return first
    return found


def _is_attribution(text: str) -> bool:
    """Return whether a line before a quotation names its author or its time."""
    ends = text.rstrip("* ").endswith((":", "：", ">"))
    return ends and bool(_ADDRESS.search(text) or date_text(text) or (_YEAR.search(text) and _CLOCK.search(text)))


def source_of(intro: Sequence[str], people: Mapping[str, str], subject: str = "") -> Source:
    """Return what an introduction says of the quoted mail; `people`, `subject`: of the mail that quotes.

    `people`: names by address. Programs have the subject in different places: it is what the own subject ends with.

    >>> source_of(["On Mon, 2 Mar 2026 at 09:10, Anton Berger <anton@example.org> wrote:"], {})
    Source(author='Anton Berger', date='2026-03-02 09:10', subject='')
    >>> source_of(["Von: Berger Anton", "Gesendet: Montag, 2. März 2026 09:10", "An: Lindt Bea", "Betreff: Pumpe"], {})
    Source(author='Berger Anton', date='2026-03-02 09:10', subject='Pumpe')
    """
    headers = [match for line in intro if (match := _HEADER.fullmatch(line)) and match["value"]]
    if len(headers) < _MIN_HEADERS:
        line = " ".join(" ".join(intro).split())
        return Source(_author(line, people), date_text(line))
    values = [match["value"].strip() for match in headers]
    date = next(filter(None, map(date_text, sorted(values, key=_is_time, reverse=True))), "")
    others = [value for value in values[1:] if not _is_time(value) and not _ADDRESS.search(value)]
    if len(values) > _MIN_HEADERS and all(map(_ADDRESS.search, values[2:])) and not _ADDRESS.search(values[0]):
        return Source(_name(values[2], people), date, values[0])  # Thunderbird has the subject first
    about = max(filter(subject.endswith, others), key=len, default=(others or [""])[-1])
    return Source(_name(values[0], people), date, about)


def _name(value: str, people: Mapping[str, str]) -> str:
    """Return the name in a header of a person, else the address."""
    address = _ADDRESS.search(value)
    known = people.get(address[0].casefold(), "") if address else ""
    name = re.sub(r"[<(\[].*", "", value).strip(" \"'*")
    return known or name or (address[0] if address else value)


def _author(line: str, people: Mapping[str, str]) -> str:
    """Return the author that a line names: somebody known, else the words with capitals next to the address or time."""
    address = _ADDRESS.search(line)
    known = people.get(address[0].casefold(), "") if address else ""
    known = known or max((name for name in people.values() if name and name in line), key=len, default="")
    before = line[: address.start()] if address else line
    if known or (quoted := _QUOTED_NAME.search(before)):
        return known or (quoted[1] if quoted else "")
    digits = [match.end() for match in _DIGIT.finditer(before)]
    names = _capitals(before[digits[-1] :] if digits else before)
    if names:
        return names[-1]
    return next(iter(_capitals(before)), address[0] if address else "")


def _capitals(text: str) -> list[str]:
    return [match[0] for match in _CAPITALS.finditer(text) if not match[0][0].islower() and len(match[0]) > 1]


_PEOPLE = ("from", "to", "cc")
_MAX_TEXT = 4_000  # characters of a mail that is a field


class MailWriter:
    """Writer of one mail.

    `headers`: from, to, cc, date and subject, as written. `ids`: the Message-ID. `answered`: the ids of the mails that
    it answers, nearest first. `known`: the mails that are read with it, by their `place`.
    """

    def __init__(
        self, headers: Mapping[str, str], ids: Sequence[str], answered: Sequence[str], place: str, known: KnownMails
    ) -> None:
        self.answered, self.place, self.known = answered, place, known
        self.builder = TextBuilder()
        self.people: dict[str, str] = {}
        self.subject = headers.get("subject", "")
        self.fields: list[Field] = []
        for field, text in headers.items():
            self._header(field, text, self.builder.line(f"{field.capitalize()}: {text}") + len(field) + 2)
        self.builder.blank()
        end = self.builder.size
        thread = thread_of(headers.get("subject", ""), answered, known) or (*answered[::-1], *ids, "")[0]
        for name, value in (("id", (*ids, "")[0]), ("reply to", (*answered, "")[0]), ("thread", thread)):
            if value:
                self.fields.append(Field(name, value, end, end))

    def _header(self, field: str, text: str, start: int) -> None:
        """Add the fields of a header whose text begins at `start`."""
        if field not in _PEOPLE:
            value = date_text(text) or text if field == "date" else text
            self.fields.append(Field(field, value, start, start + len(text)))
            return
        for name, address in getaddresses([text]):
            self.people[address.casefold()] = name
            for key, value in ((field, name or address), (f"{field}.address", address if name else "")):
                if value:
                    self.fields.append(Field(key, value, *_span(text, value, start)))

    def write(self, text: str) -> None:
        """Write the text of the mail. Quotations of known mails are left out, unless answers stand between them."""
        found = parts(text, self.known)
        after = [first.depth > 0 and not last.depth for first, last in pairwise(found)]
        self.between = sum(after) > 1  # own texts stand between at least two quotations
        start = self.builder.size
        own: list[str] = []
        end = start
        sources: dict[int, Source] = {}
        for part in found:
            if part.depth:
                self._quote(part, sources)
            elif part.text:
                self.builder.blank()
                at = self.builder.block(part.text)
                start = start if own else at
                own.append(part.text)
                end = self.builder.size
        self.builder.records.insert(0, Record(MAIL, (*self.fields, *_text("\n\n".join(own), start, end)), 0, end))
        self.builder.records.sort(key=lambda record: record.start)

    def _quote(self, part: Part, sources: dict[int, Source]) -> None:
        """Write a quotation, unless its mail is known, with the lines that introduce it, and add its record."""
        for depth in [depth for depth in sources if depth > part.depth]:
            del sources[depth]
        goes_on = not part.intro and part.depth in sources
        source = source_of(part.intro, self.people, self.subject) if part.intro else sources.get(part.depth, Source())
        sources[part.depth] = source
        is_known = self._is_known(part)
        if not part.text or (is_known and not self.between):
            return
        self.builder.blank()
        intro = "\n".join(line.strip() for line in part.intro)
        start = self.builder.block(intro)
        first = self.builder.block(part.text)
        start, end = start if intro else first, self.builder.size
        named = (("from", source.author), ("date", source.date), ("subject", source.subject))
        fields = [Field(name, value, *_span(intro, value, start)) for name, value in named if value]
        if fields or is_known:
            copy = is_known or goes_on
            self.builder.records.append(Record(MAIL, (*fields, *_text(part.text, first, end)), start, end, copy))

    def _is_known(self, part: Part) -> bool:
        """Return whether a quotation is of a mail that is read with this one, or that another of these quotes."""
        answered = self.answered[part.depth - 1] if len(self.answered) >= part.depth else ""
        text = opening(part.text)
        is_read = answered in self.known.ids or text in self.known.openings
        return is_read or self.known.quoted.get(text, self.place) != self.place


def _span(text: str, value: str, start: int) -> tuple[int, int]:
    """Return where a text that begins at `start` says a value."""
    at = text.find(value)
    return (start + at, start + at + len(value)) if at >= 0 else (start, start)


def _text(text: str, start: int, end: int) -> list[Field]:
    return [Field("text", " ".join(text.split()), start, end)] if text and len(text) <= _MAX_TEXT else []
