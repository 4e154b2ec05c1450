"""Progress on stderr: bars on a terminal, otherwise a line every ten seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from graphwright.cli.terminal import console, note, tokens_and_cost

if TYPE_CHECKING:
    from rich.progress import TaskID

    from graphwright.models import Usage

Show = Callable[[str, int, int], None]
_SECONDS = 10.0  # between two lines
_WINDOW = 30.0  # seconds; the rate is that of the last one or two such periods


def progress_text(work: str, done: int, total: int, seconds: float = 0, before: int = 0) -> str:
    """Return the progress of some work as text, with its rate and the remaining time, if it began with `before`.

    `seconds`: since then.

    >>> progress_text("encode passages", 1200, 4800, 60)
    'encode passages: 1,200 of 4,800, 20/s, 0:03:00 left of this step'
    >>> progress_text("read documents", 500, 500, 1000)
    'read documents: 500, 0.5/s'
    >>> progress_text("write the index", 0, 0)
    'write the index'
    """
    if done <= 0 and total <= 0:
        return work
    text = f"{work}: {done:,}" + (f" of {total:,}" if total > done else "")
    if done <= before or seconds <= 0:
        return text
    rate = (done - before) / seconds
    text += f", {rate:,.0f}/s" if rate >= 9.5 else f", {rate:.1g}/s"
    return f"{text}, {_clock((total - done) / rate)} left of this step" if total > done else text


def _clock(seconds: float) -> str:
    """Return a duration as text, such as 0:01:05."""
    return str(timedelta(seconds=round(max(seconds, 1))))


@contextmanager
def progress(usage: Usage | None = None) -> Iterator[Show]:
    """Yield a callback (work, done, total) that shows progress on stderr, with the tokens and cost of `usage`."""
    with _bars(usage) if console(stderr=True).is_terminal else _Lines(usage).running() as show:
        yield show


@contextmanager
def _bars(usage: Usage | None) -> Iterator[Show]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    def text(name: str, style: str = "none") -> TextColumn:
        return TextColumn(f"{{task.{name}}}", style=style, markup=False)

    columns = (text("description"), BarColumn(), MofNCompleteColumn(), text("fields[rate]"), TimeRemainingColumn())
    output = console(stderr=True)
    with Progress(*columns, text("fields[cost]", "cyan"), console=output, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total or None, rate="", cost="")
            speed = next(task.speed for task in bars.tasks if task.id == tasks[name])
            rate = f"{speed:,.0f}/s" if speed else ""
            cost = "" if usage is None else tokens_and_cost(usage)
            bars.update(tasks[name], completed=done, total=total or None, rate=rate, cost=cost)

        yield show


@dataclass
class _Lines:
    """Prints a line to stderr every ten seconds, with the elapsed time, even if the work reports nothing."""

    usage: Usage | None
    interval: float = _SECONDS
    _state: tuple[str, int, int] = ("", 0, 0)
    _marks: dict[str, list[tuple[float, int]]] = field(default_factory=dict)  # times of each work, and what was done
    _done: dict[str, int] = field(default_factory=dict)  # of each work; they may alternate
    _start: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _end: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self) -> Iterator[Show]:
        """Print lines until the end of the block."""
        thread = threading.Thread(target=self._run, name="progress", daemon=True)
        thread.start()
        try:
            yield self.show
        finally:
            self._end.set()
            thread.join()

    def show(self, work: str, done: int, total: int) -> None:
        """Store the progress of the work."""
        with self._lock:
            now = time.monotonic()
            if work not in self._done or done < self._done[work]:
                self._marks[work] = [(now, done)]
            elif now - self._marks[work][-1][0] >= _WINDOW:
                self._marks[work] = [self._marks[work][-1], (now, done)]
            self._done[work] = done
            self._state = work, done, total

    def _run(self) -> None:
        while not self._end.wait(self.interval):
            note(self.line())

    def line(self) -> str:
        """Return the state of the work."""
        with self._lock:
            (work, done, total), now = self._state, time.monotonic()
            since, before = self._marks[work][0] if work else (now, 0)
            line = progress_text(work, done, total, now - since, before) if work else "working"
        cost = "" if self.usage is None else tokens_and_cost(self.usage)
        return f"{line}, {_clock(now - self._start)} so far" + (f", {cost}" if cost else "")


def note_compilation() -> None:
    """Print to stderr that the kernels are compiled, on the first run of an installation."""
    from graphwright.kernels.csr import compiled_before

    if not compiled_before():
        note("note: the first run of this installation compiles its kernels, once; that takes a minute or two.")
