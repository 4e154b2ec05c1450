"""Fit the scorer of queries over tables on questions with answers.

    python scripts/fit_table_parser.py TRAIN.pkl… --out WEIGHTS.npz

The files are made by `scripts/table_data.py`. A candidate's score is a product of a vector of the question (its n-grams
and its sentence vector) and one of the candidate (its parts and the names of its columns), plus a small network over
dense features; to it comes how far the query agrees with the amounts and names of the question. The likelihood of all
candidates that give the answer is maximised; needs torch.
"""

from __future__ import annotations

import argparse
import pickle
import re
import time
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile
from zlib import crc32

import numpy as np
import torch
from table_batch import Entry, batch_of, frequent, sample, segment_logsumexp, without_rare
from table_calibration import calibration, even_weights, summary
from torch import Tensor, nn

from graphwright.operators.query.tables.features import NGRAMS, PARTS
from graphwright.operators.query.tables.scorer import TableScorer, evidence_of

RATE = 1e-3
JOINS = -4  # the dense feature that counts columns of other tables
JOINED = 3  # how often each question over tables that lead to one another is seen in an epoch
RANK, HIDDEN, SENTENCE = 32, 64, 384
HELD = (
    "calendar",
    "hotels",
    "players",
    "orders",
    "bridges",
    "bookings",
    "readings",
    "crew",
    "devices",
    "flights",
    "transcript",
    "edges",
    "overview",
    "herd",
    "Staff canteen",
    *("lakes", "runners", "matches", "keys", "used cars", "phone list", "medicines", "cases", "port calls", "backups"),
    *("leases", "quotes", "consultations", "exams"),
)


class Scorer(nn.Module):  # type: ignore[misc]
    """Scores of the candidates of some questions, as `TableScorer` computes them."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.ngrams = nn.Embedding(NGRAMS, RANK, padding_idx=0)
        self.parts = nn.Embedding(PARTS, RANK, padding_idx=0)
        self.bias = nn.Embedding(PARTS, 1, padding_idx=0)
        self.sentence, self.rest = (nn.Linear(SENTENCE, RANK, bias=False) for _ in range(2))
        self.headers = nn.ModuleList(nn.Linear(SENTENCE, RANK, bias=False) for _ in range(3))
        self.first = nn.Linear(features + 1, HIDDEN)
        self.second = nn.Linear(HIDDEN, HIDDEN)
        self.last = nn.Linear(HIDDEN, 1)
        self.hidden_dropout, self.question_dropout = nn.Dropout(0.2), nn.Dropout(0.3)
        for embedding in (self.ngrams, self.parts):
            nn.init.normal_(embedding.weight, 0, 0.05)
            embedding.weight.data[0] = 0
        nn.init.zeros_(self.bias.weight)
        nn.init.zeros_(self.rest.weight)

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Return the score of each candidate."""
        mask = batch["ngram_mask"]
        if self.training:
            mask = mask * (torch.rand_like(mask) > 0.3)
        grams = (self.ngrams(batch["ngrams"]) * mask[..., None]).sum(1)
        asked = grams / mask.sum(1, keepdim=True).clamp(min=1).sqrt()
        asked = asked + self.sentence(self.question_dropout(batch["question"]))
        question = self.question_dropout(asked + self.rest(self.question_dropout(batch["rest"])))
        made = self.parts(batch["parts"]).sum(1)
        for place, project in enumerate(self.headers):
            chosen = batch["headers"][:, place]
            made = made + project(batch["vectors"])[chosen] * (chosen >= 0)[:, None]
        product = (question[batch["asked"]] * made).sum(1, keepdim=True)
        hidden = torch.relu(self.first(torch.cat([batch["dense"], product], 1)))
        hidden = self.hidden_dropout(torch.relu(self.second(self.hidden_dropout(hidden))))
        return (self.last(hidden) + product + self.bias(batch["parts"]).sum(1))[:, 0] + batch["agreed"]


def best_results(entry: Entry, scores: np.ndarray) -> tuple[int, np.ndarray]:
    """Return the best candidate of the most probable result, and the evidence for it."""
    odds = np.exp(scores - scores.max())
    odds /= odds.sum()
    mass = np.bincount(entry["results"], odds).astype(np.float32)
    result = int(mass.argmax())
    at = np.flatnonzero(entry["results"] == result)
    best = int(at[scores[at].argmax()])
    return best, evidence_of(mass, result, float(odds[best]), float(scores[best]), entry["dense"][best], len(scores))


def all_scores(model: Scorer, entries: list[Entry], mean: np.ndarray, scale: np.ndarray) -> list[np.ndarray]:
    """Return the scores of all candidates of each question."""
    model.eval()
    scores: list[np.ndarray] = []
    for start in range(0, len(entries), 32):
        part = entries[start : start + 32]
        with torch.no_grad():
            batch = batch_of(part, [np.arange(len(entry["right"])) for entry in part], mean, scale)
            ends = np.cumsum([len(entry["right"]) for entry in part])[:-1]
            scores += np.split(model(batch).numpy(), ends)
    return scores


def fit(
    model: Scorer, train: list[Entry], mean: np.ndarray, scale: np.ndarray, epochs: int, rng: np.random.Generator
) -> None:
    """Fit a scorer by the marginal likelihood of right candidates."""
    usable = [e for e in train if e["right"].any() and not e["right"].all()]
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.1)
    size = 32
    steps = epochs * (len(usable) // size + 1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps, pct_start=0.15)
    for epoch in range(epochs):
        model.train()
        started, total = time.time(), 0.0
        order = rng.permutation(len(usable))
        for start in range(0, len(order), size):
            entries = [usable[i] for i in order[start : start + size]]
            picks = [sample(e["right"], rng) for e in entries]
            batch = batch_of(entries, picks, mean, scale)
            scores = model(batch)
            every = segment_logsumexp(scores, batch["of"], len(entries))
            good = segment_logsumexp(scores.masked_fill(~batch["right"], -1e9), batch["of"], len(entries))
            loss = (every - good).mean()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimiser.step()
            schedule.step()
            total += loss.item() * len(entries)
        print(f"epoch {epoch}: loss {total / len(usable):.3f}, {time.time() - started:.0f} s", flush=True)


def tops(entries: list[Entry], scores: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the evidence for the most probable result of each question, and whether it is right."""
    evidence, right = [], []
    for entry, own in zip(entries, scores, strict=True):
        at, found = best_results(entry, own)
        evidence.append(found)
        right.append(bool(entry["right"][at]))
    return np.array(evidence, np.float32), np.array(right)


def drop_weakest(model: Scorer, kept: np.ndarray, most: int) -> None:
    """Set the vectors of n-grams to 0 that are not kept, or not among the `most` longest, so that the file is small."""
    vectors = model.ngrams.weight.data
    vectors *= torch.from_numpy(kept)[:, None]
    vectors[vectors.norm(dim=1).argsort(descending=True)[most:]] = 0


def arrays_of(model: Scorer, kept: tuple[np.ndarray, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the weights of a member as `TableScorer` reads them; those of rare n-grams and parts are 0."""
    state = {name: value.numpy() for name, value in model.state_dict().items()}
    half = {"ngrams": state["ngrams.weight"] * kept[0][:, None], "parts": state["parts.weight"] * kept[1][:, None]}
    half |= {name: state[f"{name}.weight"] for name in ("sentence", "rest")}
    half |= {f"header{i}": state[f"headers.{i}.weight"] for i in range(3)}
    full = {"bias": state["bias.weight"][:, 0] * kept[1]}
    for name in ("first", "second", "last"):
        full[name], full[f"{name}_bias"] = state[f"{name}.weight"], state[f"{name}.bias"]
    return {n: a.astype(np.float16) for n, a in half.items()} | {n: a.astype(np.float32) for n, a in full.items()}


def begun(arrays: dict[str, np.ndarray], member: int, features: int) -> Scorer:
    """Return a scorer with the weights of a member of a file, or with random ones if the file has no such member.

    What the file does not have yet, as features and parts that are new at the end, begins with weights of 0.
    """
    torch.manual_seed(member)
    model = Scorer(features)
    own = {name.split("/")[1]: torch.from_numpy(a.astype(np.float32)) for name, a in arrays.items()
           if name.startswith(f"{member}/")}  # fmt: skip
    if own:
        state = {"bias.weight": own.pop("bias")[:, None]}
        new = torch.zeros(PARTS - len(own["parts"]), RANK)
        own["parts"] = torch.cat([own["parts"], new])
        state["bias.weight"] = torch.cat([state["bias.weight"], new[:, :1]])
        for name, array in own.items():
            module = re.sub(r"^header(\d)", r"headers.\1", name.removesuffix("_bias"))
            state[f"{module}.{'bias' if name.endswith('_bias') else 'weight'}"] = array
        missing = features + 1 - state["first.weight"].shape[1]
        known = state["first.weight"].split([features - missing, 1], 1)
        state["first.weight"] = torch.cat([known[0], torch.zeros(HIDDEN, missing), known[1]], 1)
        model.load_state_dict(state, strict=False)
    return model


def read(paths: list[Path]) -> tuple[list[Entry], dict[str, float]]:
    """Return the entries of files, and the frequency of words in training questions."""
    files = [pickle.loads(path.read_bytes()) for path in paths]
    unmarked = {"source": "wikitables", "answerable": True}
    entries = [unmarked | entry for file in files for entry in file["entries"]]
    return [entry for entry in entries if len(entry["right"])], files[0]["frequency"]


def is_held(entry: Entry) -> bool:
    """Return whether an entry is held out: a tenth of the tables or questions, and HELD as a whole."""
    own = entry["source"] != "written" and crc32(independent(entry).encode()) % 10 == 3
    return own or entry["table"] in HELD


def leads_elsewhere(entry: Entry) -> bool:
    """Return whether a question was written for tables of which one leads to another."""
    return entry["source"] == "written" and bool(entry["dense"][:, JOINS].any())


def independent(entry: Entry) -> str:
    """Return what the entries have in common that are held out together."""
    return str(entry["id"] if entry["source"] == "overnight" else entry["table"])


def main() -> None:
    """Fit members on the training part, calibrate their mean on the rest and on what has no answer, and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="weights to begin with")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--kept", type=int, default=0, help="how many members are the first of --start as they are")
    parser.add_argument("--keep-calibration", action="store_true", help="keep the calibration of --start")
    parser.add_argument("--ngrams", type=int, default=15_000, help="how many n-grams have a vector at most")
    args = parser.parse_args()
    torch.set_num_threads(1)
    entries, frequency = read(args.train)
    start = dict(np.load(args.start)) if args.start else {}
    train = [entry for entry in entries if entry["answerable"] and not is_held(entry)]
    train += [entry for entry in train if leads_elsewhere(entry)] * (JOINED - 1)
    some = np.concatenate([e["dense"] for e in train[::10]]).astype(np.float32)
    mean, scale = some.mean(0), some.std(0) + 1e-3
    for name, array in (("mean", mean), ("scale", scale)) if start else ():
        array[: len(start[name])] = start[name]
    kept = frequent(train, start)
    train = without_rare(train, *kept)
    held = without_rare([entry for entry in entries if is_held(entry) or not entry["answerable"]], *kept)
    words = dict(sorted(frequency.items()))
    arrays = {"mean": mean.astype(np.float32), "scale": scale.astype(np.float32), "words": np.array("\n".join(words)),
              "frequency": np.array(list(words.values()), np.float32)}  # fmt: skip
    scores = []
    for member in range(args.members):
        fitted = member < args.members - args.kept
        model = begun(start, member if fitted else member + args.kept - args.members, len(mean))
        if fitted:
            fit(model, train, mean, scale, args.epochs, np.random.default_rng(member))
        drop_weakest(model, kept[0], args.ngrams)
        scores.append(all_scores(model, held, mean, scale))
        arrays |= {f"{member}/{name}": array for name, array in arrays_of(model, kept).items()}
        arrays |= calibrated(held, [np.mean(own, axis=0) for own in zip(*scores, strict=True)])
        if args.keep_calibration:
            arrays |= {name: array for name, array in start.items() if name.startswith("calibration_")}
        save(args.out, arrays)


def save(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays as numpy reads them, compressed as far as deflate can."""
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=9) as file:
        for name, array in arrays.items():
            with file.open(f"{name}.npy", "w") as part:
                np.save(part, array)


def calibrated(held: list[Entry], scores: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Return calibration weights from all held entries; print how those from one half of them do on the other."""
    evidence, right = tops(held, scores)
    weights = even_weights(held)
    tested = np.array([crc32(independent(entry).encode()) // 10 % 2 == 0 for entry in held])
    half = calibration(evidence[~tested], right[~tested], weights[~tested])
    probability = np.array([TableScorer(half).probability(found) for found in evidence])
    kinds = np.array([f"{entry['source']}{'' if entry['answerable'] else ' unanswerable'}" for entry in held])
    groups = np.array([entry["table"] if entry["table"] in HELD and entry["answerable"] else "" for entry in held])
    for names, shown in ((kinds, tested), (groups, groups != "")):
        for name in sorted(set(names[shown])):
            own = shown & (names == name)
            print(f"  {name}: {summary(right[own], probability[own])}", flush=True)
    return calibration(evidence, right, weights)


if __name__ == "__main__":
    main()
