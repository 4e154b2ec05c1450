"""Text and records of a mail: what it says itself, and mails that it quotes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from email.utils import getaddresses
from itertools import pairwise

from graphwright.data.formats.format import KnownMails, TextBuilder
from graphwright.data.formats.parsing.mail_quotes import Part, Source, opening, parts, source_of
from graphwright.data.records.record import MAIL, Field, Record
from graphwright.text.date_search import date_text

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
        self.fields: list[Field] = []
        for field, text in headers.items():
            self._header(field, text, self.builder.line(f"{field.capitalize()}: {text}") + len(field) + 2)
        self.builder.blank()
        end = self.builder.size
        for name, value in (("id", next(iter(ids), "")), ("reply to", next(iter(answered), ""))):
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
                at = text.find(value)
                if value:
                    begin = start + max(at, 0)
                    self.fields.append(Field(key, value, begin, begin + (len(value) if at >= 0 else 0)))

    def write(self, text: str) -> None:
        """Write the text of the mail. Quotations of known mails are left out, unless answers stand between them."""
        found = parts(text)
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
        source = source_of(part.intro, self.people) if part.intro else sources.get(part.depth, Source("", ""))
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


def _span(intro: str, value: str, start: int) -> tuple[int, int]:
    """Return where an introduction that begins at `start` says a value."""
    at = intro.find(value)
    return (start + at, start + at + len(value)) if at >= 0 else (start, start)


def _text(text: str, start: int, end: int) -> list[Field]:
    return [Field("text", " ".join(text.split()), start, end)] if text and len(text) <= _MAX_TEXT else []
