"""The prompts of language models: list them, print them, and copy them to files that replace them in an index."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from graphwright.cli.options import AsJson, open_index
from graphwright.cli.terminal import print_json, say
from graphwright.errors import OptionError, counted


def prompts(
    names: Annotated[
        list[str] | None, typer.Argument(help="Prompts whose text is printed or copied (default: list all).")
    ] = None,
    copy: Annotated[Path | None, "Folder to copy them to, such as INDEX/prompts, whose files replace prompts."] = None,
    index: Annotated[Path | None, "Index folder, to show its own prompts."] = None,
    as_json: AsJson = False,
) -> None:
    """List the prompts of language models, or copy them."""
    from graphwright.prompts.templates import packaged, prompts_of_index

    if copy is not None and index is not None:
        raise OptionError(f"--copy writes the original prompts into a folder; leave out --index {index}.")
    purposes, own = prompts_of_index(), dict[str, str]()
    for name in names or ():
        if name not in purposes:
            packaged(name)  # raises OptionError for an unknown name
            raise OptionError(f"{name} is a prompt of evaluation or training, which no index replaces.")
    if copy is not None:
        _copy(copy, names or purposes)
        return
    if index is not None:
        with open_index(index) as opened:
            own = dict(opened.prompts.replaced)
    texts = {name: own.get(name) or packaged(name) for name in names or purposes}
    if as_json:
        facts = ((name, {"purpose": purposes[name], "replaced": name in own, "text": texts[name]}) for name in texts)
        print_json([{"name": name, **fact} for name, fact in facts])
        return
    for name, text in texts.items():
        say(text.rstrip("\n") if names else f"{name:<24}{purposes[name]}{' Replaced.' * (name in own)}")


def _copy(folder: Path, names: Iterable[str]) -> None:
    """Write prompts into a folder, all or none. Raises OptionError for a file that exists."""
    from graphwright.prompts.templates import packaged

    files = {folder / f"{name}.txt": packaged(name) for name in names}
    if existing := [file for file in files if file.exists()]:
        raise OptionError(f"{existing[0]} exists; nothing was written. Delete it, or name other prompts.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OptionError(f"{folder} cannot be written ({error}). Name another folder.") from error
    say(f"{folder}: {counted(len(files), 'prompt')}")
