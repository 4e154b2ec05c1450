"""Train the embedded cross-encoder and reader; see scripts/reading_data.py for what it learns from.

    python scripts/train_reading.py --data DIR --out joint.npz [--steps 3000] [--layer 4]

Needs `pip install graphwright[train]`; the weights of all-MiniLM-L6-v2 are fetched as scripts/build_encoder.py does.
The encoder's first `layer` layers stay as they are and read questions and passages apart; its other layers become the
joint ones. In one loss: each gold passage against the candidates that are none (softmax over the passages of a
question), the first and last token of each place where an answer stands, against all tokens of these passages, and
whether yes or no answers. The score starts as a linear model of how the words match (`Match`), fitted before. Two cores
take 40 minutes.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from build_encoder import HEADS, HIDDEN, LAYERS, fetch
from build_encoder import TARGET as ENCODER
from build_reading import TARGET, layer_output, one_more_output
from reading_data import REAL, Asked, Part, made_questions, read_part
from safetensors.numpy import load_file
from torch import nn

from graphwright.models.embedded.cross_encoder import MATCHES, Match, Tokens

GROUP, PER_STEP = 8, 4  # passages of a question, questions of a step
LONGEST, ASKED = 176, 64  # tokens of a passage and of a question while training
MADE_SHARE, SPAN_WEIGHT, KIND_WEIGHT = 0.4, 1.0, 0.1
RATE, HEAD_RATE = 2e-4, 1e-3
NEAREST = 40  # passages nearest to a made question, as its pool


class Layer(nn.Module):  # type: ignore[misc, unused-ignore]
    """A layer of BERT that begins as one of the encoder's."""

    PARTS = (
        ("query", "attention.self.query"),
        ("key", "attention.self.key"),
        ("value", "attention.self.value"),
        ("mixed", "attention.output.dense"),
        ("wide", "intermediate.dense"),
        ("narrow", "output.dense"),
    )
    NORMS = (("after_mixed", "attention.output.LayerNorm"), ("after_narrow", "output.LayerNorm"))

    def __init__(self, weights: dict[str, Any], number: int) -> None:
        super().__init__()
        for attribute, name in (*self.PARTS, *self.NORMS):
            weight = torch.tensor(weights[f"encoder.layer.{number}.{name}.weight"])
            made = nn.Linear(weight.shape[1], weight.shape[0]) if weight.ndim == 2 else nn.LayerNorm(HIDDEN, eps=1e-12)
            made.weight.data = weight
            made.bias.data = torch.tensor(weights[f"encoder.layer.{number}.{name}.bias"])
            setattr(self, attribute, made)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        def heads(y: torch.Tensor) -> torch.Tensor:
            return y.view(*y.shape[:2], HEADS, HIDDEN // HEADS).transpose(1, 2)

        q, k, v = heads(self.query(x)), heads(self.key(x)), heads(self.value(x))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
        x = self.after_mixed(x + self.mixed(y.transpose(1, 2).reshape(x.shape)))
        return self.after_narrow(x + self.narrow(F.gelu(self.wide(x))))


class Joint(nn.Module):  # type: ignore[misc, unused-ignore]
    """The joint layers, the head, and what finds spans."""

    def __init__(self, weights: dict[str, Any], layer: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(weights, number) for number in range(layer, LAYERS))
        self.parts = nn.Parameter(torch.zeros(2, HIDDEN))
        self.asked = nn.Parameter(torch.zeros(3, HIDDEN))
        self.held = nn.Parameter(torch.zeros(3, HIDDEN))
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("mean", torch.zeros(MATCHES))
        self.register_buffer("deviation", torch.ones(MATCHES))
        self.past = nn.Parameter(torch.zeros(MATCHES))
        self.first, self.second = nn.Linear(HIDDEN + MATCHES, 128), nn.Linear(128, 1)
        self.spans, self.kind = nn.Linear(HIDDEN, 2), nn.Linear(HIDDEN, 3)
        for zero in (self.second.weight, self.second.bias, self.spans.bias):
            nn.init.zeros_(zero)
        nn.init.normal_(self.spans.weight, std=0.02)

    def forward(self, group: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return score[n], begin and end[n, tokens, 2] of the passages, kind[n, 3].

        Without `asked_mask` the group has one question.
        """
        asked = group["asked"] + self.parts[0] + group["asked_marks"] @ self.asked
        record = group["held"] + self.parts[1] + group["held_marks"] @ self.held
        x = self.dropout(torch.cat((asked, record), 1))
        asked_mask = group.get("asked_mask", torch.ones(asked.shape[:2], dtype=torch.bool))
        mask = torch.cat((asked_mask, group["held_mask"]), 1)
        for layer in self.layers:
            x = layer(x, mask)
        matched = (group["numbers"] - self.mean) / self.deviation
        latent = torch.cat((x[:, 0], matched), 1)
        score = self.second(torch.tanh(self.first(latent)))[:, 0] + matched @ self.past
        return score, self.spans(x[:, asked.shape[1] :]), self.kind(x[:, 0])

    def take(self, saved: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take the weights that `saved` gives."""
        names = {saved_name: name for name, saved_name in (*Layer.PARTS, *Layer.NORMS)}
        state = {name: saved[name] for name in ("parts", "asked", "held", "mean", "deviation", "past")}
        for name, value in saved.items():
            if name.startswith("encoder.layer."):
                number, rest = name.removeprefix("encoder.layer.").split(".", 1)
                part, kind = rest.rsplit(".", 1)
                state[f"layers.{number}.{names[part]}.{kind}"] = value
            elif name.startswith(("spans", "kind")):
                state[name] = value
        state |= {"first.weight": saved["w1"].T, "first.bias": saved["b1"]}
        state |= {"second.weight": saved["w2"][None], "second.bias": saved["b2"].reshape(1)}
        self.load_state_dict({name: torch.tensor(value) for name, value in state.items()})

    def saved(self, layer: int, rarity: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        """Return the weights under the names that scripts/build_reading.py reads."""
        state = {name: value.detach().numpy() for name, value in self.state_dict().items()}
        names = dict((*Layer.PARTS, *Layer.NORMS))
        saved = {name: state[name] for name in ("parts", "asked", "held", "mean", "deviation", "past")}
        for name, value in state.items():
            if name.startswith("layers."):
                _, number, attribute, kind = name.split(".")
                saved[f"encoder.layer.{number}.{names[attribute]}.{kind}"] = value
            elif name.startswith(("spans", "kind")):
                saved[name] = value
        saved |= {"w1": state["first.weight"].T, "b1": state["first.bias"]}
        saved |= {"w2": state["second.weight"][0], "b2": state["second.bias"]}
        return saved | {"rarity": rarity, "layer": np.array(layer)}


class Material:
    """The questions of a set with the states of all texts."""

    def __init__(self, part: Part, draw: random.Random) -> None:
        from graphwright.models.embedded.cross_encoder import tokens_of  # needs states.onnx

        wanted = {k for q in part.questions for k in (*q.pool, *q.walked, *q.gold)}
        self.part, keys = part, [key for key in part.passages if key in wanted]
        self.passages = dict(zip(keys, tokens_of([part.text(key) for key in keys]), strict=True))
        made = list(made_questions(Part(part.name, [], {key: part.passages[key] for key in keys}), draw))
        self.real = part.questions
        self.made = made
        self.questions = dict(
            zip(
                [q.id for q in (*part.questions, *made)],
                tokens_of([q.text for q in (*part.questions, *made)]),
                strict=True,
            )
        )
        vectors = np.stack([self.passages[key].vector for key in keys])
        for question in made:
            near = np.argsort(-(vectors @ self.questions[question.id].vector), kind="stable")[:NEAREST]
            question.pool = [keys[at] for at in near]

    def group(self, question: Asked, draw: random.Random) -> tuple[list[str], int]:
        """Return the passages of a step, the gold ones first, and how many these are."""
        gold = [key for key in question.gold if key in self.passages]
        best = draw.sample(gold, min(len(gold), 2))
        lists = [
            [k for k in ranked if k in self.passages and k not in gold] for ranked in (question.pool, question.walked)
        ]
        others: list[str] = []
        while len(others) < min(GROUP - len(best), len({*lists[0], *lists[1]})):
            ranked = lists[1] if lists[1] and (not lists[0] or draw.random() < 0.3) else lists[0]
            key = ranked[min(int(draw.expovariate(1 / 12)), len(ranked) - 1)]
            if key not in others:
                others.append(key)
        return best + others, len(best)


def rarities(parts: list[Part]) -> np.ndarray[Any, Any]:
    """Return how rare each token is in all passages: (idf / greatest idf)^1.5, 0 for special tokens."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(ENCODER / "tokenizer.json"))
    record = np.zeros(tokenizer.get_vocab_size())
    texts = [part.text(key)[:4000] for part in parts for key in part.passages]
    for encoding in tokenizer.encode_batch(texts, add_special_tokens=False):
        record[list(set(encoding.ids))] += 1
    idf = np.log((len(texts) + 1) / (record + 0.5)) / np.log((len(texts) + 1) / 0.5)
    idf[:999] = 0
    rarity: np.ndarray[Any, Any] = (np.maximum(idf, 0) ** 1.5).astype(np.float32)
    return rarity


def batch(question: Tokens, passages: list[Tokens], rarity: np.ndarray[Any, Any]) -> dict[str, torch.Tensor]:
    """Return what the network is given of a question and its passages, padded to the longest."""
    asked, cut = question.cut(ASKED), [passage.cut(LONGEST) for passage in passages]
    longest, n = max(len(passage.ids) for passage in cut), len(cut)
    record, marks = np.zeros((n, longest, HIDDEN), np.float32), np.zeros((n, longest, 3), np.float32)
    asked_marks = np.zeros((n, len(asked.ids), 3), np.float32)
    mask, numbers = np.zeros((n, longest), bool), np.zeros((n, MATCHES), np.float32)
    for at, passage in enumerate(cut):
        match, size = Match.of(asked, passage, rarity), len(passage.ids)
        record[at, :size], mask[at, :size], numbers[at] = passage.states, True, match.features()
        asked_marks[at], marks[at, :size] = match.marks()
    same = np.broadcast_to(asked.states.astype(np.float32), (n, *asked.states.shape)).copy()
    arrays = {
        "asked": same,
        "held": record,
        "asked_marks": asked_marks,
        "held_marks": marks,
        "held_mask": mask,
        "numbers": numbers,
    }
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def places(text: str, answers: list[str], tokens: Tokens) -> list[tuple[int, int]]:
    """Return the first and last token, special ones counted, of each place where an answer stands as whole words."""
    low, spans = text.lower(), []
    for answer in (answer.strip().lower() for answer in answers):
        at = low.find(answer) if answer not in ("", "yes", "no") and len(low) == len(text) else -1
        while at >= 0:
            end = at + len(answer)
            if not low[max(at - 1, 0) : at].isalnum() and not low[end : end + 1].isalnum():
                inside = [n for n, (b, e) in enumerate(tokens.spans) if e > b and b < end and e > at]
                spans += [(inside[0] + 1, inside[-1] + 1)] if inside else []
            at = low.find(answer, at + 1)
    return spans


def loss_of(
    net: Joint, material: Material, question: Asked, rarity: Any, draw: random.Random
) -> tuple[Any, float] | None:
    """Return the loss of one question, and the part of it that is about ranking."""
    keys, gold = material.group(question, draw)
    if not gold or len(keys) == gold:
        return None
    passages = [material.passages[key] for key in keys]
    group = batch(material.questions[question.id], passages, rarity)
    score, spans, kind = net(group)
    rank = torch.stack(
        [-torch.log_softmax(torch.cat((score[at : at + 1], score[gold:])), 0)[0] for at in range(gold)]
    ).mean()
    loss = rank
    if question.answers:
        message = {"yes": 1, "no": 2}.get(question.answers[0].strip().lower(), 0)
        if not question.made:
            loss = loss + KIND_WEIGHT * F.cross_entropy(kind[:gold].mean(0, keepdim=True), torch.tensor([message]))
        width = spans.shape[1]
        right = [
            (at * width + b, at * width + e)
            for at, key in enumerate(keys[:gold])
            for b, e in places(material.part.text(key), question.answers, passages[at])
            if e < width
        ]
        if right and not message:
            logits = torch.log_softmax(spans.masked_fill(~group["held_mask"][:, :, None], -1e4).reshape(-1, 2), 0)
            b, e = torch.tensor(right).T
            loss = loss - SPAN_WEIGHT / 2 * torch.logsumexp(logits[b, 0] + logits[e, 1], 0)
    return loss, rank.item()


def linear_start(net: Joint, real: list[tuple[Material, Asked]], rarity: Any, draw: random.Random) -> None:
    """Fit the way past the network: a linear model of matches, over whole pools."""
    pools = []
    for material, question in real:
        if material.part.name in ("hotpotqa", "2wiki", "scifact"):
            keys = [
                k for k in dict.fromkeys((*question.pool, *question.walked, *question.gold)) if k in material.passages
            ]
            right = torch.tensor([key in question.gold for key in keys])
            if right.any() and not right.all():
                asked = material.questions[question.id].cut(ASKED)
                rows = [Match.of(asked, material.passages[key], rarity).features() for key in keys]
                pools.append((torch.from_numpy(np.stack(rows)), right))
    every = torch.cat([rows for rows, _ in pools])
    net.mean.copy_(every.mean(0))
    net.deviation.copy_(every.std(0) + 1e-3)
    past = torch.zeros(MATCHES, requires_grad=True)
    optimiser = torch.optim.AdamW([past], lr=1e-2, weight_decay=1e-3)
    total = 30 * len(pools) // 16
    for step in range(total):
        optimiser.param_groups[0]["lr"] = 1e-2 * (1 - step / total)
        losses = []
        for rows, right in draw.sample(pools, min(16, len(pools))):
            score = ((rows - net.mean) / net.deviation) @ past
            losses.append(F.softplus(torch.logsumexp(score[~right], 0) - score[right]).mean())
        optimiser.zero_grad()
        torch.stack(losses).mean().backward()
        optimiser.step()
    net.past.data.copy_(past.detach())


def turns(items: list[Any], draw: random.Random) -> Iterator[Any]:
    """Yield the items in rounds, each in an order of its own."""
    while True:
        draw.shuffle(items)
        yield from items


def train(net: Joint, materials: list[Material], steps: int, rarity: Any, draw: random.Random) -> None:
    real = [(m, q) for m in materials for q in m.real if not q.held_out]
    made = [(m, q) for m in materials for q in m.made]
    linear_start(net, real, rarity, draw)
    layers = [p for name, p in net.named_parameters() if name.startswith("layers")]
    others = [p for name, p in net.named_parameters() if not name.startswith("layers")]
    optimiser = torch.optim.AdamW([{"params": layers}, {"params": others}], weight_decay=0.01)
    next_real, next_made, begun, ranks = turns(real, draw), turns(made, draw), time.time(), []
    for step in range(steps):
        share = min(1, (step + 1) / 100) * max(0.02, 1 - step / steps)
        for group, rate in zip(optimiser.param_groups, (RATE, HEAD_RATE), strict=True):
            group["lr"] = rate * share
        optimiser.zero_grad()
        for _ in range(PER_STEP):
            material, question = next(next_made if draw.random() < MADE_SHARE else next_real)
            spans = loss_of(net, material, question, rarity, draw)
            if spans is not None:
                (spans[0] / PER_STEP).backward()
                ranks.append(spans[1])
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        if step % 100 == 99:
            print(f"step {step + 1}: ranking loss {np.mean(ranks[-400:]):.3f}, {time.time() - begun:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--layer", type=int, default=4, help="where the joint part begins")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    import onnx

    TARGET.mkdir(parents=True, exist_ok=True)
    begun = layer_output(onnx.load(str(ENCODER / "model.onnx")), given.layer)
    (TARGET / "states.onnx").write_bytes(one_more_output(begun))
    torch.manual_seed(given.seed)
    draw = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        weights = load_file(fetch(Path(folder)))
        parts = [read_part(name, given.data, Path(folder) / name) for name in REAL]
    rarity = rarities(parts)
    materials = [Material(part, draw) for part in parts]
    net = Joint(weights, given.layer)
    train(net, materials, given.steps, rarity, draw)
    arrays: dict[str, Any] = net.saved(given.layer, rarity)
    np.savez(given.out, **arrays)


if __name__ == "__main__":
    main()
