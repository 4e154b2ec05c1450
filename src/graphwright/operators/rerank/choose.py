"""Choose items by a language model: by number, by ratings, or by writing their texts under a constraint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Between, Has
from graphwright.graph.evidence import Evidence
from graphwright.models.protocols import LLM
from graphwright.operators.rerank.rerank import Reranker
from graphwright.operators.rerank.scorer import ranked_by
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line, messages, numbered_lines


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


@dataclass(frozen=True, repr=False)
class ConstrainedDecoding(Reranker):
    """Select the items that a language model writes, constrained by a trie of all texts (GCR, Luo et al., 2025).

    The model sees the question and its entities, not the items. The trie allows only continuations of the text of an
    item, so that the model cannot write a path that the graph does not have. At most `items` are written, best first;
    the r-th scores 1/r, and items with one text share it.

    A server of llama.cpp takes a grammar that is made from the trie, one request for each item, without those written
    before. Any other model selects items by number, `batch` a prompt (see Choose), and the trace notes it.

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
        texts = run.decode(self.model, self._prompt(state), list(items_of), most)
        if texts is None:
            return Choose(self.model, self.batch).rerank(items, state, run, most).top(most)
        numbers = [(number, 1.0 / rank) for rank, text in enumerate(texts, 1) for number in items_of[text]]
        return items.take([number for number, _ in numbers], np.array([score for _, score in numbers]))

    def _prompt(self, state: State) -> tuple[str, str]:
        """Return the system and the user message."""
        named = dict.fromkeys(anchor.text for anchor in state.anchors or ())
        question, entities = data_line({"question": state.question.text}), "\n".join(map(data_line, named))
        return messages("decode", question=question, entities=entities or data_line("none"))
