"""Lay out charts: axes with ticks, marks, the Pareto front and curves.

The result is geometry in chart units; `templates/chart.svg.j2` draws it, and `templates/page.css` gives it colours.
matplotlib is no replacement: drawing takes longer than the whole report, the installation grows, and its SVG has no
colours for a dark page and no tooltips.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from graphwright.evaluate.figures import number

Point = tuple[float, float]

WIDTH, HEIGHT = 480.0, 340.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, WIDTH - 16.0, 30.0, HEIGHT - 44.0
_ZERO_WIDTH = 34.0  # of the space for 0 on a logarithmic axis
_MAX_CATEGORY = 16  # characters of a category on an axis


@dataclass(frozen=True)
class Scale:
    """Settings of an axis: its name, the format of values, and its kind.

    `log`: logarithmic. `limits`: bounds of the axis. `zero`: it begins at 0.
    """

    name: str
    write: Callable[[float], str]
    log: bool = False
    limits: tuple[float, float] = (-math.inf, math.inf)
    zero: bool = False


@dataclass(frozen=True)
class Axis:
    """An axis from the value `low` at `start` to `high` at `end`.

    `log`: logarithmic. `zero`: a logarithmic axis has space for 0 at its beginning.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    zero: bool = False

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float, scale: Scale) -> Axis:
        """Return an axis that covers the values with a margin, which stays inside the limits of the scale.

        >>> Axis.over([0.2, 0.6], 0, 100, Scale("share", str, limits=(0, 1))).ticks()
        [0.2, 0.3, 0.4, 0.5, 0.6]
        >>> Axis.over([2, 300, 0], 0, 100, Scale("ms", str, log=True)).ticks()
        [0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]
        """
        if scale.log:
            positive = [value for value in values if value > 0] or [1.0]
            return cls(min(positive) / 1.3, max(positive) * 1.3, start, end, True, len(positive) < len(values))
        low, high = min([*values, 0.0] if scale.zero else values), max(values)
        margin = 0.06 * (high - low) or 0.05 * abs(high) or 0.05
        return cls(max(low - margin, scale.limits[0]), min(high + margin, scale.limits[1]), start, end)

    def at(self, value: float) -> float:
        """Return the position of a value."""
        if not self.log:
            return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)
        begin = self.start + (_ZERO_WIDTH if self.zero else 0.0)
        if value <= 0:
            return (self.start + begin) / 2
        return begin + math.log(value / self.low) / math.log(self.high / self.low) * (self.end - begin)

    def ticks(self, max_ticks: int = 8) -> list[float]:
        """Return round values on the axis, ascending."""
        powers = self._powers(max_ticks) if self.log else []
        ticks = powers if len(powers) > 2 else self._steps(max_ticks)
        return [0, *ticks] if self.zero else ticks

    def _steps(self, max_ticks: int) -> list[float]:
        size = 10.0 ** math.floor(math.log10((self.high - self.low) / max_ticks))
        step = next(size * by for by in (1, 2, 5, 10, 20) if (self.high - self.low) / (size * by) <= max_ticks)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(n * step, 12) for n in range(first, last + 1)]

    def _powers(self, max_ticks: int) -> list[float]:
        low, high = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for digits in ((1, 2, 5), (1, 3), (1,)):
            ticks = [round(digit * 10.0**n, 12) for n in range(low, high + 1) for digit in digits]
            ticks = [value for value in ticks if self.low <= value <= self.high]
            if len(ticks) <= max_ticks:
                return ticks
        return ticks[:: -(-len(ticks) // max_ticks)]


@dataclass(frozen=True)
class Mark:
    """A data point with the interval of `y` and a tooltip."""

    name: str
    x: float
    y: float
    low: float
    high: float
    tip: str


Spot = tuple[Mark, str, str]
"""A mark in coordinates of the drawing, its shape (circle, diamond or square) and its CSS class."""


@dataclass
class Chart:
    """A chart, as input of its template.

    `names`: labels of marks, each with the left end of its base line. `curves`: each with its spots, its line and the
    band of its intervals, as SVG points.
    """

    label: str
    x: Axis
    y: Axis
    x_name: str
    y_name: str
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    stairs: str = ""
    spots: list[Spot] = field(default_factory=list)
    names: list[tuple[str, Point]] = field(default_factory=list)
    curves: list[tuple[list[Spot], str, str]] = field(default_factory=list)

    def spot(self, mark: Mark, shape: str, kind: str = "") -> Spot:
        """Return a mark in coordinates of the drawing."""
        y, low, high = map(self.y.at, (mark.y, mark.low, mark.high))
        return Mark(mark.name, self.x.at(mark.x), y, low, high, mark.tip), shape, kind


def pareto_front(marks: Sequence[Mark]) -> list[int]:
    """Return the Pareto-optimal marks by ascending cost: no other mark is better in one respect and as good in the
    other.

    >>> pareto_front([Mark(name, x, y, y, y, "") for name, x, y in [("a", 2, 0.5), ("b", 1, 0.4), ("c", 3, 0.5)]])
    [1, 0]
    """
    front: list[int] = []
    for at in sorted(range(len(marks)), key=lambda at: (marks[at].x, -marks[at].y)):
        best = marks[front[-1]] if front else None
        if best is None or marks[at].y > best.y or (marks[at].x, marks[at].y) == (best.x, best.y):
            front.append(at)
    return front


def scatter(marks: Sequence[Mark], x: Scale, y: Scale, *, baseline: str = "") -> Chart:
    """Return quality over cost with the Pareto front; its marks and the baseline are named."""
    across = Axis.over([mark.x for mark in marks], _LEFT, _RIGHT, x)
    values, name = ((value, x.write(value)) for value in across.ticks()), f"{x.name}{', logarithmic' * x.log}"
    chart = _chart(f"{y.name} against {x.name}, {len(marks)} methods", marks, across, name, values, y)
    front = pareto_front(marks)
    named = [*front, *(i for i, mark in enumerate(marks) if mark.name == baseline and i not in front)]
    for i in (*sorted(set(range(len(marks))) - set(named)), *named[::-1]):
        is_baseline = marks[i].name == baseline
        classes = " ".join(name for name, applies in (("front", i in front), ("baseline", is_baseline)) if applies)
        chart.spots.append(chart.spot(marks[i], "diamond" if is_baseline else "circle", classes or "other"))
    at = [(chart.x.at(mark.x), chart.y.at(mark.y)) for mark in marks]
    steps = [corner for (_, y), after in pairwise(at[i] for i in front) for corner in ((after[0], y), after)]
    chart.stairs = _points([at[front[0]], *steps, (_RIGHT + 8, at[front[-1]][1])])
    for i in named:  # below the stairs, where no mark of the front lies
        label, (left, base) = shortened(marks[i].name), at[i]
        chart.names.append((label, (min(left + 6, _RIGHT + 8 - text_width(label)), min(base + 17, _BOTTOM - 4))))
    return chart


def curves(lines: Sequence[Sequence[Mark]], name: str, values: Sequence[str], y: Scale) -> Chart:
    """Return curves with the bands of their intervals. The x of a mark is the position of its value in `values`."""
    marks = [mark for line in lines for mark in line]
    texts = [shortened(value, _MAX_CATEGORY) for value in values]
    inset = max(map(text_width, texts)) / 2
    across = Axis(0, max(len(values) - 1, 1), _LEFT + inset, _RIGHT - inset)
    chart = _chart(f"{y.name} by {name}, {len(lines)} curves", marks, across, name, enumerate(texts), y)
    for at, line in enumerate(lines):
        spots = [chart.spot(mark, ("circle", "square", "diamond")[at % 3]) for mark in line]
        drawn = [spot[0] for spot in spots]
        ends = [*((mark.x, mark.high) for mark in drawn), *((mark.x, mark.low) for mark in drawn[::-1])]
        chart.curves.append(
            (spots, _points((mark.x, mark.y) for mark in drawn), _points(ends) if len(spots) > 1 else "")
        )
    return chart


def _chart(
    label: str, marks: Sequence[Mark], x: Axis, x_name: str, x_values: Iterable[tuple[float, str]], y: Scale
) -> Chart:
    """Return a chart whose y axis covers the marks and their intervals, without labels of x that touch an earlier one.

    `x_values`: values on the x axis, with their texts.
    """
    down = Axis.over([end for mark in marks for end in (mark.low, mark.high)], _BOTTOM, _TOP, y)
    ticks: list[tuple[float, str]] = []
    for value, text in x_values:
        at = x.at(value)
        apart = not ticks or at - ticks[-1][0] > (text_width(text) + text_width(ticks[-1][1])) / 2 + 8
        if apart and text not in (name for _, name in ticks):
            ticks.append((at, text))
    return Chart(label, x, down, x_name, y.name, ticks, [(down.at(value), y.write(value)) for value in down.ticks(6)])


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{number(x)},{number(y)}" for x, y in points)


def text_width(text: str) -> float:
    """Return the approximate width of a text of size 12.

    >>> round(text_width("bm25")), round(text_width("検索"))
    (29, 25)
    """
    return sum(12.6 if unicodedata.east_asian_width(letter) in "WF" else 7.2 for letter in text)


def shortened(text: str, max_characters: int = 26) -> str:
    """Return a text with an ellipsis in its middle where it is too long.

    >>> shortened("a name that is longer than is good"), shortened("bm25")
    ('a name that is …an is good', 'bm25')
    """
    if len(text) <= max_characters:
        return text
    tail = (max_characters - 1) * 2 // 5
    return f"{text[: max_characters - 1 - tail]}…{text[-tail:]}"
