"""The command line: its entry point, and the commands that read an index.

Data goes to stdout, progress and messages to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage. Names of
the package load when a command first uses them, so that `--help` is fast.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import redirect_stderr
from functools import cache
from io import StringIO, TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command

import graphwright
from graphwright import __version__, graph
from graphwright.cli.doctor import doctor
from graphwright.cli.edits import edit
from graphwright.cli.experiments import evaluate, train
from graphwright.cli.feedback import feedback
from graphwright.cli.indexing import index, rebuild, reextract, remove, sync
from graphwright.cli.options import (
    STDOUT,
    AsJson,
    AskModelOptions,
    Commands,
    FilterOptions,
    IndexFolder,
    Method,
    QueryOptions,
    method_names,
    one_folder,
    open_index,
    take_plain_values,
)
from graphwright.cli.prompts import prompts
from graphwright.cli.questions import QuestionCommand
from graphwright.cli.schema import schema
from graphwright.cli.serve import keys, mcp, serve
from graphwright.cli.terminal import check_output, discard_unwritable, flush_output, note, print_json, report, say
from graphwright.cli.transfer import import_, pull, push, shard
from graphwright.cli.watching import watch
from graphwright.errors import OptionError, counted

IndexArgument = Annotated[Path | None, typer.Argument(help="Index folder.")]
IndexOption = Annotated[Path | None, "Index folder, as in other commands."]

_INTERRUPTED = 130  # exit code after Ctrl-C

app = Commands(name="graphwright", pretty_exceptions_enable=False)


def _version(requested: bool) -> None:
    if requested:
        say(f"graphwright {__version__}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Graph-based retrieval-augmented generation over your own documents.

    Answers have citations that can be checked. Works offline, without a key.
    """


for _command in (index, import_, sync, watch, reextract, rebuild):
    app.command(_command.__name__.rstrip("_"))(_command)


@app.command(cls=QuestionCommand)
def ask(
    question: Annotated[str, typer.Argument(help="Question.")],
    index: IndexFolder,
    query: QueryOptions,
    model: AskModelOptions,
) -> None:
    """Answer a question, with citations and passages."""
    from graphwright.cli import asking

    asking.ask(index, question, query, model)


@app.command()
def chat(index: IndexFolder, query: QueryOptions, model: AskModelOptions) -> None:
    """Answer questions and follow-ups, line by line.

    Lines come from the terminal or a pipe; the line /help lists commands.
    """
    from graphwright.cli.asking import Asking
    from graphwright.cli.chat import Chat

    Chat(Asking.of(index, query, model)).run()


@app.command(cls=QuestionCommand)
def retrieve(
    question: Annotated[str, typer.Argument(help="Question.")], index: IndexFolder, query: QueryOptions
) -> None:
    """Rank passages for a question, without an answer."""
    from graphwright.cli import asking

    asking.retrieve(index, question, query)


@app.command()
def query(
    index: IndexOption = None,
    *,
    filter: FilterOptions,
    text: Annotated[
        str | None,
        typer.Argument(
            help='Query, such as: count(tickets where status = "open") (default: list the types and relations).',
            metavar="QUERY",
        ),
    ] = None,
    endpoint: Annotated[
        str | None, typer.Argument(help="Address of the endpoint, with --sparql.", metavar="ENDPOINT")
    ] = None,
    cypher: Annotated[
        bool, "Run the query, in Cypher and read only, in the graph database that the index was imported from."
    ] = False,
    sparql: Annotated[
        bool, "Ask the query, in SPARQL and read only, of an endpoint: QUERY https://HOST/sparql."
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compute exact results over records and the graph."""
    from graphwright.cli.listing import show_cypher, show_query, show_schema, show_sparql

    if sparql:
        if text is None or endpoint is None or cypher or index is not None or filter != FilterOptions():
            raise OptionError("--sparql takes a query in SPARQL and the address of an endpoint, and nothing else.")
        show_sparql(endpoint, text, as_json=as_json)
        return
    if endpoint is not None:
        raise OptionError(f"{endpoint} is one argument too many. Put the query in quotes; an endpoint needs --sparql.")
    folder = one_folder(None, index)
    if cypher:
        if text is None or filter != FilterOptions():
            raise OptionError("--cypher takes a query in Cypher, and no filter.")
        show_cypher(folder, text, as_json=as_json)
    elif text is None:
        show_schema(folder, as_json=as_json)
    else:
        show_query(folder, text, filter.filter(), as_json=as_json)


app.command()(remove)


@app.command()
def methods(
    name: Annotated[
        str | None,
        typer.Argument(help="Method whose arguments are shown (default: list all).", autocompletion=method_names),
    ] = None,
    index: Annotated[Path | None, "Index folder, to show each method's expression over it."] = None,
    as_json: AsJson = False,
) -> None:
    """List the retrieval methods, their speed and requirements."""
    from graphwright.cli.listing import show_methods

    show_methods(name, index, as_json=as_json)


app.command()(prompts)


@app.command()
def info(folder: IndexArgument = None, index: IndexOption = None, as_json: AsJson = False) -> None:
    """Print the contents, settings and size of an index."""
    from graphwright.cli.listing import show_info

    show_info(one_folder(folder, index), as_json=as_json)


@app.command()
def verify(
    folder: IndexArgument = None,
    index: IndexOption = None,
    repair: Annotated[bool, "Rebuild the snapshot from the stored documents."] = False,
    as_json: AsJson = False,
) -> None:
    """Check an index for damage."""
    folder = one_folder(folder, index)
    with graphwright.Index.open(folder) as opened:
        problems = opened.verify(repair=repair)
    if as_json:
        print_json([vars(problem) for problem in problems])
    elif not problems:
        say(f"{folder}: no problems; the snapshot matches the stored documents.")
    for problem in problems:
        note(f"{problem.problem}\n  {problem.remedy}")
    if problems:
        raise SystemExit(1)


@app.command()
def documents(
    index: IndexFolder,
    search: Annotated[
        str | None, typer.Argument(help="Text that the id or the title contains (default: all documents).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the documents of an index."""
    with open_index(index) as opened:
        part = (search or "").casefold()
        listed = [item for item in opened.list_documents() if part in f"{item.id}\n{item.title}".casefold()]
        metadata = opened.metadata_by_document() if as_json else {}
    if as_json:
        print_json([document._asdict() | {"metadata": metadata.get(document.id, {})} for document in listed])
        return
    for document in listed:
        title = f"  {document.title}" if document.title else ""
        size = f"{counted(document.characters, 'character')}, {counted(document.chunks, 'chunk')}"
        say(f"{document.id}{title}  ({size})")
    if search and not listed:
        note(f"note: {index} has no document whose id or title contains {search!r}.")


@app.command()
def show(
    document: Annotated[str, typer.Argument(help="Id of a document.")],
    index: IndexFolder,
    characters: Annotated[str | None, "Print only these characters, as in a citation: --characters 39-88"] = None,
) -> None:
    """Print the text of a document, with page or cell numbers.

    Citations count characters in the text without these numbers. Metadata, or with --characters the page, go to stderr.
    """
    with open_index(index) as opened:
        text, places, metadata = opened.text(document), opened.places(document), opened.metadata(document)
    if characters is not None:
        start, end = _span(characters)
        say(text[start:end])
        if places is not None and (location := places.of(start, end)):
            note(location)
        return
    for name, value in metadata.items():
        note(f"{name}: {value}")
    if places is None or places.kind == "line":
        say(text)
        return
    for number, (start, end) in enumerate(pairwise((0, *places.starts, len(text))), start=-1):
        if number >= 0:
            say(f"[{places.name(number)}]")
        if part := text[start:end].strip("\n"):
            say(part)


def _span(characters: str) -> tuple[int, int]:
    match = re.fullmatch(r"\s*(\d+)-(\d+)\s*", characters)
    if match is None or int(match[1]) >= int(match[2]):
        raise OptionError(f"--characters is {characters!r}; give START-END, such as --characters 39-88")
    return int(match[1]), int(match[2])


@app.command()
def export(
    index: IndexFolder,
    to: Annotated[Path, "File to write; - for stdout."],
    form: Annotated[
        str | None,
        typer.Option(
            "--format", help="graphml, json (node-link), jsonl (Neo4j), csv, nt or ttl (default: by the file's name)."
        ),
    ] = None,
    question: Annotated[
        str | None, typer.Option("--question", "-q", help="Write only the evidence for this question.")
    ] = None,
    method: Method = None,
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=1, help="Number of items of evidence.")] = 15,
    force: Annotated[bool, "Replace an existing file."] = False,
) -> None:
    """Write the graph as GraphML, JSON, CSV, RDF, or for Neo4j."""
    from graphwright.graph.export import export as export_to_file
    from graphwright.graph.export import format_of, write

    if to == STDOUT and form is None:
        raise OptionError("--to - writes to stdout, which has no file name; add --format graphml or --format json.")
    form = format_of(to, form)
    if to != STDOUT and to.exists() and not force:
        raise OptionError(f"{to} exists already; nothing was written. Give --force to replace it, or another name.")
    with open_index(index) as opened:
        graph, evidence = (opened.graph, None) if question is None else _evidence(opened, question, method, top_k)
        if to != STDOUT:
            written = export_to_file(graph, to, form, evidence)
        else:  # always UTF-8, as declared in the file
            file = TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n")
            try:
                written = write(graph, file, form, evidence)
            finally:
                file.detach()
    source = "the whole graph" if evidence is None else f"{counted(len(evidence), 'item')} of evidence"
    size = f"{counted(written.nodes, 'node')}, {counted(written.edges, 'edge')}"
    note(f"wrote {source} to {'stdout' if to == STDOUT else to} as {form}: {size}")


def _evidence(
    index: graphwright.Index, question: str, method: str | None, top_k: int
) -> tuple[graph.Graph, graph.Evidence]:
    """Return the searched graph and the best items of evidence, or the best passages if there is no evidence."""
    from graphwright.cli.asking import to_ask

    state = index.retrieve(question, to_ask(method, None, {})[0])
    evidence, passages = state.evidence, state.passages
    if evidence is None:
        evidence = (
            graph.Evidence.of_nodes([]) if passages is None else graph.Evidence.of_nodes(passages.ids, passages.scores)
        )
    return state.graph, evidence.top(top_k)


app.command()(doctor)


@app.command()
def demo(folder: Annotated[Path | None, "Folder to keep the index in (default: temporary)."] = None) -> None:
    """Index a small corpus and ask it two questions."""
    from graphwright.cli.asking import run_demo

    run_demo(folder)


for _other in (evaluate, push, pull, shard, serve, mcp):
    app.command()(_other)
for _name, _group in {"edit": edit, "schema": schema, "keys": keys, "feedback": feedback, "train": train}.items():
    app.add_typer(_group, name=_name)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: an error becomes one message on stderr and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A letter that the terminal cannot encode is escaped instead of raising an error.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    as_json = "--json" in (sys.argv[1:] if arguments is None else arguments)
    try:
        raise SystemExit(_run(arguments))
    except BrokenPipeError:  # the reader of the output, such as head, has closed it
        raise SystemExit(1) from None
    except Exception as error:
        report(error, as_json=as_json)
        raise SystemExit(2 if isinstance(error, OptionError) else 1) from None
    finally:
        discard_unwritable()


@cache
def _parser() -> Callable[..., Any]:
    """Return the parser of all commands, made once a process: that takes longer than many a command."""
    take_plain_values()
    return get_command(app)


def _run(arguments: list[str] | None) -> int | str | None:
    check_output()
    try:
        code: int | None = _parser()(arguments, prog_name="graphwright", standalone_mode=False)
    except typer.Abort:
        code = _INTERRUPTED
    except SystemExit as end:
        flush_output()
        return end.code
    except Exception as error:
        if not (hasattr(error, "show") and hasattr(error, "exit_code")):
            raise
        with redirect_stderr(StringIO()) as usage:  # cleaned by `note`, because it may contain a file name
            error.show()
        note(usage.getvalue().rstrip("\n"))
        return int(error.exit_code)
    if code == _INTERRUPTED:
        note("graphwright: interrupted. Run the same command again to resume.")
    flush_output()
    return code
