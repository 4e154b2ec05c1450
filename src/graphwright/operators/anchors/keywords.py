"""Keywords of a question as anchors: names, themes and implied names; and their refinement."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Between, Has
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import ABOUT, Graph, Kind
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.link_entities import LinkEntities, is_name
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State
from graphwright.prompts.templates import data_line
from graphwright.search.name_index import name_index_of
from graphwright.text.names import normal_form
from graphwright.text.words import COMPOUND, NOT_NAMES, words

_PHRASE_WORDS = 4  # the most words of a phrase
_PHRASE_WEIGHT = 0.5  # weight of a phrase that is not written as a name
_IMPLIED_WEIGHT = 0.5  # weight of an implied name
_PROMPT_CHARACTERS = 12_000  # of all passages in a prompt
_TITLE_CHARACTERS = 200
_MAX_NODES = 3  # of a definite name
_MAX_SHARE = 0.02  # of the passages that mention a definite name
_CONTEXT_WORDS = 3  # on either side of a keyword without a name near it
_MAX_GAP = 6  # words between a keyword and the name that specialises it
_PROMPT_ENTRIES = 200  # of each kind in a prompt, and characters of each
_NO_KEYWORDS = "the model listed no keywords"
_PROMPT_MATCHES = 5  # entries that a language model may match with a keyword


def themes(state: State) -> tuple[Anchor, ...]:
    """Return the anchors that are not entities: themes and thoughts."""
    return tuple(anchor for anchor in state.anchors or () if anchor.kind != "entity")


@dataclass(frozen=True, repr=False)
class Keywords(Operator):
    """Set the keywords of the question as anchors: names, then themes (PathRAG, "Node Retrieval"; LightRAG's levels).

    A language model lists both. Names become anchors with the nodes of exactly that name; themes become anchors of the
    kind "theme", without nodes. Existing anchors stay, before the new ones. If the model lists nothing, the step fails;
    NamesAndPhrases needs no model.
    """

    model: Annotated[LLM, Has("a language model", "complete")]
    gives = ("anchors",)

    def apply(self, state: State, run: Run) -> State:
        keywords: list[Anchor] = []
        reply = run.reply(self.model, "pathrag_keywords", question=data_line({"question": state.question.text}))
        if reply is not None:
            keywords += anchors_named(reply.names, state)
            keywords += (Anchor(theme, kind="theme") for theme in _distinct(reply.themes))
        if not keywords:
            run.fail(_NO_KEYWORDS)
        return with_anchors(state, keywords)


@dataclass(frozen=True, repr=False)
class NamesAndPhrases(Operator):
    """Set the keywords of the question as anchors: its names, its phrases, and the rest as one theme.

    Names are the entities that LinkEntities finds, phrases are the words between stop words (with half the weight,
    unless written as names), and the theme is the rest of the question. Existing anchors stay, before the new ones.

    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("Lothair II", "mother", "Ermengarde of Tours")])
    >>> anchors = NamesAndPhrases()(start("Which abbey did the mother of Lothair II found?", graph)).anchors
    >>> [anchor.kind[0] + ": " + anchor.text for anchor in anchors]
    ['e: Lothair II', 'e: abbey', 'e: mother', 'e: found', 't: abbey mother found']
    """

    gives = ("anchors",)

    def apply(self, state: State, run: Run) -> State:
        return with_anchors(state, _from_question(state, run))


def with_anchors(state: State, anchors: Iterable[Anchor]) -> State:
    """Return the state with these anchors after its own, each kind and normalised text once."""
    existing = state.anchors or ()
    keys = {(anchor.kind == "entity", normal_form(anchor.text)) for anchor in existing}
    new: dict[tuple[bool, str], Anchor] = {}
    for anchor in anchors:
        key = anchor.kind == "entity", normal_form(anchor.text)
        if key[1] and key not in keys:
            new.setdefault(key, anchor)
    return state.with_(anchors=(*existing, *new.values()))


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
    """Set keywords as anchors, among them names that the question implies (BubbleRAG, section 3.2, "latent inference").

    A language model (`model`) lists names, implied names and relations, given the question and the first `passages`
    passages of the state; relations become anchors of the kind "theme". Implied names have half the weight. Existing
    anchors stay, before the new ones. If the model lists nothing, the step fails; NamesAndPhrases needs no model.
    """

    model: Annotated[LLM, Has("a language model", "complete")]
    passages: Annotated[int, AtLeast(0)] = 15
    gives = ("anchors",)

    def apply(self, state: State, run: Run) -> State:
        question, passages = data_line({"question": state.question.text}), passage_lines(state, self.passages)
        reply = run.reply(self.model, "bubblerag_keywords", question=question, passages=passages)
        if reply is None:
            run.fail()
            return with_anchors(state, ())
        relations = [Anchor(anchor.text, kind="theme") for anchor in anchors_named(reply.relations, state)]
        names = anchors_named(reply.names, state)
        keywords = [*names, *relations, *anchors_named(reply.implied, state, _IMPLIED_WEIGHT)]
        if not keywords:
            run.fail(_NO_KEYWORDS)
        return with_anchors(state, keywords)


def passage_lines(state: State, count: int) -> str:
    """Return the best passages as lines of JSON for a prompt, as many as its length allows."""
    lines, room = list[str](), _PROMPT_CHARACTERS
    for number, node in enumerate(state.passage_nodes(count).tolist(), 1):
        title = state.graph.title_of(node)[:_TITLE_CHARACTERS]
        line = data_line({"passage": number, "title": title, "text": state.graph.passage(node)[:room]})
        if len(line) > room:
            break
        room -= len(line)
        lines.append(line)
    return "\n".join(lines) or "(none)"


def entities_and_edges(graph: Graph, passages: Ints) -> tuple[Ints, Ints]:
    """Return the entities of passages, and edges that they state, ascending; without passages, the neighbourhood."""
    columns = graph.columns
    nodes = np.unique(np.append(passages, columns.adjacency.rows(passages)))
    entities = nodes[(columns.kinds[nodes] == Kind.ENTITY) & graph.holds(nodes)]
    if graph.passages is None:
        edges = np.unique(np.append(columns.out.rows(passages), columns.into.rows(passages)))
    else:
        edges = np.unique(columns.stated.rows(passages))
        edges = edges[np.isin(columns.heads[edges], entities) & np.isin(columns.tails[edges], entities)]
    return entities, graph.inside(edges)


class _Specialising(Operator):
    """Makes vague keywords specific with words of the question; only the texts of vague anchors change."""

    needs = ("anchors",)
    gives = ("anchors",)

    def apply(self, state: State, run: Run) -> State:
        anchors = state.anchors or ()
        vague = _vague(anchors, state)
        texts = self.rewritten(state, run, vague) if vague else {}
        rewritten = (replace(anchor, text=texts.get(i, anchor.text)) for i, anchor in enumerate(anchors))
        return state.with_(anchors=tuple(rewritten)) if texts else state

    @abstractmethod
    def rewritten(self, state: State, run: Run, vague: Sequence[int]) -> dict[int, str]:
        """Return the new texts of anchors by their position; `vague`: the positions of vague anchors."""


@dataclass(frozen=True, repr=False)
class Specialise(_Specialising):
    """Make vague keywords specific with words of the question (BubbleRAG, section 3.2, "Anchor Specialization").

    Only the texts of vague anchors change. An anchor is vague if it is not written as a name, has no node or more than
    three, or if more than 2 % of the passages mention its nodes. A language model rewrites the texts: "mother" becomes
    "mother of Lothair II". Without a usable reply the step fails; SpecialiseInContext needs no model.
    """

    model: Annotated[LLM, Has("a language model", "complete")]

    def rewritten(self, state: State, run: Run, vague: Sequence[int]) -> dict[int, str]:
        question = data_line({"question": state.question.text})
        keywords = (
            data_line({"keyword": number, "text": anchor.text, "found": number - 1 not in vague})
            for number, anchor in enumerate(state.anchors or (), 1)
        )
        reply = run.reply(self.model, "bubblerag_constraints", question=question, keywords="\n".join(keywords))
        if reply is None:
            run.fail()
            return {}
        texts = {item.keyword - 1: " ".join(item.text.split()) for item in reversed(reply.constraints)}
        valid = {i: text for i, text in texts.items() if i in vague and text}
        if len(valid) < len(reply.constraints):
            ignored = len(reply.constraints) - len(valid)
            run.note(f"{ignored} of {len(reply.constraints)} constraints were ignored")
        return valid


@dataclass(frozen=True, repr=False)
class SpecialiseInContext(_Specialising):
    """Make vague keywords specific with the words around them in the question.

    Specialise defines vague. Names stay. Any other keyword becomes the part of the question from it to the nearest
    name, if that is at most six words away; else the keyword with three words on either side. A keyword that is not a
    part of the question, such as a theme of several words, becomes the whole question.

    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("Lothair II", "mother", "Ermengarde of Tours")])
    >>> step = NamesAndPhrases() >> SpecialiseInContext()
    >>> [anchor.text for anchor in step(start("When did the mother of Lothair II die?", graph)).anchors]
    ['Lothair II', 'mother of Lothair II', 'Lothair II die', 'When did the mother of Lothair II die?']
    """

    def rewritten(self, state: State, run: Run, vague: Sequence[int]) -> dict[int, str]:
        anchors = state.anchors or ()
        return {i: _in_context(anchors[i], anchors, state.question.text) for i in vague}


def is_definite(anchor: Anchor, state: State) -> bool:
    """Return whether an anchor is a name of few nodes that few passages mention."""
    graph = state.graph
    count = len(anchor.nodes) + len(anchor.edges)
    if anchor.kind != "entity" or not is_name(anchor.text) or not 0 < count <= _MAX_NODES:
        return False
    total = 0 if graph.passages is None else len(graph.passages)
    return len(graph.chunks_of(anchor.nodes, anchor.edges)) <= max(_MAX_SHARE * total, _MAX_NODES)


def _vague(anchors: Sequence[Anchor], state: State) -> list[int]:
    return [i for i, anchor in enumerate(anchors) if not is_definite(anchor, state)]


def _in_context(anchor: Anchor, anchors: Iterable[Anchor], question: str) -> str:
    """Return the part of the question from a keyword to the nearest name, or around the keyword."""
    if is_name(anchor.text) and anchor.kind == "entity":
        return anchor.text
    offsets = [match.span() for match in COMPOUND.finditer(question)]
    keyword = _position(anchor.text, question, offsets)
    if keyword is None:
        return question
    names = (_position(a.text, question, offsets) for a in anchors if a is not anchor and is_name(a.text))
    gaps = [(max(name[0] - keyword[1], keyword[0] - name[1]), name) for name in names if name is not None]
    gap, nearest = min(gaps, default=(_MAX_GAP + 1, keyword))
    if gap > _MAX_GAP:
        nearest = max(keyword[0] - _CONTEXT_WORDS, 0), min(keyword[1] + _CONTEXT_WORDS, len(offsets) - 1)
    first, last = min(keyword[0], nearest[0]), max(keyword[1], nearest[1])
    return question[offsets[first][0] : offsets[last][1]]


def _position(text: str, question: str, offsets: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the first and last word of the question where a text occurs, None if it does not."""
    match = re.search(rf"(?<!\w){re.escape(text)}(?!\w)", question, re.IGNORECASE)
    if match is None:
        return None
    inside = [i for i, (start, end) in enumerate(offsets) if start < match.end() and end > match.start()]
    return (inside[0], inside[-1]) if inside else None


@dataclass(frozen=True, repr=False)
class Relax(Operator):
    """Match vague keywords with entities and statements of the first passages (BubbleRAG, section 3.2, Example 5).

    A language model adds entities and edges of the first `passages` passages to the vague anchors (see Specialise), so
    that "second marriage" may mean an edge "spouse". If its reply is unusable, the anchors do not change.
    """

    model: Annotated[LLM, Has("a language model", "complete")]
    passages: Annotated[int, AtLeast(0)] = 5
    needs = ("anchors",)
    gives = ("anchors",)

    def apply(self, state: State, run: Run) -> State:
        anchors, graph = list(state.anchors or ()), state.graph
        vague = _vague(anchors, state)
        nodes, edges = entities_and_edges(graph, state.passage_nodes(self.passages))
        if not vague or not len(nodes) + len(edges):
            return state
        entries = [("name", node, graph.names[node]) for node in nodes[:_PROMPT_ENTRIES].tolist()]
        entries += [("statement", edge, graph.edge_text(edge)) for edge in edges[:_PROMPT_ENTRIES].tolist()]
        reply = run.reply(
            self.model,
            "bubblerag_relax",
            question=data_line({"question": state.question.text}),
            keywords="\n".join(data_line({"keyword": i + 1, "text": anchors[i].text}) for i in vague),
            entries="\n".join(
                data_line({"entry": number, kind: text[:_PROMPT_ENTRIES]})
                for number, (kind, _, text) in enumerate(entries, 1)
            ),
        )
        ignored = 0
        for match in () if reply is None else reply.matches:
            numbers = match.entries[:_PROMPT_MATCHES]
            valid = [n for n in numbers if match.keyword - 1 in vague and 1 <= n <= len(entries)]
            ignored += len(numbers) - len(valid)
            if valid:
                matched = [entries[n - 1] for n in valid]
                ids = ([i for kind, i, _ in matched if kind == name] for name in ("name", "statement"))
                anchors[match.keyword - 1] = extended(anchors[match.keyword - 1], *ids)
        if ignored:
            run.note(f"{ignored} matches were ignored: no such keyword or entry")
        return state.with_(anchors=tuple(anchors))


def extended(anchor: Anchor, nodes: Sequence[int], edges: Sequence[int]) -> Anchor:
    """Return an anchor with further nodes and edges."""
    more_nodes, more_edges = np.array(nodes, np.int64), np.array(edges, np.int64)
    return replace(anchor, nodes=np.union1d(anchor.nodes, more_nodes), edges=np.union1d(anchor.edges, more_edges))


@dataclass(frozen=True, repr=False)
class ImpliedNames(Operator):
    """Add the names that the best `passages` passages are about, with this `weight`, to the keywords."""

    passages: Annotated[int, AtLeast(0)] = 3
    weight: Annotated[float, Between(0, 1)] = 0.5
    needs = ("passages",)
    gives = ("anchors",)

    def apply(self, state: State, run: Run) -> State:
        graph = state.graph
        topics = graph.columns.by_relation(ABOUT).rows(state.passage_nodes(self.passages)).tolist()
        names = (graph.names[node] for node in topics)
        return with_anchors(state, anchors_named(names, state, self.weight))
