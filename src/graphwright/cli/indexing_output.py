"""Output of the commands that change an index: changes, imports, and the estimated cost of a model."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphwright import data, extract, models, store
from graphwright.cli.terminal import note, print_json, say, tokens_and_cost
from graphwright.errors import counted

if TYPE_CHECKING:
    from graphwright.cli.options import ExtractionOptions
    from graphwright.prompts.templates import Prompts

_MAX_SKIPPED = 10  # reasons shown on a terminal
_COUNTS = ("added", "replaced", "unchanged", "moved", "removed", "retained", "skipped")
_FACTS = ("unreadable", "resumed", "rebuilt", "extracted", "released", "off_schema", "refined", "unrefined")


def show_changes(
    changes: store.Changes,
    info: Mapping[str, Any],
    seconds: float,
    copies: Mapping[str, str],
    *,
    model: bool,
    as_json: bool,
) -> None:
    """Print a command's changes. `info`: the index now; `copies`: of others; `model`: whether a model extracts."""
    counts = {name: len(getattr(changes, name)) for name in _COUNTS}
    counts |= {"moved": counts["moved"] - changes.renamed, "renamed": changes.renamed}
    if as_json:
        print_json({**counts, **_details(changes), "copies": copies, "seconds": seconds, "index": info})
        return
    show_notes(changes, info["path"], model=model)
    if copies:
        count, pairs = counted(len(copies), "document"), [f"{copy} of {other}" for copy, other in copies.items()]
        verb = "is a copy" if len(copies) == 1 else "are copies"
        note(f"note: {count} {verb} of others, and share their place in rankings: {_first(pairs)}")
    summary = ["rebuilt"] * changes.rebuilt + [f"{count:,} {name}" for name, count in counts.items() if count]
    if changes.refined:
        summary.append(f"{counted(changes.refined, 'value')} derived by the model")
    if changes.extracted:
        summary.append(f"{counted(changes.extracted, 'chunk')} read {'by the model' if model else 'again'}")
    if changes.off_schema:
        result = "left out" if info["schema"]["strict"] else "without a type"
        what = "entity or relation that does" if changes.off_schema == 1 else "entities and relations that do"
        summary.append(f"{changes.off_schema:,} {what} not fit the schema, {result}")
    if changes.released:
        summary.append(f"{counted(changes.released, 'chunk')} wait for no model any more")
    if model and changes.pending:
        summary.append(f"{counted(len(changes.pending), 'chunk')} not read by the model")
    say(", ".join(summary) or "nothing to change")
    if spending := tokens_and_cost(changes.usage):
        say(f"language model: {spending}")
    _say_contents(info, seconds)


def _details(changes: store.Changes) -> dict[str, Any]:
    return {
        "skipped": [{"path": item.path, "reason": item.reason} for item in changes.skipped],
        "moved_documents": [{"from": earlier, "to": now} for earlier, now in changes.moved],
        "retained_documents": changes.retained,
        "recognised": dict(changes.recognised),
        "unsuitable": dict(changes.unsuitable),
        **{name: getattr(changes, name) for name in _FACTS},
        "pending": [
            {"document": document, "chunk": f"{document}#{position}", "reason": reason}
            for document, position, reason in changes.pending
        ],
        **{name: getattr(changes.usage, name) for name in ("prompt_tokens", "completion_tokens", "cost")},
    }


def show_notes(changes: store.Changes, into: Path, *, model: bool) -> None:
    """Print skipped files, retained documents and, with a `model`, the chunks that wait for it, to stderr."""
    _show_skipped(changes.skipped)
    if changes.retained:
        retained, unreadable = shlex.quote(changes.retained[0]), _first(changes.unreadable)
        note(
            f"note: {counted(len(changes.retained), 'document')} not found any more, but kept, because files that "
            f"cannot be read may contain them: {_first(changes.retained)}. Repair {unreadable} and sync again, or "
            f"remove deleted documents: graphwright remove {retained} --index {shlex.quote(str(into))}"
        )
    if changes.resumed:
        note("note: an earlier run had stored or removed a part of this already; the rest is done now.")
    if changes.recognised:
        shown = _first([f"{document} ({pages})" for document, pages in changes.recognised])
        note(f"note: {counted(len(changes.recognised), 'document')} read by text recognition (OCR): {shown}")
    for reason, count in changes.unsuitable.items():
        note(
            f"note: {reason} in {counted(count, 'document')}. Names cannot be recognised by capital letters there; "
            f"frequent terms are used instead, so the graph is weaker."
        )
    if changes.unrefined:
        note(
            f"note: {len(changes.unrefined):,} summaries of descriptions or decisions about names are missing; the "
            f"offline rules take their place, and the next run tries again. The first: {changes.unrefined[0]}"
        )
    if changes.pending and model:
        note(
            f"note: extraction failed for {counted(len(changes.pending), 'chunk')}. They are indexed by the offline "
            f"rules for now; the next run with a language model retries them. --json lists all:"
        )
        for reason, places in _by_reason((f"{d}#{n}", reason) for d, n, reason in changes.pending):
            note(f"  {_first(places)}: {reason}")


def _show_skipped(skipped: list[data.Skipped]) -> None:
    """Print skipped files and rows by reason: first those that may contain data, then those left out on purpose."""
    first_unread = sorted(skipped, key=lambda item: not item.unread)
    groups = _by_reason((item.path.replace("\n", "%0A"), item.reason) for item in first_unread)
    for reason, paths in groups[:_MAX_SKIPPED]:
        kind = "row" if all(path.rpartition(":")[2].isdecimal() for path in paths) else "file"
        count = f"{counted(len(paths), kind)}, " if len(paths) > 1 else ""
        note(f"skipped {count}{_first(paths)}: {reason}")
    if more := sum(len(paths) for _, paths in groups[_MAX_SKIPPED:]):
        note(f"… and {more:,} more; --json lists all")


def _by_reason(items: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Group places by reason, in the order of their first place."""
    groups = dict[str, list[str]]()
    for place, reason in items:
        groups.setdefault(reason, []).append(place)
    return list(groups.items())


def _first(names: list[str]) -> str:
    return ", ".join(names[:3]) + " …" * (len(names) > 3)


def show_source(info: Mapping[str, Any], seconds: float) -> None:
    """Print the contents of an index that was imported from another system's."""
    source = info["source"]
    for remark in source["remarks"]:
        note(f"note: {remark}.")
    _say_contents(info, seconds, f" of {source['system']}")


def _say_contents(info: Mapping[str, Any], seconds: float, source: str = "") -> None:
    say(
        f"{info['path']}: {counted(info['documents'], 'document')}{source}, {counted(info['chunks'], 'chunk')}, "
        f"{counted(info['nodes'], 'node')}, {counted(info['edges'], 'edge')} "
        f"({info['bytes'] / 1e6:,.1f} MB), in {seconds:.1f} s"
    )


def show_graph(info: Mapping[str, Any], seconds: float) -> None:
    """Print the contents of an index that was imported from files of triples."""
    imported = info["imported"]
    if imported["malformed"]:
        note(f"note: {counted(imported['malformed'], 'malformed row')} left out. The first:")
        for line in imported["examples"]:
            note(f"  {line}")
    for part, count in imported.get("left_out", {}).items():
        note(f"note: left out: {count:,} {part}.")
    vectors = ", ".join(f"{count:,} {name}" for name, count in info["embedded"].items())
    if not vectors:
        note("note: the index has no vectors; methods that search by meaning need --embed names.")
    say(
        f"{info['path']}: {counted(info['edges'], 'triple')}, {counted(info['nodes'], 'node')}, "
        f"{counted(imported['relations'], 'relation')}"
        f"{', vectors of ' * bool(vectors)}{vectors} ({info['bytes'] / 1e6:,.1f} MB), in {seconds:.1f} s"
    )


def show_estimate(
    chunks: list[extract.Excerpt],
    llm: models.LLMSettings | None,
    model: ExtractionOptions,
    citing: Sequence[data.Document],
    schema: extract.Schema,
    *,
    prompts: Prompts,
    as_json: bool,
) -> None:
    """Print the estimated cost of each kind of extraction. `citing`: documents whose references the model lists."""
    gleanings = (model.gleanings or 0) if llm is None else llm.gleanings
    prices, rate = (None, None) if llm is None else (llm.prices, llm.rate)
    estimates = {
        kind: extract.estimate(
            chunks, extraction=kind, gleanings=gleanings, prices=prices, rate=rate, schema=schema, prompts=prompts
        )
        for kind in extract.KINDS
    }
    if citing:
        estimates["references"] = extract.estimate_references(citing, prices=prices, rate=rate)
    if as_json:
        print_json({kind: estimated.to_dict() for kind, estimated in estimates.items()})
        return
    say(estimate_table(estimates))
    if schema:
        each = estimates["full"].schema_tokens
        count = counted(len(schema.entities) + len(schema.relations), "type")
        note(f"note: the prompt lists the schema's {count}; this is {counted(each, 'token')} of each call.")
    for name, option, value in (("hours", "--rate", rate), ("cost", "--prices", prices)):
        if llm is not None and value is None:
            note(f"note: for the {name} give {option}, or set it in the settings.toml of the index.")
    if llm is None:
        note("note: this is the cost with a language model (--llm MODEL); extraction without one costs nothing.")


def estimate_table(estimates: dict[str, extract.Estimate]) -> str:
    """Return the estimates as a table, with a column for each kind of extraction.

    >>> from graphwright.extract import Estimate
    >>> print(estimate_table({"full": Estimate(10, 10, 9000, 4000), "triples": Estimate(10, 10, 4000, 1500, 2.0, 0.5)}))
                              full      triples
    chunks                      10           10
    calls                       10           10
    prompt tokens            9,000        4,000
    completion tokens        4,000        1,500
    hours                     unknown            2.00
    cost                      unknown            0.50
    """
    lines = [["", *estimates]]
    for name in ("chunks", "calls", "prompt_tokens", "completion_tokens", "hours", "cost"):
        values = [getattr(value, name) for value in estimates.values()]
        lines.append([name.replace("_", " "), *(_cell(name, value) for value in values)])
    return "\n".join(f"{first:17}" + "".join(f" {cell:>15}" for cell in cells) for first, *cells in lines)


def _cell(name: str, value: float | None) -> str:
    if value is None:
        return "unknown"
    if name not in ("hours", "cost"):
        return f"{value:,}"
    return f"{value:,.2f}" if value >= 0.1 or not value else f"{value:.2g}"
