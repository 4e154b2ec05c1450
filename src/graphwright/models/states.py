"""What the first layers of the embedded encoder make of texts, which does not depend on any question."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from graphwright.errors import ModelError
from graphwright.models.protocols import Usage
from graphwright.models.bills import Item, bill
from graphwright.models.matching import Tokens
from graphwright.models.minilm import batches, encoder_states, run, side_by_side, token_ids

__all__ = ["AGAIN", "tokens", "weights_file"]

AGAIN = "Install graphwright again, or make the weights with scripts/build_reading.py."
_LONGEST = 256  # tokens of a text, as the encoder cuts it
_REMEMBERED = 1 << 17  # tokens of texts whose states are kept: 100 MB


def tokens(texts: Sequence[str]) -> list[Tokens]:
    """Return texts as tokens with their states, cut at 256; what was asked for lately is not worked out again."""
    with _loading:
        states = _load()
    return states.of(texts)


def weights_file(name: str) -> Path:
    """Return a file of the weights that read pairs. Raises ModelError where it is missing."""
    file = Path(__file__).with_name("weights") / "minilm-reading" / name
    if not file.is_file():
        raise ModelError(f"the weights file {file} is missing. {AGAIN}")
    return file


class _States:
    """The states of texts, and those of texts that were read before."""

    def __init__(self) -> None:
        self.session = encoder_states(weights_file("states.onnx").read_bytes())
        self.known: OrderedDict[str, tuple[Tokens, float]] = OrderedDict()  # with the seconds that each took
        self.held = 0
        self.lock = threading.Lock()

    def of(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the states of texts, those read lately from memory."""
        with self.lock:
            found = {text: self.known[text] for text in texts if text in self.known}
        new = [text for text in dict.fromkeys(texts) if text not in found]
        begun = time.perf_counter()
        made = self._made(new)
        took = (time.perf_counter() - begun) / max(len(new), 1)
        fresh = {text: (tokens, took) for text, tokens in zip(new, made, strict=True)}
        _paid(fresh, found)
        with self.lock:
            for text, one in fresh.items():
                if text not in self.known:
                    self.held += len(one[0].ids)
                self.known[text] = one
            for text in found:
                if text in self.known:
                    self.known.move_to_end(text)
            while self.held > _REMEMBERED:
                self.held -= len(self.known.popitem(last=False)[1][0].ids)
        found |= fresh
        return [found[text][0] for text in texts]

    def _made(self, texts: list[str]) -> list[Tokens]:
        ids = token_ids(texts, _LONGEST, spans=True)
        made: dict[int, Tokens] = {}
        lengths = [len(each) for each, _ in ids]
        for places, (vectors, states) in side_by_side(
            lambda places: run(self.session, [ids[at][0] for at in places]), batches(lengths)
        ):
            for at, vector, rows in zip(places, vectors, states, strict=True):
                tokens, spans = ids[at]
                named = sum(end <= _title(texts[at]) for _, end in spans)
                made[at] = Tokens(np.array(tokens, np.int32), rows.astype(np.float16), vector, named, spans)
        return [made[at] for at in range(len(texts))]


def _paid(fresh: Mapping[str, tuple[Tokens, float]], found: Mapping[str, tuple[Tokens, float]]) -> None:
    """Have what was remembered paid for by whoever uses it first; texts and tokens are counted where pairs are read."""
    if (due := bill()) is not None:
        for text, one in found.items():
            due.used(_item(text, *one))
        for text, one in fresh.items():
            due.made(_item(text, *one))


def _item(text: str, made: Tokens, took: float) -> Item:
    return Item("states", _REMEMBERED, text, Usage(calls=0, seconds=took, saved=took), len(made.ids))


def _title(text: str) -> int:
    """Return how many characters of a text are its title: its first line where another follows."""
    line, _, rest = text.partition("\n")
    return len(line) if rest.strip() else 0


_loading = threading.Lock()


@cache
def _load() -> _States:
    return _States()
