"""The embedded encoder against its float32 original: agreement, recall, and speed.

    python benchmarks/encoder.py --data DIR [--weights model.safetensors]

DIR holds sets as folders with corpus.jsonl (id, title, text) and questions.jsonl (question, gold_ids). Both
encoders get title, newline, text, cut at 256 tokens; search is exact. Speeds are of one run, taken in turns.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime

from graphwright.models import MiniLM, minilm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
import build_encoder  # noqa: E402

CUTS = (2, 5, 10, 20)


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class use:
    """Let MiniLM run on another graph within the block."""

    def __init__(self, graph):
        self.graph = graph

    def __enter__(self):
        self.kept, minilm._load_session = minilm._load_session, lambda: self.graph

    def __exit__(self, *_):
        minilm._load_session = self.kept


def recall(passages, questions, gold, ids):
    """Mean share of each question's passages among its k nearest, in percent, for each k."""
    order = np.argsort(-(questions @ passages.T), axis=1, kind="stable")
    shares = [
        [len({ids[i] for i in row[:k]} & set(wanted)) / len(set(wanted)) for k in CUTS]
        for row, wanted in zip(order, gold, strict=True)
    ]
    return (100 * np.mean(shares, axis=0)).tolist()


def quality(folder, exact):
    corpus, asked = lines(folder / "corpus.jsonl"), lines(folder / "questions.jsonl")
    ids, gold = [row["id"] for row in corpus], [row["gold_ids"] for row in asked]
    texts = [f"{row['title']}\n{row['text']}" for row in corpus]
    found = {}
    for name, graph in (("int8", minilm._load_session()), ("float32", exact)):
        with use(graph):
            found[name] = MiniLM().encode(texts), MiniLM().encode([row["question"] for row in asked])
    cosine = (found["int8"][0] * found["float32"][0]).sum(axis=1)
    return {
        "passages": len(texts),
        "questions": len(asked),
        "cosine_mean": float(cosine.mean()),
        "cosine_min": float(cosine.min()),
        **{f"recall_{name}": recall(*pair, gold, ids) for name, pair in found.items()},
    }


def speed(folder, exact, rounds=3):
    rows = lines(folder / "corpus.jsonl")
    passages = [f"{row['title']}\n{row['text']}" for row in rows[:: max(1, len(rows) // 200)]][:200]
    kinds = {"passages": passages, "names": [row["title"] for row in rows][:1500]}
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, graph in (("int8", minilm._load_session()), ("float32", exact)):
            for kind, texts in kinds.items():
                with use(graph):
                    started = time.perf_counter()
                    MiniLM().encode(texts)
                    rate = len(texts) / (time.perf_counter() - started)
                best[f"{kind}_per_second_{name}"] = max(rate, best.get(f"{kind}_per_second_{name}", 0))
    return best


def latency(folder, exact):
    asked = [row["question"] for row in lines(folder / "questions.jsonl")][:100]
    out = {}
    for name, graph in (("int8", minilm._load_session()), ("float32", exact)):
        with use(graph):
            taken = []
            for question in asked:
                started = time.perf_counter()
                MiniLM().encode([question])
                taken.append(1000 * (time.perf_counter() - started))
        out[f"question_ms_p50_{name}"], out[f"question_ms_p95_{name}"] = np.percentile(taken, (50, 95)).tolist()
    started = time.perf_counter()
    minilm._load_session.__wrapped__()
    minilm._load_tokenizer.__wrapped__()
    return out | {"load_seconds": time.perf_counter() - started}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--weights", type=Path, help="model.safetensors; fetched when not given")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/encoder.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        weights = build_encoder.load_file(options.weights or build_encoder.fetch(Path(folder)))
        exact = session(build_encoder.build(weights, int8=False))
    folders = sorted(path.parent for path in options.data.glob("*/questions.jsonl"))
    if not folders:
        parser.error(f"no set (a folder with corpus.jsonl and questions.jsonl) under {options.data}")
    result = {"encoder": MiniLM().id, "cores": minilm._cores(), "recall_at": CUTS}
    result |= speed(folders[0], exact) | latency(folders[0], exact)
    result["sets"] = {folder.name: quality(folder, exact) for folder in folders}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    for key, value in result.items():
        if isinstance(value, float):
            print(f"{key:32} {value:8.2f}")
    for name, row in result["sets"].items():
        print(f"{name:12} cosine {row['cosine_mean']:.4f} (least {row['cosine_min']:.4f})")
        for kind in ("float32", "int8"):
            print(f"  recall@2/5/10/20 {kind:8}", " / ".join(f"{v:.1f}" for v in row[f"recall_{kind}"]))


if __name__ == "__main__":
    main()
