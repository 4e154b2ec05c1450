"""What the commands do that change an index: read, estimate, store, report, with progress and a meter on stderr."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from graphwright.cli.model import client
from graphwright.cli.printable import counted, printable
from graphwright.data.base import Skipped
from graphwright.data.openie import read_openie
from graphwright.errors import DataError, OptionError
from graphwright.index.build import Progress as Report
from graphwright.index.build import Settings
from graphwright.index.lexical import LexicalExtractor
from graphwright.index.openie import Precomputed
from graphwright.index_folder import Added, Index
from graphwright.models.base import metered
from graphwright.models.protocols import Usage
from graphwright.models.named import encoder_named

if TYPE_CHECKING:
    from graphwright.index.contribution import Excerpt, Extractor
    from graphwright.models.settings import LLMSettings

__all__ = [
    "Done",
    "add_to",
    "changed",
    "estimate_for",
    "existing",
    "precomputed",
    "progress_bar",
    "reader",
    "report",
    "show_estimate",
]

_WAITING = 3  # chunks that are set aside are shown up to this number
_SHOWN = 10  # files that could not be read are listed up to this number
_COUNTS = ("added", "replaced", "unchanged", "removed", "kept", "skipped")


class _Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        """Return the rate, empty before there is one."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


class _Spent(ProgressColumn):
    """What the language model has taken so far."""

    def __init__(self, usage: Usage) -> None:
        super().__init__()
        self._usage = usage

    def render(self, task: Task) -> Text:
        """Return tokens and money, empty where there are none."""
        return Text(spent(self._usage), "cyan")


def spent(usage: Usage) -> str:
    """Say what a language model took, "" where none was asked."""
    tokens = usage.prompt_tokens + usage.completion_tokens
    if not tokens:
        return ""
    return f"{tokens:,} tokens" + (f", {usage.cost:.4g} spent" if usage.cost else "")


@contextmanager
def progress_bar(usage: Usage | None = None) -> Iterator[Report]:
    """Give a callback (what, done, of how many) that draws bars with rate, time left and cost on stderr."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        _Spent(usage or Usage()),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield show


@dataclass
class Done:
    """What a command did to an index, how long it took, and what models took."""

    index: Index
    added: Added
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)


def reader(
    settings: LLMSettings | None,
    folder: Path,
    *,
    second_look: bool,
    max_tokens: int | None,
    max_cost: float | None,
    sends: bool = True,
) -> Callable[[], Extractor]:
    """Return what gives the extractor, once the folder is there: what a language model answers is kept in it.

    One that sends nothing needs no key; it tells by its id what it would read.
    """
    if settings is None:
        if max_tokens is not None or max_cost is not None or second_look:
            raise OptionError("a budget and a second look are for a language model; give --llm MODEL.")
        return LexicalExtractor

    def make() -> Extractor:
        from graphwright.index.generative import GenerativeExtractor

        kept = client(settings, folder, max_tokens=max_tokens, max_cost=max_cost) if sends else None
        model = kept or settings.endpoint(api_key="none")
        return GenerativeExtractor(model, second_look=second_look or settings.second_look, threads=settings.concurrency)

    return make


def precomputed(openie: Path, skipped: list[Skipped]) -> Extractor:
    """Return the extractor that takes what an OpenIE file holds."""
    return Precomputed.of(read_openie(openie, skipped.append))


def add_to(
    into: Path,
    settings: Mapping[str, Any],
    encoder: str | None,
    reader: Callable[[], Extractor],
    work: Callable[[Index, Report], Added],
) -> Done:
    """Do some work on an index that is made if need be, with an encoder by name; one made for nothing is taken away.

    `reader` gives the extractor, and is called once the folder is there.
    """
    created, kept = not (into / "index.sqlite").exists(), set(into.iterdir()) if into.is_dir() else None
    if created:
        Index.create(into, encoder=encoder, settings=Settings(**settings)).close()
    else:
        _refuse_changes(into, encoder, settings)
    try:
        return changed(Index.open(into, extractor=reader()), work)
    except BaseException:
        if created and not Index.open(into).documents:
            _take_away(into, kept)
        raise


def _refuse_changes(into: Path, encoder: str | None, settings: Mapping[str, Any]) -> None:
    """Raise OptionError for what only a new index can be given."""
    index = Index.open(into)
    held = {**asdict(index.settings), "encoder": index.encoder}
    given = {**settings, **({} if encoder is None else {"encoder": encoder_named(encoder).id})}
    index.close()
    for name, value in given.items():
        if value != held[name]:
            raise OptionError(
                f"{into} was made with {name} {held[name]!r}, and {value!r} was asked for. Leave the option out, or "
                f"index into a new folder."
            )


def _take_away(into: Path, kept: set[Path] | None) -> None:
    """Delete an index that was made for nothing, but not what was in its folder before."""
    for part in into.iterdir():
        if part not in (kept or ()):
            shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink(missing_ok=True)
    if kept is None:
        into.rmdir()


def changed(index: Index, work: Callable[[Index, Report], Added]) -> Done:
    """Do some work on an index, with progress and a meter."""
    done = Done(index, Added())
    begun = time.perf_counter()
    with metered() as done.usage, progress_bar(done.usage) as show:
        done.added = work(index, show)
    done.seconds = time.perf_counter() - begun
    return done


def existing(paths: list[Path]) -> list[Path]:
    """Return the paths, all of which exist."""
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise DataError(f"{missing[0]} does not exist; nothing was indexed.")
    return paths


def estimate_for(
    paths: list[Path],
    into: Path,
    settings: Mapping[str, Any],
    llm: LLMSettings | None,
    second_look: bool,
    as_json: bool,
) -> None:
    """Say what reading the paths with a language model would cost; nothing is written and nothing is sent."""
    with tempfile.TemporaryDirectory() as scratch:
        there = (into / "index.sqlite").exists()
        index = Index.open(into) if there else Index.create(Path(scratch) / "index", settings=Settings(**settings))
        chunks = index.unseen(paths)
        index.close()
    show_estimate(chunks, llm, second_look, as_json)


def show_estimate(chunks: list[Excerpt], llm: LLMSettings | None, second_look: bool, as_json: bool) -> None:
    """Print what reading these chunks would cost."""
    from graphwright.index.estimate import estimate

    second_look = second_look or (llm is not None and llm.second_look)
    made = estimate(chunks, second_look=second_look, prices=None if llm is None else llm.prices)
    if as_json:
        print(json.dumps({name: getattr(made, name) for name in made.__slots__}))
        return
    print("\n".join(made.lines()))
    if llm is None:
        print(
            "These are the figures for a language model, which only --llm MODEL uses; offline costs nothing.",
            file=sys.stderr,
        )


def report(done: Done, skipped: list[Skipped], as_json: bool) -> None:
    """Say what was done, what was not and why."""
    added, held = done.added, done.index.info()
    added.skipped += skipped
    counts = {name: len(getattr(added, name)) for name in _COUNTS}
    if as_json:
        listed = [{"path": s.path, "reason": s.reason} for s in added.skipped]
        tokens = {name: getattr(done.usage, name) for name in ("prompt_tokens", "completion_tokens", "cost")}
        waiting = [{"document": d, "chunk": f"{d}#{at}", "reason": reason} for d, at, reason in added.waiting]
        stay = {"kept_documents": added.kept, "unread": added.unread, "resumed": added.resumed}
        more = {"skipped": listed, **stay, "unfit": dict(added.unfit), "deepened": added.deepened, "waiting": waiting}
        print(json.dumps({**counts, **more, **tokens, "seconds": done.seconds, "index": held}, ensure_ascii=False))
        return
    _notes(added, done.index.path)
    shown = [f"{count:,} {name}" for name, count in counts.items() if count or name == "added"]
    print(
        ", ".join(
            [
                *shown,
                *([f"{counted(added.deepened, 'chunk')} read by the model"] if added.deepened else []),
            ]
        )
    )
    if cost := spent(done.usage):
        print(f"the model took {cost}")
    print(
        f"{done.index.path}: {counted(held['documents'], 'document')}, {counted(held['chunks'], 'chunk')}, "
        f"{counted(held['nodes'], 'node')}, {counted(held['edges'], 'edge')} "
        f"({held['bytes'] / 1e6:,.1f} MB), in {done.seconds:.1f} s"
    )


def _few(names: list[str]) -> str:
    return printable(", ".join(names[:3])) + " …" * (len(names) > 3)


def _notes(added: Added, into: Path) -> None:
    """Say on stderr what the counts alone would not tell."""

    def note(text: str) -> None:
        print(text, file=sys.stderr)

    for one in added.skipped[:_SHOWN]:
        note(f"skipped {one.path}: {one.reason}")
    if len(added.skipped) > _SHOWN:
        note(f"… and {len(added.skipped) - _SHOWN} more; --json lists all")
    if added.kept:
        note(
            f"note: {counted(len(added.kept), 'document')} no longer found in the folder, but kept, since what could "
            f"not be read may hold such: {_few(added.kept)}. Mend {_few(added.unread)} and sync again, or take out "
            f"what is gone: graphwright remove {shlex.quote(printable(added.kept[0]))} "
            f"--index {shlex.quote(printable(str(into)))}"
        )
    if added.resumed:
        note("note: an interrupted run had stored what it read; that counts as unchanged, and can be searched now.")
    for reason, count in added.unfit.items():
        note(
            f"note: {reason} in {counted(count, 'document')}: names cannot be told by their capitals there, "
            f"so frequent terms take their place and the graph is weaker."
        )
    if added.waiting:
        note(
            f"note: {counted(len(added.waiting), 'chunk')} set aside. They can be asked as the offline rules read "
            f"them; the next run with a language model reads them alone. --json lists all:"
        )
        for document, at, reason in added.waiting[:_WAITING]:
            note(f"  {printable(document)}#{at}: {printable(textwrap.shorten(reason, 160, placeholder=' …'))}")
