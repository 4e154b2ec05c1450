"""Methods by name: what they take, what they refuse, and which part of them retrieves."""

from __future__ import annotations

import pytest
from tests.toys import corpus_index

from graphwright import Answer, Keep, KHop, NeedsError, OptionError, SentenceReader, Sources, VectorSearch, start
from graphwright.methods import registry
from graphwright.methods.registry import METHODS, Method, pipeline, retrieval_part
from graphwright.retrieve.operator import Then

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_says_what_it_does_and_keeps_to_its_options(name: str) -> None:
    method = METHODS[name]
    assert method.name == name and method.about.endswith(".") and "passages" in method.options
    state = start(QUESTION, SNAPSHOT.graph)
    chunks = [pipeline(name, SNAPSHOT, passages=k)(state).chunks for k in (1, 2, 20)]
    first, second, all_of_them = (c.ids.tolist() for c in chunks if c is not None)
    assert first == all_of_them[:1] and second == all_of_them[:2]
    assert all(SNAPSHOT.graph.passages.row(c) >= 0 for c in all_of_them)  # type: ignore[union-attr]
    # Defaults are what the method says they are.
    assert pipeline(name, SNAPSHOT, **method.options) == pipeline(name, SNAPSHOT)


def test_ppr_also_begins_at_what_the_state_was_given() -> None:
    given = start("Who was the daughter of Hugh?", SNAPSHOT.graph, entities=["Teutberga"])
    answer = pipeline("ppr", SNAPSHOT)(given).answer
    assert answer is not None and all(c.path[0] == "Teutberga" for c in answer.citations if c.path)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("hybird", {}, r"no method 'hybird'; there are bm25, .*hybrid, .*ppr, .*vector\. Did you mean 'hybrid'\?"),
        ("xyz", {}, r"no method 'xyz'; there are bm25, .*hybrid, .*ppr, .*vector\.$"),
        ("ppr", {"seed": 1}, "ppr has no argument 'seed'; it takes passages, seeds, pool, restart"),
        ("vector", {"ix": 1}, "vector has no argument 'ix'"),
        ("ppr", {"restart": 2.0}, r"restart=2\.0"),
    ],
)
def test_what_is_unknown_is_refused_with_what_is_known(name: str, options: dict[str, object], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        pipeline(name, SNAPSHOT, **options)


def test_a_method_that_needs_more_than_a_question_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.METHODS, "bad", Method("bad", lambda ix: KHop(2) >> Sources()))
    with pytest.raises(NeedsError, match="method 'bad' needs evidence"):
        pipeline("bad", SNAPSHOT)


def test_the_retrieval_part_ends_before_the_answer() -> None:
    search, answer = VectorSearch(SNAPSHOT.passages), Answer(SentenceReader(SNAPSHOT.encoder))
    assert retrieval_part(search >> Sources() >> answer >> Keep()) == search >> Sources()
    assert retrieval_part(answer) == Keep() and retrieval_part(Keep()) == Then((Keep(),))
    state = start(QUESTION, SNAPSHOT.graph)
    for name in METHODS:
        whole, part = pipeline(name, SNAPSHOT), retrieval_part(pipeline(name, SNAPSHOT))
        assert "answer" not in part(state).fields() and "answer" in whole(state).fields()
        assert part(state).chunks.ids.tolist() == whole(state).chunks.ids.tolist()  # type: ignore[union-attr]


def test_the_package_is_the_registry() -> None:
    from graphwright import methods

    snapshot = corpus_index().snapshot
    assert set(methods) == set(METHODS) and len(methods) == len(METHODS)
    assert methods["ppr"](snapshot, passages=3) == pipeline("ppr", snapshot, passages=3)
    assert "pprr" not in methods
