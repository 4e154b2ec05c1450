"""Progress on stderr: bars on a terminal, otherwise a line every ten seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from graphwright.cli.terminal import console, note, tokens_and_cost

if TYPE_CHECKING:
    from graphwright.models import Usage

Show = Callable[[str, int, int], None]
_SECONDS = 10.0  # between two lines
_WINDOW = 30.0  # seconds that the rate is taken of


def progress_text(work: str, done: int, total: int, speed: float | None = None) -> str:
    """Return the progress of some work as text; with its speed, done per second, also the remaining time.

    >>> progress_text("encode passages", 1200, 4800, 20)
    'encode passages: 1,200 of 4,800, 20/s, 0:03:00 left of this step'
    >>> progress_text("read documents", 500, 500, 0.5)
    'read documents: 500, 0.5/s'
    >>> progress_text("write the index", 0, 0)
    'write the index'
    """
    if done <= 0 and total <= 0:
        return work
    text = f"{work}: {done:,}" + (f" of {total:,}" if total > done else "")
    if not speed:
        return text
    text += f", {speed:,.0f}/s" if speed >= 9.5 else f", {speed:.1g}/s"
    return f"{text}, {_clock((total - done) / speed)} left of this step" if total > done else text


def _clock(seconds: float) -> str:
    """Return a duration as text, such as 0:01:05."""
    return str(timedelta(seconds=round(max(seconds, 1))))


@contextmanager
def progress(usage: Usage | None = None, interval: float = _SECONDS) -> Iterator[Show]:
    """Yield a callback (work, done, total) that shows progress on stderr, with the tokens and cost of `usage`.

    `interval`: seconds between two lines where stderr is no terminal.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn

    def text(name: str, style: str = "none") -> TextColumn:
        return TextColumn(f"{{task.{name}}}", style=style, markup=False)

    def cost() -> str:
        return "" if usage is None else tokens_and_cost(usage)

    output, tasks, latest = console(stderr=True), dict[str, Task](), "working"
    bar = (text("description"), BarColumn(), MofNCompleteColumn(), text("fields[rate]"), TimeRemainingColumn())
    columns = (*bar, text("fields[cost]", "cyan"))
    silent = not output.is_terminal
    bars = Progress(*columns, console=output, transient=True, disable=silent, speed_estimate_period=_WINDOW)

    def show(work: str, done: int, total: int) -> None:
        nonlocal latest
        if work not in tasks:
            added = bars.add_task(work, total=None, rate="", cost="")
            tasks[work] = next(task for task in bars.tasks if task.id == added)
        task = tasks[work]
        if done < task.completed:  # it began again, such as with the next documents
            bars.reset(task.id)
        rate = f"{task.speed:,.0f}/s" if task.speed else ""
        bars.update(task.id, completed=done, total=total if total > done else None, rate=rate, cost=cost())
        latest = progress_text(work, done, total, task.speed)

    with _lines(lambda: filter(None, (latest, cost())), interval) if silent else bars:
        yield show


@contextmanager
def _lines(parts: Callable[[], Iterable[str]], interval: float) -> Iterator[None]:
    """Print a line to stderr every `interval` seconds, with the elapsed time, even if the work reports nothing."""
    end, start = threading.Event(), time.monotonic()

    def run() -> None:
        while not end.wait(interval):
            state, *cost = parts()
            note(", ".join([state, f"{_clock(time.monotonic() - start)} so far", *cost]))

    thread = threading.Thread(target=run, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def note_compilation() -> None:
    """Print to stderr that the kernels are compiled, on the first run of an installation."""
    from graphwright.kernels.csr import compiled_before

    if not compiled_before():
        note("note: the first run of this installation compiles its kernels, once; that takes a minute or two.")
