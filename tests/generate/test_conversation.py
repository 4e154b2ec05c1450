from typing import Any

import pytest

from graphwright import Index
from graphwright.errors import ModelError, OptionError
from graphwright.generate.conversation import NOTHING_ASKED, SOURCES, Asked, Conversation, Message, messages_of
from graphwright.models import ScriptedLLM
from graphwright.models.fake import HashEncoder
from graphwright.operators import Answer, Run, start
from graphwright.search import Snapshot

DOCUMENTS = [
    {"id": "ida", "text": "Ida Pfeiffer was born in Vienna in 1797. She sailed round the world twice."},
    {"id": "linz", "text": "Linz lies on the Danube. Its bridge is closed in winter."},
    {"id": "shop", "text": "The shop opens at nine. On Sundays it is closed. Bread costs two euros."},
    {"id": "kell", "text": "Kell has 12,000 inhabitants. Its mayor is Ruth Abel. There is a harbour in Kell."},
    {"id": "vorm", "text": "Vorm has 45,000 inhabitants. Its mayor is Otto Lind. There is a castle in Vorm."},
    {
        "id": "laden",
        "text": "Das Museum öffnet um zehn Uhr. Im Winter schließt es um vier.",
    },
]
USER, ASSISTANT = "user", "assistant"


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    index = Index.create(tmp_path_factory.mktemp("chat") / "index", encoder=HashEncoder())
    index.add(DOCUMENTS)
    return index.snapshot


def conversation(*texts: str) -> Conversation:
    return Conversation.of(Message(ASSISTANT if at % 2 else USER, text) for at, text in enumerate(texts))


@pytest.mark.parametrize(
    "texts",
    [
        ["Who was Ida Pfeiffer?"],
        ["Who was Ida Pfeiffer?", "?", "When does the shop open?"],
        ["Who was Ida Pfeiffer?", "Of Vienna. [1]", "On which river does Linz lie?"],
        ["Hello", "Hello", "Where was Ida Pfeiffer born?"],
        ["Wann öffnet das Museum?", "Um zehn.", "On which river does Linz lie?"],
    ],
)
def test_complete_question_is_left_alone(texts: list[str], snapshot: Snapshot) -> None:
    assert conversation(*texts).standalone(snapshot) == Asked(texts[-1])


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (["Who was Ida Pfeiffer?", "Of Vienna. [1]", "When was she born?"], "Ida Pfeiffer"),
        (["When does the shop open?", "At nine. [1]", "And on Sundays?"], "shop"),
        (["When does the shop open?", "At nine. [1]", "Thank you!", "You are welcome.", "And on Sundays?"], "shop"),
        (["Wann öffnet das Museum?", "Um zehn. [1]", "Und im Winter?"], "Museum"),
        (
            [
                "Who sailed round the world twice?",
                f"Ida Pfeiffer [1]{SOURCES}[1] [Linz](http://x)",
                "When was she born?",
            ],
            "Ida Pfeiffer",
        ),
    ],
)
def test_dependent_question_gets_what_was_asked_before(texts: list[str], named: str, snapshot: Snapshot) -> None:
    asked = conversation(*texts).standalone(snapshot)
    assert named in asked.question and texts[-1] in asked.question and not asked.reply


TOWNS = ["How far is it from Kell to Vorm?", "From Kell to Vorm it is 30 kilometres. [1]"]


@pytest.mark.parametrize("question", ["How many inhabitants does it have?", "Who is its mayor?"])
def test_question_that_may_mean_two_things_is_asked_back(question: str, snapshot: Snapshot) -> None:
    asked = conversation(*TOWNS, question).standalone(snapshot)
    assert set(asked.choices) == {"Kell", "Vorm"} and asked.reply == f"Do you mean {' or '.join(asked.choices)}?"
    for choice in ("Vorm", "kell"):
        again = conversation(*TOWNS, question, asked.reply, choice).standalone(snapshot)
        assert again.question.lower() == f"{question} ({choice})".lower() and not again.reply


def test_question_in_place_of_a_choice_is_left_alone(snapshot: Snapshot) -> None:
    texts = [*TOWNS, "Who is its mayor?", "Do you mean Kell or Vorm?", "On which river does Linz lie?"]
    assert conversation(*texts).standalone(snapshot) == Asked(texts[-1])


def test_turn_after_a_choice_is_about_what_was_chosen(snapshot: Snapshot) -> None:
    texts = [*TOWNS, "Who is its mayor?", "Do you mean Kell or Vorm?", "Vorm", "Otto Lind. [1]"]
    assert conversation(*texts, "no, I meant Kell").standalone(snapshot).question == "Who is its mayor? (Kell)"


@pytest.mark.parametrize("question", ["Who is the mayor of Vorm?", "Who lives in the castle?"])
def test_question_that_means_one_thing_is_not_asked_back(question: str, snapshot: Snapshot) -> None:
    assert not conversation(*TOWNS, question).standalone(snapshot).reply


def test_correction_replaces_part_of_the_question_before(snapshot: Snapshot) -> None:
    texts = ["Who is the mayor of Kell?", "Ruth Abel. [1]", "no, I meant Vorm"]
    assert conversation(*texts).standalone(snapshot) == Asked("Who is the mayor of Vorm?")
    after = conversation(*texts, "Otto Lind. [1]", "Is there a castle?").standalone(snapshot)
    assert "Vorm" in after.question and "Kell" not in after.question


@pytest.mark.parametrize(
    ("question", "turn"),
    [
        ("Who is the mayor of Kell?", "And Vorm?"),
        ("How many inhabitants does Kell have?", "And Vorm?"),
        ("Who is the mayor of Kell?", "And of Vorm?"),
        ("¿Quién es el alcalde de Kell?", "¿Y Vorm?"),
    ],
)
def test_turn_of_one_name_is_the_question_before_with_this_name(question: str, turn: str, snapshot: Snapshot) -> None:
    asked = conversation(question, "Kell. [1]", turn).standalone(snapshot)
    assert asked == Asked(question.replace("Kell", "Vorm"))


def test_pronoun_after_turns_about_two_towns_is_asked_back(snapshot: Snapshot) -> None:
    texts = ["Is there a harbour in Kell?", "In Kell. [1]", "Is there a castle in Vorm?", "In Vorm. [1]"]
    asked = conversation(*texts, "How many inhabitants does it have?").standalone(snapshot)
    assert set(asked.choices) == {"Kell", "Vorm"}


@pytest.mark.parametrize("text", ["Thank you!", "Hi", "Danke schön", "Merci beaucoup", "Muchas gracias", "ok"])
@pytest.mark.parametrize("before", [[], ["When does the shop open?", "At nine. [1]"]])
def test_turn_that_asks_nothing_is_not_searched(text: str, before: list[str], snapshot: Snapshot) -> None:
    assert conversation(*before, text).standalone(snapshot, ScriptedLLM([])) == Asked(text, NOTHING_ASKED)


@pytest.mark.parametrize("text", ["castle", "harbour Kell", "Otto Lind", "mayor"])
def test_words_alone_that_open_a_conversation_are_a_question(text: str, snapshot: Snapshot) -> None:
    assert conversation(text).standalone(snapshot, ScriptedLLM([])) == Asked(text)
    assert not conversation("Hi", "This asks nothing of the documents.", text).standalone(snapshot).reply


def test_model_rewrites_follow_up(snapshot: Snapshot) -> None:
    llm = ScriptedLLM(['{"question": "When did Ida Pfeiffer die?"}'])
    talk, run = conversation("Who was Ida Pfeiffer?", "A traveller.", "When did she die?"), Run()
    assert talk.standalone(snapshot, llm, run).question == "When did Ida Pfeiffer die?" and run.usage.llm_calls == 1


def test_first_question_asks_no_model(snapshot: Snapshot) -> None:
    question = "When does the shop open?"
    assert conversation(question).standalone(snapshot, ScriptedLLM([])).question == question


def test_failed_rewriting_adds_what_was_asked_before(snapshot: Snapshot) -> None:
    def fails(_: str, __: str) -> str:
        raise ModelError("no server")

    talk = conversation("Who was Ida Pfeiffer?", "?", "When was she born?")
    assert "Ida Pfeiffer" in talk.standalone(snapshot, ScriptedLLM(fails)).question


def test_conversation_without_question_is_refused() -> None:
    with pytest.raises(OptionError, match="no text of a user"):
        Conversation.of([Message("system", "Be brief."), Message(USER, " ")])


def test_messages_of_states_json_pairs_and_messages_are_the_same(snapshot: Snapshot) -> None:
    state = start("Who was Ida Pfeiffer?", snapshot.graph).with_(answer=Answer("Of Vienna. [1]"))
    turns = [Message(USER, "Who was Ida Pfeiffer?"), Message(ASSISTANT, "Of Vienna. [1]")]
    assert messages_of([state]) == messages_of([state.to_dict()]) == messages_of(turns) == tuple(turns)
    assert messages_of([("Who was Ida Pfeiffer?", "Of Vienna. [1]")]) == tuple(turns)
    assert messages_of([{"role": m.role, "content": m.text} for m in turns]) == tuple(turns)
    assert messages_of(["Who was Ida Pfeiffer?"]) == tuple(turns[:1])


@pytest.mark.parametrize("history", ["Who?", 3, [3], [("Who?",)], [("Who?", None)], [{"text": "Who?"}]])
def test_messages_of_something_else_is_refused(history: Any) -> None:
    with pytest.raises(OptionError, match=r"history (is|has)"):
        messages_of(history)
