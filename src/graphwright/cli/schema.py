"""Commands about schemas: suggest one, show that of an index, and check a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import graphwright
from graphwright import extract
from graphwright.cli.indexing import check_paths
from graphwright.cli.options import AnswerModelOptions, Commands, IndexFolder, index_folder, open_index
from graphwright.cli.terminal import note, progress, say
from graphwright.errors import DataError, OptionError, counted

schema = Commands(help="Suggest, show and check the types that extraction finds.")


@schema.command()
def suggest(
    folder: Annotated[Path | None, typer.Argument(help="Files to read (default: what the index holds).")] = None,
    index: Annotated[Path | None, "Index folder, as in other commands."] = None,
    *,
    model: AnswerModelOptions,
) -> None:
    """Print a schema to edit: types, columns and relations that are frequent.

    With --llm, a language model writes it from a sample of passages.
    """
    from tempfile import TemporaryDirectory

    if folder is not None and index is not None:
        raise OptionError(f"{folder} and --index {index} are both named; leave one of them out.")
    with TemporaryDirectory() as scratch:
        if folder is not None:
            check_paths([folder])
            place = Path(scratch) / "index"
            with graphwright.Index.create(place) as opened, progress() as show:
                opened.add(folder, show)
        else:
            place = index or index_folder()
        with graphwright.Index.open(place) as opened:
            llm = model.settings(place)
            suggested = opened.suggest_schema(None if llm is None else model.client(llm, place))
    if not suggested:
        raise DataError("nothing is frequent enough for a type; write the schema by hand, or use --llm MODEL.")
    say(suggested.to_toml().rstrip())
    note(_counts(suggested))


@schema.command()
def show(index: IndexFolder) -> None:
    """Print the schema of an index."""
    with open_index(index) as opened:
        stored = opened.extraction_schema
    if not stored:
        raise DataError(f"{index} has no schema. Give it one: graphwright reextract --index {index} --schema FILE")
    say(stored.to_toml().rstrip())


@schema.command()
def check(file: Annotated[Path, typer.Argument(help="Schema in TOML, OWL or SHACL.")]) -> None:
    """Check a schema, and print it as TOML."""
    read = extract.Schema.read(file)
    say(read.to_toml().rstrip())
    note(_counts(read))


def _counts(types: extract.Schema) -> str:
    entities, relations = counted(len(types.entities), "entity type"), counted(len(types.relations), "relation type")
    return f"{entities}, {relations}"
