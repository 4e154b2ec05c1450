"""What the commands documents and show do: the documents of an index by id, and the text that citations count in."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from graphwright.cli.printable import counted, printable
from graphwright.errors import OptionError

__all__ = ["documents", "show"]

_SPAN = re.compile(r"(\d+)-(\d+)")


def documents(
    index: Annotated[Path, typer.Option("--index", help="The index folder.")],
    holding: Annotated[str | None, typer.Argument(help="Only those with this in their id or title.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the documents of an index: id, title, characters, chunks."""
    from graphwright.cli.show import opened

    with opened(index) as source:
        wanted = (holding or "").casefold()
        listed = [one for one in source.listed() if wanted in f"{one.id}\n{one.title}".casefold()]
    if as_json:
        print(json.dumps([one._asdict() for one in listed], indent=1, ensure_ascii=False))
        return
    for one in listed:
        title = f"  {one.title}" if one.title else ""
        size = f"{counted(one.characters, 'character')}, {counted(one.chunks, 'chunk')}"
        print(printable(f"{one.id}{title}  ({size})"))


def show(
    document: Annotated[str, typer.Argument(help="The id of a document.")],
    index: Annotated[Path, typer.Option("--index", help="The index folder.")],
    characters: Annotated[
        str | None, typer.Option(help="Only these, as a citation has them: --characters 39-88")
    ] = None,
) -> None:
    """Print the text of a document as it was read, in whose characters citations count."""
    from graphwright.cli.show import opened

    span = None if characters is None else _SPAN.fullmatch(characters.strip())
    if characters is not None and (span is None or int(span[1]) >= int(span[2])):
        raise OptionError(f"--characters is {characters!r}; give where they begin and end, as in --characters 39-88")
    with opened(index) as source:
        text = source.text(document)
    print(printable(text if span is None else text[int(span[1]) : int(span[2])]))
