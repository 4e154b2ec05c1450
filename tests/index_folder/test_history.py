"""Questions as turns of a conversation, by `Index.ask(…, history=…)`."""

from __future__ import annotations

import pytest

from graphwright import Index
from graphwright.errors import OptionError
from graphwright.models import ScriptedLLM
from graphwright.models.fake import HashEncoder

DOCUMENTS = [
    {"id": "organ", "text": "Nils Berg repaired the organ of Tarnby in 1903."},
    {"id": "bells", "text": "Eva Lund repaired the bells of Tarnby in 1911."},
    {"id": "kell", "text": "Kell has 12,000 inhabitants. Its mayor is Ruth Abel. There is a harbour in Kell."},
    {"id": "vorm", "text": "Vorm has 45,000 inhabitants. Its mayor is Otto Lind. There is a castle in Vorm."},
]
ORGAN, BELLS = "Who repaired the organ of Tarnby?", "Who repaired the bells of Tarnby?"
TOWNS = ("How far is it from Kell to Vorm?", "From Kell to Vorm it is 30 kilometres. [1]")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    index = Index.create(tmp_path_factory.mktemp("history") / "index", encoder=HashEncoder())
    index.add(DOCUMENTS)
    return index


def test_ask_with_earlier_state_takes_turn_by_it(index: Index) -> None:
    state = index.ask("no, I meant the bells", "bm25", history=[index.ask(ORGAN, "bm25")])
    assert (state.question.text, state.question.turn) == (BELLS, "no, I meant the bells")
    assert state.to_dict()["question"] == BELLS and state.to_dict()["turn"] == "no, I meant the bells"
    assert f"the turn was taken to mean: {BELLS}" in state.trace[0].notes
    assert state.passages is not None and state.passages.top(1)[0].document == "bells"


def test_ask_without_history_takes_question_as_it_stands(index: Index) -> None:
    state = index.ask("Thank you!", "bm25")
    assert not state.question.turn and state.passages is not None


def test_ask_turn_that_asks_nothing_is_not_searched(index: Index) -> None:
    state = index.ask("Thank you!", "bm25", history=[])
    assert state.answer is not None and not state.answer.found and state.passages is None and state.evidence is None


def test_ask_turn_with_two_meanings_has_choices_and_the_choice_is_taken(index: Index) -> None:
    back = index.ask("Who is its mayor?", "bm25", history=[TOWNS])
    assert back.answer is not None and set(back.answer.choices) == {"Kell", "Vorm"} and not back.answer.found
    assert back.passages is None and set(back.to_dict()["choices"]) == {"Kell", "Vorm"}
    chosen = index.ask("Vorm", "bm25", history=[TOWNS, back])
    assert chosen.question.text == "Who is its mayor? (Vorm)"


def test_ask_with_model_rewrites_turn_by_it_and_counts_its_usage(index: Index) -> None:
    answer = '{"found": false, "text": "Unknown.", "answers": [], "citations": []}'
    llm = ScriptedLLM([f'{{"question": "{BELLS}"}}', answer])
    state = index.ask("And the bells?", "bm25", history=[(ORGAN, "Nils Berg [1]")], llm=llm)
    assert state.question.text == BELLS and state.usage.llm_calls == 2


def test_stream_with_history_says_what_was_asked(index: Index) -> None:
    done = list(index.stream("no, I meant the bells", "bm25", history=[(ORGAN, "Nils Berg [1]")]))[-1]
    assert done.data["question"] == BELLS


def test_ask_with_history_that_is_none_is_refused(index: Index) -> None:
    with pytest.raises(OptionError, match="history is"):
        index.ask("And the bells?", history=ORGAN)
