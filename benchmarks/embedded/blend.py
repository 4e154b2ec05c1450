"""Choose the share of the cross-encoder in `rerank`, and measure the blend.

    python benchmarks/embedded/blend.py --data DIR [--sets nq scifact ...] [--limit 160]

The first 40 passages of `hybrid` are ordered by (1 - share) · score / largest + share · the cross-encoder's score,
scaled to 0 to 1. The share is chosen on open question sets of DIR/qa, each a collection of its own (at most 3,000
passages, and the questions they answer): the best mean nDCG@10. No results are reported on these. The others show what
that share is worth; of scifact only the questions held out of the cross-encoder's training are asked.

Writes `blend.json` and `blend.md`. Scores are kept below --work, so that an interrupted run continues.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from argparse import Namespace
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphwright.data.question_sets.datasets import read_dataset
from graphwright.data.question_sets.questions import QuestionRecord
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.metrics import ndcg_at_k
from graphwright.evaluate.statistics import bootstrap_interval
from graphwright.index_folder.index import Index
from graphwright.methods.house import BLEND, DEPTH, both
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.operators.run import Run
from graphwright.operators.state import start

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import Record, Rows, arguments, documents_of, parse, percent, shared_index, table, update_results
from reading_data import Asked
from stamps import write_text

OPEN = {"squad": "squad_train_subset", "nq": "nq_open_oracle", "medquad": "medquad"}
REPORTED = {
    "scifact": "ir/scifact", "cisi": "ir/cisi", "cranfield": "ir/cranfield",
    "musique": "multihop/musique", "hotpotqa100": "multihop/hotpotqa100",
}  # fmt: skip
MAX_PASSAGES, MAX_CHARACTERS = {"medquad": 2_000}, 1_500
POOL = 40  # passages that are read for a question
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0)


def pairs(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the questions of an open set, each with the title and the text of the passage that answers it."""
    for file in sorted(folder.glob("*.gz")):
        for line in gzip.decompress(file.read_bytes()).decode().split("\n")[:-1]:
            record = json.loads(line)
            if record["passages"]:
                passage = record["passages"][0]
                yield record["question"], passage["title"], passage["text"][:MAX_CHARACTERS]


def collection(name: str, options: Namespace) -> Path:
    """Return the folder of a set; an open one is written as a collection with questions first."""
    if name in REPORTED:
        return Path(options.data / REPORTED[name])
    home: Path = options.work / "blend" / name
    if not (home / "questions.jsonl").exists():
        home.mkdir(parents=True, exist_ok=True)
        asked, passages = list(pairs(options.data / "qa" / OPEN[name])), dict[str, Record]()
        random.Random(0).shuffle(asked)
        gold = dict[str, str]()
        for question, title, text in asked:
            if len(passages) < MAX_PASSAGES.get(name, 3_000):
                key = blake2b((title + text).encode(), digest_size=6).hexdigest()
                passages.setdefault(key, {"id": key, "title": title, "text": text})
                gold.setdefault(question, key)
        write_lines(home / "corpus.jsonl", list(passages.values()))
        numbered = enumerate(gold.items())
        questions = [{"id": str(i), "question": text, "answers": [], "gold_ids": [key]} for i, (text, key) in numbered]
        write_lines(home / "questions.jsonl", questions)
    return home


def write_lines(path: Path, records: list[Record]) -> None:
    """Write JSON lines."""
    write_text(path, "".join(json.dumps(record) + "\n" for record in records))


def questions_of(name: str, folder: Path, limit: int) -> list[QuestionRecord]:
    """Return the questions that are asked."""
    questions = [question for question in read_dataset(folder).questions if question.gold]
    if name == "scifact":
        questions = [q for q in questions if Asked(q.id, q.text, [], []).held_out]
    return questions[:limit]


def scored(name: str, options: Namespace) -> list[Record]:
    """Return for each question the documents of its first passages, and both scores of each."""
    folder, place = collection(name, options), options.work / "indexes" / name
    experiment = Experiment(folder, ("hybrid",), embed=("passages",) if name in OPEN else None)
    shared_index(place, experiment, options.work)
    rows, model = Rows(options.work / "blend" / f"{name}.jsonl", "id"), MiniLMCrossEncoder()
    questions = questions_of(name, folder, options.limit)
    with Index.open(place) as index:
        graph, search = index.graph, both(index.snapshot, DEPTH) % POOL
        for question in questions:
            if (question.id,) in rows:
                continue
            items = search(start(question.text, graph)).items
            read = Run().scores(model, question.text, [graph.reading(node) for node in items.nodes.tolist()])
            found = {"documents": documents_of(graph, items.nodes), "search": items.ranked_scores.tolist()}
            rows.add({"id": question.id, **found, "read": read.tolist(), "gold": list(question.gold)})
    return [rows[question.id,] for question in questions]


def quality(row: Record, share: float) -> float:
    """Return nDCG@10 of a question's passages by the blend."""
    search, read = np.array(row["search"]), np.array(row["read"])
    blend = (1 - share) * search / search.max() + share * (read - read.min()) / max(np.ptp(read), 1e-12)
    order = np.argsort(-blend, kind="stable")
    return ndcg_at_k(list(dict.fromkeys(row["documents"][i] for i in order)), row["gold"], 10)


def measured(rows: list[Record]) -> Record:
    """Return the mean of each share, and the gain of the chosen one with its interval."""
    values: dict[float, NDArray[np.float64]] = {s: np.array([quality(row, s) for row in rows]) for s in SHARES}
    gain = values[BLEND] - values[0.0]
    ends = [round(100 * end, 1) for end in bootstrap_interval(gain)]
    shares = {str(share): percent(value) for share, value in values.items()}
    return {"questions": len(rows), "shares": shares, "gain": percent(gain), "gain_95": ends}


def page(results: Record) -> str:
    """Return the tables."""
    header = ["set", "questions", *(f"{share:g}" for share in SHARES), f"gain of {BLEND} (95 %)"]
    parts = ["# The cross-encoder blended with the search", "nDCG@10 by share of the cross-encoder."]
    for title, names in (("To choose the share", OPEN), ("What it is worth", REPORTED)):
        known = {name: results[name] for name in names if name in results}
        rows = [
            [
                name,
                of["questions"],
                *of["shares"].values(),
                f"{of['gain']:+} ({of['gain_95'][0]} to {of['gain_95'][1]})",
            ]
            for name, of in known.items()
        ]
        if known:
            means = [round(float(np.mean([of["shares"][str(share)] for of in known.values()])), 1) for share in SHARES]
            parts += [f"## {title}", table(header, [*rows, ["mean", "", *means, ""]])]
    return "\n\n".join(parts)


def main() -> None:
    """Measure the sets asked for."""
    parser = arguments(__doc__, sets=(*OPEN, *REPORTED))
    parser.add_argument("--limit", type=int, default=160, help="questions of a set")
    options = parse(parser)
    path = options.out / "blend.json"
    for name in options.sets:
        results = update_results(path, [name], measured(scored(name, options)), page, (*OPEN, *REPORTED))
        print(name, results[name], flush=True)


if __name__ == "__main__":
    main()
