"""The evaluate command: run an experiment, print its table and the path of its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphwright.cli.options import AsJson, Confidence, ModelOptions, expanded, names_in
from graphwright.errors import OptionError

if TYPE_CHECKING:
    from graphwright.evaluate import Experiment
    from graphwright.models import LLM


@dataclass(frozen=True)
class ExperimentOptions:
    """The data, the methods and the metrics of an experiment."""

    data: Annotated[Path | None, "Folder or file with a corpus or graph and questions, or questions only."] = None
    methods: Annotated[str | None, "Methods, separated by commas; with options as ppr(restart=0.5)."] = None
    method_file: Annotated[
        list[Path] | None, "Python file with a function method(ix), compared under the file's name. Repeatable."
    ] = None
    questions: Annotated[str | None, "Question set of the data (2hop_dev), or a file of questions."] = None
    index: Annotated[Path | None, "Existing index of the same corpus or graph, to reuse."] = None
    extraction: Annotated[str | None, "Source of entities: mentions, rules, or openie (a file of the folder)."] = None
    embed: Annotated[str | None, "Texts with vectors: passages, names, triples."] = None
    limit: Annotated[int | None, typer.Option(min=1, help="Number of questions to sample (default: all).")] = None
    seed: Annotated[int | None, "Random seed for samples, intervals and tests."] = None
    baseline: Annotated[str | None, "Method that the others are tested against (default: the first)."] = None
    metrics: Annotated[str | None, "Metrics to report (default: all that the data supports)."] = None
    confidence: Confidence = None
    answered: Annotated[
        bool | None, typer.Option("--answers/--no-answers", help="Answer the questions, or retrieve only.")
    ] = None

    def experiment(self, plan: Path | None) -> Experiment:
        """Return the experiment of these options; they override those of the file `plan`, if given."""
        from graphwright.evaluate import Experiment, read_plan
        from graphwright.evaluate.entries import split_list
        from graphwright.methods.method import read_method_file

        parse: dict[str, Callable[[Any], Any]] = {
            "methods": split_list,
            "embed": names_in,
            "metrics": names_in,
        }
        arguments = {name: value for name, value in vars(self).items() if value is not None and name != "method_file"}
        options = {name: parse[name](value) if name in parse else value for name, value in arguments.items()}
        if self.method_file:
            options["methods"] = (*options.get("methods", ()), *map(read_method_file, self.method_file))
        if plan is not None:
            return read_plan(plan, **options)
        missing = [f"--{name}" for name in ("data", "methods") if name not in options]
        if missing:
            raise OptionError(f"evaluate needs {' and '.join(missing)}, or a file that describes the experiment.")
        return Experiment(**options)


@expanded
def evaluate(
    out: Annotated[Path, "Folder of the run; an interrupted run resumes."],
    *,
    plan: Annotated[
        Path | None, typer.Argument(help="File that describes an experiment, such as a run's experiment.toml.")
    ] = None,
    options: ExperimentOptions,
    model: ModelOptions,
    judge: Annotated[str | None, "Judge of answers: a model on the same server."] = None,
    as_json: AsJson = False,
) -> None:
    """Compare methods on a set of questions.

    Measures quality, time and cost of each method, and writes a report.
    """
    from graphwright.cli.progress import note_compilation, progress
    from graphwright.cli.terminal import note, print_json
    from graphwright.evaluate.run import run

    experiment = options.experiment(plan)

    def client(name: str) -> LLM | None:
        settings = replace(model, llm=name).settings(out)
        return None if settings is None else model.client(settings, out)

    if model.base_url and model.llm is None and judge is None:
        raise OptionError(f"--base-url {model.base_url} names a server but no model; add --llm or --judge MODEL.")
    llm = None if model.llm is None else client(model.llm)
    judging = None if judge is None else client(judge)
    note_compilation()
    with progress() as show:
        summary = run(experiment, out, llm=llm, judge=judging, progress=show)
    _show_notes(summary["data"])
    if as_json:
        print_json(summary)
    else:
        _show_table(summary)
    note(f"report: {out / 'report.md'}")
    models = {"--llm": model.llm, "--base-url": model.base_url, "--judge": judge}
    more = "".join(f" {option} {value}" for option, value in models.items() if value)
    note(f"repeat with: graphwright evaluate {out / 'experiment.toml'} --out NEW{more}")


def _show_notes(data: dict[str, Any]) -> None:
    from graphwright.cli.terminal import note

    for name in ("unjudged questions left out", "rows that could not be read"):
        if data[name]:
            note(f"{name}: {data[name]:,}")
    for remark in data["remarks"]:
        note(remark)


def _show_table(summary: dict[str, Any]) -> None:
    """Print a table to a terminal, Markdown elsewhere."""
    from graphwright.cli.terminal import console, plain_table, say
    from graphwright.evaluate.tables import markdown, terminal

    output = console()
    if not output.is_terminal:
        say(markdown(summary), end="")
        return
    heading, (header, *rows) = terminal(summary, output.width)
    table = plain_table()
    for name in header:
        table.add_column(name, justify="left" if name == "method" else "right")
    for cells in rows:
        table.add_row(*cells)
    output.print(heading, table, sep="\n")
