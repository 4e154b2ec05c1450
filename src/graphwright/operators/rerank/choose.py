"""Choose items by a language model that selects them by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Has
from graphwright.graph.evidence import Evidence
from graphwright.models.protocols import LLM
from graphwright.operators.rerank.rerank import Reranker
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line, numbered_lines


@dataclass(frozen=True, repr=False)
class Choose(Reranker):
    """Keep the items that a language model selects by number, in its order (LEGO-GraphRAG, 3.2.2 b and 3.3.2).

    A prompt shows `batch` texts and asks for at most k of them. The items selected from all prompts enter further
    prompts, until one prompt shows all of them, or at most k are left. The r-th item then scores 1/r. Unknown and
    repeated numbers are ignored, with a note in the trace, as are numbers beyond k.

    `rounds`: in each further round (M-LLMs, section 5.3) the model is shown the items selected so far and asked for
    additions among all others, until there are k or it adds none; additions come last. Where it selects fewer than k,
    the best of a scorer can fill up (EEMs-S): (Choose(llm) | Rerank(encoder)) % k.

    >>> from graphwright import Graph, start; from graphwright.models import ScriptedLLM
    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Lyon", "lies on", "Rhône")])
    >>> state = start("Where does the Rhône flow?", graph, evidence=Evidence.of_edges([0, 1]))
    >>> Choose(ScriptedLLM(['{"numbers": [2, 7]}']))(state).evidence.texts(graph)
    ['Lyon lies on Rhône']
    """

    model: Annotated[LLM, Has("a language model, with complete", "complete")]
    batch: Annotated[int, AtLeast(2)] = 64
    rounds: Annotated[int, AtLeast(1)] = 1

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        texts, question = items.texts(state.graph), data_line({"question": state.question.text})
        limit, selected = len(items) if k is None else k, list[int]()
        for _ in range(self.rounds):
            others = sorted(set(range(len(items))).difference(selected))
            if not others or len(selected) >= limit:
                break
            values = {"question": question}
            if selected:
                values["selected"] = "\n".join(data_line({"text": texts[i]}) for i in selected)
            added = self._round(run, values, texts, others, limit - len(selected))
            selected += added
            if not added:
                break
        return items.take(selected, 1.0 / np.arange(1, len(selected) + 1))

    def _round(
        self, run: Run, values: dict[str, str], texts: Sequence[str], candidates: list[int], limit: int
    ) -> list[int]:
        """Let the model select among candidates until one prompt shows all of them, or at most `limit` remain."""
        while True:
            batches = [candidates[at : at + self.batch] for at in range(0, len(candidates), self.batch)]
            selected = [
                [batch[i] for i in self._selected(run, values, [texts[i] for i in batch], limit)] for batch in batches
            ]
            # The first of every batch, then the second of every batch, and so on.
            merged = [i for i in chain.from_iterable(zip_longest(*selected)) if i is not None]
            if len(batches) == 1 or len(merged) <= limit or len(merged) == len(candidates):
                return merged[:limit]
            candidates = merged

    def _selected(self, run: Run, values: dict[str, str], texts: Sequence[str], limit: int) -> list[int]:
        """Return the positions of the texts that one prompt selects, best first; the first without a usable reply."""
        prompt = "choose_again" if "selected" in values else "choose"
        reply = run.reply(
            self.model, prompt, **values, candidates=numbered_lines(texts), most=str(min(limit, len(texts)))
        )
        if reply is None:
            return list(range(min(limit, len(texts))))
        numbers = list(dict.fromkeys(number for number in reply.numbers if 1 <= number <= len(texts)))[:limit]
        ignored = len(reply.numbers) - len(numbers)
        if ignored:
            run.note(f"{ignored} of {len(reply.numbers)} selected numbers were ignored: unknown, repeated or too many")
        return [number - 1 for number in numbers]
