"""Mentions of names without capitals, and of inflected, misspelt or shortened names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from graphwright.graph.evidence import Ints
from graphwright.operators.search.nearest import name_words
from graphwright.operators.state import Anchor, State
from graphwright.search.name_index import NameIndex
from graphwright.search.relation_index import relation_index_of
from graphwright.text.question_form import Token, inflections_match, question_form, tokens, translated
from graphwright.text.words import NOT_NAMES, words

Mention = tuple[int, int, Anchor]
"""The first and the last word of a mention in the question, and its anchor."""

_MIN_LETTERS = 5  # of a name that may be misspelt
_MAX_NODES = 3  # nodes that a part of a name may stand for
_LONGEST = 6  # maximum words of a name
_MAX_SPELLINGS = 20_000  # words with the same first letter that are compared
_MAX_COMPARED = 50  # names with the same words, of which the shortest are taken


def ordinary_mentions(
    state: State, index: NameIndex, fuzzy: float, spans: Sequence[tuple[int, int]] = ()
) -> Iterator[Mention]:
    """Yield the mentions among the words that are neither grammar nor the words of a relation or a class.

    Longer runs of words come first. Each is matched in three ways: exactly or with another ending; by spelling
    (`fuzzy`: minimum similarity); and as a part of names, if at most three nodes have it: "lynx" for "Eurasian lynx".
    `spans`: characters of names that are linked already; with any, a single word must equal a name, and the confidence
    is at most 0.5.
    """
    question = tokens(state.question.text)
    free = _free(state, question) - {at for at, token in enumerate(question) if _inside(token, spans)}
    used: set[int] = set()
    max_weight = 0.5 if spans else 1.0
    runs = ((at, size) for size in range(_LONGEST, 0, -1) for at in range(len(question) - size + 1))
    for at, size in runs:
        span = range(at, at + size)
        if not used.isdisjoint(span) or not free.issuperset({span[0], span[-1]}):
            continue
        whole = free.issuperset(span) and (size > 1 or free.isdisjoint({at - 1, at + 1}))
        exact = bool(spans) and (size == 1 or not free.issuperset(span))
        nodes, weight = _nodes_of([question[i].word for i in span], index, state, 1 if exact else fuzzy, whole, exact)
        if len(nodes):
            used.update(span)
            yield (
                at,
                at + size - 1,
                Anchor(
                    state.question.text[question[at].start : question[span[-1]].end],
                    nodes,
                    weight=min(weight, max_weight),
                ),
            )


def _inside(token: Token, spans: Sequence[tuple[int, int]]) -> bool:
    return any(token.start < end and start < token.end for start, end in spans)


def _free(state: State, question: Sequence[Token]) -> set[int]:
    """Return the positions of words that may name something."""
    question = translated(state.question.text, question) or question
    form = question_form([token.word for token in question])
    relations = relation_index_of(state.graph.columns)
    classes = [part for name in state.graph.names.take(relations.classes) for part in words(name)]
    known = {*relations.by_word, *classes}
    return {
        at
        for at, token in enumerate(question)
        if at not in form.grammar
        and at not in form.noun
        and token.word not in NOT_NAMES
        and not any(inflections_match(token.word, word) for word in known)
    }


def _nodes_of(
    name: list[str], index: NameIndex, state: State, fuzzy: float, whole: bool, exact: bool
) -> tuple[Ints, float]:
    """Return the nodes that a run of words names, and the confidence.

    `whole`: no further free words are next to them; `exact`: only equal names count.
    """
    graph = state.graph
    for form in (" ".join(name), " ".join([*name[:-1], *words(name[-1])])):
        nodes = index.find(index.form(form))
        nodes = nodes[graph.holds(nodes)]
        if len(nodes):
            return nodes, 1.0
    nodes, similarity = np.empty(0, np.int64), 0.0
    if len(" ".join(name)) >= _MIN_LETTERS and fuzzy < 1:
        nodes, similarity = index.near(index.form(" ".join(name)), fuzzy)
        nodes = nodes[graph.holds(nodes)]
    if not len(nodes) and not exact:
        parts = words(" ".join(name))
        nodes, similarity = _with_words(parts, state, whole), 0.5
        if not len(nodes) and fuzzy < 1 and (spelled := _spelled(parts, state)) != parts:
            nodes = _with_words(spelled, state, whole)
    return nodes, similarity


def _spelled(parts: Sequence[str], state: State) -> list[str]:
    """Replace each word that no name has by the only word of names that differs in one letter, if there is one."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    word_index, spelled = name_words(state.graph.columns), list[str]()
    order = np.arange(len(word_index.vocabulary))
    for part in parts:
        if len(part) >= _MIN_LETTERS and part.isalpha() and not len(word_index.postings(part)[0]):
            first, last = word_index.vocabulary.ends(part[:1], order, prefix=True)
            block = word_index.vocabulary.take(order[first : min(last, first + _MAX_SPELLINGS)])
            near = process.extract(part, block, scorer=OSA.distance, score_cutoff=1, limit=2)
            part = near[0][0] if len(near) == 1 else part
        spelled.append(part)
    return spelled


def _with_words(parts: Sequence[str], state: State, whole: bool) -> Ints:
    """Return the nodes of the shortest names with all these words (at the end, unless `whole`); none if over three."""
    word_index = name_words(state.graph.columns)
    if not parts:
        return np.empty(0, np.int64)
    nodes = word_index.nodes[np.logical_and.reduce([word_index.scores(part) > 0 for part in parts])]
    nodes = nodes[state.graph.holds(nodes)].astype(np.int64)
    if not whole:
        ends = [words(name)[-len(parts) :] == list(parts) for name in state.graph.names.take(nodes[:_MAX_COMPARED])]
        nodes = nodes[:_MAX_COMPARED][ends]
    sizes = np.array([len(name.split()) for name in state.graph.names.take(nodes[:_MAX_COMPARED])])
    if not len(nodes) or len(nodes) > _MAX_COMPARED or sizes.min() > _LONGEST:
        return nodes[:0]
    shortest: Ints = nodes[sizes == sizes.min()]
    return shortest if len(shortest) <= _MAX_NODES else shortest[:0]
