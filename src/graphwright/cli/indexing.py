"""Commands that change an index: extract, estimate, store and report, with progress on stderr."""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphwright.cli.indexing_output import show_changes, show_estimate, show_graph, show_notes, show_source
from graphwright.cli.options import (
    AsJson,
    Encoder,
    EngineOptions,
    Estimate,
    ExtractionOptions,
    FileOptions,
    IndexFolder,
    Into,
    References,
    expanded,
    names_in,
)
from graphwright.cli.progress import note_compilation, progress
from graphwright.cli.terminal import flush_output, note, print_json, say
from graphwright.errors import DataError, GraphwrightError, OptionError, counted

if TYPE_CHECKING:
    from graphwright.data.document import Document, Skipped
    from graphwright.data.read_options import ReadOptions
    from graphwright.extract.extraction import Excerpt, Extractor
    from graphwright.index_folder.index import Index
    from graphwright.models.protocols import LLM, Usage
    from graphwright.models.settings import LLMSettings
    from graphwright.store.changes import Changes, Progress, Transform


@expanded
def index(
    sources: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Files and folders, addresses of web pages, or - for stdin.")
    ],
    into: Into,
    *,
    embed: Annotated[str | None, "Texts with vectors, in a new index: passages, names, triples (default: all)."] = None,
    openie: Annotated[Path | None, "File of entities and triples (openie.jsonl), to use instead of extraction."] = None,
    encoder: Encoder = None,
    resolve: Annotated[
        str | None,
        "Ways to merge entities with different names, in a new index: aliases, vectors (needs vectors of names), "
        "llm (a language model decides about these pairs).",
    ] = None,
    description_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens of an entity's descriptions above which they are summarised (default: 300)."),
    ] = None,
    chunk_tokens: Annotated[
        int | None, typer.Option(min=16, help="Maximum tokens of a chunk, in a new index (default: 200).")
    ] = None,
    overlap: Annotated[
        int | None, typer.Option(min=0, help="Tokens that neighbouring chunks share, in a new index (default: 40).")
    ] = None,
    references: References = None,
    files: FileOptions,
    where: EngineOptions,
    name: Annotated[str | None, "Id of what is read from stdin; its suffix tells the format, such as notes.md."] = None,
    estimate: Estimate = False,
    as_json: AsJson = False,
    model: ExtractionOptions,
) -> None:
    """Add documents to an index.

    Only new and changed documents are read. With --llm, a language model extracts the entities and relations.
    """
    from graphwright.data.records.openie import read_openie
    from graphwright.extract.precomputed import Precomputed

    options = {"chunk_tokens": chunk_tokens, "overlap": overlap, "embed": names_in(embed)}
    options |= {"resolve": names_in(resolve), "description_tokens": description_tokens}
    settings = {name: value for name, value in options.items() if value is not None}
    if openie is not None and (model.llm or estimate):
        raise OptionError("--openie replaces extraction; leave out --llm and --estimate.")
    llm = None if openie is not None else model.settings(into)
    client = _client(llm, into, model, dry_run=estimate)
    refer, reading = _references(references, llm, client), files.read_options()
    skipped: list[Skipped] = []
    with tempfile.TemporaryDirectory() as scratch:
        documents = _read_sources(sources, Path(scratch), name, reading, skipped)
        if estimate:
            citing: list[Document] = []  # that the model would read
            transform = partial(_listed, citing) if references == "llm" else refer
            chunks = _new_chunks(documents, into, settings, reading, transform)
            show_estimate(chunks, llm, model, citing, as_json=as_json)
            return
        stored = None if openie is None else Precomputed.of(read_openie(openie, skipped.append))
        extractor = stored or _extractor(llm, client, model)
        with where.started() as engine, _opened(into, settings, encoder, extractor) as opened:
            _change(
                opened,
                lambda show, usage: opened.add(
                    documents,
                    show,
                    usage=usage,
                    options=reading,
                    transform=refer and partial(refer, usage=usage, progress=show),
                    engine=engine,
                ),
                skipped,
                model=llm is not None,
                as_json=as_json,
            )


@expanded
def sync(
    folder: Annotated[Path, typer.Argument(help="Folder of documents.")],
    into: Into,
    *,
    encoder: Encoder = None,
    references: References = None,
    files: FileOptions,
    where: EngineOptions,
    as_json: AsJson = False,
    model: ExtractionOptions,
) -> None:
    """Make an index match a folder of documents.

    New documents are added, changed ones replaced, missing ones removed.
    """
    _check_paths([folder])
    if folder.is_file():
        raise OptionError(f"sync takes a folder; index this file: graphwright index {folder} --into {into}")
    reading, llm = files.read_options(), model.settings(into)
    client = _client(llm, into, model)
    refer, extractor = _references(references, llm, client), _extractor(llm, client, model)
    with where.started() as engine, _opened(into, {}, encoder, extractor) as opened:
        _change(
            opened,
            lambda show, usage: opened.sync(
                folder,
                show,
                usage=usage,
                options=reading,
                transform=refer and partial(refer, usage=usage, progress=show),
                engine=engine,
            ),
            [],
            model=llm is not None,
            as_json=as_json,
        )


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

    Use --llm, or --offline for extraction without a language model. The original files are not needed: the index stores
    their text.
    """
    from graphwright.index_folder.index import Index

    llm = model.settings(index)
    if llm is None and not model.offline and model.extractor is None:
        raise OptionError("reextract needs --llm MODEL, a settings.toml that names one, --extractor NAME or --offline.")
    client = _client(llm, index, model, dry_run=estimate)
    opened = Index.open(index, extractor=_extractor(llm, client, model))
    if estimate:
        show_estimate(opened.chunks_to_reextract(ids or None), llm, model, (), as_json=as_json)
        return
    work = lambda show, usage: opened.reextract(ids or None, show, usage=usage)  # noqa: E731
    changes = _change(opened, work, [], model=llm is not None, as_json=as_json)
    if llm is not None and changes.pending and not changes.extracted:
        raise SystemExit(1)


@expanded
def remove(
    ids: Annotated[
        list[str] | None,
        typer.Argument(help="Ids of documents, also with * and ?, files of rows or messages, folders ending in /."),
    ] = None,
    *,
    index: IndexFolder,
    folder: Annotated[list[str] | None, "Remove the documents whose id lies in this folder. Repeatable."] = None,
    dry_run: Annotated[bool, "List the documents that would be removed, and change nothing."] = False,
) -> None:
    """Remove documents from an index, by id, folder or pattern."""
    from graphwright.index_folder.index import Index

    wanted = [*(ids or ()), *(f"{name.rstrip('/')}/" for name in folder or ())]
    if not wanted:
        raise OptionError("remove needs ids, patterns or --folder; 'graphwright documents' lists the ids.")
    with Index.open(index) as opened:
        chosen = opened.matching(wanted)
        if dry_run:
            for id in chosen:
                say(id)
            note(f"{counted(len(chosen), 'document')} would be removed; nothing was changed.")
            return
        changes = opened.remove(chosen)
        show_notes(changes, opened.path, model=False)
        say(f"removed {counted(len(changes.removed), 'document')}")
        flush_output()


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
    from graphwright.data.graph_files.detect import dump_of
    from graphwright.data.graph_files.property_graphs import is_property_graph
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
        own = any(value is not None for value in table.values())
        source = files if not own and any(map(is_property_graph, files)) else [dump_of(f, **table) for f in files]
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


def _client(llm: LLMSettings | None, folder: Path, model: ExtractionOptions, *, dry_run: bool = False) -> LLM | None:
    """Return the client of a model, which caches replies in the folder, and needs no key in a dry run."""
    if llm is None:
        return None
    return llm.llm(api_key="none") if dry_run else model.client(llm, folder)


def _references(
    references: str | None, llm: LLMSettings | None, client: LLM | None
) -> Callable[..., list[Document]] | None:
    """Return the function that finds references between documents; None if there is none to be called."""
    from graphwright.extract.references import with_references

    if references not in (None, "rules", "llm"):
        raise OptionError(f"--references is {references!r}; choose from rules, llm.")
    if references != "llm":
        return None if references is None else with_references
    if llm is None:
        raise OptionError("--references llm needs --llm MODEL or a settings.toml that names one; rules need none.")
    return partial(with_references, llm=client, threads=llm.concurrency)


def _extractor(llm: LLMSettings | None, client: LLM | None, model: ExtractionOptions) -> Extractor | str | None:
    """Return the extractor or its name."""
    from graphwright.extract.llm import GenerativeExtractor

    if llm is None or client is None:
        options = ("max_tokens", "max_cost", "extraction", "gleanings", "rate")
        if given := [name for name in options if getattr(model, name) is not None]:
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise OptionError(f"{flags} is for a language model; add --llm MODEL.")
        return model.extractor
    if model.extractor is not None:
        raise OptionError("--extractor is for extraction without a language model; leave out --llm, or add --offline.")
    return GenerativeExtractor(client, extraction=llm.extraction, gleanings=llm.gleanings, threads=llm.concurrency)


def _check_paths(paths: list[Path]) -> None:
    """Raise DataError if a path does not exist."""
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise DataError(f"{missing[0]} does not exist; nothing was indexed. Check the path.")


@contextmanager
def _opened(
    into: Path, settings: Mapping[str, Any], encoder: str | None, extractor: Extractor | str | None
) -> Iterator[Index]:
    """Yield an index; a missing one is created, and deleted again if nothing could be added."""
    from graphwright.store.layout import check_unwritten

    check_unwritten(into)  # at once: what is imported below may take long beside another process that computes
    from graphwright.index_folder.index import Index
    from graphwright.store.changes import Settings

    created, keep_folder = not (into / "index.sqlite").exists(), into.is_dir()
    if created:
        Index.create(into, encoder=encoder, settings=Settings(**settings)).close()
    else:
        _check_unchanged(into, encoder, settings)
    try:
        yield Index.open(into, extractor=extractor)
    except BaseException:
        if created:
            with suppress(GraphwrightError, OSError):
                _delete_unused(into, keep_folder)
        raise


def _check_unchanged(into: Path, encoder: str | None, settings: Mapping[str, Any]) -> None:
    """Raise OptionError for a setting that only a new index can be given."""
    from graphwright.index_folder.index import Index
    from graphwright.models.registry import encoder_of

    with Index.open(into) as index:
        stored = {**asdict(index.settings), "encoder": index.encoder}
    options = {**settings, **({} if encoder is None else {"encoder": encoder_of(encoder).id})}
    for name, value in options.items():
        if value != stored[name]:
            raise OptionError(
                f"{into} was created with --{name.replace('_', '-')} {_shown(stored[name])}, not {_shown(value)}. "
                f"Leave the option out, or index into a new folder."
            )


def _shown(value: Any) -> str:
    """Return the value of a setting as it is written on the command line."""
    return (",".join(value) or "nothing") if isinstance(value, tuple | list) else str(value)


def _delete_unused(into: Path, keep_folder: bool) -> None:
    """Delete an index to which nothing was added, unless another process writes it, or a model's replies are in it."""
    from graphwright.index_folder.index import Index
    from graphwright.store.layout import IndexLayout, writer_lock

    with writer_lock(into):
        with Index.open(into) as index:
            documents = index.documents
        layout = IndexLayout(into)
        if not documents and not layout.replies.exists():
            layout.delete(keep_folder)


def _read_sources(
    sources: list[str], scratch: Path, name: str | None, reading: ReadOptions, skipped: list[Skipped]
) -> list[Path | Document]:
    """Return paths as they are, and the documents of stdin (-) and of web pages.

    Raises DataError if one cannot be read, before anything is indexed.
    """
    from graphwright.data.documents import read_file
    from graphwright.data.web import fetch, is_url

    if name is not None and "-" not in sources:
        raise OptionError(f"--name {name} is the id of what is read from stdin; give - as a path to read it.")
    _check_paths([Path(source) for source in sources if source != "-" and not is_url(source)])
    documents: list[Path | Document] = []
    for number, source in enumerate(dict.fromkeys(sources)):
        if source != "-" and not is_url(source):
            documents.append(Path(source))
            continue
        folder = scratch / str(number)
        folder.mkdir()
        file = fetch(source, folder) if is_url(source) else _save_stdin(folder, name)
        known = len(skipped)
        id = source if is_url(source) else name or _id_of_content(file)
        part = list(read_file(file, id, skipped.append, reading))
        skipped[known:] = [replace(item, path=item.path.replace(str(file), id)) for item in skipped[known:]]
        if not part:
            reason = skipped[-1].reason if len(skipped) > known else "empty"
            raise DataError(f"nothing to read in {'stdin' if source == '-' else source}: {reason}.")
        documents += part
    return documents


def _save_stdin(folder: Path, name: str | None) -> Path:
    """Write stdin to a file with the suffix of its name."""
    if sys.stdin is None or sys.stdin.isatty():
        note("reading from stdin; end with Ctrl-D")
    if sys.stdin is None:
        raise DataError("stdin is closed; pipe a document into the command, or name a file.")
    file = folder / f"stdin{''.join(Path(name or '').suffixes[-2:])}"
    with file.open("wb") as output:
        shutil.copyfileobj(sys.stdin.buffer, output)
    return file


def _id_of_content(file: Path) -> str:
    """Return the id of a text without a name, which is the same whenever the text is."""
    with file.open("rb") as content:
        return f"stdin-{hashlib.file_digest(content, 'sha256').hexdigest()[:16]}"


def _listed(listed: list[Document], documents: Iterable[Document]) -> list[Document]:
    """Add documents to a list, and return it."""
    listed += documents
    return listed


def _new_chunks(
    paths: Sequence[Path | Document],
    into: Path,
    settings: Mapping[str, Any],
    reading: ReadOptions,
    transform: Transform | None,
) -> list[Excerpt]:
    """Return the chunks of new and changed documents; an index that does not exist is created in a scratch folder."""
    from graphwright.index_folder.index import Index
    from graphwright.store.changes import Settings

    with tempfile.TemporaryDirectory() as scratch:
        exists = (into / "index.sqlite").exists()
        index = Index.open(into) if exists else Index.create(Path(scratch) / "index", settings=Settings(**settings))
        with index:
            return index.chunks_to_extract(paths, reading, transform)


def _change(
    index: Index, work: Callable[[Progress, Usage], Changes], skipped: list[Skipped], *, model: bool, as_json: bool
) -> Changes:
    """Change an index, with progress on stderr; print the changes, and the documents that could not be read.

    `model`: whether a language model extracts.
    """
    from graphwright.models.protocols import Usage

    note_compilation()
    usage, start = Usage(), time.perf_counter()
    with progress(usage) as show:
        changes = work(show, usage)
    seconds, info = time.perf_counter() - start, index.info()
    changes.skipped += skipped
    show_changes(changes, info, seconds, model=model, as_json=as_json)
    return changes
