"""The command line: `graphwright --help`.

Data goes to stdout, progress and messages to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphwright import __version__
from graphwright.cli.doctor import doctor
from graphwright.cli.documents import documents, show
from graphwright.cli.evaluate import evaluate
from graphwright.cli.export import export
from graphwright.cli.model import BaseUrl, MaxCost, MaxTokens, Model, Offline, PerMillion, client, settings_for
from graphwright.cli.printable import counted
from graphwright.cli.training import train
from graphwright.errors import GraphwrightError, OptionError

if TYPE_CHECKING:
    from graphwright.index.filter import Filter

__all__ = ["app", "main"]

_INTERRUPTED = 130  # the exit code of a command that Ctrl-C ended

app = typer.Typer(
    name="graphwright",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)


def _version(asked: bool) -> None:
    if asked:
        print(f"graphwright {__version__}")
        raise typer.Exit


@app.callback()
def graphwright(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Answers from your own documents, with evidence that you can check. Offline, without a key."""


Folder = Annotated[Path, typer.Option("--index", help="The index folder.")]
MethodName = Annotated[
    str | None,
    typer.Option(
        "--method", "-m", help="How to retrieve; 'graphwright methods' lists them. ppr, or over an imported graph rog."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Entity = Annotated[
    list[str] | None,
    typer.Option("--entity", help="What the question is about, by its name in the graph, not looked for in its words."),
]
Retriever = Annotated[
    Path | None,
    typer.Option("--retriever", help="A trained retriever, for --method reg; 'graphwright train' makes one."),
]
Explain = Annotated[bool, typer.Option("--explain", help="Show what each step found and what it cost.")]
Document = Annotated[list[str] | None, typer.Option("--document", help="Search this document; may be repeated.")]
Under = Annotated[str | None, typer.Option("--folder", help="Search documents whose id lies in this folder.")]
Where = Annotated[
    list[str] | None, typer.Option("--where", help="Search documents with this metadata, NAME=VALUE; may be repeated.")
]
Encoder = Annotated[
    str | None, typer.Option(help="minilm (embedded), sbert:NAME or endpoint:MODEL@URL; for a new index.")
]
ChunkTokens = Annotated[
    int | None, typer.Option(min=16, help="Tokens of a chunk at most, 200 if not given; for a new index.")
]
Overlap = Annotated[
    int | None, typer.Option(min=0, help="Tokens that neighbouring chunks share, 40 if not given; for a new index.")
]
SecondLook = Annotated[bool, typer.Option("--second-look", help="Ask the model again for what it missed.")]
Top = Annotated[int, typer.Option("--passages", "-k", min=1, help="How many passages.")]


@app.command()
def index(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders of documents.")],
    into: Annotated[Path, typer.Option("--into", help="The index folder; made if it does not exist.")],
    embed: Annotated[
        str | None, typer.Option(help="What gets a vector, of passages, names and triples; passages for a new index.")
    ] = None,
    openie: Annotated[Path | None, typer.Option(help="Entities and triples extracted before (openie.jsonl).")] = None,
    encoder: Encoder = None,
    chunk_tokens: ChunkTokens = None,
    overlap: Overlap = None,
    llm: Model = None,
    base_url: BaseUrl = None,
    offline: Offline = False,
    second_look: SecondLook = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only say what reading with a language model would cost.")
    ] = False,
    prices: PerMillion = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    as_json: AsJson = False,
) -> None:
    """Read documents and add them to an index; what did not change costs nothing."""
    from graphwright.cli import indexing
    from graphwright.data.base import Skipped

    given = {
        "chunk_tokens": chunk_tokens,
        "overlap": overlap,
        "embed": None if embed is None else tuple(embed.split(",")),
    }
    settings = {name: value for name, value in given.items() if value is not None}
    if openie is not None and (llm or estimate):
        raise OptionError("--openie gives what was extracted before; leave --llm and --estimate out.")
    model = None if openie is not None else settings_for(into, llm, base_url, prices, offline=offline)
    found, skipped = indexing.existing(paths), list[Skipped]()
    if estimate:
        indexing.estimate_for(found, into, settings, model, second_look, as_json)
        return
    if openie is not None:
        known = indexing.precomputed(openie, skipped)
        done = indexing.add_to(into, settings, encoder, lambda: known, lambda ix, show: ix.add(found, show))
    else:
        reader = indexing.reader(model, into, second_look=second_look, max_tokens=max_tokens, max_cost=max_cost)
        done = indexing.add_to(into, settings, encoder, reader, lambda ix, show: ix.add(found, show))
    indexing.report(done, skipped, as_json)


@app.command("import")
def import_(
    files: Annotated[list[Path], typer.Argument(help="TSV, CSV, N-Triples, Parquet or GraphML; text also as .gz.")],
    into: Annotated[Path, typer.Option("--into", help="A new folder for the index.")],
    columns: Annotated[
        str | None, typer.Option(help="Head, relation and tail, by name or place: --columns 1,2,3")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="What parts of a line stand between; found if not given.")
    ] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line names the columns.")
    ] = None,
    names: Annotated[
        list[Path] | None, typer.Option(help="A file of ids and the names they go by; may be repeated.")
    ] = None,
    malformed: Annotated[
        int | None,
        typer.Option(
            min=0, help="How many malformed rows may be left out; if not given 100, and one in ten of a file."
        ),
    ] = None,
    embed: Annotated[
        str | None,
        typer.Option(help="What gets a vector: names, triples, passages, none; names of a graph up to 50,000 nodes."),
    ] = None,
    encoder: Encoder = None,
    as_json: AsJson = False,
) -> None:
    """Make an index of a knowledge graph; all of it or nothing, and larger than memory if need be."""
    from graphwright.cli.importing import import_graph

    parts = {"columns": None if columns is None else columns.split(","), "mark": delimiter, "header": header}
    wanted = None if embed is None else [name for name in embed.split(",") if name != "none"]
    import_graph(files, into, parts, names or [], malformed, wanted, encoder, as_json=as_json)


@app.command()
def sync(
    folder: Annotated[Path, typer.Argument(help="A folder of documents.")],
    into: Annotated[Path, typer.Option("--into", "--index", help="The index folder; made if it does not exist.")],
    encoder: Encoder = None,
    llm: Model = None,
    base_url: BaseUrl = None,
    offline: Offline = False,
    second_look: SecondLook = False,
    prices: PerMillion = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    as_json: AsJson = False,
) -> None:
    """Keep an index in step with a folder: add what is new, replace what changed, remove what is gone."""
    from graphwright.cli import indexing

    model = settings_for(into, llm, base_url, prices, offline=offline)
    reader = indexing.reader(model, into, second_look=second_look, max_tokens=max_tokens, max_cost=max_cost)
    indexing.existing([folder])
    done = indexing.add_to(into, {}, encoder, reader, lambda ix, show: ix.sync(folder, show))
    indexing.report(done, [], as_json)


@app.command()
def upgrade(
    index: Folder,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of documents; all if not given.")] = None,
    llm: Model = None,
    base_url: BaseUrl = None,
    offline: Annotated[bool, typer.Option("--offline", help="Read them again by the offline rules instead.")] = False,
    second_look: SecondLook = False,
    estimate: Annotated[bool, typer.Option("--estimate", help="Only say what it would cost.")] = False,
    prices: PerMillion = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    as_json: AsJson = False,
) -> None:
    """Read documents that are in an index again with a language model; what they said is kept, so no file is needed."""
    from graphwright.cli import indexing
    from graphwright.index_folder import Index

    model = settings_for(index, llm, base_url, prices, offline=offline)
    if model is None and not offline:
        raise OptionError("upgrade needs --llm MODEL, or a settings.toml that names one; or --offline, to go back.")
    reader = indexing.reader(
        model, index, second_look=second_look, max_tokens=max_tokens, max_cost=max_cost, sends=not estimate
    )
    opened = Index.open(index, extractor=reader())
    if estimate:
        indexing.show_estimate(opened.unlike(ids or None), model, second_look, as_json)
        return
    done = indexing.changed(opened, lambda ix, show: ix.upgrade(ids or None, show))
    indexing.report(done, [], as_json)
    if done.added.waiting and not done.added.deepened:
        raise SystemExit(1)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    index: Folder,
    method: MethodName = None,
    entity: Entity = None,
    passages: Top = 5,
    document: Document = None,
    folder: Under = None,
    where: Where = None,
    retriever: Retriever = None,
    llm: Model = None,
    base_url: BaseUrl = None,
    offline: Offline = False,
    prices: PerMillion = None,
    as_json: AsJson = False,
    explain: Explain = False,
) -> None:
    """Answer a question, with citations and the passages behind them."""
    from graphwright.cli.show import about, opened, show_answer

    model = settings_for(index, llm, base_url, prices, offline=offline)
    options = {**trained(retriever, method), **({} if model is None else {"llm": client(model, index)})}
    within = part_of(document, folder, where)
    ix = opened(index)
    asked = about(question, entity, ix)
    show_answer(ix, asked, method, passages, within, options, as_json=as_json, explain=explain)


@app.command()
def retrieve(
    question: Annotated[str, typer.Argument(help="The question.")],
    index: Folder,
    method: MethodName = None,
    entity: Entity = None,
    passages: Top = 10,
    document: Document = None,
    folder: Under = None,
    where: Where = None,
    retriever: Retriever = None,
    as_json: AsJson = False,
    explain: Explain = False,
) -> None:
    """Rank passages for a question, without answering it."""
    from graphwright.cli.show import about, opened, show_state
    from graphwright.methods.registry import METHODS

    if method is not None and method in METHODS and METHODS[method].required:
        raise OptionError(f"{method} is a language model alone and retrieves nothing; graphwright ask … --llm asks it.")
    ix = opened(index)
    within = part_of(document, folder, where)
    state = ix.retrieve(about(question, entity, ix), method, within=within, **trained(retriever, method))
    show_state(state, passages, as_json=as_json, explain=explain)


@app.command()
def remove(
    ids: Annotated[list[str], typer.Argument(help="Ids of documents.")],
    index: Folder,
) -> None:
    """Take documents out of an index; the graph is then the one built without them."""
    from graphwright.index_folder import Index

    print(f"removed {counted(len(Index.open(index).remove(ids).removed), 'document')}")


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
    from graphwright.index_folder import Index

    place = folder or index
    if place is None:
        raise OptionError("info needs an index folder: graphwright info --index DIR")
    show_info(Index.open(place).info(), as_json=as_json)


@app.command()
def verify(
    index: Folder,
    repair: Annotated[bool, typer.Option("--repair", help="Make the snapshot again from what is stored.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check that an index is sound: its store, and that its snapshot is what the store gives."""
    from graphwright.cli.show import show_problems
    from graphwright.index_folder import Index

    show_problems(Index.open(index).verify(repair=repair), index, as_json=as_json)


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Option(help="Where to leave the demo's index; a temporary folder if not given.")
    ] = None,
) -> None:
    """Index a small real corpus that ships with the package and ask it questions that take two steps."""
    from graphwright.cli.demo import run_demo

    run_demo(folder)


def trained(retriever: Path | None, method: str | None) -> dict[str, Path]:
    """Return the option that hands a trained retriever to a method."""
    if retriever is not None and method != "reg":
        raise OptionError(f"--retriever is for --method reg, and the method is {method or 'not given'}.")
    return {} if retriever is None else {"retriever": retriever}


def part_of(document: list[str] | None, folder: str | None, where: list[str] | None) -> Filter | None:
    """Return which documents are searched; None for all of them."""
    from graphwright.index.filter import Filter

    if document is None and folder is None and not where:
        return None
    wrong = [pair for pair in where or () if "=" not in pair]
    if wrong:
        raise OptionError(f"--where {wrong[0]!r} is not NAME=VALUE, as --where year=2024.")
    pairs = dict(pair.split("=", 1) for pair in where or ())
    if len(pairs) < len(where or ()):
        raise OptionError(
            f"--where names the same thing twice: {', '.join(where or ())}. A document has one value for it."
        )
    return Filter(document, folder, pairs)


app.command()(documents)
app.command()(show)
app.command()(evaluate)
app.add_typer(train, name="train")
app.command()(export)
app.command()(doctor)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: errors that graphwright raises on purpose become one message and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a letter shows its number; that is no reason to fail.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if arguments is None and sys.argv[1:2] in (["index"], ["import"], ["sync"], ["upgrade"]):
        _step_back()
    try:
        app(arguments, standalone_mode=True)
    except (GraphwrightError, OSError, sqlite3.Error) as error:
        _fail(error, arguments)
    except SystemExit as end:
        if end.code == _INTERRUPTED:
            print("graphwright: stopped. What was kept stays: the same command goes on from there.", file=sys.stderr)
        raise
    except Exception as error:
        # Nobody should meet this. The traceback is for whoever mends it, where it is asked for.
        if os.environ.get("GRAPHWRIGHT_TRACEBACK"):
            raise
        said = (
            f"{type(error).__name__}: {error}. This is a fault in graphwright, or a damaged index (graphwright verify)"
        )
        _fail(GraphwrightError(f"{said}; GRAPHWRIGHT_TRACEBACK=1 shows where."), arguments)


def _step_back() -> None:
    """Let whoever asks an index go before who indexes, where the system knows priorities."""
    with suppress(AttributeError, OSError):
        os.nice(10)


def _fail(error: Exception, arguments: list[str] | None) -> None:
    given = sys.argv[1:] if arguments is None else arguments
    if "--json" in given:
        print(json.dumps({"error": type(error).__name__, "message": str(error)}))
    print(f"graphwright: {error}", file=sys.stderr)
    raise SystemExit(2 if isinstance(error, OptionError) else 1)
