"""Make the network that ranks queries small: int8 ONNX from what scripts/train_query_ranker.py saved.

    python scripts/build_query_ranker.py joint.npz groups.pkl

Needs onnx. Writes `join.onnx` and `head.npz` as scripts/build_reading.py does, ranges taken over pairs of the groups;
the states of tokens are those of the encoder's fourth layer, which `minilm-reading` has too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
import random
from pathlib import Path

import numpy as np
import onnx
from build_encoder import HIDDEN, ROOT, Array
from build_reading import calibrate, joint, outputs

from graphwright.models.embedded.cross_encoder import Match, joint_input, tokens_of
from graphwright.models.embedded.encoder import QUERIES

TARGET = ROOT / "src/graphwright/models/weights" / QUERIES
PAIRS = 200
_HEAD = ("parts", "asked", "held", "w1", "b1", "w2", "b2", "past", "mean", "deviation")


def packaged(folder: Path = TARGET) -> dict[str, Array]:
    """Return the float32 weights of a network that was made small, under the names that the training saves.

    What int8 rounded away is lost: the cosine of latents is 0.99 or more.
    """
    graph = onnx.load(str(folder / "join.onnx")).graph
    small = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    with np.load(folder / "head.npz") as file:
        found = {name: file[name].astype(np.float32) for name in _HEAD}
    for name in (name.removesuffix(".scale") for name in small if name.endswith(".scale")):
        weight = (small[f"{name}.weight"] * small[f"{name}.scale"] * small[f"{name}.smooth"][:, None]).T
        bias = small[f"{name}.bias"]
        parts = [f"{name}.{part}" for part in ("query", "key", "value")] if name.endswith("self") else [name]
        for part, rows, own in zip(parts, np.split(weight, len(parts)), np.split(bias, len(parts)), strict=True):
            found |= {f"{part}.weight": rows, f"{part}.bias": own}
    for name in (name.removesuffix(".weight") for name in small if "LayerNorm.weight" in name):
        gamma = small[f"{name}.weight"] / np.float32(np.sqrt(HIDDEN))
        found |= {f"{name}.weight": gamma, f"{name}.bias": small[f"{name}.bias"]}
    for name in ("spans", "kind"):
        found |= {f"{name}.weight": small[f"{name}.weight"].T, f"{name}.bias": small[f"{name}.bias"]}
    return found


def main() -> None:
    """Write the weights and print how near they are to those in float32."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("trained", type=Path, help="joint.npz of scripts/train_query_ranker.py")
    parser.add_argument("groups", type=Path, help="file of scripts/query_groups.py")
    parser.add_argument("--into", type=Path, default=TARGET)
    options = parser.parse_args()
    with np.load(options.trained, allow_pickle=False) as file:
        trained = {name: file[name] for name in file.files}
    with options.groups.open("rb") as stream:
        every = [pair for own in pickle.load(stream).values() for group in own for pair in group.pairs]
    count = 1 + max(int(name.split(".")[2]) for name in trained if name.startswith("encoder.layer."))
    rarity = trained["rarity"].astype(np.float32)
    inputs = []
    for question, text in random.Random(0).sample(every, PAIRS):
        asked, held = tokens_of([question, text])
        inputs.append(joint_input(Match.of(asked, held, rarity), trained))
    exact, _ = joint(trained, count, None)
    small, _ = joint(trained, count, calibrate(trained, count, inputs))
    options.into.mkdir(parents=True, exist_ok=True)
    rounded = np.rint(np.clip(rarity, 0, 1) * 255).astype(np.uint8)
    np.savez_compressed(
        options.into / "head.npz", rarity=rounded, **{name: trained[name].astype(np.float16) for name in _HEAD}
    )
    (options.into / "join.onnx").write_bytes(small.SerializeToString(deterministic=True))
    true, ours = (outputs(model.SerializeToString(), inputs) for model in (exact, small))
    latents = [(a[0][0], b[0][0]) for a, b in zip(true, ours, strict=True)]
    cosines = [float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)) for a, b in latents]
    print(f"cosine of latents to float32 over {PAIRS} pairs: mean {np.mean(cosines):.4f}, least {min(cosines):.4f}")
    parts = [(options.into / name).read_bytes() for name in ("join.onnx", "head.npz")]
    whole = hashlib.sha256(b"".join(parts)).hexdigest()
    (options.into / "model.json").write_text(json.dumps({"sha256": whole}, indent=1) + "\n", "utf-8")
    for path in sorted(options.into.iterdir()):
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
