"""Turns of a conversation: whether one stands alone, needs the turns before it, or asks nothing of the documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from graphwright.graph.evidence import Ints
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.protocols import Floats
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.state import start
from graphwright.search.snapshot import Snapshot
from graphwright.text.words import words

COMPLETE, DEPENDENT, SOCIAL = range(3)
"""Kinds of turns: a question that stands alone, one that needs the turns before it, and one that asks nothing."""
_DEPENDENT_FROM, _SOCIAL_FROM = 0.7, 0.8
"""Probabilities from which on a question is rewritten, and a turn is not searched."""
_PASSAGES = 3  # nearest by words
_CHARACTERS = 1_000  # of a passage that are compared
_MAX_NAMES = 3  # of earlier turns that are added to a question


@dataclass(frozen=True)
class Turn:
    """A turn of a user with what it may depend on.

    `topic`: the last question before it that stood alone, "" for none; `before`: the dependent turn between, if any;
    `names`: of the turn before and its answer.
    """

    text: str
    topic: str = ""
    before: str = ""
    names: tuple[str, ...] = ()

    @property
    def context(self) -> str:
        """What was asked before."""
        return f"{self.topic} {self.before}".strip()


@dataclass(frozen=True, eq=False)
class FollowUpModel:
    """Two logistic regressions: over the kinds of a turn, and over the questions that a dependent turn may mean.

    `kinds: float32[features, 3]`, `ways: float32[features]`; the last feature of both is 1.
    """

    kinds: Floats
    ways: Floats

    def probabilities(self, turn: Turn, snapshot: Snapshot) -> Floats:
        """Return the probability of each kind."""
        logits = kind_features(turn, snapshot) @ self.kinds
        if not turn.topic:
            logits[DEPENDENT] = -np.inf
        weights = np.exp(logits - logits.max())
        probabilities: Floats = weights / weights.sum()
        return probabilities

    def kind(self, turn: Turn, snapshot: Snapshot) -> int:
        """Return the kind of a turn; one that is in doubt is a question that stands alone."""
        return kind_of(self.probabilities(turn, snapshot))

    def resolved(self, turn: Turn, snapshot: Snapshot) -> str:
        """Return the question that a dependent turn most probably means."""
        questions = readings(turn)
        scores = way_features(turn, questions, snapshot) @ self.ways
        return questions[int(scores.argmax())]


def kind_of(probabilities: Floats) -> int:
    """Return the kind of a turn, given the probability of each."""
    if probabilities[SOCIAL] >= _SOCIAL_FROM:
        return SOCIAL
    return DEPENDENT if probabilities[DEPENDENT] >= _DEPENDENT_FROM else COMPLETE


@cache
def follow_up_model() -> FollowUpModel:
    """Return the model of the package."""
    path = Path(__file__).parents[1] / "models" / "weights" / "follow-ups" / "model.npz"
    with np.load(path) as stored:
        return FollowUpModel(stored["kinds"].astype(np.float32), stored["ways"].astype(np.float32))


def names_in(text: str, snapshot: Snapshot) -> list[str]:
    """Return the names of entities in a text, as the text spells them."""
    if not text.strip() or not len(snapshot.graph):
        return []
    return [anchor.text for anchor in LinkEntities()(start(text, snapshot.graph)).anchors or ()]


def readings(turn: Turn) -> list[str]:
    """Return the questions that a dependent turn may mean.

    They are the turn with the names before it, and after the last turn, the last question that stood alone, this
    question without names, and both.

    >>> readings(Turn("And the crane?", "Who designed the Talbrücke?", names=("Talbrücke",)))[:3]
    ['And the crane? (Talbrücke)', 'Who designed the Talbrücke? And the crane?', 'Who designed the ? And the crane?']
    """
    lower = turn.text.lower()
    names = [name for name in dict.fromkeys(turn.names) if name.lower() not in lower][:_MAX_NAMES]
    other = turn.topic
    for name in names:
        other = other.replace(name, "")
    last = turn.before or turn.topic
    with_names = f"{turn.text} ({', '.join(names)})" if names else f"{last} {turn.text}"
    contexts = (turn.topic, " ".join(other.split()), last, turn.context)
    return [with_names, *(f"{context} {turn.text}" for context in contexts)]


def kind_features(turn: Turn, snapshot: Snapshot) -> Floats:
    """Return the features of a turn: its vector, numbers about the passages nearest to it, and 1."""
    joined = f"{turn.context} {turn.text}".strip()
    near, near_joined = _nearest(turn.text, snapshot), _nearest(joined, snapshot)
    vectors = MiniLM().encode(
        [turn.text, turn.context or turn.text, joined, *_texts(near, snapshot), *_texts(near_joined, snapshot)]
    )
    own, previous, both = vectors[:3]
    passages, passages_joined = vectors[3 : 3 + len(near)], vectors[3 + len(near) :]
    alone, together = _best(passages @ own), _best(passages_joined @ both)
    known, rare = _known(turn.text, snapshot)
    numbers = [
        alone,
        together,
        together - alone,
        _best(passages_joined @ own),
        float(own @ previous) if turn.context else 0.0,
        _best(passages @ previous) if turn.context else 0.0,
        known,
        rare,
        _coverage(turn.text, near[:1], snapshot),
        min(len(names_in(turn.text, snapshot)), 3) / 3,
        np.log1p(len(turn.text.split())) / 2,
        float("?" in turn.text),
        float(bool(turn.context)),
    ]
    return np.concatenate((own, numbers, [1.0])).astype(np.float32)


def way_features(turn: Turn, questions: Sequence[str], snapshot: Snapshot) -> Floats:
    """Return a row of features for each question that a dependent turn may mean."""
    near = [_nearest(question, snapshot) for question in questions]
    texts = [text for nodes in near for text in _texts(nodes, snapshot)]
    vectors = MiniLM().encode([*questions, *texts])
    at, rows = len(questions), []
    known = _known(turn.text, snapshot)[1]
    for number, nodes in enumerate(near):
        cosines = vectors[at : at + len(nodes)] @ vectors[number]
        best = nodes[[int(cosines.argmax())]] if len(nodes) else nodes
        at += len(nodes)
        kind = np.eye(len(questions))[number]
        before = _coverage(turn.context, best, snapshot)
        rows.append([_best(cosines), _coverage(turn.text, best, snapshot), before, *kind, *(kind * known)])
    return np.array(rows, np.float32)


def _best(cosines: Floats) -> float:
    return float(cosines.max(initial=0.0))


def _texts(nodes: Ints, snapshot: Snapshot) -> list[str]:
    return [snapshot.graph.passage(node)[:_CHARACTERS] for node in nodes.tolist()]


def _nearest(text: str, snapshot: Snapshot) -> Ints:
    """Return the passages that share most words with a text, the best first."""
    scores = snapshot.words.scores(text)
    best = np.argsort(-scores, kind="stable")[:_PASSAGES]
    return snapshot.words.nodes[best[scores[best] > 0]]


def _rarity(text: str, snapshot: Snapshot) -> dict[str, tuple[float, Any]]:
    """Return the weight of each word of a text, larger for rarer ones, and the rows that have it."""
    count = max(len(snapshot.words.nodes), 1)
    found = {word: snapshot.words.postings(word)[0] for word in words(text)}
    return {word: (float(np.log1p(count / (len(rows) + 0.5))), rows) for word, rows in found.items()}


def _known(text: str, snapshot: Snapshot) -> tuple[float, float]:
    """Return the share of a text's words that the index has, by weight, and the largest weight of one that it has."""
    weights = _rarity(text, snapshot)
    total = sum(weight for weight, _ in weights.values())
    has = [weight for weight, rows in weights.values() if len(rows)]
    return (sum(has) / total if total else 0.0), max(has, default=0.0) / np.log1p(2.0 * len(snapshot.words.nodes) + 1)


def _coverage(text: str, nodes: Ints, snapshot: Snapshot) -> float:
    """Return the share of a text's words that the first of some passages has, by weight."""
    weights = _rarity(text, snapshot)
    total = sum(weight for weight, _ in weights.values())
    if not len(nodes) or not total:
        return 0.0
    row = int(np.searchsorted(snapshot.words.nodes, nodes[0]))
    return sum(weight for weight, rows in weights.values() if row in rows) / total
