"""Train the embedded reader: six layers that read a question with one or two passages.

    python scripts/train_reader.py open --data DIR --work DIR [--minutes 140]
    python scripts/train_reader.py multihop --data DIR --work DIR [--without hotpotqa|2wiki|musique]
    python scripts/train_reader.py quotations --data DIR --work DIR

Needs `pip install graphwright[train]`; the weights of all-MiniLM-L6-v2 are fetched as scripts/build_encoder.py does,
and its word embeddings stay as they are. Stage `open` (scripts/reader_data.py) goes through the open sets once, at a
constant rate after a start, and then through questions of two steps made of them; it writes a checkpoint in half
precision every 100 steps and goes on from the last one, at first from scripts/checkpoints. Stage `multihop` starts
from it and lets the rate fall to zero: the multihop sets without one family, or all of them for the reader that ships;
questions over manuals and office documents (scripts/reader_documents.py); and some of stage A's examples again. Stage
`quotations` goes on with short texts (scripts/reader_quotations.py), rows of tables (scripts/reader_rows.py), and some
of the examples again. The running mean of the weights (`-mean.safetensors`) is where that begins, and what
scripts/build_reader.py makes small. Which examples make which step, and their order, follow from the seed alone.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import random
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from build_encoder import HEADS, HIDDEN, LAYERS, fetch
from build_encoder import TARGET as ENCODER
from reader_data import (
    DECIDED,
    FAMILIES,
    NO,
    NONE,
    SEVERAL,
    SPAN,
    YES,
    Example,
    chained_examples,
    multihop_examples,
    open_examples,
)
from reader_documents import document_examples
from reader_quotations import confirmed_examples, quotation_examples, statement_examples
from reader_rows import row_examples
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer
from torch import nn
from train_reading import Layer

CLS, SEP = 101, 102
MAX_TOKENS, MAX_QUESTION, SINGLE = 384, 64, 256
BATCH_TOKENS = 4096  # of a step, padding counted
SORTED = 1024  # examples that are sorted by length before they are batched
RATES, WARM_UP = {"open": 2e-4, "multihop": 2e-4, "quotations": 1.2e-4}, 200
AVERAGE = 0.998  # of the running mean of weights, which is what is kept
REPLAYED = 0.2  # examples of the open sets that are read again, per new example
REPLAYED_LAST = 0.1  # of all before, in stage `quotations`
REPLAYED_CHAINS = 0.05  # questions of two steps that are read again, per new example
KINDS = 5
WITH_SPANS = (SPAN, SEVERAL, DECIDED)
CHECKPOINT = Path(__file__).parent / "checkpoints/open.safetensors"  # where a first run begins


class ReaderLayer(Layer):
    """A layer of BERT that begins as one of the encoder's, with dropout."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor, dropout: float = 0.0) -> torch.Tensor:
        """Return the states after the layer; plain products of batches are faster here than fused attention."""
        batch, length, _ = x.shape

        def heads(y: torch.Tensor) -> torch.Tensor:
            return y.view(batch, length, HEADS, -1).transpose(1, 2).reshape(batch * HEADS, length, -1)

        q, k, v = heads(self.query(x)), heads(self.key(x)), heads(self.value(x))
        scores = torch.bmm(q * (HIDDEN // HEADS) ** -0.5, k.transpose(1, 2)).view(batch, HEADS, length, length) + mask
        mixed = torch.bmm(scores.softmax(-1).to(v.dtype).view(batch * HEADS, length, length), v)
        y = self.mixed(mixed.view(batch, HEADS, length, -1).transpose(1, 2).reshape(x.shape))
        x = self.after_mixed(x + F.dropout(y, dropout, self.training))
        y = self.narrow(F.gelu(self.wide(x)))
        return self.after_narrow(x + F.dropout(y, dropout, self.training))


class ReaderNetwork(nn.Module):  # type: ignore[misc, unused-ignore]
    """The layers, what finds spans, and what tells the kind of an answer."""

    def __init__(self, weights: dict[str, Any]) -> None:
        super().__init__()
        words = torch.tensor(weights["embeddings.word_embeddings.weight"])
        self.register_buffer("words", words, persistent=False)
        self.positions = nn.Parameter(torch.tensor(weights["embeddings.position_embeddings.weight"][:MAX_TOKENS]))
        self.types = nn.Parameter(torch.tensor(weights["embeddings.token_type_embeddings.weight"]))
        self.norm = nn.LayerNorm(HIDDEN, eps=1e-12)
        self.norm.weight.data = torch.tensor(weights["embeddings.LayerNorm.weight"])
        self.norm.bias.data = torch.tensor(weights["embeddings.LayerNorm.bias"])
        self.layers = nn.ModuleList(ReaderLayer(weights, number) for number in range(LAYERS))
        self.spans, self.kind = nn.Linear(HIDDEN, 2), nn.Linear(HIDDEN, KINDS)
        for head in (self.spans, self.kind):
            nn.init.normal_(head.weight, std=0.02)
            nn.init.zeros_(head.bias)

    def forward(
        self, ids: torch.Tensor, types: torch.Tensor, dropout: float = 0.0
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits of the first and last token of a span [n, tokens, 2], and of the kinds [n, 5]."""
        x = self.norm(self.words[ids] + self.positions[: ids.shape[1]] + self.types[types])
        mask = torch.zeros(ids.shape).masked_fill(ids == 0, -1e4)[:, None, None, :]
        mask = mask.to(torch.bfloat16 if torch.is_autocast_enabled("cpu") else torch.float32)
        for layer in self.layers:
            x = layer(x, mask, dropout)
        return self.spans(x).float(), self.kind(x[:, 0]).float()


@dataclass(frozen=True, slots=True)
class Encoded:
    """An example as the network reads it: token ids, where passages begin, spans as first and last token, kind."""

    ids: list[int]
    passages_from: int
    spans: list[tuple[int, int]]
    kind: int


def encode(tokenizer: Tokenizer, examples: Sequence[Example]) -> Iterator[Encoded]:
    """Yield the examples in tokens; where the limit cuts off all spans, the kind is `none`."""
    for example in examples:
        question = tokenizer.encode(example.question, add_special_tokens=False).ids[: MAX_QUESTION - 2]
        ids = [CLS, *question, SEP]
        begin, spans = len(ids), []
        room = SINGLE if len(example.passages) == 1 else (MAX_TOKENS - begin) // len(example.passages)
        for passage in example.passages:
            encoding = tokenizer.encode(passage.whole, add_special_tokens=False)
            offsets = encoding.offsets[: room - 1]
            for first, last in passage.spans:
                inside = [n for n, (b, e) in enumerate(offsets) if e > first and b < last]
                if inside and offsets[inside[-1]][1] >= last:
                    spans.append((len(ids) + inside[0], len(ids) + inside[-1]))
            ids += [*encoding.ids[: room - 1], SEP]
        cut = not spans and any(passage.spans for passage in example.passages)
        kind = NONE if cut and example.kind in WITH_SPANS else example.kind
        yield Encoded(ids, begin, spans if kind in WITH_SPANS else [], kind)


def batches(examples: list[Encoded], draw: random.Random) -> list[list[Encoded]]:
    """Return the examples in batches of about equal lengths, in an order that `draw` decides."""
    order = draw.sample(examples, len(examples))
    made: list[list[Encoded]] = []
    for at in range(0, len(order), SORTED):
        made.append([])
        several = [made[-1]]
        for example in sorted(order[at : at + SORTED], key=lambda e: len(e.ids)):
            if (len(several[-1]) + 1) * len(example.ids) > BATCH_TOKENS:
                several.append([])
            several[-1].append(example)
        made[-1:] = draw.sample(several, len(several))
    return made


def tensors(batch: Sequence[Encoded]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return token ids, types, and which tokens belong to passages."""
    longest = max(len(example.ids) for example in batch)
    ids = torch.zeros((len(batch), longest), dtype=torch.long)
    types = torch.zeros_like(ids)
    for row, example in enumerate(batch):
        ids[row, : len(example.ids)] = torch.tensor(example.ids)
        types[row, example.passages_from : len(example.ids)] = 1
    return ids, types, (types == 1) & (ids != SEP)


def loss_of(net: ReaderNetwork, batch: Sequence[Encoded], dropout: float) -> torch.Tensor:
    """Return the loss of the kinds, and of the spans where there are any.

    Places of one answer compete as one (the logarithm of their summed probability); several answers count each.
    """
    ids, types, inside = tensors(batch)
    with torch.autocast("cpu", torch.bfloat16):
        spans, kinds = net(ids, types, dropout)
    decided = torch.logsumexp(kinds[:, [YES, NO]], 1, keepdim=True)
    chosen = torch.cat((kinds, decided), 1).gather(1, torch.tensor([[example.kind] for example in batch]))[:, 0]
    loss = (torch.logsumexp(kinds, 1) - chosen).mean()
    logs = torch.log_softmax(spans.masked_fill(~inside[:, :, None], -1e4), 1)
    terms = []
    for row, example in enumerate(batch):
        if example.spans:
            first, last = torch.tensor(example.spans).T
            each = logs[row, first, 0] + logs[row, last, 1]
            terms.append(each.mean() if example.kind == SEVERAL else torch.logsumexp(each, 0))
    return loss - torch.stack(terms).sum() / (2 * len(batch)) if terms else loss


class Training:
    """A network, its optimiser, the running mean of its weights, and the step that it has come to."""

    def __init__(self, weights: dict[str, Any], checkpoint: Path | None, rate: float) -> None:
        self.net = ReaderNetwork(weights)
        self.step, self.rate = 0, rate
        if checkpoint is not None and checkpoint.is_file():
            arrays = load_file(checkpoint)
            self.step = int(arrays.pop("step"))
            self.net.load_state_dict({name: torch.tensor(a.astype(np.float32)) for name, a in arrays.items()})
        self.mean = {name: value.detach().clone() for name, value in self.net.state_dict().items()}
        self.begun = self.step
        decayed = [p for p in self.net.parameters() if p.ndim > 1]
        others = [p for p in self.net.parameters() if p.ndim == 1]
        groups = [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
        self.optimiser = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True)
        moments = None if checkpoint is None else checkpoint.with_suffix(".optimiser")
        if moments is not None and moments.is_file():  # else the rate starts from zero again
            self.optimiser.load_state_dict(torch.load(moments))
            self.begun = self.step - WARM_UP

    def take(self, batch: Sequence[Encoded], share: float, dropout: float) -> float:
        """Take a step at a share of the rate, after the start; return the loss."""
        rate = self.rate * share * min(1.0, (self.step - self.begun + 1) / WARM_UP)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.net.train()
        loss = loss_of(self.net, batch, dropout)
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0, foreach=True)
        self.optimiser.step()
        self.step += 1
        keep = min(AVERAGE, self.step / (self.step + 10))
        with torch.no_grad():
            torch._foreach_lerp_(list(self.mean.values()), list(self.net.state_dict().values()), 1 - keep)
        value: float = loss.item()
        return value

    def save(self, file: Path, averaged: bool = False) -> None:
        """Write the weights in half precision, at once or not at all."""
        state = self.mean if averaged else self.net.state_dict()
        arrays = {name: value.numpy().astype(np.float16) for name, value in state.items()}
        temporary = file.with_suffix(".part")
        save_file({**arrays, "step": np.array(self.step)}, temporary)
        temporary.replace(file)


def train(training: Training, steps: Sequence[Sequence[Encoded]], given: Any, file: Path, decay: bool) -> None:
    """Take the steps from where the training stands, until they end or the time does."""
    begun, losses = time.time(), []
    first = training.step if not decay else 0
    for number in range(first, len(steps)):
        share = 1 - number / len(steps) if decay else 1.0
        losses.append(training.take(steps[number], share, 0.1 if decay else 0.0))
        if number % 50 == 49:
            line = {"step": number + 1, "of": len(steps), "loss": float(np.mean(losses[-50:]))}
            print(json.dumps({**line, "seconds": round(time.time() - begun)}), flush=True)
        if number % 100 == 99 and not decay:
            training.save(file)
            training.save(file.with_stem(f"{file.stem}-mean"), averaged=True)
            torch.save(training.optimiser.state_dict(), file.with_suffix(".optimiser"))
        if given.minutes and time.time() - begun > 60 * given.minutes:
            break
    training.save(file)
    training.save(file.with_stem(f"{file.stem}-mean"), averaged=True)


def tokenised(given: Any, stage: str) -> list[list[Encoded]]:
    """Return the batches of a stage."""
    tokenizer = Tokenizer.from_file(str(ENCODER / "tokenizer.json"))
    draw = random.Random(given.seed)

    def again(examples: Sequence[Example], share: float, new: Sequence[Example]) -> list[Example]:
        return draw.sample(examples, min(len(examples), math.ceil(share * len(new))))

    plain = list(open_examples(given.data / "qa", draw))
    if stage == "open":
        first = batches(list(encode(tokenizer, plain)), draw)
        chained = list(chained_examples(given.data / "qa", draw))
        return first + batches(list(encode(tokenizer, chained + again(plain, REPLAYED, chained))), draw)
    chained = list(chained_examples(given.data / "qa", draw))
    families = [family for family in FAMILIES if family != given.without]
    folder = given.data / "multihop"
    new = list(chain.from_iterable(multihop_examples(folder, family, draw) for family in families))
    new += document_examples(given.work, draw)
    examples = new + again(chained, REPLAYED_CHAINS, new) + again(plain, REPLAYED, new)
    if stage == "quotations":
        rows = row_examples(given.data / "tables" / "wikitablequestions", given.work, draw)
        confirmed = confirmed_examples(given.data / "qa", draw)
        learned = [*quotation_examples(given.work, draw), *statement_examples(), *rows, *confirmed]
        examples = learned + again(examples, REPLAYED_LAST, learned)
    return batches(list(encode(tokenizer, examples)), draw)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("stage", choices=tuple(RATES))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="where checkpoints are written and read")
    parser.add_argument("--without", choices=tuple(FAMILIES), help="the family that the fold leaves out")
    parser.add_argument("--minutes", type=float, help="end after so long")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    given.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        weights = load_file(fetch(Path(folder)))
    cache = given.work / f"{given.stage}-{given.without or 'all'}-{given.seed}.pickle"
    steps = pickle.loads(cache.read_bytes()) if cache.is_file() else tokenised(given, given.stage)
    cache.write_bytes(pickle.dumps(steps))
    tokens = sum(len(example.ids) for batch in steps for example in batch)
    print(json.dumps({"examples": sum(map(len, steps)), "steps": len(steps), "tokens": tokens}), flush=True)
    start = given.work / "open.safetensors"
    if not start.is_file() and CHECKPOINT.is_file():
        shutil.copyfile(CHECKPOINT, start)
    if given.stage == "open":
        train(Training(weights, start, RATES["open"]), steps, given, start, decay=False)
    else:
        end = given.work / f"without-{given.without or 'none'}.safetensors"
        if given.stage == "quotations":
            start, end = end.with_stem(f"{end.stem}-mean"), end.with_stem(f"quotations-{given.without or 'none'}")
        training = Training(weights, start, RATES[given.stage])
        training.step = training.begun = 0
        train(training, steps, given, end, decay=True)


if __name__ == "__main__":
    main()
