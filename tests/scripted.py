"""A language model with one reply and a reader without weights, for tests of several rooms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tests.shared import ScriptedLLM

from graphwright.models import Completion, PassageText, Span
from graphwright.models.protocols import Cancel, Floats, OnText, Schema
from graphwright.text.words import words


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

    def sentence_scores(
        self, question: str, passages: Sequence[PassageText], sentences: Sequence[tuple[int, int, int]]
    ) -> Floats:
        """Return 0.1 + shared words for each sentence, divided by the greatest, so that each question has an answer."""
        expected = set(words(question))
        texts = [passages[at].text[start:end] for at, start, end in sentences]
        shared = np.array([0.1 + len(expected & set(words(text))) for text in texts], np.float32)
        return shared / shared.max(initial=0.1)
