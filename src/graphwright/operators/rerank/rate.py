"""Rank items by the scores that a language model gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import Between, Has
from graphwright.graph.evidence import Evidence
from graphwright.models.protocols import LLM
from graphwright.operators.rerank.rerank import Reranker
from graphwright.operators.rerank.scorer import ranked_by
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line, numbered_lines


@dataclass(frozen=True, repr=False)
class RateItems(Reranker):
    """Rank items by a language model's rating of each, 0 to 100 (LEGO-GraphRAG, section 3.2.2 b: scores).

    The paper's other form of selection beside `Choose`, a list. The score is the rating over 100. `batch`: texts of one
    prompt, which are rated together; items of different prompts are compared by their ratings. An item without a rating
    scores 0; so do all items of a prompt whose reply cannot be used. Unknown numbers are ignored with a note.

    >>> from graphwright import Graph
    >>> from graphwright.models.fake import ScriptedLLM
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Lyon", "lies on", "Rhône")])
    >>> state = start("Where does the Rhône flow?", graph, evidence=Evidence.of_edges([0, 1]))
    >>> RateItems(ScriptedLLM(['{"ratings": [{"number": 2, "helpful": 90}]}']))(state).evidence.texts(graph)
    ['Lyon lies on Rhône', 'Graz lies on Mur']
    """

    model: Annotated[LLM, Has("a language model, with complete", "complete")]
    batch: Annotated[int, Between(1, 100)] = 64

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        texts, question = items.texts(state.graph), state.question.text
        ratings = [
            rating
            for at in range(0, len(texts), self.batch)
            for rating in ratings_by(run, self.model, "rate", question, texts[at : at + self.batch])
        ]
        return ranked_by(items, np.array(ratings), k)


def ratings_by(
    run: Run, model: LLM, prompt: str, question: str, texts: Sequence[str], listed: str = "candidates"
) -> list[float]:
    """Return a language model's rating of each text, from 0 to 1, and 0 for those that it does not rate.

    `prompt`: the name of a prompt for ratings. `listed`: its name for the numbered texts. Unknown numbers are ignored
    with a note.
    """
    reply = run.reply(model, prompt, question=data_line({"question": question}), **{listed: numbered_lines(texts)})
    ratings = [] if reply is None else reply.ratings
    known = {rating.number: min(max(rating.helpful, 0), 100) / 100 for rating in ratings}
    unknown = sum(not 1 <= rating.number <= len(texts) for rating in ratings)
    if unknown:
        run.note(f"{unknown} of {len(ratings)} ratings were ignored: there are {len(texts)} {listed}")
    return [known.get(number, 0.0) for number in range(1, len(texts) + 1)]
