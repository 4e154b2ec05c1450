"""Simulate an index in shards by document: what merging loses, what routing loses, and what the loss of a shard costs.

    python benchmarks/serving/shards.py --data DIR [--questions 100] [--shards 2 4 8] [--methods vector bm25 ppr]

Passages are the candidates of questions of MuSiQue. Each document is put into one shard by a hash of its id, and each
shard is an index of its own, as on a machine of its own. A question is asked of all shards, and the 15 best passages by
score are the answer. That is compared with one index of everything:

- top 15: share of the 15 passages of the whole index that the shards give too (1 is an exact merge).
- gold: share of the passages that a question needs among the best 5, and that of the whole index.
- half asked: the same share of the top 15 where only half of the shards are asked, those with the best passage by
  vectors (routing).
- one lost: the same share of gold passages where one shard does not answer; mean over the shards.
- work: processor time of a question in all shards, divided by that of the whole index.

A hash of words takes the encoder's place. Writes `shards.json` and `shards.md`.
"""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from graphwright.data.documents import read_documents
from graphwright.data.question_sets.questions import QuestionRecord, read_questions
from graphwright.index_folder.index import Index

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import Record, arguments, parse, scratch_folder, table, write_results
from scale import WordTable

SET, TOP, GOLD = "musique", 15, 5
Scores = dict[str, float]


@dataclass(frozen=True)
class Asked:
    """The passages of a question in one index, by document, and the processor time."""

    scores: Scores
    seconds: float

    @classmethod
    def of(cls, index: Index, question: str, method: str) -> Asked:
        """Ask an index."""
        begun = time.process_time()
        passages = index.retrieve(question, method, top_k=TOP).passages or ()
        seconds = time.process_time() - begun
        return cls({passage.document: float(passage.score) for passage in passages}, seconds)


def merged(parts: Sequence[Asked], top: int = TOP) -> list[str]:
    """Return the best documents of several indexes by score; ties by name."""
    scores: Scores = {}
    for part in parts:
        scores |= part.scores
    return sorted(scores, key=lambda document: (-scores[document], document))[:top]


def share(wanted: Sequence[str], found: Sequence[str]) -> float:
    """Return the share of the wanted documents that were found."""
    return len(set(wanted) & set(found)) / max(len(wanted), 1)


def measures(whole: Asked, parts: Sequence[Asked], near: Sequence[Asked], gold: Sequence[str]) -> Record:
    """Return the measures of one question; `near`: its answers by vectors, which choose the shards to ask."""
    exact = merged([whole])
    best = sorted(range(len(parts)), key=lambda n: -max(near[n].scores.values(), default=0.0))
    lost = [share(gold, merged([p for n, p in enumerate(parts) if n != missing], GOLD)) for missing in best]
    return {
        "top 15": share(exact, merged(parts)),
        "gold": share(gold, merged(parts, GOLD)),
        "gold, one index": share(gold, exact[:GOLD]),
        "half asked": share(exact, merged([parts[n] for n in best[: (len(parts) + 1) // 2]])),
        "one lost": mean(lost),
        "work": sum(part.seconds for part in parts),
        "work, one index": whole.seconds,
    }


def rows(
    folders: Mapping[int, list[Path]], asked: Sequence[QuestionRecord], methods: Sequence[str], encoder: WordTable
) -> list[Record]:
    """Return the measures of each number of shards and each method; `folders`: the indexes by number of shards."""
    results: list[Record] = []
    with ExitStack() as stack:
        opened = {
            count: [stack.enter_context(Index.open(folder, encoder=encoder)) for folder in part]
            for count, part in folders.items()
        }
        for method in methods:
            for indexes in opened.values():
                for index in indexes:
                    index.retrieve(asked[0].text, method)
            whole = [Asked.of(opened[1][0], record.text, method) for record in asked]
            for count, indexes in opened.items():
                if count == 1:
                    continue
                each: list[Record] = []
                for record, exact in zip(asked, whole, strict=True):
                    parts = [Asked.of(index, record.text, method) for index in indexes]
                    near = [Asked.of(index, record.text, "vector") for index in indexes]
                    each.append(measures(exact, parts, near, list(record.gold)))
                row = {name: mean(result[name] for result in each) for name in each[0]}
                row["work"] = row["work"] / max(row.pop("work, one index"), 1e-9)
                results.append({"method": method, "shards": count, **row})
    return results


def main() -> None:
    """Build the shards, ask the questions and write the results."""
    parser = arguments(__doc__)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--shards", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--methods", nargs="+", default=["vector", "bm25", "ppr"])
    options = parse(parser)
    source, encoder = options.data / "multihop" / SET, WordTable()
    asked = read_questions(source / "questions.jsonl")[: options.questions]
    wanted = {document for record in asked for document in record.metadata["candidate_ids"]}
    documents = [d for d in read_documents([source / "corpus.jsonl"], print) if d.id in wanted]
    folders: dict[int, list[Path]] = {}
    with scratch_folder() as scratch:
        for count in (1, *options.shards):
            folders[count] = [scratch / f"{count}-{number}" for number in range(count)]
            for number, folder in enumerate(folders[count]):
                with Index.create(folder, encoder=encoder) as index:
                    index.add([d for d in documents if zlib.crc32(d.id.encode()) % count == number])
            print(f"{count} shards of {len(documents)} passages", flush=True)
        results = rows(folders, asked, options.methods, encoder)
    head = ["method", "shards", "top 15", "gold", "gold, one index", "half asked", "one lost", "work"]
    lines = [[row["method"], row["shards"], *(f"{row[name]:.3f}" for name in head[2:])] for row in results]
    about = f"{len(asked)} questions, {len(documents):,} passages of {SET}; see `benchmarks/serving/shards.py`."
    title = f"# Shards\n\n{about}\n\n"
    facts = {"questions": len(asked), "passages": len(documents), "rows": results}
    write_results(options.out / "shards.json", facts, title + table(head, lines))


if __name__ == "__main__":
    main()
