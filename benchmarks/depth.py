"""Measure how many layers of the cross-encoder should read question and passage together: quality against time.

    python benchmarks/depth.py --data DIR [--steps 200] [--layers 5 4 3 2]

For each layer where the joint part may begin, the network is trained as in scripts/train_reading.py, shorter and from
the same seed, and orders the first 50 candidates of held-out questions of hotpotqa, 2wiki and scifact, in float32. The
time of a pair is that of the joint layers in int8, as they ship, on one thread, for a passage that was read before; all
depths are timed in turns at the end. Depths that were trained before, by this state of the code, are not trained again.
Needs the extras `train` and `bench`. Writes `depth.json` and `depth.md`.
"""

from __future__ import annotations

import random
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
import onnx
import onnxruntime
import torch
from harness import Record, Rows, arguments, parse, table, write_results
from safetensors.numpy import load_file

from graphwright.evaluate.metrics import ndcg_at_k, recall_at_k
from graphwright.models.embedded import encoder as embedded
from graphwright.models.embedded import token_states
from models import part_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
from build_encoder import LAYERS, fetch
from build_encoder import TARGET as ENCODER
from build_reading import calibrate, joint, layer_output, one_more_output, pairs
from reading_data import REAL, Part
from train_reading import Joint, Material, batch, rarities, train

RANKED = ("hotpotqa", "2wiki", "scifact")
POOL = 50
TIMED = 100  # pairs


def ranked(net: Any, material: Material, rarity: Any, limit: int) -> list[float]:
    """Return the mean recall@5 and nDCG@10 of held-out questions, in the order of the search and reordered."""
    rows: list[list[Any]] = []
    net.eval()
    for question in [q for q in material.real if q.held_out and q.gold][:limit]:
        pool = [key for key in question.pool if key in material.passages][:POOL]
        with torch.no_grad():
            group = batch(material.questions[question.id], [material.passages[key] for key in pool], rarity)
            scores = net(group)[0].numpy()
        best = [pool[at] for at in np.argsort(-scores, kind="stable")]
        metrics = ((recall_at_k, 5), (ndcg_at_k, 10))
        rows.append([metric(ids, question.gold, k) for ids in (pool, best) for metric, k in metrics])
    net.train()
    return [round(100 * float(value), 1) for value in np.mean(rows, axis=0)]


def compiled(weights: Mapping[str, Any], layer: int, rarity: Any) -> tuple[Any, list[Any]]:
    """Return untrained joint layers in int8 as a session of one thread, and pairs to give it."""
    trained, count = Joint(dict(weights), layer).saved(layer, rarity), LAYERS - layer
    with states_after(layer):
        inputs = pairs(trained)
    small, _ = joint(trained, count, calibrate(trained, count, inputs))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(small.SerializeToString(), options, ["CPUExecutionProvider"])
    return session, inputs[:TIMED]


def milliseconds(sessions: Sequence[tuple[Any, list[Any]]]) -> list[float]:
    """Return the median time of a pair in each session, one pair of each in turns."""
    times: list[list[float]] = [[] for _ in sessions]
    for at in range(TIMED):
        for (session, inputs), seconds in zip(sessions, times, strict=True):
            begun = time.perf_counter()
            session.run(None, {"states": inputs[at % len(inputs)][None]})
            seconds.append(time.perf_counter() - begun)
    return [round(1e3 * float(np.median(seconds)), 2) for seconds in times]


@contextmanager
def states_after(layer: int) -> Iterator[None]:
    """Read the states of tokens after another layer within the block."""
    with tempfile.TemporaryDirectory() as folder:
        output = one_more_output(layer_output(onnx.load(str(ENCODER / "model.onnx")), layer))
        (Path(folder) / "states.onnx").write_bytes(output)
        embedded._load_session.cache_clear()
        token_states._load.cache_clear()
        shipped = embedded.weights_file
        with patch.object(
            embedded, "weights_file", lambda *name: shipped(*name) if name[1:] else Path(folder) / name[0]
        ):
            yield
        embedded._load_session.cache_clear()
        token_states._load.cache_clear()


def measure(layer: int, parts: Sequence[Part], weights: Mapping[str, Any], rarity: Any, options: Namespace) -> Record:
    """Train with the joint part at a layer; return the quality of its rankings."""
    torch.manual_seed(options.seed)
    draw = random.Random(options.seed)
    with states_after(layer):
        materials = [Material(part, draw) for part in parts]
    net = Joint(dict(weights), layer)
    train(net, materials, options.steps, rarity, draw)
    return {m.part.name: ranked(net, m, rarity, options.limit) for m in materials if m.part.name in RANKED}


def page(results: Record) -> str:
    """Return the table of depths."""
    rows: list[list[Any]] = []
    for count, result in sorted(results["layers"].items()):
        if not rows:
            rows.append(["none: `hybrid`", "", *("{}, {}".format(*result["sets"][name][:2]) for name in RANKED)])
        after = ["{}, {}".format(*result["sets"][name][2:]) for name in RANKED]
        rows.append([count, result.get("milliseconds", ""), *after])
    about = (
        f"{results['steps']} training steps each, float32, held-out questions, the first {POOL} of `hybrid` reordered; "
        "ms: the joint layers in int8, on one thread, for a pair whose passage was read before."
    )
    header = ["joint layers", "ms a pair", *(f"{name}: recall@5, nDCG@10" for name in RANKED)]
    return f"# Joint layers of the cross-encoder\n\n{about}\n\n{table(header, rows)}"


def main() -> None:
    """Train, measure and time each depth."""
    parser = arguments(__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--layers", type=int, nargs="+", default=[5, 4, 3, 2], help="where the joint part begins")
    parser.add_argument("--limit", type=int, default=150, help="held-out questions of a set")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows-only", action="store_true", help="train, and leave times and the table to a later call")
    options = parse(parser)
    with tempfile.TemporaryDirectory() as folder:
        weights = load_file(fetch(Path(folder)))
    parts = [part_of(name, options) for name in REAL]
    rarity = rarities(parts)
    rows = Rows(options.work / "depth.jsonl", "layer", "steps", "limit", "seed")
    keys = {layer: (layer, options.steps, options.limit, options.seed) for layer in options.layers}
    for layer, key in keys.items():
        if key not in rows:
            settings = dict(zip(("layer", "steps", "limit", "seed"), key, strict=True))
            rows.add(settings | {"sets": measure(layer, parts, weights, rarity, options)})
    if options.rows_only:
        return
    times = milliseconds([compiled(weights, layer, rarity) for layer in options.layers])
    layers = {
        str(LAYERS - layer): {"sets": rows[key]["sets"], "milliseconds": spent}
        for (layer, key), spent in zip(keys.items(), times, strict=True)
    }
    results = {"steps": options.steps, "layers": layers}
    write_results(options.out / "depth.json", results, page(results))


if __name__ == "__main__":
    main()
