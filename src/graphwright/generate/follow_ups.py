"""Turns of a conversation: whether one stands alone, needs the turns before it, or asks nothing of the documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from graphwright.generate.replacements import replacements
from graphwright.graph.evidence import Ints
from graphwright.models.embedded.encoder import WEIGHTS, MiniLM, arrays_of
from graphwright.models.protocols import Floats
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.state import start
from graphwright.search.snapshot import Snapshot
from graphwright.text.words import words

COMPLETE, DEPENDENT, SOCIAL = range(3)  # turns: alone a question; in need of those before it; asking nothing
_DEPENDENT_FROM, _SOCIAL_FROM, _REPLACES_FROM = 0.6, 0.8, 0.5
"""Probabilities from which on a question is rewritten, a turn is not searched, and a part of the last one replaced."""
UNCLEAR_FROM = 0.7  # probability of two meanings from which on a turn is asked back
_PASSAGES = 3  # nearest by words
_CHARACTERS = 1_000  # of a passage that are compared
_MAX_NAMES = 3  # of earlier turns that are added to a question
_MAX_CHOICES = 6  # names that a turn may mean
_MAX_LIKELY = 16  # questions with a part replaced that are looked up


@dataclass(frozen=True)
class Turn:
    """A turn of a user with what it may depend on.

    `topic`: the last question before it that stood alone, "" for none; `before`: the dependent turn between, if any;
    `names`: of the turn before, its answer, and the topic; `older`: of the topic before that, and its answer.
    """

    text: str
    topic: str = ""
    before: str = ""
    names: tuple[str, ...] = ()
    older: tuple[str, ...] = ()

    @property
    def context(self) -> str:
        """What was asked before."""
        return f"{self.topic} {self.before}".strip()


@dataclass(frozen=True, eq=False)
class FollowUpModel:
    """Logistic regressions: the kind of a turn, what it means, whether it may mean two, and what part it replaces.

    `kinds: float32[features, 3]`, `opens`, `ways`, `unclear`, `replaces: float32[features]`; the last feature is 1.
    `opens` is for turns that nothing was asked before: they ask nothing, or stand alone, be they single words.
    """

    kinds: Floats
    opens: Floats
    ways: Floats
    unclear: Floats
    replaces: Floats

    def kind(self, turn: Turn, snapshot: Snapshot) -> int:
        """Return the kind of a turn; one that is in doubt is a question that stands alone."""
        return self.kind_by(kind_features(turn, snapshot), bool(turn.topic))

    def kind_by(self, features: Floats, follows: bool) -> int:
        """Return the kind of a turn, given its features and whether something was asked before it."""
        if not follows:
            return SOCIAL if float(features @ self.opens) >= np.log(_SOCIAL_FROM / (1 - _SOCIAL_FROM)) else COMPLETE
        logits = features @ self.kinds
        weights: Floats = np.exp(logits - logits.max())
        return kind_of(weights / weights.sum())

    def resolved(self, turn: Turn, snapshot: Snapshot) -> str:
        """Return the question that a dependent turn most probably means."""
        questions = readings(turn)
        scores = way_features(turn, questions, snapshot) @ self.ways
        return questions[int(scores.argmax())]

    def choices(self, turn: Turn, snapshot: Snapshot) -> tuple[str, ...]:
        """Return the two names that a dependent turn may equally mean, none if it is clear."""
        names, features = choice_features(turn, snapshot)
        unclear = len(names) > 1 and float(features @ self.unclear) >= np.log(UNCLEAR_FROM / (1 - UNCLEAR_FROM))
        return names if unclear else ()

    def replaced(self, turn: Turn, snapshot: Snapshot) -> str:
        """Return the question before with the part replaced that a turn corrects, as passages confirm; "" for none."""
        questions, features = replacements(turn.text, turn.context)
        odds = np.exp(features @ self.replaces)
        if float(odds.sum()) < _REPLACES_FROM / (1 - _REPLACES_FROM):
            return ""
        weights = dict(zip(dict.fromkeys(words(turn.text)), _weights(turn.text, snapshot), strict=True))
        known, scores = {word: weight for word, (weight, rows) in weights.items() if len(rows)}, dict[str, float]()
        for at in np.argsort(-odds, kind="stable")[:_MAX_LIKELY]:
            covered = _coverage(questions[at], _nearest(questions[at], snapshot)[:1], snapshot, known=True)
            kept = sum(known.get(word, 0.0) for word in set(words(questions[at])))
            scores[questions[at]] = float(odds[at]) * (covered * kept) ** 2
        return max(scores, key=lambda question: scores[question])


def kind_of(probabilities: Floats) -> int:
    """Return the kind of a turn, given the probability of each."""
    if probabilities[SOCIAL] >= _SOCIAL_FROM:
        return SOCIAL
    return DEPENDENT if probabilities[DEPENDENT] >= _DEPENDENT_FROM else COMPLETE


@cache
def follow_up_model() -> FollowUpModel:
    """Return the model of the package."""
    return FollowUpModel(**arrays_of(WEIGHTS / "follow-ups" / "model.npz"))


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
    """Return the features of a turn: its vector, numbers about what it finds and adds to those before, and 1."""
    joined = f"{turn.context} {turn.text}".strip()
    near, near_joined = _nearest(turn.text, snapshot), _nearest(joined, snapshot)
    texts = [turn.text, turn.context or turn.text, joined]
    (own, previous, both), (passages, passages_joined) = _encoded(texts, (near, near_joined), snapshot)
    alone, together = _best(passages @ own), _best(passages_joined @ both)
    asked = (float(own @ previous), _best(passages @ previous)) if turn.context else (0.0, 0.0)
    found = alone, together, together - alone, _best(passages_joined @ own)
    named = min(len(names_in(turn.text, snapshot)), 3) / 3
    known = *_known(turn.text, snapshot), _coverage(turn.text, near[:1], snapshot), named
    form = np.log1p(len(turn.text.split())) / 2, float("?" in turn.text), float(bool(turn.context))
    adds = _adds(turn, near[:1], snapshot)
    return np.concatenate((own, found, asked, known, form, adds, [1.0])).astype(np.float32)


def _adds(turn: Turn, nearest: Ints, snapshot: Snapshot) -> tuple[float, float, float, float]:
    """Return what a turn says that was not said before it, in any language; zeros for a turn that nothing precedes.

    Of its words that the index has and the turns before have not: the largest idf over that of a single row, and the
    share by idf. Then the share of its words in the passage nearest to the turns before, and whether this is its own.
    """
    if not turn.context:
        return 0.0, 0.0, 0.0, 0.0
    said, own = set(words(turn.context)), dict.fromkeys(words(turn.text))
    weights = list(zip(own, _weights(turn.text, snapshot), strict=True))
    new = [weight for word, (weight, rows) in weights if len(rows) and word not in said]
    total, most = sum(weight for _, (weight, _) in weights), snapshot.words.rarity(1)
    before = _nearest(turn.context, snapshot)[:1]
    is_same = len(nearest) > 0 and bool(np.array_equal(nearest, before))
    share = sum(new) / (total or 1.0)
    return max(new, default=0.0) / (most or 1.0), share, _coverage(turn.text, before, snapshot), float(is_same)


def way_features(turn: Turn, questions: Sequence[str], snapshot: Snapshot) -> Floats:
    """Return a row of features for each question that a dependent turn may mean."""
    near = [_nearest(question, snapshot) for question in questions]
    vectors, passages = _encoded(questions, near, snapshot)
    known, rows = _known(turn.text, snapshot)[1], []
    for number, nodes in enumerate(near):
        cosines = passages[number] @ vectors[number]
        best = nodes[[int(cosines.argmax())]] if len(nodes) else nodes
        kind = np.eye(len(questions))[number]
        before = _coverage(turn.context, best, snapshot)
        rows.append([_best(cosines), _coverage(turn.text, best, snapshot), before, *kind, *(kind * known)])
    return np.array(rows, np.float32)


def choice_features(turn: Turn, snapshot: Snapshot) -> tuple[tuple[str, ...], Floats]:
    """Return the names of the turns before that a turn most probably means, and features of the choice between two.

    Names that lead to the same passage are one choice, that which was asked about; one name, or none, has no features.
    The features are the agreement of the second choice, and the lead of the first, by: the cosine of the turn with the
    name and of the turn alone with the passage, and the share of the turn's words in it; then the cosine of the names,
    whether the turn before has only one of the names (a quarter: the last topic), and 1.
    """
    names = [name for name in dict.fromkeys(turn.names + turn.older) if name.lower() not in turn.text.lower()]
    del names[_MAX_CHOICES:]
    near = [_nearest(f"{turn.text} ({name})", snapshot) for name in names]
    vectors, passages = _encoded([turn.text, *names, *(f"{turn.text} ({name})" for name in names)], near, snapshot)
    found = dict[int, tuple[float, ...]]()
    for number, nodes in enumerate(near):
        own = vectors[1 + len(names) + number]
        if len(nodes):
            best = int((passages[number] @ own).argmax())
            cosines = float(passages[number][best] @ own), float(passages[number][best] @ vectors[0])
            score = (*cosines, _coverage(turn.text, nodes[[best]], snapshot))
            said = names[number].lower() in turn.context.lower()
            made = (said, sum(score), number, *score)
            found[int(nodes[best])] = max(found.get(int(nodes[best]), made), made)
    ranked = sorted(found.values(), key=lambda made: made[1:], reverse=True)[:2]
    if len(ranked) < 2:
        return tuple(names[int(number)] for _, _, number, *_ in ranked), np.zeros(0, np.float32)
    (_, _, first, *one), (_, _, second, *two) = ranked
    alike = float(vectors[1 + int(first)] @ vectors[1 + int(second)])
    pair = names[int(first)], names[int(second)]
    recent = [float(name.lower() in turn.before.lower()) + (name in turn.names) / 4 for name in pair]
    features = np.array([*two, *np.subtract(one, two), alike, abs(recent[0] - recent[1]), 1.0], np.float32)
    return pair, features


def _best(cosines: Floats) -> float:
    return float(cosines.max(initial=0.0))


def _encoded(texts: Sequence[str], near: Sequence[Ints], snapshot: Snapshot) -> tuple[Floats, list[Floats]]:
    """Return the vectors of texts, and those of some lists of passages."""
    passages = [snapshot.graph.passage(node)[:_CHARACTERS] for nodes in near for node in nodes.tolist()]
    vectors = MiniLM().encode([*texts, *passages])
    return vectors[: len(texts)], np.split(vectors[len(texts) :], np.cumsum([len(nodes) for nodes in near]))[:-1]


def _nearest(text: str, snapshot: Snapshot) -> Ints:
    """Return the passages that share most words with a text, the best first."""
    scores = snapshot.words.scores(text)
    best = np.argsort(-scores, kind="stable")[:_PASSAGES]
    return snapshot.words.nodes[best[scores[best] > 0]]


def _known(text: str, snapshot: Snapshot) -> tuple[float, float]:
    """Return the share of a text's words that the index has, by idf, and the largest idf over that of a single row."""
    weights = [(weight, len(rows)) for weight, rows in _weights(text, snapshot)]
    total, most = sum(weight for weight, _ in weights), snapshot.words.rarity(1)
    has = [weight for weight, rows in weights if rows]
    return (sum(has) / total if total else 0.0), max(has, default=0.0) / (most or 1.0)


def _coverage(text: str, nodes: Ints, snapshot: Snapshot, known: bool = False) -> float:
    """Return the share of a text's words, or of those that the index has, that the first of passages has, by idf."""
    weights = [pair for pair in _weights(text, snapshot) if len(pair[1]) or not known]
    total = sum(weight for weight, _ in weights)
    if not len(nodes) or not total:
        return 0.0
    row = int(np.searchsorted(snapshot.words.nodes, nodes[0]))
    return sum(weight for weight, rows in weights if row in rows) / total


def _weights(text: str, snapshot: Snapshot) -> list[tuple[float, NDArray[np.int32]]]:
    """Return for each word of a text its idf, that of a single row where none has it, and the rows that have it."""
    found = [snapshot.words.postings(word)[0] for word in dict.fromkeys(words(text))]
    return [(snapshot.words.rarity(max(len(rows), 1)), rows) for rows in found]
