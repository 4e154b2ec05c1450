"""Make the embedded reader small: int8 ONNX from a checkpoint of scripts/train_reader.py.

    python scripts/build_reader.py CHECKPOINT.safetensors [--out FOLDER]

Needs onnx: `pip install graphwright[train]`. Products are int8 with fixed scales, as in scripts/build_encoder.py;
ranges are taken over the demo's questions, each with the passages nearest to it, alone and in pairs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from build_encoder import CALIBRATION, LAYERS, MS, ROOT, Array, Builder, Ranges, fetch
from build_encoder import TARGET as ENCODER
from onnx import TensorProto, helper
from reader_data import NONE, Example, Text
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from train_reader import KINDS, Encoded, encode
from train_reading import Layer

from graphwright.models import MiniLM

TARGET = ROOT / "src/graphwright/models/weights/minilm-reader"
NEAREST = 4  # passages of each of the demo's questions that ranges are taken over


def published_names(trained: dict[str, Array], words: Array) -> dict[str, Array]:
    """Return the weights under the names that Builder reads."""
    names = dict((*Layer.PARTS, *Layer.NORMS))
    weights = {"embeddings.word_embeddings.weight": words}
    embeddings = {"positions": "position_embeddings.weight", "types": "token_type_embeddings.weight"}
    embeddings |= {"norm.weight": "LayerNorm.weight", "norm.bias": "LayerNorm.bias"}
    for name, value in trained.items():
        array = value.astype(np.float32)
        if name in embeddings:
            weights[f"embeddings.{embeddings[name]}"] = array
        elif name.startswith("layers."):
            _, number, attribute, kind = name.split(".")
            weights[f"encoder.layer.{number}.{names[attribute]}.{kind}"] = array
        else:
            weights[name] = array
    return weights


def reader(weights: dict[str, Array], ranges: Ranges | None) -> tuple[onnx.ModelProto, dict[str, str]]:
    """Return the graph (ids, types, positions of tokens -> spans[1, tokens, 2], kind[1, 5]), and dense inputs."""
    g = Builder(weights, ranges)
    embedded = [
        g.words("input_ids"),
        g.node("Gather", [g.const("positions", weights["embeddings.position_embeddings.weight"]), "position_ids"]),
        g.node("Gather", [g.const("types", weights["embeddings.token_type_embeddings.weight"]), "type_ids"]),
    ]
    x = g.node("Add", [g.node("Add", embedded[:2]), embedded[2]])
    x = g.layers(g.norm(x, "embeddings.LayerNorm"), LAYERS)
    first = g.node(
        "Squeeze", [g.node("Gather", [x, g.const("begin", np.array([0]))], axis=1), g.const("axis", np.array([1]))]
    )
    for name, source in (("spans", x), ("kind", first)):
        weight, bias = g.linear(name)
        product = g.node("MatMul", [source, g.const(name + ".weight", weight)])
        g.node("Add", [product, g.const(name + ".bias", bias)])
        g.nodes[-1].output[0] = name
    sizes = {"input_ids": ["one", "tokens"], "type_ids": ["one", "tokens"], "position_ids": ["tokens"]}
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT32, size) for name, size in sizes.items()]
    shapes = {"spans": ["one", "tokens", 2], "kind": ["one", KINDS]}
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    graph = helper.make_graph(g.nodes, "minilm-reader", inputs, outputs, list(g.tensors.values()))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="graphwright"), g.inputs


def demo_inputs() -> list[dict[str, Array]]:
    """Return the demo's questions with the passages nearest to each, alone and in pairs, as inputs of the graph."""
    rows = [json.loads(line) for line in (CALIBRATION / "corpus.jsonl").read_text("utf-8").splitlines()]
    asked = [json.loads(line)["question"] for line in (CALIBRATION / "questions.jsonl").read_text("utf-8").splitlines()]
    texts = [Text(row["title"], row["text"]) for row in rows]
    vectors = MiniLM().encode([text.whole for text in texts])
    examples = []
    for question, vector in zip(asked, MiniLM().encode(asked), strict=True):
        near = [texts[at] for at in np.argsort(-(vectors @ vector))[:NEAREST]]
        examples += [Example(question, (text,), NONE) for text in near]
        examples += [Example(question, (near[0], text), NONE) for text in near[1:]]
    tokenizer = Tokenizer.from_file(str(ENCODER / "tokenizer.json"))
    return [feed(example) for example in encode(tokenizer, examples)]


def feed(example: Encoded) -> dict[str, Array]:
    """Return an example as inputs of the graph."""
    positions = np.arange(len(example.ids), dtype=np.int32)
    types = (positions >= example.passages_from).astype(np.int32)
    return {"input_ids": np.array([example.ids], np.int32), "type_ids": types[None], "position_ids": positions}


def outputs(model: onnx.ModelProto, inputs: Sequence[dict[str, Array]]) -> Iterator[list[Array]]:
    """Yield all outputs of a graph for each input."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for feed in inputs:
        yield session.run(None, feed)


def calibrate(weights: dict[str, Array], inputs: Sequence[dict[str, Array]]) -> Ranges:
    """Return the range of each channel of each dense layer's input."""
    model, dense = reader(weights, None)
    names = sorted(set(dense.values()))
    model.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names)
    low: dict[str, Array] = {}
    high: dict[str, Array] = {}
    for values in outputs(model, inputs):
        for name, value in zip(names, values[2:], strict=True):
            low[name] = np.minimum(low.get(name, np.inf), value[0].min(axis=0))
            high[name] = np.maximum(high.get(name, -np.inf), value[0].max(axis=0))
    return {layer: (low[name], high[name]) for layer, name in dense.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--out", type=Path, default=TARGET)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        words = load_file(fetch(Path(folder)))["embeddings.word_embeddings.weight"]
    trained = load_file(given.checkpoint)
    step = int(trained.pop("step"))
    weights = published_names(trained, words)
    inputs = demo_inputs()
    exact, _ = reader(weights, None)
    small, _ = reader(weights, calibrate(weights, inputs))
    same = [
        int(a[0][0, :, 0].argmax() == b[0][0, :, 0].argmax())
        for a, b in zip(outputs(exact, inputs), outputs(small, inputs), strict=True)
    ]
    print(
        f"step {step}: the first token of the best span is that of float32 in {np.mean(same):.1%} of {len(same)} inputs"
    )
    given.out.mkdir(parents=True, exist_ok=True)
    content = small.SerializeToString(deterministic=True)
    (given.out / "model.onnx").write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    (given.out / "model.json").write_text(json.dumps({"sha256": sha256}, indent=1) + "\n", "utf-8")
    print(f"model.onnx: {len(content):,} bytes, sha256 {sha256}")


if __name__ == "__main__":
    main()
