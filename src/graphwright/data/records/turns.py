"""Turns of chats, transcripts and subtitles as text and records: the speaker stands before each turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from graphwright.data.formats.format import Extracted, TextBuilder
from graphwright.data.records.record import MESSAGE, Field, Record
from graphwright.text.characters import clean
from graphwright.text.sentences import sentence_spans

_MAX_LINE = 600  # characters of a turn after one name; the name stands again before what follows


class Turn(NamedTuple):
    """A turn: its speaker, its date and time or its time from the beginning, and its text; without both, other text.

    `id` and `reply_to` join a message with the one that it answers. `is_notice`: the program says it, and no one else.
    """

    speaker: str
    time: str
    text: str
    id: str = ""
    reply_to: str = ""
    is_notice: bool = False


def turns_text(turns: Iterable[Turn], kind: Literal["", "time"] = "", title: str = "") -> Extracted:
    """Return turns as lines, "Anna (09:12): …", below a heading for each day, with a record for each message.

    The places of the text, of a `kind`, are the times of the turns.

    >>> part = turns_text([Turn("Anna", "2024-05-01 09:12:07", "It is high."), Turn("Bert", "", "Yes.")])
    >>> part.text, part.places.of(14, 20)
    ('2024-05-01\\n\\nAnna (09:12): It is high.\\nBert: Yes.', '2024-05-01 09:12:07')
    """
    writer = _Writer(TextBuilder(kind))
    for turn in turns:
        writer.write(turn)
    return writer.builder.extracted(title)


@dataclass
class _Writer:
    builder: TextBuilder
    day: str = ""

    def write(self, turn: Turn) -> None:
        """Write a turn, after a heading if it is the first of its day."""
        text = " ".join(clean(turn.text).split())
        if not text:
            return
        day, _, clock = turn.time.rpartition(" ")
        if day and day != self.day:
            self.builder.heading(day, 1)
            self.day = day
        time = clock[:5] if day else clock
        label = " ".join(filter(None, (turn.speaker, f"({time})" if turn.speaker and time else "")))
        start = self._lines(turn, text, f"{label}: " if label else "")
        end = self.builder.size
        speaker = Field("speaker", turn.speaker, start, start + len(turn.speaker))
        at = start + len(turn.speaker) + 2 if turn.speaker else start
        said = Field("time", turn.time, at, at + len(time) if turn.speaker else at)
        content = Field("text", text, start + (len(label) + 2 if label else 0), end)
        others = (Field("id", turn.id, start, start), Field("reply to", turn.reply_to, start, start))
        fields = tuple(field for field in (speaker, said, content, *others) if field.text)
        if (turn.speaker or turn.time) and not turn.is_notice:
            self.builder.records.append(Record(MESSAGE, fields, start, end))

    def _lines(self, turn: Turn, text: str, label: str) -> int:
        """Write the lines of a turn and its place; return where they begin."""
        if turn.time:
            self.builder.place(turn.time)
        starts = [self.builder.line(label + text[begin:end]) for begin, end in _pieces(text)]
        return starts[0]


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the lines of a turn, of whole sentences."""
    begin = last = 0
    for start, end in sentence_spans(text):
        if end - begin > _MAX_LINE and last > begin:
            yield begin, last
            begin = start
        last = end
    yield begin, max(last, begin)
