"""Train the mention detector: a small network over the token states of the embedded encoder.

    python scripts/train_mentions.py --data DIR --work DIR [--without SET] [--write]

Needs `pip install graphwright[train]`. `--data` holds the sets (scripts/mention_data.py). The states of their words are
computed once and kept in `--work`; the rest takes some six minutes on a core. The encoder reads no capitals, and how
words are written is a part of the network's input that is left out for three texts in ten, so that the detector
works without capitals. A set annotates some types only, and some labels mean one of several: the loss of a word is the
negative log of the probability of all tags that its annotation allows. Every twelfth text is kept to measure, and
`--without` keeps a whole set: its figures are those of a kind of text that the detector never saw. Prints precision,
recall and F1 of names, and F1 with their types, as written and without capitals. `--write` writes the weights.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
from mention_data import LABELS, SETS, UNANNOTATED, Record, records
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from graphwright.models.embedded.encoder import encoded, token_ids
from graphwright.models.embedded.mentions import (
    CASE,
    SURFACE,
    TYPES,
    best_tags,
    surface_features,
    word_states,
    words_of,
)

TARGET = Path(__file__).parents[1] / "src/graphwright/models/weights/minilm-mentions"
STATES, FIRST, SECOND, WIDTH = 384, 160, 128, 5
TAGS = 2 * len(TYPES) + 1
EPOCHS, RATE, DROPOUT, WEIGHT_DECAY = 10, 1.5e-3, 0.3, 0.01
UNCASED = 0.3  # share of texts that are read without their capitals
BATCH_WORDS = 3000
KEPT = 12  # every such text is measured on
Array = NDArray[Any]


class Example(NamedTuple):
    """A text as the network reads it: `inputs: float16[words, 401]`, `allowed: bool[words, tags]`.

    `trained: bool[words]`: whether a word counts; `names`: (first word, word after the last, possible types) each.
    """

    source: str
    inputs: Array
    allowed: Array
    trained: Array
    names: list[tuple[int, int, tuple[int, ...]]]


class Network(nn.Module):  # type: ignore[misc]
    """Two hidden layers, the second over neighbouring words."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(STATES + SURFACE, FIRST, 1)
        self.second = nn.Conv1d(FIRST, SECOND, WIDTH, padding=WIDTH // 2)
        self.last = nn.Conv1d(SECOND, TAGS, 1)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the log probability of each tag: [texts, words, tags] of inputs [texts, features, words]."""
        hidden = self.dropout(torch.relu(self.first(inputs)))
        hidden = self.dropout(torch.relu(self.second(hidden)))
        return torch.log_softmax(self.last(hidden), 1).transpose(1, 2)

    def arrays(self) -> dict[str, Array]:
        """Return the weights in half precision."""
        arrays = {name.replace(".", "_"): value.detach().numpy() for name, value in self.state_dict().items()}
        arrays |= {f"{name}_weight": arrays[f"{name}_weight"][:, :, 0].T for name in ("first", "last")}
        return {name: np.ascontiguousarray(array, np.float16) for name, array in arrays.items()}


def graph_of(arrays: dict[str, Array]) -> onnx.ModelProto:
    """Return the network as an ONNX graph: scores [words, tags] of inputs [words, features].

    `inside` [words, 1] is 0 in the gaps between texts, so that several can be read at once.
    """
    nodes = [helper.make_node("Cast", [name], [f"{name}32"], to=TensorProto.FLOAT) for name in arrays]
    steps = (
        ("MatMul", ["inputs", "first_weight32"], "a"),
        ("Add", ["a", "first_bias32"], "b"),
        ("Relu", ["b"], "active"),
        ("Mul", ["active", "inside"], "c"),
        ("Transpose", ["c"], "d"),
        ("Unsqueeze", ["d", "axis"], "e"),
        ("Conv", ["e", "second_weight32", "second_bias32"], "f"),
        ("Relu", ["f"], "g"),
        ("Squeeze", ["g", "axis"], "h"),
        ("Transpose", ["h"], "i"),
        ("MatMul", ["i", "last_weight32"], "j"),
        ("Add", ["j", "last_bias32"], "scores"),
    )
    padded = {"Conv": {"pads": [WIDTH // 2, WIDTH // 2]}}
    nodes += [helper.make_node(kind, inputs, [output], **padded.get(kind, {})) for kind, inputs, output in steps]
    values = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    values.append(numpy_helper.from_array(np.array([0]), "axis"))
    sizes = {"inputs": STATES + SURFACE, "inside": 1, "scores": TAGS}
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["words", size]) for name, size in sizes.items()]
    graph = helper.make_graph(nodes, "mentions", ends[:2], ends[2:], values)
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="graphwright")


def examples(data: Path, work: Path) -> list[Example]:
    """Return the texts of all sets; their states are computed once."""
    file = work / "mention-examples.pickle"
    if not file.exists():
        work.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps([_example(*pair) for pair in _encoded(list(records(data)))]))
    read: list[Example] = pickle.loads(file.read_bytes())
    return read


def _encoded(texts: list[Record]) -> Iterator[tuple[Record, list[tuple[int, int]], Array]]:
    for start in range(0, len(texts), 2000):
        block = texts[start : start + 2000]
        tokens = token_ids([record.text for record in block], 256, spans=True)
        states: dict[int, Array] = {}
        for positions, (_, rows) in encoded([ids for ids, _ in tokens]):
            states |= zip(positions, rows, strict=True)
        for position, record in enumerate(block):
            yield record, tokens[position][1], states[position][1:-1]


def _example(record: Record, tokens: list[tuple[int, int]], states: Array) -> Example:
    words = words_of(record.text, tokens)
    surface = surface_features(record.text, words.spans, record.title)
    inputs = np.concatenate((word_states(states, words), surface), axis=1).astype(np.float16)
    allowed = np.zeros((len(words.spans), TAGS), bool)
    allowed[:, 0] = True
    for name in UNANNOTATED[record.source]:
        allowed[:, [2 * TYPES.index(name) + 1, 2 * TYPES.index(name) + 2]] = True
    trained = np.array([start >= record.title for start, _ in words.spans], bool)
    names: list[tuple[int, int, tuple[int, ...]]] = []
    for start, end, label in record.names:
        inside = [row for row, (a, b) in enumerate(words.spans) if start <= a and b <= end]
        if not inside:
            continue
        if label not in LABELS:
            trained[inside] = False
            continue
        names.append((inside[0], inside[-1] + 1, LABELS[label]))
        allowed[inside] = False
        for kind in LABELS[label]:
            allowed[inside[0], 2 * kind + 1] = True
            allowed[inside[1:], 2 * kind + 2] = True
    return Example(record.source, inputs, allowed, trained, names)


def batches(texts: list[Example], rng: random.Random) -> list[list[Example]]:
    """Return batches of texts of nearly equal length, in random order."""
    batch: list[Example] = []
    made = [batch]
    for example in sorted(texts, key=lambda e: len(e.inputs) + 6 * rng.random()):
        if batch and (len(batch) + 1) * len(example.inputs) > BATCH_WORDS:
            made.append(batch := [])
        batch.append(example)
    rng.shuffle(made)
    return made


def tensors(batch: list[Example], uncased: list[bool]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return inputs, allowed tags and trained words of a batch, padded."""
    size = (len(batch), max(len(example.inputs) for example in batch))
    inputs = np.zeros((*size, STATES + SURFACE), np.float32)
    allowed, trained = np.ones((*size, TAGS), bool), np.zeros(size, np.float32)
    for row, (example, plain) in enumerate(zip(batch, uncased, strict=True)):
        count = len(example.inputs)
        inputs[row, :count] = example.inputs
        if plain:
            inputs[row, :, STATES : STATES + CASE] = 0
        allowed[row, :count], trained[row, :count] = example.allowed, example.trained
    return torch.from_numpy(inputs).transpose(1, 2), torch.from_numpy(allowed), torch.from_numpy(trained)


def train(texts: list[Example], seed: int) -> Network:
    """Return a network that was trained on these texts."""
    torch.manual_seed(seed)
    rng, network = random.Random(seed), Network()
    optimiser = torch.optim.AdamW(network.parameters(), RATE, weight_decay=WEIGHT_DECAY)
    for epoch in range(EPOCHS):
        made, total = batches(texts, rng), 0.0
        for step, batch in enumerate(made):
            for group in optimiser.param_groups:
                group["lr"] = RATE * max(0.03, 1 - (epoch + step / len(made)) / EPOCHS)
            inputs, allowed, trained = tensors(batch, [rng.random() < UNCASED for _ in batch])
            likelihood = network(inputs).masked_fill(~allowed, -1e9).logsumexp(2)
            loss = -(likelihood * trained).sum() / trained.sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += loss.item()
        print(f"epoch {epoch + 1} of {EPOCHS}: loss {total / len(made):.4f}", flush=True)
    network.eval()
    return network


def figures(network: Network, texts: list[Example], uncased: bool, unknown: set[int]) -> dict[str, float]:
    """Return precision, recall and F1 of names, and F1 with their types, in percent.

    `unknown`: types that no set the network was trained on annotates; names of these are not counted.
    """
    right = typed = predicted = annotated = 0
    for example in texts:
        with torch.no_grad():
            scores = network(tensors([example], [uncased])[0])[0].numpy()
        for kind in unknown:
            scores[:, [2 * kind + 1, 2 * kind + 2]] = -np.inf
        unannotated = unknown | {TYPES.index(kind) for kind in UNANNOTATED[example.source]}
        names = {(a, b): kinds for a, b, kinds in example.names if example.trained[a] and not unknown.issuperset(kinds)}
        spans = [
            s for s in spans_of(best_tags(scores)) if s[2] not in unannotated and example.trained[s[0] : s[1]].all()
        ]
        right += sum(span[:2] in names for span in spans)
        typed += sum(span[2] in names.get(span[:2], ()) for span in spans)
        predicted, annotated = predicted + len(spans), annotated + len(names)
    values = {
        "precision": right / predicted,
        "recall": right / annotated,
        "F1": 2 * right / (predicted + annotated),
        "F1 typed": 2 * typed / (predicted + annotated),
    }
    return {name: round(100 * value, 1) for name, value in values.items()}


def spans_of(tags: Array) -> list[tuple[int, int, int]]:
    """Return (first word, word after the last, type) of each name."""
    spans: list[tuple[int, int, int]] = []
    for word, tag in enumerate(tags.tolist()):
        if tag % 2:
            spans.append((word, word + 1, tag // 2))
        elif tag:
            spans[-1] = spans[-1][0], word + 1, spans[-1][2]
    return spans


def main() -> None:
    """Train, measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--without", choices=SETS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)  # the same sums in the same order
    read = examples(options.data, options.work)
    trained = [UNANNOTATED[source] for source in SETS if source != options.without]
    unknown = {TYPES.index(kind) for kind in TYPES if all(kind in kinds for kinds in trained)}
    rest = [example for example in read if example.source != options.without and len(example.inputs)]
    for example in rest:
        for kind in unknown:  # else they would stand for the words outside
            example.allowed[:, [2 * kind + 1, 2 * kind + 2]] = False
    network = train([example for number, example in enumerate(rest) if number % KEPT], options.seed)
    unseen = [example for example in read if example.source == options.without and len(example.inputs)]
    for source in (options.without,) if unseen else SETS:
        kept = unseen or [example for example in rest[::KEPT] if example.source == source]
        for uncased in (False, True):
            result = figures(network, kept, uncased, unknown)
            print(json.dumps({"set": source, "unseen": bool(unseen), "capitals": not uncased, **result}), flush=True)
    if options.write:
        TARGET.mkdir(parents=True, exist_ok=True)
        file = TARGET / "model.onnx"
        file.write_bytes(graph_of(network.arrays()).SerializeToString())
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        (TARGET / "model.json").write_text(json.dumps({"sha256": digest}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
