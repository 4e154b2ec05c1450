"""Prompts and answers from evidence chains, and answers that are nodes of the graph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Between, Has
from graphwright.generate.citations import PathWriter, bundle_path
from graphwright.generate.prompts import PassagePrompt
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph
from graphwright.graph.walks import Bundle, bundle_of, write_walk
from graphwright.index.vector_index import normalised
from graphwright.models.protocols import Encoder
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, Citation, State
from graphwright.prompts.templates import data_line, messages

__all__ = ["ChainAnswer", "ChainPrompt", "NO_TARGET", "TargetAnswer", "names_answer"]

_SIGNS = re.compile("[→;]")  # the signs that a chain is written with
_TOKEN = re.compile(r"\[(?=/?[A-Z_]+\])")  # a relation in brackets that looks like a token of a chat template
_SEPARATORS = re.compile(r"[\W_]+")


@dataclass(frozen=True, repr=False)
class ChainPrompt(Operator):
    """Write a prompt of the question and the chains, each one line: `Q1 → [r1] → a → [r2] → x; y` (ReG, figure 7).

    Names and relations are escaped as the texts of PassagePrompt are, and so are the signs → and ; in them: no name can
    pass for another hop, another chain or an instruction. Items without edges are not chains. `characters`: room for
    the chains; one that does not fit is left out, but the first is cut. The best passages, if the state has some,
    follow as in PassagePrompt(passages, characters), to be cited.

    >>> from graphwright import Evidence, Graph, start
    >>> film = Graph.from_triples([("Alien", "genre", "Horror"), ("Alien", "genre", "Drama")])
    >>> state = start("Which genres?", film, evidence=Evidence.of_pieces([([0, 1, 2], [0, 1])]))
    >>> print(ChainPrompt()(state).prompt.splitlines()[-2])
    Chain 1. Alien → [genre] → Horror; Drama
    """

    passages: Annotated[int, AtLeast(1)] = 8
    characters: Annotated[int, AtLeast(2_000)] = 24_000
    needs = ("evidence",)
    gives = ("prompt",)

    def apply(self, state: State, run: Run) -> State:
        """Write the prompt."""
        question = data_line({"question": state.question.text})
        passages = "\n".join(PassagePrompt(self.passages, self.characters).lines(state).values())
        chains = "\n".join(self._lines(state))
        parts = messages("chains", question=question, chains=chains, passages=passages)
        return state.with_(prompt="\n\n".join(parts))

    def _lines(self, state: State) -> Iterator[str]:
        room = self.characters
        for number, (nodes, edges) in enumerate(state.evidence or (), 1):
            if not len(edges):
                continue
            # An item that is not a chain, such as a triple, is shown by the texts of its edges.
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
    """Answer with the ends of the chain whose relations are nearest to the question.

    The score of a chain is the cosine of the question with the name where the chain begins followed by its relations,
    less `step` for each triple, so that of two similar chains the shorter wins; ties go to the first. The text has one
    name per line, each cited with its walk from a query entity. Offline twin of the reading of chains by a
    language model (ReG, figure 7).

    >>> from graphwright import Evidence, Graph, start
    >>> from graphwright.models import HashEncoder
    >>> film = Graph.from_triples([("Alien", "has_genre", "Horror"), ("Alien", "director", "Scott")])
    >>> state = start("Who was the director?", film, evidence=Evidence.of_pieces([([0, 1], [0]), ([0, 2], [1])]))
    >>> ChainAnswer(HashEncoder())(state).answer.citations[0].path
    ('Alien', 'director', 'Scott')
    """

    encoder: Annotated[Encoder, Has("an encoder, with encode", "encode")]
    step: Annotated[float, Between(0, 1, open_high=True)] = 0.02
    needs = ("evidence",)
    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        """Set the answer."""
        graph = state.graph
        bundles = [bundle for item in state.evidence or () if (bundle := bundle_of(graph, *item)) is not None]
        if not bundles:
            return state.with_(answer=Answer(NO_TARGET, found=False))
        texts = [_reading(graph, bundle) for bundle in bundles]
        vectors = normalised(run.encode(self.encoder, [state.question.text, *texts]))
        scores = vectors[1:] @ vectors[0] - self.step * np.array([len(bundle.hops) for bundle in bundles])
        best = bundles[int(scores.argmax())]
        return state.with_(
            answer=names_answer({graph.names[end]: bundle_path(graph, best, end) for end in best.levels()[-1]})
        )


def _escaped(text: str) -> str:
    return _SIGNS.sub(lambda sign: f"\\u{ord(sign[0]):04x}", data_line(text)[1:-1])


def _reading(graph: Graph, bundle: Bundle) -> str:
    relations = (graph.columns.relations[relation] for relation, _ in bundle.relations)
    return " ".join([graph.names[bundle.root], *(_SEPARATORS.sub(" ", relation).strip() for relation in relations)])


NO_TARGET = "No path from the entities of the question leads to an answer."
_UNLINKED = "The question names no entity of the graph."


@dataclass(frozen=True, repr=False)
class TargetAnswer(Operator):
    """Answer with the names of the nodes that the evidence leads to, best first, each with its best path.

    An item leads to the last of its nodes that the question does not name (of a triple: to its tail, else its head).
    The text has one name a line, at most `limit`; with `tied` only those of items that score as high as the best, as
    all walks by one plan do. The citation of the same rank has the name and the path. Needs neither a language model
    nor passages.

    >>> from graphwright import Graph, ShortestPaths, start
    >>> family = Graph.from_triples([("Bertha", "child", "Ida"), ("Udo", "spouse", "Ida")])
    >>> answer = (ShortestPaths() >> TargetAnswer())(start("Who?", family, entities=["Bertha"])).answer
    >>> answer.short, answer.citations[1].path
    (('Ida', 'Udo'), ('Bertha', 'child', 'Ida', 'spouse⁻¹', 'Udo'))
    """

    limit: Annotated[int | None, AtLeast(1)] = None
    tied: bool = False
    needs = ("evidence",)
    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        """Set the answer."""
        graph, writer = state.graph, PathWriter(state.graph)
        seeds = {node for anchor in state.anchors or () for node in anchor.seeds(graph).tolist()}
        paths: dict[str, tuple[str, ...]] = {}
        for nodes, edges in self._items(state):
            if self.limit is not None and len(paths) >= self.limit:
                break
            ends = nodes.tolist() or graph.ends(edges).tolist()
            target = next((node for node in reversed(ends) if node not in seeds), None)
            # Writing the text of a path is expensive, so it is done for new targets only.
            if target is not None and (name := writer.name(target)) not in paths:
                paths[name] = writer.path(nodes, edges)
        if not paths:
            return state.with_(answer=Answer(NO_TARGET if seeds else _UNLINKED, found=False))
        return state.with_(answer=names_answer(paths))

    def _items(self, state: State) -> Evidence:
        items = state.evidence or Evidence.of_nodes([])
        if not self.tied or items.scores is None or not len(items):
            return items
        return items.top(int(np.searchsorted(-items.scores, -items.scores[0], "right")))


def names_answer(paths: dict[str, tuple[str, ...]]) -> Answer:
    """Return the answer of these names, one a line, each cited with the path that leads to it."""
    citations = tuple(Citation("", name, 0, len(name), name, path) for name, path in paths.items())
    return Answer("\n".join(paths), tuple(paths), citations)
