"""Scripted encoders and readers, and replies as language models write them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from graphwright.models.fake import HashEncoder as HashEncoder
from graphwright.models.fake import OverlapCrossEncoder as OverlapCrossEncoder
from graphwright.models.fake import ScriptedLLM as ScriptedLLM
from graphwright.models.protocols import Floats
from graphwright.operators import State


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
