"""What the evaluate command does: run an experiment, show its table."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["evaluate"]


def evaluate(
    data: Annotated[
        Path, typer.Option("--data", help="A folder with corpus.jsonl and questions.jsonl, or a BEIR set.")
    ],
    methods: Annotated[
        str, typer.Option("--methods", help="Names parted by commas; 'graphwright methods' lists them.")
    ],
    out: Annotated[Path, typer.Option("--out", help="The run's folder; an interrupted run goes on where it stopped.")],
    index: Annotated[
        Path | None, typer.Option("--index", help="An index of the same corpus, such as an earlier run's.")
    ] = None,
    extraction: Annotated[
        str, typer.Option(help="Where entities come from: lexical, or openie (the folder's openie.jsonl).")
    ] = "lexical",
    no_titles: Annotated[bool, typer.Option("--no-titles", help="Leave the documents' titles out.")] = False,
    embed: Annotated[str, typer.Option(help="What gets a vector: passages, names, triples.")] = "passages",
    limit: Annotated[int | None, typer.Option(min=1, help="Ask only so many, drawn by seed.")] = None,
    seed: Annotated[int, typer.Option(help="Of the questions drawn, the intervals and the tests.")] = 0,
    baseline: Annotated[
        str | None, typer.Option(help="The method that others are tested against; the first if not given.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Measure methods side by side on one set of questions: recall, nDCG, and the time of every step."""
    from graphwright.cli.indexing import progress_bar
    from graphwright.evaluate.experiment import Experiment
    from graphwright.evaluate.run import run

    experiment = Experiment(
        data=data,
        methods=_names(methods),
        extraction=extraction,
        titles=not no_titles,
        embed=_names(embed),
        limit=limit,
        seed=seed,
        baseline=baseline,
    )
    with progress_bar() as show:
        summary = run(experiment, out, index=index, progress=show)
    for name in ("unjudged questions left out", "rows that could not be read"):
        if summary["data"][name]:
            print(f"{name}: {summary['data'][name]:,}", file=sys.stderr)
    if as_json:
        print(json.dumps(summary, ensure_ascii=False))
    else:
        _show(summary)
    print(f"results, manifest and step times: {out}", file=sys.stderr)


def _names(given: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in given.split(",") if name.strip())


def _show(summary: dict[str, Any]) -> None:
    """Print a table for people on a terminal, Markdown elsewhere."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from graphwright.evaluate.summary import heading, markdown, table

    console = Console(highlight=False)
    if not console.is_terminal:
        print(markdown(summary), end="")
        return
    header, *rows = table(summary)
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in header:
        shown.add_column(name, justify="left" if name == "method" else "right")
    for cells in rows:
        shown.add_row(*cells)
    console.print(heading(summary), shown, sep="\n", markup=False)
