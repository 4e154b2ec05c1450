"""Answers from walks of a graph without a language model: names, a count, yes or no, or that none is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import Has
from graphwright.generate.readers import MayAnswer, answered
from graphwright.graph.evidence import Evidence, Piece
from graphwright.graph.graph import ABOUT, Graph
from graphwright.graph.items import path_item
from graphwright.graph.walks import step_names
from graphwright.models.protocols import Encoder
from graphwright.operators.citation import cite
from graphwright.operators.control import View
from graphwright.operators.operator import Operator
from graphwright.operators.paths.asked_truth import compared, judged
from graphwright.operators.paths.relation_match import Reading, read_state
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, Citation, State
from graphwright.search.relation_index import shown_name
from graphwright.text.values import value_of

_LISTED = 50  # names in the text
_CITED = 100


@dataclass(frozen=True, repr=False)
class GraphAnswer(Operator):
    """Answer with the names that the walks of the evidence end at, in the form that the question asks for.

    "How many" gives their number, unless they are a number; a yes/no question gives yes with the walk that shows it, or
    no where the graph records otherwise (it counts as complete for a relation of which it records something). After a
    comparison the answer is the nodes that have the compared literal, which is shown. Without evidence the text names
    the nearest relation of the entity, or the name that the graph does not have; `found` is False. Each citation has
    the walk as its path.

    >>> from graphwright import Graph, start; from graphwright.models import HashEncoder
    >>> from graphwright.operators import AskedPaths
    >>> graph = Graph.from_triples([("Ida", "pupil", "Udo"), ("Ida", "pupil", "Eva"), ("Udo", "born in", "Graz")])
    >>> method = AskedPaths(HashEncoder()) >> GraphAnswer(HashEncoder())
    >>> method(start("How many pupils does Ida have?", graph, entities=["Ida"])).answer.text
    '2: Udo, Eva'
    >>> method(start("Was Udo born in Graz?", graph, entities=["Udo", "Graz"])).answer.text
    'Yes: Udo – born in – Graz.'
    """

    encoder: Annotated[Encoder, Has("an encoder, with encode", "encode")]
    needs = ("evidence|anchors",)
    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        """Set the answer."""
        reading = read_state(state, run, self.encoder)
        if missing := unknown_name(state, reading):
            return answered(state, run, Answer(f"The graph has no {missing!r}.", found=False))
        answer = _recorded(state, run, self.encoder, reading, state.graph)
        return answered(state, run, answer or _not_recorded(state, reading))


@dataclass(frozen=True, repr=False)
class AnswerIfRecorded(MayAnswer):
    """Answer as GraphAnswer does where the graph records what is asked, else leave the state unchanged.

    `view`: of a graph with passages, the part that was asked, such as ImportedGraph; citations are then of the passages
    that state the last edge of a walk. Items with other nodes, such as passages, are no answers.

    >>> from graphwright import Graph, start; from graphwright.models import HashEncoder
    >>> from graphwright.operators import AskedPaths
    >>> graph = Graph.from_triples([("Ida", "pupil", "Udo"), ("Udo", "born in", "Graz")])
    >>> method = AskedPaths(HashEncoder()) >> AnswerIfRecorded(HashEncoder())
    >>> method(start("Who is the pupil of Ida?", graph, entities=["Ida"])).answer.text
    'Udo'
    >>> method(start("Who is the brother of Ida?", graph, entities=["Ida"])).answer is None
    True
    """

    encoder: Annotated[Encoder, Has("an encoder, with encode", "encode")]
    view: Annotated[View | None, Has("a function of a graph", "__call__")] = None
    needs = ("evidence|anchors",)

    def apply(self, state: State, run: Run) -> State:
        """Set the answer, or leave the state unchanged."""
        seen = state if self.view is None else state.with_(graph=self.view(state.graph))
        reading = read_state(seen, run, self.encoder)
        answer = None if unknown_name(seen, reading) else _recorded(seen, run, self.encoder, reading, state.graph)
        if answer is None:
            run.note("the graph does not record what is asked")
            return state
        return answered(state, run, answer)


@dataclass(frozen=True)
class LacksAnswer:
    """Holds where GraphAnswer would find nothing, although the graph has each name of the question."""

    encoder: Encoder

    def __call__(self, state: State) -> bool:
        """Return whether the graph records no answer among the evidence."""
        run = Run()
        reading = read_state(state, run, self.encoder)
        return not unknown_name(state, reading) and not _recorded(state, run, self.encoder, reading, state.graph)


@dataclass(frozen=True, repr=False)
class KnownNames(Operator):
    """Remove all evidence if the question has a name that the graph lacks: capitalised words of no node.

    >>> from graphwright import Graph, start; from graphwright.models import HashEncoder
    >>> from graphwright.operators import AskedPaths
    >>> graph = Graph.from_triples([("Ida", "pupil", "Udo"), ("Udo", "born in", "Graz")])
    >>> method = AskedPaths(HashEncoder()) >> KnownNames(HashEncoder())
    >>> state = start("Who was a pupil of Ida in Vienna?", graph, entities=["Ida"])
    >>> len(method(state).evidence)
    0
    """

    encoder: Annotated[Encoder, Has("an encoder, with encode", "encode")]
    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Remove the evidence, or leave the state unchanged."""
        missing = unknown_name(state, read_state(state, run, self.encoder))
        if not missing:
            return state
        run.note(f"the graph has no {missing!r}")
        return state.with_(evidence=Evidence.of_nodes([], []))


def _recorded(state: State, run: Run, encoder: Encoder, reading: Reading, whole: Graph) -> Answer | None:
    """Return the answer that the graph records, None if it records none; `whole` has the passages to be cited."""
    if reading.form.asks == "truth":
        return _truth(state, run, encoder, reading, whole)
    items = [piece for piece in state.items if state.graph.holds(piece[0]).all()][:_CITED]
    return _listed(state.graph, reading, items, whole) if items else None


def _truth(state: State, run: Run, encoder: Encoder, reading: Reading, whole: Graph) -> Answer | None:
    """Return yes or no, None where the graph decides neither."""
    is_comparison = reading.form.measure is not None and reading.form.measure.limit
    verdict = compared(state, run, encoder, reading) if is_comparison else judged(state.graph, reading)
    if verdict is None:
        return None
    graph = state.graph
    citations = tuple(_citation(graph, piece, int(piece[0][-1]), whole) for piece in verdict.shown[:_CITED])
    walks = "; ".join(" – ".join(cited.path or (cited.text,)) for cited in citations[:5])
    if not citations:
        name = shown_name(graph, int(reading.anchors[0].seeds(graph)[0]))
        return Answer(f"No: {verdict.reason} {name}.", ("no",))
    if verdict.yes:
        return Answer(f"Yes: {walks}.", ("yes",), citations)
    return Answer(f"No. The graph records: {walks}.", ("no",), citations)


def _listed(graph: Graph, reading: Reading, items: Sequence[Piece], whole: Graph) -> Answer:
    """Return the answer of the ends of walks, or of the nodes with the compared literal: each name once."""
    compared = reading.form.measure is not None
    ends = {shown_name(graph, end): (piece, end) for piece in reversed(items) for end in [_end(graph, piece, compared)]}
    ends = dict(reversed(ends.items()))
    citations = tuple(_citation(graph, piece, end, whole) for piece, end in ends.values())
    names = ", ".join(list(ends)[:_LISTED]) + (", …" if len(ends) > _LISTED else "")
    if reading.form.asks == "count" and not (len(ends) == 1 and value_of(next(iter(ends)))):
        return Answer(f"{len(ends)}: {names}", (str(len(ends)),), citations)
    if compared:
        values = {shown_name(graph, end): graph.names[int(piece[0][-1])] for piece, end in ends.values()}
        names = ", ".join(f"{name} ({values[name]})" if values[name] != name else name for name in list(ends)[:_LISTED])
    return Answer(names, tuple(ends), citations)


def _end(graph: Graph, piece: Piece, compared: bool) -> int:
    """Return the node that an item answers with: its last, or the one before the literal that was compared."""
    nodes = piece[0]
    if compared and len(nodes) > 1 and value_of(graph.names[int(nodes[-1])]) is not None:
        return int(nodes[-2])
    return int(nodes[-1])


def _citation(graph: Graph, piece: Piece, end: int, whole: Graph) -> Citation:
    """Return the citation of a walk: of the passage that states its last edge, where the whole graph has passages."""
    name, path = shown_name(graph, end), step_names(graph, path_item(graph, *piece).steps)
    if whole.passages is not None:
        for chunk in _stating(whole, piece, end):
            text = whole.passage(chunk)
            facts = [" ".join(whole.triple(edge)).replace("_", " ") for edge in piece[1][-1:].tolist()]
            quote = next((quote for quote in (*facts, whole.names[end]) if quote in text), "")
            if quote:
                start = text.index(quote)
                return cite(whole, chunk, start, start + len(quote), path)
    return Citation("", name, 0, len(name), name, path)


def _stating(graph: Graph, piece: Piece, end: int) -> list[int]:
    """Return the passages that state the last edge of a walk, that of its end first; else those about the end."""
    about = graph.columns.by_relation(ABOUT).row(end).tolist()
    stating = graph.chunks_of((), piece[1][-1:]).tolist()
    return [*(chunk for chunk in about if chunk in stating), *stating, *about]


def unknown_name(state: State, reading: Reading) -> str:
    """Return a name that the graph does not have: capitalised words after the first that no mention has."""
    text, asked = state.question.text, {at for positions in reading.asked.values() for at in positions}
    capital = [text[token.start].isupper() for token in reading.tokens]
    if len(reading.content) > 2 and all(capital[at] for at in reading.content if at):  # capitals mean nothing
        return ""
    run: list[int] = []
    for at in range(1, len(capital) + 1):
        if at < len(capital) and capital[at] and at not in asked:
            run.append(at)
        elif run and reading.mentioned.isdisjoint(run) and not reading.form.grammar.issuperset(run):
            return text[reading.tokens[run[0]].start : reading.tokens[run[-1]].end]
        else:
            run = []
    return ""


def _not_recorded(state: State, reading: Reading) -> Answer:
    """Return the answer that the graph has no answer, with the nearest relation of the entity."""
    graph = state.graph
    if not reading.anchors:
        names = unknown_name(state, reading)
        text = f"The graph has no {names!r}." if names else "The question names nothing that the graph has."
        return Answer(text, found=False)
    node = int(max(reading.anchors, key=lambda anchor: anchor.weight).seeds(graph)[0])
    c = graph.columns
    relations = np.unique(c.relation[np.concatenate((c.out.row(node), c.into.row(node)))])
    if not len(relations):
        return Answer(f"The graph does not say: it records nothing of {shown_name(graph, node)}.", found=False)
    nearest = int(relations[int(reading.sentence[relations].argmax())])
    if not reading.sentence[nearest]:  # the question is in another language
        return Answer(f"The graph does not say what is asked of {shown_name(graph, node)}.", found=False)
    return Answer(
        f"The graph does not say. The nearest that it records of {shown_name(graph, node)} is "
        f"{reading.relations.phrases[nearest]!r}.",
        found=False,
    )
