"""The import command: create an index from a knowledge graph, or from another system's index."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from graphwright.cli.indexing_output import show_graph, show_source
from graphwright.cli.options import AsJson, Encoder, expanded, names_in
from graphwright.cli.progress import note_compilation, progress
from graphwright.cli.terminal import note, print_json
from graphwright.errors import OptionError


@expanded
def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="TSV, CSV, RDF, Parquet, GraphML, Neo4j's CSV or JSON; or the folder of GraphRAG or LightRAG."
        ),
    ],
    into: Annotated[Path, "New folder for the index."],
    columns: Annotated[str | None, "Columns of head, relation and tail, by name or number, such as 1,2,3."] = None,
    delimiter: Annotated[str | None, "Field delimiter (default: detected)."] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="The first line names the columns (default: detected).")
    ] = None,
    named_graph: Annotated[str | None, "IRI of the graph to read in RDF (default: all graphs)."] = None,
    names: Annotated[list[Path] | None, "File of ids and names of nodes and relations. Repeatable."] = None,
    max_malformed: Annotated[
        int | None,
        typer.Option(min=0, help="Maximum number of malformed rows (default: 100, and a tenth of a file)."),
    ] = None,
    embed: Annotated[
        str | None, "Texts with vectors: names, triples (default: either up to 50,000), passages, none."
    ] = None,
    encoder: Encoder = None,
    reports: Annotated[bool, "Add the community reports of GraphRAG as documents."] = False,
    as_json: AsJson = False,
) -> None:
    """Create an index from a knowledge graph, GraphRAG or LightRAG.

    The files may be larger than memory. If the import fails, no index is left behind.
    """
    from graphwright.data import dump_of, is_property_graph
    from graphwright.index_folder.index import Index

    spaces = names_in(embed)
    options: dict[str, Any] = {
        "names": names or [],
        "max_malformed": max_malformed,
        "embed": None if spaces is None else [name for name in spaces if name != "none"],
        "encoder": encoder,
        "reports": reports,
    }
    table: dict[str, Any] = {"columns": columns and columns.split(","), "mark": delimiter, "header": header}
    source: Any = files[0]
    if not (len(files) == 1 and source.is_dir()):
        table["named_graph"] = named_graph
        has_options = any(value is not None for value in table.values())
        is_graph = not has_options and any(map(is_property_graph, files))
        source = files if is_graph else [dump_of(file, **table) for file in files]
    elif any(value is not None for value in table.values()):
        raise OptionError("--columns, --delimiter and --header are for tables of triples; leave them out for a folder.")
    for file in source if isinstance(source, list) else ():
        if getattr(file, "may_have_header", False):
            note(
                f"note: the first row of {file.path} was read as a triple. No other row has any of its parts; if it "
                f"names the columns, import with --header."
            )
    note_compilation()
    start = time.perf_counter()
    with progress() as show:
        opened = Index.from_graph(into, source, progress=show, **options)
    seconds, info = time.perf_counter() - start, opened.info()
    if as_json:
        print_json({"index": info, "seconds": seconds})
    else:
        (show_graph if "imported" in info else show_source)(info | {"path": into}, seconds)
        note(f'Next: graphwright ask "…" --index {into}')
