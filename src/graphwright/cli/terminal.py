"""Terminal output: clean text, JSON and tables; and progress on stderr.

Every command prints by `say`, `note`, `print_json` or a `console`. They clean their texts, so that no document, file
name or server can control the terminal or hide text on it.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from graphwright.errors import DataError, GraphwrightError, cause_of, explained

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from graphwright.models import Usage

_UNWRAPPED = 100_000  # columns
_SEQUENCE = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours and cursor moves; the text of other escape sequences remains
_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # all except tab and line end
_DIRECTIONS = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks, embeddings, overrides and isolates
_INVISIBLE = (  # characters without width: fillers, separators, annotations, tags, and selectors of rare variants
    r"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    r"\ufff0-\ufffb\U000e0000-\U000e0fff"
)
_JOINERS, _VARIANTS = r"\u200c\u200d", r"\ufe00-\ufe0f"
# Scripts and emoji need a joiner or a selector after a visible character; elsewhere, and in runs, they can hide text.
_NO_BASE = rf"\x00-\x9f{_DIRECTIONS}{_INVISIBLE}{_JOINERS}"
_STRAY = rf"(?<![^{_NO_BASE}])[{_JOINERS}]|(?<![^{_NO_BASE}{_VARIANTS}])[{_VARIANTS}]"
_UNSAFE = re.compile(rf"{_SEQUENCE}|[{_CONTROLS}{_DIRECTIONS}{_INVISIBLE}]|{_STRAY}")
_UNSAFE_IN_JSON = re.compile(rf"[\x7f-\x9f{_DIRECTIONS}{_INVISIBLE}{_JOINERS}{_VARIANTS}]")


def clean(text: str) -> str:
    """Remove characters that control a terminal or hide text on it.

    These are escape sequences, control characters except tab and line end, characters that change the direction of
    text, and invisible characters. Joiners and variation selectors remain where scripts and emoji need them.

    >>> clean("\x1b[31mred\x1b[0m\x07 \u202egpj.exe"), clean("pass\u200bword"), clean("می\u200cخواهم")
    ('red gpj.exe', 'password', 'می\u200cخواهم')
    """
    return _UNSAFE.sub("", text)


def shortened(text: str, width: int) -> str:
    """Return a clean text on one line of at most `width` characters, cut between words if possible.

    >>> shortened("Graz lies\\n on the Mur", 40), shortened("Graz lies on the Mur", 12), shortened("m.0abcdefgh", 6)
    ('Graz lies on the Mur', 'Graz lies …', 'm.0a …')
    """
    line = " ".join(clean(text).split())
    if len(line) <= width:
        return line
    return f"{line[: width - 1].rpartition(' ')[0] or line[: width - 2]} …"


def tokens_and_cost(usage: Usage) -> str:
    """Return the tokens and the cost of LLM calls as text; empty if there were none."""
    tokens = usage.prompt_tokens + usage.completion_tokens
    if not tokens:
        return ""
    return f"{tokens:,} tokens" + (f", cost {usage.cost:.4g}" if usage.cost else "")


def say(text: str, *, end: str = "\n") -> None:
    """Print a text to stdout."""
    _print(clean(text), end)


def note(text: str, *, end: str = "\n") -> None:
    """Print a message to stderr; ignore errors, such as a full disk."""
    with suppress(OSError):
        print(clean(text), end=end, file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """Print a value to stdout as one line of JSON, with an escape for each character that `clean` may remove."""
    text = json.dumps(value, ensure_ascii=False)
    _print(_UNSAFE_IN_JSON.sub(lambda match: json.dumps(match[0])[1:-1], text), "\n")


def _print(text: str, end: str) -> None:
    with _writing():
        print(text, end=end)


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        fault = f"The output cannot be written: {error.strerror}. Free some space, or write it elsewhere."
        raise DataError(fault) from error


def report(error: Exception, *, as_json: bool) -> None:
    """Print an error as one message on stderr, with `as_json` to stdout too. With GRAPHWRIGHT_TRACEBACK raise a bug."""
    from sqlite3 import Error as SQLiteError

    message = explained(error, "") if cause_of(error) else str(error)
    if not isinstance(error, GraphwrightError | OSError | SQLiteError):
        if os.environ.get("GRAPHWRIGHT_TRACEBACK"):
            raise error
        fault = (
            f"{type(error).__name__}: {error}. This is a bug in graphwright, or a damaged index (graphwright verify)"
        )
        error = GraphwrightError(message := f"{fault}; GRAPHWRIGHT_TRACEBACK=1 shows the traceback.")
    with suppress(DataError, OSError):  # then only stderr has the message
        if as_json and sys.stdout is not None:
            print_json({"error": type(error).__name__, "message": message})
            flush_output()
    note(f"graphwright: {message}")


def check_output() -> None:
    """Raise DataError if stdout is closed; replace a closed stderr.

    Without stderr, `print` would write errors to stdout. A file opened later would get the descriptor of the closed
    stream, and with it the output of libraries.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (as long as the process)
    if sys.stdout is None:
        raise DataError("The output cannot be written: stdout is closed. Redirect it to a file, or to /dev/null.")


def flush_output() -> None:
    """Flush stdout. Raises DataError if it cannot be written, BrokenPipeError for a closed pipe."""
    with _writing():
        sys.stdout.flush()


def discard_unwritable() -> None:
    """Discard unwritable buffers of stdout and stderr; otherwise Python would report an error at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # a full disk or broken pipe; a closed stream; no stream
            with suppress(OSError, ValueError, AttributeError):  # a stream without a descriptor
                descriptor, devnull = stream.fileno(), os.open(os.devnull, os.O_WRONLY)
                os.dup2(devnull, descriptor)
                os.close(devnull)


def console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """Return a console that cleans its texts, ignores markup in them, and wraps lines only on a terminal."""
    output: Console = _console_class()(stderr=stderr, quiet=quiet, highlight=False, markup=False)
    if not output.is_terminal:
        output.width = _UNWRAPPED
    return output


@cache
def _console_class() -> Any:
    """Return the class of consoles; import `rich` only when it is used."""
    from rich.console import Console
    from rich.segment import Segment

    class CleanConsole(Console):
        def render(self, *arguments: Any, **options: Any) -> Iterable[Segment]:
            for segment in super().render(*arguments, **options):
                # Segments marked as control are the console's own sequences. Styles become sequences later.
                yield segment if segment.control else Segment(clean(segment.text), segment.style)

    return CleanConsole


def plain_table(title: str = "", *columns: str, expand: bool = False) -> Table:
    """Return an empty table without a frame. `columns`: headings of columns whose texts are folded."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    heading = Text(title, "bold") if title else None
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=heading, title_justify="left", expand=expand)
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


Show = Callable[[str, int, int], None]
_SECONDS = 10.0  # between two lines
_WINDOW = 30.0  # seconds that the rate is taken of
_READ, _PUBLISH = "read files (kB)", "publish what was read"
_COSTS = {"encode passages": 40.0, "encode names": 1.0, "encode triples": 12.0}  # of a text, to one another
_AFTER_READING = 0.6  # time of all further steps, as a share of that of reading


def progress_text(work: str, done: int, total: int, speed: float | None = None, later: float | None = None) -> str:
    """Return the progress of some work as text; with its speed, done per second, also the remaining time.

    `later`: what all steps after this one take, in amounts of this work, if known.

    >>> progress_text("encode passages", 1200, 4800, 20)
    'encode passages: 1,200 of 4,800, 20/s, 0:03:00 left of this step'
    >>> progress_text(_READ, 1200, 4800, 20, 1200)
    'read files (kB): 1,200 of 4,800, 20/s, 0:04:00 left'
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
    left = f"{_clock((total - done + (later or 0)) / speed)} left{'' if later is not None else ' of this step'}"
    return f"{text}, {left}" if total > done else text


def _clock(seconds: float) -> str:
    """Return a duration as text, such as 0:01:05."""
    return str(timedelta(seconds=round(max(seconds, 1))))


@contextmanager
def progress(usage: Usage | None = None, interval: float = _SECONDS, whole: bool = False) -> Iterator[Show]:
    """Yield a callback (work, done, total) that shows progress on stderr, with the tokens and cost of `usage`.

    `interval`: seconds between two lines where stderr is no terminal. `whole`: whether nothing but the encoding of
    texts follows the reading of files, so that the time that all of it takes is known.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn

    def text(name: str, style: str = "none") -> TextColumn:
        return TextColumn(f"{{task.{name}}}", style=style, markup=False)

    def cost() -> str:
        return "" if usage is None else tokens_and_cost(usage)

    output, tasks, latest, published = console(stderr=True), dict[str, Task](), "working", 0.0
    bar = (text("description"), BarColumn(), MofNCompleteColumn(), text("fields[rate]"))
    columns = (*bar, text("fields[cost]", "cyan"))
    silent = not output.is_terminal
    bars = Progress(*columns, console=output, transient=True, disable=silent, speed_estimate_period=_WINDOW)

    def show(work: str, done: int, total: int) -> None:
        nonlocal latest, published
        if work == _PUBLISH:
            published = tasks[_READ].completed if _READ in tasks else 0.0
        if work not in tasks:
            added = bars.add_task(work, total=None, rate="", cost="")
            tasks[work] = next(task for task in bars.tasks if task.id == added)
        task = tasks[work]
        if done < task.completed:  # it began again, such as with the next documents
            bars.reset(task.id)
        bars.update(task.id, completed=done, total=total if total > done else None, cost=cost())
        further = [t for t in bars.tasks if t.total and t.description in _COSTS and t is not task]
        later = sum(_COSTS[t.description] * (t.remaining or 0.0) for t in further) / _COSTS.get(work, 1)
        later = (total - published) * _AFTER_READING if work == _READ else later
        latest = progress_text(work, done, total, task.speed, later if whole and work in (_READ, *_COSTS) else None)
        bars.update(task.id, rate=latest.partition(", ")[2])

    with _lines(lambda: filter(None, (latest, cost())), interval) if silent else bars:
        yield show


@contextmanager
def _lines(parts: Callable[[], Iterable[str]], interval: float) -> Iterator[None]:
    """Print a line to stderr every `interval` seconds, with the elapsed time, even if the work reports nothing."""
    from graphwright.engines import repeated  # imported only when it is used

    start = time.monotonic()

    def line() -> None:
        state, *cost = parts()
        note(", ".join([state, f"{_clock(time.monotonic() - start)} so far", *cost]))

    with repeated(line, interval):
        yield
