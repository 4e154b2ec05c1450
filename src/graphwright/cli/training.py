"""The train commands: labels from questions and answers, and retrievers from labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphwright.cli.options import AsJson, IndexFolder, ModelOptions, expanded
from graphwright.cli.progress import Show, progress
from graphwright.cli.terminal import note, print_json, say
from graphwright.errors import OptionError, counted

if TYPE_CHECKING:
    from graphwright.learn import Examples, Labels
    from graphwright.learn.refine import Refiner
    from graphwright.search import Snapshot

train = typer.Typer(
    help="Train a retriever for --method reg.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

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

    def examples(self, questions: Path, snapshot: Snapshot) -> Examples:
        """Read the questions, or a sample of them."""
        import numpy as np

        from graphwright.learn import Examples, read_examples

        examples = read_examples(questions, snapshot.graph, names=snapshot.names, max_unusable=self.max_unusable)
        if examples.left_out:
            note(f"{counted(len(examples.left_out), 'question')} left out. The first: {examples.left_out[0]}")
        if self.limit is None or self.limit >= len(examples.usable):
            return examples
        positions = np.sort(np.random.default_rng(self.seed).permutation(len(examples.usable))[: self.limit])
        return Examples(tuple(examples.usable[int(position)] for position in positions), examples.left_out)

    def refiner(self, snapshot: Snapshot) -> Refiner:
        """Return the refiner, for a choice of paths without a language model."""
        from graphwright.learn import CosineRefiner, NeighbourRefiner, ShortestPathLabels

        if self.refine == "llm":
            raise OptionError("--refine llm is for 'graphwright train labels'; train on its file by --labels FILE.")
        refiners: dict[str, Refiner] = {
            "neighbours": NeighbourRefiner(snapshot.encoder),
            "cosine": CosineRefiner(snapshot.encoder),
            "shortest": ShortestPathLabels(),
        }
        if self.refine not in refiners:
            raise OptionError(f"--refine is {self.refine!r}; choose from {', '.join(refiners)} and llm.")
        return refiners[self.refine]

    def labels(self, snapshot: Snapshot, examples: Examples, refiner: Refiner, into: Path, show: Show) -> Labels:
        """Make the labels of questions, and write them to a file."""
        from graphwright.learn import make_labels

        return make_labels(snapshot.graph, examples, refiner, into, nodes=self.nodes, length=self.length, progress=show)


@train.command()
@expanded
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
    from graphwright.learn import LLMRefiner

    snapshot = _snapshot(index)
    if options.refine == "llm":
        settings = model.settings(index)
        if settings is None:
            raise OptionError("--refine llm needs a language model: add --llm MODEL, and --base-url URL of its server.")
        refiner: Refiner = LLMRefiner(model.client(settings, index))
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

    @expanded
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
        from graphwright.learn import Schedule, read_labels, train_retriever
        from graphwright.learn.network import import_torch

        if (questions is None) == (labels is None):
            raise OptionError(f"train {level} needs questions with answers, or --labels FILE; give one of the two.")
        import_torch()  # before minutes of labelling
        snapshot = _snapshot(index)
        learned = None if labels is None else read_labels(labels, snapshot.graph)
        examples = None if questions is None else options.examples(questions, snapshot)
        schedule = Schedule(epochs=epochs, patience=patience, seed=options.seed)
        with progress() as show:
            if examples is not None:
                file = into.with_name(f"{into.name}.labels.jsonl")
                learned = options.labels(snapshot, examples, options.refiner(snapshot), file, show)
            assert learned is not None  # one of the two was given
            retriever = train_retriever(snapshot, learned, level, names=names, schedule=schedule, progress=show)
        retriever.save(into)
        _report(learned, as_json, retriever=into, about=retriever.about)

    train.command(level, help=about)(run)


for _level, _about in _LEVELS.items():
    _add_command(_level, _about)


def _snapshot(index: Path) -> Snapshot:
    from graphwright.cli.asking import open_index

    return open_index(index).snapshot


def _report(labels: Labels, as_json: bool, **trained: Any) -> None:
    """Print the counts of the labels, and for a trained retriever its best scores and its file."""
    summary = labels.summary()
    if as_json:
        print_json({**summary, **{name: str(v) if isinstance(v, Path) else v for name, v in trained.items()}})
        return
    for name, value in summary.items():
        say(f"{_COUNTS[name]}: {value:,.2f}" if isinstance(value, float) else f"{_COUNTS[name]}: {value:,}")
    for name, value in trained.pop("about", {}).items():
        if isinstance(value, list):
            epoch = len(value) - value[::-1].index(max(value))
            say(f"{_MEASURES[name]} after epoch {epoch} of {len(value)}, which is kept: {100 * max(value):.1f} %")
            if len(labels.rows) < _MIN_QUESTIONS:
                note(
                    f"note: a twentieth of {counted(len(labels.rows), 'question')} is held out, too few to judge by; "
                    f"measure the retriever on other questions: graphwright evaluate"
                )
    for name, value in trained.items():
        say(f"{name}: {value:.3f}" if isinstance(value, float) else f"{name}: {value}")


_MIN_QUESTIONS = 400  # of which a twentieth is enough to measure a retriever
_COUNTS = {
    "questions": "questions",
    "paths, mean": "paths to an answer, mean of a question",
    "paths, max": "paths to an answer, most",
    "candidates, mean": "candidates (paths with the same relations are one), mean",
    "candidates, max": "candidates, most",
    "chosen, mean": "chosen to learn from, mean",
    "without any": "questions without a chosen path",
}
_MEASURES = {
    "first path kept": "held-out questions whose first path is a chosen one",
    "recall@2R": "held-out questions: chosen items among twice as many of the best",
}
