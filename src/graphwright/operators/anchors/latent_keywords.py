"""Keywords that a question names, and those that it only implies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

import numpy as np

from graphwright.constraints import Has
from graphwright.errors import OptionError
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import ABOUT
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.keywords import Keywords, is_name, named, with_new
from graphwright.operators.anchors.preview import passage_lines, previewed
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State
from graphwright.prompts import data_line

__all__ = ["LatentKeywords"]

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
        said = run.reply(model, "bubblerag_keywords", _schema(), question=question, passages=lines)
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


@cache
def _schema() -> type[Any]:
    from pydantic import create_model

    return create_model("ImpliedKeywords", names=(list[str], ...), implied=(list[str], ...), relations=(list[str], ...))
