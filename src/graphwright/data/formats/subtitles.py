"""Subtitles (SubRip, WebVTT, SubViewer): cues joined to sentences, with their times."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from graphwright.data.formats.format import Extracted, File, Format, UnreadableError
from graphwright.data.records.turns import Turn, turns_text

_CLOCK = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_TIMES = re.compile(rf"[ \t]*{_CLOCK}[ \t]*(?:-->|,)[ \t]*{_CLOCK}(?:[ \t].*)?")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t]+([^>]+)>")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<\d[\d:.]*>|\{\\[^{}]*\}")
# A name before a colon: as words that begin with capitals ("Dr. Roth", "Roth, Eva"), or in brackets; a dash marks
# another speaker.
_NAME = r"[^\W\d_a-z](?:[^:\n.!?,;]|[.,](?= [^\W\d_a-z])){0,39}"
_SPEAKER = re.compile(rf"(?:>>|-)?[ \t]*(?:\[([^\[\]]{{1,40}})\]:?|({_NAME}):)(?=\s)[ \t]*")
_STOPS = tuple(".!?…。！？।؟\"'”»)")
_DASHES = ("- ", "– ", "— ", "‐")  # before what another speaker says
_MAX_CUES = 12  # cues of a turn without the end of a sentence
_MAX_PAUSE = 5.0  # seconds between cues of one sentence


class _Cue(NamedTuple):
    begin: float
    end: float
    speaker: str
    text: str


def read(file: File) -> Iterator[Extracted]:
    """Yield the text of subtitles: a line for each sentence, or each run of sentences of a speaker.

    Numbers of cues, times and marks of style are not text. Raises UnreadableError for a file without any cue.
    """
    cues = list(_cues(file.text()))
    if not cues:
        raise UnreadableError("no subtitles: no line with two times and an arrow")
    names = _names(cues)
    parts = [part for cue in cues for part in _voices(cue, names)]
    shown = (next(same) for _, same in groupby(parts, key=attrgetter("text")))  # once, as live captions roll them
    yield turns_text(_turns(shown), "time")


def _cues(text: str) -> Iterator[_Cue]:
    """Yield the cues with their text as written; notes and styles of WebVTT have no times."""
    times: re.Match[str] | None = None
    lines: list[str] = []
    for line in [*text.split("\n"), ""]:
        if match := _TIMES.fullmatch(line):
            if times is not None:  # without an empty line between
                yield _Cue(*_span(times), "", "\n".join(lines[:-1] if lines and lines[-1].strip().isdigit() else lines))
            times, lines = match, []
        elif line.strip():
            lines.append(line)
        elif times is not None:
            yield _Cue(*_span(times), "", "\n".join(lines))
            times, lines = None, []
        else:
            lines = []


def _span(times: re.Match[str]) -> tuple[float, float]:
    groups = [int(group or 0) for group in times.groups()]
    begin, end = (
        h * 3600 + m * 60 + s + float(f"0.{fraction}")
        for (h, m, s), fraction in ((groups[0:3], times[4]), (groups[4:7], times[8]))
    )
    return begin, end


def _names(cues: list[_Cue]) -> set[str]:
    """Return the names before a colon that are speakers: in capitals, or before several cues, most of them, or all."""
    lines = (_TAG.sub("", line) for cue in cues for line in cue.text.split("\n"))
    names = Counter(match[1] or match[2] for line in lines if (match := _SPEAKER.match(line)))
    all_named = 2 * names.total() > len(cues) and (max(names.values()) > 1 or names.total() >= len(cues) > 1)
    return {name for name, count in names.items() if count > 1 or all_named or name.isupper()}


def _voices(cue: _Cue, names: set[str]) -> Iterator[_Cue]:
    """Yield the parts of a cue by speaker: of WebVTT's <v Name>, or one of the names before a colon."""
    pieces = _VOICE.split(cue.text)
    for speaker, text in zip(["", *pieces[1::2]], pieces[::2], strict=True):
        name = " ".join(html.unescape(speaker).split())
        lines = [_TAG.sub("", line) for line in text.split("\n")]
        for line in lines if not name else [" ".join(lines)]:
            match = _SPEAKER.match(line) if not name else None
            match = match if match and (match[1] or match[2]) in names else None
            said = match[1] or match[2] if match else name
            body = html.unescape(line[match.end() :] if match else line).strip()
            if body:
                yield cue._replace(speaker=" ".join(said.split()), text=body)


def _turns(cues: Iterator[_Cue]) -> Iterator[Turn]:
    """Join the cues of one speaker to turns that end with a sentence."""
    group: list[_Cue] = []
    for cue in cues:
        if group and _ends(group, cue):
            yield _turn(group)
            group = []
        group.append(cue)
    if group:
        yield _turn(group)


def _ends(group: list[_Cue], cue: _Cue) -> bool:
    """Return whether a cue begins a new turn after those of a group."""
    last = group[-1]
    if cue.speaker != group[0].speaker and (cue.speaker or cue.begin > last.end + _MAX_PAUSE):
        return True
    return (
        cue.text.startswith(_DASHES)
        or last.text.endswith(_STOPS)
        or len(group) >= _MAX_CUES
        or cue.begin > last.end + _MAX_PAUSE
    )


def _turn(group: list[_Cue]) -> Turn:
    texts = [group[0].text.lstrip("-–—‐ "), *(cue.text for cue in group[1:])]
    return Turn(group[0].speaker, _clock(group[0].begin), " ".join(texts))


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


_SUFFIXES = (".srt", ".vtt", ".sbv")
FORMATS = (Format("subtitles", _SUFFIXES, read),)
