"""Commands that change an index: index, sync, reextract and remove; and the sources that they read."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import graphwright
from graphwright import data, extract, models, store
from graphwright.cli.indexing_output import show_changes, show_estimate, show_notes
from graphwright.cli.options import (
    AsJson,
    DatabaseOptions,
    Encoder,
    Estimate,
    ExtractionOptions,
    IndexFolder,
    Into,
    NewIndexOptions,
    ReadingOptions,
    SchemaFile,
)
from graphwright.cli.terminal import flush_output, note, print_json, progress, say
from graphwright.errors import DataError, GraphwrightError, OptionError, counted


def check_paths(paths: list[Path]) -> None:
    """Raise DataError if a path does not exist."""
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise DataError(f"{missing[0]} does not exist; nothing was indexed. Check the path.")


def read_sources(
    sources: list[str], scratch: Path, name: str | None, reading: data.ReadOptions, skipped: list[data.Skipped]
) -> list[Path | data.Document]:
    """Return paths, and the documents of stdin (-) and web pages. Raises DataError if a source cannot be read."""
    if name is not None and "-" not in sources:
        raise OptionError(f"--name {name} is the id of the document on stdin; give - as a path to read it.")
    check_paths([Path(source) for source in sources if source != "-" and not data.is_url(source)])
    documents: list[Path | data.Document] = []
    for number, source in enumerate(dict.fromkeys(sources)):
        if source != "-" and not data.is_url(source):
            documents.append(Path(source))
            continue
        folder = scratch / str(number)
        folder.mkdir()
        file = data.fetch(source, folder) if data.is_url(source) else _save_stdin(folder, name)
        before = len(skipped)
        id = source if data.is_url(source) else name or _id_of_content(file)
        part = list(data.read_file(file, id, skipped.append, reading))
        skipped[before:] = [replace(item, path=item.path.replace(str(file), id)) for item in skipped[before:]]
        if not part:
            reason = skipped[-1].reason if len(skipped) > before else "empty"
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
    """Return the id of a text without a name, which depends only on the text."""
    from hashlib import file_digest

    with file.open("rb") as content:
        return f"stdin-{file_digest(content, 'sha256').hexdigest()[:16]}"


@contextmanager
def opened_index(
    into: Path,
    settings: Mapping[str, Any],
    encoder: str | None,
    extractor: extract.Extractor | str | None,
    schema: extract.Schema | None = None,
) -> Iterator[graphwright.Index]:
    """Yield an index. Create it if it is missing; delete it again if nothing could be added."""
    if str(into).startswith("ray:/"):
        with graphwright.Index.open(into, extractor=extractor) as opened:
            yield opened
        return
    store.check_unwritten(into)  # first, because the rest loads slowly while another process computes

    created, keep_folder = not (into / "index.sqlite").exists(), into.is_dir()
    if created:
        graphwright.Index.create(into, encoder=encoder, settings=store.Settings(**settings), schema=schema).close()
    else:
        _check_unchanged(into, encoder, settings, schema)
    try:
        yield graphwright.Index.open(into, extractor=extractor)
    except BaseException:
        if created:
            with suppress(GraphwrightError, OSError):
                _delete_unused(into, keep_folder)
        raise


def _check_unchanged(
    into: Path, encoder: str | None, settings: Mapping[str, Any], schema: extract.Schema | None = None
) -> None:
    """Raise OptionError if an option differs from a setting that is fixed when an index is created."""
    with graphwright.Index.open(into) as index:
        stored = {**asdict(index.settings), "encoder": index.encoder}
        if schema not in (None, index.extraction_schema):
            other = "with another" if index.extraction_schema else "without a"
            raise OptionError(
                f"{into} was created {other} schema. Leave --schema out, or replace the schema: graphwright reextract "
                f"--index {into} --schema FILE"
            )
    options = {**settings, **({} if encoder is None else {"encoder": models.encoder_of(encoder).id})}
    for name, value in options.items():
        if value != stored[name]:
            raise OptionError(
                f"{into} was created with --{name.replace('_', '-')} {_shown(stored[name])}, not {_shown(value)}. "
                f"Leave the option out; index into a new folder; or change the index: graphwright rebuild --help"
            )


def _shown(value: Any) -> str:
    """Return the value of a setting in the form of the command line."""
    return (",".join(value) or "nothing") if isinstance(value, tuple | list) else str(value)


def _delete_unused(into: Path, keep_folder: bool) -> None:
    """Delete an index without documents, unless another process writes it, or it has cached replies of a model."""
    with store.writer_lock(into):
        with graphwright.Index.open(into) as index:
            documents = index.documents
        layout = store.IndexLayout(into)
        if not documents and not layout.replies.exists():
            store.delete_folder(layout, keep_folder)


def index(
    sources: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Files and folders, addresses of web pages, or - for stdin.")
    ],
    into: Into,
    *,
    new: NewIndexOptions,
    schema: SchemaFile = None,
    name: Annotated[str | None, "Id of the document on stdin; its suffix sets the format, such as notes.md."] = None,
    estimate: Estimate = False,
    options: ReadingOptions,
) -> None:
    """Add documents to an index.

    Only new and changed documents are read. With --llm, a language model extracts the entities and relations.
    """
    from tempfile import TemporaryDirectory

    settings, llm, types, model = new.settings(), _settings(options, into), _schema(schema), options.model
    describer = None if estimate else _describer(options, into)
    client = _client(llm, into, model, dry_run=estimate)
    refer, reading = _references(options.references, llm, client, into), options.files.read_options()
    skipped: list[data.Skipped] = []
    with TemporaryDirectory() as scratch:
        documents = read_sources(sources, Path(scratch), name, reading, skipped)
        if estimate:
            if options.vision:
                note("note: the estimate does not include the descriptions of pictures (--vision).")
            citing: list[data.Document] = []  # documents whose references the model would list
            transform = partial(_collected, citing) if options.references == "llm" else refer
            chunks, types = _new_chunks(documents, into, settings, types, reading, transform)
            prompts = store.IndexLayout(into).prompts
            show_estimate(chunks, llm, model, citing, types, prompts=prompts, as_json=options.as_json)
            return
        extractor, where = _extractor(llm, client, model, options.vision), options.where
        with where.started() as engine, opened_index(into, settings, options.encoder, extractor, types) as opened:
            add = partial(opened.add, documents, options=replace(reading, describe=describer), engine=engine)
            _change(opened, add, skipped, refer, describer, model=llm is not None, as_json=options.as_json)


def sync(
    source: Annotated[
        str,
        typer.Argument(
            help="Folder of documents, or an address: https://HOST/sitemap.xml, urls:FILE, s3://BUCKET/PATH, "
            "maildir:FOLDER, mbox:FILE; bolt://HOST or neo4j://HOST of an imported graph."
        ),
    ],
    into: Into,
    *,
    options: ReadingOptions,
    database: DatabaseOptions,
    changed_by: Annotated[
        str | None, "Property of nodes and relationships with the time of their last change: fetch only changed ones."
    ] = None,
) -> None:
    """Make an index match a folder or another source.

    New documents are added, changed ones replaced, missing ones removed. A graph of which anything has changed is
    imported again, beside the old one.
    """
    from graphwright.index_folder.sources import source_of

    if (found := database.at(source)) is not None:
        if replace(options, as_json=False) != ReadingOptions():
            raise OptionError(f"{source} is a graph database; leave out the options for documents and models.")
        _sync_graph(found, into, changed_by, as_json=options.as_json)
        return
    if changed_by is not None:
        raise OptionError(f"--changed-by is for a graph database, such as bolt://HOST, not for {source}.")
    opened = source_of(source)
    if isinstance(opened, Path):
        check_paths([opened])
        if opened.is_file():
            raise OptionError(
                f"sync takes a folder or an address; index this file: graphwright index {source} --into {into}"
            )
    synced(opened, into, options)


def synced(source: Path | data.Connector, into: Path, options: ReadingOptions) -> None:
    """Sync an index with a source, and print the changes."""
    llm, describer = _settings(options, into), _describer(options, into)
    reading, client = replace(options.files.read_options(), describe=describer), _client(llm, into, options.model)
    refer = _references(options.references, llm, client, into)
    extractor = _extractor(llm, client, options.model, options.vision)
    with options.where.started() as engine, opened_index(into, {}, options.encoder, extractor) as opened:
        work = partial(opened.sync, source, options=reading, engine=engine)
        _change(opened, work, [], refer, describer, model=llm is not None, as_json=options.as_json)


def _sync_graph(database: data.GraphDatabase, into: Path, changed_by: str | None, *, as_json: bool) -> None:
    with graphwright.Index.open(into) as index, progress() as show:
        changes = index.sync_graph(database, show, changed_by=changed_by)
        counts = asdict(changes)
        if as_json:
            print_json(counts)
        elif changes:
            parts = (f"{counts[name]:,} {name}" for name in ("added", "changed", "removed") if counts[name])
            say(f"{into}: {', '.join(parts)} of the nodes and relationships; the graph was imported again")
        else:
            say(f"{into}: all {changes.unchanged:,} nodes and relationships unchanged; nothing was written")


def reextract(
    index: IndexFolder,
    *,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of documents (default: all).")] = None,
    schema: SchemaFile = None,
    estimate: Estimate = False,
    as_json: AsJson = False,
    model: ExtractionOptions,
) -> None:
    """Extract again, with another model or schema.

    Use --llm, or --offline for extraction without a language model; --schema none removes the schema. The original
    files are not needed: the index stores their text.
    """
    llm, types = model.settings(index), _schema(schema)
    if llm is None and not model.offline and model.extractor is None and types is None:
        raise OptionError(
            "reextract needs --llm MODEL, a settings.toml that names one, --extractor NAME, --schema FILE or --offline."
        )
    client = _client(llm, index, model, dry_run=estimate)
    opened = graphwright.Index.open(index, extractor=_extractor(llm, client, model))
    if estimate:
        chunks = opened.chunks_to_reextract(ids or None, types)
        types = opened.extraction_schema if types is None else types
        show_estimate(chunks, llm, model, (), types, prompts=store.IndexLayout(index).prompts, as_json=as_json)
        return
    work = partial(opened.reextract, ids or None, schema=types)
    changes = _change(opened, work, [], model=llm is not None, as_json=as_json)
    if llm is not None and changes.pending and not changes.extracted:
        raise SystemExit(1)


def rebuild(
    index: IndexFolder,
    *,
    encoder: Encoder = None,
    new: NewIndexOptions,
    yes: Annotated[bool, "Rebuild although a language model has to read chunks again."] = False,
    estimate: Estimate = False,
    as_json: AsJson = False,
    model: ExtractionOptions,
) -> None:
    """Change encoder or settings and encode again, without the files.

    The index stores the text of its documents. Questions are answered from the old index until the
    new one is complete. Chunks that are as before keep what was extracted.
    """
    llm, settings = model.settings(index), new.settings()
    client = _client(llm, index, model, dry_run=estimate)
    extractor = _extractor(llm, client, model)
    paid = graphwright.Index.chunks_to_rebuild(index, encoder, **settings)
    if estimate:
        types = graphwright.Index.open(index).extraction_schema
        show_estimate(paid, llm, model, (), types, prompts=store.IndexLayout(index).prompts, as_json=as_json)
        return
    if paid and not yes:
        raise OptionError(
            f"a language model would have to read {counted(len(paid), 'chunk')} of {index} again; nothing was changed. "
            f"See the cost: add --estimate. Go on: add --yes."
        )

    is_read = llm is not None and bool(paid)

    def work(**reporting: Any) -> store.Changes:
        changes = graphwright.Index.rebuild(index, encoder, reporting["progress"], extractor=extractor, **settings)
        if is_read:
            with graphwright.Index.open(index, extractor=extractor) as opened:
                changes = replace(opened.add([], **reporting), rebuilt=True)
        return changes

    changes = _change(index, work, [], model=is_read, as_json=as_json)
    if changes.pending and not is_read:
        chunks = counted(len(changes.pending), "chunk")
        note(f"note: {chunks} wait for a language model: graphwright reextract --index {index} --llm MODEL")


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
    wanted = [*(ids or ()), *(f"{name.rstrip('/')}/" for name in folder or ())]
    if not wanted:
        raise OptionError("remove needs ids, patterns or --folder; 'graphwright documents' lists the ids.")
    with graphwright.Index.open(index) as opened:
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


def _schema(file: str | None) -> extract.Schema | None:
    """Return the schema of a file, one without types for "none", None without an option."""
    return None if file is None else extract.Schema() if file == "none" else extract.Schema.read(file)


def _client(
    llm: models.LLMSettings | None, folder: Path, model: ExtractionOptions, *, dry_run: bool = False
) -> models.LLM | None:
    """Return the client of a model. It caches replies in the folder, and needs no key in a dry run."""
    if llm is None:
        return None
    return llm.llm(api_key="none") if dry_run else model.client(llm, folder)


def _settings(options: ReadingOptions, folder: Path) -> models.LLMSettings | None:
    """Return the settings of the language model that extracts; a server alone is that of the vision model."""
    model = options.model
    return (replace(model, base_url=None) if options.vision and model.llm is None else model).settings(folder)


def _describer(options: ReadingOptions, folder: Path) -> extract.PictureDescriber | None:
    """Return the function that describes pictures. It has the limits and prices of the command's language model."""
    vision, model = options.vision, options.model
    if vision is None:
        return None

    if model.offline:
        raise OptionError("--offline uses no language model; leave out --vision.")
    name, separator, url = vision.rpartition("@http")  # names of models may contain an @
    model = replace(model, llm=name if separator else vision, base_url=f"http{url}" if separator else model.base_url)
    settings = model.settings(None)
    assert settings is not None
    return extract.PictureDescriber(model.client(settings, folder), prompts=store.IndexLayout(folder).prompts)


def _references(
    references: str | None, llm: models.LLMSettings | None, client: models.LLM | None, into: Path
) -> Callable[..., list[data.Document]] | None:
    """Return the function that finds references between documents, or None."""
    if references not in (None, "rules", "llm"):
        raise OptionError(f"--references is {references!r}; choose from rules, llm.")
    if references != "llm":
        return None if references is None else extract.with_references
    if llm is None:
        raise OptionError("--references llm needs --llm MODEL or a settings.toml that names one; rules need none.")
    return partial(
        extract.with_references, llm=client, threads=llm.concurrency, prompts=store.IndexLayout(into).prompts
    )


def _extractor(
    llm: models.LLMSettings | None, client: models.LLM | None, model: ExtractionOptions, vision: str | None = None
) -> extract.Extractor | str | None:
    """Return the extractor or its name. Limits without a language model are those of the vision model."""
    if llm is None or client is None:
        options = ("extraction", "gleanings", "rate", *(() if vision else ("max_tokens", "max_cost")))
        if flags := [f"--{name.replace('_', '-')}" for name in options if getattr(model, name) is not None]:
            raise OptionError(f"{', '.join(flags)} is for a language model; add --llm MODEL.")
        return model.extractor
    if model.extractor is not None:
        raise OptionError("--extractor is for extraction without a language model; leave out --llm, or add --offline.")
    return extract.GenerativeExtractor(
        client, extraction=llm.extraction, gleanings=llm.gleanings, threads=llm.concurrency
    )


def _collected(collected: list[data.Document], documents: Iterable[data.Document]) -> list[data.Document]:
    collected += documents
    return collected


def _new_chunks(
    paths: Sequence[Path | data.Document],
    into: Path,
    settings: Mapping[str, Any],
    schema: extract.Schema | None,
    reading: data.ReadOptions,
    transform: Callable[..., list[data.Document]] | None,
) -> tuple[list[extract.Excerpt], extract.Schema]:
    """Return the chunks of new and changed documents, and the schema; without an index, of a temporary new one."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as scratch:
        if (into / "index.sqlite").exists():
            index = graphwright.Index.open(into)
        else:
            index = graphwright.Index.create(
                Path(scratch) / "index", settings=store.Settings(**settings), schema=schema
            )
        with index:
            return index.chunks_to_extract(paths, reading, transform), index.extraction_schema


def _change(
    index: graphwright.Index | Path,
    work: Callable[..., store.Changes],
    skipped: list[data.Skipped],
    refer: Callable[..., list[data.Document]] | None = None,
    describer: extract.PictureDescriber | None = None,
    *,
    model: bool,
    as_json: bool,
) -> store.Changes:
    """Change an index, with progress; print the changes. `model`: whether a language model extracts."""
    usage, start = models.Usage() if describer is None else describer.usage, time.perf_counter()
    with progress(usage, whole=not model) as show:
        transform = {} if refer is None else {"transform": partial(refer, usage=usage, progress=show)}
        changes = work(progress=show, usage=usage, **transform)
    seconds = time.perf_counter() - start
    changes.skipped += skipped
    with graphwright.Index.open(index) if isinstance(index, Path) else nullcontext(index) as opened:
        copies = opened.copies([*changes.added, *changes.replaced])
        show_changes(changes, opened.info(), seconds, copies, model=model, as_json=as_json)
    return changes
