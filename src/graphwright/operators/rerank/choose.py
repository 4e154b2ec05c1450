"""Choosing by a language model: it names the numbers of the pieces that lead to the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, zip_longest
from typing import Any

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence
from graphwright.models.protocols import LLM
from graphwright.operators.operator import Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts import data_line, messages

__all__ = ["Choose"]


@dataclass(frozen=True, repr=False)
class Choose(Ranker):
    """Keep the pieces that a language model chooses by their numbers, in the order in which it names them.

    The LLM's part in the pruning and in the path selection of LEGO-GraphRAG (sections 3.2.2 b and 3.3.2). It is shown
    `batch` texts a call and asked for at most k of each call's; those it chose meet in further calls until one call
    shows all of them, or no more than k are left. Then the r-th has the score 1/r. A number that is not there or was
    named before is passed over, with a note in the trace, as are numbers beyond k.

    `rounds`: in each further one (M-LLMs, section 5.3) the LLM is shown what it kept and asked what to add from all
    that it passed over, until there are k or it adds nothing; what it adds comes after what was kept. Where it leaves
    fewer than k, a scorer's best can fill up (EEMs-S): (Choose(llm) | Rerank(encoder)) % k.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import ScriptedLLM
    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Lyon", "lies on", "Rhône")])
    >>> state = start("Where does the Rhône flow?", graph, evidence=Evidence.of_edges([0, 1]))
    >>> Choose(ScriptedLLM(['{"numbers": [2, 7]}']))(state).evidence.texts(graph)
    ['Lyon lies on Rhône']
    """

    model: LLM
    batch: int = 64
    rounds: int = 1
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not isinstance(self.model, LLM):
            raise OptionError(f"Choose({self.model!r}): a language model is needed, with complete.")
        if isinstance(self.batch, bool) or not hasattr(self.batch, "__index__") or self.batch < 2:
            raise OptionError(f"Choose(batch={self.batch!r}): how many texts a call shows, 2 or more.")
        if isinstance(self.rounds, bool) or not hasattr(self.rounds, "__index__") or self.rounds < 1:
            raise OptionError(f"Choose(rounds={self.rounds!r}): how often the model is asked to choose, 1 or more.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Let the model choose, round by round."""
        found = state.evidence
        if found is None or not len(found):
            return state.with_(evidence=Evidence.of_nodes([], []))
        texts, question = found.texts(state.graph), data_line({"question": state.question.text})
        most, kept = len(found) if k is None else k, list[int]()
        for _ in range(self.rounds):
            left = sorted(set(range(len(found))).difference(kept))
            added = self._round(run, question, texts, kept, left, most - len(kept)) if left and len(kept) < most else []
            kept += added
            if not added:
                break
        return state.with_(evidence=found.take(kept, 1.0 / np.arange(1, len(kept) + 1)))

    def _round(
        self, run: Run, question: str, texts: Sequence[str], kept: list[int], left: list[int], most: int
    ) -> list[int]:
        """Let the model choose from what is left until one call, or no more than `most`, remain."""
        shown = "\n".join(data_line({"text": texts[i]}) for i in kept)
        while True:
            calls = [left[at : at + self.batch] for at in range(0, len(left), self.batch)]
            asked = {"question": question} | ({"kept": shown} if kept else {})
            chosen = [[call[i] for i in self._chosen(run, asked, [texts[i] for i in call], most)] for call in calls]
            # The first of every call, then the second of every call, and so on.
            merged = [i for i in chain.from_iterable(zip_longest(*chosen)) if i is not None]
            if len(calls) == 1 or len(merged) <= most or len(merged) == len(left):
                return merged[:most]
            left = merged

    def _chosen(self, run: Run, asked: dict[str, str], texts: Sequence[str], most: int) -> list[int]:
        """Ask once; return positions in `texts`, best first."""
        lines = "\n".join(data_line({"number": n, "text": text}) for n, text in enumerate(texts, 1))
        name = "choose_again" if "kept" in asked else "choose"
        said = messages(name, **asked, candidates=lines, most=str(min(most, len(texts))))
        numbers = run.complete(self.model, *said, schema=_schema()).value.numbers
        known = list(dict.fromkeys(n for n in numbers if 1 <= n <= len(texts)))[:most]
        if len(known) < len(numbers):
            run.note(
                f"{len(numbers) - len(known)} of {len(numbers)} numbers chosen were passed over: not there, or too many"
            )
        return [n - 1 for n in known]


@cache
def _schema() -> type[Any]:
    """Return what a reply must be, as a pydantic model."""
    from pydantic import create_model

    return create_model("Chosen", numbers=(list[int], ...))
