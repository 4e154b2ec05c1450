"""Measure an index in shards on Ray against one index of the same documents: rankings, work and time of questions.

    python benchmarks/serving/shards.py --data DIR [--passages 20000] [--shards 4] [--questions 30] [--methods ...]

Passages are those of `benchmarks/scale.py`, with its hash of words as the encoder; questions are those of MuSiQue.
Ray runs on this machine, with an actor for each shard.

- same top 15: share of the questions with the same first 15 passages, in the same order and with the same scores.
- work: processor time of a question in all processes, divided by that of one index.
- p50: median milliseconds of a question.

Writes `shards.json` and `shards.md`.
"""

from __future__ import annotations

import sys
import time
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from graphwright.data.question_sets.questions import read_questions
from graphwright.index_folder.index import Index
from graphwright.index_folder.shards.ray_shards import RayShards
from graphwright.index_folder.shards.sharded_index import ShardedIndex
from graphwright.index_folder.shards.sharding import shard_index

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import Record, arguments, elapsed, parse, scratch_folder, table, write_results
from scale import WordTable, varied_documents

METHODS, TOP = ("vector", "bm25", "hybrid", "multihop", "ppr", "bubblerag"), 15


def ranking(index: Index, question: str, method: str) -> list[tuple[str, float]]:
    """Return the first passages with their scores."""
    state = index.retrieve(question, method, top_k=TOP)
    return [(passage.id, passage.score) for passage in state.passages or ()]


def worked(shards: RayShards | None) -> float:
    """Return the processor time of this process, and of the actors."""
    actors = [] if shards is None else shards.holders
    times: list[float] = (
        []
        if shards is None
        else shards._ray.get([actor.__ray_call__.remote(lambda _: time.process_time()) for actor in actors])
    )
    return time.process_time() + sum(times)


def asked(index: Index, questions: list[str], method: str, shards: RayShards | None = None) -> Record:
    """Return the rankings, the processor time and the median time of questions; the first ones warm up."""
    for question in questions[:2]:
        ranking(index, question, method)
    begun, seconds, found = worked(shards), list[float](), list[Any]()
    for question in questions[2:]:
        start = time.perf_counter()
        ranked = ranking(index, question, method)
        seconds.append(time.perf_counter() - start)
        found.append(ranked)
    return {"found": found, "work": worked(shards) - begun, "p50": 1000 * median(seconds)}


def main() -> None:
    """Build the index and the shards, ask the questions and write the results."""
    parser = arguments(__doc__)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--passages", type=int, default=20_000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    options = parse(parser)
    source, encoder = options.data / "multihop" / "musique", WordTable()
    questions = [record.text for record in read_questions(source / "questions.jsonl")[: options.questions + 2]]
    rows: list[Record] = []
    with scratch_folder() as scratch, Index.create(scratch / "one", encoder=encoder) as one:
        _, built = elapsed(lambda: one.add(list(islice(varied_documents(options.data), options.passages))))
        print(f"one index in {built:.0f} s", flush=True)
        divide = lambda: shard_index(scratch / "one", scratch / "shards", options.shards, encoder=encoder)  # noqa: E731
        _, divided = elapsed(divide)
        print(f"shards in {divided:.0f} s", flush=True)
        with ShardedIndex(f"ray://{scratch / 'shards'}", encoder=encoder) as many:
            assert isinstance(many._shards, RayShards)
            for method in options.methods:
                whole, parts = asked(one, questions, method), asked(many, questions, method, many._shards)
                same = [a == b for a, b in zip(whole["found"], parts["found"], strict=True)]
                rows.append(
                    {
                        "method": method,
                        "same top 15": sum(same) / len(same),
                        "work": parts["work"] / whole["work"],
                        "p50, one index": whole["p50"],
                        "p50": parts["p50"],
                    }
                )
                print(rows[-1], flush=True)
    head = ["method", "same top 15", "work", "p50, one index", "p50"]
    lines = [
        [row["method"], f"{row['same top 15']:.3f}", f"{row['work']:.2f}", f"{row[head[3]]:.0f}", f"{row['p50']:.0f}"]
        for row in rows
    ]
    about = f"{options.questions} questions, {options.passages:,} passages in {options.shards} shards on one machine"
    facts = {name: getattr(options, name) for name in ("questions", "passages", "shards")} | {"rows": rows}
    facts |= {"index seconds": built, "shard seconds": divided}
    write_results(options.out / "shards.json", facts, f"# Shards\n\n{about}.\n\n{table(head, lines)}")


if __name__ == "__main__":
    main()
