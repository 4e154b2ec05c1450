"""Methods by name: their options, their errors, and their retrieval part."""

from __future__ import annotations

import pytest
from tests.scripted import WordReader
from tests.shared import corpus_index

from graphwright import Keep, KHop, ToPassages, VectorSearch, start
from graphwright.errors import NeedsError, OptionError
from graphwright.generate import Quote, ReadSpans
from graphwright.generate.contexts import PassageContext
from graphwright.methods import registry
from graphwright.methods.method import Method
from graphwright.methods.registry import METHODS, NamedMethod, make_method
from graphwright.models import MiniLMReader, ScriptedLLM
from graphwright.operators.run import ModelMemory, Run

SNAPSHOT = corpus_index().snapshot
MEMORY = ModelMemory()


# What is nothing but a language model retrieves nothing, and cannot be built without one.
OFFLINE = sorted(name for name, method in METHODS.items() if not method.required)
QUESTION = "Which abbey did the mother of Lothair II found?"


@pytest.mark.parametrize("name", OFFLINE)
def test_registered_methods_describe_themselves_and_options(name: str) -> None:
    method = METHODS[name]
    assert method.name == name and method.about.endswith(".") and "top_k" in method.options
    state = start(QUESTION, SNAPSHOT.graph)
    parts = [make_method(name, SNAPSHOT, top_k=k).search for k in (1, 2, 20)]
    chunks = [part(state, Run(memory=MEMORY)).passages for part in parts]
    first, second, all_of_them = (c.ids.tolist() for c in chunks if c is not None)
    assert first == all_of_them[:1] and second == all_of_them[:2]
    assert all(SNAPSHOT.graph.passages.row(c) >= 0 for c in all_of_them)  # type: ignore[union-attr]
    # Defaults are what the method says they are.
    assert make_method(name, SNAPSHOT, **method.options) == make_method(name, SNAPSHOT)


def test_ppr_starts_at_given_evidence() -> None:
    given = start("Who was the daughter of Hugh?", SNAPSHOT.graph, entities=["Teutberga"])
    answer = make_method("ppr", SNAPSHOT)(given).answer
    assert answer is not None and all(c.path[0] == "Teutberga" for c in answer.citations if c.path)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "hybird",
            {},
            r"no method 'hybird'. Did you mean 'hybrid'\? The methods are bm25, .*.*ppr, .*vector\.$",
        ),
        ("xyz", {}, r"no method 'xyz'. The methods are bm25, .*.*hybrid, .*ppr, .*vector\.$"),
        (
            "ppr",
            {"seed": 1},
            r"no argument 'seed'. Did you mean 'seeds'\? Its arguments are: top_k, seeds, restart, ",
        ),
        ("vector", {"ix": 1}, "vector has no argument 'ix'"),
        ("ppr", {"restart": "a"}, r"ppr: restart is 'a'; it must be a number \(default: 0\.\d+\)"),
        ("ppr", {"top_k": 2.5}, r"ppr: top_k is 2.5; it must be a whole number \(default: 15\)"),
        ("lego-2", {"paths": True}, "lego-2: paths is True; it must be a whole number"),
        ("ppr", {"restart": 2.0}, "restart is 2.0"),
    ],
)
def test_unknown_method_or_option_raises_with_known_ones(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make_method(name, SNAPSHOT, **options)


def test_method_needing_more_than_question_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.METHODS, "bad", NamedMethod("bad", lambda ix: Method(KHop(2) >> ToPassages())))
    with pytest.raises(NeedsError, match="Method 'bad' needs evidence"):
        make_method("bad", SNAPSHOT)


def test_retrieval_leaves_out_contexts_and_answers_of_search() -> None:
    search, answer = VectorSearch(SNAPSHOT.passages), Quote(WordReader())
    early = (
        search % 2
        >> ToPassages()
        >> ReadSpans(MiniLMReader(), threshold=0.01)
        >> PassageContext()
        >> search % 3
        >> ToPassages()
        >> answer
    )
    part = Method(early).retrieval
    assert part == search % 2 >> ToPassages() >> search % 3 >> ToPassages()
    asked = start("When was the abbey of Erstein destroyed?", SNAPSHOT.graph)
    # An early answer ends the whole, and leaves what retrieves as it is.
    assert early(asked).answer is not None and len(early(asked).passages or ()) == 2
    assert part(asked).answer is None and len(part(asked).passages or ()) == 3
    assert Method(answer).retrieval == Keep() == Method(Keep()).retrieval


@pytest.mark.parametrize("name", OFFLINE)
def test_retrieval_of_method_gives_passages_of_whole(name: str) -> None:
    method, state = make_method(name, SNAPSHOT), start(QUESTION, SNAPSHOT.graph)
    whole, part = method(state, Run(memory=MEMORY)), method.retrieval(state, Run(memory=MEMORY))
    assert "answer" not in part.fields() and "answer" in whole.fields()
    assert part.passages.ids.tolist() == whole.passages.ids.tolist()  # type: ignore[union-attr]


def test_methods_namespace_equals_registry() -> None:
    from graphwright import methods

    snapshot = corpus_index().snapshot
    assert set(methods) == set(METHODS) and len(methods) == len(METHODS)
    assert methods["ppr"](snapshot, top_k=3) == make_method("ppr", snapshot, top_k=3)
    assert "pprr" not in methods


def test_every_method_shows_requested_passages() -> None:
    llm = ScriptedLLM(["unused"])
    for name, method in METHODS.items():
        if "context_tokens" in method.options:
            shown = repr(make_method(name, SNAPSHOT, llm=llm, context_passages=3, context_tokens=900).pipeline)
            assert "passages=3, tokens=900" in shown, name
            assert "tokens=" not in repr(make_method(name, SNAPSHOT, llm=llm).pipeline).replace("max_tokens=", ""), name
    assert "context_tokens" not in METHODS["vanilla"].options
    with pytest.raises(OptionError, match="tokens is 10"):
        make_method("ppr", SNAPSHOT, llm=llm, context_tokens=10)


@pytest.mark.parametrize("name", METHODS)
def test_help_of_method_has_text_for_each_option(name: str) -> None:
    method = METHODS[name]
    assert list(method.help) == list(method.options)
    assert not [option for option, text in method.help.items() if not text]


def test_option_help_equals_annotation() -> None:
    assert METHODS["pathrag"].help["k"] == METHODS["pathrag-lt"].help["k"] == "paths, K"
    assert METHODS["rerank"].help["blend"].endswith("(1: the reranker alone)")
    assert METHODS["bubblerag"].help["top_k"] != METHODS["vector"].help["top_k"] == "passages in the result"
    assert METHODS["vector"].help["context_tokens"] == "the most tokens of these, by default 3,000"
