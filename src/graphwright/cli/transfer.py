"""Commands that bring an index from elsewhere, send it there or divide it: import, push, pull and shard."""

from __future__ import annotations

import shlex
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import graphwright
from graphwright import data, remote
from graphwright.cli.indexing_output import show_graph, show_source
from graphwright.cli.options import AsJson, DatabaseOptions, Encoder, EngineOptions, TripleFileOptions, names_in
from graphwright.cli.terminal import note, print_json, progress, say
from graphwright.errors import OptionError, counted


def import_(
    files: Annotated[
        list[str],
        typer.Argument(
            help="TSV, CSV, RDF, Parquet, GraphML, GEXF, GML, Neo4j's CSV or JSON; a folder of GraphRAG or LightRAG; "
            "or a graph database, as bolt://HOST or neo4j://HOST."
        ),
    ],
    into: Annotated[Path, "New folder for the index."],
    *,
    triples: TripleFileOptions,
    database: DatabaseOptions,
    names: Annotated[list[Path] | None, "File of ids and names of nodes and relations. Repeatable."] = None,
    max_malformed: Annotated[
        int | None, typer.Option(min=0, help="Maximum number of malformed rows (default: 100, and a tenth of a file).")
    ] = None,
    embed: Annotated[
        str | None, "Texts with vectors: names, triples (default: either up to 50,000), passages, none."
    ] = None,
    encoder: Encoder = None,
    reports: Annotated[bool, "Add the community reports of GraphRAG as documents."] = False,
    as_json: AsJson = False,
) -> None:
    """Create an index from a graph, a graph database or GraphRAG.

    The files may be larger than memory. If the import fails, no index is left behind.
    """
    spaces = names_in(embed)
    options: dict[str, Any] = {
        "names": names or [],
        "max_malformed": max_malformed,
        "embed": None if spaces is None else [name for name in spaces if name != "none"],
        "encoder": encoder,
        "reports": reports,
    }
    source = _source(files, triples, database)
    start = time.perf_counter()
    with progress() as show:
        opened = graphwright.Index.from_graph(into, source, progress=show, **options)
    seconds, info = time.perf_counter() - start, opened.info()
    if as_json:
        print_json({"index": info, "seconds": seconds})
    else:
        (show_graph if "imported" in info else show_source)(info | {"path": into}, seconds)
        note(f'Next: graphwright ask "…" --index {into}')


def _source(sources: list[str], triples: TripleFileOptions, options: DatabaseOptions) -> Any:
    """Return the source of `Index.from_graph`: a database, a folder, files of a property graph, or dumps of triples."""
    table = triples.table()
    described = bool(table) or triples.named_graph is not None
    databases = [found for source in sources if (found := options.at(source)) is not None]
    files = [Path(source) for source in sources]
    if databases or (len(files) == 1 and files[0].is_dir()):
        if len(sources) > 1:
            raise OptionError(f"{databases[0]} is imported alone; give it without {', '.join(sources[1:])}.")
        if described:
            raise OptionError(
                f"--columns, --delimiter, --header and --named-graph are for files of triples; leave them out for "
                f"{sources[0]}."
            )
        return databases[0] if databases else files[0]
    if not described and (data.have_properties(files) or any(map(data.is_property_graph, files))):
        return files
    dumps = [data.dump_of(file, **table, named_graph=triples.named_graph) for file in files]
    for dump in dumps:
        if unread := getattr(dump, "unread", ()):
            note(f"note: columns of {dump.path} that are not read: {', '.join(unread)}.")
        if getattr(dump, "may_have_header", False):
            note(
                f"note: the first row of {dump.path} was read as a triple. No other row has any of its parts; if it "
                f"names the columns, import with --header."
            )
    return dumps


def shard(
    index: Annotated[Path, typer.Argument(metavar="DIR", help="Index folder.")],
    into: Annotated[Path, "New folder for the shards."],
    shards: Annotated[int, typer.Option(min=2, help="Number of shards.")],
    *,
    where: EngineOptions,
) -> None:
    """Divide an index into shards, for Ray.

    Ray holds them on several machines. Each is an index of the documents whose ids have one hash. Nothing is extracted
    again. Commands that ask take the address of the new folder, ray://FOLDER, as --index; so do index, sync and remove.
    """
    from graphwright.index_folder.shards.sharding import shard_index

    with where.started() as engine, progress() as show:
        shard_index(index, into, shards, engine=engine, progress=show)
    say(f"divided {index} into {counted(shards, 'shard')} in {into}")
    note(f'Next: graphwright ask "…" --index {shlex.quote(f"ray://{into}")}')


_URL = "Address, as s3://BUCKET/PATH, gs://BUCKET/PATH, az://CONTAINER/PATH or file:///FOLDER."


def push(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Index folder.")],
    url: Annotated[str, typer.Argument(help=_URL)],
    force: Annotated[bool, "Replace pushes of others since this folder was last pushed or pulled."] = False,
    full: Annotated[bool, "Send all files again, for example if objects are damaged."] = False,
    prune: Annotated[bool, "Delete objects that only earlier pushes need."] = False,
    as_json: AsJson = False,
) -> None:
    """Push an index to object storage, or an index in shards.

    Only missing pieces are sent. Of two pushes at the same time, one succeeds. Credentials are read from the
    environment. Shards are pushed each below the address, from which Ray's nodes without the folder pull them.
    """
    from rich.filesize import decimal

    from graphwright.index_folder.shards.sharded_index import folder_of
    from graphwright.index_folder.shards.storage import UNITED, push_shards

    shards = folder_of(folder)
    is_divided = (shards / UNITED).is_dir()
    with progress() as show:
        send: Any = partial(push_shards, shards) if is_divided else partial(remote.push, folder)
        pushed = send(url, force=force, full=full, prune=prune, progress=show)
    if as_json:
        print_json(vars(pushed))
        return
    if pushed.pieces:
        say(f"sent {decimal(pushed.sent)} of {decimal(pushed.bytes)} to {url}")
    else:
        say(f"{url} has all of {folder} already ({decimal(pushed.bytes)})")
    if pushed.pruned:
        say(f"deleted {counted(pushed.pruned, 'object')} of earlier pushes")


def pull(
    url: Annotated[str, typer.Argument(help=_URL)],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New folder, or one that was pulled or pushed before.")],
    force: Annotated[bool, "Discard changes of the folder that were not pushed."] = False,
    as_json: AsJson = False,
) -> None:
    """Pull an index from object storage.

    Only missing pieces are fetched, and every file is verified. Run it again after an interruption. Credentials are
    read from the environment.
    """
    from rich.filesize import decimal

    with progress() as show:
        pulled = remote.pull(url, folder, force=force, progress=show)
    if as_json:
        print_json(vars(pulled))
        return
    if not pulled.changed:
        say(f"{folder} has all of {url} already ({decimal(pulled.bytes)})")
        return
    say(f"fetched {decimal(pulled.fetched)} of {decimal(pulled.bytes)} into {folder}")
    note(f'Next: graphwright ask "…" --index {shlex.quote(str(folder))}')
