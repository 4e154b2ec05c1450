"""Scripted encoders and readers, and replies as language models write them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from graphwright.models import Completion, PassageText, Span
from graphwright.models.fake import HashEncoder as HashEncoder
from graphwright.models.fake import HashSparseEncoder as HashSparseEncoder
from graphwright.models.fake import OverlapCrossEncoder as OverlapCrossEncoder
from graphwright.models.fake import ScriptedLLM as ScriptedLLM
from graphwright.models.protocols import Cancel, Floats, OnText, Schema
from graphwright.operators import State
from graphwright.text.words import words


@dataclass(frozen=True)
class FixedEncoder:
    """Encode texts as given vectors: those of `table`, and `default` for every other text.

    >>> FixedEncoder((1, 0), {"north": (0, 1)}).encode(["east", "north"]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    default: tuple[float, ...]
    table: Mapping[str, tuple[float, ...]] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    id: str = "fixed"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return len(self.default)

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return one row per text: float32, shape (len(texts), dimension)."""
        return np.array([self.table.get(text, self.default) for text in texts], np.float32)


@dataclass(frozen=True)
class FixedLLM:
    """Reply the same to every prompt; equal and pickled by the reply, as the laws of operators need it.

    >>> FixedLLM("Graz").complete("", "Where?").text
    'Graz'
    """

    reply: str
    id: str = "fixed"

    def complete(
        self, system: str, user: str, *, schema: Schema = None, on_text: OnText = None, cancel: Cancel = None
    ) -> Completion:
        """Return the reply, as LLM.complete does. Raises LLMResponseError where it does not fit the schema."""
        model = ScriptedLLM(lambda system, user: self.reply, self.id)
        return model.complete(system, user, schema=schema, on_text=on_text, cancel=cancel)


@dataclass(frozen=True)
class WordReader:
    """A reader without weights: it finds no spans, and scores a sentence by its words of the question."""

    def read(self, question: str, passages: Sequence[PassageText]) -> list[Span]:
        """Return no span."""
        return []

    def answerable(self, question: str, passages: Sequence[PassageText]) -> float:
        """Return 1: every question counts as answerable."""
        return 1.0

    def sentence_scores(
        self, question: str, passages: Sequence[PassageText], sentences: Sequence[tuple[int, int, int]]
    ) -> Floats:
        """Return (0.1 + shared words) / (1 + words of the question) for each sentence: float32[n]."""
        expected = set(words(question))
        texts = [passages[at].text[start:end] for at, start, end in sentences]
        return np.array([(0.1 + len(expected & set(words(text)))) / (1 + len(expected)) for text in texts], np.float32)


def answer_reply(
    text: str, *citations: tuple[int, str], short: Sequence[str] = (), found: bool = True, reasoning: str = ""
) -> str:
    """Return the JSON that a language model replies with: an answer with citations (passage number, quote).

    >>> answer_reply("Graz [1].", (1, "It is Graz."))
    '{"found": true, "text": "Graz [1].", "citations": [{"passage": 1, "quote": "It is Graz."}]}'
    """
    quotes = [{"passage": passage, "quote": quote} for passage, quote in citations]
    first = {"reasoning": reasoning} if reasoning else {}
    answers = {"answers": list(short)} if short else {}
    return json.dumps({**first, "found": found, "text": text, **answers, "citations": quotes})


def passages_in(prompt: str) -> dict[int, str]:
    """Return the texts of the passages in a prompt, by number."""
    lines = (json.loads(line) for line in prompt.split("\n") if line.startswith('{"passage": '))
    return {passage["passage"]: passage["text"] for passage in lines}


def prompt_of(state: State) -> str:
    """Return the user prompt of a state's context, "" without one."""
    return "" if state.context is None else state.context.prompt[1]
