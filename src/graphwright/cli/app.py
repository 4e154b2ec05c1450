"""The command line: `graphwright --help`.

Data goes to stdout, progress and messages to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from graphwright.cli.evaluate import evaluate
from graphwright.errors import GraphwrightError, OptionError

__all__ = ["app", "main"]

app = typer.Typer(
    name="graphwright",
    help="Answers from your own documents, with evidence that you can check. Offline, without a key.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)

Folder = Annotated[Path, typer.Option("--index", help="The index folder.")]
MethodName = Annotated[str, typer.Option("--method", "-m", help="How to retrieve; 'graphwright methods' lists them.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Explain = Annotated[bool, typer.Option("--explain", help="Show what each step found and what it cost.")]
Top = Annotated[int, typer.Option("--passages", "-k", min=1, help="How many passages.")]


@app.command()
def index(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders of documents.")],
    into: Annotated[Path, typer.Option("--into", help="The index folder; made if it does not exist.")],
    embed: Annotated[
        str, typer.Option(help="What gets a vector, of passages, names and triples; for a new index.")
    ] = "passages",
    openie: Annotated[Path | None, typer.Option(help="Entities and triples extracted before (openie.jsonl).")] = None,
    chunk_tokens: Annotated[int, typer.Option(min=16, help="Tokens of a chunk at most; for a new index.")] = 200,
    overlap: Annotated[int, typer.Option(min=0, help="Tokens that neighbouring chunks share; for a new index.")] = 40,
    as_json: AsJson = False,
) -> None:
    """Read documents and add them to an index; what did not change costs nothing."""
    from graphwright.cli.indexing import add_to, report

    settings = {"chunk_tokens": chunk_tokens, "overlap": overlap, "embed": tuple(embed.split(","))}
    report(*add_to(paths, into, settings, openie), as_json)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    index: Folder,
    method: MethodName = "ppr",
    passages: Top = 5,
    as_json: AsJson = False,
    explain: Explain = False,
) -> None:
    """Answer a question, with citations and the passages behind them."""
    from graphwright.cli.show import opened, show_state

    show_state(opened(index).ask(question, method), passages, as_json=as_json, explain=explain)


@app.command()
def retrieve(
    question: Annotated[str, typer.Argument(help="The question.")],
    index: Folder,
    method: MethodName = "ppr",
    passages: Top = 10,
    as_json: AsJson = False,
    explain: Explain = False,
) -> None:
    """Rank passages for a question, without answering it."""
    from graphwright.cli.show import opened, show_state

    show_state(opened(index).retrieve(question, method), passages, as_json=as_json, explain=explain)


@app.command()
def remove(
    ids: Annotated[list[str], typer.Argument(help="Ids of documents.")],
    index: Folder,
) -> None:
    """Take documents out of an index; the graph is then the one built without them."""
    from graphwright.folder import Index

    Index.open(index).remove(ids)
    print(f"removed {len(ids)} document{'s' * (len(ids) != 1)}")


@app.command()
def methods(
    index: Annotated[
        Path | None, typer.Option("--index", help="Show each method's expression over this index.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the methods: what each does, its arguments, and with --index the expression that it is."""
    from graphwright.cli.show import show_methods

    show_methods(index, as_json=as_json)


@app.command()
def info(
    folder: Annotated[Path | None, typer.Argument(help="The index folder.")] = None,
    index: Annotated[Path | None, typer.Option("--index", help="The index folder, said as elsewhere.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what an index holds."""
    from graphwright.cli.show import show_info
    from graphwright.folder import Index

    place = folder or index
    if place is None:
        raise OptionError("info needs an index folder: graphwright info --index DIR")
    show_info(Index.open(place).info(), as_json=as_json)


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Option(help="Where to leave the demo's index; a temporary folder if not given.")
    ] = None,
) -> None:
    """Index a small real corpus that ships with the package and ask it questions that take two steps."""
    from graphwright.cli.demo import run_demo

    run_demo(folder)


app.command()(evaluate)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: errors that graphwright raises on purpose become one message and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a letter shows its number; that is no reason to fail.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app(arguments, standalone_mode=True)
    except (GraphwrightError, OSError, sqlite3.Error) as error:
        _fail(error, arguments)


def _fail(error: Exception, arguments: list[str] | None) -> None:
    given = sys.argv[1:] if arguments is None else arguments
    if "--json" in given:
        print(json.dumps({"error": type(error).__name__, "message": str(error)}))
    print(f"graphwright: {error}", file=sys.stderr)
    raise SystemExit(2 if isinstance(error, OptionError) else 1)
