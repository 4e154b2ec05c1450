"""Make the embedded cross-encoder and reader small: int8 ONNX from what scripts/train_reading.py saved.

    python scripts/build_reading.py joint.npz

Needs onnx: `pip install graphwright[train]`. Three files are written beside the encoder's weights:

- `states.onnx`: no model of its own, but one more output for the encoder's graph, the states after the layer where the
  joint part begins. The encoder is not stored twice.
- `join.onnx`: the joint layers and what reads their states, as `scripts/build_encoder.py` writes layers: int8 products
  with fixed scales, ranges taken over the demo's questions, each with the passages nearest to it.
- `head.npz`: the two layers of the head, the way past them, the means of matches, the rarity of tokens.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from build_encoder import CALIBRATION, HIDDEN, MS, ROOT, Array, Builder, Ranges
from build_encoder import TARGET as ENCODER
from onnx import TensorProto, helper

from graphwright.models.embedded.cross_encoder import Match, joint_input

TARGET = ROOT / "src/graphwright/models/weights/minilm-reading"
NEAREST = 4  # passages of each of the demo's questions that ranges are taken over
NETWORK = 0.5  # weight of what was learned, beside the linear way: set so, MuSiQue, which it never saw, gains most


def layer_output(model: onnx.ModelProto, layer: int) -> str:
    """Return the name of the states that go into a layer of the encoder, counted from 0."""
    made_by = {name: node for node in model.graph.node for name in node.output}
    attention = [node for node in model.graph.node if node.op_type == "QAttention"][layer]
    return str(made_by[made_by[attention.input[0]].input[0]].input[0])


def one_more_output(name: str) -> bytes:
    """Return a model that holds nothing but an output."""
    output = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
    content: bytes = onnx.ModelProto(graph=onnx.GraphProto(output=[output])).SerializeToString()
    return content


def joint(weights: dict[str, Array], count: int, ranges: Ranges | None) -> tuple[onnx.ModelProto, dict[str, str]]:
    """Return states[1, tokens, 384] -> first[1, 384], spans[1, tokens, 2], kind[1, 3], and dense inputs."""
    g = Builder(weights, ranges)
    x = g.layers("states", count)
    place = g.node("Gather", [x, g.const("begin", np.array([0]))], axis=1)
    g.node("Squeeze", [place, g.const("tokens", np.array([1]))])
    g.nodes[-1].output[0] = "first"
    for name, source in (("spans", x), ("kind", "first")):
        weight, bias = g.linear(name)
        product = g.node("MatMul", [source, g.const(name + ".weight", weight)])
        g.node("Add", [product, g.const(name + ".bias", bias)])
        g.nodes[-1].output[0] = name
    shapes = {"first": ["one", HIDDEN], "spans": ["one", "tokens", 2], "kind": ["one", 3]}
    graph = helper.make_graph(
        g.nodes,
        "minilm-reading",
        [helper.make_tensor_value_info("states", TensorProto.FLOAT, ["one", "tokens", HIDDEN])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
        list(g.tensors.values()),
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="graphwright")
    return model, g.inputs


def pairs(weights: dict[str, Array]) -> list[Array]:
    """Return the joined states of the demo's questions and the passages nearest to each."""
    from graphwright.models.embedded.cross_encoder import tokens_of  # needs states.onnx, which is written first

    rows = [json.loads(line) for line in (CALIBRATION / "corpus.jsonl").read_text("utf-8").splitlines()]
    asked = [json.loads(line) for line in (CALIBRATION / "questions.jsonl").read_text("utf-8").splitlines()]
    texts = tokens_of([f"{row['title']}\n{row['text']}" for row in rows])
    vectors = np.stack([text.vector for text in texts])
    made = []
    for question in tokens_of([row["question"] for row in asked]):
        for at in np.argsort(-(vectors @ question.vector))[:NEAREST]:
            made.append(joint_input(Match.of(question, texts[at], weights["rarity"].astype(np.float32)), weights))
    return made


def outputs(model: bytes, inputs: list[Array]) -> list[list[Any]]:
    """Return all outputs of a graph for each input."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return [session.run(None, {"states": states[None]}) for states in inputs]


def calibrate(weights: dict[str, Array], count: int, inputs: list[Array]) -> Ranges:
    """Return the range of each channel of each dense layer's input."""
    model, dense = joint(weights, count, None)
    # What is an input or an output of the graph cannot be one again.
    names = sorted(set(dense.values()) - {"states", "first"})
    model.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names)
    activations = [dict(zip(names, values[3:], strict=True)) for values in outputs(model.SerializeToString(), inputs)]
    for values, states in zip(activations, inputs, strict=True):
        values["states"] = states[None]
    ranges = {}
    for layer, name in dense.items():
        low = np.min([values[name][0].min(axis=0) for values in activations], axis=0)
        ranges[layer] = (low, np.max([values[name][0].max(axis=0) for values in activations], axis=0))
    return ranges


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("trained", type=Path, help="joint.npz of scripts/train_reading.py")
    given = parser.parse_args()
    with np.load(given.trained, allow_pickle=False) as file:
        trained = {name: file[name] for name in file.files}
    count = 1 + max(int(name.split(".")[2]) for name in trained if name.startswith("encoder.layer."))
    TARGET.mkdir(parents=True, exist_ok=True)
    begun = layer_output(onnx.load(str(ENCODER / "model.onnx")), int(trained["layer"]))
    (TARGET / "states.onnx").write_bytes(one_more_output(begun))
    trained |= {name: NETWORK * trained[name] for name in ("w2", "b2")}
    head = {
        name: trained[name] for name in ("parts", "asked", "held", "w1", "b1", "w2", "b2", "past", "mean", "deviation")
    }
    rarity = np.rint(np.clip(trained["rarity"], 0, 1) * 255).astype(np.uint8)
    np.savez_compressed(TARGET / "head.npz", rarity=rarity, **head)
    exact, _ = joint(trained, count, None)
    inputs = pairs(trained)
    small, _ = joint(trained, count, calibrate(trained, count, inputs))
    (TARGET / "join.onnx").write_bytes(small.SerializeToString(deterministic=True))
    true, ours = (outputs(model.SerializeToString(), inputs) for model in (exact, small))
    cosines = [
        float(a[0][0] @ b[0][0] / np.linalg.norm(a[0]) / np.linalg.norm(b[0])) for a, b in zip(true, ours, strict=True)
    ]
    print(
        f"cosine of latents to float32 over {len(inputs)} pairs: mean {np.mean(cosines):.4f}, least {min(cosines):.4f}"
    )
    parts = [(TARGET / name).read_bytes() for name in ("states.onnx", "join.onnx", "head.npz")]
    whole = hashlib.sha256(b"".join(parts)).hexdigest()
    (TARGET / "model.json").write_text(json.dumps({"sha256": whole}, indent=1) + "\n", "utf-8")
    for path in sorted(TARGET.iterdir()):
        print(f"{path.name}: {path.stat().st_size:,} bytes, sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
