"""Early answers: given if the first passages suffice, otherwise the state is unchanged."""

from __future__ import annotations

import pytest
from tests.shared import answer_reply, corpus_index, passages_in

from graphwright import ToPassages, VectorSearch, start
from graphwright.generate.answer import AnswerIfEnough, Generate
from graphwright.generate.contexts import PassageContext
from graphwright.graph import Ranking
from graphwright.models import ScriptedLLM
from graphwright.operators.operator import Then
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts.templates import Context

INSTRUCTIONS = Context("?").prompt[0]

SNAPSHOT = corpus_index().snapshot
GRAPH = SNAPSHOT.graph
FOUNDED = "She founded the abbey of Erstein in Alsace."
QUESTION = "Which abbey did Ermengarde found?"


def seen(question: str = QUESTION, *documents: str) -> State:
    names = documents or ("bread", "ermengarde", "erstein")
    ids = [GRAPH.id(f"{name}#0") for name in names]
    return start(question, GRAPH).with_(passages=Ranking.of(ids, range(len(ids), 0, -1)))


def test_answer_if_enough_with_verified_quotes_answers_in_one_call() -> None:
    asked: list[tuple[str, str]] = []

    def model(system: str, user: str) -> str:
        asked.append((system, user))
        return answer_reply("Erstein [1].", (2, FOUNDED))

    after = AnswerIfEnough(ScriptedLLM(model))(seen())
    assert after.answer is not None and after.answer.text == "Erstein [1]."
    assert [(c.document, c.text) for c in after.answer.citations] == [("ermengarde", FOUNDED)]
    ((system, user),) = asked
    assert system == INSTRUCTIONS and "If they do not hold all" in user
    assert list(passages_in(user).values()) == [GRAPH.text(int(c)) for c in after.passages.ids]  # type: ignore[union-attr]
    assert after.context is None and after.trace[-1].usage.calls == 1


@pytest.mark.parametrize(
    ("replies", "notes"),
    [
        ([answer_reply("", found=False)], ("the first passages are not enough",)),
        ([answer_reply("It is Erstein.", found=False)], ("the first passages are not enough",)),
        ([answer_reply("  ")], ("the first passages are not enough",)),
        (
            [answer_reply("It is Paris [1].", (1, "She founded Paris."))],
            (
                "citation 1 was dropped: 'She founded Paris.' is in none of the passages",
                "no citation could be verified",
                "the first passages are not enough",
            ),
        ),
        (
            [answer_reply("Erstein [1]. A fish [2].", (2, FOUNDED), (1, "She was a fish."))],
            (
                "citation 2 was dropped: 'She was a fish.' is in none of the passages",
                "the first passages are not enough",
            ),
        ),
        (
            ["enough", "yes, enough"],
            (
                "the model's reply did not fit the schema",
                "the model replied in plain text, without citations; the answer is not verified",
                "the first passages are not enough",
            ),
        ),
        (["", ""], ("the model's reply did not fit the schema", "the first passages are not enough")),
    ],
)
def test_answer_if_enough_with_unusable_reply_keeps_state(replies: list[str], notes: tuple[str, ...]) -> None:
    before = seen()
    after = AnswerIfEnough(ScriptedLLM(replies))(before)
    assert after.with_(trace=()) == before.with_(trace=()) or after.answer is None
    assert after.passages is before.passages and after.context is None and after.evidence is None
    assert after.trace[-1].notes == notes and after.trace[-1].usage.completion_tokens >= 0


def test_answer_if_enough_shows_limited_passages_and_skips_empty() -> None:
    shown: list[str] = []

    def model(system: str, user: str) -> str:
        shown.append(user)
        return answer_reply("", found=False)

    AnswerIfEnough(ScriptedLLM(model), passages=2)(seen())
    assert list(passages_in(shown[0])) == [1, 2]
    empty = start(QUESTION, GRAPH).with_(passages=Ranking.of([], []))
    assert AnswerIfEnough(ScriptedLLM([]))(empty).answer is None


def test_answer_if_enough_ends_pipeline_only_with_answer() -> None:
    search = VectorSearch(SNAPSHOT.passages) % 3 >> ToPassages()
    for first, expected in ((answer_reply("Erstein [1].", (1, "Erstein")), 1), (answer_reply("", found=False), 2)):
        llm = ScriptedLLM([first, answer_reply("At last [1].", (1, "Erstein"))])
        chain = search >> AnswerIfEnough(llm) >> PassageContext() >> Generate(llm)
        after = chain(start("Where is the abbey of Erstein?", GRAPH))
        assert after.answer is not None and after.answer.text == ("Erstein [1]." if expected == 1 else "At last [1].")
        assert sum(step.usage.calls for step in after.trace if step.usage.completion_tokens) == expected
        assert isinstance(chain, Then) and chain.needs == ()


def test_answer_if_enough_declares_no_guaranteed_answer() -> None:
    op = AnswerIfEnough(ScriptedLLM([]))
    assert op.gives == ("answer",) and op.after(frozenset({"passages"})) == {"passages"}


def test_answer_if_enough_streams_only_accepted_answer() -> None:
    heard: list[str] = []
    run = Run(on_text=heard.append)
    AnswerIfEnough(ScriptedLLM([answer_reply("Perhaps [1].", (1, "She was a fish."))]))(seen(), run)
    assert heard == []
    AnswerIfEnough(ScriptedLLM([answer_reply("Erstein [1].", (2, FOUNDED))]))(seen(), run)
    assert heard == ["Erstein [1]."]
