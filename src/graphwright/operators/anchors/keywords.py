"""Keywords of a question: what it names, and the themes it asks about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from graphwright.errors import OptionError
from graphwright.index.name_index import name_index_of
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State
from graphwright.prompts import data_line, messages
from graphwright.text.names import normal_form
from graphwright.text.stopwords import NOT_NAMES
from graphwright.text.words import COMPOUND, words

__all__ = ["Keywords", "is_name", "named", "themes", "with_new"]

_PHRASE = 4  # words of a phrase
_PLAIN = 0.5  # weight of what is a phrase and, as far as can be told, no name


def themes(state: State) -> tuple[Anchor, ...]:
    """Return the anchors that are no entities: themes and thoughts."""
    return tuple(anchor for anchor in state.anchors or () if anchor.kind != "entity")


@dataclass(frozen=True, repr=False)
class Keywords(Operator):
    """Set the question's keywords as anchors: names, then themes (PathRAG, "Node Retrieval"; LightRAG's two levels).

    Names and noun phrases are anchors, with the nodes of exactly that name where there are some; themes are anchors
    too, of the kind "theme", without nodes. A language model lists both. Without one, names are found as `Link` finds
    them, phrases are the words between stop words (with half the weight, unless they are written as names are), and
    the one theme is what the question says besides names. So it is where the model lists nothing. Anchors that the
    state already has are kept, before the others.

    >>> from graphwright import Graph, start
    >>> graph = Graph.from_triples([("Lothair II", "mother", "Ermengarde of Tours")])
    >>> found = Keywords()(start("Which abbey did the mother of Lothair II found?", graph)).anchors
    >>> [a.kind[0] + ": " + a.text for a in found]
    ['e: Lothair II', 'e: abbey', 'e: mother', 'e: found', 't: abbey mother found']
    """

    model: LLM | None = None
    gives = ("anchors",)

    def __post_init__(self) -> None:
        if self.model is not None and not isinstance(self.model, LLM):
            raise OptionError(f"Keywords({self.model!r}): give a language model, or None to do without one.")

    def apply(self, state: State, run: Run) -> State:
        """Set the anchors."""
        found = _listed(self.model, state, run) if self.model is not None else []
        if self.model is not None and not found:
            run.note("the model listed no keywords; they are the question's own words")
        return with_new(state, found or _spoken(state))


def with_new(state: State, found: Iterable[Anchor]) -> State:
    """Return the state with these anchors after those that it has, each once by its kind and its text's normal form."""
    given = state.anchors or ()
    held = {(anchor.kind == "entity", normal_form(anchor.text)) for anchor in given}
    new = []
    for anchor in found:
        key = anchor.kind == "entity", normal_form(anchor.text)
        if key[1] and key not in held:
            held.add(key)
            new.append(anchor)
    return state.with_(anchors=(*given, *new))


@cache
def _schema() -> type[Any]:
    from pydantic import create_model

    return create_model("ListedKeywords", names=(list[str], ...), themes=(list[str], ...))


def _listed(model: LLM, state: State, run: Run) -> list[Anchor]:
    """Return what a language model lists."""
    asked = messages("pathrag_keywords", question=data_line({"question": state.question.text}))
    said = run.complete(model, *asked, schema=_schema()).value
    return [*named(said.names, state), *(Anchor(theme, kind="theme") for theme in _distinct(said.themes))]


def _spoken(state: State) -> list[Anchor]:
    """Return what the question itself says: names, phrases, and all of that but names as one theme."""
    linked = LinkEntities()(state.with_(anchors=None, answer=None, trace=())).anchors or ()
    rest = state.question.text
    for anchor in linked:
        # The break keeps what stands before a name and after it apart.
        rest = re.sub(rf"(?<!\w){re.escape(anchor.text)}(?!\w)", " | ", rest, count=1)
    telling = [word for word in COMPOUND.findall(rest) if words(word)]
    theme = [Anchor(" ".join(telling), kind="theme")] if telling else []
    phrases = (a if is_name(a.text) else replace(a, weight=_PLAIN) for a in named(_phrases(rest), state))
    return [*linked, *phrases, *theme]


def is_name(text: str) -> bool:
    """Return whether a text is written as names are: with a capital or a digit, or in a script without capitals."""
    return any(not c.islower() for c in text if c.isalnum())


def _phrases(text: str) -> Iterator[str]:
    """Yield the stretches of words that stop words, words that open sentences, and punctuation part."""
    run: list[str] = []
    end = 0
    for found in COMPOUND.finditer(text):
        word = found.group()
        plain = word.islower() and word in NOT_NAMES
        if run and (text[end : found.start()].strip() or len(run) == _PHRASE or plain or not words(word)):
            yield " ".join(run)
            run = []
        if words(word) and not plain:
            run.append(word)
        end = found.end()
    if run:
        yield " ".join(run)


def named(texts: Iterable[str], state: State, weight: float = 1.0) -> Iterator[Anchor]:
    """Yield an anchor for each distinct text, with the nodes of exactly that name."""
    lexicon = name_index_of(state.graph.columns)
    for text in _distinct(texts):
        nodes = lexicon.find(normal_form(text))
        yield Anchor(text, nodes[state.graph.holds(nodes)], weight=weight)


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in (" ".join(given.split()) for given in texts) if text))
