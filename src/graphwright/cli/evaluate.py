"""What the evaluate command does: run an experiment, show its table, and say where the report is."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphwright.cli.model import BaseUrl, MaxCost, MaxTokens, Model, PerMillion, client, settings_for
from graphwright.errors import OptionError

if TYPE_CHECKING:
    from graphwright.evaluate.experiment import Experiment
    from graphwright.models.protocols import LLM

__all__ = ["evaluate"]


def evaluate(
    out: Annotated[Path, typer.Option("--out", help="The run's folder; an interrupted run goes on where it stopped.")],
    plan: Annotated[
        Path | None, typer.Argument(help="A file that describes the experiment, such as a run's experiment.toml.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="A folder or file with a corpus or graph and questions, or questions alone."),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option("--methods", help="Parted by commas: names, with options as ppr(restart=0.5), or expressions."),
    ] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option("--sweep", help="Values of an option, as restart=0.15,0.5; may be repeated, for a grid."),
    ] = None,
    questions: Annotated[
        str | None, typer.Option("--questions", help="Which questions of the data (2hop_dev), or a file of others.")
    ] = None,
    index: Annotated[
        Path | None, typer.Option("--index", help="An index of the same corpus or graph, such as an earlier run's.")
    ] = None,
    extraction: Annotated[
        str | None, typer.Option(help="Where entities come from: lexical, or openie (the folder's openie.jsonl).")
    ] = None,
    no_titles: Annotated[bool, typer.Option("--no-titles", help="Leave the documents' titles out.")] = False,
    embed: Annotated[str | None, typer.Option(help="What gets a vector: passages, names, triples.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Ask only so many, drawn by seed.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the questions drawn, the intervals and the tests.")] = None,
    baseline: Annotated[
        str | None, typer.Option(help="The method that others are tested against; the first if not given.")
    ] = None,
    metrics: Annotated[str | None, typer.Option(help="What is measured; what the data can bear if not given.")] = None,
    answers: Annotated[
        bool | None, typer.Option("--answers/--no-answers", help="Have methods answer, or only retrieve.")
    ] = None,
    link: Annotated[
        bool | None,
        typer.Option("--link/--given", help="Have methods find the entities that a question is given with."),
    ] = None,
    apart: Annotated[
        bool, typer.Option("--apart", help="Run each method on its own, sharing no step with another.")
    ] = False,
    llm: Model = None,
    base_url: BaseUrl = None,
    prices: PerMillion = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    judge: Annotated[
        str | None,
        typer.Option("--judge", help="Judge answers: a model of the same server, or overlap for the offline stand-in."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Measure methods side by side on one set of questions: how good, how fast, how dear; with a report to read."""
    from graphwright.cli.indexing import progress_bar
    from graphwright.evaluate.entries import parted
    from graphwright.evaluate.judges import OverlapJudge
    from graphwright.evaluate.run import run

    given = {
        "data": data,
        "methods": None if methods is None else parted(methods),
        "sweep": _grid(sweep),
        "questions": questions,
        "extraction": extraction,
        "titles": False if no_titles else None,
        "embed": None if embed is None else _names(embed),
        "limit": limit,
        "seed": seed,
        "baseline": baseline,
        "metrics": None if metrics is None else _names(metrics),
        "answered": answers,
        "linked": link,
        "index": index,
    }
    experiment = _experiment(plan, {name: value for name, value in given.items() if value is not None})

    def reached(name: str) -> LLM | None:
        settings = settings_for(out, name, base_url, prices)
        return None if settings is None else client(settings, out, max_tokens=max_tokens, max_cost=max_cost)

    if base_url and llm is None and judge in (None, "overlap"):
        raise OptionError(f"--base-url {base_url} names a server but no model; add --llm or --judge MODEL.")
    model = None if llm is None else reached(llm)
    judging = None if judge is None else OverlapJudge() if judge == "overlap" else reached(judge)
    with progress_bar() as show:
        summary = run(experiment, out, llm=model, judge=judging, together=not apart, progress=show)
    _remarks(summary["data"])
    if as_json:
        print(json.dumps(summary, ensure_ascii=False))
    else:
        _show(summary)
    print(f"report: {out / 'report.html'}", file=sys.stderr)
    models = {"--llm": llm, "--base-url": base_url, "--judge": judge}
    more = "".join(f" {option} {value}" for option, value in models.items() if value)
    print(f"again: graphwright evaluate {out / 'experiment.toml'} --out NEW{more}", file=sys.stderr)


def _experiment(plan: Path | None, given: dict[str, Any]) -> Experiment:
    from graphwright.evaluate.experiment import Experiment
    from graphwright.evaluate.plan import read_plan

    if plan is not None:
        return read_plan(plan, **given)
    missing = [f"--{name}" for name in ("data", "methods") if name not in given]
    if missing:
        raise OptionError(f"evaluate needs {' and '.join(missing)}, or a file that describes the experiment.")
    return Experiment(**given)


def _names(given: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in given.split(",") if name.strip())


def _grid(sweep: list[str] | None) -> dict[str, tuple[Any, ...]] | None:
    from graphwright.evaluate.entries import values

    if not sweep:
        return None
    wrong = [one for one in sweep if "=" not in one]
    if wrong:
        raise OptionError(f"--sweep {wrong[0]!r}: give an option and its values, as restart=0.15,0.5.")
    grid: dict[str, tuple[Any, ...]] = {}
    for option, some in (one.split("=", 1) for one in sweep):
        grid[option.strip()] = (*grid.get(option.strip(), ()), *values(some))
    return grid


def _remarks(data: dict[str, Any]) -> None:
    for name in ("unjudged questions left out", "rows that could not be read"):
        if data[name]:
            print(f"{name}: {data[name]:,}", file=sys.stderr)
    for remark in data["remarks"]:
        print(remark, file=sys.stderr)


def _show(summary: dict[str, Any]) -> None:
    """Print a table for people on a terminal, Markdown elsewhere."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from graphwright.evaluate.report import brief, terminal

    console = Console(highlight=False)
    if not console.is_terminal:
        print(brief(summary), end="")
        return
    heading, (header, *rows) = terminal(summary, console.width)
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in header:
        shown.add_column(name, justify="left" if name == "method" else "right")
    for cells in rows:
        shown.add_row(*cells)
    console.print(heading, shown, sep="\n", markup=False)
