"""Train the network that reads a question with a candidate query in words (see scripts/query_groups.py).

    torchrun --nproc-per-node 2 scripts/train_query_ranker.py groups.pkl --out joint.npz [--steps 4500]

Needs torch. Each process has one thread and reads its share of the questions of a step; one process alone is started
with python. As in scripts/train_reading.py the first four layers of the encoder read both apart, and its last two,
trained, read both together. The loss is the likelihood of the right candidates of a question among its candidates and
"none", whose score is 0: the right choice where the graph does not answer.
Left out are the written graphs of the last third and those that are only measured, the made worlds of the last fit,
MetaQA, PathQuestion and PQL; for each is printed the share of questions whose best candidate is right, and of those
without an answer for which "none" is likelier than all.
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from build_encoder import fetch
from build_query_ranker import packaged
from parser_data import Group
from relation_names import RelationNames
from safetensors.numpy import load_file
from torch import nn
from train_reading import Joint

from graphwright.models.embedded.cross_encoder import Match, Tokens, network, tokens_of
from graphwright.operators.query.graphs.parser import READ_CANDIDATES

LAYER, LONGEST = 4, 64
OTHERS, PER_STEP = 8, 8  # wrong candidates of a question, questions of a step
PARTS = 3  # of a step, pairs of like length in each
RATE, HEAD_RATE = 2e-4, 1e-3
LEFT_OUT = ("metaqa", "pq-2h", "pql-2h", "written 2", "written None", "others")


class States:
    """The tokens of texts, kept in half precision."""

    def __init__(self) -> None:
        self.known: dict[str, Tokens] = {}

    def of(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of texts."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        self.known |= dict(zip(new, (tokens.cut(LONGEST) for tokens in tokens_of(new)), strict=True))
        if len(self.known) > 100_000:
            self.known = {text: self.known[text] for text in texts}
        return [self.known[text] for text in texts]


def batch(pairs: Sequence[tuple[str, str]], states: States, rarity: Any) -> dict[str, torch.Tensor]:
    """Return what the network is given of pairs, padded to the longest."""
    asked, held = states.of([pair[0] for pair in pairs]), states.of([pair[1] for pair in pairs])
    matches = [Match.of(a, b, rarity) for a, b in zip(asked, held, strict=True)]
    arrays: dict[str, Any] = {"numbers": np.stack([match.features() for match in matches])}
    marks = [match.marks() for match in matches]
    for side, (name, tokens) in enumerate((("asked", asked), ("held", held))):
        longest = max(len(t.ids) for t in tokens)
        arrays[name] = np.zeros((len(pairs), longest, 384), np.float32)
        arrays[f"{name}_marks"] = np.zeros((len(pairs), longest, 3), np.float32)
        arrays[f"{name}_mask"] = np.zeros((len(pairs), longest), bool)
        for row, t in enumerate(tokens):
            size = len(t.ids)
            arrays[name][row, :size] = t.states
            arrays[f"{name}_marks"][row, :size] = marks[row][side]
            arrays[f"{name}_mask"][row, :size] = True
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def chosen(group: Group, draw: random.Random) -> tuple[list[tuple[str, str]], int]:
    """Return right pairs, if any, then wrong ones, the likeliest among them; and how many are right."""
    right, wrong = np.flatnonzero(group.right).tolist(), np.flatnonzero(group.right == 0).tolist()
    best = draw.sample(right, min(2, len(right)))
    near = wrong[: OTHERS // 2]
    rest = wrong[OTHERS // 2 : READ_CANDIDATES]
    rows = [*best, *near, *draw.sample(rest, min(len(rest), OTHERS - len(near)))]
    return [group.pairs[row] for row in rows], len(best)


def is_usable(group: Group) -> bool:
    """Return whether a question has right candidates and others, or no candidate gives the answer."""
    return bool(group.pairs) and bool((group.right.any() and not group.right.all()) or not group.gives.any())


def loss_of(net: Joint, some: Sequence[Group], states: States, rarity: Any, draw: random.Random) -> torch.Tensor:
    """Return the mean loss of questions."""
    parts = [chosen(group, draw) for group in some]
    scores = _scores(net, [pair for pairs, _ in parts for pair in pairs], states, rarity)
    losses, start = [], 0
    for pairs, right in parts:
        own = torch.cat((scores[start : start + len(pairs)], torch.zeros(1)))
        losses.append(torch.logsumexp(own, 0) - torch.logsumexp(own[:right] if right else own[-1:], 0))
        start += len(pairs)
    return torch.stack(losses).mean()


def _scores(net: Joint, pairs: Sequence[tuple[str, str]], states: States, rarity: Any) -> torch.Tensor:
    """Return the score of each pair, those of like length read together, in bfloat16."""
    order = np.argsort([len(asked) + len(held) for asked, held in pairs], kind="stable")
    with torch.autocast("cpu", torch.bfloat16):
        parts = [
            net(batch([pairs[row] for row in rows.tolist()], states, rarity))[0]
            for rows in np.array_split(order, PARTS)
        ]
    return torch.cat(parts).float()[torch.from_numpy(np.argsort(order))]


@torch.no_grad()  # type: ignore[untyped-decorator, unused-ignore]
def scored(net: Joint, group: Group, states: States, rarity: Any) -> np.ndarray[Any, Any]:
    """Return the score of each pair of a question."""
    parts = [group.pairs[at : at + 24] for at in range(0, len(group.pairs), 24)]
    return np.concatenate([net(batch(part, states, rarity))[0].numpy() for part in parts])


def figures(net: Joint, some: Sequence[Group], states: States, rarity: Any) -> tuple[float, float]:
    """Return the share of questions whose best candidate is right, and of those without an answer that get "none"."""
    net.eval()
    found = [(scored(net, g, states, rarity), g) for g in some if g.pairs]
    net.train()
    right = [bool(g.right[scores.argmax()]) for scores, g in found if g.gives.any()]
    none = [bool(np.exp(scores).sum() < 1) for scores, g in found if not g.gives.any()]
    return _share(right), _share(none)


def _share(flags: Sequence[bool]) -> float:
    """Return the share of those that are true, NaN of none."""
    return round(float(np.mean(flags)), 3) if flags else float("nan")


def average_gradients(net: Joint, processes: int) -> None:
    """Give each parameter the mean of its gradients in all processes."""
    if processes > 1:
        given = [p.grad for p in net.parameters() if p.grad is not None]
        whole = torch.cat([gradient.flatten() for gradient in given])
        dist.all_reduce(whole)
        for gradient, part in zip(given, whole.split([gradient.numel() for gradient in given]), strict=True):
            gradient.copy_(part.view_as(gradient) / processes)


def endless(items: list[Any], draw: random.Random) -> Iterator[Any]:
    """Yield the items in rounds, each in an order of its own."""
    while True:
        draw.shuffle(items)
        yield from items


def begin(net: Joint, place: Path) -> None:
    """Give a network the state in a file, or of one that was made small, in a folder."""
    if place.is_dir():
        net.take(packaged(place))
    else:
        net.load_state_dict(torch.load(place))


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--leave-out", nargs="*", default=LEFT_OUT, help="sources, by how their names begin")
    parser.add_argument(
        "--begin-with", type=Path, help="state to go on from (torch), or folder of a network made small"
    )
    parser.add_argument("--steps", type=int, default=4500)
    parser.add_argument("--rate", type=float, default=1.0, help="of learning, times that of a first run")
    parser.add_argument(
        "--deep", type=float, default=1.0, help="how much more often made questions of three steps come"
    )
    parser.add_argument("--show", type=int, default=15, help="questions of each left-out set that are asked on the way")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rank, processes = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if processes > 1:
        dist.init_process_group("gloo")
    found: dict[str, list[Group]] = {}
    for file in options.groups:
        with file.open("rb") as stream:
            for name, own in pickle.load(stream).items():
                found.setdefault(name, []).extend(own)
    draw, states = random.Random(0), States()
    rarity = network().rarity
    with tempfile.TemporaryDirectory() as folder:
        net = Joint(load_file(str(fetch(Path(folder)))), LAYER)
    usable = {name: list(filter(is_usable, own)) for name, own in found.items()}
    sources = {name: own for name, own in usable.items() if own and not name.startswith(tuple(options.leave_out))}
    left = {
        source: [g for n, own in found.items() if n.startswith(source) for g in own] for source in options.leave_out
    }
    shown = {name: draw.sample(own, min(options.show, len(own))) for name, own in left.items()}
    sample = [g for own in sources.values() for g in draw.sample(own, min(20, len(own)))]
    numbers = torch.cat([batch(g.pairs[:8], states, rarity)["numbers"] for g in sample])
    net.mean.copy_(numbers.mean(0))
    net.deviation.copy_(numbers.std(0) + 1e-3)
    if options.begin_with:
        begin(net, options.begin_with)
    layers = [p for name, p in net.named_parameters() if name.startswith("layers")]
    others = [p for name, p in net.named_parameters() if not name.startswith("layers")]
    optimiser = torch.optim.AdamW([{"params": layers}, {"params": others}], weight_decay=0.01)
    draw = random.Random(rank)
    every = {name: endless(own, draw) for name, own in sources.items()}
    names = list(sources)
    weights = [len(own) ** 0.75 * (options.deep if name.endswith("deep") else 1) for name, own in sources.items()]
    relations, begun, losses = RelationNames(), time.time(), list[float]()
    print({name: len(own) for name, own in sources.items()}, flush=True)
    for step in range(options.steps):
        share = min(1, (step + 1) / 100) * max(0.02, 1 - step / options.steps) * options.rate
        for group, rate in zip(optimiser.param_groups, (RATE, HEAD_RATE), strict=True):
            group["lr"] = rate * share
        optimiser.zero_grad()
        drawn = draw.choices(names, weights, k=PER_STEP // processes)
        asked = [relations.drawn(name, next(every[name]), draw) for name in drawn]
        loss = loss_of(net, asked, states, rarity, draw)
        loss.backward()
        average_gradients(net, processes)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
        if rank == 0 and step % 100 == 99:
            print(f"step {step + 1}: loss {np.mean(losses[-100:]):.3f}, {time.time() - begun:.0f} s", flush=True)
        if rank == 0 and (step % 2000 == 1999 or step == options.steps - 1):
            torch.save(net.state_dict(), options.out.with_suffix(".pt"))
            print({name: figures(net, own, states, rarity) for name, own in shown.items()}, flush=True)
    if rank == 0:
        arrays: dict[str, Any] = {**net.saved(LAYER, rarity)}
        np.savez(options.out, **arrays)


if __name__ == "__main__":
    main()
