"""Tokens of a text with their states in the embedded encoder, which the cross-encoder compares."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from graphwright.models.embedded.encoder import encoded, token_ids
from graphwright.models.embedded.runtime import loaded
from graphwright.models.protocols import Floats

_TOKENS_WITH_STATES = 256  # of a text, as the encoder cuts it
_MAX_REMEMBERED = 1 << 17  # tokens of texts whose states are kept: 100 MB


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text as input of the networks, with the two special tokens first and last.

    `ids: int32[n]`; `states: float[n, 384]`; `vector: float32[384]`, of length 1, of the whole text; `title`: number of
    tokens after the first that are its title; `spans`: the characters of the tokens, without the special ones.
    """

    ids: NDArray[np.int32]
    states: NDArray[np.floating]
    vector: Floats
    title: int
    spans: list[tuple[int, int]]

    def cut(self, max_tokens: int) -> Tokens:
        """Return the first `max_tokens` tokens, the last of them special."""
        if len(self.ids) <= max_tokens:
            return self
        positions = np.r_[: max_tokens - 1, len(self.ids) - 1]
        return replace(self, ids=self.ids[positions], states=self.states[positions], spans=self.spans[: max_tokens - 2])


def tokens_of(texts: Sequence[str]) -> list[Tokens]:
    """Return the tokens of texts with their states, cut at 256; the states of recent texts are reused."""
    return loaded(_load).of(texts)


class TokenStates:
    """Cache of token states: those of the most recent `max_remembered` tokens."""

    def __init__(self, max_remembered: int = _MAX_REMEMBERED) -> None:
        """Create an empty cache."""
        self.max_remembered = max_remembered
        self.recent: OrderedDict[str, Tokens] = OrderedDict()
        self.size = 0  # tokens of recent texts
        self.lock = threading.Lock()

    def of(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of texts."""
        with self.lock:
            known = {text: self.recent[text] for text in texts if text in self.recent}
            for text in known:
                self.recent.move_to_end(text)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        computed = dict(zip(new, self._computed(new), strict=True))
        with self.lock:
            for text, tokens in computed.items():
                if text not in self.recent:
                    self.size += len(tokens.ids)
                self.recent[text] = tokens
            while self.size > self.max_remembered:
                self.size -= len(self.recent.popitem(last=False)[1].ids)
        known |= computed
        return [known[text] for text in texts]

    def _computed(self, texts: list[str]) -> list[Tokens]:
        ids, spans = zip(*token_ids(texts, _TOKENS_WITH_STATES, spans=True), strict=True) if texts else ((), ())
        computed: dict[int, Tokens] = {}
        for positions, (vectors, states) in encoded(ids):
            for position, vector, rows in zip(positions, vectors, states, strict=True):
                line, _, rest = texts[position].partition("\n")
                title = sum(end <= len(line) for _, end in spans[position]) if rest.strip() else 0
                tokens = np.array(ids[position], np.int32)
                computed[position] = Tokens(tokens, rows.astype(np.float16), vector, title, spans[position])
        return [computed[position] for position in range(len(texts))]


@cache
def _load() -> TokenStates:
    return TokenStates()
