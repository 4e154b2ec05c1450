"""A function as a search: ids of passages, of documents and of nodes; scores, unknown ids, wrong results."""

import pytest
from tests.shared import corpus_index

from graphwright import ToPassages, start
from graphwright.errors import OptionError
from graphwright.operators import FunctionSearch

QUESTION = "Where does the Mur rise?"


def test_function_search_accepts_passages_and_documents() -> None:
    index = corpus_index()
    found = list(index.retrieve(QUESTION, "bm25").passages or ())
    for given in (found, [p.id for p in found], [(p.id, p.score) for p in found]):
        state = (FunctionSearch(lambda _, given=given: given) >> ToPassages())(start(QUESTION, index.graph))
        assert [p.id for p in state.passages or ()] == [p.id for p in found]
    documents = list(dict.fromkeys(p.document for p in found))
    state = (FunctionSearch(lambda _: documents) >> ToPassages())(start(QUESTION, index.graph))
    assert list(dict.fromkeys(p.document for p in state.passages or ())) == documents


def test_function_search_notes_unknown_ids_and_needs_all_scores() -> None:
    index = corpus_index()
    name = index.list_documents()[0].id
    state = FunctionSearch(lambda _: [("nowhere", 2.0), (name, 1.0)])(start(QUESTION, index.graph))
    assert state.evidence is not None and state.evidence.scores is not None
    assert state.trace[0].notes == ("1 of 2 ids are not in the graph, such as 'nowhere'",)
    mixed = FunctionSearch(lambda _: ["nowhere", (name, 1.0)])(start(QUESTION, index.graph))
    assert mixed.evidence is not None


@pytest.mark.parametrize("wrong", [3, (1, 2), ("a", 1, 2), None])
def test_function_search_with_invalid_result_raises(wrong: object) -> None:
    with pytest.raises(OptionError, match="give ids, or pairs"):
        FunctionSearch(lambda _: [wrong])(start(QUESTION, corpus_index().graph))  # type: ignore[list-item, return-value]
    with pytest.raises(OptionError, match="a function from a question"):
        FunctionSearch(3)  # type: ignore[arg-type]
