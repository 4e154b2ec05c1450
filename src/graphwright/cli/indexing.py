"""Commands that change an index: extract, estimate, store and report, with progress on stderr."""

from __future__ import annotations

import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphwright.cli.terminal import clean, counted, note, print_json, progress_bar, shortened, tokens_and_cost
from graphwright.data.knowledge_graphs import dump_of
from graphwright.data.openie import read_openie
from graphwright.errors import DataError, OptionError
from graphwright.index.build import Progress, Settings
from graphwright.index.generative import GenerativeExtractor, estimate
from graphwright.index.lexical import LexicalExtractor
from graphwright.index.precomputed import Precomputed
from graphwright.index_folder import Changes, Index
from graphwright.models.protocols import Usage
from graphwright.models.registry import encoder_of

if TYPE_CHECKING:
    from graphwright.cli.options import ExtractionOptions
    from graphwright.data.document import Skipped
    from graphwright.index.extraction import Excerpt, Extractor
    from graphwright.models.settings import LLMSettings

__all__ = ["Result", "add_documents", "extract_again", "import_graph", "remove_documents", "report", "sync_folder"]

_MAX_FAILURES, _MAX_SKIPPED = 3, 10  # shown on a terminal
_COUNTS = ("added", "replaced", "unchanged", "removed", "retained", "skipped")


Work = Callable[[Index, Progress, Usage], Changes]
"""Change an index, adding the work of models to the usage."""


@dataclass(frozen=True)
class Result:
    """Changes that a command made to an index, and their duration."""

    index: Index
    changes: Changes
    seconds: float


def add_documents(
    paths: list[Path],
    into: Path,
    settings: Mapping[str, Any],
    encoder: str | None,
    model: ExtractionOptions,
    openie: Path | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Add documents to an index, or in a dry run print the estimated cost of extraction by a language model.

    `settings` and `encoder` are those of a new index. `openie`: a file of extractions, instead of a model.
    """
    if openie is not None and (model.llm or dry_run):
        raise OptionError("--openie replaces extraction; leave out --llm and --estimate.")
    llm = None if openie is not None else model.settings(into)
    _check_paths(paths)
    if dry_run:
        with tempfile.TemporaryDirectory() as scratch:
            exists = (into / "index.sqlite").exists()
            index = Index.open(into) if exists else Index.create(Path(scratch) / "index", settings=Settings(**settings))
            with index:
                chunks = index.chunks_to_extract(paths)
        _show_estimate(chunks, llm, model, as_json=as_json)
        return
    skipped: list[Skipped] = []
    if openie is None:
        make_extractor = _extractor_factory(llm, into, model)
    else:
        extractor = Precomputed.of(read_openie(openie, skipped.append))
        make_extractor = lambda: extractor  # noqa: E731
    result = _change_or_create(
        into, settings, encoder, make_extractor, lambda index, show, usage: index.add(paths, show, usage=usage)
    )
    report(result, skipped, as_json=as_json)


def sync_folder(folder: Path, into: Path, encoder: str | None, model: ExtractionOptions, *, as_json: bool) -> None:
    """Make an index match a folder of documents."""
    make_extractor = _extractor_factory(model.settings(into), into, model)
    _check_paths([folder])
    result = _change_or_create(
        into, {}, encoder, make_extractor, lambda index, show, usage: index.sync(folder, show, usage=usage)
    )
    report(result, [], as_json=as_json)


def extract_again(
    folder: Path, ids: list[str] | None, model: ExtractionOptions, *, dry_run: bool, as_json: bool
) -> None:
    """Extract again from stored documents, or in a dry run print the cost. Exits with 1 if every chunk failed."""
    llm = model.settings(folder)
    if llm is None and not model.offline:
        raise OptionError("reextract needs --llm MODEL or a settings.toml that names one; or --offline for the rules.")
    index = Index.open(folder, extractor=_extractor_factory(llm, folder, model, dry_run=dry_run)())
    if dry_run:
        _show_estimate(index.chunks_to_reextract(ids), llm, model, as_json=as_json)
        return
    result = _change(index, lambda index, show, usage: index.reextract(ids, show, usage=usage))
    report(result, [], as_json=as_json)
    if result.changes.pending and not result.changes.extracted:
        raise SystemExit(1)


def remove_documents(folder: Path, ids: list[str]) -> None:
    """Remove documents from an index."""
    with Index.open(folder) as index:
        print(f"removed {counted(len(index.remove(ids).removed), 'document')}")


def _extractor_factory(
    llm: LLMSettings | None, folder: Path, model: ExtractionOptions, *, dry_run: bool = False
) -> Callable[[], Extractor]:
    """Return a function that makes the extractor, to be called once the index folder exists.

    The LLM extractor caches replies in that folder. In a dry run it sends nothing and needs no key.
    """
    if llm is None:
        if model.max_tokens is not None or model.max_cost is not None or model.gleanings is not None:
            raise OptionError("--max-tokens, --max-cost and --gleanings are for a language model; add --llm MODEL.")
        return LexicalExtractor

    def make() -> Extractor:
        client = llm.llm(api_key="none") if dry_run else model.client(llm, folder)
        return GenerativeExtractor(client, gleanings=_gleanings(llm, model), threads=llm.concurrency)

    return make


def _gleanings(llm: LLMSettings | None, model: ExtractionOptions) -> int:
    return model.gleanings if model.gleanings is not None else 0 if llm is None else llm.gleanings


def _check_paths(paths: list[Path]) -> None:
    """Raise DataError if a path does not exist."""
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise DataError(f"{missing[0]} does not exist; nothing was indexed. Check the path.")


def _change_or_create(
    into: Path,
    settings: Mapping[str, Any],
    encoder: str | None,
    make_extractor: Callable[[], Extractor],
    work: Work,
) -> Result:
    """Change an index, which is created if it does not exist, and deleted again if nothing could be added."""
    created, contents = not (into / "index.sqlite").exists(), set(into.iterdir()) if into.is_dir() else None
    if created:
        Index.create(into, encoder=encoder, settings=Settings(**settings)).close()
    else:
        _check_unchanged(into, encoder, settings)
    try:
        return _change(Index.open(into, extractor=make_extractor()), work)
    except BaseException:
        if created and not Index.open(into).documents:
            _delete_index(into, contents)
        raise


def _check_unchanged(into: Path, encoder: str | None, settings: Mapping[str, Any]) -> None:
    """Raise OptionError for a setting that only a new index can be given."""
    with Index.open(into) as index:
        stored = {**asdict(index.settings), "encoder": index.encoder}
    options = {**settings, **({} if encoder is None else {"encoder": encoder_of(encoder).id})}
    for name, value in options.items():
        if value != stored[name]:
            raise OptionError(
                f"{into} was created with {name} {stored[name]!r}, not {value!r}. Leave the option out, or index into "
                f"a new folder."
            )


def _delete_index(into: Path, contents: set[Path] | None) -> None:
    """Delete an index that was just created, but not what its folder contained before (None: the folder is new)."""
    for path in into.iterdir():
        if path not in (contents or ()):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    if contents is None:
        into.rmdir()


def _change(index: Index, work: Work) -> Result:
    """Change an index, with progress and usage on stderr."""
    usage, start = Usage(), time.perf_counter()
    with progress_bar(usage) as show:
        changes = work(index, show, usage)
    return Result(index, changes, time.perf_counter() - start)


def import_graph(
    files: Sequence[Path],
    into: Path,
    *,
    file_options: Mapping[str, Any],
    names: Sequence[Path],
    max_malformed: int | None,
    embed: Sequence[str] | None,
    encoder: str | None,
    as_json: bool,
) -> None:
    """Create an index from files of triples, with progress, and report its contents."""
    dumps = [dump_of(file, **file_options) for file in files]
    start = time.perf_counter()
    with progress_bar() as show:
        index = Index.from_graph(
            into, dumps, names=names, max_malformed=max_malformed, embed=embed, encoder=encoder, progress=show
        )
    seconds, info = time.perf_counter() - start, index.info()
    if as_json:
        print_json({"index": info, "seconds": seconds})
        return
    imported = info["imported"]
    if imported["malformed"]:
        note(f"note: {counted(imported['malformed'], 'malformed row')} left out. The first:")
        for line in imported["examples"]:
            note(f"  {line}")
    vectors = ", ".join(f"{count:,} {name}" for name, count in info["embedded"].items())
    if not vectors:
        note("note: the index has no vectors; methods that search by meaning need --embed names.")
    print(
        f"{index.path}: {counted(info['edges'], 'triple')}, {counted(info['nodes'], 'node')}, "
        f"{counted(imported['relations'], 'relation')}"
        f"{', vectors of ' * bool(vectors)}{vectors} ({info['bytes'] / 1e6:,.1f} MB), in {seconds:.1f} s"
    )
    note(f'Next: graphwright ask "…" --index {into}')


def _show_estimate(chunks: list[Excerpt], llm: LLMSettings | None, model: ExtractionOptions, *, as_json: bool) -> None:
    """Print the estimated cost of extracting from these chunks."""
    estimated = estimate(chunks, gleanings=_gleanings(llm, model), prices=None if llm is None else llm.prices)
    if as_json:
        print_json({name: getattr(estimated, name) for name in estimated.__slots__})
        return
    print(estimated)
    if llm is None:
        note("note: this is the cost with a language model (--llm MODEL); extraction without one costs nothing.")


def report(result: Result, skipped: list[Skipped], *, as_json: bool) -> None:
    """Print the changes, and the documents and chunks that could not be read."""
    changes, info = result.changes, result.index.info()
    changes.skipped += skipped
    counts = {name: len(getattr(changes, name)) for name in _COUNTS}
    if as_json:
        print_json({**counts, **_details(result), "seconds": result.seconds, "index": info})
        return
    _show_notes(changes, result.index.path)
    summary = [f"{count:,} {name}" for name, count in counts.items() if count or name == "added"]
    if changes.extracted:
        summary.append(f"{counted(changes.extracted, 'chunk')} read by the model")
    print(", ".join(summary))
    if spending := tokens_and_cost(changes.usage):
        print(f"language model: {spending}")
    print(
        f"{result.index.path}: {counted(info['documents'], 'document')}, {counted(info['chunks'], 'chunk')}, "
        f"{counted(info['nodes'], 'node')}, {counted(info['edges'], 'edge')} "
        f"({info['bytes'] / 1e6:,.1f} MB), in {result.seconds:.1f} s"
    )


def _details(result: Result) -> dict[str, Any]:
    changes, usage = result.changes, result.changes.usage
    return {
        "skipped": [{"path": item.path, "reason": item.reason} for item in changes.skipped],
        "retained_documents": changes.retained,
        "unreadable": changes.unreadable,
        "resumed": changes.resumed,
        "unsuitable": dict(changes.unsuitable),
        "extracted": changes.extracted,
        "pending": [
            {"document": document, "chunk": f"{document}#{position}", "reason": reason}
            for document, position, reason in changes.pending
        ],
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost": usage.cost,
    }


def _first(names: list[str]) -> str:
    return ", ".join(names[:3]) + " …" * (len(names) > 3)


def _show_notes(changes: Changes, into: Path) -> None:
    """Print the details of the counts to stderr: skipped files, kept documents, a resumed run."""
    for item in changes.skipped[:_MAX_SKIPPED]:
        note(f"skipped {item.path}: {item.reason}")
    if len(changes.skipped) > _MAX_SKIPPED:
        note(f"… and {len(changes.skipped) - _MAX_SKIPPED} more; --json lists all")
    if changes.retained:
        retained, unreadable = shlex.quote(clean(changes.retained[0])), _first(changes.unreadable)
        note(
            f"note: {counted(len(changes.retained), 'document')} not found in the folder, but kept, because files that "
            f"cannot be read may contain them: {_first(changes.retained)}. Repair {unreadable} and sync again, or "
            f"remove deleted documents: graphwright remove {retained} --index {shlex.quote(clean(str(into)))}"
        )
    if changes.resumed:
        note("note: an interrupted run was completed; the documents that it had stored count as unchanged.")
    for reason, count in changes.unsuitable.items():
        note(
            f"note: {reason} in {counted(count, 'document')}. Names cannot be recognised by capital letters there; "
            f"frequent terms are used instead, so the graph is weaker."
        )
    if changes.pending:
        note(
            f"note: extraction failed for {counted(len(changes.pending), 'chunk')}. They are indexed by the offline "
            f"rules for now; the next run with a language model retries them. --json lists all:"
        )
        for document, position, reason in changes.pending[:_MAX_FAILURES]:
            note(f"  {document}#{position}: {shortened(reason, 160)}")
