"""Measure answers to everyday questions over manuals, tables, mail and notes, records, office files, or graphs.

    python benchmarks/everyday.py graphs [--method NAME] [--half open|closed|both] [--show]
    python benchmarks/everyday.py records [--method NAME] [--half open|closed|both] [--show]
    python benchmarks/everyday.py office [--method NAME] [--half open|closed|both] [--show]
    python benchmarks/everyday.py [documents] [--work FOLDER] [--method NAME] [--half open|closed|both] [--show]
    python benchmarks/everyday.py --llm MODEL --base-url URL [--method NAME]

The packages in `everyday/sources.toml` are fetched through the clients of their registries (apt-get, pip, npm), checked
against their SHA-256, extracted (manual pages need groff) and indexed together; all of it is kept in `everyday` in the
folder of `--work`, the index in that of the state of the code. A source whose version is no longer served is named,
and its questions are left out. With `graphs`,
each file of `everyday/graphs` is imported into an index of its own; with `records` or `office`, the files of
`everyday/records` (tables, mails, a chat, clauses, versions) or `everyday/office` (contracts, minutes, invoices and the
like) are indexed together. Every question of the half is asked, and scored by `questions/score.py`, without a judge.
Writes `everyday-documents.json` and `.md`, or those of `everyday-graphs`, `everyday-records` or `everyday-office`.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from tempfile import TemporaryDirectory

from harness import Record, arguments, parse, write_results
from questions.graphs import ask_graphs
from questions.report import add_arguments, ask_all, of_half, page, results
from questions.score import read_everyday
from sources.everyday import documents_of
from sources.packages import Source, Unavailable, read_sources

from graphwright import Index
from graphwright.cli.terminal import progress as shown_progress

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


def indexed(work: Path, documents: Path) -> Index:
    """Return the index of all documents, brought up to date."""
    index = Index(work / "index")
    with shown_progress() as progress:
        index.sync(documents, progress)
    return index


def over_documents(options: Namespace) -> Record:
    """Ask the questions over documents, and return the results."""
    documents = options.fetched / "everyday"
    names = available(read_sources(QUESTIONS / "sources.toml"), documents)
    questions = [q for q in read_everyday(QUESTIONS / "documents.jsonl") if q.source in names]
    with indexed(options.work / "everyday", documents / "documents") as index:
        rows = ask_all(index, of_half(questions, options.half), options)
        method = options.method or index.default_method
        return results(rows, method, options) | {"documents": index.documents, "sources": sorted(names)}


def over_graphs(options: Namespace) -> Record:
    """Ask the questions over graphs, and return the results."""
    rows, graphs = ask_graphs(of_half(read_everyday(QUESTIONS / "graphs.jsonl"), options.half), options)
    methods = sorted({graph["method"] for graph in graphs.values()})
    return results(rows, ", ".join(methods), options) | {"graphs": graphs}


def over_files(options: Namespace) -> Record:
    """Ask the questions over the files in the folder that the options name, and return the results."""
    questions = of_half(read_everyday(QUESTIONS / f"{options.over}.jsonl"), options.half)
    with TemporaryDirectory() as folder, Index(Path(folder) / "index") as index:
        index.sync(QUESTIONS / options.over)
        rows = ask_all(index, questions, options)
        return results(rows, options.method or index.default_method, options) | {"documents": index.documents}


OVER = {"documents": over_documents, "graphs": over_graphs, "records": over_files, "office": over_files}


def main() -> None:
    """Ask the questions and write the results."""
    parser = arguments(__doc__, data=False)
    parser.add_argument("over", nargs="?", choices=list(OVER), default="documents", help="which questions")
    add_arguments(parser)
    options = parse(parser)
    stored = OVER[options.over](options)
    table = page(stored["counts"])
    write_results(options.out / f"everyday-{options.over}.json", stored, table)
    print(table)


if __name__ == "__main__":
    main()
