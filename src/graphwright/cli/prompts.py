"""The prompts of language models: list them, print them, and copy them to files that replace them in an index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from graphwright.cli.asking import open_index
from graphwright.cli.terminal import print_json, say
from graphwright.errors import OptionError, counted
from graphwright.prompts.templates import packaged, prompts_of_index


def show_prompts(names: Sequence[str], index: Path | None, *, as_json: bool) -> None:
    """Print what each prompt is for, or the texts of some; `index`: as its folder replaces them."""
    purposes, own = prompts_of_index(), dict[str, str]()
    _check(names)
    if index is not None:
        with open_index(index) as opened:
            own = dict(opened.prompts.replaced)
    if as_json:
        chosen = names or purposes
        rows = [{"name": name, "purpose": purposes[name], "replaced": name in own} for name in chosen]
        texts = [{"text": own.get(name) or packaged(name)} for name in chosen]
        print_json([row | text for row, text in zip(rows, texts, strict=True)])
        return
    for name in names:
        say(own.get(name) or packaged(name).rstrip("\n"))
    for name, purpose in {} if names else purposes.items():
        say(f"{name:<24}{purpose}{' Replaced.' * (name in own)}")


def copy_prompts(folder: Path, names: Sequence[str]) -> None:
    """Write prompts, by default all, into a folder, all or none. Raises OptionError for a file that exists."""
    _check(names)
    files = {folder / f"{name}.txt": packaged(name) for name in names or prompts_of_index()}
    if existing := [file for file in files if file.exists()]:
        raise OptionError(f"{existing[0]} exists; nothing was written. Delete it, or name other prompts.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OptionError(f"{folder} cannot be written ({error}). Name another folder.") from error
    say(f"{folder}: {counted(len(files), 'prompt')}")


def _check(names: Sequence[str]) -> None:
    for name in names:
        if name not in prompts_of_index():
            packaged(name)  # raises OptionError for an unknown name
            raise OptionError(f"{name} is a prompt of evaluation or training, which no index replaces.")
