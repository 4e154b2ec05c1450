"""Selection of items by a language model that can only write their texts (graph-constrained decoding)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Has
from graphwright.graph.evidence import Evidence
from graphwright.models.constrained import ConstrainedLLM
from graphwright.models.protocols import LLM
from graphwright.operators.rerank.choose import Choose
from graphwright.operators.rerank.rerank import Reranker
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line, messages


@dataclass(frozen=True, repr=False)
class ConstrainedDecoding(Reranker):
    """Select the items that a language model writes, constrained by a trie of all texts (GCR, Luo et al., 2025).

    The model sees the question and its entities, not the items. The trie allows only continuations of the text of an
    item, so that the model cannot write a path that the graph does not have. At most `items` are written, best first;
    the r-th scores 1/r, and items with one text share it.

    There are three ways to constrain a model. A server of llama.cpp takes a grammar that is made from the trie, one
    request for each item, without those written before. A ConstrainedLLM, such as TransformersLLM, searches by a beam
    over allowed tokens. Any other model selects items by number, `batch` a prompt (see Choose), and the trace notes it.

    >>> from graphwright import Graph, start; from graphwright.models import ScriptedLLM
    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Lyon", "lies on", "Rhône")])
    >>> state = start("Where does the Rhône flow?", graph, evidence=Evidence.of_edges([0, 1]))
    >>> after = ConstrainedDecoding(ScriptedLLM(['{"numbers": [2]}']))(state)
    >>> after.evidence.texts(graph), after.trace[-1].notes
    (['Lyon lies on Rhône'], ('decoding was not constrained: scripted takes no grammar.',))
    """

    model: Annotated[LLM, Has("a language model, with complete", "complete")]
    items: Annotated[int, AtLeast(1)] = 10
    batch: Annotated[int, AtLeast(2)] = 64

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        items_of, most = dict[str, list[int]](), min(self.items, self.items if k is None else k)
        for number, text in enumerate(items.texts(state.graph)):
            items_of.setdefault(data_line(text), []).append(number)
        count = self.items if isinstance(self.model, ConstrainedLLM) else most  # the beam does not depend on k
        texts = run.decode(self.model, self._prompt(state), list(items_of), count)
        if texts is None:
            return Choose(self.model, self.batch).rerank(items, state, run, most).top(most)
        numbers = [(number, 1.0 / rank) for rank, text in enumerate(texts, 1) for number in items_of[text]]
        return items.take([number for number, _ in numbers], np.array([score for _, score in numbers]))

    def _prompt(self, state: State) -> tuple[str, str]:
        """Return the system and the user message."""
        named = dict.fromkeys(anchor.text for anchor in state.anchors or ())
        question, entities = data_line({"question": state.question.text}), "\n".join(map(data_line, named))
        return messages("decode", question=question, entities=entities or data_line("none"))
