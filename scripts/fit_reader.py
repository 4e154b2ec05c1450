"""Fit how the readings of the embedded reader are mixed, and the probabilities that it gives.

    python scripts/fit_reader.py FOLDER ... --data DIR --work DIR [--unseen] [--parts answerable]

Each FOLDER holds a reader that scripts/build_reader.py wrote; its model.json is completed, or fitted anew. This one
command refits all readers after a change of retrieval: that of the package, `minilm-reader` among its weights, and
those of the folds, whose folders are called `without-FAMILY` (hotpotqa, 2wiki, musique).

Questions are asked of an index of their set: of the multihop sets, all but those of the family that a fold leaves out,
only those that the network was not trained on (`--unseen`: it was trained on none, so all are taken); of XQuAD and
COVID-QA, which it never saw; and with `--documents` of the manuals and office documents that training left out
(scripts/reader_documents.py), each among the documents of its source. Each is read three times: with what retrieval
gives, without the gold passages, and without the sentences that hold the answer; no candidate is right in the last two,
which count half for the probabilities of an answer. A candidate is right where its token F1 with a gold
answer is at least 0.8, and a question is answerable where one of its best three sentences holds the answer. With
`--check` each source of the documents is first left out in turn, and it is printed how well its questions are answered.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from reader_data import FAMILIES, for_confidence
from reader_documents import HELD, SETS, Asked, NoQueries, has_evidence, index_over_documents, read_over_documents
from reading_data import read_squad
from scorer_data import source_of_set

from graphwright import Document, Graph, Index, start
from graphwright.data.question_sets.datasets import read_dataset
from graphwright.evaluate.metrics import token_f1
from graphwright.generate.citations import passage_text
from graphwright.generate.quoted_sentences import sentences_of
from graphwright.methods.registry import make_method
from graphwright.models.embedded.reader import PARTS, MiniLMReader
from graphwright.models.embedded.reader_answers import (
    Candidate,
    ReaderOutput,
    answer_features,
    candidates,
    confidence_features,
    mixture,
    normalised,
    probabilities,
    reading_features,
    sentence_features,
    sides,
)
from graphwright.models.protocols import PassageText, Usage
from graphwright.operators.operator import Operator
from graphwright.operators.rerank.fitted_scorer import PassageScorer

OPEN_SETS = ("xquad", "covidqa")  # plain questions, of which no fold reports a figure
SCORERS = Path(__file__).parents[1] / "benchmarks" / "results" / "scorer"  # fitted without the set that is searched
FITTED = ("mixture", "confidence", "sentence", "answerable")  # parts; the other by fit_cells.py
READ, RETRIEVED = 8, 20
RIGHT = 0.8
PENALTY = 1e-4  # of the squared weights of standardised features, per row


def read_set(data: Path, name: str) -> tuple[list[Asked], dict[str, tuple[str, str]]]:
    """Return the questions of a set, and its passages by id: title and text."""
    if name in OPEN_SETS:
        questions, passages = read_squad(name, data)
        return [Asked(q.text, frozenset(q.gold), tuple(q.answers)) for q in questions], passages
    read = read_dataset(data / "multihop" / name)
    rows = {row.id: (row.title, row.text) for row in read.documents(lambda skipped: None)}
    return [Asked(q.text, frozenset(q.gold), q.answers) for q in read.questions], rows


def index_of(work: Path, name: str, passages: dict[str, tuple[str, str]]) -> Index:
    """Return the index of a set, built where it is not there yet."""
    if name in SETS:
        return index_over_documents(work, name)
    folder = work / "indexes" / name  # where scripts/fit_scorer.py keeps them
    if folder.is_dir():
        return Index.open(folder)
    index = Index.create(folder)
    rows = passages.items()
    index.add([Document(key, text, title, whole=True) for key, (title, text) in rows if text.strip()])
    return index


def chosen(given: Any, name: str, questions: Sequence[Asked]) -> list[Asked]:
    """Return the questions of a set that the network was not trained on."""
    if name in SETS:
        held = [q for q in questions if q.source in HELD]
        return random.Random(0).sample(held, min(len(held), 3 * given.questions)) if given.questions else held
    if name in OPEN_SETS:
        return [q for q in questions if for_confidence(q.text)][: given.questions]
    return [q for q in questions if given.unseen or for_confidence(q.text)][: given.questions]


@dataclass(frozen=True, slots=True)
class Read:
    """A question with the passages that were read, and what the network found in them.

    `answers`: empty where the gold passages were taken out; `sentences`, and which of them hold the answer (None where
    the answer is yes or no).
    """

    question: str
    passages: list[PassageText]
    readings: list[ReaderOutput]
    answers: list[str]
    sentences: list[tuple[int, int, int]]
    holds: Any
    source: str = ""
    weight: float = 1.0


def questions_read(given: Any, name: str, reader: MiniLMReader) -> Iterator[Read]:
    """Yield each question, read with what retrieval gives, and with the gold passages taken out."""
    questions, texts = (read_over_documents(name), {}) if name in SETS else read_set(given.data, name)
    with index_of(given.work, name, texts) as index:
        plain = name in (*OPEN_SETS, *SETS)
        options = {} if plain else {"scorer": PassageScorer.read(SCORERS / f"{source_of_set(name)}.json")}

        @cache
        def searched(source: str) -> tuple[Graph, Operator]:
            snapshot = index.filtered({"folder": source}) if source else index.snapshot
            method = make_method("multihop", snapshot, top_k=RETRIEVED, parser=NoQueries(), **options)
            return snapshot.graph, method.search

        for question in chosen(given, name, questions):
            graph, retrieve = searched(question.source)
            nodes = retrieve(start(question.text, graph)).passage_nodes().tolist()
            ranked = [(document_of(graph, node), passage_text(graph, node)) for node in nodes]
            yield read_with(question, ranked, reader)
            if not question.gold:
                continue
            others = [(key, text) for key, text in ranked if not answers(key, text, question)]
            yield replace(read_with(question, others, reader), weight=0.5)
            without = [(key, cut(text, question)) for key, text in ranked]
            yield replace(read_with(replace(question, gold=frozenset()), without, reader), weight=0.5)


def document_of(graph: Graph, node: int) -> str:
    """Return the document of a passage."""
    place = None if graph.passages is None else graph.passages.of(node)
    return "" if place is None else place.document


def answers(document: str, passage: PassageText, question: Asked) -> bool:
    """Return whether a passage answers a question: it is of a gold document, and has the evidence where it is known."""
    evidence = not question.evidence or any(holds_answer(s, question) for s in _sentences(passage))
    return document in question.gold and evidence


def _sentences(passage: PassageText) -> list[str]:
    return [passage.text[sentence.start : sentence.end] for sentence in sentences_of(passage)]


def cut(passage: PassageText, question: Asked) -> PassageText:
    """Return a passage without the sentences that hold an answer."""
    return PassageText(passage.title, " ".join(s for s in _sentences(passage) if not holds_answer(s, question)))


def holds_answer(text: str, question: Asked) -> bool:
    """Return whether a text has the words of an answer in a row, and is of the evidence where it is known."""
    if question.evidence and not has_evidence(text, question.evidence):
        return False
    words = f" {normalised(text)} "
    return any(f" {normalised(answer)} " in words for answer in question.answers or (question.evidence and text,))


def read_with(question: Asked, ranked: Sequence[tuple[str, PassageText]], reader: MiniLMReader) -> Read:
    """Return a question read with the first of these passages, by document.

    A sentence holds the answer where it is of a gold passage and has the answer's words; of answers that are yes or no
    this is unknown.
    """
    documents, passages = [document for document, _ in ranked[:READ]], [passage for _, passage in ranked[:READ]]
    readings = reader.readings(question.text, passages, Usage())
    gold = question.gold & {*documents}
    found = [sentence for at, passage in enumerate(passages) for sentence in sentences_of(passage, at)]
    sentences = [(sentence.passage, sentence.start, sentence.end) for sentence in found]
    holds = [documents[at] in gold and holds_answer(passages[at].text[b:e], question) for at, b, e in sentences]
    decided = {"yes", "no"} & set(map(normalised, question.answers))
    return Read(
        question.text,
        passages,
        readings,
        [*question.answers] if gold else [],
        sentences,
        None if decided else np.array(holds, bool),
        question.source,
    )


def remembered(given: Any, name: str, reader: MiniLMReader, sha256: str) -> list[Read]:
    """Return what `questions_read` yields, kept in a file for the fits of other folds."""
    file = given.work / "rows" / f"{name}-{sha256[:12]}-{given.unseen}-{given.questions}.pickle"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps(list(questions_read(given, name, reader))))
    parts: list[Read] = pickle.loads(file.read_bytes())
    return parts


def fitted(rows: Any, right: Any, counts: Any = 1.0) -> Any:
    """Return the weights of a logistic regression with a small penalty, by Newton's method.

    `counts`: how much each row counts.
    """
    weights, right = np.zeros(rows.shape[1]), np.asarray(right, np.float64)
    counts = np.broadcast_to(counts, len(rows))
    penalty = PENALTY * len(rows) * np.diag(rows.var(0) + 1e-9)
    for _ in range(50):
        p = logistic(rows @ weights)
        gradient = rows.T @ (counts * (p - right)) + penalty @ weights
        hessian = (rows * (counts * p * (1 - p))[:, None]).T @ rows + penalty
        weights -= np.linalg.solve(hessian, gradient)
    return weights


@dataclass(frozen=True, slots=True)
class Proposed:
    """The candidates of a question, which of them are right, and their readings."""

    part: Read
    candidates: list[Candidate]
    right: Any
    rows: Any

    @property
    def table(self) -> Any:
        """The probability of each candidate in each reading."""
        return probabilities(self.candidates, len(self.part.readings))


def proposals(part: Read) -> Proposed:
    """Return the candidates of a question, and which are right."""
    proposed = candidates(part.readings, part.passages, sides(part.question, part.passages, part.readings))
    right = [bool(part.answers) and token_f1([c.text], part.answers) >= RIGHT for c in proposed]
    rows = reading_features(part.question, part.passages, part.readings)
    return Proposed(part, proposed, np.array(right, bool), rows)


def fitted_mixture(proposed: Sequence[Proposed], steps: int = 500, rate: float = 0.5) -> Any:
    """Return the weights that make right answers most probable in the mixture of readings, by gradient ascent."""
    proposed = [each for each in proposed if each.right.any()]
    right = [each.table[each.right].sum(0) + 1e-9 for each in proposed]
    scale = np.concatenate([each.rows for each in proposed]).std(0) + 1e-6
    weights = np.zeros(len(scale))
    for _ in range(steps):
        gradient = -1e-3 * len(right) * weights
        for each, chance in zip(proposed, right, strict=True):
            shares = mixture(each.rows / scale, weights)
            gradient += (shares * chance / (shares @ chance) - shares) @ (each.rows / scale)
        weights += rate * gradient / len(right)
    return weights / scale


def fit(parts: Sequence[Read], kept: dict[str, Any]) -> dict[str, Any]:
    """Return the weights of all parts of the model, of which some are `kept` as they are."""
    proposed = [each for each in map(proposals, parts) if each.candidates]
    weights = dict(kept)
    if "mixture" not in weights:
        weights["mixture"] = fitted_mixture(proposed)
    shares = [mixture(each.rows, weights["mixture"]) for each in proposed]
    if "confidence" not in weights:
        weights["confidence"] = fitted_confidence(proposed, shares)
    asked = [(each.part, share) for each, share in zip(proposed, shares, strict=True) if each.part.sentences]
    asked = [(part, share) for part, share in asked if part.holds is not None]
    found = [sentence_features(p.question, p.passages, p.sentences, p.readings, share) for p, share in asked]
    if "sentence" not in weights:
        weights["sentence"] = fitted(np.concatenate(found), np.concatenate([part.holds for part, _ in asked]))
    if "answerable" not in weights:
        weights["answerable"] = fitted_answerable(asked, found, weights["sentence"])
    return weights


def fitted_confidence(proposed: Sequence[Proposed], shares: Sequence[Any]) -> Any:
    """Return the weights of the probability that the best candidate is right; `shares`: the weights of readings."""
    rows, right = [], []
    for each, share in zip(proposed, shares, strict=True):
        rows.append(confidence_features(each.candidates, each.part.readings, share, each.rows))
        right.append(each.right[int((each.table @ share).argmax())])
    return fitted(np.array(rows), right, [each.part.weight for each in proposed])


def fitted_answerable(asked: Sequence[tuple[Read, Any]], found: Sequence[Any], weights: Any) -> Any:
    """Return the weights of the probability that one of the best three sentences holds the answer.

    `asked`: questions with the weights of their readings; `found`: the features of their sentences, with `weights`.
    """
    rows, right = [], []
    for (part, shares), features in zip(asked, found, strict=True):
        row, best = best_sentences(part, shares, features, weights)
        rows.append(row)
        right.append(best.any())
    return fitted(np.array(rows), right, [part.weight for part, _ in asked])


def best_sentences(part: Read, shares: Any, features: Any, weights: Any) -> tuple[Any, Any]:
    """Return the features of answerability, and which of the best three sentences hold the answer, best first."""
    scores = logistic(features @ weights)
    row = answer_features(part.question, part.passages, part.readings, shares, features, scores)
    return row, part.holds[np.argsort(-scores)[:3]]


def logistic(values: Any) -> Any:
    """Return the probabilities of logits."""
    return 1 / (1 + np.exp(-values))


def check(parts: Sequence[Read], kept: dict[str, Any]) -> None:
    """Print how well questions over documents are answered by weights that were fitted without their source."""
    rows = []
    for source in sorted({part.source for part in parts} - {""}):
        weights = fit([part for part in parts if part.source != source], kept)
        for part in parts:
            if part.source == source and part.sentences and part.holds is not None:
                shares = mixture(reading_features(part.question, part.passages, part.readings), weights["mixture"])
                features = sentence_features(part.question, part.passages, part.sentences, part.readings, shares)
                row, best = best_sentences(part, shares, features, weights["sentence"])
                chance = logistic(row @ weights["answerable"])
                rows.append((part.weight, chance, part.holds.any(), best.any(), best[0]))
    weight, chance, present, third, first = map(np.array, zip(*rows, strict=True))
    asked = present & (weight == 1)
    print(
        f"documents: {asked.sum()} with the answer among the passages; best sentence {first[asked].mean():.3f}, "
        f"best three {third[asked].mean():.3f}"
    )
    for least in (0.2, 0.3, 0.35, 0.4, 0.5, 0.6):
        given = chance >= least
        print(
            f"  from {least}: answered {given[asked].mean():.3f}, without the answer {given[~present].mean():.3f}, "
            f"right of those given {np.average(third[given], weights=weight[given]):.3f}"
        )


def family_left_out(folder: Path) -> str | None:
    """Return the family that the reader of a fold was trained without, by the name of its folder."""
    family = folder.name.removeprefix("without-")
    return family if family in FAMILIES and family != folder.name else None


def fit_folder(given: Any, folder: Path) -> None:
    """Fit the reader in a folder, and write its weights."""
    settings = json.loads((folder / "model.json").read_text("utf-8"))
    unset = {part: dict.fromkeys(names, 0.0) for part, names in PARTS.items()}
    settings = unset | settings | {part: unset[part] for part in given.parts}
    (folder / "model.json").write_text(json.dumps(settings, indent=1) + "\n", "utf-8")
    reader = MiniLMReader(weights=str(folder))
    without = family_left_out(folder)
    names = [name for family, sets in FAMILIES.items() if family != without for name in sets]
    names += [*OPEN_SETS, *(SETS if given.documents else ())]
    parts = [part for name in names for part in remembered(given, name, reader, settings["sha256"])]
    kept = {part: np.array([*settings[part].values()]) for part in FITTED if part not in given.parts}
    if given.check:
        check(parts, kept)
    for part, weights in fit(parts, kept).items():
        settings[part] = dict(zip(PARTS[part], weights.round(5).tolist(), strict=True))
        print(json.dumps({part: settings[part]}))
    (folder / "model.json").write_text(json.dumps(settings, indent=1) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("readers", type=Path, nargs="+", metavar="FOLDER", help="`without-FAMILY` is that of a fold")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--parts", nargs="+", choices=FITTED, default=FITTED, help="which weights to write")
    parser.add_argument(
        "--documents", action="store_true", help="read questions over manuals and office documents, too"
    )
    parser.add_argument(
        "--check", action="store_true", help="first leave each source of documents out; with --documents"
    )
    parser.add_argument(
        "--questions", type=int, help="at most so many of each set, and three times as many over documents"
    )
    given = parser.parse_args()
    for folder in given.readers:
        print(folder, flush=True)
        fit_folder(given, folder)


if __name__ == "__main__":
    main()
