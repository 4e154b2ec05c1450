"""Commands that change an index: extract, estimate, store and report, with progress on stderr."""

from __future__ import annotations

import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphwright.cli.options import llm_client
from graphwright.cli.terminal import clean, counted, note, print_json, progress_bar, shortened, tokens_and_cost
from graphwright.data.dumps import dump_of
from graphwright.data.openie import read_openie
from graphwright.errors import DataError, OptionError
from graphwright.index.build import Progress, Settings
from graphwright.index.generative import estimate
from graphwright.index.lexical import LexicalExtractor
from graphwright.index.precomputed import Precomputed
from graphwright.index_folder import Added, Index
from graphwright.models.base import metered
from graphwright.models.named import encoder_named
from graphwright.models.protocols import Usage

if TYPE_CHECKING:
    from graphwright.data.base import Skipped
    from graphwright.index.extraction import Excerpt, Extractor
    from graphwright.models.settings import LLMSettings

__all__ = ["Result", "add_to", "change", "estimate_for", "extractor_factory", "import_graph", "openie_extractor"]
__all__ += ["paths_that_exist", "report", "show_estimate"]

_MAX_FAILURES, _MAX_SKIPPED = 3, 10  # shown on a terminal
_COUNTS = ("added", "replaced", "unchanged", "removed", "kept", "skipped")


@dataclass
class Result:
    """Changes that a command made to an index, their duration and the usage of models."""

    index: Index
    added: Added
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)


def extractor_factory(
    settings: LLMSettings | None,
    folder: Path,
    *,
    gleanings: bool,
    max_tokens: int | None,
    max_cost: float | None,
    dry_run: bool = False,
) -> Callable[[], Extractor]:
    """Return a function that makes the extractor, to be called once the index folder exists.

    The LLM extractor caches replies in that folder. In a dry run it sends nothing and needs no key.
    """
    if settings is None:
        if max_tokens is not None or max_cost is not None or gleanings:
            raise OptionError("--max-tokens, --max-cost and --gleanings are for a language model; add --llm MODEL.")
        return LexicalExtractor

    def make() -> Extractor:
        from graphwright.index.generative import GenerativeExtractor

        client = None if dry_run else llm_client(settings, folder, max_tokens=max_tokens, max_cost=max_cost)
        model = client or settings.endpoint(api_key="none")
        return GenerativeExtractor(model, second_look=gleanings or settings.second_look, threads=settings.concurrency)

    return make


def openie_extractor(path: Path, skipped: list[Skipped]) -> Extractor:
    """Return an extractor that takes entities and triples from an OpenIE file."""
    return Precomputed.of(read_openie(path, skipped.append))


def add_to(
    into: Path,
    settings: Mapping[str, Any],
    encoder: str | None,
    make_extractor: Callable[[], Extractor],
    work: Callable[[Index, Progress], Added],
) -> Result:
    """Change an index, which is created if it does not exist, and deleted again if nothing could be added."""
    created, contents = not (into / "index.sqlite").exists(), set(into.iterdir()) if into.is_dir() else None
    if created:
        Index.create(into, encoder=encoder, settings=Settings(**settings)).close()
    else:
        _check_unchanged(into, encoder, settings)
    try:
        return change(Index.open(into, extractor=make_extractor()), work)
    except BaseException:
        if created and not Index.open(into).documents:
            _delete_index(into, contents)
        raise


def _check_unchanged(into: Path, encoder: str | None, settings: Mapping[str, Any]) -> None:
    """Raise OptionError for a setting that only a new index can be given."""
    with Index.open(into) as index:
        stored = {**asdict(index.settings), "encoder": index.encoder}
    options = {**settings, **({} if encoder is None else {"encoder": encoder_named(encoder).id})}
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


def change(index: Index, work: Callable[[Index, Progress], Added]) -> Result:
    """Change an index, with progress and usage on stderr."""
    result, start = Result(index, Added()), time.perf_counter()
    with metered() as result.usage, progress_bar(result.usage) as show:
        result.added = work(index, show)
    result.seconds = time.perf_counter() - start
    return result


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
    """Create an index from files of triples, with progress, and report what it contains."""
    dumps = [dump_of(file, **file_options) for file in files]
    start = time.perf_counter()
    with progress_bar() as show:
        index = Index.from_graph(
            into, dumps, names=names, malformed=max_malformed, embed=embed, encoder=encoder, progress=show
        )
    seconds, info = time.perf_counter() - start, index.info()
    if as_json:
        print_json({"index": info, "seconds": seconds})
        return
    imported = info["imported"]
    if imported["malformed"]:
        note(f"note: {counted(imported['malformed'], 'malformed row')} left out. The first:")
        for line in imported["shown"]:
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


def paths_that_exist(paths: list[Path]) -> list[Path]:
    """Return the paths. Raises DataError if one does not exist."""
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise DataError(f"{missing[0]} does not exist; nothing was indexed. Check the path.")
    return paths


def estimate_for(
    paths: list[Path],
    into: Path,
    settings: Mapping[str, Any],
    llm: LLMSettings | None,
    *,
    gleanings: bool,
    as_json: bool,
) -> None:
    """Print the estimated cost of extracting from these paths with a language model; writes and sends nothing."""
    with tempfile.TemporaryDirectory() as scratch:
        exists = (into / "index.sqlite").exists()
        index = Index.open(into) if exists else Index.create(Path(scratch) / "index", settings=Settings(**settings))
        with index:
            chunks = index.unseen(paths)
    show_estimate(chunks, llm, gleanings=gleanings, as_json=as_json)


def show_estimate(chunks: list[Excerpt], llm: LLMSettings | None, *, gleanings: bool, as_json: bool) -> None:
    """Print the estimated cost of extracting from these chunks."""
    gleanings = gleanings or (llm is not None and llm.second_look)
    estimated = estimate(chunks, second_look=gleanings, prices=None if llm is None else llm.prices)
    if as_json:
        print_json({name: getattr(estimated, name) for name in estimated.__slots__})
        return
    print(estimated)
    if llm is None:
        note("note: this is the cost with a language model (--llm MODEL); extraction without one costs nothing.")


def report(result: Result, skipped: list[Skipped], *, as_json: bool) -> None:
    """Print the changes, and the documents and chunks that could not be read."""
    added, info = result.added, result.index.info()
    added.skipped += skipped
    counts = {name: len(getattr(added, name)) for name in _COUNTS}
    if as_json:
        print_json({**counts, **_details(result), "seconds": result.seconds, "index": info})
        return
    _show_notes(added, result.index.path)
    summary = [f"{count:,} {name}" for name, count in counts.items() if count or name == "added"]
    if added.deepened:
        summary.append(f"{counted(added.deepened, 'chunk')} read by the model")
    print(", ".join(summary))
    if spending := tokens_and_cost(result.usage):
        print(f"language model: {spending}")
    print(
        f"{result.index.path}: {counted(info['documents'], 'document')}, {counted(info['chunks'], 'chunk')}, "
        f"{counted(info['nodes'], 'node')}, {counted(info['edges'], 'edge')} "
        f"({info['bytes'] / 1e6:,.1f} MB), in {result.seconds:.1f} s"
    )


def _details(result: Result) -> dict[str, Any]:
    added, usage = result.added, result.usage
    return {
        "skipped": [{"path": item.path, "reason": item.reason} for item in added.skipped],
        "kept_documents": added.kept,
        "unread": added.unread,
        "resumed": added.resumed,
        "unfit": dict(added.unfit),
        "deepened": added.deepened,
        "waiting": [
            {"document": document, "chunk": f"{document}#{position}", "reason": reason}
            for document, position, reason in added.waiting
        ],
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost": usage.cost,
    }


def _first(names: list[str]) -> str:
    return ", ".join(names[:3]) + " …" * (len(names) > 3)


def _show_notes(added: Added, into: Path) -> None:
    """Print to stderr what the counts alone do not say."""
    for item in added.skipped[:_MAX_SKIPPED]:
        note(f"skipped {item.path}: {item.reason}")
    if len(added.skipped) > _MAX_SKIPPED:
        note(f"… and {len(added.skipped) - _MAX_SKIPPED} more; --json lists all")
    if added.kept:
        note(
            f"note: {counted(len(added.kept), 'document')} not found in the folder, but kept, because unreadable files "
            f"may contain them: {_first(added.kept)}. Repair {_first(added.unread)} and sync again, or remove what is "
            f"gone: graphwright remove {shlex.quote(clean(added.kept[0]))} --index {shlex.quote(clean(str(into)))}"
        )
    if added.resumed:
        note("note: an interrupted run was finished; the documents that it had stored count as unchanged.")
    for reason, count in added.unfit.items():
        note(
            f"note: {reason} in {counted(count, 'document')}. Names cannot be recognised by capital letters there; "
            f"frequent terms are used instead, so the graph is weaker."
        )
    if added.waiting:
        note(
            f"note: extraction failed for {counted(len(added.waiting), 'chunk')}. They are indexed by the offline "
            f"rules for now; the next run with a language model retries them. --json lists all:"
        )
        for document, position, reason in added.waiting[:_MAX_FAILURES]:
            note(f"  {document}#{position}: {shortened(reason, 160)}")
