"""Measure the embedded models: the int8 encoder against float32, and the cross-encoder on held-out data.

    python benchmarks/models.py --data DIR [--only encoder rank speed] [--sets musique ...] [--limit 200]

- encoder: agreement, recall and speed of the embedded encoder against its float32 original on the multihop sets (needs
  onnx and safetensors; --weights names model.safetensors, which else is downloaded). Texts are a title, a newline and a
  text, cut at 256 tokens; search is exact; the two are timed in turns. Writes `encoder.json`.
- rank: the first 50 passages of `hybrid`, ordered by the cross-encoder, which reads each once (`rerank`), or again with
  the names of the three best (`MultiHopRerank`), alone or fused with the first order; the share of the difference
  between recall@5 and recall@50 of `hybrid` that this gains. 95 % bootstrap intervals of the gain, over questions.
- speed: milliseconds of a pair on one thread, with a new text, and with a text that was read before.

Of hotpotqa, 2wiki, scifact, xquad and covidqa only the questions held out of training are asked; musique, cisi and
cranfield took no part in training; the questions of hotpotqa100 are other ones of HotpotQA. An index of each set and
its candidates are kept below --work; delete them after a change of the search. Writes `reading.json` and `reading.md`;
sets and parts that are not asked for stay.
"""

from __future__ import annotations

import json
import pickle
import shutil
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from harness import (
    Record,
    arguments,
    cached_encoder,
    documents_of,
    evidence_of,
    parse,
    percent,
    percentiles,
    table,
    update_results,
    write_results,
)  # fmt: skip
from numpy.typing import NDArray

from graphwright.evaluate.metrics import ndcg_at_k, recall_at_k
from graphwright.evaluate.statistics import bootstrap_interval
from graphwright.index_folder.index import Index
from graphwright.methods.registry import make_method
from graphwright.models.embedded import cross_encoder
from graphwright.models.embedded import encoder as embedded
from graphwright.models.embedded import encoder as runtime
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.control import ReciprocalRank
from graphwright.operators.operator import Keep
from graphwright.operators.rerank.rerank import MultiHopRerank, Rerank
from graphwright.operators.run import ModelMemory, Run
from graphwright.operators.state import start

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
from reading_data import REAL, Asked, Part, read_part

# The encoder

CUTS = (2, 5, 10, 20)


@contextmanager
def graph_of(session: Any) -> Iterator[MiniLM]:
    """Give an encoder that runs on another graph within the block."""
    with patch.object(embedded, "_load_session", lambda: session):
        yield MiniLM()


def records(path: Path) -> list[Record]:
    """Return the records of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def recall_of_vectors(
    passages: NDArray[Any], questions: NDArray[Any], gold: Sequence[Sequence[str]], ids: Sequence[str]
) -> list[float]:
    """Return the mean recall in percent of exact search, for each of CUTS."""
    order = np.argsort(-(questions @ passages.T), axis=1, kind="stable")
    ranked = [[ids[at] for at in row[: CUTS[-1]]] for row in order.tolist()]
    return [100 * float(np.mean([recall_at_k(r, g, k) for r, g in zip(ranked, gold, strict=True)])) for k in CUTS]


def agreement(folder: Path, sessions: Mapping[str, Any]) -> Record:
    """Return the cosine between the vectors of both encoders, and the recall of each."""
    corpus, questions = records(folder / "corpus.jsonl"), records(folder / "questions.jsonl")
    ids, gold = [row["id"] for row in corpus], [row["gold_ids"] for row in questions]
    texts = [f"{row['title']}\n{row['text']}" for row in corpus]
    vectors = {}
    for name, session in sessions.items():
        with graph_of(session) as encoder:
            vectors[name] = encoder.encode(texts), encoder.encode([row["question"] for row in questions])
    cosine = (vectors["int8"][0] * vectors["float32"][0]).sum(axis=1)
    result = {"passages": len(texts), "questions": len(questions), "cosine_mean": cosine.mean()}
    result["cosine_min"] = cosine.min()
    return result | {f"recall_{name}": recall_of_vectors(*pair, gold, ids) for name, pair in vectors.items()}


def encoder_speed(folder: Path, sessions: Mapping[str, Any], rounds: int = 3) -> Record:
    """Return the best rates of passages and names, and the latency of questions."""
    rows, questions = records(folder / "corpus.jsonl"), records(folder / "questions.jsonl")[:100]
    passages = [f"{row['title']}\n{row['text']}" for row in rows[:: max(1, len(rows) // 200)]][:200]
    kinds = {"passages": passages, "names": [row["title"] for row in rows][:1500]}
    result: Record = {}
    for _ in range(rounds):
        for name, session in sessions.items():
            for kind, texts in kinds.items():
                with graph_of(session) as encoder:
                    begun = time.perf_counter()
                    encoder.encode(texts)
                    rate = len(texts) / (time.perf_counter() - begun)
                key = f"{kind}_per_second_{name}"
                result[key] = max(rate, result.get(key, 0.0))
    for name, session in sessions.items():
        with graph_of(session) as encoder:
            seconds = []
            for row in questions:
                begun = time.perf_counter()
                encoder.encode([row["question"]])
                seconds.append(time.perf_counter() - begun)
        p50, p95 = percentiles(seconds).values()
        result |= {f"question_ms_p50_{name}": p50, f"question_ms_p95_{name}": p95}
    begun = time.perf_counter()
    embedded._load_session.__wrapped__()
    embedded._load_tokenizer.__wrapped__()
    return result | {"load_seconds": time.perf_counter() - begun}


def measure_encoder(options: Namespace) -> None:
    """Compare the embedded encoder with its original."""
    import build_encoder  # needs onnx and safetensors
    import onnxruntime
    from safetensors.numpy import load_file

    with tempfile.TemporaryDirectory() as folder:
        weights = load_file(options.weights or build_encoder.fetch(Path(folder)))
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    graph = build_encoder.build(weights, int8=False)
    original = onnxruntime.InferenceSession(graph, settings, providers=["CPUExecutionProvider"])
    sessions = {"int8": embedded._load_session(), "float32": original}
    folders = sorted(path.parent for path in (options.data / "multihop").glob("*/questions.jsonl"))
    result: Record = {"encoder": MiniLM().id, "cores": runtime._cores(), "recall_at": CUTS}
    result |= encoder_speed(folders[0], sessions)
    result["sets"] = {folder.name: agreement(folder, sessions) for folder in folders}
    print(result)
    write_results(options.out / "encoder.json", result)


# The cross-encoder

SETS = ("hotpotqa", "hotpotqa100", "2wiki", "musique", "scifact", "cisi", "cranfield", "xquad", "covidqa")
POOL = 50  # passages that are ordered
RERANKERS = ("rerank", "multi-hop", "multi-hop, fused")


def part_of(name: str, options: Namespace) -> Part:
    """Read a set with its candidates, which are kept, because searching takes longer than the rest."""
    home = options.work / "reading" / name
    file = home / "part.pickle"
    if not file.exists():
        shutil.rmtree(home, ignore_errors=True)
        part = read_part(name, options.data, home / "index", cached_encoder(options.work))
        file.write_bytes(pickle.dumps((part.name, [vars(q) for q in part.questions], part.passages)))
    label, questions, passages = pickle.loads(file.read_bytes())
    return Part(label, [Asked(**question) for question in questions], passages)


def rank(questions: Sequence[Asked], index: Index) -> Record:
    """Return the quality of the first 50 passages in each order."""
    model = MiniLMCrossEncoder()
    search = make_method("hybrid", index.snapshot, top_k=POOL).search
    multi_hop = MultiHopRerank(model)
    orders = {"hybrid": search, "rerank": search >> Rerank(model), "multi-hop": search >> multi_hop}
    orders["multi-hop, fused"] = search >> ReciprocalRank(Keep(), multi_hop, constant=5)  # as `multihop-rerank`
    rows: dict[str, list[list[float]]] = {name: [] for name in orders}
    for question in questions:
        memory = ModelMemory()  # the first readings are the same for all
        for name, operator in orders.items():
            state = operator(start(question.text, index.graph), Run(memory=memory))
            ids = documents_of(index.graph, evidence_of(state).nodes)
            metrics = recall_at_k(ids, question.gold, 5), recall_at_k(ids, question.gold, POOL)
            rows[name].append([*metrics, ndcg_at_k(ids, question.gold, 10)])
    values = {name: np.array(row) for name, row in rows.items()}
    first = values["hybrid"]
    possible = float((first[:, 1] - first[:, 0]).mean())
    result: Record = {"questions": len(questions), "recall@50": percent(first[:, 1])}
    for name, array in values.items():
        result[name] = {"recall@5": percent(array[:, 0]), "ndcg@10": percent(array[:, 2])}
        if name != "hybrid":
            gains = {"gain": array[:, 0] - first[:, 0], "ndcg_gain": array[:, 2] - first[:, 2]}
            for metric, gain in gains.items():
                ends = [round(100 * end, 1) for end in bootstrap_interval(gain)]
                result[name] |= {metric: percent(gain), f"{metric}_95": ends}
            share = percent([gains["gain"].mean() / possible]) if possible > 0 else None
            result[name]["share_of_room"] = share
    return result


def speed(part: Part, questions: Sequence[Asked]) -> Record:
    """Return the milliseconds of a pair on one thread."""
    model = MiniLMCrossEncoder()
    seconds: dict[str, list[float]] = {"new_ms": [], "read_before_ms": []}
    with patch.object(runtime, "_cores", lambda: 1):
        for question in questions[:20]:
            texts = [part.text(key) for key in question.pool[:20]]
            cross_encoder._load_states.cache_clear()
            model.latents(question.text, texts[:1])
            for times in seconds.values():
                begun = time.perf_counter()
                model.latents(question.text, texts)
                times.append((time.perf_counter() - begun) / len(texts))
    return {name: round(1e3 * float(np.median(times)), 2) for name, times in seconds.items()}


def gain_cell(method: Record, name: str) -> str:
    """Return a gain with its interval."""
    low, high = method[f"{name}_95"]
    return f"{method[name]:+} ({low} to {high})"


def rank_rows(name: str, result: Record) -> list[list[Any]]:
    """Return the rows of a set in the table of ranking."""
    first = result["hybrid"]
    rows = [[name, result["questions"], "hybrid", first["recall@5"], "", f"50: {result['recall@50']}"]]
    rows[0] += [first["ndcg@10"], ""]
    for method in RERANKERS:
        values = result[method]
        share = "" if values["share_of_room"] is None else f"{values['share_of_room']} %"
        gains = gain_cell(values, "gain"), gain_cell(values, "ndcg_gain")
        rows.append(["", "", method, values["recall@5"], gains[0], share, values["ndcg@10"], gains[1]])
    return rows


def page(results: Record) -> str:
    """Return the tables of all sets."""
    header = ("set", "questions", "", "recall@5", "gain (95 %)", "share of the room", "nDCG@10", "gain (95 %)")
    ranks = [row for name, of in results.items() if "rank" in of for row in rank_rows(name, of["rank"])]
    parts = ["# The embedded cross-encoder, held out", "## The first 50 of `hybrid`, reordered", table(header, ranks)]
    for name, of in results.items():
        if "speed" in of:
            times = f"{of['speed']['new_ms']} ms, {of['speed']['read_before_ms']} ms if its text was read before"
            parts.append(f"A pair on one thread ({name}): {times}.\n")
    return "\n\n".join(parts)


def measure_reading(options: Namespace) -> None:
    """Measure the cross-encoder on the sets."""
    path = options.out / "reading.json"
    for name in options.sets:
        part = part_of(name, options)
        questions = [q for q in part.questions if part.name not in REAL or q.held_out][: options.limit]
        if "rank" in options.only:
            with Index.open(options.work / "reading" / name / "index") as index:
                results = update_results(path, [name, "rank"], rank(questions, index), page, SETS)
                print(name, results[name]["rank"], flush=True)
        if "speed" in options.only and name == options.sets[0]:
            results = update_results(path, [name, "speed"], speed(part, questions), page, SETS)
            print(name, results[name]["speed"], flush=True)


def main() -> None:
    """Measure the parts asked for."""
    parser = arguments(__doc__, parts=("encoder", "rank", "speed"), sets=SETS)
    parser.add_argument("--weights", type=Path, help="model.safetensors of all-MiniLM-L6-v2")
    parser.add_argument("--limit", type=int, help="questions of a set")
    options = parse(parser)
    if "encoder" in options.only:
        measure_encoder(options)
    if set(options.only) - {"encoder"}:
        measure_reading(options)


if __name__ == "__main__":
    main()
