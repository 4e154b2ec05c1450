"""The command line: `graphwright --help`.

Data goes to stdout, progress and messages to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage. Commands import
their modules when they run, so that `--help` is fast.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from graphwright import __version__
from graphwright.cli.evaluate import evaluate
from graphwright.cli.options import (
    AnswerModelOptions,
    AsJson,
    BaseUrl,
    Encoder,
    Estimate,
    ExtractionOptions,
    IndexFolder,
    Into,
    Method,
    QueryOptions,
    expanded,
    names_in,
)
from graphwright.cli.training import train
from graphwright.errors import GraphwrightError, OptionError

__all__ = ["app", "main"]

_INTERRUPTED = 130  # exit code after Ctrl-C
_CHANGING = ("index", "import", "sync", "reextract")

app = typer.Typer(
    name="graphwright",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)


def _version(requested: bool) -> None:
    if requested:
        print(f"graphwright {__version__}")
        raise typer.Exit


@app.callback()
def graphwright(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Graph-based retrieval-augmented generation over your own documents.

    Answers have citations that can be checked. Works offline, without a key.
    """


@app.command()
@expanded
def index(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders of documents.")],
    into: Into,
    *,
    embed: Annotated[str | None, "Texts with vectors, in a new index: passages (default), names, triples."] = None,
    openie: Annotated[Path | None, "File of entities and triples (openie.jsonl), to use instead of extraction."] = None,
    encoder: Encoder = None,
    chunk_tokens: Annotated[
        int | None, typer.Option(min=16, help="Maximum tokens of a chunk, in a new index (default: 200).")
    ] = None,
    overlap: Annotated[
        int | None, typer.Option(min=0, help="Tokens that neighbouring chunks share, in a new index (default: 40).")
    ] = None,
    estimate: Estimate = False,
    as_json: AsJson = False,
    model: ExtractionOptions,
) -> None:
    """Add documents to an index.

    Only new and changed documents are read. With --llm, a language model extracts the entities and relations.
    """
    from graphwright.cli.indexing import add_documents

    options = {"chunk_tokens": chunk_tokens, "overlap": overlap, "embed": names_in(embed)}
    settings = {name: value for name, value in options.items() if value is not None}
    add_documents(paths, into, settings, encoder, model, openie, dry_run=estimate, as_json=as_json)


@app.command("import")
@expanded
def import_(
    files: Annotated[
        list[Path], typer.Argument(help="TSV, CSV, N-Triples, Parquet or GraphML; text files also as .gz.")
    ],
    into: Annotated[Path, "New folder for the index."],
    columns: Annotated[str | None, "Columns of head, relation and tail, by name or number, such as 1,2,3."] = None,
    delimiter: Annotated[str | None, "Field delimiter (default: detected)."] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="The first line names the columns (default: detected).")
    ] = None,
    names: Annotated[list[Path] | None, "File of ids and names of nodes and relations. Repeatable."] = None,
    max_malformed: Annotated[
        int | None,
        typer.Option(min=0, help="Maximum number of malformed rows (default: 100, and a tenth of a file)."),
    ] = None,
    embed: Annotated[str | None, "Texts with vectors: names (default up to 50,000), triples, passages, none."] = None,
    encoder: Encoder = None,
    as_json: AsJson = False,
) -> None:
    """Create an index from a knowledge graph.

    The files may be larger than memory. If the import fails, no index is left behind.
    """
    from graphwright.cli.indexing import import_graph

    spaces = names_in(embed)
    import_graph(
        files,
        into,
        file_options={"columns": columns and columns.split(","), "mark": delimiter, "header": header},
        names=names or [],
        max_malformed=max_malformed,
        embed=None if spaces is None else [name for name in spaces if name != "none"],
        encoder=encoder,
        as_json=as_json,
    )


@app.command()
@expanded
def sync(
    folder: Annotated[Path, typer.Argument(help="Folder of documents.")],
    into: Annotated[Path, typer.Option("--into", "--index", help="Index folder; created if it does not exist.")],
    *,
    encoder: Encoder = None,
    as_json: AsJson = False,
    model: ExtractionOptions,
) -> None:
    """Make an index match a folder of documents.

    New documents are added, changed ones replaced, missing ones removed.
    """
    from graphwright.cli.indexing import sync_folder

    sync_folder(folder, into, encoder, model, as_json=as_json)


@app.command()
@expanded
def reextract(
    index: IndexFolder,
    *,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of documents (default: all).")] = None,
    estimate: Estimate = False,
    as_json: AsJson = False,
    model: ExtractionOptions,
) -> None:
    """Extract entities and relations again, by another model.

    Use --llm, or --offline for the offline rules. The original files are not needed: the index stores their text.
    """
    from graphwright.cli.indexing import extract_again

    extract_again(index, ids or None, model, dry_run=estimate, as_json=as_json)


@app.command()
@expanded
def ask(
    question: Annotated[str, typer.Argument(help="Question.")],
    index: IndexFolder,
    query: QueryOptions,
    model: AnswerModelOptions,
) -> None:
    """Answer a question, with citations and passages."""
    from graphwright.cli import asking

    asking.ask(index, question, query, model)


@app.command()
@expanded
def retrieve(
    question: Annotated[str, typer.Argument(help="Question.")], index: IndexFolder, query: QueryOptions
) -> None:
    """Rank passages for a question, without an answer."""
    from graphwright.cli import asking

    asking.retrieve(index, question, query)


@app.command()
@expanded
def remove(ids: Annotated[list[str], typer.Argument(help="Ids of documents.")], index: IndexFolder) -> None:
    """Remove documents from an index."""
    from graphwright.cli.indexing import remove_documents

    remove_documents(index, ids)


@app.command()
@expanded
def methods(
    index: Annotated[Path | None, "Index folder, to show each method's expression over it."] = None,
    as_json: AsJson = False,
) -> None:
    """List the retrieval methods and their arguments."""
    from graphwright.cli.inspection import show_methods

    show_methods(index, as_json=as_json)


@app.command()
@expanded
def info(
    folder: Annotated[Path | None, typer.Argument(help="Index folder.")] = None,
    index: Annotated[Path | None, "Index folder, as in other commands."] = None,
    as_json: AsJson = False,
) -> None:
    """Print the contents, settings and size of an index."""
    from graphwright.cli.inspection import show_info

    path = folder or index
    if path is None:
        raise OptionError("info needs an index folder: graphwright info --index DIR")
    show_info(path, as_json=as_json)


@app.command()
@expanded
def verify(
    index: IndexFolder,
    repair: Annotated[bool, "Rebuild the snapshot from the stored documents."] = False,
    as_json: AsJson = False,
) -> None:
    """Check an index for damage."""
    from graphwright.cli.inspection import show_problems

    show_problems(index, repair=repair, as_json=as_json)


@app.command()
@expanded
def documents(
    index: IndexFolder,
    search: Annotated[
        str | None, typer.Argument(help="Text that the id or the title contains (default: all documents).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the documents of an index."""
    from graphwright.cli.inspection import show_documents

    show_documents(index, search, as_json=as_json)


@app.command()
@expanded
def show(
    document: Annotated[str, typer.Argument(help="Id of a document.")],
    index: IndexFolder,
    characters: Annotated[str | None, "Print only these characters, as in a citation: --characters 39-88"] = None,
) -> None:
    """Print the text of a document.

    Citations count characters in this text.
    """
    from graphwright.cli.inspection import show_text

    show_text(index, document, characters)


@app.command()
@expanded
def export(
    index: IndexFolder,
    to: Annotated[Path, "File to write; - for stdout."],
    form: Annotated[
        str | None, typer.Option("--format", help="graphml or json (default: by the name of the file).")
    ] = None,
    question: Annotated[
        str | None, typer.Option("--question", "-q", help="Write only the evidence for this question.")
    ] = None,
    method: Method = None,
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=1, help="Number of items of evidence.")] = 20,
    force: Annotated[bool, "Replace an existing file."] = False,
) -> None:
    """Write the graph as GraphML or node-link JSON."""
    from graphwright.cli.inspection import export_graph

    export_graph(index, to, form, question, method, top_k, force=force)


@app.command()
@expanded
def doctor(
    index: Annotated[Path | None, "Index folder to check."] = None,
    llm: Annotated[str | None, "Language model to check (default: the index's)."] = None,
    base_url: BaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Check the installation, an index and a language model.

    Exits with 1 if a check fails.
    """
    from graphwright.cli.doctor import run_doctor

    run_doctor(index, llm, base_url, as_json=as_json)


@app.command()
@expanded
def demo(
    folder: Annotated[Path | None, "Folder to keep the index in (default: temporary)."] = None,
) -> None:
    """Index a small corpus and ask it two questions."""
    from graphwright.cli.asking import run_demo

    run_demo(folder)


app.command()(evaluate)
app.add_typer(train, name="train")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: an error becomes one message on stderr and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A letter that the terminal cannot show is escaped instead of raising.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if arguments is None and sys.argv[1:2] in [[name] for name in _CHANGING]:
        with suppress(AttributeError, OSError):
            os.nice(10)  # questions go before indexing
    try:
        app(arguments, standalone_mode=True)
    except (GraphwrightError, OSError, sqlite3.Error) as error:
        _fail(error, arguments)
    except SystemExit as end:
        if end.code == _INTERRUPTED:
            print("graphwright: interrupted. Run the same command again to resume.", file=sys.stderr)
        raise
    except Exception as error:
        if os.environ.get("GRAPHWRIGHT_TRACEBACK"):
            raise
        fault = (
            f"{type(error).__name__}: {error}. This is a bug in graphwright, or a damaged index (graphwright verify)"
        )
        _fail(GraphwrightError(f"{fault}; GRAPHWRIGHT_TRACEBACK=1 shows the traceback."), arguments)


def _fail(error: Exception, arguments: list[str] | None) -> None:
    if "--json" in (sys.argv[1:] if arguments is None else arguments):
        print(json.dumps({"error": type(error).__name__, "message": str(error)}))
    print(f"graphwright: {error}", file=sys.stderr)
    raise SystemExit(2 if isinstance(error, OptionError) else 1)
