"""Keywords of a question as anchors: names, themes, and names that it only implies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Has
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph, Kind
from graphwright.index.name_index import name_index_of
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.link_entities import LinkEntities
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State
from graphwright.prompts.templates import data_line
from graphwright.text.names import normal_form
from graphwright.text.words import COMPOUND, NOT_NAMES, words

__all__ = [
    "Keywords",
    "LatentKeywords",
    "add_anchors",
    "anchors_named",
    "entities_and_edges",
    "is_name",
    "passage_lines",
    "themes",
    "top_passages",
]

_PHRASE_WORDS = 4  # the most words of a phrase
_PHRASE_WEIGHT = 0.5  # weight of a phrase that is not written as a name
_IMPLIED_WEIGHT = 0.5  # weight of a name that the question only implies
_PROMPT_CHARACTERS = 12_000  # of all passages in a prompt
_TITLE_CHARACTERS = 200


def themes(state: State) -> tuple[Anchor, ...]:
    """Return the anchors that are not entities: themes and thoughts."""
    return tuple(anchor for anchor in state.anchors or () if anchor.kind != "entity")


@dataclass(frozen=True, repr=False)
class Keywords(Operator):
    """Set the keywords of the question as anchors: names, then themes (PathRAG, "Node Retrieval"; LightRAG's levels).

    Names and noun phrases become anchors with the nodes of exactly that name; themes become anchors of the kind
    "theme", without nodes. A language model (`model`) lists both. Without one, names are the entities that LinkEntities
    finds, phrases are the words between stop words (with half the weight, unless written as names), and the one theme
    is the rest of the question; the same if the model lists nothing. Existing anchors stay, before the new ones.

    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("Lothair II", "mother", "Ermengarde of Tours")])
    >>> anchors = Keywords()(start("Which abbey did the mother of Lothair II found?", graph)).anchors
    >>> [anchor.kind[0] + ": " + anchor.text for anchor in anchors]
    ['e: Lothair II', 'e: abbey', 'e: mother', 'e: found', 't: abbey mother found']
    """

    model: Annotated[LLM | None, Has("a language model or None", "complete")] = None
    gives = ("anchors",)

    def apply(self, state: State, run: Run) -> State:
        """Set the anchors."""
        keywords = _from_model(self.model, state, run) if self.model is not None else []
        if self.model is not None and not keywords:
            run.note("the model listed no keywords; the question's own words are used")
        return add_anchors(state, keywords or _from_question(state, run))


def add_anchors(state: State, anchors: Iterable[Anchor]) -> State:
    """Return the state with these anchors after its own, each kind and normalised text once."""
    existing = state.anchors or ()
    keys = {_key(anchor) for anchor in existing}
    new = []
    for anchor in anchors:
        key = _key(anchor)
        if key[1] and key not in keys:
            keys.add(key)
            new.append(anchor)
    return state.with_(anchors=(*existing, *new))


def _key(anchor: Anchor) -> tuple[bool, str]:
    return anchor.kind == "entity", normal_form(anchor.text)


def _from_model(model: LLM, state: State, run: Run) -> list[Anchor]:
    """Return the keywords that a language model lists."""
    reply = run.reply(model, "pathrag_keywords", question=data_line({"question": state.question.text}))
    if reply is None:
        return []
    return [*anchors_named(reply.names, state), *(Anchor(theme, kind="theme") for theme in _distinct(reply.themes))]


def _from_question(state: State, run: Run) -> list[Anchor]:
    """Return the names and phrases of the question, and its words outside names as one theme."""
    linked = LinkEntities().apply(state.with_(anchors=None), run).anchors or ()
    rest = state.question.text
    for anchor in linked:
        # The bar separates the words before a name from those after it.
        rest = re.sub(rf"(?<!\w){re.escape(anchor.text)}(?!\w)", " | ", rest, count=1)
    content = [word for word in COMPOUND.findall(rest) if words(word)]
    theme = [Anchor(" ".join(content), kind="theme")] if content else []
    phrases = anchors_named(_phrases(rest), state)
    weighted = (anchor if is_name(anchor.text) else replace(anchor, weight=_PHRASE_WEIGHT) for anchor in phrases)
    return [*linked, *weighted, *theme]


def is_name(text: str) -> bool:
    """Return whether a text is written as a name: with a capital or a digit, or in a script without capitals."""
    return any(not character.islower() for character in text if character.isalnum())


def _phrases(text: str) -> Iterator[str]:
    """Yield the runs of content words, separated by stop words, sentence openers and punctuation."""
    phrase: list[str] = []
    end = 0
    for match in COMPOUND.finditer(text):
        word = match.group()
        separates = not words(word) or (word.islower() and word in NOT_NAMES)
        if phrase and (text[end : match.start()].strip() or len(phrase) == _PHRASE_WORDS or separates):
            yield " ".join(phrase)
            phrase = []
        if not separates:
            phrase.append(word)
        end = match.end()
    if phrase:
        yield " ".join(phrase)


def anchors_named(texts: Iterable[str], state: State, weight: float = 1.0) -> Iterator[Anchor]:
    """Yield an anchor for each distinct text, with the nodes of exactly that name."""
    index = name_index_of(state.graph.columns)
    for text in _distinct(texts):
        nodes = index.find(normal_form(text))
        yield Anchor(text, nodes[state.graph.holds(nodes)], weight=weight)


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, (" ".join(text.split()) for text in texts))))


@dataclass(frozen=True, repr=False)
class LatentKeywords(Operator):
    """Set keywords as anchors, with names that the question implies (BubbleRAG, section 3.2, "latent inference").

    A language model (`model`) lists names, implied names and relations, given the question and the first `passages`
    passages of the state; relations become anchors of the kind "theme". Implied names have half the weight. Existing
    anchors stay, before the new ones. The step needs a language model; if its reply is unusable, the keywords are
    those of Keywords.

    >>> from graphwright.models.fake import ScriptedLLM
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("Lothair II", "son of", "Ermengarde"), ("Ermengarde", "died in", "851")])
    >>> model = ScriptedLLM(['{"names": ["Lothair II"], "implied": ["Ermengarde"], "relations": ["died"]}'])
    >>> state = LatentKeywords(model)(start("When did Lothair II's mother die?", graph))
    >>> [(anchor.text, anchor.weight) for anchor in state.anchors]
    [('Lothair II', 1.0), ('died', 1.0), ('Ermengarde', 0.5)]
    """

    model: Annotated[LLM, Has("a language model", "complete")]
    passages: Annotated[int, AtLeast(0)] = 15
    gives = ("anchors",)

    def apply(self, state: State, run: Run) -> State:
        """Set the anchors."""
        keywords = self._listed(state, run)
        return add_anchors(state, keywords) if keywords else Keywords().apply(state, run)

    def _listed(self, state: State, run: Run) -> list[Anchor]:
        """Return the keywords that a language model lists."""
        question = data_line({"question": state.question.text})
        passages = passage_lines(state, self.passages)
        reply = run.reply(self.model, "bubblerag_keywords", question=question, passages=passages)
        if reply is None:
            return []
        relations = [Anchor(anchor.text, kind="theme") for anchor in anchors_named(reply.relations, state)]
        names = anchors_named(reply.names, state)
        keywords = [*names, *relations, *anchors_named(reply.implied, state, _IMPLIED_WEIGHT)]
        if not keywords:
            run.note("the model listed no keywords; the question's own words are used")
        return keywords


def top_passages(state: State, count: int) -> Ints:
    """Return the nodes of the best passages of the state, best first; none before a search."""
    return np.empty(0, np.int64) if state.passages is None else state.passages.ids[:count]


def passage_lines(state: State, count: int) -> str:
    """Return the best passages as lines of JSON for a prompt, as many as its length allows."""
    return "\n".join(_passage_lines(state, count)) or "(none)"


def _passage_lines(state: State, count: int) -> Iterator[str]:
    room = _PROMPT_CHARACTERS
    for number, node in enumerate(top_passages(state, count).tolist(), 1):
        title = state.graph.title_of(node)[:_TITLE_CHARACTERS]
        line = data_line({"passage": number, "title": title, "text": state.graph.passage(node)[:room]})
        if len(line) > room:
            return
        room -= len(line)
        yield line


def entities_and_edges(graph: Graph, passages: Ints) -> tuple[Ints, Ints]:
    """Return the entities that passages mention and the edges between them that they state, both ascending.

    On a graph without passages, `passages` are nodes: the result is their neighbourhood and the edges at them. Costs in
    proportion to the edges of these entities.

    >>> graph = Graph.from_triples([("Bertha", "mother of", "Gisela"), ("Gisela", "wife of", "Godfrid")])
    >>> [ids.tolist() for ids in entities_and_edges(graph, np.array([0]))]
    [[0, 1], [0]]
    """
    columns = graph.columns
    nodes = np.unique(np.append(passages, columns.adjacency.rows(passages)))
    entities = nodes[(columns.kinds[nodes] == Kind.ENTITY) & graph.holds(nodes)]
    if graph.passages is None:
        edges = np.unique(np.append(columns.out.rows(passages), columns.into.rows(passages)))
    else:
        edges = np.unique(columns.stated.rows(passages))
        inside = np.isin(columns.heads[edges], entities) & np.isin(columns.tails[edges], entities)
        edges = edges[inside]
    return entities, edges if graph.whole else edges[np.isin(edges, graph.edges)]
