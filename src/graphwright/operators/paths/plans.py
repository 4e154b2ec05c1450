"""Plans: the relation paths that the words of a question ask for, in the direction that its grammar gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import RelationPath, Ways, extension_cost, extensions, labelled_edges, path_from
from graphwright.operators.paths.answer_types import AnswerType
from graphwright.operators.paths.relation_match import BY_PRESENCE, BY_SENTENCE, Reading
from graphwright.text.names import ARTICLES
from graphwright.text.question_form import COPULAS, DIMENSIONS, IDENTITY, inflections_match
from graphwright.text.values import value_of

BY_BOTH, _CLEAR = 0.8, 0.2
"""Least sum of the cosines of the question and of a word with a relation that both are nearest to, and its least
distance from the next relation of the entity."""
_HOP = 0.1  # cost of a hop: of two plans that the words ask for alike, the shorter
_REPEATED = 0.3  # credit of a word that a hop has already
_UNNAMED = 0.2  # cost of a relation whose words the question has none of but one
_MAX_COST = 2_000_000  # edges looked at to extend a path
_LINKING = frozenset(["by", "in", "at", "on", "from", "of", "with", "for"])
_SAMPLE = 20  # ends that are looked at
_PREPOSITIONS = frozenset(["in", "for", "at", "on", "to"])


class Plan(NamedTuple):
    """A relation path, and how well the question asks for it."""

    path: RelationPath
    score: float


def plans_from(graph: Graph, node: int, reading: Reading, kind: AnswerType, hops: int) -> list[Plan]:
    """Return the plans from an entity that the question asks for, with ends of its type, best first."""
    span = next((s for a, s in zip(reading.anchors, reading.spans, strict=True) if node in a.seeds(graph)), ())
    named = list(_named(graph, node, span, reading, hops))
    plans = [plan for plan in named if kind.accepts(graph, plan.path)] if not reading.lacking else []
    plans = [plan for plan in plans if _is_complete(plan, reading)]
    if not plans and not reading.lacking and kind.asks in ("person", "time"):
        plans = [longer for plan in named for longer in _completed(graph, plan, reading.unmatched, reading, kind)]
    # A relation that is named, or a measure, is not replaced by another one that is near to the question.
    others = [at for at in reading.content if reading.words[at] not in DIMENSIONS]
    if not plans and not any(at in reading.lexical for at in reading.content) and (others or not reading.content):
        plans = list(_by_sentence(graph, node, reading, kind)) or list(_made(graph, node, reading, kind))
    plans = plans or list(_implied(graph, node, span, reading, kind))
    return sorted(plans, key=lambda plan: -plan.score)


def _is_complete(plan: Plan, reading: Reading) -> bool:
    """Return whether a plan has more than the property that is the subject: "in which town is the seat of X"."""
    words = reading.words
    subjects = {p for p in reading.properties if words[p - 1] == "the" and words[p - 2] in ("is", "are", "was", "were")}
    asked = {at for way in plan.path.ways for at in reading.asked.get(way >> 1, ())}
    at = next((at for at, word in enumerate(words) if word in ("which", "what")), 0)
    is_place = at > 0 and words[at - 1] in ("in", "at", "on", "from")
    return not (is_place and asked and asked <= {p for p in subjects if p > at})


def _named(graph: Graph, node: int, span: Sequence[int], reading: Reading, hops: int) -> Iterator[Plan]:
    """Yield the plans whose relations the question names each by a word of its own."""
    labelled, level = labelled_edges(graph), [path_from(graph, node)]
    for _ in range(hops):
        longer = [
            path
            for before in level
            if extension_cost(labelled, before) <= _MAX_COST and not (before.ways and _is_literal(graph, before))
            for path in extensions(graph, before, labelled)
            if path.ways[-1] >> 1 in reading.asked
        ]
        level = []
        for path in longer:
            score = _score(path.ways, span, reading)
            if score is not None:
                level.append(path)
                yield Plan(path, score)


def _completed(graph: Graph, plan: Plan, words: Sequence[int], reading: Reading, kind: AnswerType) -> Iterator[Plan]:
    """Yield a plan to things of another kind than asked for, extended by the relation there nearest to a word."""
    if not words or _is_literal(graph, plan.path):
        return
    longer = [p for p in extensions(graph, plan.path, labelled_edges(graph)) if kind.accepts(graph, p)]
    cosines = [max(float(reading.nearness[at, p.ways[-1] >> 1]) for at in words) for p in longer]
    if longer and max(cosines) >= BY_PRESENCE:
        yield Plan(longer[int(np.argmax(cosines))], plan.score + max(cosines) - _HOP)


def _is_literal(graph: Graph, path: RelationPath) -> bool:
    """Return whether a path ends at numbers or dates: from them no further relation is asked for."""
    ends = graph.names.take(graph.at(path.ends[:_SAMPLE]))
    return 2 * sum(value_of(name) is not None for name in ends) > len(ends)


def _score(ways: Ways, span: Sequence[int], reading: Reading) -> float | None:
    """Return how well the question asks for a relation path: the best assignment of a word to each relation.

    None where a relation has no word, or the grammar contradicts a direction.
    """
    identity = [at for at, word in enumerate(reading.words) if word in IDENTITY and at not in reading.mentioned]
    choices = [
        reading.asked[way >> 1] + (identity if i and way == ways[i - 1] ^ 1 else []) for i, way in enumerate(ways)
    ]
    best: float | None = None
    positions = sorted({at for own in choices for at in own})
    for assignment in permutations(positions, len(ways)):
        if not all(at in own for at, own in zip(assignment, choices, strict=True)):
            continue
        steps = _steps(ways, assignment)
        if any(a >> 1 == b >> 1 and abs(i - j) == 1 and j not in identity for a, b, i, j in steps):
            continue  # neighbouring words, as in "release date", are one mention of a relation
        inner = [span, *((at,) for at in assignment)]
        if not all(_direction(way, at, near, reading) for way, at, near in zip(ways, assignment, inner, strict=False)):
            continue
        score = _credit(ways, assignment, positions, reading) + _order(assignment, span)
        best = score if best is None else max(best, score)
    return best


def _steps(ways: Ways, assignment: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
    """Yield each two hops in turn, with their words."""
    for i in range(len(ways) - 1):
        yield ways[i], ways[i + 1], assignment[i], assignment[i + 1]


def _credit(ways: Ways, assignment: Sequence[int], positions: Sequence[int], reading: Reading) -> float:
    """Return the sum over the question's words of how well the hops account for them."""
    total = 0.0
    for way, own in zip(ways, assignment, strict=True):
        relation = way >> 1
        extra = [at for at in positions if at not in assignment and at in reading.asked[relation]]
        matched = set(reading.lexical.get(own, {}).get(relation, ()))
        total += (reading.strength(own, relation) if own in reading.asked[relation] else 1.0) - _HOP
        for at in extra:
            new = reading.lexical.get(at, {}).get(relation, set()) - matched
            total += 1.0 if new else _REPEATED
            matched |= new
        total -= _UNNAMED * (1 - max(len(matched), 1) / len(reading.relations.words[relation]))
    return total


def _order(assignment: Sequence[int], span: Sequence[int]) -> float:
    """Return a bonus where the words of the hops are in the order of the path, the first nearest to the entity."""
    if not span or len(assignment) < 2:
        return 0.0
    distances = [min(abs(at - span[0]), abs(at - span[-1])) for at in assignment]
    return 0.2 if distances == sorted(distances) else -0.2


def _direction(way: int, at: int, near: Sequence[int], reading: Reading) -> bool:
    """Return whether the grammar allows this direction of a relation, from the entity at word `near` by word `at`."""
    relation, forward = way >> 1, bool(way & 1)
    relations = reading.relations
    if not near or not relations.is_homogeneous(relation) or relations.is_symmetric(relation):
        return True
    expected = _expected(reading.words, relations.voice(relation), at, near)
    return expected is None or expected == forward


def _expected(words: Sequence[str], voice: str, at: int, near: Sequence[int]) -> bool | None:
    """Return whether a relation is walked from head to tail, by the order of its word and argument; None if open."""
    following = words[at + 1] if at + 1 < len(words) else ""
    if at < near[0]:
        between = words[at + 1 : near[0]]
        noun = following == "of" or (following in _PREPOSITIONS and voice == "agent")
        if noun or "of" in between[:1]:
            return voice != "of"
        if "by" in between:
            return voice != "passive"
        return voice in ("passive", "agent")
    between = words[near[-1] + 1 : at]
    if "'s" in between[:1]:
        return voice != "of"
    if following == "of":
        return voice == "of"
    if following == "by":
        return True
    return voice not in ("passive", "agent")


def _by_sentence(graph: Graph, node: int, reading: Reading, kind: AnswerType) -> Iterator[Plan]:
    """Yield the one-hop plans that are nearest to the question in meaning, without a word that names the relation.

    Beside an adjective of measure ("how long is it cooked") the relation must be the one nearest to another word too.
    """
    paths = extensions(graph, path_from(graph, node), labelled_edges(graph))
    others = [at for at in reading.content if reading.words[at] not in DIMENSIONS]
    nearest = {int(reading.nearness[at].argmax()) for at in others}
    verbs = [at for at in others if at not in reading.form.noun and reading.form.asks != "truth"]
    agreed = _agreed(reading, {path.ways[0] >> 1 for path in paths}, verbs)
    for path in paths:
        relation = path.ways[0] >> 1
        cosine = float(reading.sentence[relation])
        if len(others) < len(reading.content) and relation not in nearest:
            continue
        if (cosine >= BY_SENTENCE or relation == agreed) and kind.accepts(graph, path):
            yield Plan(path, cosine)


def _agreed(reading: Reading, relations: set[int], words: Sequence[int]) -> int:
    """Return the relation that is nearest both to the question and to one of its words, -1 if there is none."""
    own = np.array(sorted(relations), np.int64)
    if len(own) < 2 or not words:
        return -1
    of_words = reading.nearness[list(words)][:, own].max(axis=0)
    both = reading.sentence[own] + of_words
    first, second = np.argsort(-both, kind="stable")[:2]
    agree = int(of_words.argmax()) == int(reading.sentence[own].argmax()) == int(first)
    is_clear = both[first] >= BY_BOTH and both[first] - both[second] >= _CLEAR
    return int(own[first]) if agree and is_clear else -1


def _made(graph: Graph, node: int, reading: Reading, kind: AnswerType) -> Iterator[Plan]:
    """Yield the plan to the maker of a thing, where the verb is that of its class: who painted a painting.

    The object of such a verb is its product (an effected object), and its subject the maker: the only relation of the
    thing that is named by an agent noun ("creator").
    """
    classes = graph.columns.out.row(node)
    classes = classes[np.isin(graph.columns.relation[classes], reading.relations.types)]
    names = {
        word for edge in classes.tolist() for word in graph.names[int(graph.columns.tails[edge])].casefold().split()
    }
    verbs = [reading.words[at] for at in reading.content]
    if kind.asks != "person" or len(verbs) != 1 or not any(inflections_match(verbs[0], name) for name in names):
        return
    paths = [p for p in extensions(graph, path_from(graph, node), labelled_edges(graph)) if p.ways[0] & 1]
    makers = [p for p in paths if reading.relations.voice(p.ways[0] >> 1) == "agent" and kind.accepts(graph, p)]
    if len(makers) == 1:
        yield Plan(makers[0], BY_SENTENCE)


def _implied(graph: Graph, node: int, span: Sequence[int], reading: Reading, kind: AnswerType) -> Iterator[Plan]:
    """Yield the one-hop plans that need no word: to things of the class asked for, or to where a preposition leads.

    No other word may ask for a relation. "Films by X": of the passive relations to X the one nearest in meaning;
    "in X": of all relations to X. "Which packages are X": what has the value X, by the only relation that leads to it.
    """
    if set(reading.content) - set(reading.form.noun) - set(reading.unmatched):
        return
    paths = extensions(graph, path_from(graph, node), labelled_edges(graph))
    paths = [path for path in paths if kind.accepts(graph, path)]
    if kind.instances is not None:
        for path in paths:
            if np.isin(graph.at(path.ends), kind.instances).any():
                yield Plan(path, 0.0)
        return
    before = reading.words[span[0] - 1] if span and span[0] else ""
    before = reading.words[span[0] - 2] if before in ARTICLES and span[0] > 1 else before
    if before in COPULAS and reading.form.noun:
        is_value = not len(graph.columns.out.row(node)) and len({p.ways[0] for p in paths}) == 1
        yield from (Plan(path, 0.0) for path in paths if is_value)
    if before in _LINKING and reading.form.noun:
        paths = [p for p in paths if not p.ways[0] & 1]
        paths = [p for p in paths if reading.relations.voice(p.ways[0] >> 1) == "passive"] if before == "by" else paths
        if paths:
            yield Plan(max(paths, key=lambda path: float(reading.sentence[path.ways[0] >> 1])), 0.0)
