"""States of the tokens of texts, from the first layers of the embedded encoder; they do not depend on the question."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import ModelError
from graphwright.models.embedded.encoder import batches, run_graph, session_with_states, side_by_side, token_ids
from graphwright.models.protocols import Floats

__all__ = ["REMEDY", "Tokens", "tokens_of", "weights_file"]

REMEDY = "Install graphwright again, or build the weights with scripts/build_reading.py."
_MAX_TOKENS = 256  # of a text, as the encoder cuts it
_MAX_REMEMBERED = 1 << 17  # tokens of texts whose states are kept: 100 MB


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text as the networks read it, with the two special tokens first and last.

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
    with _loading:
        states = _load()
    return states.of(texts)


def weights_file(name: str) -> Path:
    """Return a file of the weights of the cross-encoder and reader. Raises ModelError where it is missing."""
    file = Path(__file__).parents[1] / "weights" / "minilm-reading" / name
    if not file.is_file():
        raise ModelError(f"The weights file {file} is missing. {REMEDY}")
    return file


class _States:
    """States of texts, computed or remembered."""

    def __init__(self) -> None:
        self.session = session_with_states(weights_file("states.onnx").read_bytes())
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
            while self.size > _MAX_REMEMBERED:
                self.size -= len(self.recent.popitem(last=False)[1].ids)
        known |= computed
        return [known[text] for text in texts]

    def _computed(self, texts: list[str]) -> list[Tokens]:
        ids = token_ids(texts, _MAX_TOKENS, spans=True)
        computed: dict[int, Tokens] = {}
        lengths = [len(each) for each, _ in ids]
        for positions, (vectors, states) in side_by_side(
            lambda positions: run_graph(self.session, [ids[position][0] for position in positions]), batches(lengths)
        ):
            for position, vector, rows in zip(positions, vectors, states, strict=True):
                tokens, spans = ids[position]
                title = sum(end <= _title_length(texts[position]) for _, end in spans)
                computed[position] = Tokens(np.array(tokens, np.int32), rows.astype(np.float16), vector, title, spans)
        return [computed[position] for position in range(len(texts))]


def _title_length(text: str) -> int:
    """Return the number of characters of a text's title: its first line where another follows."""
    line, _, rest = text.partition("\n")
    return len(line) if rest.strip() else 0


_loading = threading.Lock()


@cache
def _load() -> _States:
    return _States()
