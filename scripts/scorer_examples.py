"""The features and gold passages of questions on which the scorer of passages is fitted."""

from __future__ import annotations

import argparse
import pickle
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scorer_data import FAMILIES, OPEN, open_collection

from graphwright import Index
from graphwright.data.question_sets.questions import QuestionRecord
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.metrics import ndcg_at_k, recall_at_k
from graphwright.methods.house import POOL, walk
from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.operator import Operator
from graphwright.operators.rerank.fitted_scorer import PassageScorer
from graphwright.operators.rerank.passage_features import ALONE, PassageFeatures
from graphwright.operators.run import Run
from graphwright.operators.state import State, start
from graphwright.search.snapshot import Snapshot
from graphwright.store.settings import SPACES, Settings

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from harness import shared_index
from stamps import begin

SEVERAL = ("musique", "hotpotqa", "2wiki", "chained")  # sources whose questions need several passages
QUESTIONS = 200  # the most of one collection that a scorer is fitted on


@dataclass
class Example:
    """The features of a question's passages, the gold ones, and the documents of each."""

    features: PassageFeatures
    gold: NDArray[np.bool_]
    documents: NDArray[np.int64]
    wanted: list[int]


@dataclass(frozen=True, repr=False)
class Collect(Operator):
    """Compute features as the method `multihop` does, and keep them."""

    snapshot: Snapshot
    collected: list[PassageFeatures]
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Append the features."""
        ix = self.snapshot
        self.collected.append(PassageFeatures.of(state, run, ix.passages, ix.words, MiniLM(), ix.triples, 60))
        return state


def arguments(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Return the arguments of a script, with the data, and the folder of this state of the code."""
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--work", type=Path, default=Path("runs"), help="folder of indexes and features")
    parser.add_argument("--passages", type=int, default=2500, help="the most passages of an open collection")
    options = parser.parse_args()
    options.work = begin(options.work)
    return options


def source_of(label: str) -> str:
    """Return the source of a collection: that of its family, or the open set."""
    return next((name for name, labels in FAMILIES.items() if label in labels), label)


def index_of(options: argparse.Namespace, label: str) -> tuple[Path, Sequence[QuestionRecord]]:
    """Return the folder of an index, built where it is not there yet, and the questions with gold passages."""
    folder = options.work / "indexes" / label
    folder.parent.mkdir(parents=True, exist_ok=True)
    if label in OPEN:
        documents, questions = open_collection(options.data / "qa", label, options.passages)
        if not (folder / "CURRENT").exists():
            with Index.create(folder, encoder=MiniLM(), settings=Settings(embed=SPACES)) as index:
                index.add(documents)
        return folder, questions
    name, *variants = label.split("-")
    data = options.data / ("multihop" if source_of(label) in SEVERAL else "ir") / name
    extraction = "openie" if "openie" in variants else "mentions"
    experiment = Experiment(data, ("vector",), extraction, "untitled" not in variants, embed=SPACES)
    subject = experiment.read()
    shared_index(folder, experiment, options.work)
    return folder, [question for question in subject.questions if question.gold]


def examples_of(options: argparse.Namespace, label: str) -> list[Example]:
    """Return the examples of a collection; features that were computed before are read again."""
    kept = options.work / "features" / f"{label}.pkl"
    if kept.exists():
        examples: list[Example] = pickle.loads(kept.read_bytes())
        return examples
    folder, questions = index_of(options, label)
    with Index.open(folder) as index:
        ix = index.snapshot
        passages = ix.graph.passages
        assert passages is not None
        numbers = {document: number for number, document in enumerate(passages.documents)}
        collected: list[PassageFeatures] = []
        pipeline = walk(ix, POOL) >> Collect(ix, collected)
        examples = []
        for question in questions:
            pipeline(start(question.text, ix.graph))
            features = collected.pop()
            documents = passages.document[np.searchsorted(passages.nodes, features.nodes)].astype(np.int64)
            wanted = [numbers.get(document, -1) for document in question.gold]
            examples.append(Example(features, np.isin(documents, wanted), documents, wanted))
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(pickle.dumps(examples))
    print(label, len(examples), flush=True)
    return examples


def value(scorer: PassageScorer, example: Example, metric: str) -> float:
    """Return recall@5 or nDCG@10 of the list that a scorer chooses."""
    return quality(example, scorer.chosen(example.features, *scorer(example.features), 20)[0], metric)


def value_of_hybrid(example: Example, metric: str) -> float:
    """Return recall@5 or nDCG@10 of the sum of cosine and BM25, each over its largest."""
    at = [ALONE.index(name) for name in ("cosine_of_best", "bm25")]
    return quality(example, np.argsort(-example.features.alone[:, at].sum(1), kind="stable"), metric)


def quality(example: Example, order: NDArray[np.int64], metric: str) -> float:
    """Return recall@5 or nDCG@10 of passages in some order, by document."""
    ranked = list(dict.fromkeys(example.documents[order].tolist()))
    if metric == "recall@5":
        return float(recall_at_k(ranked, example.wanted, 5))
    return float(ndcg_at_k(ranked, example.wanted, 10))


def metric_of(label: str) -> str:
    """Return the metric of a collection."""
    return "recall@5" if source_of(label) in SEVERAL else "ndcg@10"
