"""Creation of an index of whatever holds a graph: a Graph, files of triples or nodes, or another system's index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphwright.data.graph_files.dump import Dump
from graphwright.data.graph_files.detect import dump_of
from graphwright.data.other_indexes.read import read_other_index
from graphwright.data.graph_files.property_graphs import is_property_graph, read_property_graph
from graphwright.errors import OptionError
from graphwright.graph.graph import Graph
from graphwright.build.assembly import graph_of
from graphwright.store.changes import Progress, Settings, checked_spaces
from graphwright.build.creation import create_graph_index
from graphwright.build.other_import import create_other_index

GraphSource = Graph | str | Path | Dump | Sequence[str | Path | Dump]


def create_from(
    folder: Path,
    source: GraphSource,
    *,
    names: Sequence[str | Path],
    max_malformed: int | None,
    embed: Sequence[str] | None,
    encoder: object,
    reports: bool,
    progress: Progress | None,
) -> Path:
    """Create an index in a new or empty folder, and return the folder; see `Index.from_graph`."""
    spaces = None if embed is None else checked_spaces(embed)
    if isinstance(source, str | Path) and Path(source).is_dir():
        if names or max_malformed is not None:
            raise OptionError(f"{source} is a folder: leave out names and max_malformed, which are for triples.")
        settings = Settings() if spaces is None else Settings(embed=checked_spaces(("passages", *spaces)))
        origin = Path(source)
        other = read_other_index(origin)
        return create_other_index(
            folder, other, origin, encoder, settings=settings, reports=reports, progress=progress
        ).path
    if reports:
        raise OptionError("reports=True is for the output of Microsoft GraphRAG; give its folder as the source.")
    given = source if isinstance(source, Graph) else _read(source, names, max_malformed)
    labels = [dump_of(file) for file in names]
    return create_graph_index(folder, given, encoder, labels, max_malformed, spaces, progress).path


def _read(source: Any, names: Sequence[str | Path], max_malformed: int | None) -> Graph | list[Dump]:
    """Return the graph of the files of a property graph, and any other files as dumps."""
    files = source if isinstance(source, list | tuple) else [source]
    paths = [Path(file) for file in files if isinstance(file, str | Path)]
    if any(map(is_property_graph, paths)):
        if len(paths) < len(files) or names or max_malformed is not None:
            raise OptionError(
                "a property graph (JSON, or CSV of Neo4j) is read as it is: give paths of its files alone, without "
                "names and max_malformed."
            )
        read = read_property_graph(paths)
        return graph_of(read.nodes, read.edges)
    if not files:
        raise OptionError("give at least one file of triples to import.")
    return [file if isinstance(file, Dump) else dump_of(file) for file in files]
