"""How many layers of the embedded cross-encoder should read question and passage together: quality against time.

    python benchmarks/depth.py --data DIR [--steps 200] [--layers 5 4 3 2]

For each place where the joint part may begin the network is trained as scripts/train_reading.py does, shorter and from
the same seed, and orders the first 50 candidates of the held-out questions of hotpotqa, 2wiki and scifact, in float32.
A pair's time is that of the joint layers in int8, as they ship, on one thread, for a passage that was read before; all
depths are timed in turn in the end. What an earlier run of as many steps wrote is not trained again. DIR is as for
scripts/train_reading.py, which tells what else is needed. Writes benchmarks/results/depth.json and depth.md.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from reading import part_of

from graphwright import ndcg_at_k, recall_at_k
from graphwright.models import states

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
from build_encoder import LAYERS, fetch  # noqa: E402
from build_encoder import TARGET as ENCODER  # noqa: E402
from build_reading import calibrate, joint, layer_output, one_more_output, pairs  # noqa: E402
from reading_data import REAL  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402
from train_reading import Joint, Material, batch, rarities, train  # noqa: E402

RANKED = ("hotpotqa", "2wiki", "scifact")
POOL = 50
TIMED = 100  # pairs


def ranked(net, material, rarity, limit):
    """Return the mean recall@5 and nDCG@10 of held-out questions, as the search had their candidates and reordered."""
    rows = []
    net.eval()
    for question in [q for q in material.real if q.held_out and q.gold][:limit]:
        pool = [key for key in question.pool if key in material.passages][:POOL]
        with torch.no_grad():
            group = batch(material.questions[question.id], [material.passages[key] for key in pool], rarity)
            scores = net(group)[0].numpy()
        best = [pool[at] for at in np.argsort(-scores, kind="stable")]
        rows.append([f(ids, question.gold, k) for ids in (pool, best) for f, k in ((recall_at_k, 5), (ndcg_at_k, 10))])
    net.train()
    return [round(100 * float(value), 1) for value in np.mean(rows, axis=0)]


def compiled(weights, layer, rarity):
    """Return joint layers in int8, as they are before training, as a session of one thread, and pairs to give it."""
    trained, count = Joint(weights, layer).saved(layer, rarity), LAYERS - layer
    with reading_from(layer):
        inputs = pairs(trained)
    small, _ = joint(trained, count, calibrate(trained, count, inputs))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(small.SerializeToString(), options, ["CPUExecutionProvider"]), inputs[:TIMED]


def milliseconds(sessions):
    """Return the median time of a pair in each session, one pair of each in turn."""
    times = [[] for _ in sessions]
    for at in range(TIMED):
        for (session, inputs), spent in zip(sessions, times, strict=True):
            begun = time.perf_counter()
            session.run(None, {"states": inputs[at % len(inputs)][None]})
            spent.append(1e3 * (time.perf_counter() - begun))
    return [round(float(np.median(spent)), 2) for spent in times]


@contextmanager
def reading_from(layer):
    """Have tokens' states read after another layer."""
    with tempfile.TemporaryDirectory() as folder:
        output = one_more_output(layer_output(onnx.load(str(ENCODER / "model.onnx")), layer))
        (Path(folder) / "states.onnx").write_bytes(output)
        kept, states.weights_file = states.weights_file, lambda name: Path(folder) / name
        states._load.cache_clear()
        try:
            yield
        finally:
            states.weights_file = kept
            states._load.cache_clear()


def measured(layer, parts, weights, rarity, given):
    """Train with the joint part at a layer; return how well it ranks."""
    torch.manual_seed(given.seed)
    draw = random.Random(given.seed)
    with reading_from(layer):
        materials = [Material(part, draw) for part in parts]
    net = Joint(weights, layer)
    train(net, materials, given.steps, rarity, draw)
    return {m.part.name: ranked(net, m, rarity, given.limit) for m in materials if m.part.name in RANKED}


def markdown(results):
    lines = [
        "# Joint layers of the cross-encoder",
        "",
        f"{results['steps']} training steps each, float32, held-out questions, the first {POOL} of `hybrid` reordered; "
        "ms: the joint layers in int8, on one thread, for a pair whose passage was read before.",
        "",
        f"| joint layers | ms a pair | {' | '.join(f'{name}: recall@5, nDCG@10' for name in RANKED)} |",
        "|" + " --- |" * (2 + len(RANKED)),
    ]
    for count, found in sorted(results["layers"].items()):
        if count == min(results["layers"]):
            before = " | ".join("{}, {}".format(*found["sets"][name][:2]) for name in RANKED)
            lines.append(f"| none: `hybrid` | | {before} |")
        after = " | ".join("{}, {}".format(*found["sets"][name][2:]) for name in RANKED)
        lines.append(f"| {count} | {found.get('milliseconds', '')} | {after} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--layers", type=int, nargs="+", default=[5, 4, 3, 2], help="where the joint part begins")
    parser.add_argument("--limit", type=int, default=150, help="held-out questions of a set")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=Path, default=Path("runs/reading"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "depth")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        weights = load_file(fetch(Path(folder)))
    parts = [part_of(name, given.data, given.runs) for name in REAL]
    rarity = rarities(parts)
    held = given.out.with_suffix(".json")
    results = json.loads(held.read_text("utf-8")) if held.exists() else {}
    if results.get("steps") != given.steps:
        results = {"steps": given.steps, "layers": {}}

    def write():
        held.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        given.out.with_suffix(".md").write_text(markdown(results), encoding="utf-8")

    for layer in given.layers:
        if str(LAYERS - layer) not in results["layers"]:
            results["layers"][str(LAYERS - layer)] = {"sets": measured(layer, parts, weights, rarity, given)}
            write()
    times = milliseconds([compiled(weights, layer, rarity) for layer in given.layers])
    for layer, spent in zip(given.layers, times, strict=True):
        results["layers"][str(LAYERS - layer)]["milliseconds"] = spent
    write()


if __name__ == "__main__":
    main()
