"""What the train commands do: labels from questions and answers, and retrievers from labels."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphwright.cli.model import BaseUrl, MaxCost, MaxTokens, Model, PerMillion, client, settings_for
from graphwright.cli.printable import counted
from graphwright.errors import OptionError

if TYPE_CHECKING:
    from graphwright.index.snapshot import Snapshot
    from graphwright.learn.train.examples import Examples
    from graphwright.learn.train.labels import Labels, Progress
    from graphwright.learn.train.refine import Refiner

__all__ = ["train"]

train = typer.Typer(
    help="Train a retriever on questions and answers over an index's graph, for --method reg.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Questions = Annotated[Path, typer.Argument(help="Questions with answers: JSON lines, the RoG form, or MetaQA's.")]
Folder = Annotated[Path, typer.Option("--index", help="The index folder.")]
Unusable = Annotated[
    float, typer.Option("--unusable", min=0, max=1, help="The share of questions that may be left out.")
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Use only so many questions, drawn by seed.")]
Seed = Annotated[int, typer.Option("--seed", help="Of what is drawn.")]
Refine = Annotated[
    str,
    typer.Option(
        "--refine", help="What chooses paths: explains; near; weak, all shortest ones; llm, the model of --llm."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@train.command()
def labels(
    questions: Questions,
    index: Folder,
    into: Annotated[Path, typer.Option("--into", help="The file of labels; an interrupted run goes on there.")],
    refine: Refine = "explains",
    unusable: Unusable = 0.1,
    limit: Limit = None,
    seed: Seed = 0,
    llm: Model = None,
    base_url: BaseUrl = None,
    prices: PerMillion = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    as_json: AsJson = False,
) -> None:
    """Choose the paths that explain the answers: what a retriever learns to find."""
    from graphwright.cli.indexing import progress_bar

    ix = _snapshot(index)
    chooses = _refiner(refine, index, ix, llm, base_url, prices, max_tokens, max_cost)
    found = _examples(questions, ix, unusable, limit, seed)
    with progress_bar() as show:
        made = _labels(ix, found, chooses, into, show)
    _report(made, as_json)
    print(f"labels: {into}", file=sys.stderr)


@train.command()
def combine(
    one: Annotated[Path, typer.Argument(help="A file of labels.")],
    other: Annotated[Path, typer.Argument(help="Another, over the same graph.")],
    index: Folder,
    into: Annotated[Path, typer.Option("--into", help="The file of labels that is made.")],
    how: Annotated[str, typer.Option("--how", help="union or intersection.")] = "intersection",
    as_json: AsJson = False,
) -> None:
    """Make one file of labels of two: what both chose, or what either did."""
    from graphwright.learn.train.labels import common, read_labels, united, write_labels

    ways = {"union": united, "intersection": common}
    if how not in ways:
        raise OptionError(f"--how {how}: union or intersection.")
    graph = _snapshot(index).graph
    made = ways[how](read_labels(one, graph), read_labels(other, graph))
    write_labels(into, graph, made)
    _report(made, as_json)


def _command(level: str, about: str) -> None:
    """Make the command that trains one level of retriever."""

    def run(
        questions: Annotated[
            Path | None, typer.Argument(help="Questions with answers; not needed with --labels.")
        ] = None,
        index: Annotated[Path | None, typer.Option("--index", help="The index folder.")] = None,
        into: Annotated[Path | None, typer.Option("--into", help="The file of the retriever.")] = None,
        labels: Annotated[Path | None, typer.Option("--labels", help="Labels that were made before.")] = None,
        refine: Refine = "explains",
        epochs: Annotated[
            int | None, typer.Option("--epochs", min=1, help="At most; it ends when it learns no more.")
        ] = None,
        names: Annotated[
            bool, typer.Option("--names/--no-names", help="Read the names of nodes too, not only where they lie.")
        ] = False,
        unusable: Unusable = 0.1,
        limit: Limit = None,
        seed: Seed = 0,
        as_json: AsJson = False,
    ) -> None:
        if index is None or into is None:
            raise OptionError("--index FOLDER and --into FILE are needed.")
        if (questions is None) == (labels is None):
            raise OptionError("give questions with answers, or --labels that were made of them; one of the two.")
        _train(level, questions, index, into, labels, refine, epochs, names, unusable, limit, seed, as_json)

    run.__doc__ = about
    train.command(level)(run)


_command("triple", "Train the triple retriever: question, relation and distances into a small network.")
_command("entity", "Train the entity retriever: a graph network over what lies around the question's entities.")
_command("path", "Train the path retriever: a small decoder that writes relation paths; the quickest to train.")


def _train(
    level: str,
    questions: Path | None,
    index: Path,
    into: Path,
    labels: Path | None,
    refine: str,
    epochs: int | None,
    names: bool,
    unusable: float,
    limit: int | None,
    seed: int,
    as_json: bool,
) -> None:
    from graphwright.cli.indexing import progress_bar
    from graphwright.learn.train.fit import Schedule, torch_or_error
    from graphwright.learn.train.labels import read_labels
    from graphwright.learn.train.run import train_retriever

    torch_or_error()  # before minutes of labelling
    ix = _snapshot(index)
    learned = None if labels is None else read_labels(labels, ix.graph)
    found = None if questions is None else _examples(questions, ix, unusable, limit, seed)
    with progress_bar() as show:
        if learned is None:
            assert found is not None  # one of the two was given
            beside = into.with_name(into.name + ".labels.jsonl")
            learned = _labels(ix, found, _refiner(refine, index, ix), beside, show)
        made = train_retriever(
            ix, learned, level, names=names, schedule=Schedule(epochs=epochs, seed=seed), progress=show
        )
    made.save(into)
    _report(learned, as_json, retriever=into, about=made.about)


def _snapshot(index: Path) -> Snapshot:
    from graphwright.cli.show import opened

    return opened(index).snapshot


def _examples(questions: Path, ix: Snapshot, unusable: float, limit: int | None, seed: int) -> Examples:
    import numpy as np

    from graphwright.learn.train.examples import Examples, read_examples

    made = read_examples(questions, ix.graph, names=ix.names, unusable=unusable)
    if made.left_out:
        print(f"{counted(len(made.left_out), 'question')} left out; the first: {made.left_out[0]}", file=sys.stderr)
    if limit is None or limit >= len(made.found):
        return made
    drawn = np.sort(np.random.default_rng(seed).permutation(len(made.found))[:limit])
    return Examples(tuple(made.found[int(at)] for at in drawn), made.left_out)


def _refiner(
    name: str,
    index: Path,
    ix: Snapshot,
    llm: str | None = None,
    base_url: str | None = None,
    prices: str | None = None,
    max_tokens: int | None = None,
    max_cost: float | None = None,
) -> Refiner:
    from graphwright.learn.train.refine import Chosen, Explains, Near, Weak

    if name == "llm":
        settings = settings_for(index, llm, base_url, prices)
        if settings is None:
            raise OptionError("--refine llm needs a language model: add --llm MODEL, and --base-url URL of its server.")
        return Chosen(client(settings, index, max_tokens=max_tokens, max_cost=max_cost))
    if llm or base_url:
        raise OptionError(f"--refine {name} asks no language model; leave --llm out, or give --refine llm.")
    made: dict[str, Refiner] = {"explains": Explains(ix.encoder), "near": Near(ix.encoder), "weak": Weak()}
    if name not in made:
        raise OptionError(f"--refine {name}: there are {', '.join(made)} and llm.")
    return made[name]


def _labels(ix: Snapshot, examples: Examples, refiner: Refiner, into: Path, show: Progress) -> Labels:
    from graphwright.learn.train.labels import make_labels

    return make_labels(ix.graph, examples, refiner, into, progress=show)


def _report(made: Labels, as_json: bool, **more: Any) -> None:
    said = {**made.summary(), **({"retriever": str(more["retriever"]), "about": more["about"]} if more else {})}
    if as_json:
        print(json.dumps(said, ensure_ascii=False))
        return
    for name, value in made.summary().items():
        print(f"{name}: {value:,.2f}" if isinstance(value, float) else f"{name}: {value:,}")
    for name, value in (more.get("about") or {}).items():
        if isinstance(value, list):
            print(f"{name}: {max(value):.3f}")
    if more:
        print(f"retriever: {more['retriever']}")
