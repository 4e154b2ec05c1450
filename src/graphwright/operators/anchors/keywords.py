"""Keywords of a question: names, themes, and those that it only implies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import Has
from graphwright.errors import OptionError
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import ABOUT, Graph, Kind
from graphwright.index.name_index import name_index_of
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State
from graphwright.prompts import data_line
from graphwright.text.names import normal_form
from graphwright.text.stopwords import NOT_NAMES
from graphwright.text.words import COMPOUND, words

__all__ = [
    "Keywords",
    "LatentKeywords",
    "is_name",
    "named",
    "passage_lines",
    "previewed",
    "stated",
    "themes",
    "with_new",
]

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


def _listed(model: LLM, state: State, run: Run) -> list[Anchor]:
    """Return what a language model lists."""
    reply = run.reply(model, "pathrag_keywords", question=data_line({"question": state.question.text}))
    if reply is None:
        return []
    return [*named(reply.names, state), *(Anchor(theme, kind="theme") for theme in _distinct(reply.themes))]


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


_IMPLIED = 0.5  # weight of what a question does not say, as of a phrase in it


@dataclass(frozen=True, repr=False)
class LatentKeywords(Operator):
    """Set the question's keywords as anchors, with names that it implies (BubbleRAG, section 3.2, "latent inference").

    A language model lists names, implied names and relations, from the question and the `passages` first passages of
    the state; relations are anchors of the kind "theme". Without one the keywords are those of `Keywords`, and implied
    are the `most` first names which one of these passages is about and which join what the question names: a passage
    about one names the other, or they are neighbours. What is implied has half the weight. Anchors that the state
    already has are kept, before the others.

    >>> from graphwright import Graph, Ranking, start
    >>> graph = Graph.from_triples([("Lothair II", "son of", "Ermengarde"), ("Ermengarde", "died in", "851")])
    >>> asked = start("When did Lothair II's mother die?", graph).with_(passages=Ranking.of([1], [1.0]))
    >>> [(a.text, a.weight) for a in LatentKeywords()(asked).anchors]
    [("Lothair II's", 1.0), ('mother die', 0.5), ('mother die', 1.0), ('Ermengarde', 0.5)]
    """

    model: Annotated[LLM | None, Has("a language model or None", "complete")] = None
    passages: int = 15
    most: int = 3
    gives = ("anchors",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.passages < 0 or self.most < 0:
            raise OptionError(f"LatentKeywords(passages={self.passages!r}, most={self.most!r}): numbers, 0 or more.")

    def apply(self, state: State, run: Run) -> State:
        """Set the anchors."""
        found = [] if self.model is None else self._listed(self.model, state, run)
        if found:
            return with_new(state, found)
        state = Keywords().apply(state, run)
        return with_new(state, self._implied(state))

    def _listed(self, model: LLM, state: State, run: Run) -> list[Anchor]:
        """Return what a language model lists."""
        question = data_line({"question": state.question.text})
        lines = passage_lines(state, self.passages)
        said = run.reply(model, "bubblerag_keywords", question=question, passages=lines)
        if said is None:
            return []
        names, implied = named(said.names, state), named(said.implied, state, _IMPLIED)
        found = [*names, *(Anchor(a.text, kind="theme") for a in named(said.relations, state)), *implied]
        if not found:
            run.note("the model listed no keywords; they are the question's own words")
        return found

    def _implied(self, state: State) -> list[Anchor]:
        """Return the first names that passages are about and that join what the question names."""
        known = [a.seeds(state.graph) for a in state.anchors or () if is_name(a.text)]
        asked = np.unique(np.concatenate(known)) if known else np.empty(0, np.int64)
        new = dict.fromkeys(_joining(state, asked, previewed(state, self.passages)))
        names = state.graph.names
        return [Anchor(names[node], np.array([node]), weight=_IMPLIED) for node in list(new)[: self.most]]


def _joining(state: State, asked: Ints, passages: Ints) -> Iterator[int]:
    """Yield what each passage is about where it, or the passage itself, is next to the nodes asked for."""
    columns, graph = state.graph.columns, state.graph
    about = columns.by_relation(ABOUT)
    if not len(asked):
        return
    near = np.unique(np.append(columns.adjacency.rows(asked), columns.adjacency.rows(about.rows(asked))))
    for passage in passages.tolist():
        topics = about.row(passage) if graph.passages is not None else np.array([passage])
        joins = np.isin(passage, near) | np.isin(topics, near)
        yield from topics[joins & ~np.isin(topics, asked) & graph.holds(topics)].tolist()


_ROOM = 12_000  # characters of all passages that a language model is shown
_TITLE = 200


def previewed(state: State, most: int) -> Ints:
    """Return the best passages of the state, best first; none where nobody looked."""
    return np.empty(0, np.int64) if state.passages is None else state.passages.ids[:most]


def passage_lines(state: State, most: int) -> str:
    """Return the best passages as data, a line of JSON for each, as many as there is room for."""
    return "\n".join(_lines(state, most)) or "(none)"


def _lines(state: State, most: int) -> Iterator[str]:
    room = _ROOM
    for number, node in enumerate(previewed(state, most).tolist(), 1):
        title = state.graph.title_of(node)[:_TITLE]
        line = data_line({"passage": number, "title": title, "text": state.graph.passage(node)[:room]})
        if len(line) > room:
            return
        room -= len(line)
        yield line


def stated(graph: Graph, passages: Ints) -> tuple[Ints, Ints]:
    """Return the entities that passages name and the edges that they state between them, both ascending.

    On a graph without passages its nodes stand for them, and state the edges that begin or end there. Costs in
    proportion to the edges of these entities.

    >>> graph = Graph.from_triples([("Bertha", "mother of", "Gisela"), ("Gisela", "wife of", "Godfrid")])
    >>> [part.tolist() for part in stated(graph, np.array([0]))]
    [[0, 1], [0]]
    """
    columns = graph.columns
    around = np.unique(np.append(passages, columns.adjacency.rows(passages)))
    entities = around[(columns.kinds[around] == Kind.ENTITY) & graph.holds(around)]
    if graph.passages is None:
        edges = np.unique(np.append(columns.out.rows(passages), columns.into.rows(passages)))
    else:
        edges = np.unique(columns.stated.rows(passages))
        edges = edges[_within(columns.heads[edges], entities) & _within(columns.tails[edges], entities)]
    return entities, edges if graph.whole else edges[_within(edges, graph.edges)]


def _within(ids: NDArray[np.integer], known: Ints) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = np.isin(ids, known)
    return inside
