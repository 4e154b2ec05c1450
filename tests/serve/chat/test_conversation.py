import pytest

from graphwright import Index
from graphwright.errors import ModelError, OptionError
from graphwright.models import ScriptedLLM
from graphwright.models.fake import HashEncoder
from graphwright.search import Snapshot
from graphwright.serve.chat.conversation import NOTHING_ASKED, SOURCES, Asked, Conversation, Message

DOCUMENTS = [
    {"id": "ida", "text": "Ida Pfeiffer was born in Vienna in 1797. She sailed round the world twice."},
    {"id": "linz", "text": "Linz lies on the Danube. Its bridge is closed in winter."},
    {"id": "shop", "text": "The shop opens at nine. On Sundays it is closed. Bread costs two euros."},
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


@pytest.mark.parametrize("text", ["Thank you!", "Hi", "Danke schön", "Merci beaucoup", "Muchas gracias", "ok"])
@pytest.mark.parametrize("before", [[], ["When does the shop open?", "At nine. [1]"]])
def test_turn_that_asks_nothing_is_not_searched(text: str, before: list[str], snapshot: Snapshot) -> None:
    assert conversation(*before, text).standalone(snapshot, ScriptedLLM([])) == Asked(text, NOTHING_ASKED)


def test_model_rewrites_follow_up(snapshot: Snapshot) -> None:
    llm = ScriptedLLM(['{"question": "When did Ida Pfeiffer die?"}'])
    asked = conversation("Who was Ida Pfeiffer?", "A traveller.", "When did she die?").standalone(snapshot, llm)
    assert asked.question == "When did Ida Pfeiffer die?" and asked.usage.llm_calls == 1


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
