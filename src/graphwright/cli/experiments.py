"""The evaluate and train commands: experiments, labels from questions and answers, and retrievers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphwright import learn, search
from graphwright.cli.options import AsJson, Commands, Confidence, IndexFolder, ModelOptions, names_in, open_index
from graphwright.cli.terminal import Show, console, note, plain_table, print_json, progress, say
from graphwright.errors import OptionError, counted

if TYPE_CHECKING:
    from graphwright.evaluate import Experiment
    from graphwright.learn.refine import Refiner
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

        parse: dict[str, Callable[[Any], Any]] = {"methods": split_list, "embed": names_in, "metrics": names_in}
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
    from graphwright.evaluate.run import run

    experiment = options.experiment(plan)

    def client(name: str) -> LLM | None:
        settings = replace(model, llm=name).settings(out)
        return None if settings is None else model.client(settings, out)

    if model.base_url and model.llm is None and judge is None:
        raise OptionError(f"--base-url {model.base_url} names a server but no model; add --llm or --judge MODEL.")
    llm = None if model.llm is None else client(model.llm)
    judging = None if judge is None else client(judge)
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
    for name in ("unjudged questions left out", "rows that could not be read"):
        if data[name]:
            note(f"{name}: {data[name]:,}")
    for remark in data["remarks"]:
        note(remark)


def _show_table(summary: dict[str, Any]) -> None:
    """Print a table to a terminal, Markdown elsewhere."""
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


train = Commands(help="Train a retriever for --method reg.")

Seed = Annotated[int, "Random seed."]

_LEVELS = {
    "triple": "Train the triple retriever, a small network.",
    "entity": "Train the entity retriever, a graph network.",
    "path": "Train the path retriever, a decoder of relation paths.",
}


@dataclass(frozen=True)
class LabelOptions:
    """The training questions, and the choice of the paths to learn."""

    refine: Annotated[str, "Paths to learn: neighbours, cosine, shortest (all shortest paths), or llm."] = "neighbours"
    max_unusable: Annotated[
        float, typer.Option("--max-unusable", min=0, max=1, help="Maximum share of questions that cannot be used.")
    ] = 0.1
    limit: Annotated[int | None, typer.Option(min=1, help="Number of questions to sample (default: all).")] = None
    length: Annotated[int, typer.Option(min=1, help="Maximum relations of a path to learn.")] = 4
    nodes: Annotated[int, typer.Option(min=1, help="Nodes of the PPR subgraph that paths are taken from.")] = 1000
    seed: Seed = 0

    def examples(self, questions: Path, snapshot: search.Snapshot) -> learn.Examples:
        """Read the questions, or a sample of them."""
        import numpy as np

        examples = learn.read_examples(questions, snapshot.graph, names=snapshot.names, max_unusable=self.max_unusable)
        if examples.left_out:
            note(f"{counted(len(examples.left_out), 'question')} left out. The first: {examples.left_out[0]}")
        if self.limit is None or self.limit >= len(examples.usable):
            return examples
        positions = np.sort(np.random.default_rng(self.seed).permutation(len(examples.usable))[: self.limit])
        return learn.Examples(tuple(examples.usable[int(position)] for position in positions), examples.left_out)

    def refiner(self, snapshot: search.Snapshot) -> Refiner:
        """Return the refiner, for a choice of paths without a language model."""
        if self.refine == "llm":
            raise OptionError("--refine llm is for 'graphwright train labels'; train on its file by --labels FILE.")
        refiners: dict[str, Refiner] = {
            "neighbours": learn.NeighbourRefiner(snapshot.encoder),
            "cosine": learn.CosineRefiner(snapshot.encoder),
            "shortest": learn.ShortestPathLabels(),
        }
        if self.refine not in refiners:
            raise OptionError(f"--refine is {self.refine!r}; choose from {', '.join(refiners)} and llm.")
        return refiners[self.refine]

    def labels(
        self, snapshot: search.Snapshot, examples: learn.Examples, refiner: Refiner, into: Path, show: Show
    ) -> learn.Labels:
        """Make the labels of questions, and write them to a file."""
        return learn.make_labels(
            snapshot.graph, examples, refiner, into, nodes=self.nodes, length=self.length, progress=show
        )


@train.command()
def labels(
    questions: Annotated[
        Path, typer.Argument(help="Questions with answers: JSON lines, or the format of RoG or of MetaQA.")
    ],
    index: IndexFolder,
    into: Annotated[Path, "File of labels; an interrupted run resumes."],
    options: LabelOptions,
    model: ModelOptions,
    as_json: AsJson = False,
) -> None:
    """Choose the paths that a retriever learns to find."""
    snapshot = open_index(index).snapshot
    if options.refine == "llm":
        settings = model.settings(index)
        if settings is None:
            raise OptionError("--refine llm needs a language model: add --llm MODEL, and --base-url URL of its server.")
        refiner: Refiner = learn.LLMRefiner(model.client(settings, index))
    elif model.llm or model.base_url:
        raise OptionError(f"--refine {options.refine} uses no language model; leave out --llm, or give --refine llm.")
    else:
        refiner = options.refiner(snapshot)
    examples = options.examples(questions, snapshot)
    with progress() as show:
        chosen = options.labels(snapshot, examples, refiner, into, show)
    _report(chosen, as_json)
    note(f"labels: {into}")


def _add_command(level: str, about: str) -> None:
    """Add the command that trains retrievers of a level."""

    def run(
        *,
        questions: Annotated[
            Path | None, typer.Argument(help="Questions with answers; left out with --labels.")
        ] = None,
        index: IndexFolder,
        into: Annotated[Path, "File of the retriever."],
        labels: Annotated[Path | None, "File of labels, instead of questions."] = None,
        epochs: Annotated[
            int | None,
            typer.Option(
                min=1, help="Maximum epochs (default: 20, or as many as make 400 steps); training stops early."
            ),
        ] = None,
        patience: Annotated[
            int | None,
            typer.Option(min=1, help="Epochs without a better one until training stops (default: 4, or 200 steps)."),
        ] = None,
        names: Annotated[
            bool, typer.Option("--names/--no-names", help="Use the names of nodes, besides their position.")
        ] = False,
        options: LabelOptions,
        as_json: AsJson = False,
    ) -> None:
        from graphwright.learn.network import import_torch

        if (questions is None) == (labels is None):
            raise OptionError(f"train {level} needs questions with answers, or --labels FILE; give one of the two.")
        import_torch()  # before minutes of labelling
        snapshot = open_index(index).snapshot
        learned = None if labels is None else learn.read_labels(labels, snapshot.graph)
        examples = None if questions is None else options.examples(questions, snapshot)
        schedule = learn.Schedule(epochs=epochs, patience=patience, seed=options.seed)
        with progress() as show:
            if examples is not None:
                file = into.with_name(f"{into.name}.labels.jsonl")
                learned = options.labels(snapshot, examples, options.refiner(snapshot), file, show)
            assert learned is not None  # one of the two was given
            retriever = learn.train_retriever(snapshot, learned, level, names=names, schedule=schedule, progress=show)
        retriever.save(into)
        _report(learned, as_json, retriever=into, about=retriever.about)

    train.command(level, help=about)(run)


for _level, _about in _LEVELS.items():
    _add_command(_level, _about)


def _report(labels: learn.Labels, as_json: bool, **trained: Any) -> None:
    """Print the counts of the labels, and for a trained retriever its best scores and its file."""
    summary = labels.summary()
    if as_json:
        print_json({**summary, **{name: str(v) if isinstance(v, Path) else v for name, v in trained.items()}})
        return
    for name, value in summary.items():
        say(f"{name}: {value:,.2f}" if isinstance(value, float) else f"{name}: {value:,}")
    for name, value in trained.pop("about", {}).items():
        if isinstance(value, list):
            epoch = len(value) - value[::-1].index(max(value))
            say(f"{name} after epoch {epoch} of {len(value)}, which is kept: {100 * max(value):.1f} %")
            if len(labels.rows) < _MIN_QUESTIONS:
                note(
                    f"note: a twentieth of {counted(len(labels.rows), 'question')} is held out, too few to judge by; "
                    f"measure the retriever on other questions: graphwright evaluate"
                )
    for name, value in trained.items():
        say(f"{name}: {value:.3f}" if isinstance(value, float) else f"{name}: {value}")


_MIN_QUESTIONS = 400  # of which a twentieth is enough to measure a retriever
