"""Answers from evidence chains (ReG): the chains written for a language model, and an answer that needs none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from graphwright.errors import OptionError
from graphwright.generate.prompt import PassagePrompt
from graphwright.generate.targets import NO_TARGET
from graphwright.graph.graph import Graph
from graphwright.graph.walks import Bundle, bundle_of, relation_label, write_walk
from graphwright.index.vector_index import normalised
from graphwright.models.protocols import Encoder
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, Citation, State
from graphwright.prompts import data_line, messages

__all__ = ["ChainAnswer", "ChainPrompt"]

_LEAST = 2_000
# What a name must not hold as it is: the signs that a chain is written with.
_SIGNS = re.compile("[→;]")
# A relation in brackets that looks like a token of a chat template.
_TOKEN = re.compile(r"\[(?=/?[A-Z_]+\])")
_PARTS = re.compile(r"[\W_]+")


@dataclass(frozen=True, repr=False)
class ChainPrompt(Operator):
    """The question and the chains as a prompt, each chain one line: `Q1 → [r1] → a → [r2] → x; y` (ReG, figure 7).

    Names and relations are escaped as the texts of PassagePrompt are, and the signs → and ; in them too, so that none
    can pass for another hop, another chain, or something that is said to the model. Pieces of nodes alone are no
    chains. `characters`: room for the chains; one that does not fit is left out, but the first is cut. Where the state
    has passages, the best follow as in PassagePrompt(passages, characters), to be cited.

    >>> from graphwright import Evidence, Graph, start
    >>> film = Graph.from_triples([("Alien", "genre", "Horror"), ("Alien", "genre", "Drama")])
    >>> state = start("Which genres?", film, evidence=Evidence.of_pieces([([0, 1, 2], [0, 1])]))
    >>> print(ChainPrompt()(state).prompt.splitlines()[-2])
    Chain 1. Alien → [genre] → Horror; Drama
    """

    passages: int = 8
    characters: int = 24_000
    needs = ("evidence",)
    gives = ("prompt",)

    def __post_init__(self) -> None:
        if self.passages < 1:
            raise OptionError(f"ChainPrompt(passages={self.passages!r}): a number of passages, 1 or more.")
        if self.characters < _LEAST:
            raise OptionError(f"ChainPrompt(characters={self.characters!r}): room for chains, {_LEAST} or more.")

    def apply(self, state: State, run: Run) -> State:
        """Write the prompt."""
        question = data_line({"question": state.question.text})
        passages = "\n".join(PassagePrompt(self.passages, self.characters).lines(state))
        chains = "\n".join(self._lines(state))
        parts = messages("chains", question=question, chains=chains, passages=passages)
        return state.with_(prompt="\n\n".join(parts))

    def _lines(self, state: State) -> Iterator[str]:
        room = self.characters
        for number, (nodes, edges) in enumerate(state.evidence or (), 1):
            if not len(edges):
                continue
            # What is no chain, such as a triple, is given by the texts of its edges.
            texts = (_escaped(state.graph.edge_text(edge)) for edge in edges.tolist())
            chain = write_walk(state.graph, nodes, edges, _escaped) or "; ".join(texts)
            line = _TOKEN.sub(r"\\u005b", f"Chain {number}. {chain}")
            if len(line) > room and number == 1:
                line = line[: room - 3].rpartition("; ")[0] + "; …"
            if len(line) <= room:
                room -= len(line) + 1
                yield line


@dataclass(frozen=True, repr=False)
class ChainAnswer(Operator):
    """Answer with the ends of the chain whose relations are nearest to the question; needs no language model.

    Near: the cosine of the question with the name where the chain begins and its relations in turn, as words, less
    `step` for each triple: of chains that say as much the shorter. Of several that are as near, the first. The text has
    a name a line; each is cited with its walk from what the question names, as names and relations in turn. Offline
    twin of the reading of chains by a language model (ReG, figure 7).

    >>> from graphwright import Evidence, Graph, HashEncoder, start
    >>> film = Graph.from_triples([("Alien", "has_genre", "Horror"), ("Alien", "director", "Scott")])
    >>> state = start("Who was the director?", film, evidence=Evidence.of_pieces([([0, 1], [0]), ([0, 2], [1])]))
    >>> ChainAnswer(HashEncoder())(state).answer.citations[0].path
    ('Alien', 'director', 'Scott')
    """

    encoder: Encoder
    step: float = 0.02
    needs = ("evidence",)
    gives = ("answer",)

    def __post_init__(self) -> None:
        if not isinstance(self.encoder, Encoder):
            raise OptionError(f"ChainAnswer({self.encoder!r}): an encoder is needed, with encode.")
        if not 0 <= self.step < 1:
            raise OptionError(f"ChainAnswer(step={self.step!r}): what a triple takes off, at least 0 and below 1.")

    def apply(self, state: State, run: Run) -> State:
        """Set the answer."""
        graph = state.graph
        found = [bundle for piece in state.evidence or () if (bundle := bundle_of(graph, *piece)) is not None]
        if not found:
            return state.with_(answer=Answer(NO_TARGET, found=False))
        texts = [_meaning(graph, bundle) for bundle in found]
        row = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        vectors = normalised(self.encoder.encode([state.question.text, *row]))
        near = (vectors[1:] @ vectors[0])[[row[text] for text in texts]]
        best = found[int((near - self.step * np.array([len(bundle.hops) for bundle in found])).argmax())]
        walks = {graph.names[end]: _walk(graph, best, end) for end in best.levels()[-1]}
        cited = tuple(Citation("", name, 0, len(name), name, walk) for name, walk in walks.items())
        return state.with_(answer=Answer("\n".join(walks), cited))


def _escaped(text: str) -> str:
    return _SIGNS.sub(lambda sign: f"\\u{ord(sign[0]):04x}", data_line(text)[1:-1])


def _meaning(graph: Graph, bundle: Bundle) -> str:
    relations = (graph.columns.relations[relation] for relation, _ in bundle.relations)
    return " ".join([graph.names[bundle.root], *(_PARTS.sub(" ", relation).strip() for relation in relations)])


def _walk(graph: Graph, bundle: Bundle, end: int) -> tuple[str, ...]:
    names = [graph.names[node] for node in bundle.walk_to(end)]
    labels = [relation_label(graph, relation, forward) for relation, forward in bundle.relations]
    return (*(part for step in zip(names, labels, strict=False) for part in step), names[-1])
