"""Fit the model of follow-up questions on the conversations of follow_ups.txt, and measure it on those kept out.

    python scripts/fit_follow_ups.py [--write all|kinds]

Every fifth conversation is kept out of the fit that is measured, and each in turn for turns that may mean two things.
The penalty is the one by which a fourth of all conversations is told best by the others. Features and rankings are
computed once. `--write` fits on all conversations and stores the weights: all, or those of the kinds of turns alone.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from graphwright import Index
from graphwright.generate.follow_ups import (
    COMPLETE,
    DEPENDENT,
    SOCIAL,
    UNCLEAR_FROM,
    FollowUpModel,
    Turn,
    choice_features,
    follow_up_model,
    kind_features,
    names_in,
    readings,
    way_features,
)

HERE = Path(__file__).parent
WEIGHTS = HERE.parent / "src/graphwright/models/weights/follow-ups/model.npz"
KINDS = {"c": COMPLETE, "s": SOCIAL} | dict.fromkeys("dark", DEPENDENT)
OPENING = "opening"  # names of the conversations of one turn, with or without an answer in the documents
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0)


@dataclass
class Conversation:
    """Documents and turns: kind, document, question, what it means in the words of the question before, and answer."""

    name: str
    documents: list[dict[str, str]] = field(default_factory=list)
    turns: list[tuple[int, str, str, str, str]] = field(default_factory=list)


@dataclass
class Example:
    """A turn with its features, and for each question that it may mean whether the first passage is the right one."""

    conversation: int
    kind: int
    turn: Turn
    features: np.ndarray
    ways: np.ndarray | None = None
    right: tuple[bool, ...] = ()
    choices: tuple[str, ...] = ()
    choice: np.ndarray | None = None
    unclear: bool = False
    is_opening: bool = False  # a conversation of one turn, or a turn that asks nothing taken out of its own
    alone_right: bool = False


def conversations(path: Path) -> list[Conversation]:
    """Return the conversations of the file."""
    found: list[Conversation] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        head, _, text = line.partition(": ") if not line.startswith("s:") else ("s ", "", line[3:])
        if line.startswith("="):
            found.append(Conversation(line[2:]))
        elif line.startswith("D "):
            found[-1].documents.append({"id": head[2:], "text": text})
        elif line and not line.startswith("#"):
            text, _, meant = text.partition(" => ")
            question, _, answer = text.partition(" | ")
            found[-1].turns.append((KINDS[head[0]], head[2:].strip(), question, meant, answer))
    return found


def examples() -> Iterator[Example]:
    """Yield each turn, over one index of the documents of all conversations."""
    talks = conversations(HERE / "follow_ups.txt")
    with tempfile.TemporaryDirectory() as folder, Index(Path(folder) / "index") as index:
        index.add([document for talk in talks for document in talk.documents])
        for number, talk in enumerate(talks):
            topic, before, answer, older = "", "", "", list[str]()
            for kind, document, question, meant, reply in talk.turns:
                if meant:  # it replaces a part: learned by fit_replacements.py
                    older = names_in(f"{topic} {answer}", index.snapshot)
                    topic, before, answer = meant, "", reply
                    continue
                names = [name for text in (before, answer, topic) for name in names_in(text, index.snapshot)]
                turn = Turn(question, topic, before, tuple(dict.fromkeys(names)), tuple(older))
                made = Example(number, kind, turn, kind_features(turn, index.snapshot))
                made.is_opening = talk.name.endswith(OPENING)
                if kind == SOCIAL and topic:
                    opening = Turn(question)
                    yield Example(number, kind, opening, kind_features(opening, index.snapshot), is_opening=True)
                if kind != SOCIAL:
                    made.alone_right = first(index, question) in document.split("|")
                if kind == DEPENDENT:
                    made.ways = way_features(turn, readings(turn), index.snapshot)
                    made.right = tuple(first(index, way) in document.split("|") for way in readings(turn))
                    made.choices, made.choice = choice_features(turn, index.snapshot)
                    made.unclear = "|" in document
                    before, answer = question, reply
                elif kind == COMPLETE:
                    older = names_in(f"{topic} {answer}", index.snapshot)
                    topic, before, answer = question, "", reply
                yield made


@cache
def first(index: Index, question: str) -> str:
    """Return the document of the first passage."""
    passages = index.retrieve(question, top_k=1).passages
    return passages.top(1)[0].document if passages else ""


def fitted_kinds(rows: list[Example], penalty: float) -> np.ndarray:
    """Return the weights of the softmax regression over the kinds."""
    x, y = np.array([row.features for row in rows], float), np.array([row.kind for row in rows])
    free = np.array([bool(row.turn.topic) for row in rows])

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w = flat.reshape(x.shape[1], 3)
        logits = x @ w
        logits[~free, DEPENDENT] = -1e9
        logits -= logits.max(axis=1, keepdims=True)
        p = np.exp(logits)
        p /= p.sum(axis=1, keepdims=True)
        value = -np.log(p[np.arange(len(y)), y] + 1e-12).sum() + penalty / 2 * (w[:-1] ** 2).sum()
        p[np.arange(len(y)), y] -= 1
        gradient = x.T @ p
        gradient[:-1] += penalty * w[:-1]
        return value, gradient.ravel()

    weights: np.ndarray = minimize(loss, np.zeros(3 * x.shape[1]), jac=True, method="L-BFGS-B").x.reshape(-1, 3)
    return weights


def fitted_opens(rows: list[Example], penalty: float = 0.3) -> np.ndarray:
    """Return the weights of the probability that a turn that opens a conversation asks nothing of the documents."""
    free = [row for row in rows if not row.turn.topic]
    x, y = np.array([row.features for row in free], float), np.array([row.kind == SOCIAL for row in free], float)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        logits = x @ w
        value = float(np.logaddexp(0, logits).sum() - y @ logits + penalty / 2 * (w[:-1] ** 2).sum())
        gradient = x.T @ (1 / (1 + np.exp(-logits)) - y)
        gradient[:-1] += penalty * w[:-1]
        return value, gradient

    weights: np.ndarray = minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x
    return weights


def fitted_ways(rows: list[Example], penalty: float = 0.3) -> np.ndarray:
    """Return the weights of the choice among the questions that a turn may mean."""
    examples = [
        (row.ways, list(row.right))
        for row in rows
        if row.ways is not None and not row.unclear and 0 < sum(row.right) < len(row.right)
    ]

    def loss(w: np.ndarray) -> float:
        total = penalty / 2 * float(w @ w)
        for ways, right in examples:
            scores = ways @ w
            p = np.exp(scores - scores.max())
            total -= float(np.log(p[right].sum() / p.sum() + 1e-12))
        return total

    weights: np.ndarray = minimize(loss, np.zeros(examples[0][0].shape[1]), method="L-BFGS-B").x
    return weights


def fitted_unclear(rows: list[Example], penalty: float = 0.1) -> np.ndarray:
    """Return the weights of the probability that a turn may mean two names."""
    x, y = np.array([row.choice for row in rows], float), np.array([row.unclear for row in rows], float)

    def loss(w: np.ndarray) -> float:
        logits = x @ w
        return float(np.logaddexp(0, logits).sum() - y @ logits + penalty / 2 * (w[:-1] ** 2).sum())

    weights: np.ndarray = minimize(loss, np.zeros(x.shape[1]), method="L-BFGS-B").x
    return weights


def report_unclear(rows: list[Example]) -> None:
    """Print how many turns would be asked back, each by weights of the other conversations."""
    asked = dict.fromkeys((True, False), 0)
    for row in rows:
        weights = fitted_unclear([other for other in rows if other.conversation != row.conversation])
        asked[row.unclear] += 1 / (1 + np.exp(-np.array(row.choice) @ weights)) >= UNCLEAR_FROM
    count = sum(row.unclear for row in rows)
    print(f"two names: asked back {asked[True]}/{count} that may mean both, {asked[False]}/{len(rows) - count} others")


def shares(row: Example, weights: np.ndarray) -> np.ndarray:
    """Return the probability of each kind of a turn."""
    logits = row.features @ weights
    logits[DEPENDENT] = logits[DEPENDENT] if row.turn.topic else -30.0
    odds: np.ndarray = np.exp(logits - logits.max())
    odds /= odds.sum()
    return odds


def report(name: str, rows: list[Example], model: FollowUpModel) -> None:
    """Print shares: kinds told, complete questions left alone, social turns told, right first passages."""
    kinds, chosen = [], []
    for row in rows:
        kinds.append(model.kind_by(row.features, bool(row.turn.topic)))
        if kinds[-1] == DEPENDENT and row.ways is not None:
            chosen.append(row.right[int((row.ways @ model.ways).argmax())])
        else:
            chosen.append(row.alone_right)
    cells = []
    for kind, label in ((COMPLETE, "complete"), (DEPENDENT, "dependent"), (SOCIAL, "social")):
        of_kind = [told for told, row in zip(kinds, rows, strict=True) if row.kind == kind]
        cells.append(f"{label} {of_kind.count(kind)}/{len(of_kind)}")
    for kind, label in ((COMPLETE, "complete"), (DEPENDENT, "dependent")):
        right = [is_right for is_right, row in zip(chosen, rows, strict=True) if row.kind == kind]
        cells.append(f"right first passage of {label} {sum(right)}/{len(right)}")
    print(f"{name}: {', '.join(cells)}", flush=True)


def main() -> None:
    """Fit, measure, and store the weights if asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", choices=("all", "kinds"))
    options = parser.parse_args()
    rows = list(examples())
    opening = [row for row in rows if row.is_opening]
    rows = [row for row in rows if not row.is_opening]
    kept_out = [row for row in rows if row.conversation % 5 == 4]
    shown = [row for row in rows if row.conversation % 5 != 4]
    print(f"{len(shown)} turns to fit on, {len(kept_out)} kept out")

    def likelihood(penalty: float) -> float:
        """Return the log likelihood of the kinds, each conversation by a model of others."""
        total = 0.0
        for fold in range(4):
            weights = fitted_kinds([row for row in rows if row.conversation % 4 != fold], penalty)
            total += sum(np.log(shares(row, weights)[row.kind]) for row in rows if row.conversation % 4 == fold)
        return total

    penalty = max(PENALTIES, key=likelihood)
    two = [row for row in rows if len(row.choices) > 1]
    report_unclear(two)
    replaces = follow_up_model().replaces  # by fit_replacements.py
    opening_shown = [row for row in opening if row.conversation % 5 != 4]
    opening_kept_out = [row for row in opening if row.conversation % 5 == 4]
    opens = fitted_opens(shown + opening_shown)
    model = FollowUpModel(fitted_kinds(shown, penalty), opens, fitted_ways(shown), fitted_unclear(two), replaces)
    print(f"penalty {penalty:g}")
    parts = ("fitted", shown), ("kept out", kept_out), ("opening a conversation, kept out", opening_kept_out)
    for name, part in parts:
        report(name, part, model)
    ways = [row for row in kept_out if row.ways is not None]
    print("each way", [sum(row.right[way] for row in ways) for way in range(5)], "any", sum(any(r.right) for r in ways))
    for row in kept_out + opening_kept_out:
        if (told := model.kind_by(row.features, bool(row.turn.topic))) != row.kind:
            print("  ", row.kind, told, row.turn.text, "<-", row.turn.context)
    if options.write:
        kept, opens = follow_up_model(), fitted_opens(rows + opening)
        of_all = options.write == "all"
        meant, unclear = (fitted_ways(rows), fitted_unclear(two)) if of_all else (kept.ways, kept.unclear)
        model = FollowUpModel(fitted_kinds(rows, penalty), opens, meant, unclear, replaces)
        WEIGHTS.parent.mkdir(exist_ok=True)
        np.savez_compressed(WEIGHTS, **{name: weights.astype(np.float16) for name, weights in vars(model).items()})
        print(f"wrote {WEIGHTS.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
