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


@dataclass(eq=False)
class RecordingEncoder:
    """Encode as `HashEncoder` does, and record the texts in `texts`."""

    texts: list[str] = field(default_factory=list)
    id: str = "recording"

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return one row per text: float32, shape (len(texts), 64)."""
        self.texts += texts
        return HashEncoder().encode(texts)


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


@dataclass(frozen=True)
class ScriptedReader:
    """A reader that finds given texts, and scores sentences by given parts of them.

    `texts`: the texts of the spans, which all have `score`. `sentences`: parts of sentences and their scores; a
    sentence without any of them scores 0. `answer`: the probability that passages answer a question. `max_passages`:
    more passages are refused.

    >>> reader = ScriptedReader(("Mur",), sentences={"flows": 0.8})
    >>> passages = [PassageText("", "It is the Mur. It flows.")]
    >>> [(span.start, span.end) for span in reader.read("?", passages)]
    [(10, 13)]
    >>> reader.sentence_scores("?", passages, [(0, 0, 14), (0, 15, 24)]).tolist()
    [0.0, 0.8]
    """

    texts: tuple[str, ...] = ()
    score: float = 1.0
    sentences: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    answer: float = 0.9
    max_passages: int = 1_000

    def read(self, question: str, passages: Sequence[PassageText]) -> list[Span]:
        """Return the spans of the texts, in their order. Raises ValueError for too many passages."""
        if len(passages) > self.max_passages:
            raise ValueError(f"{len(passages)} passages were read, and at most {self.max_passages} were expected.")
        places = [(text, at, p.text.find(text)) for text in self.texts for at, p in enumerate(passages)]
        return [Span(at, start, start + len(text), self.score) for text, at, start in places if start >= 0]

    def answerable(self, question: str, passages: Sequence[PassageText]) -> float:
        """Return `answer`."""
        return self.answer

    def sentence_scores(
        self, question: str, passages: Sequence[PassageText], sentences: Sequence[tuple[int, int, int]]
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return the best score of the parts that each sentence has: float64[n]."""
        texts = [passages[at].text[start:end] for at, start, end in sentences]
        scores = [max((s for part, s in self.sentences.items() if part in text), default=0.0) for text in texts]
        return np.array(scores, np.float64)


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
