"""Methods whose every choice is right: the passages that their evidence holds are among those that they return.

The short form of `benchmarks/oracle.py`, over a small world of films. Each question needs three passages: of a film, of
its director, and of the town of birth. Every passage names hubs as well, so that far more than 15 share a name.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from oracle_llm import OracleLLM

from graphwright import Index, start
from graphwright.methods.registry import METHODS, make_method
from graphwright.models import HashEncoder
from graphwright.operators.state import State
from graphwright.search.snapshot import Snapshot
from graphwright.store import Settings

FILMS = ["Amber Gate", "Silver Lantern", "Winter Harbour", "Copper Road", "Quiet Orchard", "Crimson Bridge"]
FILMS += ["Hollow Tower", "Paper Garden", "Distant Mill", "Broken Anchor"]
DIRECTORS = ["Anna Berg", "Boris Falk", "Clara Nyman", "David Oster", "Edith Palm", "Frank Quist", "Greta Rosen"]
DIRECTORS += ["Hugo Sand", "Irma Tolle", "Jonas Ulm"]
TOWNS = ["Arlen", "Bresk", "Corvey", "Delmen", "Estrup", "Fallow", "Gravna", "Holm", "Isern", "Jarlund"]
RIVERS = ["Ave", "Bode", "Drau", "Elz", "Fulda", "Glan", "Havel", "Isar", "Jagst", "Kinzig"]
ASKED = (1, 4, 8)
NODES = 8  # N of PathRAG: 40 nodes would be half of this world
OPTIONS: dict[str, dict[str, Any]] = {
    **{name: {"n": NODES} for name in ("pathrag", "pathrag-lt")},
    **{name: {} for name in ("bubblerag", "gcr", "kelp", "tog", "lightrag-local", "lightrag-hybrid")},
    **{f"lego-{number}": {} for number in (3, 4, 5, 7, 8, 9, 11, 13, 15)},
}
"""Methods with a step of a language model in their retrieval, and their options."""


@cache
def world() -> Snapshot:
    """The index of the films, directors and towns."""
    texts = [
        (film, f"{film} is a drama film by Paramount Pictures. The film was directed by {director}.")
        for film, director in zip(FILMS, DIRECTORS, strict=True)
    ]
    texts += [
        (director, f"{director} was born in {town}. Later {director} worked for Paramount Pictures in Hollywood.")
        for director, town in zip(DIRECTORS, TOWNS, strict=True)
    ]
    texts += [
        (town, f"{town} is a town in Norland. {town} lies on the river {river}.")
        for town, river in zip(TOWNS, RIVERS, strict=True)
    ]
    settings = Settings(embed=("passages", "names", "triples"))
    index = Index.create(Path(mkdtemp(prefix="graphwright-test-")) / "index", encoder=HashEncoder(), settings=settings)
    index.add([{"id": title, "title": title, "text": text} for title, text in texts])
    return index.snapshot


def asked(name: str, number: int) -> tuple[State, set[int]]:
    """The result of a method with right choices, and the gold passages."""
    ix = world()
    gold = [ix.graph.id(f"{names[number]}#0") for names in (FILMS, DIRECTORS, TOWNS)]
    question = f"On which river lies the town where the director of {FILMS[number]} was born?"
    model = OracleLLM(ix.graph, gold, question)
    option = next(option for option in ("retrieval_llm", "decoder", "llm") if option in METHODS[name].options)
    method = make_method(name, ix, **{option: model}, **OPTIONS[name])
    return method.retrieval(start(question, ix.graph)), set(gold)


@pytest.mark.parametrize("name", OPTIONS)
def test_right_choices_bring_gold_passages_into_the_budget(name: str) -> None:
    kept = pool = 0
    for number in ASKED:
        state, gold = asked(name, number)
        assert state.passages is not None and state.evidence is not None
        items = state.evidence if state.passages.items is None else state.passages.items
        behind = set(state.graph.chunks_of(items.nodes, items.edges).tolist()) & gold
        pool, kept = pool + len(behind), kept + len(behind & set(state.passages.ids[:15].tolist()))
    assert pool >= 0.9 * 3 * len(ASKED) and kept >= 0.95 * pool
