"""Terminal output: clean and shortened text, counts, JSON, tables and progress bars."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import TaskID
    from rich.table import Table

    from graphwright.models.protocols import Usage

__all__ = ["clean", "counted", "note", "plain_table", "print_json", "progress_bar", "shortened", "tokens_and_cost"]

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(text: str) -> str:
    """Return a text without control characters, so that a document or a model cannot control the terminal."""
    return _CONTROL.sub("", text)


def shortened(text: str, width: int) -> str:
    """Return a clean text on one line of at most `width` characters, cut between words where it has several.

    >>> shortened("Graz lies\\n on the Mur", 40), shortened("Graz lies on the Mur", 12), shortened("m.0abcdefgh", 6)
    ('Graz lies on the Mur', 'Graz lies …', 'm.0a …')
    """
    line = " ".join(clean(text).split())
    if len(line) <= width:
        return line
    return f"{line[: width - 1].rpartition(' ')[0] or line[: width - 2]} …"


def counted(count: int, noun: str) -> str:
    """Return a count and its noun, singular or plural.

    >>> counted(1, "document"), counted(1200, "chunk")
    ('1 document', '1,200 chunks')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def tokens_and_cost(usage: Usage) -> str:
    """Return the tokens and the cost of LLM calls as text; empty if there were none."""
    tokens = usage.prompt_tokens + usage.completion_tokens
    if not tokens:
        return ""
    return f"{tokens:,} tokens" + (f", cost {usage.cost:.4g}" if usage.cost else "")


def note(text: str) -> None:
    """Print a message to stderr."""
    print(clean(text), file=sys.stderr)


def print_json(value: Any) -> None:
    """Print a value to stdout as one line of JSON."""
    print(json.dumps(value, ensure_ascii=False))


def plain_table(title: str = "", *, expand: bool = False) -> Table:
    """Return an empty table without a frame."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    heading = Text(title, "bold") if title else None
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, title=heading, title_justify="left", expand=expand)


@contextmanager
def progress_bar(usage: Usage | None = None) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a callback (name of the work, done, total) that draws progress bars on stderr.

    `usage`: the meter whose tokens and cost are shown while they grow.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), "{task.fields[rate]}", TimeRemainingColumn())
    with Progress(*columns, "[cyan]{task.fields[cost]}", console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total, rate="", cost="")
            speed = next(task.speed for task in bars.tasks if task.id == tasks[name])
            rate = f"{speed:,.0f}/s" if speed else ""
            cost = "" if usage is None else tokens_and_cost(usage)
            bars.update(tasks[name], completed=done, total=total, rate=rate, cost=cost)

        yield show
