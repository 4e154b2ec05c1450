"""Text recognition (OCR) on pictures of pages, by RapidOCR: lines with their boxes, in reading order.

The models, PP-OCRv6 by PaddleOCR (Apache 2.0), come with the package `rapidocr`, so that nothing is fetched when a page
is read. They know Latin letters with all their marks, Chinese and Japanese.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from statistics import median
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from graphwright.data.formats.parsing.pdf_layout import by_columns
from graphwright.data.formats.parsing.pdf_rows import UNIT, Cell, Line, around
from graphwright.data.formats.parsing.pictures import Pixels
from graphwright.errors import StoreError
from graphwright.files import SQLiteTable
from graphwright.text.characters import clean

MAX_SIDE = 4_000  # maximum pixels on a side of a picture that is read
EXTRA = "pip install 'graphwright[ocr]'"  # the command that installs the recogniser
_DETECTED_SIDE = 960  # pixels on the longer side in which lines are detected; they are read from all pixels
_LEAST_SCORE = 0.7  # mean probability of the characters of a line; below it most are wrong
_SAME_HEIGHT = 0.25  # by which lines of one size differ: those without tall letters are lower
_JOINED_GAP = 1.0  # between two parts of a line, in heights of it
_MAX_CELL = 24  # characters of a cell, on average; columns of text have longer lines
_LOCK = Lock()  # a recogniser serves one thread at a time
_KEPT = SQLiteTable(
    0x67776F63,  # "gwoc"
    "recognised",
    "(key BLOB PRIMARY KEY, lines BLOB NOT NULL) WITHOUT ROWID",
    "NORMAL",
    "Check that its folder exists and is writable; or delete the file: pictures are then read again.",
)


class Found(NamedTuple):
    """A line that was found: its text, its probability, and its four corners in pixels, from the top left."""

    text: str
    score: float
    corners: Sequence[Sequence[float]]


def can_recognise() -> bool:
    """Return whether the recogniser is installed."""
    return find_spec("rapidocr") is not None


def recognised_lines(pixels: Pixels, height: float, kept: Path | None = None) -> list[Line]:
    """Return the lines of text on a picture of a page in reading order, those below a probability of 0.7 left out.

    `height`: of the page, in points. `kept`: an SQLite file that keeps what was recognised by the content of pictures.
    """
    found = _recognised(pixels) if kept is None else _kept_or_recognised(pixels, kept)
    good = [line for line in found if line.score >= _LEAST_SCORE and line.text.strip()]
    slope = _slope(good)
    return list(by_columns(list(_rows(_one_size([_line(line, pixels.shape, height, slope) for line in good])))))


def page_list(numbers: Sequence[int]) -> str:
    """Return ascending numbers of pages as text.

    >>> page_list([1, 2, 3, 5]), page_list([4])
    ('pages 1-3, 5', 'page 4')
    """
    by_run = groupby(enumerate(numbers), key=lambda placed: placed[1] - placed[0])
    runs = [[number for _, number in run] for _, run in by_run]
    listed = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"page{'s' * (len(numbers) > 1)} {listed}"


def _recognised(pixels: Pixels) -> list[Found]:
    with _LOCK:
        result = _recogniser()(pixels[:, :, ::-1], use_cls=False)
    if result.txts is None:
        return []
    found = zip(result.txts, result.scores, result.boxes, strict=True)
    return [Found(str(text), float(score), np.asarray(corners).tolist()) for text, score, corners in found]


@cache
def _recogniser() -> Any:
    """Return the recogniser. It takes as many threads as the process may use."""
    from rapidocr import RapidOCR

    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    engine = {"intra_op_num_threads": threads, "inter_op_num_threads": 1}
    params = {
        "Global.log_level": "critical",
        "Global.text_score": 0.0,
        "Global.max_side_len": MAX_SIDE,
        "Det.limit_type": "max",
        "Det.limit_side_len": _DETECTED_SIDE,
        **{f"EngineConfig.onnxruntime.{name}": value for name, value in engine.items()},
    }
    return RapidOCR(params=params)


def _kept_or_recognised(pixels: Pixels, path: Path) -> list[Found]:
    """Return the lines that a file keeps; others are recognised, and kept if it can be written."""
    key = blake2b(f"{version('rapidocr')} {_DETECTED_SIDE} {pixels.shape}".encode(), digest_size=32)
    key.update(pixels.tobytes())
    with suppress(StoreError), _KEPT.open(path) as db:
        if row := db.execute("SELECT lines FROM recognised WHERE key = ?", (key.digest(),)).fetchone():
            return [Found(*line) for line in json.loads(row[0])]
    found = _recognised(pixels)
    with suppress(StoreError), _KEPT.open(path) as db, db:
        db.execute("INSERT OR REPLACE INTO recognised VALUES (?, ?)", (key.digest(), json.dumps(found).encode()))
    return found


def _slope(lines: Sequence[Found]) -> float:
    """Return how far the lines of a turned page fall to the right, in pixels a pixel: the median over characters."""
    falls = list[float]()
    for line in lines:
        (left, left_top), (right, right_top), *_ = line.corners
        falls += [(right_top - left_top) / max(right - left, 1)] * len(line.text)
    return median(falls) if falls else 0.0


def _line(found: Found, shape: tuple[int, ...], height: float, slope: float) -> Line:
    """Return a line with an upright box as tall as the line, where it stands if the page is turned straight."""
    left_top, right_top, right_bottom, left_bottom = found.corners
    tall = (math.dist(left_top, left_bottom) + math.dist(right_top, right_bottom)) / 2
    xs, ys = zip(*found.corners, strict=True)
    middle = sum(ys) / len(ys) - slope * (sum(xs) / len(xs) - shape[1] / 2)
    sides = (min(xs), shape[1]), (middle - tall / 2, shape[0]), (max(xs), shape[1]), (middle + tall / 2, shape[0])
    left, top, right, bottom = (min(max(round(at / size * UNIT), 0), UNIT) for at, size in sides)
    text = " ".join(clean(found.text).split())
    return Line(text, (left, top, right, bottom), tall / shape[0] * height, (Cell(text, left, right),))


def _one_size(lines: Sequence[Line]) -> list[Line]:
    """Return lines with the height of the text where they are about as high."""
    if not lines:
        return []
    usual = median(line.height for line in lines for _ in line.text)
    heights = (usual if abs(line.height - usual) <= _SAME_HEIGHT * usual else line.height for line in lines)
    return [line._replace(height=round(height * 2) / 2) for line, height in zip(lines, heights, strict=True)]


def _rows(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield lines, parts of one line joined; those beside each other with short texts are the cells of one row."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: line.box[1] + line.box[3]):
        middle = (line.box[1] + line.box[3]) / 2
        if rows and rows[-1][0].box[1] <= middle <= rows[-1][0].box[3]:
            rows[-1].append(line)
        else:
            rows.append([line])
    joined = [_joined(sorted(row, key=lambda line: line.box[0])) for row in rows]
    for several, run in groupby(joined, key=lambda row: len(row) > 1):
        group = list(run)
        lengths = [len(line.text) for row in group for line in row]
        if several and sum(lengths) <= _MAX_CELL * len(lengths):
            yield from map(_as_row, group)
        else:
            yield from (line for row in group for line in row)


def _joined(row: Sequence[Line]) -> list[Line]:
    """Return the lines of a row from left to right, those with a small gap between them as one."""
    lines: list[Line] = []
    for line in row:
        before = lines[-1] if lines else None
        if before and line.box[0] - before.box[2] <= _JOINED_GAP * (line.box[3] - line.box[1]):
            text, box = f"{before.text} {line.text}", around([before, line])
            lines[-1] = before._replace(text=text, box=box, cells=(Cell(text, box[0], box[2]),))
        else:
            lines.append(line)
    return lines


def _as_row(row: Sequence[Line]) -> Line:
    cells = tuple(cell for line in row for cell in line.cells)
    return Line(" ".join(line.text for line in row), around(row), row[0].height, cells, parts=tuple(row))
