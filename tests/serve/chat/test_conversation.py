import pytest

from graphwright import Graph
from graphwright.errors import ModelError, OptionError
from graphwright.models import ScriptedLLM
from graphwright.serve.chat.conversation import SOURCES, Conversation, Message

GRAPH = Graph.from_triples([("Ida Pfeiffer", "born in", "Vienna"), ("Linz", "lies on", "Danube")])
USER, ASSISTANT = "user", "assistant"


def conversation(*texts: str) -> Conversation:
    return Conversation.of(Message(ASSISTANT if at % 2 else USER, text) for at, text in enumerate(texts))


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (["Who was Ida Pfeiffer?"], "Who was Ida Pfeiffer?"),
        (["Who was Ida Pfeiffer?", "?", "What is known?"], "What is known? (Ida Pfeiffer)"),
        (["Who was Ida Pfeiffer?", "Of Vienna. [1]", "When?"], "When? (Ida Pfeiffer, Vienna)"),
        (["Who was Ida Pfeiffer?", "Nothing; near it: Linz.", "When?"], "When? (Ida Pfeiffer)"),
        (["Who was Ida Pfeiffer?", "?", "Where does Linz lie?"], "Where does Linz lie?"),
        (["Who was Ida Pfeiffer?", "?", "Did she see Linz?"], "Did she see Linz? (Ida Pfeiffer)"),
        (["Who was Ida Pfeiffer?", "?", "And then?", "?", "Where?"], "Where? (Ida Pfeiffer)"),
        (["Hello", "Hello", "Where?"], "Where?"),
        (["Who?", f"Ida Pfeiffer [1]{SOURCES}[1] [Linz](http://x)", "When?"], "When? (Ida Pfeiffer)"),
    ],
)
def test_offline_follow_up_gets_names_of_last_turn(texts: list[str], question: str) -> None:
    assert conversation(*texts).standalone(GRAPH)[0] == question


def test_model_rewrites_follow_up() -> None:
    llm = ScriptedLLM(['{"question": "When did Ida Pfeiffer die?"}'])
    question, usage = conversation("Who was Ida Pfeiffer?", "A traveller.", "When?").standalone(GRAPH, llm)
    assert question == "When did Ida Pfeiffer die?" and usage.llm_calls == 1


def test_first_question_asks_no_model() -> None:
    assert conversation("When?").standalone(GRAPH, ScriptedLLM([]))[0] == "When?"


def test_failed_rewriting_adds_names() -> None:
    def fails(_: str, __: str) -> str:
        raise ModelError("no server")

    talk = conversation("Who was Ida Pfeiffer?", "?", "When?")
    assert talk.standalone(GRAPH, ScriptedLLM(fails))[0] == "When? (Ida Pfeiffer)"


def test_conversation_without_question_is_refused() -> None:
    with pytest.raises(OptionError, match="no text of a user"):
        Conversation.of([Message("system", "Be brief."), Message(USER, " ")])
