"""What the doctor command does: look at all that an answer depends on, and say what to do where it fails."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphwright.cli.checks import Check, Health, index_folder, language_model, machine
from graphwright.errors import OptionError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["doctor"]


def doctor(
    index: Annotated[Path | None, typer.Option("--index", help="Look at this index folder, too.")] = None,
    llm: Annotated[str | None, typer.Option("--llm", help="Ask this language model, not the index's.")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Its OpenAI-compatible server.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Look whether everything works: packages, encoder, disk, an index, a language model; exit code 1 if not."""
    from rich.console import Console
    from rich.text import Text

    from graphwright.models.settings import LLMSettings

    if base_url is not None and llm is None:
        raise OptionError(f"--base-url {base_url} came without a model; name it: --llm MODEL")
    if llm is not None:
        LLMSettings(llm, base_url)  # wrong usage is said before anything runs
    groups = {
        "This machine": machine(index or Path.cwd()),
        "Index": iter(()) if index is None else index_folder(index),
        "Language model": language_model(index, llm, base_url),
    }
    found: list[Check] = []
    console = Console(highlight=False)
    for title, checks in groups.items():
        for at, check in enumerate(checks):
            if not as_json:
                if at == 0:
                    console.print(Text(title if not found else f"\n{title}", "bold"))
                _show(console, check)
            found.append(check)
    broken = [check.name for check in found if check.state is Health.BROKEN]
    if as_json:
        print(json.dumps({"well": not broken, "checks": [asdict(check) for check in found]}, ensure_ascii=False))
    else:
        said = f"Broken: {', '.join(broken)}." if broken else "All is well."
        console.print(Text(f"\n{said}", "bold red" if broken else "bold green"))
    if broken:
        raise typer.Exit(1)


def _show(console: Console, check: Check) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    fine, plain, colour = {
        Health.WELL: ("✓", "ok", "green"),
        Health.NOTE: ("–", "--", "yellow"),
        Health.BROKEN: ("✗", "XX", "red"),
    }[check.state]
    grid = Table.grid(padding=(0, 2, 0, 0))
    for width in (2, 8, None):
        grid.add_column(width=width, overflow="fold")
    mark = fine if console.encoding.lower().startswith("utf") else plain
    grid.add_row(Text(mark, f"bold {colour}"), check.name, Text(check.found))
    if check.remedy:
        grid.add_row("", "", Text(check.remedy, colour))
    console.print(Padding(grid, (0, 0, 0, 2), expand=False))
