"""Laws of every method: it pickles, runs without vectors of names and triples, and refuses invalid options."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from tests.shared import corpus_index

from graphwright import start
from graphwright.errors import OptionError
from graphwright.methods.registry import METHODS, make_method
from graphwright.models import ScriptedLLM

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"
LLM = ScriptedLLM([])
REFUSED: dict[str, dict[str, tuple[float, ...]]] = {
    "fastinsight": {"batch": (0, 200), "alpha": (2.0,), "beta": (-1.0,), "blend": (1.5,)},
    "g-retriever": {"k": (0,), "cost": (-1.0,)},
    "gar": {"batch": (0, 200), "top_k": (0,), "blend": (1.5,)},
    "hipporag": {"restart": (1.0,), "nodes": (0,)},
    "hipporag2": {"restart": (1.0,), "nodes": (0,)},
    "hyde": {"feedback": (0,), "beta": (-1.0,)},
    "ircot": {"steps": (0,), "k": (0,), "shown": (0,)},
    "lightrag-global": {"n": (0,)},
    "lightrag-hybrid": {"n": (0,)},
    "lightrag-local": {"n": (0,)},
    "linearrag": {"sentences": (0,), "threshold": (-1.0,), "restart": (0.0,), "ratio": (-1.0,)},
    "multihop-rerank": {"pool": (0,)},
    "proprag": {"focus": (0,), "width": (0,), "length": (0,), "weight": (-1.0,)},
    "raptor": {"size": (1,), "each": (0,)},
    "rerank": {"budget": (0,), "blend": (1.5,)},
}


@pytest.mark.parametrize("name", REFUSED)
def test_method_with_invalid_option_raises(name: str) -> None:
    for option, values in REFUSED[name].items():
        for value in values:
            with pytest.raises(OptionError):
                make_method(name, SNAPSHOT, **{option: value})


@pytest.mark.parametrize("name", METHODS)
def test_method_pickles(name: str) -> None:
    method = make_method(name, SNAPSHOT, **({"llm": LLM} if METHODS[name].required else {}))
    again = pickle.loads(pickle.dumps(method))
    assert again == method
    if not METHODS[name].required:
        asked = start(QUESTION, SNAPSHOT.graph)
        assert again(asked).answer == method(asked).answer


@pytest.mark.parametrize("name", sorted(name for name, method in METHODS.items() if not method.required))
def test_method_without_vectors_of_names_and_triples_answers(name: str) -> None:
    state = make_method(name, replace(SNAPSHOT, names=None, triples=None))(start(QUESTION, SNAPSHOT.graph))
    assert state.answer is not None and state.passages is not None
    assert len(state.passages)
