"""The edit commands: change the graph of an index by hand; list, undo, export and import edits; suggest duplicates."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from graphwright import store
from graphwright.cli.options import STDOUT, AsJson, Commands, IndexFolder, open_index, user_name
from graphwright.cli.terminal import console, note, plain_table, print_json, progress, say
from graphwright.errors import DataError, OptionError, counted

edit = Commands(
    help="Change the graph by hand: entities and statements.\n\nEdits are kept beside the documents and hold for later "
    "ones too. 'edit list' lists them, 'edit undo' removes them."
)
Name = Annotated[str, typer.Argument(help="Name of an entity.")]
Statement = Annotated[
    list[str], typer.Argument(metavar="NAME [RELATION TAIL]", help="An entity, or the three parts of a statement.")
]


@dataclass(frozen=True)
class AuthorOptions:
    """Who makes an edit, and why."""

    who: Annotated[str | None, "Author of the edit (default: your user name)."] = None
    why: Annotated[str, "Reason for the edit."] = ""


@edit.command()
def merge(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of entities.")],
    index: IndexFolder,
    to: Annotated[str, "The entity that they are; it keeps its name."],
    author: AuthorOptions,
) -> None:
    """Make one entity of several.

    For example: graphwright edit merge Gratz --to Graz
    """
    _edit(index, store.MergeEntities(tuple(names), to), author)


@edit.command()
def rename(
    name: Name, to: Annotated[str, typer.Argument(help="New name.")], index: IndexFolder, author: AuthorOptions
) -> None:
    """Give an entity another name; it is found by the old one, too."""
    _edit(index, store.RenameEntity(name, to), author)


@edit.command()
def retype(
    name: Name,
    type: Annotated[str, typer.Argument(help="Type, such as city; '' for none.")],
    index: IndexFolder,
    author: AuthorOptions,
) -> None:
    """Correct the type of an entity."""
    _edit(index, store.RetypeEntity(name, type), author)


@edit.command()
def split(
    name: Name,
    to: Annotated[str, typer.Argument(help="Name of the other entity, a new one or one that exists.")],
    index: IndexFolder,
    document: Annotated[list[str], "Id of a document in which the name means the other entity. Repeatable."],
    author: AuthorOptions,
) -> None:
    """Make two entities of one.

    In some documents its name means another, a new one or one that exists.
    """
    _edit(index, store.SplitEntity(name, tuple(document), to), author)


@edit.command()
def delete(parts: Statement, index: IndexFolder, author: AuthorOptions) -> None:
    """Delete an entity or a statement.

    For example: graphwright edit delete Graz "lies on" Drau
    """
    _edit(index, store.DeleteEntity(*parts) if _is_entity(parts) else store.DeleteStatement(*parts), author)


@edit.command()
def add(
    parts: Statement,
    index: IndexFolder,
    author: AuthorOptions,
    type: Annotated[str, "Type of the entity."] = "",
    text: Annotated[str, "Description of the entity, or the sentence that states the statement."] = "",
) -> None:
    """Add an entity or a statement.

    For example: graphwright edit add Graz "lies on" Mur
    """
    if not _is_entity(parts) and type:
        raise OptionError(f"--type {type} is for an entity; leave it out for a statement.")
    head, *rest = parts
    added = store.AddStatement(head, rest[0], rest[1], text) if rest else store.AddEntity(head, type, text)
    _edit(index, added, author)


@edit.command()
def apart(
    first: Name,
    second: Annotated[str, typer.Argument(help="Name of another entity.")],
    index: IndexFolder,
    author: AuthorOptions,
) -> None:
    """Keep two entities apart: refuse a suggestion of 'edit suggest'."""
    _edit(index, store.KeepApart(first, second), author)


@edit.command("list")
def list_(index: IndexFolder, as_json: AsJson = False) -> None:
    """List the edits in the order in which they are applied."""
    edits = _edits(index)
    if as_json:
        print_json([each.shown() for each in edits])
        return
    table = plain_table("", "id", "time", "who", "edit", "why")
    for each in edits:
        table.add_row(each.id, each.time[:10], each.who, each.change.words, each.why)
    if edits:
        console().print(table)
    else:
        note(f"{index} has no edits.")
    _note_idle(edits)


@edit.command()
def undo(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of edits, see 'graphwright edit list'.")],
    index: IndexFolder,
) -> None:
    """Undo edits: the graph is as if they were never made."""
    with open_index(index) as opened, progress() as show:
        opened.undo(*ids, progress=show)
    say(f"undid {counted(len(set(ids)), 'edit')}")


@edit.command()
def suggest(
    index: IndexFolder,
    limit: Annotated[int, typer.Option(min=1, help="Number of pairs.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Suggest duplicates: pairs of entities that may be one.

    Accept one with 'edit merge', refuse it with 'edit apart'.
    """
    with open_index(index) as opened:
        pairs = opened.suggest_duplicates(limit)
    if as_json:
        print_json([pair._asdict() for pair in pairs])
        return
    for pair in pairs:
        say(f"{pair.score:.2f}  {pair.first} = {pair.second}?  {'; '.join(pair.reasons)}")
    if not pairs:
        note(f"{index} has no two entities that look like one.")


@edit.command()
def export(
    index: IndexFolder,
    to: Annotated[Path, "File to write; - for stdout."],
    force: Annotated[bool, "Replace an existing file."] = False,
) -> None:
    """Write the edits as JSON, one a line, to be imported elsewhere."""
    from graphwright.files import write_text

    if to != STDOUT and to.exists() and not force:
        raise OptionError(f"{to} exists already; nothing was written. Give --force to replace it, or another name.")
    edits = _edits(index)
    if to == STDOUT:
        for each in edits:
            print_json(each.to_dict())
    else:
        write_text(to, "".join(f"{json.dumps(each.to_dict())}\n" for each in edits))
    note(f"wrote {counted(len(edits), 'edit')} to {'stdout' if to == STDOUT else to}")


@edit.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="File that 'edit export' wrote; - for stdin.")], index: IndexFolder
) -> None:
    """Apply the edits of another index, with their authors and times.

    Those that the index has already are left as they are.
    """
    edits = _read(file)
    with open_index(index) as opened, progress() as show:
        before = {each.id for each in opened.edits()}
        applied = opened.edit(*edits, strict=False, progress=show)
    _note_idle(applied)
    say(f"imported {counted(len({each.id for each in applied} - before), 'edit')}")


def _is_entity(parts: Sequence[str]) -> bool:
    if len(parts) not in (1, 3):
        raise OptionError(f"give a name, or head, relation and tail of a statement, not {len(parts)} arguments.")
    return len(parts) == 1


def _edit(index: Path, change: store.Change, author: AuthorOptions) -> None:
    who = user_name() if author.who is None else author.who
    with open_index(index) as opened, progress() as show:
        (made,) = opened.edit(change, who=who, why=author.why, progress=show)
    say(f"{made.id}  {change.words}")


def _edits(index: Path) -> list[store.Edit]:
    with open_index(index) as opened:
        return opened.edits()


def _note_idle(edits: Sequence[store.Edit]) -> None:
    for each in edits:
        if each.idle:
            note(f"note: {each.id} ({each.change.words}) changes nothing, or not all, now: {each.idle}")


def _read(file: Path) -> list[store.Edit]:
    """Return the edits of a file of JSON lines. Raises DataError for one that is none."""
    if file != STDOUT and not file.is_file():
        raise DataError(f"{file} is no file; nothing was imported. 'graphwright edit export' writes one.")
    content, edits = sys.stdin.buffer.read() if file == STDOUT else file.read_bytes(), list[store.Edit]()
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            edits += [store.Edit.of_dict(json.loads(line))] if line.strip() else []
        except ValueError as error:  # of JSON or UTF-8, or an OptionError
            raise DataError(f"{file}, line {number}: {error} Nothing was imported.") from error
    return edits
