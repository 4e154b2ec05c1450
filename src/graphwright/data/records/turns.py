"""Turns of chats, transcripts and subtitles as text and records: the speaker stands before each turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    builder, last = TextBuilder(kind), ""
    for turn in turns:
        text = " ".join(clean(turn.text).split())
        day = turn.time.rpartition(" ")[0]
        if text and day and day != last:
            builder.heading(day, 1)
            last = day
        if text:
            _write(builder, turn, text)
    return builder.extracted(title)


def _write(builder: TextBuilder, turn: Turn, text: str) -> None:
    """Write the lines of a turn, its place and its record."""
    day, _, clock = turn.time.rpartition(" ")
    time = clock[:5] if day else clock
    label = " ".join(filter(None, (turn.speaker, f"({time})" if turn.speaker and time else "")))
    label = f"{label}: " if label else ""
    if turn.time:
        builder.place(turn.time)
    starts = [builder.line(label + text[begin:end]) for begin, end in _pieces(text)]
    start = starts[0]
    at = start + len(turn.speaker) + 2 if turn.speaker else start
    fields = (
        Field("speaker", turn.speaker, start, start + len(turn.speaker)),
        Field("time", turn.time, at, at + len(time) if turn.speaker else at),
        Field("text", text, start + len(label), builder.size),
        Field("id", turn.id, start, start),
        Field("reply to", turn.reply_to, start, start),
    )
    if (turn.speaker or turn.time) and not turn.is_notice:
        said = tuple(field for field in fields if field.text)
        builder.records.append(Record(MESSAGE, said, start, builder.size))


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the lines of a turn, of whole sentences."""
    begin = last = 0
    for start, end in sentence_spans(text):
        if end - begin > _MAX_LINE and last > begin:
            yield begin, last
            begin = start
        last = end
    yield begin, max(last, begin)
